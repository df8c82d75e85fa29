"""A table by rows or by columns: what each column can be ordered and searched by."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from itertools import pairwise
from math import log
from statistics import median
from typing import Literal
from weakref import WeakKeyDictionary

from tablemend.evidence.grid import Grid
from tablemend.evidence.labels import merge_units
from tablemend.records import Evidence
from tablemend.values.cells import is_blank, read_value
from tablemend.values.dates import MONTH_NUMBERS, find_parts
from tablemend.values.numbers import Number, find_quantities, quantities
from tablemend.values.text import clean, fold
from tablemend.values.units import CURRENCIES, ONE, PLAIN, Unit
from tablemend.verifier.lexicon import RANKS, header_terms

# ---- what a cell can be ordered by

MeasureKind = Literal["number", "date", "time", "rank", "score", "span", "text"]

_CACHED_LENGTH = 256
_LONGEST = 120
_SIGN = re.compile(r"^([+-]) (?=[\d.])")
_CAPITAL, _MILLION = re.compile(r"\dM\b"), re.compile(r"(?<=\d)m\b")  # "5M" is no length
_SLASHES = re.compile(r"(?<=\d) ?/ ?(?=\d)")
_RANK = re.compile(r"(?:t|tied)?[ -]?(\d{1,3})(?:st|nd|rd|th)?(?: ?\((?:t|tie|tied)\)| ?=)?\Z")
_ORDINAL = re.compile(r"(?:t|tied)[ -]?\d|\d(?:st|nd|rd|th)\b|\d ?=")
_CLOCK = re.compile(
    r"(?:(\d{1,3})[:h] ?)?(\d{1,3})[:'](\d\d(?:[.:]\d+)?)[s\"]?(?!\d)(?: ?([ap])\.?m)?"
)
_SUM = re.compile(r"^[\d+ -]+ ?= ?(-?\d+(?:\.\d+)?)\Z")
_GOALS = re.compile(r"^(\d+)\.(\d+) ?\((\d+)\)")
_OUTCOME = r"(?P<result>w|l|d|t|win|won|loss|lost|draw|drawn|drew|tie|tied)\b"
_SCORE = re.compile(
    rf"^(?:{_OUTCOME}[ ,:(]*)?"
    r"(?P<first>\d{1,3})(?:-|:| [x:] )(?P<second>\d{1,3})(?![-:\d/])(?P<rest>.*)\Z",
    re.DOTALL,
)
_RESULT, _RESULT_AFTER = re.compile(_OUTCOME), re.compile(rf"[ ,(]*{_OUTCOME}")
_YEARS = re.compile(r"^(?:c\. ?)?(\d{4}) ?(?:-|/|to|until) ?(\d{4}|\d{2}|present|now)?(?![\d-])")
_QUARTER = re.compile(r"^(?:q([1-4])|([1-4])q)\b")
_FISCAL = re.compile(r"^(?:fiscal(?: year)?|fy|year|season) ?'?(?=\d)")
_WON, _LOST = frozenset({"w", "win", "won"}), frozenset({"l", "loss", "lost"})


@dataclass(frozen=True, slots=True)
class Measure:
    """A cell that can be put into an order.

    Attributes:
        kind: what it is.
        value: what it is ordered by: the number, days, seconds, the place, the first side's points,
            the first year.
        second: the other side's points, or the last year.
        result: ``w``, ``l`` or ``d`` where the cell says who won.
        decimals: decimal places as written.
        scaled: whether the cell itself states a scale such as "million".
    """

    kind: MeasureKind
    value: float
    second: float | None = None
    result: str = ""
    decimals: int = 0
    scaled: bool = False


def read_measure(cell: str) -> Measure | None:
    """What a cell is ordered by; ``None`` for a blank and for words.

    ``277`` of ``71 + 64 + 69 + 73 = 277``, ``84`` of ``11.18 (84)`` (goals and behinds), ``2`` of
    ``T2``, seconds of ``1:28.9``, points and result of ``W 21-20``, days of a date.
    """
    return _read_cached(cell) if len(cell) <= _CACHED_LENGTH else None


@lru_cache(maxsize=1 << 16)
def _read_cached(cell: str) -> Measure | None:
    text = clean(cell).casefold()
    if _CAPITAL.search(cell):
        text = _MILLION.sub("M", text)
    if not text or not any(map(str.isdigit, text)):
        number = read_value(cell).number
        return Measure("number", float(number.value)) if number else _read_result(text, 5)
    text = _SLASHES.sub("/", _SIGN.sub(r"\1", text))
    value = read_value(text)
    if (number := value.number) is not None:
        kind: MeasureKind = "rank" if _ORDINAL.search(text) else "number"
        scaled = number.unit.scale != 1
        return Measure(kind, float(number.value), decimals=number.decimals, scaled=scaled)
    if value.dates and "/" not in (iso := value.dates[0]) and (day := date_order(iso)) is not None:
        return Measure("date", day)
    return _read_marked(text) if len(text) <= _LONGEST else None


def _read_result(text: str, longest: int = _LONGEST) -> Measure | None:
    result = _RESULT.match(text) if len(text) <= longest else None
    return Measure("score", 0.0, None, _short(result[1])) if result else None


def _read_marked(text: str) -> Measure | None:
    if rank := _RANK.match(text):
        return Measure("rank", float(rank[1]))
    if total := _SUM.match(text):
        return Measure("number", float(total[1]))
    goals = _GOALS.match(text)
    if goals and 6 * int(goals[1]) + int(goals[2]) == int(goals[3]):
        return Measure("number", float(goals[3]))
    if years := _YEARS.match(text):
        return Measure("span", float(years[1]), _last_year(years[1], years[2]))
    if clock := _CLOCK.match(text.lstrip("+ ")):
        return Measure("time", _seconds(clock))
    if score := _SCORE.match(text):
        after = _RESULT_AFTER.match(score["rest"])
        result = score["result"] or (after[1] if after else "")
        return Measure("score", float(score["first"]), float(score["second"]), _short(result))
    stated = find_quantities(text.lstrip("+ "))
    if stated and stated[0].start == 0:
        number = stated[0].number
        return Measure("number", float(number.value), decimals=number.decimals)
    return _read_result(text)


def _seconds(clock: re.Match[str]) -> float:
    """Seconds of a duration, or since midnight of a time of day."""
    hours, minutes, seconds, half = clock.groups()
    if half and hours is None:  # "8:30 pm"
        return 3600 * (float(minutes) % 12 + 12 * (half == "p")) + 60 * float(seconds[:2])
    return 3600 * float(hours or 0) + 60 * float(minutes) + float(seconds.replace(":", "."))


def _last_year(first: str, second: str | None) -> float | None:
    if not second:
        return None
    if not second.isdigit():
        return float("inf")
    last = int(second) if len(second) == 4 else int(first) // 100 * 100 + int(second)
    return float(last if last >= int(first) else last + 100)


def _short(result: str) -> str:
    """One letter for a result."""
    return "w" if result in _WON else "l" if result in _LOST else "d" if result else ""


@lru_cache(maxsize=1 << 14)
def date_order(iso: str) -> float | None:
    """Days since the beginning of the calendar; a coarse date counts from its first day.

    A date without a year counts from the beginning of a year, so that it is comparable with its
    like only.
    """
    try:
        if iso.startswith("--"):  # year 4 is a leap year
            return float(date(4, int(iso[2:4]), int(iso[5:7] or 1)).timetuple().tm_yday)
        year = int(iso[:4])
        if len(iso) == 4 or iso[4] == "/":
            return float(date(year, 1, 1).toordinal())
        if iso[5] == "q":
            return float(date(year, 3 * int(iso[6]) - 2, 1).toordinal())
        return float(date(year, int(iso[5:7]), int(iso[8:10] or 1)).toordinal())
    except ValueError:  # February 31, "monday", a quarter without a year
        return None


@lru_cache(maxsize=1 << 14)
def moment(name: str) -> float | None:
    """Where a period stands in time; comparable with periods of its like only."""
    text = _FISCAL.sub("", name.casefold().strip())
    if month := MONTH_NUMBERS.get(text.rstrip(".")):
        return float(month)
    if (quarter := _QUARTER.match(text)) and len(text) <= 2:
        return float(quarter[1] or quarter[2])
    if parts := find_parts(name.casefold().strip()):
        year, _, part = parts[0].reading.rpartition("-")
        return float(year or (part if part.isdigit() else 0)) + 0.5 * (part == "h2")
    measure = read_measure(text)
    if measure is None or measure.kind not in ("date", "span", "number"):
        return None
    if measure.kind == "number" and not (1500 <= measure.value <= 2200 and text[:4].isdigit()):
        return None
    return measure.value


# ---- columns and views

_NUMBERING = frozenset("number game week round episode series match test day no".split())
_MONEY = frozenset(CURRENCIES.values())
_FLAGS = dict.fromkeys("yes y true \u2713 \u2714".split(), True)
_FLAGS |= dict.fromkeys("no n false \u2717 \u2718 \u274c \u00d7".split(), False)
_SAMPLE = 20
_BY_END = frozenset({"recent", "late", "last", "new"})
_BY_LENGTH = frozenset({"long", "short"})


@dataclass(frozen=True, slots=True)
class Order:
    """The rows of a column that can be put into an order.

    Attributes:
        values: value and row, smallest first.
        of: the value of each row.
    """

    values: tuple[tuple[float, int], ...]
    of: dict[int, float]


class ColumnIndex:
    """One column of a view.

    Args:
        view: the table as it is looked at.
        index: the column's place in it.
    """

    def __init__(self, view: OrientedTable, index: int) -> None:
        self.index = index
        self.header = view.headers[index]
        self.terms = header_terms(self.header)
        self._view = view
        self._units: dict[int, Unit] = {}

    def cell(self, row: int) -> str:
        """The cell as written."""
        return self._view.cell(row, self.index)

    @cached_property
    def filled(self) -> tuple[int, ...]:
        """Rows whose cell says something; no totals."""
        return tuple(row for row in self._view.rows if not is_blank(self.cell(row)))

    @cached_property
    def measures(self) -> dict[int, Measure]:
        """What each row's cell is ordered by, where it is; totals too."""
        rows = (*self._view.rows, *self._view.totals)
        found = {row: read_measure(self.cell(row)) for row in rows}
        return {row: measure for row, measure in found.items() if measure is not None}

    @cached_property
    def dates(self) -> dict[int, tuple[str, ...]]:
        """The dates of the cells that are one."""
        found = {row: read_value(self.cell(row)).dates for row in self._view.rows}
        return {row: dates for row, dates in found.items() if dates}

    @cached_property
    def kind(self) -> MeasureKind:
        """What the column is ordered by; ``text`` where half of its cells are none of it."""
        kinds = [self.measures[row].kind for row in self.filled if row in self.measures]
        if not kinds or 2 * len(kinds) < len(self.filled):
            return "text"
        return Counter(kinds).most_common(1)[0][0]

    @property
    def measured(self) -> bool:
        """Whether the column can be put into an order."""
        return self.kind != "text"

    @cached_property
    def scale(self) -> float:
        """What its headers multiply its cells by: 1000 of "COGS ($ thousands)"."""
        own = [measure.scaled for measure in self.measures.values()]
        if self.percent or 2 * sum(own) > len(own):
            return 1.0  # cells that say it themselves
        return float(self._view.unit(self.index).scale)

    def scaled_by(self, stated: float, scale: float) -> bool:
        """Whether a number is nearer to the cells in some scale (thousands) than as they stand."""
        values = [abs(value) for value, _ in self.ordered.values if value]
        if not values or not stated:
            return False
        middle = median(values)
        return abs(log(middle * scale / abs(stated))) < abs(log(middle / abs(stated)))

    @cached_property
    def percent(self) -> bool:
        """Whether its cells are percentages."""
        if self.two_valued:
            return False
        return "%" in self.header or sum("%" in self.cell(row) for row in self.filled) * 2 > len(
            self.filled
        )

    @property
    def two_valued(self) -> bool:
        """Whether its cells state two numbers each: "n (%)"."""
        return not self._view.turned and self.index in self._view.grid.two_valued

    def second(self, row: int) -> Number | None:
        """The second number of such a cell."""
        place = self._view.source(row, self.index) if self.two_valued else None
        return self._view.grid.second(*place) if place else None

    def unit(self, row: int | None = None) -> Unit:
        """What a cell counts in, or, without a row, what all cells of the column do."""
        if row is None:
            return self._unit
        if (known := self._units.get(row)) is None:
            number = read_value(self.cell(row)).number
            own = PLAIN if number is None else number.unit._replace(scale=ONE)
            known = self._units[row] = merge_units(own, self._view.unit(self.index, row))
        return known

    @cached_property
    def _unit(self) -> Unit:
        units = {self.unit(row) for row in self.filled[:_SAMPLE]}
        return units.pop() if len(units) == 1 else PLAIN

    def signs(self, row: int) -> Mapping[str, int]:
        """What the names of a cell's row and column say of its sign."""
        place = self._view.source(row, self.index)
        return self._view.grid.signs(*place) if place else {}

    @cached_property
    def units(self) -> frozenset[str]:
        """What its header and its first cell say that it counts in: "$", "g"."""
        own = [n.unit for row in self._view.rows[:1] for n in quantities(self.cell(row))]
        units = [self._view.unit(self.index), *own]
        return frozenset({unit.currency or unit.symbol for unit in units} - {""})

    @cached_property
    def money(self) -> bool:
        """Whether it counts in a currency."""
        return not _MONEY.isdisjoint(self.units)

    @property
    def adds_up(self) -> bool:
        """Whether a sum of its cells means something: amounts, no places and no years."""
        numbers = self.kind == "number" and self.index != self._view.key
        return numbers and not (self.ranking or self.years or self.counter)

    @cached_property
    def years(self) -> bool:
        """Whether its cells are years."""
        values = self.ordered.values
        return (
            self.kind == "number"
            and bool(values)
            and 1500 <= values[0][0] <= values[-1][0] <= 2100
            and all(value == int(value) for value, _ in values)
        )

    @property
    def temporal(self) -> bool:
        """Whether its cells are points in time."""
        return self.kind in ("date", "span") or self.years

    @cached_property
    def said(self) -> dict[int, tuple[float, ...]]:
        """All numbers that each row's cell says: ``20.14`` and ``134`` of ``20.14 (134)``."""
        return {
            row: tuple(float(n.value) for n in quantities(self.cell(row)))
            for row in self.filled
            if not self.temporal
        }

    @cached_property
    def counter(self) -> bool:
        """Whether it only numbers the rows: 1, 2, 3 ... from the top, and is no rank."""
        values = [self.ordered.of[row] for row in self.filled if row in self.ordered.of]
        return (
            self.kind == "number"
            and len(values) > 2
            and not self.ranking
            and (values[0] in (0, 1) or not _NUMBERING.isdisjoint(self.terms))
            and all(after - before == 1 for before, after in pairwise(values))
        )

    @cached_property
    def has_results(self) -> bool:
        """Whether its cells say who won."""
        said = sum(bool(measure.result) for measure in self.measures.values())
        return self.kind == "score" and 2 * said >= len(self.filled) > 0

    @cached_property
    def ranking(self) -> bool:
        """Whether 1 is the best: places and ranks."""
        return self.kind == "rank" or (
            self.kind == "number" and not RANKS.isdisjoint(self.terms) and not self.years
        )

    @cached_property
    def ordered(self) -> Order:
        """The column in order, sorted once; a cell of another kind has no place in it."""
        numbers = ("number", "rank")
        kinds = numbers if self.kind in numbers else (self.kind,)
        return self._order({row: m.value for row, m in self.measures.items() if m.kind in kinds})

    def order_of(self, sense: str) -> Order:
        """The order in which an adjective sees the column: spans of years also by end or length."""
        if self.kind != "span" or sense not in _BY_END | _BY_LENGTH:
            return self.ordered
        of = {}
        for row, measure in self.measures.items():
            if measure.kind == "span":
                last = measure.second if measure.second is not None else measure.value
                of[row] = last if sense in _BY_END else last - measure.value
        return self._order(of)

    def _order(self, of: dict[int, float]) -> Order:
        totals = set(self._view.totals)
        return Order(tuple(sorted((v, row) for row, v in of.items() if row not in totals)), of)

    @cached_property
    def flags(self) -> dict[int, bool]:
        """Yes or no of each row; empty for a column with anything else."""
        found = {
            row: _FLAGS.get(fold(self.cell(row)) or self.cell(row).strip()) for row in self.filled
        }
        return (
            {r: v for r, v in found.items() if v is not None} if None not in found.values() else {}
        )

    @cached_property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """The rows of each value, folded."""
        groups: dict[str, list[int]] = defaultdict(list)
        for row in self.filled:
            groups[fold(self.cell(row))].append(row)
        return {name: tuple(rows) for name, rows in groups.items()}


