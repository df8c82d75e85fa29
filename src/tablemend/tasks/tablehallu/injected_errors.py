"""Injected errors: an example's gold table with one known fault, as a model might make it.

Wrong values and rows out of scope are those of the example's own distractors, so that nothing
but the context distinguishes them from the true ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tablemend.detector.keys import primary_key
from tablemend.records import Example
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.verification import entity_column
from tablemend.values.cells import is_blank

INVENTED = "Ublidane Froxwick"
"""An entity that no context names."""
Rows = list[list[str | None]]


class Injection(NamedTuple):
    """One kind of error.

    Attributes:
        type: what the detector calls it.
        make: the table with the error, or ``None`` where the example leaves no room for it.
    """

    type: str
    make: Callable[[Example, Random], Table | None]


def gold_rows(example: Example) -> Rows:
    """The gold rows, to be changed."""
    return [list(row) for row in example.gold_table.rows]


def with_rows(example: Example, rows: Rows) -> Table:
    """An answer with the gold table's columns and these rows."""
    return Table.of(example.gold_table.columns, rows)


def distractor_rows(example: Example, known: bool) -> Rows:
    """Rows out of scope, of entities in scope (at another time) or of others."""
    table = example.gold_table
    key = table.columns[primary_key(table)]
    if not table.rows:
        key = entity_column(example)
    names = set(table.column(key))
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for fact in example.facts:
        if fact.violates is not None and (fact.entity in names) == known:
            found[fact.row] |= {fact.column: fact.value, key: fact.entity}
    return [[row.get(column) for column in table.columns] for row in found.values()]


def _places(example: Example, blank: bool = False) -> list[tuple[int, int]]:
    """Row and column of the cells beside the key that are filled, or blank."""
    key = primary_key(example.gold_table)
    return [
        (row, column)
        for row, cells in enumerate(example.gold_table.rows)
        for column, cell in enumerate(cells)
        if column != key and is_blank(cell) == blank
    ]


def _add_row(example: Example, rng: Random, row: list[str | None]) -> Table:
    rows = gold_rows(example)
    rows.insert(rng.randrange(len(rows) + 1), row)
    return with_rows(example, rows)


def _with_cell(example: Example, row: int, column: int, cell: str | None) -> Table:
    rows = gold_rows(example)
    rows[row][column] = cell
    return with_rows(example, rows)


def out_of_scope(example: Example, rng: Random) -> Table | None:
    """A row of the context that the query excludes."""
    found = distractor_rows(example, known=False)
    return _add_row(example, rng, rng.choice(found)) if found else None


def other_time(example: Example, rng: Random) -> Table | None:
    """A second row of an entity in scope, which the query excludes."""
    found = distractor_rows(example, known=True)
    return _add_row(example, rng, rng.choice(found)) if found else None


def repeated(example: Example, rng: Random) -> Table | None:
    """A row twice."""
    rows = gold_rows(example)
    return _add_row(example, rng, rng.choice(rows)) if rows else None


def invented(example: Example, rng: Random) -> Table | None:
    """A row of an entity that the context does not name."""
    rows = gold_rows(example) or distractor_rows(example, known=False)
    if not rows:
        return None
    row = rows[0]
    row[primary_key(with_rows(example, gold_rows(example) or [row]))] = INVENTED
    return _add_row(example, rng, row)


def others_value(example: Example, rng: Random, blank: bool = False) -> Table | None:
    """A cell with what the context says of another entity."""
    places = _places(example, blank)
    rng.shuffle(places)
    table = example.gold_table
    for row, column in places:
        cells, name = table.rows[row], table.columns[column]
        entity = cells[primary_key(table)]
        values = [
            fact.value
            for fact in example.facts
            if fact.column == name and fact.entity != entity and fact.value != cells[column]
        ]
        if values:
            return _with_cell(example, row, column, rng.choice(values))
    return None


def blank_filled(example: Example, rng: Random) -> Table | None:
    """A blank with what the context says of another entity."""
    return others_value(example, rng, blank=True)


def wrong_digit(example: Example, rng: Random) -> Table | None:
    """A number with another last digit."""
    places = _places(example)
    rng.shuffle(places)
    for row, column in places:
        cell = example.gold_table.rows[row][column] or ""
        if cell.replace(",", "").isdigit():
            changed = cell[:-1] + str((int(cell[-1]) + 1) % 10)
            return _with_cell(example, row, column, changed)
    return None


def wrong_result(example: Example, rng: Random) -> Table | None:
    """A computed cell with another last digit."""
    computed = example.constraints.computed
    if computed is None or not example.gold_table.rows:
        return None
    column = example.gold_table.columns.index(computed.column)
    row = rng.randrange(len(example.gold_table.rows))
    cell = example.gold_table.rows[row][column] or ""
    return _with_cell(example, row, column, f"{cell[:-1]}{(int(cell[-1]) + 1) % 10}")


def left_out(example: Example, rng: Random) -> Table | None:
    """A filled cell left blank."""
    places = _places(example)
    return _with_cell(example, *rng.choice(places), None) if places else None


def columns_swapped(example: Example, rng: Random) -> Table | None:
    """Two columns in each other's place."""
    columns = example.gold_table.columns
    if len(columns) < 2:
        return None
    order = list(range(len(columns)))
    one, other = rng.sample(order, 2)
    order[one], order[other] = other, one
    rows = [[row[i] for i in order] for row in gold_rows(example)]
    return Table.of([columns[i] for i in order], rows)


def rows_shuffled(example: Example, rng: Random) -> Table | None:
    """The rows in another order."""
    rows = gold_rows(example)
    rng.shuffle(rows)
    return with_rows(example, rows) if rows != gold_rows(example) else None


INJECTED_ERRORS: dict[str, Injection] = {
    "row out of scope": Injection("out_of_range", out_of_scope),
    "row of another time": Injection("out_of_range", other_time),
    "row repeated": Injection("out_of_range", repeated),
    "row invented": Injection("entity_fabrication", invented),
    "wrong digit": Injection("attribute", wrong_digit),
    "wrong result": Injection("attribute", wrong_result),
    "another's value": Injection("attribute", others_value),
    "value left out": Injection("attribute", left_out),
    "blank filled": Injection("blank_filling", blank_filled),
    "columns swapped": Injection("format_error", columns_swapped),
    "rows shuffled": Injection("order_mismatch", rows_shuffled),
}
"""Name -> the error."""
