"""Values just out of scope, for conditions that a language model wrote.

Each condition is first read against the gold cells: only where all of them are read alike and
meet it does a program know what violates it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Protocol

import yaml

from tablemend.datasets.tablehallu.columns import read_date, read_number
from tablemend.datasets.tablehallu.distractors import write_number
from tablemend.datasets.tablehallu.names import NameGuard, invent_name
from tablemend.datasets.tablehallu.topics import SUB_CATEGORIES
from tablemend.datasets.tablehallu.verification import meets
from tablemend.records import Condition

LATEST = 2024
"""Last year of a made-up row, where the gold rows and the condition know no later one."""

_TRIES = 8
_INVENTED = 12
_YEAR = re.compile(r"(?<!\d)(?:1[0-9]|20)\d\d(?!\d)")
_SEASON = re.compile(r"(?<!\d)((?:1[0-9]|20)\d\d)([-/\u2013])(\d\d(?:\d\d)?)(?![\d-])")
_ISO = re.compile(r"([12]\d{3})-(?:0[1-9]|1[0-2])(-\d\d)?")
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


class Violator(Protocol):
    """A condition that a program can violate."""

    @property
    def is_time(self) -> bool:
        """Whether what is out of scope may be the same entity at another time."""

    def draw(self, rng: Random, reach: int) -> str | None:
        """A value that does not meet the condition; the greater ``reach``, the further away."""

    def admitted(self, rng: Random) -> str:
        """A value that meets it, for a table that has no column of it."""


@dataclass(frozen=True, slots=True)
class OtherCategories:
    """Admitted categories and those that are not."""

    values: tuple[str, ...]
    others: tuple[str, ...]
    is_time: bool = False

    def draw(self, rng: Random, reach: int) -> str | None:
        """See :class:`Violator`."""
        return rng.choice(self.others)

    def admitted(self, rng: Random) -> str:
        """See :class:`Violator`."""
        return rng.choice(self.values)


class BeyondRange:
    """A range of numbers or years, violated by a value beyond an end, written like the cells.

    Args:
        low, high: inclusive ends; ``None`` is open.
        samples: cells to write like.
        is_time: they are years, or hold one ("3 May 2020", "FY2019", "2019-20").
    """

    def __init__(
        self, low: float | None, high: float | None, samples: Sequence[str], is_time: bool
    ) -> None:
        self.is_time = is_time
        self._low, self._high = low, high
        # Like "2,000" rather than like "900", where a column has both.
        self._samples = [sample for sample in samples if "," in sample] or list(samples)
        self._read = read_year if is_time else _read_size
        known = [place for s in samples if (place := self._read(s)) is not None]
        known += [end for end in (low, high) if end is not None]
        self._spread = max(max(known) - min(known), 0.2 * max(map(abs, known)), 1e-9)
        self._floor, self._ceiling = self._plausible(min(known), max(known))

    def _plausible(self, least: float, most: float) -> tuple[float, float]:
        if self.is_time:
            all_is_past = self._low is None and self._high is not None and self._high >= LATEST
            return 1000.0, LATEST + 6.0 if all_is_past else max(float(LATEST), most)
        is_percent = all(sample.rstrip(" )").endswith("%") for sample in self._samples)
        return (
            0.0 if least >= 0 else float("-inf"),
            100.0 if is_percent and most <= 100 else float("inf"),
        )

    def draw(self, rng: Random, reach: int) -> str | None:
        """See :class:`Violator`."""
        ends = [(self._low, -1.0), (self._high, 1.0)]
        sides = [(end, sign) for end, sign in ends if end is not None]
        for _ in range(_TRIES):
            end, sign = rng.choice(sides)
            place = end + sign * self._gap(rng, reach)
            if self._floor < place <= self._ceiling:
                written = self._write(place, rng.choice(self._samples))
                if written is not None and not self.holds([written]):
                    return written
        return None

    def _gap(self, rng: Random, reach: int) -> float:
        share = rng.random() ** 2
        if self.is_time:
            return 1 + int(share * (4 + reach / 2))
        gap = self._spread * (0.02 + share * (0.6 + reach / 10))
        is_whole = all("." not in sample for sample in self._samples)
        return max(1.0, round(gap)) if is_whole else gap

    def _write(self, place: float, like: str) -> str | None:
        if self.is_time:
            return write_year(int(place), like)
        size = _read_size(like)
        if size is None or (size < 0) != (place < 0):  # a sign stays what it is
            return None
        return write_number(like, abs(place))

    def admitted(self, rng: Random) -> str:
        """See :class:`Violator`."""
        return rng.choice(self._samples)

    def holds(self, cells: Iterable[str]) -> bool:
        """Whether every cell can be read and is inside."""
        places = map(self._read, cells)
        return all(
            place is not None
            and (self._low is None or place >= self._low)
            and (self._high is None or place <= self._high)
            for place in places
        )


def find_violator(condition: Condition, cells: Sequence[str], rng: Random) -> Violator | str:
    """What violates a condition, or the reason why a program cannot.

    Args:
        condition: as a model wrote it.
        cells: the filled gold cells of its column; empty where the table has no such column.
        rng: for invented categories.
    """
    if condition.values:
        return _find_others(condition, cells, rng)
    ends = (condition.low, condition.high)
    given = [end.strip() for end in ends if end is not None]
    if not given:
        return "a condition without an end or a value"
    is_read = all(meets(cell, condition) is not False for cell in cells)
    for read, is_time in ((_read_year_end, True), (_read_size, False)):
        if not is_read or any(read(end) is None for end in given):
            continue
        low, high = (None if end is None else read(end.strip()) for end in ends)
        found = BeyondRange(low, high, cells or given, is_time)
        if found.holds(cells):
            unlike = not is_time and not _has_one_unit(condition, given, cells)
            return "a range whose unit differs from its column's" if unlike else found
    return "a range that its gold cells do not meet, or that cannot be read"


def read_year(cell: str) -> float | None:
    """The one year in a cell, the first one of a season."""
    years = _YEAR.findall(cell)
    return float(years[0]) if len(years) == 1 or (years and _season(cell)) else None


def write_year(year: int, like: str) -> str | None:
    """A cell with another year in it; ``None`` for a 29 February that there is not."""
    if season := _season(like):
        text = f"{year}{season[2]}{str(year + 1)[-len(season[3]) :]}"
        return like[: season.start()] + text + like[season.end() :]
    written = _YEAR.sub(str(year), like)
    return None if read_date(like) is not None and read_date(written) is None else written


def _season(cell: str) -> re.Match[str] | None:
    match = _SEASON.search(cell)
    return match if match and (int(match[3]) - int(match[1])) % 100 == 1 else None


def _read_year_end(end: str) -> float | None:
    """The year of an end that is a year, an ISO month or an ISO date."""
    if _YEAR.fullmatch(end):
        return float(end)
    match = _ISO.fullmatch(end)
    if match is None or (match[2] and read_date(end) is None):
        return None
    return float(match[1])


def _read_size(cell: str) -> float | None:
    number = read_number(cell)
    return None if number is None else number[0]


def _has_one_unit(condition: Condition, ends: Sequence[str], cells: Sequence[str]) -> bool:
    """Whether ends and cells count in the same unit, as far as it is written."""
    units = [number[1:] for cell in cells or ends if (number := read_number(cell))]
    known = [set(column) for column in zip(*units, strict=True)]
    if len(known[0] - {""}) > 1 or len(known[1]) > 1:
        return False
    header = condition.column.casefold()
    return all(
        not unit or unit in known[position] or unit.casefold() in header
        for end in ends
        for position, unit in enumerate((read_number(end) or (0.0,))[1:])
    )


def _find_others(condition: Condition, cells: Sequence[str], rng: Random) -> Violator | str:
    values = condition.values
    if all(map(_YEAR.fullmatch, values)):
        years = BeyondRange(float(min(values)), float(max(values)), cells or values, is_time=True)
        if years.holds(cells):
            return years
    if not {cell.casefold() for cell in cells} <= {value.casefold() for value in values}:
        return "categories that its gold cells are not among"
    if others := other_categories(condition.column, values, rng):
        return OtherCategories(values, others)
    return "categories of which no other is known"


@cache
def _well_known() -> tuple[tuple[str, ...], ...]:
    path = Path(__file__).with_name("categories.yaml")
    return tuple(tuple(text.split("|")) for text in yaml.safe_load(path.read_text("utf-8")))


def other_categories(header: str, values: Iterable[str], rng: Random) -> tuple[str, ...]:
    """Further values of a column: the rest of a well-known list, or invented names.

    >>> other_categories("Medal", ["Gold", "Bronze"], Random(0))
    ('Silver',)
    """
    wanted = {value.casefold() for value in values}
    # The built-in topics have lists of their own, each good under its header alone.
    fields = (field for topic in SUB_CATEGORIES for field in topic.fields if field.options)
    own = [field.options for field in fields if field.name.casefold() == header.casefold()]
    for categories in (*_well_known(), *own):
        spellings = [category.casefold().split("/") for category in categories]
        if wanted and wanted <= {one for category in spellings for one in category}:
            named = zip(categories, spellings, strict=True)
            return tuple(c.split("/")[0] for c, spelt in named if wanted.isdisjoint(spelt))
    return _invent_names(header, list(values), rng)


def _invent_names(header: str, like: Sequence[str], rng: Random) -> tuple[str, ...]:
    """Names similar to none of the given ones, where the column is one of names."""
    is_named = not _NAMED.isdisjoint(word.casefold() for word in _WORD.findall(header))
    if not is_named or any(not v[:1].isupper() or any(map(str.isdigit, v)) for v in like):
        return ()
    guard = NameGuard(like)
    found: dict[str, None] = {}
    while like and len(found) < _INVENTED:
        name = invent_name(rng.choice(like), frozenset(), rng)
        if name not in like and not guard.is_similar(name):
            found[name] = None
    return tuple(found)
