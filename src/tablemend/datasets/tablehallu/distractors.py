"""The rows around the gold rows: near misses first, made-up rows after the last real one."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import date
from itertools import permutations
from math import gcd, inf
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
from tablemend.datasets.tablehallu.invented_names import (
    NameGuard,
    forms_of,
    invent_name,
    invent_person,
)
from tablemend.datasets.tablehallu.kernel import Kernel
from tablemend.datasets.tablehallu.scope import Bound, Row
from tablemend.tables.table import Cell

BATCH = 64
MAX_INVENTED = 1024
BEYOND = 0.2
"""How far made-up numbers go beyond the observed range, as a share of it."""
TRIES = 4
_PERCENT = re.compile("%|percent", re.I)
NO_NAMES: Iterator[str] = iter(())
Orders = tuple[float | None, ...]


class Rows:
    """The rows of a table, and after them made-up rows of the same kind, as many as asked for.

    A made-up row takes a real one as its pattern: another name, numbers, years and dates between
    their neighbours in the column, other texts of the column; categories stay. Names are given to
    all rows of an entity alike, so that an entity of several years has several years. They are
    drawn in a fixed sequence from the table's hash and the seed, so row number ``k`` is the same
    whoever asks, and when.

    Args:
        typed: the table.
        seed: of the data set.
        names: of entities in other tables; where they run out, names are made of real words.
    """

    def __init__(self, typed: TypedTable, seed: int, names: Iterator[str] = NO_NAMES) -> None:
        self._typed = typed
        self._rng = Random(f"rows:{seed}:{typed.source_hash}")
        self.real = len(typed.table.rows)
        self.cells: list[Row] = list(typed.table.rows)
        self.orders: list[Orders] = list(zip(*typed.orders, strict=True))
        entities = [row[typed.key] or "" for row in self.cells]
        self.forms = [forms_of(name) for name in entities]
        counts = Counter(entities)
        self.repeated = {name for name, count in counts.items() if count > 1}
        """Entities with several rows, the made-up ones included."""
        self._names = {name.casefold() for name in entities}
        words = Counter(word for name in sorted(self._names) for word in set(name.split()))
        shared = {word for word, count in words.items() if count >= 3 and word.isalpha()}
        self._shared = shared | {word.capitalize() for word in shared}
        self._borrowed = names
        self._turn: list[int] = []
        self._renamed: dict[str, str] = {}
        self.texts = {
            index: list(dict.fromkeys(cell for cell in cells if cell is not None))
            for index, cells in enumerate(zip(*typed.table.rows, strict=True))
            if typed.columns[index].kind in ("name", "text") and index != typed.key
        }
        """Columns of texts beside the key, and what stands in them."""
        self._ranges = {
            index: Range.of(column, typed.table.column(column.name), typed.orders[index])
            for index, column in enumerate(typed.columns)
            if column.kind in ORDERED and column.usable and index != typed.key
        }
        self._pairs = list(_ordered_pairs(typed, [*self._ranges]))

    def reach(self, count: int) -> None:
        """Make up rows until there are ``count`` rows in all."""
        while len(self.cells) < count:
            self._make_up()

    def with_other_text(self, cells: Row, column: int, used: Container[Cell], rng: Random) -> Row:
        """A row with a text of the column that the gold rows do not use, where there is one."""
        others = [text for text in self.texts[column] if text not in used]
        return (*cells[:column], rng.choice(others), *cells[column + 1 :]) if others else cells

    def _make_up(self) -> None:
        typed, rng = self._typed, self._rng
        if not self._turn:
            self._turn, self._renamed = list(range(self.real)), {}
            rng.shuffle(self._turn)
        pattern = self._turn.pop()
        cells = list(typed.table.rows[pattern])
        real = self.orders[pattern]
        orders = list(real)
        cells[typed.key] = self._rename(cells[typed.key] or "")
        for index, texts in self.texts.items():
            if cells[index] is not None:
                cells[index] = rng.choice(texts)
        for index, found in self._ranges.items():
            cell, order = cells[index], orders[index]
            if cell is not None and order is not None:
                cells[index], orders[index] = found.move(cell, order, rng)
        for _ in self._pairs:  # what is put back may break another pair
            for first, last in self._pairs:
                early, late = orders[first], orders[last]
                if early is not None and late is not None and early > late:
                    for index in (first, last):
                        cells[index] = typed.table.rows[pattern][index]
                        orders[index] = real[index]
        self.cells.append(tuple(cells))
        self.orders.append(tuple(orders))
        self.forms.append(forms_of(cells[typed.key] or ""))

    def _rename(self, entity: str) -> str:
        if entity not in self._renamed:
            name = next(self._borrowed, None) or invent_name(entity, self._shared, self._rng)
            while name.casefold() in self._names:
                name = next(self._borrowed, None) or invent_person(self._rng)
            self._names.add(name.casefold())
            if entity in self.repeated:
                self.repeated.add(name)
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
    """

    kind: Kind
    values: list[float]
    low: float
    high: float
    step: int
    grouped: bool

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
        grouped = any("," in cell for cell in cells if cell and read_number(cell))
        return cls(column.kind, values, low, high, max(step, 1), grouped)

    def move(self, cell: str, order: float, rng: Random) -> tuple[str, float]:
        """A cell like this one, between its neighbours; it, where nothing fits in between."""
        place = bisect_left(self.values, order)
        below = self.values[place - 1] if place else self.low
        above = self.values[place + 1] if place + 1 < len(self.values) else self.high
        if self.kind == "date":
            return move_date(cell, order, self.values[0], self.values[-1], rng)
        match = DIGITS.search(cell)
        if match is None:
            return cell, order
        digits = match[0].replace(",", "")
        decimals = len(digits.partition(".")[2])
        unit = self.step if not decimals else 10.0**-decimals
        if not decimals and order:  # round numbers stay as round
            unit = max(unit, 10.0 ** (len(digits) - len(digits.rstrip("0"))))
        ends = (max(below, 0.0), above) if order >= 0 else (below, min(above, 0.0))
        for _ in range(TRIES):
            size = abs(round(rng.uniform(*ends) / unit) * unit)
            text = f"{size:{',' if self.grouped and self.kind == 'number' else ''}.{decimals}f}"
            value = float(text.replace(",", "")) * (-1 if order < 0 else 1)
            known = len(digits) > 3 and self.kind == "number" and value in self.values
            if self.low <= value <= self.high and not known and (value or order >= 0):
                return f"{cell[: match.start()]}{text}{cell[match.end() :]}", value
        return cell, order


