"""The tables of a source, indexed once by what their cells and headers say.

Built in one pass over the cells, kept for the latest sources; every later look-up costs what it
finds, not what the table holds.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import NamedTuple

from tablemend.evidence.grid import Grid
from tablemend.values.dates import (
    MONTH_NUMBERS,
    MONTHS,
    WEEKDAYS,
    find_dates,
    find_parts,
    parse_date,
)
from tablemend.values.numbers import find_quantities
from tablemend.values.text import PlacedToken, Span, align, clean, tokens_of
from tablemend.verifier.lexicon import LITTLE_WORDS, header_terms, stem, terms
from tablemend.verifier.reading import Reading, clock_of

_LONGEST_NAME = 12  # words
_COMMON = 60  # a word in more cells than this names none of them
_SHORT_CELL = 120  # characters; a longer cell is prose and is searched by words only
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_QUARTER = re.compile(r"\bq([1-4])\b")
_CLOCK = re.compile(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?!\d)")
_LETTERS = re.compile(r"[a-z]+")
_SHORT = 5  # letters: "thurs", "sept"
_DAY_READINGS = {
    form: day
    for day in sorted(WEEKDAYS)
    for form in (day, day[:3], {"tue": "tues", "wed": "weds", "thu": "thurs"}.get(day[:3], day))
} | {"thur": "thursday"}
_MONTH_READINGS = {form: f"--{number:02d}" for form, number in MONTH_NUMBERS.items()}
_DIGIT = re.compile(r"[0-9]")
_SHORT_MONTHS = "|".join(name[:3] for name in MONTHS)
_YEAR_FIRST = re.compile(rf"\b(\d{{4}}),? (?:({_SHORT_MONTHS})[a-z]*|q([1-4]))\b")


class Place(NamedTuple):
    """A cell: the grid's number, row and column."""

    grid: int
    row: int
    column: int


class Heading(NamedTuple):
    """What a name stands over: a column, or a row where rows are attributes; -1 for the other."""

    grid: int
    row: int
    column: int


