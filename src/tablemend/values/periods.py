"""Years, quarters, months and days as rows and columns of tables are called by them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from tablemend.values import dates
from tablemend.values.dates import parse_date

Grain = Literal["year", "season", "quarter", "month", "day", "date"]
"""``date`` is a day whose year is not stated; which of two comes first is open then."""

MONTHS = [name.capitalize() for name in dates.MONTHS]
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
        month = MONTHS[int(period.iso[5:]) - 1]
        return [f"{month} {year}"] if month == "May" else [f"{month} {year}", f"{month[:3]} {year}"]
    if period.grain == "date":
        month, day = MONTHS[int(period.iso[2:4]) - 1], int(period.iso[5:])
        return [f"{month} {day}", f"{day} {month}"]
    if period.grain == "day":
        month, day = MONTHS[int(period.iso[5:7]) - 1], int(period.iso[8:])
        return [f"{day} {month} {year}", f"{month} {day}, {year}", period.iso]
    return [period.text]


def spell_like(period: Period, model: Period) -> str:
    """A period in the spelling of another one, as far as that is one of ours; its own else."""
    for own, other in zip(spellings(model), spellings(period), strict=False):
        if own == model.text:
            return other
    return period.text
