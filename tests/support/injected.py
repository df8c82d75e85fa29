"""Injected edits: a gold table, one known error, and the finding that must follow.

Each function takes a gold table and a random source and returns the edited table, or ``None``
where the table leaves no room for such an edit.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from tablemend.detector.keys import primary_key
from tablemend.records import Judgement
from tablemend.tables.table import Table
from tablemend.values.cells import read_value

NEAR = "Vostermark Quillion"  # stands in every context, in no gold table
FABRICATED = "Ublidane Froxwick"  # stands nowhere
Edit = Callable[[Table, random.Random], Table | None]


def found(judgement: Judgement) -> dict[str, int]:
    """How often each error type was found; types without a finding are left out."""
    return {name: count for name, count in judgement.counts.items() if count}


def context_of(table: Table) -> str:
    """A source that states every cell, and one entity out of scope."""
    rows = [". ".join(cell for cell in row if cell is not None) for row in table.rows]
    return ". ".join([*rows, f"Meanwhile {NEAR} was elsewhere."])


def with_cell(table: Table, row: int, column: int, cell: str | None) -> Table:
    rows = [list(cells) for cells in table.rows]
    rows[row][column] = cell
    return Table.of(table.columns, rows, table.title)


def new_row(table: Table, key: str) -> list[str | None]:
    row: list[str | None] = list(table.rows[0])
    row[primary_key(table)] = key
    return row


def add_known_row(table: Table, source: random.Random) -> Table | None:
    if not table.rows:
        return None
    place = source.randrange(len(table.rows) + 1)
    rows = [*table.rows[:place], new_row(table, NEAR), *table.rows[place:]]
    return Table.of(table.columns, rows)


def repeat_row(table: Table, source: random.Random) -> Table | None:
    if not table.rows:
        return None
    return Table.of(table.columns, [*table.rows, source.choice(table.rows)])


def add_invented_row(table: Table, source: random.Random) -> Table | None:
    if not table.rows:
        return None
    place = source.randrange(len(table.rows) + 1)
    rows = [*table.rows[:place], new_row(table, FABRICATED), *table.rows[place:]]
    return Table.of(table.columns, rows)


def invent_key(table: Table, source: random.Random) -> Table | None:
    if not table.rows:
        return None
    row = source.randrange(len(table.rows))
    return with_cell(table, row, primary_key(table), FABRICATED)


def filled_cells(table: Table, blank: bool) -> list[tuple[int, int]]:
    key = primary_key(table)
    return [
        (row, column)
        for row, cells in enumerate(table.rows)
        for column, cell in enumerate(cells)
        if column != key
        and read_value(cell).blank == blank
        and not all(read_value(other).blank for other in cells)
        and not read_value(cells[key]).blank
    ]


def distort_cell(table: Table, source: random.Random) -> Table | None:
    """A bumped digit, or a cell of the same column that shares no word with the true one."""
    places = filled_cells(table, blank=False)
    source.shuffle(places)
    for row, column in places:
        cell = table.rows[row][column] or ""
        if re.fullmatch(r"[0-9][0-9,]*", cell):
            return with_cell(table, row, column, cell[:-1] + str((int(cell[-1]) + 1) % 10))
        others = [other for other in table.column(table.columns[column]) if other]
        others.append("Brenwick")
        source.shuffle(others)
        for other in others:
            if re.search("[a-z]{4}", other) and len(cell) > 3 and not words(cell) & words(other):
                return with_cell(table, row, column, other)
    return None


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def empty_cell(table: Table, source: random.Random) -> Table | None:
    places = filled_cells(table, blank=False)
    if not places:
        return None
    row, column = source.choice(places)
    return with_cell(table, row, column, source.choice([None, "N/A", "-", "not available"]))


def fill_blank(table: Table, source: random.Random) -> Table | None:
    places = filled_cells(table, blank=True)
    if not places:
        return None
    row, column = source.choice(places)
    return with_cell(table, row, column, source.choice(["0", "12.5", "Brenwick", "1999"]))


def rename_column(table: Table, source: random.Random) -> Table:
    columns = list(table.columns)
    columns[source.randrange(len(columns))] += " recorded"
    return Table.of(columns, table.rows)


def drop_column(table: Table, source: random.Random) -> Table:
    gone = source.randrange(len(table.columns))
    keep = [index for index in range(len(table.columns)) if index != gone]
    rows = [[row[index] for index in keep] for row in table.rows]
    return Table.of([table.columns[index] for index in keep], rows)


def swap_columns(table: Table, source: random.Random) -> Table:
    order = list(range(len(table.columns)))
    one, other = source.sample(order, 2)
    order[one], order[other] = order[other], order[one]
    rows = [[row[index] for index in order] for row in table.rows]
    return Table.of([table.columns[index] for index in order], rows)


EDITS: dict[str, tuple[str, Edit]] = {
    "row out of scope": ("out_of_range", add_known_row),
    "row repeated": ("out_of_range", repeat_row),
    "row invented": ("entity_fabrication", add_invented_row),
    "key invented": ("entity_fabrication", invent_key),
    "cell distorted": ("attribute", distort_cell),
    "cell emptied": ("attribute", empty_cell),
    "blank filled": ("blank_filling", fill_blank),
    "column renamed": ("format_error", rename_column),
    "column dropped": ("format_error", drop_column),
    "columns swapped": ("format_error", swap_columns),
}
