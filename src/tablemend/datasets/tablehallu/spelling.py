"""How the cells of a column write a place on a line: years, months, days, numbers."""

from __future__ import annotations

import re
from datetime import date
from typing import Protocol

from tablemend.datasets.tablehallu.columns import MONTHS, read_date, read_number
from tablemend.datasets.tablehallu.distractors import write_number

YEAR = re.compile(r"(?<!\d)(?:1[0-9]|20)\d\d(?!\d)")
_SEASON = re.compile(r"(?<!\d)((?:1[0-9]|20)\d\d)([-/\u2013])(\d\d(?:\d\d)?)(?!\d)")
_ISO_CELL = re.compile(r"\d{4}( ?- ?)\d{2}( ?- ?)\d{2}")
_MONTH_YEAR = re.compile(r"([A-Za-z]{3,9})(\.?,? )(\d{4})")
_PART = re.compile(r"[A-Za-z]+|\d+")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")


class Spelling(Protocol):
    """How the cells of a column write a place on a line."""

    def read(self, cell: str) -> float | None:
        """The place; ``None`` for a cell written in another way."""
        ...

    def write(self, place: float, like: str) -> str | None:
        """The place written as a cell is; ``None`` where that cannot be done."""
        ...


class Years:
    """Cells with one year in them: ``2019``, ``FY2019``, ``Spring 2019``, ``2019-20``."""

    def read(self, cell: str) -> float | None:
        """The year, the first one of a season."""
        season = _SEASON.search(cell)
        years = YEAR.findall(cell)
        if season and len(years) <= (2 if len(season[3]) == 4 else 1):
            return float(season[1])
        return float(years[0]) if len(years) == 1 else None

    def write(self, place: float, like: str) -> str | None:
        """The cell with another year in it."""
        year = int(place)
        if season := _SEASON.search(like):
            second = year + int(season[3]) - int(season[1])
            if len(season[3]) == 2:
                second = year + (int(season[3]) - int(season[1])) % 100
            digits = str(second)[-len(season[3]) :]
            text = f"{year}{season[2]}{digits}"
            return like[: season.start()] + text + like[season.end() :]
        written = YEAR.sub(str(year), like, count=1)
        no_day = read_date(like) is not None and read_date(written) is None  # 29 February
        return None if no_day else written


class Months:
    """Cells with a month and its year: ``March 2019``. A place is a count of months."""

    def read(self, cell: str) -> float | None:
        """Months since the year 0."""
        match = _MONTH_YEAR.fullmatch(cell)
        number = None if match is None else _month_number(match[1])
        return None if match is None or number is None else int(match[3]) * 12.0 + number

    def write(self, place: float, like: str) -> str | None:
        """In full where the cell has it in full, else in three letters."""
        match = _MONTH_YEAR.fullmatch(like)
        if match is None:
            return None
        year, month = divmod(int(place), 12)
        return f"{_month_like(month, match[1])}{match[2]}{year}"


class Days:
    """Cells with a whole date. A place is the day's ordinal."""

    def read(self, cell: str) -> float | None:
        """The ordinal."""
        return read_date(cell)

    def write(self, place: float, like: str) -> str | None:
        """With the day, the month and the year in place of the cell's."""
        new = date.fromordinal(int(place))
        if iso := _ISO_CELL.fullmatch(like):
            return f"{new.year}{iso[1]}{new.month:02}{iso[2]}{new.day:02}"

        def change(match: re.Match[str]) -> str:
            word = match[0]
            if word.isalpha():
                return _month_like(new.month - 1, word) if _month_number(word) is not None else word
            if len(word) == 4:
                return str(new.year)
            return f"{new.day:02}" if word.startswith("0") else str(new.day)

        written = _PART.sub(change, _ORDINAL.sub("", like))
        return written if read_date(written) == place else None


def _month_number(name: str) -> int | None:
    """Of a name in full, or of its first letters; January is 0."""
    start = name.capitalize()
    found = [n for n, month in enumerate(MONTHS) if month.startswith(start) and len(name) > 2]
    return found[0] if len(found) == 1 else (8 if start == "Sept" else None)


def _month_like(month: int, like: str) -> str:
    """In full or in three letters, and in the same case."""
    name = MONTHS[month] if len(like) > 4 or like.capitalize() in MONTHS else MONTHS[month][:3]
    return name.lower() if like.islower() else name.upper() if like.isupper() else name


class Numbers:
    """Cells with a number; all of a column have the same unit."""

    def read(self, cell: str) -> float | None:
        """The number, without its unit."""
        number = read_number(cell)
        return None if number is None else number[0]

    def write(self, place: float, like: str) -> str | None:
        """With the cell's unit, separators and decimals; a sign stays what it is."""
        number = self.read(like)
        if number is None or (place < 0) != (number < 0):
            return None
        return write_number(like, abs(place))