class Index:
    """All grids of a source."""

    def __init__(self, grids: tuple[Grid, ...]) -> None:
        self.grids = grids
        self.phrases: dict[tuple[str, ...], list[Place]] = {}
        self.longest: dict[str, int] = {}
        self.words: dict[str, list[tuple[Place, int]]] = defaultdict(list)
        self.acronyms: dict[str, list[Place]] = defaultdict(list)
        self.dates: dict[str, list[Place]] = defaultdict(list)
        self.header_dates: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.headings: dict[str, list[Heading]] = defaultdict(list)
        self.terms: dict[Heading, frozenset[str]] = {}
        self.naming: list[frozenset[int]] = []
        self.caption: set[str] = set()
        self.cased = False
        self.header_terms: set[str] = set()
        self.header_phrases: dict[tuple[str, ...], list[Heading]] = defaultdict(list)
        self.longest_header: dict[str, int] = {}
        self._sequences: dict[Place, tuple[str, ...]] = {}
        self._sizes: list[float] = []
        for grid in grids:
            self._add_headers(grid)
            self.caption.update(cell_words(grid.caption))
            self.naming.append(frozenset(self._add_cells(grid)))
        self._sizes.sort()

    @cached_property
    def known(self) -> frozenset[str]:
        """All words of text cells and captions."""
        return frozenset(self.words) | self.caption

    def numbers_between(self, low: Decimal, high: Decimal) -> list[float]:
        """The absolute values of numbers in cells that lie in a closed range."""
        first = bisect_left(self._sizes, float(low) - 1e-9 * abs(float(low)))
        last = bisect_right(self._sizes, float(high) + 1e-9 * abs(float(high)))
        return self._sizes[first:last]

    def sequence(self, place: Place) -> tuple[str, ...]:
        """The words of a text cell, as the index spells them."""
        return self._sequences.get(place, ())

    def names(self, words: tuple[str, ...], start: int) -> tuple[int, list[Place], bool]:
        """The longest run of words from ``start`` on that stands in cells.

        Returns:
            How many words it has (0: none), the cells, and whether it is all that they say.
        """
        first = words[start]
        for size in range(min(self.longest.get(first, 0), len(words) - start), 0, -1):
            found = self.phrases.get(words[start : start + size])
            if found:
                return size, found, True
        postings = self.words.get(first)
        if not postings or len(postings) > _COMMON:
            return 0, [], False
        size = 1
        while start + size < len(words):
            longer = [
                (place, at)
                for place, at in postings
                if self._sequences[place][at + size : at + size + 1] == (words[start + size],)
            ]
            if not longer:
                break
            postings, size = longer, size + 1
        return size, list(dict.fromkeys(place for place, _ in postings)), False

    @cached_property
    def period_sorts(self) -> frozenset[str]:
        """The sorts of periods that the tables state."""
        return frozenset(map(sort_of_period, (*self.dates, *self.header_dates)))

    def _add_headers(self, grid: Grid) -> None:
        named = [(Heading(grid.number, -1, c.index), c.header) for c in grid.columns]
        self._add_terms(named)
        if grid.transposed:
            self._add_terms([(Heading(grid.number, n.index, -1), n.header) for n in grid.lines])
        for heading, header in named:
            for name in {header, *grid.columns[heading.column].path}:
                self._add_phrase(heading, name)
            for reading in _periods(header):
                self.header_dates[reading].append((grid.number, heading.column))
        for heading, reading in _calendar(named):
            if (grid.number, heading.column) not in self.header_dates[reading]:
                self.header_dates[reading].append((grid.number, heading.column))

    def _add_phrase(self, heading: Heading, name: str) -> None:
        """File a whole header of several words, or with a digit, word by word."""
        phrase = cell_words(_BRACKETS.sub("", name) or name)
        digits = any(character.isdigit() for character in name)
        if not (2 <= len(phrase) <= _LONGEST_NAME or (digits and len(phrase) == 1)):
            return
        if all(word.isdigit() for word in phrase):
            return
        if heading not in self.header_phrases[phrase]:
            self.header_phrases[phrase].append(heading)
        self.longest_header[phrase[0]] = max(self.longest_header.get(phrase[0], 0), len(phrase))

    def _add_terms(self, named: list[tuple[Heading, str]]) -> None:
        """File headings under their terms, without those that nearly all of them share."""
        said = [frozenset(header_terms(name)) for _, name in named]
        shared = Counter(term for own in said for term in own)
        common = {
            term for term, count in shared.items() if len(said) >= 4 and count > len(said) * 0.6
        }
        for (heading, _), every in zip(named, said, strict=True):
            self.terms[heading] = every - common or every
            self.header_terms |= every
            for term in self.terms[heading]:
                self.headings[term].append(heading)

    def _add_cells(self, grid: Grid) -> Iterator[int]:
        body = [line.index for line in grid.lines]
        for column in range(len(grid.columns)):
            seen: dict[str, int] = defaultdict(int)
            texts = filled = 0
            dated: list[tuple[Place, str]] = []
            for row in body:
                value = grid.value(row, column)
                if value.blank:
                    continue
                filled += 1
                place = Place(grid.number, row, column)
                if value.number is not None and not value.number.bound:
                    number = value.number
                    self._sizes.append(abs(float(number.value)))
                    plain_number = not number.decimals and not any(number.unit[1:])
                    if plain_number and 1500 <= number.value <= 2100:
                        dated.append((place, str(number.value)))
                    continue
                cell = grid.cell(row, column)
                for reading in value.dates:
                    self.dates[reading].append(place)
                if value.dates:
                    self._add_coarser(value.dates, place)
                    continue
                texts += 1
                seen[value.text] += 1
                self._add_text(cell, place)
            if grid.key_value or 2 * len(dated) >= filled:
                for place, year in dated:
                    self.dates[year].append(place)
            once = sum(count == 1 for count in seen.values())
            if column == grid.key or (texts and 2 * texts >= len(body) and 5 * once >= 4 * texts):
                yield column

    def _add_coarser(self, readings: tuple[str, ...], place: Place) -> None:
        """File a date under its month and year as well."""
        coarse = set()
        for reading in readings:
            if reading[:4].isdigit():
                coarse.add(reading[:4])
                if len(reading) == 10:
                    coarse |= {reading[:7], f"-{reading[4:]}", f"-{reading[4:7]}"}
                elif len(reading) == 7 and "q" in reading:
                    coarse.add(reading[5:])
                elif len(reading) == 7:
                    coarse.add(f"-{reading[4:]}")
        for reading in coarse:
            self.dates[reading].append(place)

    def _add_text(self, cell: str, place: Place) -> None:
        short = len(cell) <= _SHORT_CELL
        named = cell.strip().casefold()
        if named in WEEKDAYS:
            self.dates[named].append(place)
        elif period := _MONTH_READINGS.get(named) or clock_of(named):
            self.dates[period].append(place)
        sequence = cell_words(cell if len(cell) <= 2000 else cell[:2000])
        if not sequence:
            return
        self._sequences[place] = sequence
        self.cased = self.cased or not cell.islower()
        for form in {sequence, cell_words(_BRACKETS.sub("", cell)) if short else sequence}:
            if form and len(form) <= _LONGEST_NAME:
                self.phrases.setdefault(form, []).append(place)
                self.longest[form[0]] = max(self.longest.get(form[0], 0), len(form))
        for at, word in enumerate(sequence):
            if len(word) > 1 and word not in LITTLE_WORDS:
                self.words[word].append((place, at))
        if short:
            letters = "".join(word[0] for word in sequence if word not in LITTLE_WORDS)
            if 2 <= len(letters) <= 6 and cell[:1].isupper():
                self.acronyms[letters].append(place)
            plain = clean(cell).casefold()
            if any(character.isdigit() for character in plain):
                for year, month, quarter in _YEAR_FIRST.findall(plain):
                    period = (
                        f"{year}-q{quarter}" if quarter else f"{year}-{MONTH_NUMBERS[month]:02d}"
                    )
                    self.dates[period].append(place)
                    self._add_coarser((period,), place)
                for date in find_dates(plain):
                    for reading in date.readings:
                        self.dates[reading].append(place)
                    self._add_coarser(date.readings, place)
                    blank = "\0" * (date.end - date.start)
                    plain = plain[: date.start] + blank + plain[date.end :]
                for stated in find_quantities(plain):
                    self._sizes.append(abs(float(stated.number.value)))
                for year in set(_YEAR.findall(plain)):
                    self.dates[year].append(place)
                for hour, minute in set(_CLOCK.findall(plain)):
                    self.dates[f"{int(hour):02d}:{minute}"].append(place)


