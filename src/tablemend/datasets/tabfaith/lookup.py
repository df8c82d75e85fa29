"""Which cells the words of a claim point to, and what numbers they and the words hold.

Names, columns and periods are looked up by their words alone; numbers are read by the strict
reader of :mod:`~tablemend.datasets.tablehallu.columns`. For :mod:`recomputation`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from tablemend.datasets.tabfaith.labels import MEDALS, measure_label
from tablemend.datasets.tabfaith.sheet import FLAGS
from tablemend.datasets.tabfaith.summary import Role
from tablemend.datasets.tabfaith.templates import FLAGGED
from tablemend.datasets.tablehallu.columns import clean_cell, read_number, words_of
from tablemend.detector.keys import primary_key
from tablemend.evidence.grid import Grid
from tablemend.tables.table import Table
from tablemend.values.number_words import UP_TO_TWENTY
from tablemend.values.periods import Period, read_period
from tablemend.values.units import SCALES, header_unit

Texts = Mapping[Role, str]

_STATED = re.compile(
    r"(?P<hedge>about|roughly|approximately|around|nearly|almost|just under|over|more than"
    r"|just over)?\s*(?P<minus>-)?(?P<before>[^\d\s.,-]{0,4})\s?"
    r"(?P<digits>\d[\d,]*)(?P<fraction>\.\d+)?(?:\s(?P<scale>thousand|lakh|million|crore|billion|trillion))?(?P<after>.*)",
    re.DOTALL,
)
SLACK = 1e-9


def unit_words(text: str) -> str:
    """What the words of a number say beside its digits and its hedge: ``$ million``."""
    match = _STATED.fullmatch(text.casefold().strip())
    if match is None:
        return ""
    return " ".join((match[part] or "").strip() for part in ("before", "scale", "after")).strip()


class Stated(NamedTuple):
    """A number in words: its value, the step of its last digit, its hedge."""

    value: float
    step: float
    hedge: str
    percent: bool


def read_stated(text: str) -> Stated | None:
    """The number that the words of a part state; ``None`` where they are no number."""
    text = text.casefold().strip()
    if text in UP_TO_TWENTY:
        return Stated(UP_TO_TWENTY.index(text), 1, "", False)
    match = _STATED.fullmatch(text)
    if match is None:
        return None
    scale = float(SCALES[match["scale"]]) if match["scale"] else 1.0
    fraction = match["fraction"] or ""
    value = float(match["digits"].replace(",", "") + fraction) * scale
    percent = match["after"].strip().startswith(("%", "percent"))
    step = scale * 10.0 ** -max(0, len(fraction) - 1)
    return Stated(-value if match["minus"] else value, step, match["hedge"] or "", percent)


class Lookup:
    """A table, asked by words.

    Args:
        table: the table.
    """

    def __init__(self, table: Table) -> None:
        self.grid = Grid(table)
        self.cells = [[clean_cell(cell) or "" for cell in row] for row in table.rows]
        self.body = [line.index for line in self.grid.lines if not line.total]

    def has_number(self, value: float) -> bool:
        """Whether any cell is this number but for rounding, with its header's scale or without."""
        return any(abs(value - known) <= max(0.01 * abs(known), SLACK) for known in self._known)

    def has_period(self, period: Period) -> bool:
        """Whether any cell or header names this period, or a longer name that begins with it."""
        texts = [*self.grid.table.columns, *(cell for row in self.cells for cell in row)]
        isos = {found.iso for text in texts if (found := read_period(text)) is not None}
        return any(iso.startswith(period.iso) or period.iso.startswith(iso) for iso in isos)

    @cached_property
    def _known(self) -> list[float]:
        """All numbers of the table, with all their scales and as written."""
        places = [
            (row, column) for row, cells in enumerate(self.cells) for column in range(len(cells))
        ]
        scaled = [amount[0] for place in places if (amount := self.amount(*place)) is not None]
        read = [read for cells in self.cells for cell in cells if (read := read_number(cell))]
        return [abs(value) for value in (*scaled, *(value for value, _, _ in read))]

    @cached_property
    def labels(self) -> list[str]:
        """The words of each column's label."""
        return [words_of(measure_label(self.grid, c.index)) for c in self.grid.columns]

    def _rows_called(self, name: str) -> set[int]:
        """The rows of a name: the whole of it, else what is outside brackets, else its end."""
        wanted, key = words_of(name), primary_key(self.grid.table)
        for column in (key, *(i for i in range(len(self.labels)) if i != key)):
            if rows := {row for row in self.body if self._words[row][column] == wanted}:
                return rows
        for cut in (_outside_brackets, _last_word):
            if rows := {row for row in self.body if cut(self.cells[row][key]) == wanted}:
                return rows
        return set()

    @cached_property
    def _words(self) -> list[list[str]]:
        return [[words_of(cell) for cell in row] for row in self.cells]

    def columns_called(self, label: str) -> set[int]:
        """The columns of a label."""
        wanted = [words_of(label)]
        if label == FLAGGED:
            wanted = [words_of(name) for name in FLAGS]
        elif (medal := label.casefold().removesuffix(" medals")) in MEDALS:
            wanted.append(words_of(medal))
        return {index for index, found in enumerate(self.labels) if found in wanted}

    def place(
        self, texts: Texts, period: Role = "period", entity: Role = "entity"
    ) -> tuple[set[int], set[int]]:
        """Rows and columns that a claim's words leave over."""
        rows, columns = set(self.body), set(range(len(self.labels)))
        if entity in texts:
            rows &= self._rows_called(texts[entity])
        if "column" in texts:
            columns &= self.columns_called(texts["column"])
        if period in texts:
            headed, dated = self.at_period(texts[period])
            if headed:
                columns &= headed
            else:
                rows &= dated
        return rows, columns

    def at_period(self, text: str) -> tuple[set[int], set[int]]:
        """Columns that are headed by a period, and rows that stand under it."""
        period = read_period(text)
        if period is None:
            return set(), set()
        headed = {
            column.index
            for column in self.grid.columns
            if len(column.path) == 1 and _iso(column.path[0]) == period.iso
        }
        return headed, {row for row in self.body if period.iso in map(_iso, self.cells[row])}

    def cell(
        self, texts: Texts, period: Role = "period", entity: Role = "entity"
    ) -> tuple[int, int] | None:
        """The one cell that is meant."""
        rows, columns = self.place(texts, period, entity)
        if len(rows) != 1 or len(columns) != 1:
            return None
        return next(iter(rows)), next(iter(columns))

    def amount(self, row: int, column: int) -> tuple[float, str] | None:
        """A cell's value with all scales applied, and its unit."""
        read = read_number(self.cells[row][column])
        if read is None:
            return None
        value, before, after = read
        scale = SCALES.get(after.casefold())
        if scale is None and (before or not after):
            scale = header_unit(self.grid.table.columns[column]).scale
        unit = before if scale is not None and after.casefold() in SCALES else before + after
        return value * float(scale or 1), unit

    def unit_at(self, row: int, column: int) -> tuple[str, ...] | None:
        """What a number's cell, header and unit column say of unit and scale; ``None`` for text."""
        read = read_number(self.cells[row][column])
        if read is None:
            return None
        said = header_unit(self.grid.table.columns[column])
        return (
            read[1],
            read[2].casefold(),
            str(said),
            *(self.cells[row][index] for index in self._unit_columns if index != column),
        )

    @cached_property
    def _unit_columns(self) -> list[int]:
        return [index for index, label in enumerate(self.labels) if label.strip() == "unit"]

    def numbers(self, cells: Sequence[tuple[int, int]]) -> list[float] | None:
        """The values of cells that all are numbers of one unit."""
        amounts = [self.amount(*cell) for cell in cells]
        known = [amount for amount in amounts if amount is not None]
        if len(known) < len(amounts) or len({unit for _, unit in known}) > 1:
            return None
        if len({self.cells[row][column] for column in self._unit_columns for row, _ in cells}) > 1:
            return None
        return [value for value, _ in known]


def _iso(cell: str) -> str:
    period = read_period(clean_cell(cell) or "")
    return "" if period is None else period.iso


def _outside_brackets(text: str) -> str:
    return words_of(text.partition("(")[0])


def _last_word(text: str) -> str:
    words = words_of(text).split()
    return f" {words[-1]} " if len(words) == 2 else ""
