"""Which rows a query is about: one or two conditions that 3 to 8 rows of a table meet."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from math import ceil, floor, log10
from random import Random
from typing import NamedTuple

from tablemend.datasets.tablehallu.columns import ORDERED, Kind, TypedTable
from tablemend.records import Condition
from tablemend.tables.table import Cell

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
        low, high: inclusive ends on the sortable values; ``None`` is open.
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


class Scopes:
    """The scopes of one table, for any size of gold table within ``low`` to ``high`` rows.

    Single conditions are enumerated once; conjunctions are drawn when asked for.
    """

    def __init__(self, typed: TypedTable, low: int, high: int) -> None:
        self._typed, self._low, self._high = typed, low, high
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
        self._windows = {
            index: windows
            for index in self._ordered
            if (windows := self._range_windows(index, self._all_rows))
        }
        self._choices = {
            index: choices for index in self._categories if (choices := self._category_sets(index))
        }

    def __bool__(self) -> bool:
        return bool(self._windows or self._choices)

    def draw(self, rng: Random) -> Scope:
        """A scope at random: two conditions in about a third of the cases where possible."""
        if rng.random() < 0.35 and (scope := self._draw_pair(rng)):
            return scope
        columns = [*self._windows, *self._choices]
        index = columns[rng.randrange(len(columns))]
        if index in self._windows:
            return self._range_scope(index, self._windows[index], rng)
        values = rng.choice(self._choices[index])
        rows = sorted(row for value in values for row in self._groups[index][value])
        return Scope((self._category_bound(index, values),), tuple(rows))

    def _draw_pair(self, rng: Random) -> Scope | None:
        """A category or a range, and a range inside it; both must leave a row out."""
        if not self._ordered or len(self._ordered) + len(self._categories) < 2:
            return None
        for _ in range(3):
            second = rng.choice(self._ordered)
            first = rng.choice(self._categories + self._ordered)
            if first == second:
                continue
            if first in self._groups:
                value = rng.choice(list(self._groups[first]))
                outer = Scope(
                    (self._category_bound(first, (value,)),), tuple(self._groups[first][value])
                )
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

    def _category_sets(self, column: int) -> list[tuple[str, ...]]:
        """One, two or three values that together have a fitting number of rows."""
        groups = self._groups[column]
        total = sum(map(len, groups.values()))
        small = sorted(value for value, rows in groups.items() if len(rows) <= self._high)[:24]
        found: list[tuple[str, ...]] = []
        for size in (1, 2, 3):
            if size == 2:  # a listing must not be ambiguous
                small = [value for value in small if not _JOINT.search(value)]
            for values in combinations(small, size):
                count = sum(len(groups[value]) for value in values)
                if self._low <= count <= self._high and count < total:
                    found.append(values)
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

    def _range_scope(
        self,
        column: int,
        windows: list[Window],
        rng: Random,
    ) -> Scope:
        # The larger of two at random: small windows are by far the most.
        drawn = (windows[int(rng.random() * len(windows))] for _ in range(2))
        groups, start, stop = max(drawn, key=Window.count_rows)
        open_low = start == 0 and rng.random() < 0.6
        open_high = stop == len(groups) - 1 and not open_low and rng.random() < 0.6
        before = groups[start - 1][0] if start else None
        after = groups[stop + 1][0] if stop + 1 < len(groups) else None
        kind = self._typed.columns[column].kind
        low = None if open_low else _low_bound(groups[start][0], before, kind)
        high = None if open_high else _high_bound(groups[stop][0], after, kind)
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

    def _category_bound(self, column: int, values: tuple[str, ...]) -> Bound:
        column_record = self._typed.columns[column]
        condition = Condition(column_record.name, values=values)
        return Bound(column, "category", condition, values=frozenset(values))


def _written(value: float, kind: Kind) -> str:
    if kind == "date":
        return date.fromordinal(int(value)).isoformat()
    return format(value, ".15g")


def _low_bound(first: float, before: float | None, kind: Kind) -> float:
    """A round value in ``(before, first]``, so that the query states a bound and no cell."""
    if kind == "year":
        return first
    if kind == "date":
        return _first_of_month(first, before)
    return _round_number(first, before, up=False)


def _high_bound(last: float, after: float | None, kind: Kind) -> float:
    if kind == "year":
        return last
    if kind == "date":
        return _last_of_month(last, after)
    return _round_number(last, after, up=True)


def _round_number(value: float, beyond: float | None, up: bool) -> float:
    """The roundest number at or outside ``value`` and short of ``beyond``."""
    magnitude = floor(log10(abs(value))) if value else 0
    for power in range(magnitude, magnitude - 8, -1):
        for step in (5, 2, 1):
            unit = step * 10.0**power
            steps = round(value / unit, 9)
            rounded = round((ceil(steps) if up else floor(steps)) * unit, 10)
            if beyond is None:
                fits = abs(rounded - value) <= abs(value) / 2
            else:
                fits = rounded < beyond if up else rounded > beyond
            if fits:
                return rounded
    return value


def _first_of_month(first: float, before: float | None) -> float:
    start = float(date.fromordinal(int(first)).replace(day=1).toordinal())
    return start if before is None or start > before else first


def _last_of_month(last: float, after: float | None) -> float:
    day = date.fromordinal(int(last))
    following = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    end = float(following.toordinal() - 1)
    return end if after is None or end < after else last
