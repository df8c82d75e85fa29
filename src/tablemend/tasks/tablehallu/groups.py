"""How the rows of a context fall into groups, any of which a query can ask for.

A column of categories gives a group for each value, one of years, dates or numbers a group for
each of some intervals, and two columns a group for each pair of both. The groups are there before
one of them is asked for, so that nothing in a context tells which it will be.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from math import ceil, floor, log10
from operator import itemgetter
from random import Random

from tablemend.datasets.source_tables.columns import Kind, TypedTable, is_whole
from tablemend.datasets.source_tables.names import is_like
from tablemend.programs.nouns import WORDS
from tablemend.records import Condition
from tablemend.tasks.tablehallu.labels import NO_VALUE, ORDINALS, labels_of
from tablemend.tasks.tablehallu.rows import ContextRow, Range, RowMaker
from tablemend.tasks.tablehallu.settings import type_of

_NO_AMOUNTS = WORDS["no_amounts"] | ORDINALS
_RECURRING = re.compile(
    r"\b(?:country|nation|nationality|state|county|region|team|club|party|language|type|genre|class|"
    r"college|school|conference|network|label|position|surface|category|division|league)\b",
    re.I,
)
"""Columns of what many have, though few rows of a short table may."""
JITTER = 0.2
"""How far the ends of an interval are from where groups of equal size would have them, at most, as
a share of an interval: the groups of two contexts of a table differ."""
NO_GROUPS = "no column whose values make"
TRIES = 6
EVEN = (0.0, 0.0, 0.5, 1.0)
"""How evenly wide intervals are, from one try to the next: where values are dense, there are none
left for made-up rows."""


class RejectedDraw(Exception):
    """A draw that makes no valid example; the message is the reason, to be counted.

    Attributes:
        found: what the table has instead; may be empty.
    """

    def __init__(self, reason: str, found: str = "") -> None:
        super().__init__(reason)
        self.found = found


@dataclass(frozen=True, slots=True)
class Bound:
    """A condition of a query.

    Attributes:
        column: index of the column it reads.
        kind: what the column holds.
        condition: the same for the record.
        low, high: inclusive ends on the sortable values; ``None`` is open.
        values: the admitted categories; empty for a range.
    """

    column: int
    kind: Kind
    condition: Condition
    low: float | None = None
    high: float | None = None
    values: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Axis:
    """A column that cuts rows into parts.

    Attributes:
        column: its index.
        values: a category for each part; empty for intervals.
        edges: ends of the intervals, one more than parts; no cell has such a value.
    """

    column: int
    values: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.values) or len(self.edges) - 1

    def part(self, row: ContextRow) -> int | None:
        """Where a row belongs; ``None`` where that cannot be read, or nowhere."""
        if self.values:
            cell = row.cells[self.column]
            return self.values.index(cell) if cell in self.values else None
        order = row.orders[self.column]
        if order is None:
            return None
        parts = (n for n, (low, high) in enumerate(pairwise(self.edges)) if low < order < high)
        return next(parts, None)


@dataclass(frozen=True, slots=True)
class Groups:
    """One or two columns whose parts, or pairs of parts, are the groups.

    Attributes:
        axes: the columns.
        type: the type of distractor that each group is to the others (TableHallu, A.2.2).
    """

    axes: tuple[Axis, ...]
    type: str

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.axes[0]) * (len(self.axes[1]) if len(self.axes) > 1 else 1)

    def parts(self, group: int) -> tuple[int, ...]:
        """The part of each axis that makes a group."""
        return divmod(group, len(self.axes[1])) if len(self.axes) > 1 else (group,)

    def of(self, row: ContextRow) -> int | None:
        """The group of a row; ``None`` where it is in none."""
        group = 0
        for axis in self.axes:
            if (part := axis.part(row)) is None:
                return None
            group = group * len(axis) + part
        return group

    def limits(self, group: int) -> dict[int, tuple[float, float]]:
        """The intervals of a group, by column."""
        pairs = zip(self.axes, self.parts(group), strict=True)
        return {a.column: (a.edges[p], a.edges[p + 1]) for a, p in pairs if a.edges}

    def patterns(self, group: int, rows: Sequence[ContextRow]) -> list[ContextRow]:
        """Rows of a group's categories, in its intervals or not."""
        pairs = [(a, p) for a, p in zip(self.axes, self.parts(group), strict=True) if a.values]
        return [row for row in rows if all(axis.part(row) == part for axis, part in pairs)]


