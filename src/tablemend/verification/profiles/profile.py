"""An info box as a reader takes it: one thing, its attributes, and the values of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

from tablemend.evidence.grid import Grid
from tablemend.records import Evidence
from tablemend.values.text import clean, strip_accents, tokens_of
from tablemend.verification.lexicon import LITTLE_WORDS, stem
from tablemend.verification.profiles.periods import Period, find_periods

_FEWEST = 3  # attributes
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_WORD = re.compile(r"[^\W_]+(?:['.-][^\W_]+)*")
_ROOT = 4  # letters that two forms of a word share at least
_SHORT = 5  # words of a value in a list that commas separate
_AGE = re.compile(r"\bage[ds]?\s*:?\s*(\d{1,3})\b", re.I)
_AGO = re.compile(r"\b(\d{1,4}) years ago\b", re.I)
_LAST_YEAR = 9000
_OPEN = re.compile(r"\b(?:present|now|current|ongoing|today|to date)\b", re.I)
_NAMING = re.compile(
    r"^(?:title|name|full name|birth name|born name|other names?|also known as|also called"
    r"|nickname|acronym|abbreviation|stage name|alias|official name|native name)\b"
)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute.

    Attributes:
        header: its name in small letters, without brackets.
        text: its values as written.
        row, column: the cell.
    """

    header: str
    text: str
    row: int
    column: int

    @property
    def values(self) -> tuple[str, ...]:
        """Its values: by semicolons or lines; else by commas, where every piece is short."""
        return self._split(";\n" if re.search(r"[;\n]", self.text) else ",")

    @property
    def counts(self) -> range:
        """How many values it can be said to have, by coarse or by fine separation."""
        coarse, fine = len(self.values), len(self._split(";\n,"))
        if any(re.search(r"\band\b|&|/", value) for value in self.values):
            fine += sum(len(re.findall(r"\band\b|&|/", value)) for value in self.values)
        return range(min(coarse, fine), max(coarse, fine) + 1)

    def _split(self, separators: str) -> tuple[str, ...]:
        bare = _BRACKETS.sub("", self.text)
        pieces = [piece.strip() for piece in re.split(f"[{separators}]", bare) if piece.strip()]
        if separators == "," and any(len(piece.split()) > _SHORT for piece in pieces):
            return (bare.strip(),)
        return tuple(pieces)


class Profile:
    """One thing and its attributes.

    Args:
        grid: a table of one row, or a list of attributes.
        attributes: in the order of the table.
    """

    def __init__(self, grid: Grid, attributes: tuple[Attribute, ...]) -> None:
        self.grid = grid
        self.attributes = attributes

    @classmethod
    def of(cls, grid: Grid) -> Profile | None:
        """The profile that a table is; ``None`` for a table of several things."""
        columns = grid.columns
        if len(grid.lines) == 1 and len(columns) > _FEWEST:
            row = grid.lines[0].index
            cells = [(column.header, row, column.index) for column in columns]
        elif grid.key_value and len(columns) == 2 and len(grid.lines) >= _FEWEST:
            cells = [(line.header, line.index, columns[1].index) for line in grid.lines]
        else:
            return None
        attributes = tuple(
            Attribute(_BRACKETS.sub("", plain(header)).strip(), text, row, column)
            for header, row, column in cells
            if (text := grid.cell(row, column).strip())
        )
        headers = [attribute.header for attribute in attributes]
        if len(set(headers)) < len(headers):
            return None  # a table of sections: several things
        figures = sum(grid.value(a.row, a.column).number is not None for a in attributes)
        if len(attributes) - figures < max(_FEWEST, len(attributes) // 3):
            return None  # figures of one row, which are looked up as those of any table
        return cls(grid, attributes)

    def find(self, pattern: re.Pattern[str]) -> Attribute | None:
        """The first attribute whose name a pattern matches at its beginning."""
        return next((a for a in self.attributes if pattern.match(a.header)), None)

    def evidence(self, attribute: Attribute) -> Evidence:
        """The cell as evidence."""
        return self.grid.evidence(attribute.row, attribute.column)

    @cached_property
    def names(self) -> frozenset[str]:
        """Words of all names of the thing."""
        texts = [a.text for a in self.attributes if _NAMING.match(a.header)]
        if self.attributes and len(self.grid.lines) > 1:
            texts.append(self.attributes[0].text)  # a list begins with whom it is about
        if self.attributes and len(self.grid.lines) == 1:
            texts.append(self.grid.cell(self.grid.lines[0].index, self.grid.key))
        texts.append(self.grid.table.title)
        return frozenset(word for text in texts for word in stems(text))

    def resembles(self, word: str) -> bool:
        """Whether a word of the info box begins as another does: "Hindus" and "Hinduism"."""
        size = max(_ROOT, len(word) - 2)
        return len(word) >= _ROOT and any(
            own[:size] == word[:size] and len(own) >= len(word) - 1 for own in self._words
        )

    def has(self, word: str) -> bool:
        """Whether a word, in stems, stands anywhere in the info box."""
        return word in self._stems

    @cached_property
    def _stems(self) -> frozenset[str]:
        texts = [self.grid.table.title, *(f"{a.header} {a.text}" for a in self.attributes)]
        return frozenset(word for text in texts for word in stems(text))

    @cached_property
    def _words(self) -> frozenset[str]:
        texts = [self.grid.table.title, *(f"{a.header} {a.text}" for a in self.attributes)]
        return frozenset(word for text in texts for word in _WORD.findall(plain(text)))

    @cached_property
    def latest(self) -> Period | None:
        """The last day that the info box tells of."""
        found = [period for a in self.attributes for _, _, period in find_periods(a.text)]
        return max(found, key=lambda period: period.first, default=None)

    @cached_property
    def today(self) -> Period | None:
        """The time that the info box was written at, where an age in it tells."""
        for attribute in self.attributes:
            periods = find_periods(attribute.text)
            if not periods:
                continue
            age = None
            if attribute.header.startswith(("born", "birth")):
                age = _AGE.search(attribute.text)
            age = age or _AGO.search(attribute.text)
            if age is None:
                continue
            day = periods[0][2]
            if day.first.year + int(age[1]) < _LAST_YEAR:
                first = _birthday(day, int(age[1]))
                return Period(first, first + timedelta(days=365))
        return None

    def period(self, attribute: Attribute) -> tuple[Period, Period | None] | None:
        """When something began and when it ended: ``None`` for an end where it goes on."""
        found = [period for _, _, period in find_periods(attribute.text)]
        if not found:
            return None
        return found[0], None if _OPEN.search(attribute.text) else found[-1]


def plain(text: str) -> str:
    """Small letters without accents."""
    return strip_accents(clean(text)).casefold()


def stems(text: str) -> tuple[str, ...]:
    """The words of a text, in the form in which they are compared, without little ones."""
    words = tokens_of(plain(text)).words
    return tuple(stem(word) for word in words if word not in LITTLE_WORDS)


def _birthday(day: Period, years: int) -> date:
    """The day some years later; the first of March for the leap day."""
    born = day.first
    try:
        return born.replace(year=born.year + years)
    except ValueError:
        return date(born.year + years, 3, 1)