@lru_cache(maxsize=64)
def index_grids(grids: tuple[Grid, ...]) -> Index:
    """The index of a source's grids, built once."""
    return Index(grids)


@lru_cache(maxsize=1 << 14)
def cell_words(cell: str) -> tuple[str, ...]:
    """The words of a cell, each in one form."""
    return tuple(stem(word) for word in tokens_of(cell).words)


@lru_cache(maxsize=1 << 12)
def sort_of_period(reading: str) -> str:
    """The form of a date, month, year or time, whichever it is: ``0000-00`` of 2020-07."""
    return _DIGIT.sub("0", reading)


def _periods(header: str) -> tuple[str, ...]:
    """Years, quarters, months and dates that a header states."""
    text = align(clean(header)).casefold()
    found = list(parse_date(header))
    for date in find_dates(text):
        found += date.readings
    found += [
        f"-{reading[4:]}" for reading in found if reading[:4].isdigit() and reading[5:7].isdigit()
    ]
    found += [reading[:4] for reading in found if reading[:4].isdigit()]
    years = _YEAR.findall(text)
    found += years
    for part in find_parts(text):
        found += [part.reading, *part.reading.split("-")]
    for quarter in _QUARTER.findall(text):
        found.append(f"q{quarter}")
        found += [f"{year}-q{quarter}" for year in years]
    return tuple(dict.fromkeys(found))