class OrientedTable:
    """A table looked at by its rows, or by its columns.

    Financial tables often have the periods side by side and one row a metric: there "the highest
    revenue" runs along a row. Looked at by columns, such a table is like any other.

    Args:
        grid: the table.
        turned: whether rows and columns change places.
    """

    header_row = -1

    def __init__(self, grid: Grid, turned: bool = False) -> None:
        self.grid = grid
        self.turned = turned
        lines = grid.lines
        listed = [(line.index, line.name, line.total) for line in lines]
        self.headers: tuple[str, ...] = tuple(column.header for column in grid.columns)
        self.key = grid.key
        self.names: tuple[str, ...] = tuple(name for _, name, total in listed if not total)
        if turned:
            fields = [c for c in grid.columns if c.index != grid.key]
            periods = [c for c in fields if moment(c.header) is not None]
            fields = periods if len(periods) > 1 else fields
            self._lines = tuple(line.index for line in lines)
            self._fields = tuple(c.index for c in fields)
            self.headers, self.key = ("", *(line.header for line in lines)), 0
            self.names = tuple(c.header for c in fields)
            listed = [(place, c.header, c.total) for place, c in enumerate(fields)]
        self.rows = tuple(row for row, _, total in listed if not total)
        self.totals = tuple(row for row, _, total in listed if total)
        self._counted = frozenset(self.rows)
        self.columns = tuple(ColumnIndex(self, index) for index in range(len(self.headers)))

    @cached_property
    def sensible(self) -> bool:
        """Whether a turned view is worth a look: metrics in rows, or periods side by side."""
        periods = sum(moment(name) is not None for name in self.names) if self.turned else 0
        return self.grid.transposed or periods >= 2

    @cached_property
    def torn(self) -> frozenset[tuple[int, int]]:
        """Cells that another row of the same name denies, where nothing tells the rows apart."""
        kinds: dict[tuple[str, ...], list[int]] = defaultdict(list)
        amounts = [column for column in self.columns if column.adds_up]
        others = [column for column in self.columns if not column.adds_up]
        for row in () if self.turned else self.rows:
            if not is_blank(self.cell(row, self.key)):
                kinds[tuple(fold(column.cell(row)) for column in others)].append(row)
        found = set()
        for rows in kinds.values():
            for column in amounts if len(rows) > 1 else ():
                values = {column.ordered.of[row] for row in rows if row in column.ordered.of}
                if len(values) > 1:
                    found |= {(row, place) for row in rows for place in (column.index, self.key)}
        return frozenset(found)

    def cell(self, row: int, column: int) -> str:
        """A cell as written."""
        if not self.turned:  # asked most often
            return self.grid.cell(row, column)
        place = self.source(row, column)
        return self.grid.cell(*place) if place else self.names[row]

    def unit(self, column: int, row: int | None = None) -> Unit:
        """What a column counts in, or a cell beyond what it says itself."""
        if row is not None or self.turned:
            place = self.source(row or 0, column)
            return self.grid.unit(*place) if place else PLAIN
        if self.rows and len({line.unit for line in self.grid.lines}) == 1:
            return self.grid.unit(self.rows[0], column)
        return self.grid.columns[column].unit

    def evidence(self, row: int, column: int) -> Evidence | None:
        """A cell as evidence; ``None`` for what is a header."""
        place = self.source(row, column)
        return self.grid.evidence(*place) if place else None

    def evidence_of(self, cells: Iterable[tuple[int, int]]) -> tuple[Evidence, ...]:
        """Cells as evidence, without headers."""
        return tuple(one for cell in cells if (one := self.evidence(*cell)) is not None)

    def place(self, row: int, column: int) -> tuple[int, int] | None:
        """Where a cell of the grid stands in the view; ``None`` for one that it leaves out."""
        if not self.turned:
            return (row, column) if row in self._counted else None
        if row == self.header_row and column in self._fields:
            return self._fields.index(column), 0
        return None

    def source(self, row: int, column: int) -> tuple[int, int] | None:
        """Row and column of the table of a cell of the view; ``None`` for a header."""
        if not self.turned:
            return row, column
        return (self._lines[column - 1], self._fields[row]) if column else None

    def turned_columns(self, rows: Iterable[int]) -> tuple[int, ...]:
        """The columns of a turned view that rows of the grid have become."""
        return tuple(self._lines.index(row) + 1 for row in rows if row in self._lines)


_VIEWS: WeakKeyDictionary[Grid, tuple[OrientedTable, OrientedTable]] = WeakKeyDictionary()


def views_of(grid: Grid) -> tuple[OrientedTable, OrientedTable]:
    """A grid by rows and by columns; built at the first question and kept as long as the grid."""
    if (views := _VIEWS.get(grid)) is None:
        views = _VIEWS[grid] = (OrientedTable(grid), OrientedTable(grid, turned=True))
    return views
