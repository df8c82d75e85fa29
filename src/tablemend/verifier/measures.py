"""What a cell can be ordered by: amounts, dates, times, ranks, scores."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal

from tablemend.values.cells import read_value
from tablemend.values.dates import MONTH_NUMBERS
from tablemend.values.numbers import find_quantities
from tablemend.values.periods import find_parts
from tablemend.values.text import clean

MeasureKind = Literal["number", "date", "time", "rank", "score", "span", "text"]

_CACHED_LENGTH = 256
_LONGEST = 120
_SIGN = re.compile(r"^([+-]) (?=[\d.])")
_CAPITAL, _MILLION = re.compile(r"\dM\b"), re.compile(r"(?<=\d)m\b")  # "5M" is no length
_SLASHES = re.compile(r"(?<=\d) ?/ ?(?=\d)")
_RANK = re.compile(r"(?:t|tied)?[ -]?(\d{1,3})(?:st|nd|rd|th)?(?: ?\((?:t|tie|tied)\)| ?=)?\Z")
_ORDINAL = re.compile(r"(?:t|tied)[ -]?\d|\d(?:st|nd|rd|th)\b|\d ?=")
_CLOCK = re.compile(
    r"(?:(\d{1,3})[:h] ?)?(\d{1,3})[:'](\d\d(?:[.:]\d+)?)[s\"]?(?!\d)(?: ?([ap])\.?m)?"
)
_SUM = re.compile(r"^[\d+ -]+ ?= ?(-?\d+(?:\.\d+)?)\Z")
_GOALS = re.compile(r"^(\d+)\.(\d+) ?\((\d+)\)")
_SCORE = re.compile(
    r"^(?:(?P<result>w|l|d|t|win|won|loss|lost|draw|drawn|drew|tie|tied)\b[ ,:(]*)?"
    r"(?P<first>\d{1,3})(?:-|:| [x:] )(?P<second>\d{1,3})(?![-:\d/])(?P<rest>.*)\Z",
    re.DOTALL,
)
_RESULT = re.compile(r"^(w|l|d|t|win|won|loss|lost|draw|drawn|drew|tie|tied)\b")
_RESULT_AFTER = re.compile(r"[ ,(]*(w|l|d|t|win|won|loss|lost|draw|drawn|drew|tie|tied)\b")
_YEARS = re.compile(r"^(?:c\. ?)?(\d{4}) ?(?:-|/|to|until) ?(\d{4}|\d{2}|present|now)?(?![\d-])")
_QUARTER = re.compile(r"^(?:q([1-4])|([1-4])q)\b")
_FISCAL = re.compile(r"^(?:fiscal(?: year)?|fy|year|season) ?'?(?=\d)")
_WON, _LOST = frozenset({"w", "win", "won"}), frozenset({"l", "loss", "lost"})


@dataclass(frozen=True, slots=True)
class Measure:
    """A cell that can be put into an order.

    Attributes:
        kind: what it is.
        value: what it is ordered by: the number, days, seconds, the place, the first side's points,
            the first year.
        second: the other side's points, or the last year.
        result: ``w``, ``l`` or ``d`` where the cell says who won.
        decimals: decimal places as written.
        scaled: whether the cell itself states a scale such as "million".
    """

    kind: MeasureKind
    value: float
    second: float | None = None
    result: str = ""
    decimals: int = 0
    scaled: bool = False


def read_measure(cell: str) -> Measure | None:
    """What a cell is ordered by; ``None`` for a blank and for words.

    ``277`` of ``71 + 64 + 69 + 73 = 277``, ``84`` of ``11.18 (84)`` (goals and behinds), ``2`` of
    ``T2``, seconds of ``1:28.9``, points and result of ``W 21-20``, days of a date.
    """
    return _read_cached(cell) if len(cell) <= _CACHED_LENGTH else None


@lru_cache(maxsize=1 << 16)
def _read_cached(cell: str) -> Measure | None:
    text = clean(cell).casefold()
    if _CAPITAL.search(cell):
        text = _MILLION.sub("M", text)
    if not text or not any(map(str.isdigit, text)):
        value = read_value(cell)
        if value.number is not None:
            return Measure("number", float(value.number.value))
        result = _RESULT.match(text) if len(text) <= 5 else None
        return Measure("score", 0.0, None, _short(result[1])) if result else None
    text = _SLASHES.sub("/", _SIGN.sub(r"\1", text))
    value = read_value(text)
    if value.number is not None:
        scaled = value.number.unit.scale != 1
        kind: MeasureKind = "rank" if _ORDINAL.search(text) else "number"
        return Measure(
            kind, float(value.number.value), decimals=value.number.decimals, scaled=scaled
        )
    if (
        value.dates
        and "/" not in value.dates[0]
        and (day := date_order(value.dates[0])) is not None
    ):
        return Measure("date", day)
    return _read_marked(text) if len(text) <= _LONGEST else None


def _read_marked(text: str) -> Measure | None:
    if rank := _RANK.match(text):
        return Measure("rank", float(rank[1]))
    if total := _SUM.match(text):
        return Measure("number", float(total[1]))
    goals = _GOALS.match(text)
    if goals and 6 * int(goals[1]) + int(goals[2]) == int(goals[3]):
        return Measure("number", float(goals[3]))
    if years := _YEARS.match(text):
        return Measure("span", float(years[1]), _last_year(years[1], years[2]))
    if clock := _CLOCK.match(text.lstrip("+ ")):
        return Measure("time", _seconds(clock))
    if score := _SCORE.match(text):
        after = _RESULT_AFTER.match(score["rest"])
        result = score["result"] or (after[1] if after else "")
        return Measure("score", float(score["first"]), float(score["second"]), _short(result))
    result = _RESULT.match(text)
    stated = find_quantities(text.lstrip("+ "))
    if stated and stated[0].start == 0:
        number = stated[0].number
        return Measure("number", float(number.value), decimals=number.decimals)
    return Measure("score", 0.0, None, _short(result[1])) if result else None


def _seconds(clock: re.Match[str]) -> float:
    """Seconds of a duration, or since midnight of a time of day."""
    hours, minutes, seconds, half = clock.groups()
    if half and hours is None:  # "8:30 pm"
        return 3600 * (float(minutes) % 12 + 12 * (half == "p")) + 60 * float(seconds[:2])
    return 3600 * float(hours or 0) + 60 * float(minutes) + float(seconds.replace(":", "."))


def _last_year(first: str, second: str | None) -> float | None:
    if not second:
        return None
    if not second.isdigit():
        return float("inf")
    last = int(second) if len(second) == 4 else int(first) // 100 * 100 + int(second)
    return float(last if last >= int(first) else last + 100)


def _short(result: str) -> str:
    """One letter for a result."""
    return "w" if result in _WON else "l" if result in _LOST else "d" if result else ""


@lru_cache(maxsize=1 << 14)
def date_order(iso: str) -> float | None:
    """Days since the beginning of the calendar; a coarse date counts from its first day.

    A date without a year counts from the beginning of a year, so that it is comparable with its
    like only.
    """
    try:
        if iso.startswith("--"):  # year 4 is a leap year
            return float(date(4, int(iso[2:4]), int(iso[5:7] or 1)).timetuple().tm_yday)
        year = int(iso[:4])
        if len(iso) == 4 or iso[4] == "/":
            return float(date(year, 1, 1).toordinal())
        if iso[5] == "q":
            return float(date(year, 3 * int(iso[6]) - 2, 1).toordinal())
        return float(date(year, int(iso[5:7]), int(iso[8:10] or 1)).toordinal())
    except ValueError:  # February 31, "monday", a quarter without a year
        return None


@lru_cache(maxsize=1 << 14)
def moment(name: str) -> float | None:
    """Where a period stands in time; comparable with periods of its like only."""
    text = _FISCAL.sub("", name.casefold().strip())
    if month := MONTH_NUMBERS.get(text.rstrip(".")):
        return float(month)
    if (quarter := _QUARTER.match(text)) and len(text) <= 2:
        return float(quarter[1] or quarter[2])
    if parts := find_parts(name.casefold().strip()):
        year, _, part = parts[0].reading.rpartition("-")
        return float(year or (part if part.isdigit() else 0)) + 0.5 * (part == "h2")
    measure = read_measure(text)
    if measure is None or measure.kind not in ("date", "span", "number"):
        return None
    if measure.kind == "number" and not (1500 <= measure.value <= 2200 and text[:4].isdigit()):
        return None
    return measure.value
