"""Days as far as a text or a cell gives them, and what lies between two of them."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import NamedTuple

from tablemend.values.dates import find_dates

DAYS = 365.25
"""Days of a year, on average."""
_YEAR = re.compile(r"(?<![\d,.$£€])(?:1\d|20)\d\d(?![\d%]|,\d|\.\d)")
_BEFORE_SEASON = {3: "winter", 6: "spring", 9: "summer", 12: "autumn"}
_SEASONS = ("winter", "spring", "summer", "autumn")
_TURN = 19
"""Until this day of its month a season may be told by the month or by the sun."""


class Period(NamedTuple):
    """A stretch of days, both ends included: one day, a month, a year, or a longer time."""

    first: date
    last: date

    def within(self, other: Period) -> bool | None:
        """Whether this lies in another; ``None`` where a part of it does."""
        if other.first <= self.first and self.last <= other.last:
            return True
        return None if self.first <= other.last and other.first <= self.last else False

    def before(self, other: Period) -> bool | None:
        """Whether this is over when the other begins; ``None`` where that is open."""
        if self.last < other.first:
            return True
        return False if self.first >= other.first else None


def of_years(first: int, last: int) -> Period | None:
    """Whole years; ``None`` for years that no calendar has."""
    return Period(date(first, 1, 1), date(last, 12, 31)) if 0 < first <= last < 9999 else None


def read_period(reading: str) -> Period | None:
    """An ISO day, month or year; ``None`` for anything else."""
    parts = reading.split("-")
    if not 1 <= len(parts) <= 3 or not all(part.isdigit() for part in parts):
        return None
    year, month, day = (*(int(part) for part in parts), 0, 0)[:3]
    try:
        if not month:
            return of_years(year, year)
        if not day:
            return Period(date(year, month, 1), date(year, month, monthrange(year, month)[1]))
        return Period(date(year, month, day), date(year, month, day))
    except ValueError:
        return None


def find_periods(text: str) -> list[tuple[int, int, Period]]:
    """Days, months with a year and bare years of a text, with their places, in order."""
    found = []
    lowered = text.lower()
    for stated in find_dates(lowered if len(lowered) == len(text) else text):
        period = next((p for r in stated.readings if (p := read_period(r))), None)
        if period is not None:
            found.append((stated.start, stated.end, period))
    taken = [(start, end) for start, end, _ in found]
    for match in _YEAR.finditer(text):
        if not any(start <= match.start() < end for start, end in taken):
            period = read_period(match[0])
            if period is not None:
                found.append((*match.span(), period))
    return sorted(found)


def years_between(start: Period, end: Period) -> tuple[float, float]:
    """The least and the greatest time from one to the other, in years.

    Of bare years the difference of their numbers: nobody counts closer.
    """
    if _is_year(start) or _is_year(end):
        years = float(end.first.year - start.last.year)
        return years, float(end.last.year - start.first.year)
    least = (end.first - start.last).days / DAYS
    return least, (end.last - start.first).days / DAYS


def ages(born: Period, then: Period) -> range:
    """The ages in full years that somebody can have at a time."""
    return range(_full_years(born.last, then.first), _full_years(born.first, then.last) + 1)


def seasons(period: Period) -> frozenset[str]:
    """The seasons of the northern year in which a day or month can lie; none for a longer time."""
    if (period.last - period.first).days > 31:
        return frozenset()
    month = period.first.month
    own = _SEASONS[month % 12 // 3]
    if month % 3 == 0 and period.first.day <= _TURN:
        return frozenset({own, _BEFORE_SEASON[month]})
    if month % 3 == 0 and period.first.day <= _TURN + 4:
        return frozenset({own, _BEFORE_SEASON[month]})
    return frozenset({own})


def _is_year(period: Period) -> bool:
    return (period.last - period.first).days > 31


def _full_years(born: date, then: date) -> int:
    return then.year - born.year - ((then.month, then.day) < (born.month, born.day))
