"""Dates and periods: every usual spelling is one day, an ambiguous one each day that it can be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Literal, NamedTuple

from tablemend.values.text import clean

MONTHS = (
    "january february march april may june july august september october november december"
).split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
MONTH_NUMBERS = {form: n for n, name in enumerate(MONTHS, 1) for form in (name, name[:3])} | {
    "sept": 9
}
ANY_MONTH = "|".join(sorted(MONTH_NUMBERS, key=len, reverse=True))
"""A pattern: a month in full or in short, in small letters."""
_QUARTER_WORDS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_LENGTHS = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_DIGIT = re.compile(r"\d")
_WEEKDAY = re.compile(r"(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)[a-z]*\.?,? (?=[\da-z])")
_MIDNIGHT = re.compile(r"[t ]00:00(?::00(?:\.0+)?)?(?:z|\+00:00)?$")
_ISO = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})$")
_YEAR_SECOND = re.compile(
    r"(?:from |(between ))?(\d{4})(?(1) and |(?:[-/]| to | through | until | till ))(\d{2}|\d{4})$"
)
_MONTH_YEAR = re.compile(r"(\d{1,2})[-/](\d{4})$")
_DAY_FIRST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})$")
_HAN = re.compile(r"(\d{4})年(\d{1,2})月(?:(\d{1,2})日)?$")
_QUARTER_NAME = (
    r"(?:the )?(?:q([1-4])|([1-4])q|quarter ([1-4])"
    r"|(first|second|third|fourth|1st|2nd|3rd|4th) quarter)"
)
_QUARTER = re.compile(
    rf"(?:(\d{{4}})[ -/]?,? ?)?{_QUARTER_NAME}"
    r"(?:(?:,|[-/]| of| in)? ?(?:fy|fiscal )?(\d{4}|'?\d\d))?$"
)
_SINCE = re.compile(
    r"(?:since|from) (\d{4})(?: on| onwards?)?$"
    r"|(\d{4})(?:-| to )(?:present|now|date|today|current)?$"
)
_DAYS = re.compile(r"(?<![\d./-])(\d{1,2})-(\d{1,2})(?![\d./-])")
_CLOCK = re.compile(
    r"(?:(?P<day>.*?[^\W_])(?:, ?| (?:at )?|(?<=\d)t))?"
    r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?(?::(?P<second>\d\d))?"
    r"(?: ?(?P<half>[ap])\.?m)?$"
)
_NAMED = re.compile(
    rf"(?:the )?(?:(?P<first>'?\d{{1,4}})(?:st|nd|rd|th)?(?: day)?(?: of|,|\.)?[ -]?)?"
    rf"\b(?P<month>{ANY_MONTH})\b\.?,?"
    rf"(?:[ -]?(?:the )?(?P<second>'?\d{{1,4}})(?:st|nd|rd|th)?)?"
    rf"(?:(?:,| of|-| )[ ]?(?:in )?(?P<third>'?\d{{2,4}}))?$"
)
_NAMED_INSIDE = re.compile(
    rf"\b(?:(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?: of)?[ -])?"
    rf"(?P<month>{ANY_MONTH})\b\.?,?"
    rf"(?:[ -](?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?(?:(?: ?,? |-)(?:of )?(?P<year>\d{{4}})\b)?"
)
_NUMERIC_INSIDE = re.compile(r"(?<![\w./-])\d{1,4}([-/.])\d{1,2}(?:\1\d{1,4})?(?![\w/-]|\.\d)")


def parse_date(text: str) -> tuple[str, ...]:
    """Every ISO reading of a cell that is a date and nothing else; empty where it is none.

    One reading: ``2021-03-04``; also partial: ``2021-03``, ``2021-q3``, ``--03-04`` (no year
    stated), ``2006/2007`` (a season or span of years). A lone year is a number.
    Several readings where writers differ: ``03/04/2021`` can be the third of April or the
    fourth of March, ``04/03/21`` any century, ``2006-07`` a month or a season. Dots are
    day first everywhere.
    """
    return parse_clean_date(clean(text))


def parse_clean_date(text: str) -> tuple[str, ...]:
    """:func:`parse_date` of a text that :func:`~tablemend.values.text.clean` has made."""
    if not 4 <= len(text) <= 40 or not _DIGIT.search(text) or text.isdigit():
        return ()
    text = text.casefold().strip(" .,").replace(" ,", ",")
    if weekday := _WEEKDAY.match(text):
        text = text[weekday.end() :]
    if "00:00" in text:
        text = _MIDNIGHT.sub("", text)
    readings = tuple(dict.fromkeys(_numeric(text)))
    return readings or tuple(dict.fromkeys(_named(text)))


def parse_clean_time(text: str) -> tuple[str, ...]:
    """Every reading of a cell that is a time, but no date alone.

    A clock time, a date with one, a quarter of no year, days of a month, or years without end:
    ``14:30``, ``2021-03-04t14:30``, ``--q1``, ``2021-03-04/12``, ``2015/now``.
    """
    if len(text) > 40:
        return ()
    text = text.casefold().strip(" .,")
    if match := _QUARTER.match(text):
        return tuple(filter(None, [_quarter(match, yearless=True)]))
    if match := _SINCE.match(text):
        return (f"{match[1] or match[2]}/now",)
    if match := _DAYS.search(text):
        first, last = match.groups()
        start = parse_clean_date(text[: match.start(2) - 1] + text[match.end() :])
        return tuple(f"{day}/{last}" for day in start if int(first) < int(last) <= 31)
    match = _CLOCK.match(text)
    if not match or not (match["minute"] or match["half"]):
        return ()
    hour, half = int(match["hour"]), match["half"]
    if hour > (12 if half else 24) or int(match["minute"] or 0) > 59:
        return ()
    if half:
        hour = hour % 12 + 12 * (half == "p")
    second = match["second"] or "00"
    clock = f"{hour:02d}:{match['minute'] or '00'}" + (f":{second}" if second != "00" else "")
    if match["day"] is None:
        return (clock,)
    return tuple(f"{date}t{clock}" for date in parse_clean_date(match["day"]))


def split_dates(text: str) -> tuple[list[tuple[str, ...]], str]:
    """The ISO readings of every date in a running text, and the text without them."""
    folded = clean(text).casefold().replace(" ,", ",")
    stated = find_dates(folded)
    rest, position = [], 0
    for date in sorted(stated, key=lambda date: date.start):
        rest += [folded[position : date.start], " "]
        position = date.end
    return [date.readings for date in stated], "".join(rest) + folded[position:]


class StatedDate(NamedTuple):
    """A date in a running text: every ISO reading, and where it stands."""

    readings: tuple[str, ...]
    start: int
    end: int


def find_dates(text: str) -> list[StatedDate]:
    """Every date in a text in plain spelling and small letters: named months first."""
    found: list[StatedDate] = []

    def take(match: re.Match[str]) -> str:
        readings = parse_clean_date(match[0].strip(" ,"))
        if not readings:
            return match[0]
        found.append(StatedDate(readings, *match.span()))
        return "\0" * len(match[0])

    _NUMERIC_INSIDE.sub(take, _NAMED_INSIDE.sub(take, text))
    return found


def same_date(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two dates can be the same: one shared reading is enough (never a guess)."""
    return not set(one).isdisjoint(other)


