"""What each sentence of a text is about, and where it states the cells of a table.

A value belongs to a row if it is in a sentence that names the row, or in one that follows
without naming another. In a base context, which speaks of nothing but the table, a sentence
about no row in particular ("All five ...") speaks of all of them. In a longer text only a
sentence that begins with a pronoun is carried over, for what else it names is not known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from tablemend.detector.keys import primary_key
from tablemend.records import Mention
from tablemend.tables.table import Cell, Table
from tablemend.values.cells import read_value
from tablemend.values.places import Places
from tablemend.values.sentences import Span, paragraph_spans, sentence_spans
from tablemend.values.text import tokens_of
from tablemend.values.units import header_unit
from tablemend.values.words import LITTLE_WORDS, akin, content_words

_FLAGS = frozenset({"yes", "no", "true", "false"})
_COLLECTIVE = re.compile(r"\b(?:all|each|every|both|these|those|they|their|together)\b", re.I)
_PRONOUN = re.compile(
    r"(?:it|its|he|his|she|her|they|their|this|that|these|both|the (?:former|latter|same))\b", re.I
)
_PERSONAL = re.compile(r"\b(?:it|its|he|his|she|her|hers)\b", re.I)
_SHORT_NAME = 3


class Sentence(NamedTuple):
    """A sentence and the rows it is about.

    Attributes:
        start, end: its place.
        named: rows that it names itself.
        about: the same, or the rows of the sentence before that it carries on from.
    """

    start: int
    end: int
    named: frozenset[int]
    about: frozenset[int]


class Statements:
    """A text, read against a table.

    Args:
        table: the table whose rows the text is about.
        text: the text.
        closed: whether the text speaks of nothing but the table.
    """

    def __init__(self, table: Table, text: str, *, closed: bool) -> None:
        self.table = table
        self.text = text
        self.closed = closed
        self.key = primary_key(table)
        self.places = Places(text)
        self._units = tuple(header_unit(column) for column in table.columns)
        self._spans: dict[tuple[str, int], list[Span]] = {}

    @cached_property
    def sentences(self) -> list[Sentence]:
        """Every sentence, in order."""
        named: dict[int, set[int]] = defaultdict(set)
        first: dict[int, int] = {}
        spans = sentence_spans(self.text)
        starts = [span.start for span in spans]
        for entity, rows in self._rows_of.items():
            for start, _ in self.name_spans(entity):
                place = bisect_right(starts, start) - 1
                named[place].update(rows)
                first[place] = min(start, first.get(place, start))
        paragraphs = [span.start for span in paragraph_spans(self.text)]
        found: list[Sentence] = []
        paragraph, about = -1, frozenset[int]()
        for place, (start, end) in enumerate(spans):
            own = frozenset(named.get(place, ()))
            here = bisect_right(paragraphs, start)
            if own:
                # "Like the Alba she is based at Corran" is about her too.
                spoken = _PERSONAL.search(self.text, start, first[place])
                about = own | about if self.closed and spoken and here == paragraph else own
            elif here != paragraph or not (self.closed or _PRONOUN.match(self.text, start)):
                about = frozenset()
            paragraph = here
            found.append(Sentence(start, end, own, about))
        return found

    def sentence_at(self, place: int) -> Sentence:
        """The sentence at a place."""
        return self.sentences[bisect_right(self._starts, place) - 1]

    def speaks_of(self, sentence: Sentence, row: int) -> bool:
        """Whether a sentence may state values of a row."""
        if row in sentence.about:
            return True
        if not self.closed:
            return False
        said = self.text[sentence.start : sentence.end]
        return not sentence.about or _COLLECTIVE.search(said) is not None

    def locate(self, row: int) -> dict[int, Mention | None]:
        """Where each filled cell of a row is stated, by column; ``None`` where it is not.

        Cells of one value in one row need a place each.
        """
        taken: set[Span] = set()
        found: dict[int, Mention | None] = {}
        for column, cell in enumerate(self.table.rows[row]):
            if cell is None:
                continue
            free = [span for span in self.cell_spans(row, column) if span not in taken]
            if not free:
                found[column] = None
                continue
            # A sentence that names the row itself is the surest place.
            best = min(free, key=lambda span: (row not in self.sentence_at(span.start).named, span))
            if column != self.key:
                taken.add(best)
            sentence = self.sentence_at(best.start)
            found[column] = Mention(*best, sentence.start, sentence.end)
        return found

    def cell_spans(self, row: int, column: int) -> list[Span]:
        """Every place in sentences about a row that states one of its cells."""
        cell = self.table.rows[row][column]
        if cell is None:
            return []
        if column == self.key:
            return [span for span in self._all_spans(cell, column) if not self._inside(span, cell)]
        if cell.casefold() in _FLAGS:
            spans = self._label_spans(column)
        else:
            # "The 2012 Games" state their year, but "Fenwick Foods" is not said to be in food.
            own = None if is_text(cell) else self.table.rows[row][self.key]
            spans = [
                span
                for span in self._all_spans(cell, column)
                if not self._inside(span, cell, besides=own)
            ]
        found = self._of_row(spans, row)
        if spans and not found:  # "Benedek" once Karl Benedek has been named
            found = self._of_row(self._short_spans(cell, spans), row)
        return found

    def name_spans(self, entity: str) -> list[Span]:
        """Every place that names an entity, in full or by a word that is its own.

        A longer text may give that word to others: there only the full name counts.
        """
        spans = [
            span for span in self._all_spans(entity, self.key) if not self._inside(span, entity)
        ]
        return sorted(spans + self._short_spans(entity, spans))

    def _of_row(self, spans: Iterable[Span], row: int) -> list[Span]:
        """Those of some places that stand in sentences about a row."""
        return [
            span
            for span in spans
            if span.end <= (sentence := self.sentence_at(span.start)).end
            and self.speaks_of(sentence, row)
        ]

    def _short_spans(self, name: str, full: list[Span]) -> list[Span]:
        """Places of a word that belongs to one name alone, outside the full name."""
        if not self.closed:
            return []
        return [
            span
            for word in self._own_words.get(name, ())
            for span in self.places.find(word)
            if not self.text[span.start].islower()
            and not self._inside(span, word, besides=name)
            and not overlap(span, full)
        ]

    @cached_property
    def _rows_of(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = defaultdict(list)
        for number, row in enumerate(self.table.rows):
            if entity := row[self.key]:
                rows[entity].append(number)
        return dict(rows)

    @cached_property
    def _own_words(self) -> dict[str, list[str]]:
        """For each cell of several words those that stand nowhere else in the table.

        They must be capitalised: "Norvik" of "Norvik Industries", not "the" of "The Alba".
        """
        counts: Counter[str] = Counter()
        counts.update(word for name in self.table.columns for word in set(tokens_of(name).words))
        cells = dict.fromkeys(cell for row in self.table.rows for cell in row if cell is not None)
        for cell in cells:
            counts.update(set(tokens_of(cell).words))
        own: dict[str, list[str]] = {}
        for cell in cells:
            words = tokens_of(cell).words
            if len(words) < 2:
                continue
            written = [word for word in re.findall(r"\w+", cell) if word[0].isupper()]
            spoken = {next(iter(tokens_of(word).words), ""): word for word in written}
            own[cell] = [
                spoken[word]
                for word in words
                if counts[word] == 1
                and word in spoken
                and word.isalpha()
                and len(word) >= _SHORT_NAME
                and word not in LITTLE_WORDS
            ]
        return own

    def _all_spans(self, cell: str, column: int) -> list[Span]:
        key = (cell, column)
        if key not in self._spans:
            self._spans[key] = self.places.find(cell, self._units[column])
        return self._spans[key]

    @cached_property
    def _starts(self) -> list[int]:
        return [sentence.start for sentence in self.sentences]

    @cached_property
    def _long_names(self) -> list[tuple[Span, str]]:
        """Every place of a cell of several words: what is inside is part of that name."""
        names = {
            (cell, column)
            for row in self.table.rows
            for column, cell in enumerate(row)
            if cell is not None and len(tokens_of(cell).words) > 1 and is_text(cell)
        }
        return [(span, cell) for cell, column in names for span in self._all_spans(cell, column)]

    def _inside(self, span: Span, cell: str, besides: str | None = None) -> bool:
        """Whether a place is only a part of a longer name of the table."""
        size = span.end - span.start
        return any(
            outer.start <= span.start
            and span.end <= outer.end
            and outer.end - outer.start > size
            and name not in (cell, besides)
            for outer, name in self._long_names
        )

    def _label_spans(self, column: int) -> list[Span]:
        """Where the words of a column's name stand; for cells that only say yes or no."""
        words = content_words(self.table.columns[column])
        return [
            Span(start, end)
            for word, start, end in self.places.tokens
            if any(akin(word, wanted) for wanted in words)
        ]


def is_text(cell: Cell) -> bool:
    """Whether a cell is neither a number nor a date; an empty one counts with the texts."""
    value = read_value(cell)
    return value.number is None and not value.dates


def overlap(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    """Whether a place shares a character with one of others."""
    return any(start < span[1] and span[0] < end for start, end in others)
