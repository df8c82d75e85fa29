"""What each sentence of a text is about, and where it states the cells of a table.

A value belongs to a row if it stands in a sentence that names the row, or in one that follows
without naming another. In a base context, which speaks of nothing but the table, a sentence
about no row in particular ("All five ...") speaks of all of them. In a longer text only a
sentence that begins with a pronoun is carried over, for what else it names is not known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from tablemend.detector.keys import primary_key
from tablemend.records import Mention
from tablemend.tables.table import Table
from tablemend.values.cells import read_value
from tablemend.values.places import Places, singular
from tablemend.values.sentences import Span, paragraph_spans, sentence_spans
from tablemend.values.text import tokens_of
from tablemend.values.units import header_unit

LITTLE_WORDS = frozenset(
    "a an and are as at by for from had has have in is its no number of on or per s the to total "
    "was were with".split()
)
_FLAGS = frozenset({"yes", "no", "true", "false"})
_COLLECTIVE = re.compile(r"\b(?:all|each|every|both|these|those|they|their|together)\b", re.I)
_PRONOUN = re.compile(
    r"(?:it|its|he|his|she|her|they|their|this|that|these|both|the (?:former|latter|same))\b", re.I
)
_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
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
        spans = sentence_spans(self.text)
        starts = [span.start for span in spans]
        for entity, rows in self._rows_of.items():
            for start, _ in self.name_spans(entity):
                named[bisect_right(starts, start) - 1].update(rows)
        paragraphs = [span.start for span in paragraph_spans(self.text)]
        found: list[Sentence] = []
        paragraph, about = -1, frozenset[int]()
        for place, (start, end) in enumerate(spans):
            own = frozenset(named.get(place, ()))
            here = bisect_right(paragraphs, start)
            if own:
                about = own
            elif here != paragraph or not (self.closed or _PRONOUN.match(self.text, start)):
                about = frozenset()
            paragraph = here
            found.append(Sentence(start, end, own, about))
        return found

    def sentence_at(self, place: int) -> Sentence:
        """The sentence at a place."""
        return self.sentences[bisect_right(self._starts, place) - 1]

    def sentences_about(self, row: int) -> Iterator[Sentence]:
        """The sentences that speak of a row, alone or among others."""
        return (sentence for sentence in self.sentences if self.speaks_of(sentence, row))

    def speaks_of(self, sentence: Sentence, row: int) -> bool:
        """Whether a sentence may state values of a row."""
        if row in sentence.about:
            return True
        if not self.closed:
            return False
        said = self.text[sentence.start : sentence.end]
        return not sentence.about or _COLLECTIVE.search(said) is not None

    def has_words(self, sentence: Sentence, words: Iterable[str]) -> bool:
        """Whether a sentence has all these words, each in some form."""
        said = [
            word for word, start, _ in self.places.tokens if sentence.start <= start < sentence.end
        ]
        return all(any(akin(word, wanted) for word in said) for wanted in words)

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
            own = self.table.rows[row][self.key]
            spans = [
                span
                for span in self._all_spans(cell, column)
                if not self._inside(span, cell, besides=own)
            ]
        return [
            span
            for span in spans
            if span.end <= (sentence := self.sentence_at(span.start)).end
            and self.speaks_of(sentence, row)
        ]

    def name_spans(self, entity: str) -> list[Span]:
        """Every place that names an entity, in full or by a word that is its own.

        A longer text may give that word to others: there only the full name counts.
        """
        spans = [
            span for span in self._all_spans(entity, self.key) if not self._inside(span, entity)
        ]
        covered = set(spans)
        for word in self._own_words.get(entity, ()) if self.closed else ():
            for span in self.places.find(word):
                if self.text[span.start].islower() or self._inside(span, word, besides=entity):
                    continue
                if not any(one.start <= span.start < one.end for one in covered):
                    spans.append(span)
        return sorted(spans)

    @cached_property
    def _rows_of(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = defaultdict(list)
        for number, row in enumerate(self.table.rows):
            if entity := row[self.key]:
                rows[entity].append(number)
        return dict(rows)

    @cached_property
    def _own_words(self) -> dict[str, list[str]]:
        """For each entity of several words those that stand nowhere else in the table.

        They must be capitalised: "Norvik" of "Norvik Industries", not "the" of "The Alba".
        """
        counts: Counter[str] = Counter()
        counts.update(word for name in self.table.columns for word in set(tokens_of(name).words))
        cells = {cell for row in self.table.rows for cell in row if cell is not None}
        for cell in cells:
            counts.update(set(tokens_of(cell).words))
        own: dict[str, list[str]] = {}
        for entity in self._rows_of:
            written = [word for word in re.findall(r"\w+", entity) if word[0].isupper()]
            words = tokens_of(entity).words
            spoken = {next(iter(tokens_of(word).words), ""): word for word in written}
            own[entity] = [
                spoken[word]
                for word in words
                if len(words) > 1
                and counts[word] == 1
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
        """Every place of a cell of several words: what stands inside is part of that name."""
        names = {
            (cell, column)
            for row in self.table.rows
            for column, cell in enumerate(row)
            if cell is not None
            and len(tokens_of(cell).words) > 1
            and (value := read_value(cell)).number is None
            and not value.dates
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


def content_words(header: str) -> list[str]:
    """The words of a column's name that carry its meaning, without units in brackets."""
    words = tokens_of(_BRACKETS.sub(" ", header)).words
    return [singular(word) for word in words if word not in LITTLE_WORDS]


def akin(one: str, other: str) -> bool:
    """Whether two words are forms of one: "launch" and "launched", "designer" and "designed"."""
    if one == other:
        return True
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    return same >= 5 and 5 * same >= 3 * max(len(one), len(other))


def overlap(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    """Whether a place shares a character with one of others."""
    return any(start < span[1] and span[0] < end for start, end in others)
