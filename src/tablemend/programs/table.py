"""A table with typed cells: what programs run on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal, NamedTuple

from tablemend.evidence.grid import Column, Grid, Line
from tablemend.evidence.labels import merge_units
from tablemend.tables.table import Table
from tablemend.values.cells import Value, read_value
from tablemend.values.dates import Period, read_period
from tablemend.values.units import ONE, PLAIN, Unit

Kind = Literal["number", "date", "text", "blank"]

_UNIT_HEADERS = frozenset(("unit", "units", "uom", "unit of measure", "units of measure"))
# What a header counts in that is no known unit: "mAh" of "Battery (mAh)".
_ODD_UNIT = re.compile(r"\(([^\W\d_]{1,4}/[^\W\d_]{1,4}|[a-zµ][A-Z][a-z]?)\)$")


class Cell(NamedTuple):
    """A cell, read.

    Attributes:
        row, column: its place in the table as written; -1 for a header that names a row of a
            turned table.
        text: as written, less marks of print.
        key: the standard form; two cells that say the same have one. A date's is ISO.
        kind: what it is.
        value: of a number with its scale and that of its header applied; of a date its order.
        unit: what a number counts in, header, row and caption included.
        measure: a unit that is no :class:`Unit` ("g/dL", from a column of units or the cell
            itself), or the grain of a date ("year"); cells of two measures are not compared.
        decimals: as written.
    """

    row: int
    column: int
    text: str
    key: str
    kind: Kind
    value: float = 0.0
    unit: Unit = PLAIN
    measure: str = ""
    decimals: int = 0

    @property
    def place(self) -> tuple[int, int]:
        """Row and column in the table as written."""
        return self.row, self.column


class TypedTable:
    """A table with typed cells. Rows and columns are addressed by their place in it.

    Attributes:
        columns: left to right.
        rows: body rows alone, top to bottom: no headings, unit rows or notes.
        cells: ``cells[row][column]``.
        key: the column that names the rows.
        naming: all columns that name rows: the key, and those that group them.
        body: the rows that are no totals.
        periods: the columns whose cells are all periods of one grain.
        is_turned: rows are the columns of the table as written.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        rows: Sequence[Line],
        cells: list[list[Cell]],
        naming: Sequence[int],
        is_turned: bool = False,
    ) -> None:
        self.rows, self.cells = tuple(rows), cells
        self.naming, self.key, self.is_turned = tuple(naming), naming[-1], is_turned
        self.body = tuple(place for place, row in enumerate(self.rows) if not row.total)
        self.periods = tuple(filter(self._are_periods, range(len(columns))))
        dated = {0}.intersection(self.periods) if is_turned else set(self.periods)
        self.columns = tuple(
            replace(own, kind="date") if place in dated else own
            for place, own in enumerate(columns)
        )

    @classmethod
    def of(cls, table: Table) -> TypedTable:
        """Read a table."""
        grid = Grid(table)
        units = next((c.index for c in grid.columns if states_units(c.header)), None)
        cells = [
            [_read(grid, line.index, c, line.name, units) for c in grid.columns]
            for line in grid.lines
        ]
        columns = [replace(c, kind="text") if c.kind == "name" else c for c in grid.columns]
        groups = [c.index for c in grid.columns if c.kind == "name" and c.index != grid.key]
        typed = cls(columns, grid.lines, cells, [*groups, grid.key])
        for place in typed.periods:  # years under "Founded" too
            for row in cells:
                row[place] = _dated(*row[place][:3]) or row[place]
        return typed

    @cached_property
    def turned(self) -> TypedTable:
        """The same cells, rows and columns exchanged: to rank the columns of one row, and so on.

        Its first column holds the headers; the columns that name rows have no row in it, and
        where two or more columns are called by periods only these have.
        """
        shown = [place for place in range(len(self.columns)) if place not in self.naming]
        if len(self.period_headers) > 1:
            shown = list(self.period_headers)
        cells = []
        for place in shown:
            text = self.columns[place].path[-1]
            header = _dated(-1, place, text) or Cell(-1, place, text, key_of(text), "text")
            cells.append([header, *(row[place] for row in self.cells)])
        named = self.columns[self.key]
        columns = [Column(0, named.header, named.path, PLAIN, "text")]
        for place, row in enumerate(self.rows, 1):
            kinds = Counter(own[place].kind for own in cells)
            kind = kinds.most_common(1)[0][0] if kinds else "blank"
            columns.append(Column(place, row.header, row.path, PLAIN, kind, row.total))
        lines = ((place, self.columns[place]) for place in shown)
        rows = [Line(place, own.header, own.path, own.total) for place, own in lines]
        return TypedTable(columns, rows, cells, [0], is_turned=True)

    @cached_property
    def period_headers(self) -> dict[int, Period]:
        """The periods that columns are called by, in order of time; all of one grain."""
        found = {
            place: period
            for place, column in enumerate(self.columns)
            if place not in self.naming
            for level in reversed(column.path)
            if (period := read_period(level)) is not None
        }
        if len({period.grain for period in found.values()}) > 1:
            return {}
        return dict(sorted(found.items(), key=lambda item: item[1].order))

    def _are_periods(self, column: int) -> bool:
        """Whether all cells of a column but those of totals are periods of one grain."""
        own = (self.cells[row][column] for row in self.body)
        found = [read_period(cell.text) for cell in own if cell.kind != "blank"]
        return len(found) > 1 and None not in found and len({p.grain for p in found if p}) == 1


def key_of(text: str) -> str:
    """The standard form that a cell with this text would have."""
    return period.iso if (period := read_period(text)) else read_value(text).text


def states_units(header: str) -> bool:
    """Whether the cells of a column are the units of their rows."""
    return header.casefold().strip() in _UNIT_HEADERS


def _dated(row: int, column: int, text: str) -> Cell | None:
    period = read_period(text)
    if period is None:
        return None
    return Cell(row, column, text, period.iso, "date", float(period.order), PLAIN, period.grain)


def _read(grid: Grid, row: int, column: Column, name: str, units: int | None) -> Cell:
    place, kind, is_key = column.index, column.kind, column.index == grid.key
    text = name if is_key else grid.cell(row, place)
    value = read_value(text) if is_key else grid.value(row, place)
    if value.blank:
        return Cell(row, place, text, "", "blank")
    if (kind in ("date", "name") or value.number is None) and (dated := _dated(row, place, text)):
        return dated
    if value.number is None or kind == "name":
        return Cell(row, place, text, value.text, "text")
    measure = grid.cell(row, units) if units is not None else _own_measure(text, value)
    unit = grid.unit(row, place)
    number = value.number
    if not measure and unit == number.unit == PLAIN and (match := _ODD_UNIT.search(column.name)):
        measure = match[1]
    unit = merge_units(number.unit, unit)
    size = float(number.value * (unit.scale if number.unit.scale == ONE else ONE))
    return Cell(
        row, place, text, number.canonical(), "number", size, unit, measure, number.decimals
    )


def _own_measure(text: str, value: Value) -> str:
    """What a cell counts in by a word that is no known unit: "m/uL" of "3.47 m/uL"."""
    number = value.number
    if number is None or text[-1].isdigit():
        return ""
    words = text.split(" ")
    if number.unit.symbol == "%" and words[-1] == "pp":
        return "points"
    is_unit = number.unit == PLAIN and len(words) == 2 and words[-1][0].isalpha()
    return words[-1] if is_unit else ""