def covers_date(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one date is a coarser spelling of the other: ``2021-03`` of ``2021-03-04``."""
    return any(_coarser(a, b) or _coarser(b, a) for a, b in product(one, other))


def _coarser(coarse: str, fine: str) -> bool:
    if coarse.startswith("--"):
        return not fine.startswith("--") and fine[4:] == coarse[1:]
    return fine.startswith((coarse + "-", coarse + "t"))


def _numeric(text: str) -> Iterator[str]:
    if match := _ISO.match(text):
        yield from _full(match[1], match[3], match[4])
    elif match := _YEAR_SECOND.match(text):
        year, second = int(match[2]), match[3]
        if len(second) == 4:
            if int(second) > year:
                yield f"{year}/{second}"
        else:
            if 1 <= int(second) <= 12:
                yield f"{year}-{second}"
            last = year - year % 100 + int(second)
            last += 100 if int(second) == 0 and year % 100 == 99 else 0
            if last > year:
                yield f"{year}/{last}"
    elif match := _MONTH_YEAR.match(text):
        if 1 <= int(match[1]) <= 12:
            yield f"{match[2]}-{int(match[1]):02d}"
    elif match := _DAY_FIRST.match(text):
        for full_year in _years(match[4]):
            yield from _full(full_year, match[3], match[1])
            if match[2] != ".":
                yield from _full(full_year, match[1], match[3])
    elif match := _HAN.match(text):
        if match[3]:
            yield from _full(match[1], match[2], match[3])
        elif 1 <= int(match[2]) <= 12:
            yield f"{match[1]}-{int(match[2]):02d}"


def _named(text: str) -> Iterator[str]:
    if match := _QUARTER.match(text):
        if quarter := _quarter(match, yearless=False):
            yield quarter
        return
    match = _NAMED.match(text)
    if not match:
        return
    month = str(MONTH_NUMBERS[match["month"]])
    first, second, third = match["first"], match["second"], match["third"]
    if first and second and third:
        return
    numbers = [number for number in (first, second, third) if number]
    if len(numbers) == 2:
        for day, year in (numbers, reversed(numbers)):
            if len(day) <= 2 and (len(year) == 4 or (len(year) == 2 and year is not first)):
                for full_year in _years(year):
                    yield from _full(full_year, month, day)
    elif len(numbers) == 1:
        (number,) = numbers  # "March 2021", "4 March", and "Mar-21", which can be either
        if len(number) == 4:
            yield f"{number}-{int(month):02d}"
            return
        if number.startswith("'") or ("-" in text and len(number) == 2):
            for year in _years(number):
                yield f"{year}-{int(month):02d}"
        if number.isdigit() and len(number) <= 2 and 1 <= int(number) <= _LENGTHS[int(month)]:
            yield f"--{int(month):02d}-{int(number):02d}"


def _quarter(match: re.Match[str], yearless: bool) -> str:
    """``2021-q1``; ``--q1`` where no year is stated; empty for the one that is not asked for."""
    before, *names, after = match.groups()
    if (before and after) or bool(before or after) == yearless:
        return ""
    name = next(filter(None, names))
    year = _years(before or after)[0] if before or after else "-"
    return f"{year}-q{_QUARTER_WORDS.get(name) or name[0]}"


def _years(digits: str) -> tuple[str, ...]:
    digits = digits.lstrip("'")
    return (digits,) if len(digits) == 4 else ("20" + digits, "19" + digits)


def _full(year: str, month: str, day: str) -> Iterator[str]:
    if 1 <= int(month) <= 12 and 1 <= int(day) <= _LENGTHS[int(month)] and int(year) > 0:
        yield f"{year}-{int(month):02d}-{int(day):02d}"


# ---- periods as tables call them

Grain = Literal["year", "season", "quarter", "month", "day", "date"]
"""``date`` is a day whose year is not stated; which of two comes first is open then."""

MONTH_NAMES = [name.capitalize() for name in MONTHS]
_YEAR = re.compile(r"(?:(FY|fiscal year|fiscal)\s?)?((?:1[6-9]|20)\d\d)", re.I)
_QUARTER_ORDINALS = ("first", "second", "third", "fourth")


_MONTHS_LONG = {"three": 3, "six": 6, "nine": 9}
_PART = re.compile(
    r"\b(?:(?P<year>\d{4})[ -]?(?P<half_behind>h[12])\b"
    r"|(?P<fiscal>(?:fy|fiscal year|fiscal) ?'?)(?P<short>\d\d)(?![\d.,:/%])"
    r"|(?:(?P<half>h[12])|(?P<which>first|second|1st|2nd)[ -]half"
    r"|(?P<first>first )?(?P<months>three|six|nine|[369])(?:[ -]months?|m))\b"
    r"(?:(?:,? of| in| to|,| end(?:ed|ing)(?: (?:[a-z]+ \d{1,2}|\d{1,2} [a-z]+),?)?)?"
    r" ?(?:the )?(?:fiscal |fy ?)?(?:year )?(?:(?P<after>\d{4})\b|'(?P<after_short>\d\d)\b))?)"
)


class PartOfYear(NamedTuple):
    """A half or several months of a year, or a fiscal year in two digits: ``2023-h1``, ``2023``."""

    start: int
    end: int
    reading: str


def find_parts(text: str) -> list[PartOfYear]:
    """Every part of a year in a text in small letters: "H1 2023", "first nine months of 2023".

    Without a year ``h1`` and ``9m``, the months only as the first of one.
    """
    found = []
    for match in _PART.finditer(text):
        short = match["short"] or match["after_short"]
        year = match["year"] or match["after"] or (f"20{short}" if short else "")
        half, months = match["half"] or match["half_behind"], match["months"]
        if match["which"]:
            half = f"h{1 if match['which'] in ('first', '1st') else 2}"
        if months:
            half = f"{_MONTHS_LONG.get(months, months)}m"
        if not months or year or match["first"]:
            reading = "-".join(part for part in (year, half) if part)
            found.append(PartOfYear(match.start(), match.end(), reading))
    return found


class Period(NamedTuple):
    """A stretch of time with a name.

    Attributes:
        grain: how long it is.
        order: sorts periods of one grain; for a year, season, quarter and month consecutive
            ones are one apart.
        iso: one spelling for all: ``2021``, ``2021/2022``, ``2021-q3``, ``2021-03``,
            ``2021-03-04``, ``--03-04``.
        text: as the table has it.
    """

    grain: Grain
    order: int
    iso: str
    text: str


@lru_cache(maxsize=1 << 14)
def read_period(text: str) -> Period | None:
    """The period that a cell or header names and nothing else; ``None`` where it is in doubt."""
    text = " ".join(text.split())
    if match := _YEAR.fullmatch(text):
        return Period("year", int(match[2]), match[2], text)
    readings = parse_date(text)
    if len(readings) != 1:
        return None
    iso = readings[0]
    if iso.startswith("--"):
        return Period("date", 31 * (int(iso[2:4]) - 1) + int(iso[5:]) - 1, iso, text)
    year = int(iso[:4])
    if "/" in iso:
        last = int(iso[5:])
        return Period("season", year, iso, text) if last == year + 1 else None
    if "q" in iso:
        return Period("quarter", 4 * year + int(iso[-1]) - 1, iso, text)
    if len(iso) == 7:
        return Period("month", 12 * year + int(iso[5:]) - 1, iso, text)
    return Period("day", 372 * year + 31 * (int(iso[5:7]) - 1) + int(iso[8:]) - 1, iso, text)


def spellings(period: Period) -> list[str]:
    """Usual spellings of a quarter, month or day; of a longer period the table's own."""
    year = period.iso[:4]
    if period.grain == "quarter":
        number = int(period.iso[-1])
        ordinal = _QUARTER_ORDINALS[number - 1]
        return [f"Q{number} {year}", f"the {ordinal} quarter of {year}"]
    if period.grain == "month":
        month = MONTH_NAMES[int(period.iso[5:]) - 1]
        return [f"{month} {year}"] if month == "May" else [f"{month} {year}", f"{month[:3]} {year}"]
    if period.grain == "date":
        month, day = MONTH_NAMES[int(period.iso[2:4]) - 1], int(period.iso[5:])
        return [f"{month} {day}", f"{day} {month}"]
    if period.grain == "day":
        month, day = MONTH_NAMES[int(period.iso[5:7]) - 1], int(period.iso[8:])
        return [f"{day} {month} {year}", f"{month} {day}, {year}", period.iso]
    return [period.text]


def spell_like(period: Period, model: Period) -> str:
    """A period in the spelling of another one, as far as that is one of ours; its own else."""
    for own, other in zip(spellings(model), spellings(period), strict=False):
        if own == model.text:
            return other
    return period.text
