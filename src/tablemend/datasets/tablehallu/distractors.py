"""The rows around the gold rows: near misses first, made-up rows after the last real one."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import permutations
from math import gcd, inf
from operator import itemgetter
from random import Random
from typing import NamedTuple

from tablemend.datasets.tablehallu.columns import (
    DIGITS,
    ORDERED,
    Column,
    Kind,
    TypedTable,
    read_date,
    read_number,
)
from tablemend.datasets.tablehallu.distractor_types import TYPES, type_of
from tablemend.datasets.tablehallu.formulas import Formula
from tablemend.datasets.tablehallu.invented_names import (
    NameGuard,
    forms_of,
    is_like,
)
from tablemend.datasets.tablehallu.kernel import Kernel
from tablemend.datasets.tablehallu.scope import Bound, Row
from tablemend.tables.table import Cell

BATCH = 32
MAX_INVENTED = 1024
BEYOND = 0.2
"""How far made-up numbers go beyond the observed range, as a share of it."""
TRIES = 4
REUSED = 6
"""Most rows of a real entity at other times."""
_MINUS = "-\u2212\u2013"
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.I)
NO_NAMES: Iterator[str] = iter(())
Orders = tuple[float | None, ...]
Move = Callable[[str, float, Random], tuple[str, float]]


class Rows:
    """The rows of a table, and after them made-up rows of the same kind, as many as there can be.

    A made-up row takes a real one as its pattern: another name, numbers, years and dates between
    their neighbours in the column, the texts of a row of the same categories. Names are given to
    all rows of an entity alike, so that an entity of several years has several years. Where names
    run out, real entities of such tables get rows of other times, and others get none. They are
    drawn in a fixed sequence from the table's hash and the seed, so row number ``k`` is the same
    whoever asks, and when.

    Args:
        typed: the table.
        seed: of the data set.
        names: of other entities, which may end.
    """

    def __init__(self, typed: TypedTable, seed: int, names: Iterator[str] = NO_NAMES) -> None:
        self._typed = typed
        self._rng = Random(f"rows:{seed}:{typed.source_hash}")
        self.real = len(typed.table.rows)
        self.cells: list[Row] = list(typed.table.rows)
        self.orders: list[Orders] = list(zip(*typed.orders, strict=True))
        entities = [row[typed.key] or "" for row in self.cells]
        self.forms = [forms_of(name) for name in entities]
        self.repeated = {*entities} if typed.distinguishing else set[str]()
        """Entities that have several rows, or could have."""
        self._names = {name.casefold() for name in entities}
        self._borrowed = names
        self._turn: list[int] = []
        self._vain, self._reused = 0, Counter[str]()
        self._renamed: dict[str, str] = {}
        columns = list(zip(*typed.table.rows, strict=True))
        ordered = [
            index
            for index, column in enumerate(typed.columns)
            if column.kind in ORDERED and column.usable and any(typed.orders[index])
        ]
        self._ranges = {
            index: Range.of(typed.columns[index], columns[index], typed.orders[index])
            for index in ordered
            if index not in typed.distinguishing  # rows of an entity stay apart
        }
        self._texts = [
            index
            for index, column in enumerate(typed.columns)
            if index not in (typed.key, *self._ranges, *typed.distinguishing)
            and column.kind in ("name", "text", "date")
        ]
        self._alike: dict[Row, list[Row]] = defaultdict(list)
        for row in self.cells:
            self._alike[self._categories(row)].append(row)
        self._formulas = _in_order(typed.formulas, self._ranges)
        self._pairs = list(_ordered_pairs(typed, ordered))
        linked = {c for formula in self._formulas for c in (formula.total, *formula.parts)}
        linked.update(*self._pairs)
        self._linked = linked.intersection(self._ranges)
        linked.update(*((formula.total, *formula.parts) for formula in typed.formulas))
        free = [i for i in typed.distinguishing[:1] if i in ordered and i not in linked]
        self._time = [
            (i, Range.of(typed.columns[i], columns[i], typed.orders[i]))
            for i in free
            if typed.columns[i].kind != "number"
        ]
        """The column of times, where the rows of an entity can be of others."""
        self._stated = {self._identity(row) for row in self.cells}

    def reach(self, count: float) -> bool:
        """Make up rows until there are ``count`` rows in all, or no more can be."""
        while len(self.cells) < count and self._vain < 2 * self.real:
            self._vain = 0 if self._make_up() else self._vain + 1
        return len(self.cells) >= count

    def _identity(self, cells: Row | list[Cell]) -> tuple[Cell, ...]:
        return tuple(cells[index] for index in (self._typed.key, *self._typed.distinguishing))

    def resembling(self, column: int, values: Iterable[str]) -> set[str]:
        """Categories that could be taken for some of the values: "Hard (i)" for "Hard"."""
        found = {cell for cells in self.cells[: self.real] if (cell := cells[column])}
        return {
            cell for cell in found.difference(values) if any(is_like(cell, one) for one in values)
        }

    def _categories(self, cells: Row) -> Row:
        columns = enumerate(self._typed.columns)
        return tuple(cells[index] for index, column in columns if column.kind == "category")

    def _make_up(self) -> bool:
        """Whether a row was added."""
        typed, rng = self._typed, self._rng
        if not self._turn:
            self._turn, self._renamed = list(range(self.real)), {}
            rng.shuffle(self._turn)
        pattern = self._turn.pop()
        cells = list(typed.table.rows[pattern])
        real = self.orders[pattern]
        orders = list(real)
        entity = cells[typed.key] or ""
        if (name := self._rename(entity)) is not None:
            cells[typed.key] = name
        elif not self._time or self._reused[entity] == REUSED:
            return False
        else:
            self._reused[entity] += 1
        for time, times in self._time:
            self._move(cells, orders, time, times.draw)
        if self._identity(cells) in self._stated:
            return False
        self._stated.add(self._identity(cells))
        # All of one row: a venue stays in its city.
        other = rng.choice(self._alike[self._categories(typed.table.rows[pattern])])
        for index in self._texts:
            if cells[index] is not None:
                cells[index] = other[index] or cells[index]
        for index in self._ranges:
            if index not in self._linked:
                self._move(cells, orders, index, self._ranges[index].move)
        self._move_linked(cells, orders)
        self.cells.append(tuple(cells))
        self.orders.append(tuple(orders))
        self.forms.append(forms_of(cells[typed.key] or ""))
        return True

    def _move(self, cells: list[Cell], orders: list[float | None], index: int, move: Move) -> None:
        cell, order = cells[index], orders[index]
        if cell is not None and order is not None:
            cells[index], orders[index] = move(cell, order, self._rng)

    def _move_linked(self, cells: list[Cell], orders: list[float | None]) -> None:
        """Move the columns that depend on each other together, or leave them as they are."""
        typed, totals = self._typed, {formula.total: formula for formula in self._formulas}
        real = {index: (cells[index], orders[index]) for index in sorted(self._linked)}
        for _ in range(TRIES if real else 0):
            for index in real:
                if index not in totals:
                    self._move(cells, orders, index, self._ranges[index].move)
            for index, formula in totals.items():
                value, cell = formula.value(orders), cells[index]
                match = DIGITS.search(cell or "")
                if cell is not None and match is not None and value is not None:
                    decimals = len(match[0].partition(".")[2])
                    moved = self._ranges[index].write(cell, match, decimals, value)
                    cells[index], orders[index] = moved or (None, None)
            written = all(cells[index] or not cell for index, (cell, _) in real.items())
            if (
                written
                and all(formula.holds(orders) for formula in typed.formulas)
                and all(
                    (a := orders[first]) is None or (b := orders[last]) is None or a <= b
                    for first, last in self._pairs
                )
            ):
                return
            for index, (cell, order) in real.items():
                cells[index], orders[index] = cell, order

    def _rename(self, entity: str) -> str | None:
        """Another name for an entity, one for all its rows of a turn; ``None`` at their end."""
        if entity not in self._renamed:
            fresh = (name for name in self._borrowed if name.casefold() not in self._names)
            if (name := next(fresh, None)) is None:
                return None
            self._names.add(name.casefold())
            self._renamed[entity] = name
        return self._renamed[entity]


class Range(NamedTuple):
    """The values of an ordered column.

    Attributes:
        kind: of the column.
        values: sorted, each once.
        low, high: ends of what may be made up.
        step: that all whole numbers are multiples of.
        grouped: thousands are set apart by commas.
        signs: that stand before positive and negative numbers.
    """

    kind: Kind
    values: list[float]
    low: float
    high: float
    step: int
    grouped: bool
    signs: tuple[str, str]

    @classmethod
    def of(cls, column: Column, cells: Iterable[Cell], orders: Orders) -> Range:
        """That of a column.

        Numbers go beyond the observed ones by a fifth of their range, but not below 0 (or 1 where
        none is), nor above 100 %; years and dates stay inside: a later one may not have come yet.
        """
        values = sorted({value for value in orders if value is not None})
        low, high = values[0], values[-1]
        whole = [int(abs(value)) for value in values if value == int(value)]
        step = gcd(*whole) if len(whole) == len(values) else 1
        if column.kind == "number":
            floor = next((bound for bound in (1.0, 0.0) if low >= bound), -inf)
            percent = (
                "%" in column.unit[1] or "%" in column.name or "percent" in column.name.lower()
            )
            ceiling = 100.0 if percent and high <= 100 else inf
            wider = BEYOND * (high - low)
            low, high = max(floor, low - wider), min(ceiling, high + wider)
        numbers = [cell for cell in cells if cell and read_number(cell)]
        grouped = any("," in cell for cell in numbers)
        signs = (
            "+" if any("+" in cell for cell in numbers) else "",
            next((sign for sign in _MINUS if any(sign in cell for cell in numbers)), "-"),
        )
        return cls(column.kind, values, low, high, max(step, 1), grouped, signs)

    def draw(self, cell: str, order: float, rng: Random) -> tuple[str, float]:
        """A cell like this one of any year or date of the column."""
        if self.kind == "date":
            return move_date(cell, order, self.values, rng)
        year = rng.randint(int(self.low), int(self.high))
        return str(year), float(year)

    def move(self, cell: str, order: float, rng: Random) -> tuple[str, float]:
        """A cell like this one, between its neighbours; it, where nothing fits in between."""
        match = DIGITS.search(cell)
        if self.kind == "date" or match is None:
            return move_date(cell, order, self.values, rng)
        place = bisect_left(self.values, order)
        below = self.values[place - 1] if place else self.low
        above = self.values[place + 1] if place + 1 < len(self.values) else self.high
        digits = match[0].replace(",", "")
        decimals = len(digits.partition(".")[2])
        unit = self.step if not decimals else 10.0**-decimals
        if not decimals and order:  # round numbers stay as round
            unit = max(unit, 10.0 ** (len(digits) - len(digits.rstrip("0"))))
        ends = (max(below, 0.0), above) if order >= 0 else (below, min(above, 0.0))
        for _ in range(TRIES):
            value = round(round(rng.uniform(*ends) / unit) * unit, decimals)
            known = len(digits) > 3 and self.kind == "number" and value in self.values
            if (
                not known
                and (value or order >= 0)
                and (written := self.write(cell, match, decimals, value))
            ):
                return written
        return cell, order

    def write(
        self, cell: str, match: re.Match[str], decimals: int, value: float
    ) -> tuple[str, float] | None:
        """A number in the form of a cell, and it as written; ``None`` where it may not stand."""
        text = f"{abs(value):{',' if self.grouped and self.kind == 'number' else ''}.{decimals}f}"
        before, after = cell[: match.start()], cell[match.end() :]
        value = float(text.replace(",", "")) * (-1 if value < 0 else 1)
        was = read_number(cell)
        if was is not None and (value < 0) != (was[0] < 0):
            before = before.rstrip(f"+{_MINUS}") + (self.signs[value < 0] if value else "")
            if "(" in before:
                return None
        return (before + text + after, value) if self.low <= value <= self.high else None


def _in_order(formulas: Iterable[Formula], columns: Container[int]) -> list[Formula]:
    """One formula at most for a column, none before those of its parts, none in a circle."""
    found: dict[int, Formula] = {}

    def origins(column: int) -> set[int]:
        parts = found[column].parts if column in found else ()
        return {column}.union(*map(origins, parts))

    for one in formulas:
        if (
            one.total in columns
            and one.total not in found
            and one.total not in set().union(*map(origins, one.parts))
        ):
            found[one.total] = one
    return sorted(found.values(), key=lambda one: len(origins(one.total)))


def _ordered_pairs(typed: TypedTable, columns: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Columns of a kind and unit of which the first never exceeds the second: from and to."""
    for one, other in permutations(columns, 2):
        first, last = typed.columns[one], typed.columns[other]
        if (first.kind, first.unit) == (last.kind, last.unit):
            rows = zip(typed.orders[one], typed.orders[other], strict=True)
            both = [(a, b) for a, b in rows if a is not None and b is not None]
            if len(both) > 2 and all(a <= b for a, b in both):
                yield one, other


