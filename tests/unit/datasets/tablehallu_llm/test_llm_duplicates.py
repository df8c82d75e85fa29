"""Nearly the same kernels are found, others are not."""

from __future__ import annotations

from random import Random

import pytest

from tablemend.datasets.tablehallu.names import invent_word
from tablemend.datasets.tablehallu_llm.duplicates import THRESHOLD, Kernels, likeness
from tablemend.tables.table import Table
from tests.support.llm_kernels import CASES

TABLES = [case.draft.table for case in CASES]
FERRIES = TABLES[0]


def with_rows(table: Table, rows: list[list[str | None]]) -> Table:
    return Table.of(table.columns, rows)


def edits(table: Table, rng: Random) -> dict[str, Table]:
    """What a second draw of one kernel looks like."""
    rows = [list(row) for row in table.rows]
    one = [list(row) for row in rows]
    one[rng.randrange(len(one))][rng.randrange(1, len(table.columns))] = "Quorvex"
    blank = [list(row) for row in rows]
    blank[rng.randrange(len(blank))][rng.randrange(1, len(table.columns))] = None
    order = list(range(len(table.columns)))
    rng.shuffle(order)
    return {
        "the same": table,
        "one cell changed": with_rows(table, one),
        "one cell emptied": with_rows(table, blank),
        "rows reordered": with_rows(table, rows[::-1]),
        "column renamed": Table.of(("Name", *table.columns[1:]), rows),
        "columns reordered": Table.of(
            [table.columns[i] for i in order], [[row[i] for i in order] for row in rows]
        ),
        "row left out": with_rows(table, rows[:-1]),
        "spelled otherwise": with_rows(
            table, [[cell and cell.upper().replace(",", "") for cell in row] for row in rows]
        ),
    }


def others(table: Table, rng: Random) -> dict[str, Table]:
    """Tables of the same topic that are not the same."""
    renamed = [[invent_word(rng), *row[1:]] for row in table.rows]
    fresh = [
        [row[0], *(cell and f"{rng.randrange(9000)}" for cell in row[1:])] for row in table.rows
    ]
    half = [
        [invent_word(rng), *(f"{rng.randrange(9000)}" for _ in row[1:])] if i % 2 else list(row)
        for i, row in enumerate(table.rows)
    ]
    return {
        "other entities and values": with_rows(
            table, [[*name[:1], *row[1:]] for name, row in zip(renamed, fresh, strict=True)]
        ),
        "same entities, other values": with_rows(table, fresh),
        "half of the rows": with_rows(table, half),
    }


@pytest.mark.parametrize("number", range(len(TABLES)))
def test_edits_are_found_and_others_are_not(number: int) -> None:
    rng, kernels = Random(number), Kernels()
    for place, table in enumerate(TABLES):
        assert kernels.add_or_find(place, table) is None
    for name, table in edits(TABLES[number], rng).items():
        assert kernels.add_or_find(1000, table) == number, name
    for place, (name, table) in enumerate(others(TABLES[number], rng).items()):
        assert kernels.add_or_find(2000 + place, table) is None, name


def test_the_most_similar_earlier_kernel_is_named() -> None:
    rows = [list(row) for row in FERRIES.rows]
    far = [[*row[:3], f"Port {number}", *row[4:]] for number, row in enumerate(rows)]
    near = [list(row) for row in rows]
    near[0][4] = "451"
    kernels = Kernels()
    assert kernels.add_or_find(1, with_rows(FERRIES, far)) is None
    assert likeness(with_rows(FERRIES, far), with_rows(FERRIES, near)) < THRESHOLD
    assert kernels.add_or_find(2, with_rows(FERRIES, near)) is None
    assert kernels.add_or_find(3, FERRIES) == 2


def test_a_table_without_values_is_nobodys_duplicate() -> None:
    empty = Table.of(["A", "B"], [[None, None]])
    single = Table.of(["A", "B"], [["x", None]])
    kernels = Kernels()
    assert [kernels.add_or_find(number, empty) for number in (1, 2)] == [None, None]
    assert [kernels.add_or_find(number, single) for number in (3, 4)] == [None, 3]
