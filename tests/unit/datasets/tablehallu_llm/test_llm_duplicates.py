"""Nearly the same kernels are found, others are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tablemend.datasets.tablehallu_llm.duplicates import Kernels
from tablemend.tables.table import Cell, Table
from tests.support.llm_kernels import CASES

TABLES = [case.draft.table for case in CASES]
Rows = list[list[Cell]]


def _one_cell(rows: Rows) -> Rows:
    return [[*rows[0][:-1], "Quorvex"], *rows[1:]]


def _other_values(rows: Rows) -> Rows:
    return [
        [row[0], *(f"{7919 * i + j}" for j in range(len(row) - 1))] for i, row in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("edit", "same"),
    [
        (lambda rows: rows, True),
        (_one_cell, True),
        (lambda rows: rows[::-1], True),
        (lambda rows: [row[::-1] for row in rows], True),
        (lambda rows: rows[:-1], True),
        (lambda rows: [[cell and cell.upper() for cell in row] for row in rows], True),
        (_other_values, False),
        (lambda rows: [*rows[::2], *_other_values(rows[1::2])], False),
    ],
)
def test_edits_are_found_and_others_are_not(edit: Callable[[Rows], Rows], same: bool) -> None:
    kernels = Kernels()
    for place, table in enumerate(TABLES):
        assert kernels.add_or_find(place, table) is None
    for number, table in enumerate(TABLES):
        rows = edit([list(row) for row in table.rows])
        names = [f"column {i}" for i in range(len(table.columns))]
        found = kernels.add_or_find(1000 + number, Table.of(names, rows))
        assert found == (number if same else None), table.title
