"""A table as a reader takes it: what each row and column is called, counts in and adds up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tablemend.detector.keys import primary_key
from tablemend.records import Evidence
from tablemend.tables.table import Table
from tablemend.values.cells import Value, read_value
from tablemend.values.units import Unit, header_unit

ColumnKind = Literal["name", "number", "date", "text"]
_TOTAL = re.compile(
    r"\s*(?:(?:grand |sub-?)?totals?|sum|overall|all|average|avg\.?|mean|median)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        index: its place in the table.
        header: what it is called; the levels of a hierarchical header joined by ``, ``.
        path: the levels, from the top.
        unit: what the header states.
        kind: what most of its cells are; ``name`` for those that name rows.
    """

    index: int
    header: str
    path: tuple[str, ...]
    unit: Unit
    kind: ColumnKind


@dataclass(frozen=True, slots=True)
class Line:
    """One body row.

    Attributes:
        index: its place in the table.
        header: what it is called: its key, below its section.
        path: section headings and key, from the outermost.
        total: whether it adds up or averages other rows, so that no count or maximum includes it.
    """

    index: int
    header: str
    path: tuple[str, ...]
    total: bool


class Grid:
    """A table, read once and asked often.

    Args:
        table: the table.
        number: its place in the source.
    """

    def __init__(self, table: Table, number: int = 0) -> None:
        self.table = table
        self.number = number

    @cached_property
    def key(self) -> int:
        """Index of the column that names the rows."""
        return primary_key(self.table)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All columns, left to right."""
        return tuple(
            Column(index, name, (name,), header_unit(name), self._kind(index))
            for index, name in enumerate(self.table.columns)
        )

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """All body rows, top to bottom; rows that only head a section or the table are none."""
        lines = []
        for index, row in enumerate(self.table.rows):
            name = row[self.key] or ""
            lines.append(Line(index, name, (name,), bool(_TOTAL.match(name))))
        return tuple(lines)

    def cell(self, row: int, column: int) -> str:
        """A cell as written; the empty string for an empty one."""
        return self.table.rows[row][column] or ""

    def value(self, row: int, column: int) -> Value:
        """A cell, read."""
        return read_value(self.table.rows[row][column])

    def evidence(self, row: int, column: int) -> Evidence:
        """A cell as evidence, serialised as in TabFaith, Appendix A."""
        line = next(line for line in self.lines if line.index == row)
        header = self.columns[column].header
        text = f'Row "{line.header}", Column "{header}": {self.cell(row, column)}'
        return Evidence(text, self.number, row, column)

    def _kind(self, index: int) -> ColumnKind:
        if index == self.key:
            return "name"
        values = [value for row in self.table.rows if not (value := read_value(row[index])).blank]
        numbers = sum(value.number is not None for value in values)
        dates = sum(bool(value.dates) for value in values)
        if values and 2 * numbers >= len(values):
            return "number"
        return "date" if values and 2 * dates >= len(values) else "text"
