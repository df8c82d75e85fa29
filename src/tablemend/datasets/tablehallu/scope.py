"""Which rows a query is about: one or two conditions that a few rows of a table meet."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import combinations
from math import ceil, floor, log10
from random import Random
from typing import NamedTuple

from tablemend.datasets.tablehallu.columns import ORDERED, Kind, TypedTable
from tablemend.datasets.tablehallu.labels import ORDINALS, labels_of
from tablemend.programs.nouns import WORDS
from tablemend.records import Condition
from tablemend.tables.table import Cell

SUPERLATIVES = 0.1
LISTS = 0.03
PAIRS = 0.35
"""Shares of the scopes with the highest values, names, and two conditions, where there are any."""
EXCLUSIONS = 0.25
"""Share of "any but this" among the categories of two conditions."""
MOST_TOP = 12
OPEN_NUMBERS, OPEN_TIMES = 0.7, 0.5
"""Shares of the ranges that "at least" or "at most" can say, at least."""
DRAWN = 12
"""Ranges of which the one with the roundest ends is taken."""
_NO_AMOUNTS = WORDS["no_amounts"] | ORDINALS
_JOINT = re.compile(r",| or | and |/")
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
    """Conditions and the rows that meet all of them, in table order."""

    bounds: tuple[Bound, ...]
    rows: tuple[int, ...]


class Window(NamedTuple):
    """Neighbouring values of a column, first to last inclusive, among all its values."""

    groups: list[tuple[float, list[int]]]
    first: int
    last: int

    def count_rows(self) -> int:
        """Rows inside."""
        return sum(len(rows) for _, rows in self.groups[self.first : self.last + 1])

    def is_open(self) -> bool:
        """Whether "at least" or "at most" can say it."""
        return not self.first or self.last == len(self.groups) - 1


class Scopes:
    """The scopes of one table, for any size of gold table within ``low`` to ``high`` rows.

    Single conditions are enumerated once; conjunctions are drawn when asked for.
    """

    def __init__(self, typed: TypedTable, low: int, high: int) -> None:
        self._typed, self._low, self._high = typed, low, high
        self._labels = labels_of(typed.columns)
        self._all_rows = list(range(len(typed.table.rows)))
        # Rows without the scope's cell take no part: nobody could say whether they are in it.
        self._ordered = [
            index
            for index, column in enumerate(typed.columns)
            if column.kind in ORDERED and index != typed.key and column.usable
        ]
        self._categories = [
            index
            for index, column in enumerate(typed.columns)
            if column.kind == "category" and index != typed.key and column.usable
        ]
        self._groups = {index: self._group(index) for index in self._categories}
        self._categories = [index for index in self._categories if self._groups[index]]
        rows = typed.table.rows
        # Where some values are left out, "not this one" would leave open what holds for them.
        self._complete = {
            index
            for index, groups in self._groups.items()
            if all(row[index] is None or row[index] in groups for row in rows)
        }
        self._names = self._group(typed.key)
        self._is_panel = any(len(rows) > 1 for rows in self._names.values())
        # What takes time is worked out when it is drawn: many tables are asked but once.
        self._windows = cache(lambda index: self._range_windows(index, self._all_rows))
        self._choices = cache(self._category_sets)
        self._tops = cache(lambda: [top for index in self._ordered for top in self._ends(index)])

    def __bool__(self) -> bool:
        return any(map(self._windows, self._ordered)) or any(map(self._choices, self._categories))

    def draw(self, rng: Random) -> Scope:
        """A scope at random: mostly a range, a category or two of them."""
        kind = rng.random()
        if kind < SUPERLATIVES and not self._is_panel and (tops := self._tops()):
            return self._top_scope(*rng.choice(tops))
        if SUPERLATIVES <= kind < SUPERLATIVES + LISTS and (scope := self._draw_names(rng)):
            return scope
        if rng.random() < PAIRS and (scope := self._draw_pair(rng)):
            return scope
        columns = [*self._ordered, *self._categories]
        weights = list(map(self._interest, columns))
        while True:  # some column has a scope
            index = rng.choices(columns, weights)[0]
            if index in self._groups and (choices := self._choices(index)):
                return self._category_scope(index, *rng.choice(choices))
            if index not in self._groups and (windows := self._windows(index)):
                return self._range_scope(index, windows, rng)

    def _interest(self, index: int) -> float:
        """How likely somebody asks for a range of this column."""
        column = self._typed.columns[index]
        if column.kind == "number":
            common = 0.2 if column.serial or self._is_ordinal(index) else 1.0
        else:
            common = 3.0
        return common if self._labels[index].is_plain else 0.2 * common

    def _is_ordinal(self, index: int) -> bool:
        """Whether its numbers say which one, not how much."""
        return self._labels[index].name.lower().split()[-1] in _NO_AMOUNTS

    def _ends(self, column: int) -> Iterator[tuple[int, int, list[int]]]:
        """Column, count and rows of every superlative without a tie; lowest ones are negative."""
        is_sayable = self._labels[column].is_plain and not self._typed.columns[column].serial
        if self._is_ordinal(column) or not is_sayable:
            return
        orders = self._typed.orders[column]
        rows = [row for row in self._all_rows if orders[row] is not None]
        for sign in (1, -1):
            rows.sort(key=lambda row: -sign * (orders[row] or 0.0))
            for count in range(self._low, min(self._high, MOST_TOP, len(rows) - 2) + 1):
                if orders[rows[count - 1]] != orders[rows[count]]:
                    yield column, sign * count, rows[:count]

    def _top_scope(self, column: int, top: int, rows: list[int]) -> Scope:
        typed = self._typed.columns[column]
        values = [value for row in rows if (value := self._typed.orders[column][row]) is not None]
        low, high = (min(values), None) if top > 0 else (None, max(values))
        every = [value for value in self._typed.orders[column] if value is not None]
        spread = max(max(every) - min(every), 1e-9)
        bound = Bound(column, typed.kind, Condition(typed.name, top=top), low, high, spread=spread)
        return Scope((bound,), tuple(sorted(rows)))

    def _draw_names(self, rng: Random) -> Scope | None:
        """Some entities by name."""
        names = [name for name in self._names if not _JOINT.search(name)]
        rng.shuffle(names)
        wanted, rows = list[str](), list[int]()
        target = self._low
        for name in names:
            if len(rows) < target and len(rows) + len(self._names[name]) <= self._high:
                wanted.append(name)
                rows += self._names[name]
        if not self._low <= len(rows) < len(self._all_rows) - 1 or len(wanted) < 2:
            return None
        return Scope((self._category_bound(self._typed.key, tuple(wanted)),), tuple(sorted(rows)))

    def _category_scope(self, column: int, values: tuple[str, ...], excluded: bool) -> Scope:
        groups = self._groups[column]
        rows = [
            row for v, members in groups.items() if (v in values) != excluded for row in members
        ]
        return Scope((self._category_bound(column, values, excluded),), tuple(sorted(rows)))

    def _draw_pair(self, rng: Random) -> Scope | None:
        """A category or a range, and a range inside it; both must leave a row out."""
        if not self._ordered or len(self._ordered) + len(self._categories) < 2:
            return None
        columns = self._ordered + self._categories
        weights = list(map(self._interest, columns))
        for _ in range(3):
            second = rng.choices(self._ordered, weights[: len(self._ordered)])[0]
            first = rng.choices(columns, weights)[0]
            if first == second:
                continue
            if first in self._groups:
                values = (rng.choice(list(self._groups[first])),)
                excluded = rng.random() < EXCLUSIONS and first in self._complete
                outer = self._category_scope(first, values, excluded)
            else:
                wide = self._range_windows(first, self._all_rows, self._low + 1, 1 << 30)
                if not wide:
                    continue
                outer = self._range_scope(first, wide, rng)
            windows = self._range_windows(second, outer.rows)
            if not windows:
                continue
            inner = self._range_scope(second, windows, rng)
            bounds = (*outer.bounds, *inner.bounds)
            if all(self._leaves_out(bound, bounds) for bound in bounds):
                return Scope(bounds, inner.rows)
        return None

    def _leaves_out(self, bound: Bound, bounds: Sequence[Bound]) -> bool:
        """Whether some row fails this condition alone."""
        rows, orders = self._typed.table.rows, self._typed.orders
        for row in self._all_rows:
            misses = [(b, b.miss(rows[row][b.column], orders[b.column][row])) for b in bounds]
            if all(m is not None and (m == 0.0) == (b is not bound) for b, m in misses):
                return True
        return False

    def _group(self, column: int) -> dict[str, list[int]]:
        groups: dict[str, list[int]] = defaultdict(list)
        for row in self._all_rows:
            cell = self._typed.table.rows[row][column]
            if cell is not None:
                groups[cell].append(row)
        # Values that differ in case alone cannot be distinguished in a sentence.
        folded: dict[str, int] = defaultdict(int)
        for value in groups:
            folded[value.casefold()] += 1
        return {
            value: rows
            for value, rows in groups.items()
            if folded[value.casefold()] == 1 and '"' not in value
        }

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
                    windows.append(Window(groups, start, stop))
        return windows

    def _range_scope(self, column: int, windows: list[Window], rng: Random) -> Scope:
        kind = self._typed.columns[column].kind
        is_ordinal = kind == "number" and self._is_ordinal(column)
        if not is_ordinal and rng.random() < (OPEN_NUMBERS if kind == "number" else OPEN_TIMES):
            windows = [window for window in windows if window.is_open()] or windows
        is_whole = all(not value or value % 1 == 0 for value in self._typed.orders[column])
        drawn = [windows[int(rng.random() * len(windows))] for _ in range(DRAWN)]
        found = [(*_ends(window, kind, is_whole, is_ordinal), window) for window in drawn]
        # Small windows are by far the most: one more row is worth a quarter of a digit.
        ends = min(found, key=lambda one: one[2] - one[3].count_rows() / 4)
        low, high, _, (groups, start, stop) = ends
        bound = Bound(
            column,
            kind,
            Condition(
                self._typed.columns[column].name,
                None if low is None else _written(low, kind),
                None if high is None else _written(high, kind),
            ),
            low,
            high,
            spread=max(groups[-1][0] - groups[0][0], 1e-9),
        )
        rows = sorted(row for _, members in groups[start : stop + 1] for row in members)
        return Scope((bound,), tuple(rows))

    def _category_bound(
        self, column: int, values: tuple[str, ...], excluded: bool = False
    ) -> Bound:
        name = self._typed.columns[column].name
        if not excluded:
            condition = Condition(name, values=values)
            return Bound(column, "category", condition, values=frozenset(values))
        others = frozenset(self._groups[column]).difference(values)
        return Bound(column, "category", Condition(name, excluded=values), values=others)


def _written(value: float, kind: Kind) -> str:
    if kind == "date":
        return date.fromordinal(int(value)).isoformat()
    return format(value, ".15g")


def _ends(
    window: Window, kind: Kind, is_whole: bool, is_ordinal: bool
) -> tuple[float | None, float | None, float]:
    """The ends of a window and what it costs to read them; one at the table's end is open.

    An end is as round as the gap to the next value outside allows: it selects the same rows, and
    the query states a bound and no cell. The ends of numbers that say which one are never open:
    "ranked 3 to 8".
    """
    groups, start, stop = window
    ends: list[float | None] = []
    cost = 0.0
    for place, up in ((start, False), (stop, True)):
        beyond = place + (1 if up else -1)
        value = groups[place][0]
        if 0 <= beyond < len(groups) and not is_ordinal:
            price, value = _round_end(value, groups[beyond][0], kind, up, is_whole)
            cost += price
        ends.append(value if 0 <= beyond < len(groups) or is_ordinal else None)
    low, high = ends
    return low, high, cost


def _round_end(
    value: float, beyond: float, kind: Kind, up: bool, is_whole: bool
) -> tuple[float, float]:
    """What the roundest inclusive end from ``value`` on and short of ``beyond`` costs, and it."""
    sign = 1 if up else -1
    if kind == "year":
        years = range(int(value), max(int(value) - 9, min(int(value) + 9, int(beyond))), sign)
        year = min(years, key=lambda year: cost_of_year(year, up))  # the nearest of these
        return cost_of_year(year, up), float(year)
    if kind == "date":
        return min((cost, end) for cost, end in _days(value, up) if sign * end < sign * beyond)
    end = next(end for end in _rounded(value, up) if sign * end < sign * beyond)
    if is_whole and cost_of_number(beyond) < cost_of_number(end):
        return cost_of_number(beyond), beyond - sign
    return cost_of_number(end), end


def _rounded(value: float, up: bool) -> Iterator[float]:
    """Numbers at or outside a value, the roundest first, the value last."""
    magnitude = floor(log10(abs(value))) if value else 0
    for power in range(magnitude, magnitude - 8, -1):
        for step in (5, 2, 1):
            steps = round(value / (unit := step * 10.0**power), 9)
            if rounded := round((ceil(steps) if up else floor(steps)) * unit, 10):
                yield rounded
    yield value


def _days(day: float, up: bool) -> Iterator[tuple[float, float]]:
    """Costs and ordinals: the year's first or last day, the month's, and the day itself."""
    found = date.fromordinal(int(day))
    first = found.replace(day=1)
    following = date(found.year + found.month // 12, found.month % 12 + 1, 1)
    year = date(found.year, 12, 31) if up else date(found.year, 1, 1)
    yield 0.0, float(year.toordinal())
    yield 1.0, float(following.toordinal() - 1 if up else first.toordinal())
    yield 4.0, day


def cost_of_year(year: int, up: bool) -> float:
    """What it costs to read an end: nothing for 1990, or for 1989 ("before 1990")."""
    other = year + (1 if up else -1)
    return 0.0 if 0 in (year % 10, other % 10) else 0.5 if 0 in (year % 5, other % 5) else 1.0


def cost_of_number(end: float) -> float:
    """What it costs to read an end: its digits beyond the first; less for a 5, for small ones."""
    digits = f"{abs(end):.15g}".replace(".", "").strip("0")
    if end % 1 == 0 and abs(end) < 13:
        return 0.2 if end else 9.0
    return len(digits) - 1 - 0.5 * digits.endswith("5")
