"""A table as the verbaliser takes it: entities, measures and periods, each beyond doubt.

Stricter than :class:`~tablemend.evidence.grid.Grid`, on purpose: what could be read in two ways
is not spoken of, since a faithful summary must be faithful under every reading.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

from tablemend.datasets.tablehallu.columns import clean_cell
from tablemend.errors import TablemendError
from tablemend.evidence.grid import Grid
from tablemend.values.cells import read_value
from tablemend.values.periods import Period
from tablemend.values.units import ONE, PLAIN, Unit

FLAGS = ("flag", "flag status")
_RANGE = re.compile(
    r"(?P<low>\d+(?:\.\d+)?) ?(?:-|\u2013|to) ?(?P<high>\d+(?:\.\d+)?)"
    r"|(?P<sign>[<>])=? ?(?P<limit>\d+(?:\.\d+)?)"
)
_MEASUREMENT = re.compile(r"(\d+(?:\.\d+)?) ?[A-Za-z\u00b5%]+(?:/[A-Za-z]+)?")

Layout = Literal["entities", "periods", "spread", "panel"]
"""Rows are entities; rows are periods; rows are entities and columns periods; rows are an entity
in a period."""


class Unverbalisable(TablemendError):
    """A table of which no faithful summary is made; the message is the reason, to be counted."""


class Amount(NamedTuple):
    """A number of the table.

    Attributes:
        value: as the cell and its header state it, scale applied.
        unit: of the cell, and of the header where the cell has none.
        decimals: decimal places in the cell.
        shown: the cell.
        bare: the cell states no scale, currency or unit itself.
    """

    value: Decimal
    unit: Unit
    decimals: int
    shown: str
    bare: bool

    @property
    def in_points(self) -> bool:
        """Whether it is a difference of percentages, ``0.8 pp``."""
        return self.shown.endswith(" pp")


@dataclass(frozen=True, slots=True)
class Measure:
    """A column that says something of rows.

    Attributes:
        index: its column.
        label: what a sentence calls it.
        kind: what its cells are.
        comparable: its amounts can be ranked and set against each other.
        summable: they can be added up.
        counted: it is called by a plural and its cells are whole numbers: "41 points".
    """

    index: int
    label: str
    kind: Literal["number", "date", "text"]
    comparable: bool = False
    summable: bool = False
    counted: bool = False

    @property
    def flags(self) -> bool:
        """Whether it says high, low or normal of each row."""
        return self.label in FLAGS and self.kind == "text"


@dataclass(frozen=True, slots=True)
class Row:
    """A body row that can be spoken of: it has an entity, a period or both."""

    index: int
    entity: str | None
    period: Period | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """What can be said of a table.

    Attributes:
        grid: the table.
        layout: how entities and periods lie.
        rows: those that are named beyond doubt, without totals.
        whole: all rows but totals are among them, so that they may be ranked and counted.
        totals: there are totals, so that "all twelve" would leave open who is counted.
        measures: the columns to speak of; none where columns are periods.
        periods: column and period, for the layout ``spread``, in the order of time.
        noun: what an entity is called ("team"), where the header says it in one common word.
        persons: the entities are people.
        unit_column, range_column: columns that state the unit and the reference range of a row.
    """

    grid: Grid
    layout: Layout
    rows: tuple[Row, ...]
    whole: bool
    totals: bool
    measures: tuple[Measure, ...]
    periods: tuple[tuple[int, Period], ...] = ()
    noun: str = ""
    persons: bool = False
    unit_column: int | None = None
    range_column: int | None = None

    def text(self, row: int, column: int) -> str:
        """A cell without footnote marks; empty for a blank."""
        return clean_cell(self.grid.table.rows[row][column]) or ""

    def amount(self, row: int, column: int) -> Amount | None:
        """A cell as a number, or ``None``."""
        text = self.text(row, column)
        number = read_value(text).number
        if number is None and self.range_column is not None:
            return _read_measurement(text)
        if number is None or len(text) > 24:
            return None
        header, own = self.grid.columns[column].unit, number.unit
        if own.currency and header.currency and own.currency != header.currency:
            return None
        if own.symbol and header.symbol and own.symbol != header.symbol:
            return None
        scale = header.scale if own.scale == ONE else ONE
        if own.symbol and header.currency:
            return None
        unit = Unit(
            own.scale if own.scale != ONE else header.scale,
            own.symbol or header.symbol,
            own.currency or header.currency,
        )
        bare = own == Unit()
        return Amount(number.value * scale, unit, number.decimals, text, bare)

    def stated_unit(self, row: int) -> str:
        """What the unit column says of a row."""
        return "" if self.unit_column is None else self.text(row, self.unit_column)

    def reference(self, row: int) -> tuple[Decimal | None, Decimal | None] | None:
        """Lower and upper end of a row's reference range."""
        if self.range_column is None:
            return None
        return read_range(self.text(row, self.range_column))


def read_range(text: str) -> tuple[Decimal | None, Decimal | None] | None:
    """The lower and upper end of a range: ``3.5-5.1``, or ``<=200`` with one end."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    if match["sign"]:
        limit = Decimal(match["limit"])
        return (None, limit) if match["sign"] == "<" else (limit, None)
    return Decimal(match["low"]), Decimal(match["high"])


def _read_measurement(text: str) -> Amount | None:
    """A laboratory value with a unit that is none of ours: ``3.47 m/uL``."""
    match = _MEASUREMENT.fullmatch(text)
    if match is None:
        return None
    decimals = len(match[1].partition(".")[2])
    return Amount(Decimal(match[1]), PLAIN, decimals, text, bare=False)