def _calendar(named: list[tuple[Heading, str]]) -> Iterator[tuple[Heading, str]]:
    """The weekdays and months that headers name, with how a text's are read.

    A short form counts only beside another one of its sort: "Mon" and "Tue", not "Sun" alone.
    """
    for sort in (_DAY_READINGS, _MONTH_READINGS):
        found = [
            (heading, word, reading)
            for heading, header in named
            for word in _LETTERS.findall(header.casefold())
            for reading in (sort.get(word),)
            if reading
        ]
        several = len({reading for _, _, reading in found}) > 1
        yield from ((h, reading) for h, word, reading in found if several or len(word) > _SHORT)


# ---- names that no table has

OPENERS = frozenset(
    "although however meanwhile despite after before during since both each all every many most "
    "some several one two three another other overall additionally moreover furthermore finally "
    "also first second third here there now then today yes no only even once because though unlike "
    "according among between following given like more over under until".split()
)
_UNIT_NAMES = frozenset(
    "celsius fahrenheit kelvin euro euros dollar dollars wi-fi bluetooth".split()
)
_ADJECTIVE = re.compile(r"(?:an|ese|ish|ic|ch|ek|ian|i|ss)$")


class UnknownNames:
    """Finds runs of capitalised words that are unknown to the tables."""

    def __init__(self, reading: Reading, index: Index) -> None:
        self._text = reading.text
        self._index = index
        self._cased = any(character.isupper() for character in reading.text)

    def find(
        self, sentence: Span, tokens: Sequence[PlacedToken], taken: Sequence[tuple[int, int]]
    ) -> tuple[Span, ...]:
        """The unknown names of a sentence.

        Its first word is one only in a run of several ("Bradley Beal led ...").
        """
        if not self._cased:
            return ()
        found = []
        for run in self._runs(tokens, sorted(taken)):
            if run[0].word in LITTLE_WORDS or run[0].word in OPENERS:
                run = run[1:]
            if run and run[0].start <= sentence.start + 1 and run[0].word.endswith("ing"):
                run = run[1:]  # "Comparing Norvik with ..."
            if not run:
                continue
            if len(run) == 1 and run[0].start <= sentence.start + 1:
                continue
            if all(map(self._is_known, run)) or self._is_no_name(run):
                continue
            found.append(Span(run[0].start, run[-1].end))
        return tuple(found)

    def _runs(
        self, tokens: Sequence[PlacedToken], taken: Sequence[tuple[int, int]]
    ) -> list[list[PlacedToken]]:
        runs: list[list[PlacedToken]] = []
        for token in tokens:
            written = self._text[token.start : token.end]
            known = any(start <= token.start < end for start, end in taken)
            if known or not written[:1].isupper() or not written[:1].isalpha():
                continue
            if runs and not self._text[runs[-1][-1].end : token.start].strip(" .'-"):
                runs[-1].append(token)
            else:
                runs.append([token])
        return runs

    def _is_no_name(self, run: Sequence[PlacedToken]) -> bool:
        """Whether a capitalised word is no name: a unit, an abbreviation, an adjective.

        "20 EUR", "Celsius", "GPS", "UTC"; "a Greek player" says a country in another form.
        """
        if len(run) > 1:
            return self._text[run[0].start : run[-1].end].casefold() in _UNIT_NAMES
        token = run[0]
        written = self._text[token.start : token.end]
        if any(character.isdigit() for character in written) or len(written) < 2:
            return True
        if (written.isupper() and len(written) <= 5) or written[1:] != written[1:].lower():
            return True
        if token.word in _UNIT_NAMES or token.word.removesuffix("s") in WEEKDAYS:
            return True
        followed = re.match(r" [a-z]", self._text[token.end : token.end + 2])
        return bool(_ADJECTIVE.search(token.word) and followed)

    def _is_known(self, token: PlacedToken) -> bool:
        """Whether a word stands in a header, a caption or some cell."""
        word = stem(token.word)
        return (
            word in self._index.words
            or word in self._index.caption
            or any(term in self._index.header_terms for term in terms(token.word))
        )