def _ordered_pairs(typed: TypedTable, columns: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Columns of a kind and unit of which the first never exceeds the second: from and to."""
    for one, other in permutations(columns, 2):
        first, last = typed.columns[one], typed.columns[other]
        if (first.kind, first.unit) == (last.kind, last.unit):
            rows = zip(typed.orders[one], typed.orders[other], strict=True)
            both = [(a, b) for a, b in rows if a is not None and b is not None]
            if len(both) > 2 and all(a <= b for a, b in both):
                yield one, other


def move_date(cell: str, order: float, first: float, last: float, rng: Random) -> tuple[str, float]:
    """Another day of the same month, from the first to the last of the column.

    It is the only change that keeps any spelling of the month.
    """
    day = date.fromordinal(int(order))
    other = rng.randint(1, 28)
    pattern = rf"(?<!\d)0?{day.day}(?!\d)(?:st|nd|rd|th)?"
    places = [match.span() for match in re.finditer(pattern, cell)]
    if not places:
        return cell, order
    start, end = places[-1] if cell[:4].isdigit() else places[0]
    text = f"{other:02d}" if cell[start] == "0" or cell[:4].isdigit() else str(other)
    written = f"{cell[:start]}{text}{cell[end:]}"
    moved = read_date(written)
    return (cell, order) if moved is None or not first <= moved <= last else (written, moved)


def choose_distractors(
    rows: Rows, kernel: Kernel, key: int, invent: bool, rng: Random
) -> Iterator[tuple[int, str]]:
    """Rows out of scope, each with the name of the condition it breaks, best first.

    Real rows first, then made-up ones where ``invent`` is set; of each, those that break one
    condition alone before the others, among these the other rows of gold entities (the same
    entity in another year), and those close to the bound before those far from it (TableHallu,
    A.2.2). Rows with a name similar to a gold one, and rows whose scope cannot be read, are
    left out.
    """
    bounds = kernel.scope.bounds
    gold = set(kernel.rows)
    guard = NameGuard(rows.cells[row][key] or "" for row in kernel.rows)
    yield from _ranked(rows, range(rows.real), bounds, gold, guard, key, rng)
    if invent:
        # Batches of a fixed size: how many rows are already there must not matter.
        for start in range(rows.real, rows.real + MAX_INVENTED, BATCH):
            rows.reach(start + BATCH)
            yield from _ranked(rows, range(start, start + BATCH), bounds, gold, guard, key, rng)


def _ranked(
    rows: Rows,
    numbers: range,
    bounds: tuple[Bound, ...],
    gold: set[int],
    guard: NameGuard,
    key: int,
    rng: Random,
) -> list[tuple[int, str]]:
    found = []
    entities = {rows.cells[row][key] for row in gold}
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
        if broken is None or number in gold:
            continue
        if guard.is_similar(cells[key] or "", rows.forms[number]):
            continue
        other = count > 1 or cells[key] not in entities
        found.append((count, other, furthest + 0.05 * random(), number, broken.condition.column))
    found.sort()
    return [(number, column) for _, _, _, number, column in found]
