"""Values just out of scope, for the conditions of a kernel that no program made.

Conditions come from a language model, so each is first read against the gold cells: only where
all of them are read alike and meet it does a program know what would break it.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Sequence
from datetime import date
from random import Random
from typing import NamedTuple, Protocol

from tablemend.datasets.tablehallu.categories import others_of
from tablemend.datasets.tablehallu.columns import read_number
from tablemend.datasets.tablehallu.names import NameGuard, invent_name
from tablemend.datasets.tablehallu.spelling import YEAR, Days, Months, Numbers, Spelling, Years
from tablemend.records import Condition

LATEST = 2024
"""Last year of a made-up row, where the gold rows and the condition know no later one."""

INVENTED = 12
_TRIES = 8
_ISO_END = re.compile(r"([12]\d{3})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?")
_WORD = re.compile(r"[^\W\d_]+")
# Headers whose cells are names, so that a made-up name is another value of the same kind.
_NAMED = frozenset(
    """
    actor airline architect arena artist author band bank borough brand builder ceo chairman
    champion chief city club coach college company composer conductor constructor contractor
    county creator designer developer director district driver editor executive firm founder
    founders governor headquarters host institution inventor investigator investor label leader
    location maker manager manufacturer mayor municipality operator opponent opponents
    organisation organization owner painter partner party performer player president producer
    province publisher region researcher rider sculptor singer sponsor state studio supplier
    team town university vendor venue winner writer
    """.split()
)


class Breaker(Protocol):
    """A condition that a program can break.

    Attributes:
        condition: the condition.
        is_time: what is out of scope may be the same entity at another time.
    """

    condition: Condition
    is_time: bool

    def draw(self, rng: Random, reach: int) -> str | None:
        """A value that does not meet the condition; the greater ``reach``, the further away."""
        ...

    def keep(self, rng: Random) -> str | None:
        """A value that meets it, for a table that has no column of it."""
        ...

    def breaks(self, value: str) -> bool:
        """Whether a value surely does not meet the condition."""
        ...


class RangeBreaker:
    """A range of years, months, days or numbers, broken by a value beyond an end."""

    def __init__(
        self, condition: Condition, spelling: Spelling, ends: Ends, patterns: Sequence[str]
    ) -> None:
        self.condition = condition
        self.is_time = not isinstance(spelling, Numbers)
        self._spelling = spelling
        self._low, self._high = ends
        # Like "2,000" rather than like "900", where a column has both.
        self._patterns = [pattern for pattern in patterns if "," in pattern] or patterns
        places = [place for p in patterns if (place := spelling.read(p)) is not None]
        known = [*places, *(end for end in ends if end is not None)]
        self._floor, self._ceiling = self._limits(places)
        self._spread = max(max(known) - min(known), 0.2 * max(map(abs, known)), 1e-9)

    def _limits(self, places: Sequence[float]) -> tuple[float, float]:
        """The least and the greatest plausible place."""
        top = max((p for p in (*places, self._high) if p is not None), default=0.0)
        if not self.is_time:
            is_percent = all(pattern.rstrip(" )").endswith("%") for pattern in self._patterns)
            known = [p for p in (*places, self._low, self._high) if p is not None]
            floor = 0.0 if min(known) >= 0 else float("-inf")
            return floor, 100.0 if is_percent and top <= 100 else float("inf")
        last = self._last(LATEST)
        only_above = self._low is None and self._high is not None and self._high >= last
        return self._last(1000), self._last(int(LATEST + 6)) if only_above else max(last, top)

    def _last(self, year: int) -> float:
        if isinstance(self._spelling, Years):
            return float(year)
        return year * 12.0 + 11 if isinstance(self._spelling, Months) else _ordinal(year, 12, 31)

    def draw(self, rng: Random, reach: int) -> str | None:
        """See :class:`Breaker`."""
        for _ in range(_TRIES):
            sides = []
            if self._low is not None and self._low > self._floor:
                sides.append((self._low, -1.0))
            if self._high is not None and self._high < self._ceiling:
                sides.append((self._high, 1.0))
            if not sides:
                return None
            end, sign = rng.choice(sides)
            place = end + sign * self._gap(rng, reach)
            if not self._floor < place <= self._ceiling:
                continue
            written = self._spelling.write(place, rng.choice(self._patterns))
            if written is not None and self.breaks(written):
                return written
        return None

    def _gap(self, rng: Random, reach: int) -> float:
        share = rng.random() ** 2
        if isinstance(self._spelling, Years):
            return 1 + int(share * (4 + reach / 2))
        if isinstance(self._spelling, Months):
            return 1 + int(share * (6 + 3 * reach))
        if isinstance(self._spelling, Days):
            return 1 + int(share * (90 + 60 * reach))
        gap = self._spread * (0.02 + share * (0.6 + reach / 10))
        is_whole = all("." not in pattern for pattern in self._patterns)
        return max(1.0, round(gap)) if is_whole else gap

    def keep(self, rng: Random) -> str | None:
        """See :class:`Breaker`."""
        ends = [end for end in (self._low, self._high) if end is not None]
        if isinstance(self._spelling, Years) and len(ends) == 2:
            place: float = rng.randint(int(ends[0]), int(ends[1]))
        else:
            place = rng.choice(ends)
        return self._spelling.write(place, rng.choice(self._patterns))

    def breaks(self, value: str) -> bool:
        """See :class:`Breaker`."""
        place = self._spelling.read(value)
        if place is None:
            return False
        return (self._low is not None and place < self._low) or (
            self._high is not None and place > self._high
        )


class CategoryBreaker:
    """Admitted categories, broken by another one."""

    is_time = False

    def __init__(self, condition: Condition, others: Sequence[str]) -> None:
        self.condition = condition
        self._others = others
        self._admitted = {value.casefold() for value in condition.values}

    def draw(self, rng: Random, reach: int) -> str | None:
        """See :class:`Breaker`."""
        return rng.choice(self._others)

    def keep(self, rng: Random) -> str | None:
        """See :class:`Breaker`."""
        return rng.choice(self.condition.values)

    def breaks(self, value: str) -> bool:
        """See :class:`Breaker`."""
        return value.casefold() not in self._admitted


class Ends(NamedTuple):
    """Inclusive ends of a range on its line; ``None`` is open."""

    low: float | None
    high: float | None

    def hold(self, places: Iterable[float | None]) -> bool:
        """Whether every place is there and inside."""
        return all(
            place is not None
            and (self.low is None or place >= self.low)
            and (self.high is None or place <= self.high)
            for place in places
        )


def find_breaker(condition: Condition, cells: Sequence[str], rng: Random) -> Breaker | str:
    """What breaks a condition, or the reason why a program cannot.

    Args:
        condition: as a model wrote it.
        cells: the filled gold cells of its column; empty where the table has no such column.
        rng: for invented categories.
    """
    if condition.values:
        return _category_breaker(condition, cells, rng)
    if (condition.low, condition.high) == (None, None):
        return "a condition without an end or a value"
    written = (condition.low, condition.high)
    for spelling, ends in _readings(written):
        patterns = cells or _patterns(spelling, written)
        if not patterns or not ends.hold(map(spelling.read, patterns)):
            continue
        if isinstance(spelling, Numbers) and not _same_unit(condition, cells):
            return "a range whose unit differs from its column's"
        return RangeBreaker(condition, spelling, ends, patterns)
    return "a range that its gold cells do not meet, or that cannot be read"


def _readings(written: tuple[str | None, str | None]) -> Iterable[tuple[Spelling, Ends]]:
    """Every line that both ends can stand on, the surest first."""
    given = [end.strip() for end in written if end is not None]
    if all(map(_read_iso, given)):
        first, last = (None if end is None else _read_iso(end) for end in written)
        low = None if first is None else _ordinal(int(first[1]), int(first[2]), int(first[3] or 1))
        high = None if last is None else _ordinal(int(last[1]), int(last[2]), int(last[3] or 31))
        yield Days(), Ends(low, high)
        yield Months(), Ends(_count_months(first), _count_months(last))
        years = (None if match is None else float(match[1]) for match in (first, last))
        yield Years(), Ends(*years)
        return
    if all(YEAR.fullmatch(end) for end in given):
        low_year, high_year = (None if end is None else float(end) for end in written)
        yield Years(), Ends(low_year, high_year)
    numbers = [None if end is None else read_number(end.strip()) for end in written]
    if all((number is None) == (end is None) for number, end in zip(numbers, written, strict=True)):
        low_number, high_number = (None if number is None else number[0] for number in numbers)
        yield Numbers(), Ends(low_number, high_number)


def _read_iso(end: str) -> re.Match[str] | None:
    """Year, month and day of an ISO date or month that there is."""
    match = _ISO_END.fullmatch(end.strip())
    if match and match[3] and int(match[3]) > monthrange(int(match[1]), int(match[2]))[1]:
        return None
    return match


def _count_months(match: re.Match[str] | None) -> float | None:
    return None if match is None else int(match[1]) * 12.0 + int(match[2]) - 1


def _ordinal(year: int, month: int, day: int) -> float:
    """Of a day, the last one of the month where that is shorter."""
    return float(date(year, month, min(day, monthrange(year, month)[1])).toordinal())


def _patterns(spelling: Spelling, written: tuple[str | None, str | None]) -> list[str]:
    """Cells to write like where the table has none: the ends as the condition writes them."""
    return [end.strip() for end in written if end is not None and spelling.read(end) is not None]


def _same_unit(condition: Condition, cells: Sequence[str]) -> bool:
    """Whether ends and cells count in the same unit, as far as it is written."""
    if not cells:
        cells = [end for end in (condition.low, condition.high) if end is not None]
    found = {number[1:] for cell in cells if (number := read_number(cell)) is not None}
    if len({suffix for _, suffix in found}) != 1 or len({p for p, _ in found if p}) > 1:
        return False
    header = condition.column.casefold()
    for end in (condition.low, condition.high):
        number = None if end is None else read_number(end.strip())
        for position, unit in enumerate(number[1:] if number else ()):
            if unit and all(unit != f[position] for f in found) and unit.casefold() not in header:
                return False
    return True


def _category_breaker(condition: Condition, cells: Sequence[str], rng: Random) -> Breaker | str:
    values = condition.values
    admitted = {value.casefold() for value in values}
    if all(YEAR.fullmatch(value) for value in values):
        ends = Ends(float(min(values)), float(max(values)))
        years = Years()
        if ends.hold(map(years.read, cells or values)):
            return RangeBreaker(condition, years, ends, cells or values)
    if not all(cell.casefold() in admitted for cell in cells):
        return "categories that its gold cells are not among"
    if others := others_of(condition.column, values):
        return CategoryBreaker(condition, others)
    if is_named(condition.column, values):
        return CategoryBreaker(condition, invent_names(values, rng))
    return "categories of which no other is known"


def is_named(header: str, cells: Iterable[str]) -> bool:
    """Whether the cells of a column are names of people, places or firms."""
    words = {word.casefold() for word in _WORD.findall(header)}
    return not words.isdisjoint(_NAMED) and all(
        cell[:1].isupper() and not any(map(str.isdigit, cell)) for cell in cells
    )


def invent_names(like: Sequence[str], rng: Random) -> tuple[str, ...]:
    """Names of the same kind that are not similar to any of the given ones."""
    guard = NameGuard(like)
    found: dict[str, None] = {}
    while len(found) < INVENTED:
        name = invent_name(rng.choice(like), frozenset(), rng)
        if name not in like and not guard.is_similar(name):
            found[name] = None
    return tuple(found)