class GroupMaker:
    """Draws groups of the rows of one table; with ``invent`` rows may be made up."""

    def __init__(self, maker: RowMaker, invent: bool) -> None:
        self._maker, self._typed = maker, maker.typed
        self._labels = labels_of(self._typed.columns)
        key, columns = self._typed.key, self._typed.columns
        usable = maker.free if invent else range(len(columns))
        fit = [index for index in usable if columns[index].usable and index != key]
        self.columns: dict[str, dict[int, float]] = defaultdict(dict)
        """By the type of distractor: columns, and how likely somebody asks for some of their
        values."""
        for index in fit:
            is_range = index in (maker.varied if invent else maker.ranges)
            if is_range or self._categories.get(index):
                is_time = columns[index].kind in ("year", "date")
                found = self.columns[type_of(columns[index].name, is_range, is_time)]
                found[index] = self._interest(index)

    @cached_property
    def _categories(self) -> Mapping[int, Counter[str]]:
        """Rows by category, of columns of these; values that a query can name."""
        found: dict[int, Counter[str]] = {}
        for index, column in enumerate(self._typed.columns):
            cells = (row.cells[index] for row in self._maker.rows)
            counts = Counter(cell for cell in cells if cell)
            recurs = column.kind == "name" and _RECURRING.search(column.name)
            if column.kind == "category" or (recurs and counts and max(counts.values()) > 1):
                folded = Counter(map(str.casefold, counts))
                found[index] = Counter(
                    {
                        v: n
                        for v, n in counts.items()
                        if folded[v.casefold()] == 1 and '"' not in v
                        if len(v) > 2 and not NO_VALUE.match(v)  # "T" and "DNF" say nothing
                    }
                )
        return found

    def _interest(self, index: int) -> float:
        column = self._typed.columns[index]
        if column.kind in ("category", "name"):
            interest = 2.0
        else:
            ordinal = column.serial or self.is_ordinal(index)
            interest = 3.0 if column.kind != "number" else 0.2 if ordinal else 1.0
        return interest if self._labels[index].is_plain else 0.2 * interest

    def is_ordinal(self, index: int) -> bool:
        """Whether a column's numbers say which one, not how much."""
        return self._labels[index].name.lower().split()[-1] in _NO_AMOUNTS

    def draw(self, count: int, rows: int, weights: Mapping[str, float], rng: Random) -> Groups:
        """So many groups at random, of pairs of two columns one more, of so many rows at most.


        Raises:
            RejectedDraw: no column gives so many.
        """
        open_types = {type: weights[type] for type in self.columns if weights[type]}
        if weights["both"] and sum(map(len, self.columns.values())) > 1:
            open_types["both"] = weights["both"]
        while open_types:
            type = rng.choices([*open_types], [*open_types.values()])[0]
            draw = self._pair if type == "both" else self._single
            if (axes := draw(type, count, rows, rng)) is not None:
                return Groups(axes, type)
            del open_types[type]
        raise RejectedDraw(f"{NO_GROUPS} {count} groups of {rows} rows")

    def say_most(self, count: int, rows: int, rng: Random) -> str:
        """Which column gives most groups of so many rows, and how many: fewer than ``count``."""
        most, name = 0, ""
        for index in {index for of in self.columns.values() for index in of}:
            parts = count - 1
            while parts > most and self._axis(index, parts, rows, rng) is None:
                parts -= 1
            if parts > most:
                most, name = parts, self._typed.columns[index].name
        return f'"{name}" makes {most}' if name else "none makes two"

    def _single(self, type: str, count: int, rows: int, rng: Random) -> tuple[Axis, ...] | None:
        columns = dict(self.columns[type])
        while columns:
            index = rng.choices([*columns], [*columns.values()])[0]
            if (axis := self._axis(index, count, rows, rng)) is not None:
                return (axis,)
            del columns[index]
        return None

    def _pair(self, type: str, count: int, rows: int, rng: Random) -> tuple[Axis, ...] | None:
        sides = [n for n in range(2, count) if count % n == 0]
        if not sides:
            count, sides = count + 1, [n for n in range(2, count) if (count + 1) % n == 0]
        columns = {i: w for of in self.columns.values() for i, w in of.items()}
        for _ in range(TRIES if sides else 0):
            first, last = rng.choices([*columns], [*columns.values()], k=2)
            side = rng.choice(sides)
            if first == last or (last not in self._maker.ranges and first in self._maker.ranges):
                continue
            one = self._axis(first, side, rows * count // side, rng)
            other = self._axis(last, count // side, rows * side, rng)
            if not one or not other:
                continue
            groups = Groups((one, other), "both")  # most categories of one go with each of other
            said = {*map(groups.of, self._maker.rows)} - {None}
            if other.edges or 3 * len(said) >= 2 * groups.count:
                return one, other
        return None

    def _axis(self, index: int, parts: int, rows: int, rng: Random) -> Axis | None:
        if index not in self._maker.ranges:
            counts, chosen = self._categories[index], list[str]()
            # The most frequent ones for the most part, so that few rows must be made up.
            for value in sorted(counts, key=lambda v: -counts[v] * rng.uniform(0.5, 1.5)):
                if len(chosen) < parts and not any(is_like(value, one) for one in chosen):
                    chosen.append(value)
            return Axis(index, values=tuple(sorted(chosen))) if len(chosen) == parts else None
        found = self._maker.ranges[index]
        values = sorted(o for row in self._maker.rows if (o := row.orders[index]) is not None)
        needed = rows if found.unique else 1
        for even in EVEN if len(values) > 1 else ():
            edges = self._edges(found, values, parts, even, rng)
            if all(found.room(low, high) - 1 >= needed for low, high in pairwise(edges)):
                return Axis(index, edges=tuple(edges))
        return None

    def _edges(
        self, found: Range, values: Sequence[float], parts: int, even: float, rng: Random
    ) -> list[float]:
        """Ends of intervals with about as many values each, or somewhat evenly wide."""
        cuts = [
            (part + rng.uniform(-JITTER, JITTER)) / parts * (len(values) - 1)
            for part in range(1, parts)
        ]
        edges = [found.low - found.step / 2]
        for cut in cuts:
            place = min(int(cut), len(values) - 2)
            value = values[place] + (cut - place) * (values[place + 1] - values[place])
            wide = found.low + cut / (len(values) - 1) * (found.high - found.low)
            value += even * (wide - value)
            edges.append((floor(value / found.step + 1e-9) + 0.5) * found.step)
        return [*edges, found.high + found.step / 2]

    def bounds(
        self, groups: Groups, group: int, typed: TypedTable, rows: Sequence[ContextRow]
    ) -> Iterator[Bound]:
        """The conditions that the rows of a group meet and no other row does.

        A range has ends as round as the gaps to the next values of the context allow; the query
        then states a bound and no cell. At the table's end it is open, but for numbers that say
        which one: "ranked 3 to 8".
        """
        for axis, part in zip(groups.axes, groups.parts(group), strict=True):
            column = typed.columns[axis.column]
            if axis.values:
                value = axis.values[part]
                condition = Condition(column.name, values=(value,))
                yield Bound(axis.column, "category", condition, values=frozenset({value}))
                continue
            whole, step = is_whole(typed, axis.column), self._maker.ranges[axis.column].step
            values: dict[int, list[float]] = defaultdict(list)
            for row in rows:
                if (found := axis.part(row)) is not None:
                    values[found].append(row.orders[axis.column] or 0.0)
            low, high = axis.edges[part], axis.edges[part + 1]
            own = values[part] or [round((low + high) / 2 / step) * step]
            ends = list[float | None]()
            # Where the intervals on one side have no rows, the next one begins there all the same.
            under = low - step / 2 if part else None
            over = high + step / 2 if part + 1 < len(axis) else None
            below = max((v for p in values if p < part for v in values[p]), default=under)
            above = min((v for p in values if p > part for v in values[p]), default=over)
            ordinal = column.kind == "number" and self.is_ordinal(axis.column)
            for end, beyond in ((min(own), below), (max(own), above)):
                if ordinal:
                    ends.append(end)
                elif beyond is None:
                    ends.append(None)
                else:
                    ends.append(_round_end(end, beyond, column.kind, whole))
            low_end, high_end = ends
            texts = _write_end(low_end, column.kind), _write_end(high_end, column.kind)
            condition = Condition(column.name, *texts)
            yield Bound(axis.column, column.kind, condition, low_end, high_end)


def _write_end(end: float | None, kind: Kind) -> str | None:
    if end is None:
        return None
    return date.fromordinal(int(end)).isoformat() if kind == "date" else f"{decimal_of(end):f}"


def _round_end(value: float, beyond: float, kind: Kind, is_whole: bool) -> float:
    """The roundest inclusive end from ``value`` on and short of ``beyond``."""
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
    return min((one for one in found if sign * one[1] < sign * beyond), key=itemgetter(0))[1]


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


def decimal_of(end: float) -> Decimal:
    """An end as it is written: no exponent, no digits that a float has beyond those of a cell."""
    return Decimal(f"{end:.15g}")


def cost_of_number(end: float) -> float:
    """What it costs to read an end: its digits beyond the first; less for a 5, for small ones."""
    digits = f"{abs(decimal_of(end)):f}".replace(".", "").strip("0")
    if end % 1 == 0 and abs(end) < 13:
        return 0.2 if end else 9.0
    return len(digits) - 1 - 0.5 * digits[1:].endswith("5")
