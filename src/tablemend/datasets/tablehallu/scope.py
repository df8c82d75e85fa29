"""Which rows a query is about: one or two conditions that a few rows of a table meet."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import combinations
from math import ceil, floor, log10
from operator import attrgetter, itemgetter
from random import Random
from typing import NamedTuple

from tablemend.datasets.tablehallu.columns import ORDERED, Kind, TypedTable, is_whole
from tablemend.datasets.tablehallu.labels import ORDINALS, PARTICIPLES, labels_of
from tablemend.programs.nouns import WORDS
from tablemend.records import Condition
from tablemend.tables.table import Cell

SUPERLATIVES, LISTS, PAIRS = 0.1, 0.02, 0.35
"""Shares of the scopes with the highest values, names, and two conditions, where there are any."""
EXCLUSIONS = 0.25
"""Share of "any but this" among the categories of two conditions."""
MOST_TOP = 12
DRAWN, ODD = 12, 2.0
"""Ranges of which the one with the roundest ends is taken; what ends like "41 to 187" cost."""
_NO_AMOUNTS = WORDS["no_amounts"] | ORDINALS
_JOINT = re.compile(r",| or | and |[/(]")
Row = tuple[Cell, ...]
Orders = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """A condition that rows can be held against.

    Attributes:
        column: index of the column it reads.
        kind: what the column holds.
        condition: the same for the record.
        low, high: inclusive ends on the sortable values; ``None`` is open. Those of a superlative
            are the last value in scope.
        values: the admitted categories; empty for a range.
        spread: distance between the column's ends, to compare near misses by.
    """

    column: int
    kind: Kind
    condition: Condition
    low: float | None = None
    high: float | None = None
    values: frozenset[str] = frozenset()
    spread: float = 1.0

    def miss(self, cell: Cell, order: float | None) -> float | None:
        """How far a cell is out of scope: 0 inside, ``None`` where it cannot be read.

        A category that is not admitted is half a spread away.
        """
        if self.values:
            return None if cell is None else (0.0 if cell in self.values else 0.5)
        if order is None:
            return None
        if self.low is not None and order < self.low:
            return (self.low - order) / self.spread
        if self.high is not None and order > self.high:
            return (order - self.high) / self.spread
        return 0.0


class Scope(NamedTuple):
    """Conditions, the rows that meet all of them, in table order, and what it costs to say them."""

    bounds: tuple[Bound, ...]
    rows: tuple[int, ...]
    cost: float = 0.6


Window = tuple[list[tuple[float, list[int]]], int, int]
"""All values of a column with their rows, and the first and last of a run of them, inclusive."""


class Scopes:
    """The scopes of one table, for any size of gold table within ``low`` to ``high`` rows.

    Single conditions are enumerated once; conjunctions are drawn when asked for.
    """

    def __init__(self, typed: TypedTable, low: int, high: int) -> None:
        self._typed, self._low, self._high = typed, low, high
        self._labels = labels_of(typed.columns)
        self._all_rows = list(range(len(typed.table.rows)))
        # Rows without the scope's cell take no part: nobody could say whether they are in it.
        kinds = {i: c.kind for i, c in enumerate(typed.columns) if c.usable and i != typed.key}
        self._ordered = [index for index, kind in kinds.items() if kind in ORDERED]
        categories = [index for index, kind in kinds.items() if kind == "category"]
        groups = {index: self._group(index) for index in (*categories, typed.key)}
        self._groups = {index: found for index, found in groups.items() if found}
        self._columns = self._ordered + [index for index in categories if index in self._groups]
        self._weights = list(map(self._interest, self._columns))
        rows = typed.table.rows
        # Where some values are left out, "not this one" would leave open what holds for them.
        self._complete = {
            index
            for index, groups in self._groups.items()
            if all(row[index] is None or row[index] in groups for row in rows)
        }
        self._is_panel = any(len(rows) > 1 for rows in groups[typed.key].values())
        # What takes time is worked out when it is drawn: many tables are asked but once.
        self._windows = cache(lambda index: self._range_windows(index, self._all_rows))
        self._choices = cache(self._category_sets)
        self._tops = cache(lambda: [top for index in self._ordered for top in self._top(index)])

    def __bool__(self) -> bool:
        return any(
            (self._choices if i in self._groups else self._windows)(i) for i in self._columns
        )

    def draw(self, rng: Random) -> Scope:
        """A scope at random: mostly a range, a category or two of them."""
        kind = rng.random()
        if kind < SUPERLATIVES and not self._is_panel and (tops := self._tops()):
            return rng.choice(tops)
        if SUPERLATIVES <= kind < SUPERLATIVES + LISTS and (scope := self._draw_names(rng)):
            return scope
        if rng.random() < PAIRS and (scope := self._draw_pair(rng)):
            return scope
        return min((self._draw_single(rng) for _ in range(2)), key=attrgetter("cost"))

    def _draw_single(self, rng: Random) -> Scope:
        while True:  # some column has a scope
            index = rng.choices(self._columns, self._weights)[0]
            if index in self._groups and (choices := self._choices(index)):
                return self._category_scope(index, *rng.choice(choices))
            if index not in self._groups and (windows := self._windows(index)):
                return self._range_scope(index, windows, rng)

    def _interest(self, index: int) -> float:
        """How likely somebody asks for a range of this column."""
        column = self._typed.columns[index]
        is_ordinal = column.serial or self._is_ordinal(index)
        interest = 3.0 if column.kind != "number" else 0.2 if is_ordinal else 1.0
        return interest if self._labels[index].is_plain else 0.2 * interest

    def _is_ordinal(self, index: int) -> bool:
        """Whether its numbers say which one, not how much."""
        return self._labels[index].name.lower().split()[-1] in _NO_AMOUNTS

    def _top(self, column: int) -> Iterator[Scope]:
        """Every superlative without a tie."""
        label = self._labels[column]
        is_said = label.is_plain and label.name.split()[-1] not in PARTICIPLES  # "the most drawn"
        if self._is_ordinal(column) or self._typed.columns[column].serial or not is_said:
            return
        orders = self._typed.orders[column]
        rows = [row for row in self._all_rows if orders[row] is not None]
        for sign in (1, -1):
            rows.sort(key=lambda row: -sign * (orders[row] or 0.0))
            for count in range(self._low, min(self._high, MOST_TOP, len(rows) - 2) + 1):
                if (end := orders[rows[count - 1]]) != orders[rows[count]]:
                    low, high = (end, None) if sign > 0 else (None, end)
                    bound = self._bound(column, low, high, sign * count)
                    yield Scope((bound,), tuple(sorted(rows[:count])))

    def _bound(self, column: int, low: float | None, high: float | None, top: int = 0) -> Bound:
        typed = self._typed.columns[column]

        def write(end: float | None) -> str | None:
            if end is None or top:
                return None
            return date.fromordinal(int(end)).isoformat() if typed.kind == "date" else f"{end:.15g}"

        condition = Condition(typed.name, write(low), write(high), top=top)
        every = [value for value in self._typed.orders[column] if value is not None]
        spread = max(max(every) - min(every), 1e-9)
        return Bound(column, typed.kind, condition, low, high, spread=spread)

    def _draw_names(self, rng: Random) -> Scope | None:
        """Some entities by name."""
        named = self._groups.get(self._typed.key, {})
        names = [name for name in named if not _JOINT.search(name)]
        rng.shuffle(names)
        wanted, count = list[str](), 0
        for name in names:
            if count < self._low and count + len(named[name]) <= self._high:
                wanted.append(name)
                count += len(named[name])
        if not self._low <= count < len(self._all_rows) - 1 or len(wanted) < 2:
            return None
        return self._category_scope(self._typed.key, tuple(wanted), False)

    def _category_scope(self, column: int, values: tuple[str, ...], excluded: bool) -> Scope:
        groups, name = self._groups[column], self._typed.columns[column].name
        admitted = frozenset(value for value in groups if (value in values) != excluded)
        condition = Condition(name, excluded=values) if excluded else Condition(name, values=values)
        rows = sorted(row for value in admitted for row in groups[value])
        return Scope((Bound(column, "category", condition, values=admitted),), tuple(rows))

    def _draw_pair(self, rng: Random) -> Scope | None:
        """A category or a range, and a range inside it; both must leave a row out."""
        if not self._ordered or len(self._columns) < 2:
            return None
        columns, weights = self._columns, self._weights
        for _ in range(3):
            second = rng.choices(self._ordered, weights[: len(self._ordered)])[0]
            first = rng.choices(columns, weights)[0]
            if first == second:
                continue
            if first in self._groups:
                values = (rng.choice(list(self._groups[first])),)
                excluded = rng.random() < EXCLUSIONS and first in self._complete
                outer = self._category_scope(first, values, excluded)
            elif wide := self._range_windows(first, self._all_rows, self._low + 1, 1 << 30):
                outer = self._range_scope(first, wide, rng)
            else:
                continue
            if not (windows := self._range_windows(second, outer.rows)):
                continue
            inner = self._range_scope(second, windows, rng)
            bounds = (*outer.bounds, *inner.bounds)
            if inner.cost < ODD and all(self._leaves_out(bound, bounds) for bound in bounds):
                return Scope(bounds, inner.rows)
        return None

    def _leaves_out(self, bound: Bound, bounds: Sequence[Bound]) -> bool:
        """Whether some row fails this condition alone."""
        rows, orders = self._typed.table.rows, self._typed.orders

        def fails(row: int) -> bool:
            misses = [(b, b.miss(rows[row][b.column], orders[b.column][row])) for b in bounds]
            return all(m is not None and (m == 0.0) == (b is not bound) for b, m in misses)

        return any(map(fails, self._all_rows))

    def _group(self, column: int) -> dict[str, list[int]]:
        groups: dict[str, list[int]] = defaultdict(list)
        for row in self._all_rows:
            if (cell := self._typed.table.rows[row][column]) is not None:
                groups[cell].append(row)
        # Values that differ in case alone cannot be distinguished in a sentence.
        counts = Counter(map(str.casefold, groups))
        fit = (value for value in groups if counts[value.casefold()] == 1 and '"' not in value)
        return {value: groups[value] for value in fit}

    def _category_sets(self, column: int) -> list[tuple[tuple[str, ...], bool]]:
        """One to three values that have a fitting number of rows, or all but one or two."""
        groups = self._groups[column]
        total = sum(map(len, groups.values()))
        small = sorted(value for value, rows in groups.items() if len(rows) <= self._high)[:24]
        found: list[tuple[tuple[str, ...], bool]] = []
        if column in self._complete and total <= 4 * self._high:
            for values in (*combinations(groups, 1), *combinations(groups, 2)):
                count = total - sum(len(groups[value]) for value in values)
                if self._low <= count <= self._high and total - count > 2:
                    found.append((values, True))
        for size in (1, 2, 3):
            if size == 2:  # a listing must not be ambiguous
                small = [value for value in small if not _JOINT.search(value)]
            for values in combinations(small, size):
                count = sum(len(groups[value]) for value in values)
                if self._low <= count <= self._high and count < total:
                    found.append((values, False))
            if len(found) >= 40:
                break
        return found

    def _range_windows(
        self, column: int, rows: Sequence[int], low: int | None = None, high: int | None = None
    ) -> list[Window]:
        """Runs of neighbouring values with a fitting number of rows, not all of them."""
        low, high = low or self._low, high or self._high
        by_value: dict[float, list[int]] = defaultdict(list)
        for row in rows:
            value = self._typed.orders[column][row]
            if value is not None:
                by_value[value].append(row)
        groups = sorted(by_value.items())
        windows = []
        for start in range(len(groups)):
            count = 0
            for stop in range(start, len(groups)):
                count += len(groups[stop][1])
                if count > high:
                    break
                if count >= low and (start > 0 or stop < len(groups) - 1):
                    windows.append((groups, start, stop))
        return windows

    def _range_scope(self, column: int, windows: list[Window], rng: Random) -> Scope:
        """A range whose ends are as round as the gaps to the next values outside allow.

        It selects the same rows, and the query states a bound and no cell. At the table's end it is
        open, but for numbers that say which one: "ranked 3 to 8".
        """
        kind, orders = self._typed.columns[column].kind, self._typed.orders[column]
        is_ordinal = kind == "number" and self._is_ordinal(column)
        whole = is_whole(self._typed, column)
        found = list[Scope]()
        for _ in range(DRAWN):
            groups, start, stop = windows[int(rng.random() * len(windows))]
            ends, cost = list[float | None](), 0.0
            for place, beyond in ((start, start - 1), (stop, stop + 1)):
                end: float | None = groups[place][0] if is_ordinal else None
                if end is None and 0 <= beyond < len(groups):
                    price, end = _round_end(groups[place][0], groups[beyond][0], kind, whole)
                    cost += price + 0.6
                ends.append(end)
            rows = sorted(row for _, members in groups[start : stop + 1] for row in members)
            found.append(Scope((self._bound(column, ends[0], ends[1]),), tuple(rows), cost))
        # Small windows are by far the most: a row is worth an eighth of a digit, up to a quarter of
        # the table, which leaves enough others.
        most = len(orders) / 4
        return min(found, key=lambda scope: scope.cost - min(len(scope.rows), most) / 8)


def _round_end(value: float, beyond: float, kind: Kind, is_whole: bool) -> tuple[float, float]:
    """What the roundest inclusive end from ``value`` on and short of ``beyond`` costs, and it."""
    sign = 1 if beyond > value else -1
    if kind == "year":
        years = range(int(value), int(value) + 9 * sign, sign)
        edges = ((year, year + (sign > 0)) for year in years)  # "before 1990" is up to 1989
        found = [(bool(edge % 10) / 2 + bool(edge % 5) / 2, float(year)) for year, edge in edges]
    elif kind == "date":
        found = _days(date.fromordinal(int(value)), sign)
    else:
        found = [(cost_of_number(end), end) for end in _rounded(value, sign)]
        if is_whole:
            found.append((cost_of_number(beyond), beyond - sign))  # "more than 50"
    return min((one for one in found if sign * one[1] < sign * beyond), key=itemgetter(0))


def _rounded(value: float, sign: int) -> Iterator[float]:
    """Numbers at or outside a value, the roundest first, the value last."""
    magnitude = floor(log10(abs(value))) if value else 0
    for power in range(magnitude, magnitude - 8, -1):
        for step in (5, 2, 1):
            steps = round(value / (unit := step * 10.0**power), 9)
            if rounded := round((ceil(steps) if sign > 0 else floor(steps)) * unit, 10):
                yield rounded
    yield value


def _days(day: date, sign: int) -> list[tuple[float, float]]:
    """Costs and ordinals: the year's first or last day, the month's, and the day itself."""
    month = day.replace(day=1)
    last = (month + timedelta(31)).replace(day=1) - timedelta(1)
    ends = (date(day.year, 12, 31), last) if sign > 0 else (month.replace(month=1), month)
    return [
        (cost, end.toordinal()) for cost, end in zip((0.0, 1.0, 4.0), (*ends, day), strict=True)
    ]


def cost_of_number(end: float) -> float:
    """What it costs to read an end: its digits beyond the first; less for a 5, for small ones."""
    digits = f"{abs(end):.15g}".replace(".", "").strip("0")
    if end % 1 == 0 and abs(end) < 13:
        return 0.2 if end else 9.0
    return len(digits) - 1 - 0.5 * digits[1:].endswith("5")