def move_date(cell: str, order: float, values: Sequence[float], rng: Random) -> tuple[str, float]:
    """Another day of the same month, in any year of the column, between its first and its last.

    No other change keeps any spelling of the month.
    """
    day = date.fromordinal(int(order))
    pattern = rf"(?<!\d)0?{day.day}(?!\d)(?:st|nd|rd|th)?"
    places = [match.span() for match in re.finditer(pattern, cell)]
    if not places or _WEEKDAY.search(cell):
        return cell, order
    start, end = places[-1] if cell[:4].isdigit() else places[0]
    for _ in range(TRIES):
        other, year = rng.randint(1, 28), date.fromordinal(int(rng.choice(values))).year
        text = f"{other:02d}" if cell[start] == "0" or cell[:4].isdigit() else str(other)
        written = f"{cell[:start]}{text}{cell[end:]}".replace(str(day.year), str(year))
        moved = read_date(written)
        if moved is not None and moved not in values and values[0] <= moved <= values[-1]:
            return written, moved
    return cell, order


def choose_distractors(
    rows: Rows, kernel: Kernel, key: int, invent: bool, shares: Mapping[str, float], rng: Random
) -> Iterator[tuple[int, str]]:
    """Rows out of scope, each with the name of the condition it breaks, best first.

    ``shares`` says how often each type is drawn; the most frequent is never passed over.

    Real rows first, then made-up ones where ``invent`` is set; of each, those that break one
    condition alone before the others, among these the other rows of gold entities (the same
    entity in another year), and those close to the bound before those far from it (TableHallu,
    A.2.2). Rows with a name similar to a gold one, and rows whose scope cannot be read, are
    left out.
    """
    bounds = kernel.scope.bounds
    gold = set(kernel.rows)
    guard = NameGuard(rows.cells[row][key] or "" for row in kernel.rows)
    types = {
        bound.column: type_of(
            bound.condition.column,
            not bound.condition.values and not bound.condition.excluded,
            bound.kind in ("year", "date"),
        )
        for bound in bounds
    }
    possible = {*types.values(), *(["both"] if len(bounds) > 1 else [])}
    if not any(shares[type] for type in possible):
        return
    most = max(shares[type] for type in TYPES if type != "entity")

    def fit(numbers: range) -> Iterator[tuple[int, str]]:
        for count, number, bound in _ranked(rows, numbers, bounds, gold, guard, key, rng):
            share = shares["both" if count > 1 else types[bound.column]]
            if share == most or rng.random() * most < share:
                yield number, bound.condition.column

    yield from fit(range(rows.real))
    if invent:
        # Batches of a fixed size: how many rows are already there must not matter.
        for start in range(rows.real, rows.real + MAX_INVENTED, BATCH):
            rows.reach(start + BATCH)
            yield from fit(range(start, min(start + BATCH, len(rows.cells))))


