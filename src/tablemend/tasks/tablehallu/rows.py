"""The rows of a context: those of the table, and made-up rows of the same kind where these run out.

A made-up row takes a real one as its pattern: another name (or the same entity at another time),
other numbers, years and dates, the texts of a row of the same categories. What is unique in the
table stays so in a context, and columns that follow from others, or rise and fall with them, are
left out where rows are made up.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import combinations, permutations, repeat
from math import gcd, inf
from random import Random
from typing import NamedTuple

from tablemend.datasets.source_tables.columns import (
    DIGITS,
    ORDERED,
    Column,
    Kind,
    TypedTable,
    read_date,
    read_number,
    words_of,
)
from tablemend.datasets.source_tables.names import distinct_names
from tablemend.tables.table import Cell
from tablemend.values.dates import MONTH_NAMES

BEYOND = 0.2
"""How far made-up numbers go beyond the observed range, as a share of it."""
TRIES = 6
REUSED = 6
"""Most made-up rows of one entity, at other times."""
DATED = 0.3
"""Share of names with a year from which on they say when their rows are."""
NEAR = 0.1
"""How far a made-up number is from its pattern's, at most, as a share of the column's range, where
its neighbours leave no room: what goes together in a table goes together in a context."""
SEEN = 8
"""Cells of a column by which one sees whether others can be written like them."""
ROOM = 2
"""Values that a column of unique ones must have left for each row that is made up."""
_MINUS = "-\u2212\u2013"
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_WEEKDAY = re.compile(r"\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\b", re.I)
_MONTH = re.compile(rf"\b(?:{'|'.join(f'{month}|{month[:3]}' for month in MONTH_NAMES)})\b", re.I)
Row = tuple[Cell, ...]


class ContextRow(NamedTuple):
    """A row of a context.

    Attributes:
        cells, orders: as in the typed table.
        made_up: no row of the table.
    """

    cells: Row
    orders: tuple[float | None, ...]
    made_up: bool = False


class Range(NamedTuple):
    """The values of an ordered column.

    Attributes:
        kind: of the column.
        values: sorted, each once.
        low, high: ends of what may be made up.
        step: that all whole numbers are multiples of; of decimals, that of the last digit.
        grouped: thousands are set apart by commas.
        signs: that stand before positive and negative numbers.
        unique: no value is there twice.
    """

    kind: Kind
    values: list[float]
    low: float
    high: float
    step: float
    grouped: bool
    signs: tuple[str, str]
    unique: bool

    @classmethod
    def of(cls, column: Column, cells: Sequence[Cell], orders: Sequence[float | None]) -> Range:
        """That of a column.

        Numbers go beyond the observed ones by a fifth of their range, but not below 0 (or 1 where
        none is), nor above 100 %; years and dates stay inside: a later one may not have come yet.
        """
        filled = [value for value in orders if value is not None]
        values = sorted({*filled})
        low, high = values[0], values[-1]
        decimals = max(len(m[0].partition(".")[2]) for c in cells if c and (m := DIGITS.search(c)))
        step = 10.0**-decimals
        if column.kind != "number":
            step = 1.0
        elif not decimals:
            step = float(gcd(*(int(abs(value)) for value in values)) or 1)
        if column.kind == "number":
            floor = next((bound for bound in (1.0, 0.0) if low >= bound), -inf)
            percent = (
                "%" in column.unit[1] or "%" in column.name or "percent" in column.name.lower()
            )
            ceiling = 100.0 if percent and high <= 100 else inf
            wider = BEYOND * (high - low)
            low, high = max(floor, low - wider), min(ceiling, high + wider)
        numbers = [cell for cell in cells if cell and read_number(cell)]
        signs = (
            "+" if any("+" in cell for cell in numbers) else "",
            next((sign for sign in _MINUS if any(sign in cell for cell in numbers)), "-"),
        )
        grouped = any("," in cell for cell in numbers)
        unique = len(values) == len(filled)
        return cls(column.kind, values, low, high, step, grouped, signs, unique)

    def room(self, low: float, high: float) -> float:
        """How many values there are between two, inclusive, about."""
        return max(0.0, (min(high, self.high) - max(low, self.low)) / self.step + 1)

    def near(self, order: float) -> tuple[float, float]:
        """The neighbours of a value."""
        place = bisect_left(self.values, order)
        below = self.values[place - 1] if place else self.low
        return below, self.values[place + 1] if place + 1 < len(self.values) else self.high

    def draw(
        self, cell: str, low: float, high: float, taken: set[float], rng: Random
    ) -> tuple[str, float] | None:
        """A cell written like this one, with a value between two, inclusive, that is not taken."""
        low, high = max(low, self.low), min(high, self.high)
        match = DIGITS.search(cell)
        for _ in range(TRIES):
            if self.kind == "date":
                if int(low) + 1 > int(high):
                    return None
                found = _on_day(cell, float(rng.randint(int(low) + 1, int(high))))
            elif match is None:
                return None
            else:
                digits = match[0].replace(",", "")
                decimals = len(digits.partition(".")[2])
                unit = 10.0**-decimals if decimals else self.step
                zeros = len(digits) - len(digits.rstrip("0"))
                is_round = not decimals and zeros and self.kind == "number"
                if is_round and 10.0**zeros * 4 < high - low:
                    unit = max(unit, 10.0**zeros)  # it stays as round
                value = round(round(rng.uniform(low, high) / unit) * unit, decimals)
                found = self._write(cell, match, decimals, value)
            if found and low <= found[1] <= high and found[1] not in taken:
                return found
        return None

    def _write(
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
        return before + text + after, value


def _on_day(cell: str, order: float) -> tuple[str, float] | None:
    """A cell that writes another day as this one is written; ``None`` where that is not clear."""
    was, day = read_date(cell), date.fromordinal(int(order))
    if was is None or _WEEKDAY.search(_MONTH.sub("", cell)):
        return None
    old = date.fromordinal(int(was))
    if cell == old.isoformat():
        return day.isoformat(), order
    month = _MONTH.search(cell)
    if month is None:
        return None
    name = MONTH_NAMES[day.month - 1] if len(month[0]) > 3 else MONTH_NAMES[day.month - 1][:3]
    name = name.upper() if month[0].isupper() else name
    text = f"{cell[: month.start()]}{name}{cell[month.end() :]}"
    text = text.replace(str(old.year), str(day.year))
    number = re.compile(rf"(?<!\d){old.day:02d}(?!\d)|(?<!\d){old.day}(?!\d)")
    text = number.sub(lambda m: f"{day.day:0{len(m[0]) if m[0][0] == '0' else 1}d}", text, count=1)
    return (text, order) if read_date(text) == order else None


class RowMaker:
    """Makes rows like those of a table; ``names`` are of other entities of the same kind.


    Attributes:
        rows: those of the table that can stand in a context: no two have names alike.
        names: those of others that can stand beside them.
        free: columns that can be stated where rows are made up.
        ranges: of the ordered columns.
        varied: of those whose values can be made up.
    """

    def __init__(self, typed: TypedTable, names: Iterable[str]) -> None:
        self.typed, key = typed, typed.key
        entities = list(dict.fromkeys(row[key] or "" for row in typed.table.rows))
        dated = sum(bool(_YEAR.search(name)) for name in entities) > DATED * len(entities)
        names = () if dated else names  # "1987-88 season" is of no other time
        every = distinct_names([*entities, *names])
        known = {name for name in entities if name in every}
        self.names = tuple(name for name in every if name not in known)
        orders = list(zip(*typed.orders, strict=True))
        self.rows = [
            ContextRow(cells, own)
            for cells, own in zip(typed.table.rows, orders, strict=True)
            if (cells[key] or "") in known
        ]
        cells_of = list(zip(*typed.table.rows, strict=True))
        counts = map(Counter, cells_of)
        self._shared = [{cell for cell, n in own.items() if n > 1} - {None} for own in counts]
        """Words that more than one row says, by column: no made-up row says what is unique."""
        labels = [words_of(name) for name in typed.table.columns]
        spoken = words_of(" ".join(cell for cells in cells_of for cell in cells if cell))
        self.naming = [
            {c for cells in cells_of for c in cells if c and label in words_of(c)}
            if label.strip() and label in spoken
            else set[str]()
            for label in labels
        ]
        """Cells that have the header of a column, by column."""
        self.ranges = {
            index: Range.of(column, cells_of[index], typed.orders[index])
            for index, column in enumerate(typed.columns)
            if column.kind in ORDERED and column.usable and index != key
            if any(order is not None for order in typed.orders[index])
        }
        rng = Random(0)
        self.varied = {  # of the others no cell can be written with another value
            index: found
            for index, found in self.ranges.items()
            if all(
                found.draw(cell, found.low, found.high, set(), rng)
                for row in self.rows[:SEEN]
                if (cell := row.cells[index]) and row.orders[index] is not None
            )
        }
        self.free = tuple(self._free())
        self._alike: dict[Row, list[ContextRow]] = defaultdict(list)
        for row in self.rows:
            self._alike[self._categories(row.cells)].append(row)
        times = [index for index in typed.distinguishing[:1] if index in self.varied and not dated]
        self.time = times[0] if times and typed.columns[times[0]].kind != "number" else None
        """The column of times, where the rows of an entity can be of others."""
        self.entities = sorted(known)
        self.constant = frozenset(self._constant() if self.time is not None else ())
        """Columns of words of which each entity has one value, whenever its rows are."""

    def has_rows(self, count: int) -> bool:
        """Whether there are so many rows, made-up ones included."""
        others = 0
        if self.time is not None:
            others = min(REUSED, len(self.ranges[self.time].values)) * len(self.entities)
        return len(self.rows) + len(self.names) + others >= count

    def _categories(self, cells: Row) -> Row:
        columns = enumerate(self.typed.columns)
        return tuple(cells[index] for index, column in columns if column.kind == "category")

    def _free(self) -> Iterator[int]:
        """Usable columns of which none follows from others."""
        typed = self.typed
        formulas = [{one.total, *one.parts} for one in typed.formulas]
        totals = {one.total for one in typed.formulas}
        bound = {frozenset(pair) for pair in _bound_pairs(typed, [*self.ranges])}

        def rank(index: int) -> tuple[bool, bool, bool, int]:
            column = typed.columns[index]
            return index in totals, column.serial, column.kind == "number", index

        kept = set[int]()
        for index in sorted(self.ranges, key=rank):
            with_it = kept | {index}
            if (
                all({index, other} not in bound for other in kept)
                and not any(index in some and some <= with_it for some in formulas)
                and not any(map(self._tells, range(len(typed.columns)), repeat(index)))
            ):
                kept = with_it
        for index, column in enumerate(typed.columns):
            if column.usable and (index in kept or index not in self.ranges):
                yield index

    def _tells(self, words: int, column: int) -> bool:
        """Whether rows with the same words have the same number: "71 + 71" is 142."""
        if words in (*self.ranges, self.typed.key) or not self.typed.columns[words].usable:
            return False
        said: dict[Cell, list[float | None]] = defaultdict(list)
        for row in self.rows:
            if row.cells[words] is not None:
                said[row.cells[words]].append(row.orders[column])
        several = [orders for orders in said.values() if len(orders) > 1]
        return len(several) > 1 and all(len({*orders}) == 1 for orders in several)

    def _constant(self) -> Iterator[int]:
        of: dict[str, list[ContextRow]] = defaultdict(list)
        for row in self.rows:
            of[row.cells[self.typed.key] or ""].append(row)
        several = [own for own in of.values() if len(own) > 1]
        for index in range(len(self.typed.columns)):
            said = [{row.cells[index] for row in own} for own in several]
            is_words = index not in (*self.ranges, *self.typed.distinguishing, self.typed.key)
            if is_words and max(map(len, said), default=0) == 1:
                yield index

    def filled(self, column: int, rows: Sequence[ContextRow], made_up: int) -> float:
        """How many of some rows, and made-up ones beside them, say something in a column, about."""
        own = sum(row.cells[column] is not None for row in rows)
        if column in self.varied:
            return own + made_up
        shared = sum(row.cells[column] in self._shared[column] for row in self.rows)
        return own + made_up * shared / len(self.rows)

    def has_room(self, column: int, made_up: int) -> bool:
        """Whether a column has values enough for so many made-up rows."""
        found = self.varied.get(column)
        if found is None or not found.unique:
            return True
        return found.room(found.low, found.high) - len(found.values) >= ROOM * made_up

    def make_up(
        self,
        name: str,
        pattern: ContextRow,
        columns: Sequence[int],
        limits: Mapping[int, tuple[float, float]],
        kept: Collection[int],
        taken: Mapping[int, set[float]],
        rng: Random,
    ) -> ContextRow | None:
        """A made-up row.

        Args:
            name: of its entity.
            pattern: the row that it is like.
            columns: those that are stated; the others stay as in the pattern.
            limits: ends of what some columns may say.
            kept: columns that it cannot leave blank; of words, it shares the pattern's.
            taken: what others say already in columns of unique values.
            rng: what draws.

        Returns:
            ``None`` where a column has no value left.
        """
        cells, orders = list(pattern.cells), list(pattern.orders)
        cells[self.typed.key] = name
        alike = self._alike[self._categories(pattern.cells)]
        if words := [c for c in kept if c not in self.ranges]:  # names that it keeps are its own
            alike = [row for row in alike if all(row.cells[c] == pattern.cells[c] for c in words)]
        other = rng.choice(alike)
        for index in columns:
            if index == self.typed.key:
                continue
            found = self.varied.get(index)
            if found is None:  # all of one row: a venue stays in its city
                is_own = index in kept or self.typed.columns[index].kind == "category"
                said_by = pattern if is_own else other
                cell = said_by.cells[index]
                cells[index] = cell if cell in self._shared[index] or index in kept else None
                orders[index] = said_by.orders[index] if cells[index] else None
                continue
            cell, order = cells[index], orders[index]
            said = None
            if cell is not None and order is not None:
                whole, wide = (found.low, found.high), NEAR * (found.high - found.low)
                tries = [found.near(order), (order - wide, order + wide)]
                if index in limits:
                    tries = [limits[index]]
                elif index == self.time:
                    tries = [whole]
                elif index in kept:  # a value there must be
                    tries.append(whole)
                for low, high in tries:
                    said = said or found.draw(cell, low, high, taken.get(index, set()), rng)
            if said is None and index in (*limits, *kept):
                return None
            cells[index], orders[index] = said or (None, None)
        return ContextRow(tuple(cells), tuple(orders), made_up=True)

    def identity(self, row: ContextRow) -> Row:
        """What tells a row from the others of its table."""
        return tuple(row.cells[index] for index in (self.typed.key, *self.typed.distinguishing))


class Entities:
    """Who made-up rows are about: the table's own entities at other times first, where these are
    told apart by times; others, as many as the table has for so many rows, else.
    """

    def __init__(
        self, maker: RowMaker, rows: Sequence[ContextRow], count: int, rng: Random
    ) -> None:
        self._rng = rng
        self._counts = Counter[str]()
        self._recurring: list[str] = []
        names = rng.sample(maker.names, len(maker.names))
        if maker.time is not None:
            each = max(1.5, len(maker.rows) / len(maker.entities))
            missing = int((len(rows) + count) / each) - len(maker.entities)
            self._recurring = [*maker.entities, *names[: max(0, missing)]]
            names = names[max(0, missing) :]
        self._names = iter(names)

    @property
    def recurs(self) -> bool:
        """Whether one can have several rows."""
        return bool(self._recurring)

    def draw(self) -> str | None:
        """The name of one; ``None`` where there are no more."""
        if self._recurring:
            return self._rng.choice(self._recurring)
        return next(self._names, None)

    def use(self, name: str) -> None:
        """One more row is about somebody."""
        self._counts[name] += 1
        if self._counts[name] >= REUSED and name in self._recurring:
            self._recurring.remove(name)


def _bound_pairs(typed: TypedTable, ordered: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Columns of which one rises or falls with the other, or never exceeds it.

    One row in ten may be an exception, of those that do not say what most say.
    """
    for one, other in combinations(ordered, 2):
        rows = zip(typed.orders[one], typed.orders[other], strict=True)
        both = [(a, b) for a, b in rows if a is not None and b is not None]
        firsts, lasts = [a for a, _ in both], [b for _, b in both]
        if len(both) < 4:
            continue
        usual = max(*Counter(firsts).values(), *Counter(lasts).values())
        least = len(both) - (len(both) - usual) // 10
        if len({*firsts}) > 2 and len({*lasts}) > 2:
            falling = ((a, -b) for a, b in both)
            if any(_longest_rise(sorted(some)) >= least for some in (both, falling)):
                yield one, other
                continue
        kinds = {(typed.columns[index].kind, typed.columns[index].unit) for index in (one, other)}
        for low, high in permutations((firsts, lasts)):
            below = sum(a <= b for a, b in zip(low, high, strict=True))
            if len(kinds) == 1 and max(low) > min(high) and below >= least:
                yield one, other
                break


def _longest_rise(pairs: Sequence[tuple[float, float]]) -> int:
    """How many of the second numbers can stay so that none is below one before it."""
    ends = list[float]()
    for _, value in pairs:
        place = bisect_right(ends, value)
        ends[place : place + 1] = [value]
    return len(ends)
