"""What each sentence of a text is about, where it states the cells of a table, and what more.

A value belongs to a row if it is in a sentence that names the row, or in one that follows without
naming another. A base context speaks of nothing but the table: there a sentence about no row in
particular ("All five ...") speaks of all. A long text is read beside its base context: sentences
that it took over are about what they were about, as long as what they refer back to precedes
them; of its own sentences only one that begins with a pronoun refers back.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from tablemend.detector.keys import primary_key
from tablemend.prompting.replies import Problem
from tablemend.records import Mention, SortOrder
from tablemend.tables.table import Cell, Table
from tablemend.values.cells import read_value
from tablemend.values.places import Places
from tablemend.values.text import (
    Span,
    akin,
    content_words,
    fold,
    paragraph_spans,
    sentence_spans,
    singular,
    tokens_of,
)
from tablemend.values.units import header_unit

if TYPE_CHECKING:
    from tablemend.verifier.answer_table.reader import ContextReader

NULL_STATED = "empty cell stated"
NULL_REMARKED = "remark that something is missing"
FURTHER = "further value of a row"

_YEAR = re.compile(r"(?<![\d,.])(?:1[0-9]|20)\d\d(?!\d|,\d)")
_FLAGS = frozenset({"yes", "no", "true", "false"})
_COLLECTIVE = re.compile(r"\b(?:all|each|every|both|these|those|they|their|together)\b", re.I)
_PRONOUN = re.compile(
    r"(?:it|its|he|his|she|her|they|their|this|that|these|both|the (?:former|latter|same))\b", re.I
)
_AGAIN = re.compile(r"\b(?:same|again|likewise|also|too|as well|still|that year|another)\b", re.I)
_PERSONAL = re.compile(r"\b(?:it|its|he|his|she|her|hers)\b", re.I)
_LONG_WORD, _ALIKE = 5, 0.8

_NAME = re.compile(r"[A-Z\u00c0-\u00de][\w'\u2019.-]*(?: (?:(?:of|de|von|van|the|&) )?[A-Z]\w*)*")
_SHORTEST = 3

Names = list[tuple[int, tuple[int, ...]]]  # places with the rows that are named there


@dataclass(frozen=True, slots=True)
class KernelDraft:
    """A titled table, its declared order and its text, as a model wrote them (TableHallu, A.1.2).

    Whether the table has the sort column is checked later.
    """

    table: Table
    sort_column: str
    sort_order: SortOrder
    context: str


class Sentence(NamedTuple):
    """A sentence, or a part of one, and the rows it is about.

    Attributes:
        named: rows that it names itself.
        about: the same, or the rows of the sentence before that it carries on from.
        origin: where the base context has the same words; ``None`` for a text's own sentence.
    """

    start: int
    end: int
    named: frozenset[int]
    about: frozenset[int]
    origin: int | None = None


class Statements:
    """A text, read against the table that it is about.

    ``base`` is the base context that a long text was made from; without it, the text itself is one.
    """

    def __init__(self, table: Table, text: str, base: Statements | None = None) -> None:
        self.table, self.text, self.base, self.closed = table, text, base, base is None
        self.key = primary_key(table)
        self.places = Places(text)
        self._units = tuple(header_unit(column) for column in table.columns)
        self._spans: dict[tuple[str, int], list[Span]] = {}
        self._rows_of: dict[str, set[int]] = defaultdict(set)
        self._keys = [row[self.key] for row in table.rows]
        for number, entity in enumerate(self._keys):
            if entity:
                self._rows_of[entity].add(number)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """Every sentence, in order."""
        found: list[Sentence] = []
        paragraphs = [span.start for span in paragraph_spans(self.text)]
        paragraph, group, about = -1, frozenset[int](), frozenset[int]()
        for start, end in self._parts():
            here, origin = bisect_right(paragraphs, start), None
            names = self._names_in(start, end)
            own = frozenset(row for _, rows in names for row in rows)
            if taken := self._origin(start, end, about):
                origin, (_, _, named, about, _) = taken
                own, group = named or own, about
            elif own:
                # "Like the Alba she is based at Corran" is about her too.
                spoken = _PERSONAL.search(self.text, start, names[0][0])
                before = about if self.closed and spoken and here == paragraph else frozenset()
                group, about = own, before | (self._narrow(own, start, end) or own)
                if not self.closed and self._is_of_another_time(about, start, end):
                    own = group = about = frozenset()
            else:
                if here != paragraph or not (self.closed or _PRONOUN.match(self.text, start)):
                    group = about = frozenset()
                about = self._narrow(group, start, end) or about
            paragraph = here
            found.append(Sentence(start, end, own & about, about, origin))
        return found

    def _parts(self) -> Iterator[Span]:
        """Sentences; in a long text divided where one of the base context begins or ends."""
        known = map(self.base.said, self.base.sentences) if self.base else ()
        found = (match for said in known for match in re.finditer(re.escape(said), self.text))
        cuts = {cut for match in found for cut in match.span()}
        for start, end in sentence_spans(self.text):
            for cut in [*sorted(cut for cut in cuts if start < cut < end), end]:
                part = self.text[start:cut]
                yield Span(start + len(part) - len(part.lstrip()), start + len(part.rstrip()))
                start = cut

    def _origin(self, start: int, end: int, before: frozenset[int]) -> tuple[int, Sentence] | None:
        """Where the base context has a sentence or part of one, and which one.

        It is not taken over where what it refers back to does not precede it.
        """
        said, base = self.text[start:end].rstrip(".!?;, "), self.base
        if base is None or not said:
            return None
        for match in whole(said, base.text):
            sentence = base.sentence_at(match.start())
            named = sentence.named and base._names_in(*match.span())
            if match.end() <= sentence.end and (
                named or not sentence.about or sentence.about & before
            ):
                return match.start(), sentence
        return None

    def said(self, sentence: Sentence) -> str:
        """The text of a sentence."""
        return self.text[sentence.start : sentence.end]

    def _names_in(self, start: int, end: int) -> Names:
        return [name for name in self._names if start <= name[0] < end]

    @cached_property
    def _names(self) -> Names:
        """Where rows are named, and which."""
        named = (
            (span, rows) for key, rows in self._rows_of.items() for span in self.name_spans(key)
        )
        return sorted((span.start, tuple(rows)) for span, rows in named)

    def _narrow(self, rows: frozenset[int], start: int, end: int) -> frozenset[int]:
        """Those of several rows of one name of which a place states what the others do not have.

        Empty where it states nothing of that sort.
        """
        found: set[int] = set()
        for same in self._rows_of.values():
            own = {
                row: sum(
                    any(start <= span.start < end for span in self.spans(cell, column))
                    for column, cell in enumerate(self.table.rows[row])
                    if cell and all(self.table.rows[n][column] != cell for n in same - {row})
                )
                for row in same & rows
            }
            if own and (len(same) == 1 or any(own.values())):
                found |= {row for row, count in own.items() if 2 * count >= max(own.values())}
        return frozenset(found)

    def _is_of_another_time(self, rows: frozenset[int], start: int, end: int) -> bool:
        """Whether a place states a year that none of some rows has, nor could have where empty."""
        said = _YEAR.findall(self.text, start, end)
        own = {
            y for row in rows for cell in self.table.rows[row] for y in _YEAR.findall(cell or "")
        }
        dated = [
            any(map(_YEAR.search, filter(None, self.table.column(c)))) for c in self.table.columns
        ]
        empty = {c for row in rows for c, cell in enumerate(self.table.rows[row]) if cell is None}
        return not own.issuperset(said) and not any(dated[column] for column in empty)

    def sentence_at(self, place: int) -> Sentence:
        """The sentence at a place."""
        after = bisect_right(self.sentences, place, key=lambda sentence: sentence.start)
        return self.sentences[after - 1]

    def locate(self, row: int) -> dict[int, Mention | None]:
        """Where each filled cell of a row is stated, by column; ``None`` where it is not.

        Cells of one value in one row need a place each.
        """
        taken, key = set[Span](), self.table.rows[row][self.key] or ""
        found: dict[int, Mention | None] = {}
        for column, cell in enumerate(self.table.rows[row]):
            if cell is None:
                continue
            # What several rows of one name share need be said once: "Brandt then returned".
            same = [n for n in self._rows_of.get(key, ()) if self.table.rows[n][column] == cell]
            found_in = (self.cell_spans(n, column) for n in sorted(same, key=lambda n: n != row))
            spans = next(filter(None, found_in), []) or self._said_before(row, column)
            free = [span for span in spans if span not in taken]
            # A sentence that names the row itself is the surest place.
            named = [span for span in free if row in self.sentence_at(span.start).named]
            best = min(named or free, default=None)
            found[column] = self._mention(best) if best else None
            if best and column != self.key:
                taken.add(best)
        return found

    def _mention(self, span: Span) -> Mention:
        sentence = self.sentence_at(span.start)
        return Mention(*span, sentence.start, sentence.end)

    def taken_over(self, clean: Mention) -> Mention | None:
        """Where a long text has a place of its base context, with the same words.

        In a sentence that was taken over, else in one about the same rows.
        """
        assert self.base is not None
        said = self.base.text[clean.start : clean.end]
        for sentence in self.sentences:
            start = sentence.start + clean.start - (sentence.origin or 0)
            if sentence.origin is not None and sentence.start <= start <= sentence.end - len(said):
                return self._mention(Span(start, start + len(said)))
        about = self.base.sentence_at(clean.start).about
        for match in whole(said, self.text):
            if about and about <= self.sentence_at(match.start()).about:
                return self._mention(Span(*match.span()))
        return None

    def cell_spans(self, row: int, column: int) -> list[Span]:
        """Every place in sentences about a row that states one of its cells."""
        cell = self.table.rows[row][column]
        if cell is None:
            return []
        # "The 2012 Games" state their year, but "Fenwick Foods" is not said to be in food.
        own = None if is_text(cell) or column == self.key else self.table.rows[row][self.key]
        found = [span for span in self.spans(cell, column) if not self._inside(span, cell, own)]
        if column == self.key:
            return found
        if cell.casefold() in _FLAGS:  # forms of the words of the column's name
            wanted, tokens = content_words(self.table.columns[column]), self.places.tokens
            found = [Span(*at) for word, *at in tokens if any(akin(word, own) for own in wanted)]
        short = self._short_spans(cell, found) if found else []
        ways = (found, short, self._inflected(cell))
        return next((spans for way in ways if (spans := self._of_row(way, row))), [])

    def _said_before(self, row: int, column: int) -> list[Span]:
        """The value that rows share, where it is the latest of its column before the row's own.

        It was said of all that follows ("Two towers were built in 1871. Skarholm ..., Tern Rock
        ..."), or the row's sentence points back to it ("on the same label").
        """
        cells = self.table.column(self.table.columns[column])
        own = next((one for one in self.sentences if row in one.about), None)
        if not self.closed or cells.count(cells[row]) < 2 or own is None:
            return []
        said = [
            (span, value)
            for value in set(cells)
            for span in self.spans(value or "", column)
            if span.start < own.start
        ]
        latest, value = max(said, default=(None, None))
        if latest is None or value != cells[row]:
            return []
        start = self.sentence_at(latest.start).start
        of_one = self._names_in(start, latest.start) or _PRONOUN.match(self.text, start)
        return [] if of_one and not _AGAIN.search(self.text, own.start, own.end) else [latest]

    @cached_property
    def _reader(self) -> ContextReader:
        """The text, read for the names that the table has: in full, or by their last word."""
        from tablemend.verifier.answer_table.reader import ContextReader  # who reads prose needs it

        cells = [cell for row in self.table.rows for cell in row if cell]
        names = [*filter(None, self._keys), *filter(is_text, cells)]
        known = (self.table.title, *self.table.columns, *cells)
        return ContextReader(self.text, names, self.table.columns[self.key], known)

    def name_spans(self, entity: str) -> list[Span]:
        """Every place that names an entity, in full or by a word that is its own."""
        spans = [span for span in self.spans(entity, self.key) if not self._inside(span, entity)]
        return sorted(spans + self._short_spans(entity, spans))

    def _of_row(self, spans: Iterable[Span], row: int) -> list[Span]:
        """Those of some places that are in sentences which may state values of a row."""
        found = []
        for span in spans:
            sentence = self.sentence_at(span.start)
            of_all = not sentence.about or _COLLECTIVE.search(self.said(sentence))
            if span.end <= sentence.end and (row in sentence.about or (self.closed and of_all)):
                found.append(span)
        return found

    def _short_spans(self, name: str, full: list[Span]) -> list[Span]:
        """Places of the last word of a name that is nobody else's, outside the full name."""
        found = self._reader.name_spans.get(name, [])
        return [span for span in found if not overlap(span, full)]

    def spans(self, cell: str, column: int) -> list[Span]:
        """Every place that states a cell's value, whatever it is said of."""
        key = (cell, column)
        if key not in self._spans:
            found = self.places.find(cell, self._units[column])
            for wording in wordings(cell):
                found += (new for new in self.places.find(wording) if not overlap(new, found))
            self._spans[key] = sorted(found)
        return self._spans[key]

    def _inside(self, span: Span, cell: str, besides: str | None = None) -> bool:
        """Whether a place is only a part of a longer name of the table."""
        return any(
            span != outer and outer.start <= span.start and span.end <= outer.end
            for name, spans in self._reader.name_spans.items()
            if name not in (cell, besides)
            for outer in spans
        )

    def _inflected(self, cell: str) -> list[Span]:
        """Another form of a cell's one word, which is no name: "voted to uphold" for "Upheld"."""
        word, tokens = fold(cell), self.places.tokens if self.closed and cell.isalpha() else ()
        like = [Span(*place) for one, *place in tokens if akin(one, word) or alike(one, word)]
        return [span for span in like if self.text[span.start].islower()]

    # What it says of rows beyond their cells (TableHallu, A.1.2, A.2.2)

    def find_omissions(self) -> Iterator[Problem]:
        """Every place that fills an empty cell or remarks on one, or states another value."""
        for sentence in self.sentences:
            if sentence.origin is not None or not (self.closed or sentence.about):
                continue
            # "It was in 1868 that Lund was founded", "Lund lost 2 % in 2018" are of no row
            is_named = sentence.named and all(map(is_text, self._keys))
            if not (self.closed or is_named) and self.foreign(sentence):
                continue
            text = self.said(sentence)
            empty = any(None in self.table.rows[row] for row in sentence.about)
            if match := (self.closed or empty) and pattern("remarks").search(text):
                reason = f"The text says {match[0]!r}: pass over what is missing without a word."
                yield Problem(NULL_REMARKED, reason)
            leaks = [
                self._problem(NULL_STATED, row, said, f"The cell {name!r} of it is empty")
                for row in sorted(sentence.about)
                for column, name in enumerate(self.table.columns)
                if self.table.rows[row][column] is None
                and (said := self._leak(sentence, row, column))
            ]
            yield from leaks or (() if self.closed else self._further(sentence))

    def _problem(self, kind: str, row: int, said: str, why: str) -> Problem:
        return Problem(kind, f"The text says {said!r} of {self._keys[row]!r}. {why}: leave it out.")

    def _leak(self, sentence: Sentence, row: int, column: int) -> str | None:
        """The words that fill an empty cell, or ``None``."""
        label = self._label(sentence, row, column)
        others = sentence.about - {row}
        if any(self.table.rows[other][column] is not None for other in others):
            # It may well speak of the others, unless it says one by the other.
            return label if pattern("derived").search(self.said(sentence)) else None
        if label is not None or others or not self.closed:
            return label
        return self._value_of_column(sentence, row, column)

    def _label(self, sentence: Sentence, row: int, column: int) -> str | None:
        """The column's own words in a sentence, those of other stated columns taken out."""
        cells = zip(self.table.columns, self.table.rows[row], strict=True)
        stated = [word for name, cell in cells if cell for word in content_words(name)]
        words = content_words(self.table.columns[column])
        wanted = [word for word in words if not any(akin(word, other) for other in stated)]
        if set(wanted) <= set(lexicon()["common"].split()):
            return None
        tokens = self.places.tokens
        here = [token for token in tokens if sentence.start <= token[1] < sentence.end]
        found = [next((one for one in here if akin(one[0], want)), None) for want in wanted]
        said = [self.text[one[1] : one[2]] for one in found if one]
        return " ".join(said) if len(said) == len(wanted) else None

    def _value_of_column(self, sentence: Sentence, row: int, column: int) -> str | None:
        """A value that the same column has in another row."""
        own = self._own_spans(row)
        for cell in dict.fromkeys(self.table.column(self.table.columns[column])):
            if cell is None or (is_text(cell) and sum(map(str.isalnum, cell)) < _SHORTEST):
                continue
            for span in self.spans(cell, column):
                if sentence.start <= span.start < sentence.end and not overlap(span, own):
                    return self.text[span.start : span.end]
        return None

    def _further(self, sentence: Sentence) -> Iterator[Problem]:
        """The first number in a new sentence about a row that the row does not have."""
        if not all(map(is_text, self._keys)) or self.foreign(sentence):
            return
        own = [span for row in sentence.about for span in self._own_spans(row)]
        for span in self.places.amounts(sentence.start, sentence.end):
            said = self.text[slice(*span)]
            if any(map(str.isdigit, said)) and not overlap(span, own):
                why = "The original says all that may be said of it"
                yield self._problem(FURTHER, min(sentence.about), said, why)
                return

    def _own_spans(self, row: int) -> list[Span]:
        """Where the row's own cells and name stand, however often."""
        spans = list(self.name_spans(self._keys[row] or ""))
        for column in range(len(self.table.columns)):
            spans += self.cell_spans(row, column)
        return spans

    def foreign(self, sentence: Sentence) -> list[str]:
        """The words of capitalised names that neither table nor base context has.

        The first word of a sentence tells nothing.
        """
        words: list[str] = []
        for match in _NAME.finditer(self.text, sentence.start, sentence.end):
            found = [singular(word) for word in tokens_of(match[0]).words]
            words += found[1:] if match.start() == sentence.start else found
        new = (word for word in words if word.isalpha() and word not in self._vocabulary)
        return [word for word in new if len(word) >= _SHORTEST]

    @cached_property
    def _vocabulary(self) -> set[str]:
        cells = (cell for row in self.table.rows for cell in row if cell)
        base = self.base.text if self.base else ""
        said = " ".join((base, self.table.title, *self.table.columns, *cells))
        return {singular(word) for word in tokens_of(said).words}


@cache
def lexicon() -> dict[str, Any]:
    """The file ``wordings.yaml``."""
    return dict(yaml.safe_load(Path(__file__).with_name("wordings.yaml").read_bytes()))


@cache
def pattern(name: str) -> re.Pattern[str]:
    """One of its lists of patterns."""
    return re.compile("|".join(lexicon()[name]), re.IGNORECASE | re.MULTILINE)


@cache
def _wordings() -> dict[str, list[str]]:
    """By each name of a country all others and words for what is from there; others as they are."""
    groups = [group.split(", ") for group in lexicon()["countries"].split(" | ")]
    found = {fold(word): words for words in groups for word in words}
    return {**found, **lexicon()["others"]}


def wordings(cell: str) -> list[str]:
    """What texts write for a cell beside its own words: "Canadian", "the second quarter"."""
    return sorted({*_wordings().get(fold(cell), ())} - {cell})


def alike(one: str, other: str) -> bool:
    """Whether two words of five letters or more differ by a letter or two after the first."""
    return (
        one != other
        and one[:1] == other[:1]
        and min(len(one), len(other)) >= _LONG_WORD
        and SequenceMatcher(None, one, other).ratio() > _ALIKE
    )


def is_text(cell: Cell) -> bool:
    """Whether a cell is neither a number nor a date; an empty one counts with the texts."""
    value = read_value(cell)
    return value.number is None and not value.dates


def overlap(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    """Whether a place shares a character with one of others."""
    return any(start < span[1] and span[0] < end for start, end in others)


def whole(said: str, text: str) -> Iterator[re.Match[str]]:
    """Where a text has these words, not as a part of others."""
    return re.finditer(rf"(?<!\w){re.escape(said)}(?!\w)", text)