def _ranked(
    rows: Rows,
    numbers: range,
    bounds: tuple[Bound, ...],
    gold: set[int],
    guard: NameGuard,
    key: int,
    rng: Random,
) -> list[tuple[int, int, Bound]]:
    """How many conditions each row breaks, its number, and the one it breaks most."""
    found = []
    entities = {rows.cells[row][key] for row in gold}
    unclear = [
        (bound.column, rows.resembling(bound.column, bound.values))
        for bound in bounds
        if bound.values
    ]
    random = rng.random
    for number in numbers:
        cells, orders = rows.cells[number], rows.orders[number]
        broken, furthest, count = None, 0.0, 0
        for bound in bounds:
            miss = bound.miss(cells[bound.column], orders[bound.column])
            if miss is None:
                broken = None
                break
            if miss > 0.0:
                count += 1
                if miss > furthest:
                    furthest, broken = miss, bound
        if broken is None or number in gold or any(cells[c] in alike for c, alike in unclear):
            continue
        if guard.is_similar(cells[key] or "", rows.forms[number]):
            continue
        other = count > 1 or cells[key] not in entities
        found.append((count, other, furthest + 0.05 * random(), number, broken))
    found.sort(key=itemgetter(0, 1, 2, 3))
    return [(count, number, bound) for count, _, _, number, bound in found]
