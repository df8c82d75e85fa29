"""A context in prose linked to an answer: which of its sentences speak of which entity."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple

from tablemend.evidence.source import Source
from tablemend.records import Evidence
from tablemend.tables.table import Table
from tablemend.values.blanks import is_blank
from tablemend.values.dates import MONTHS, WEEKDAYS
from tablemend.values.inclusion import MODIFIERS
from tablemend.values.places import singular
from tablemend.values.sentences import Span, paragraph_spans
from tablemend.values.text import clean, tokens_of
from tablemend.values.units import header_unit
from tablemend.values.words import akin, content_words
from tablemend.verifier.lexicon import LITTLE_WORDS
from tablemend.verifier.linking import Linking
from tablemend.verifier.links import Links
from tablemend.verifier.reading import Reading
from tablemend.verifier.unknown_names import OPENERS

Bond = Literal["named", "carried", "loose", "unclear"]
"""How a sentence speaks of an entity: it names it; it begins with a pronoun after a sentence about
it alone; it may carry on from one, which can support a claim and never contradict it; or it may as
well name another one ("South had ..."), which decides nothing."""

_LONGEST = 200  # characters of a cell that is looked for whole
_PRONOUN = re.compile(r"(?:it|its|he|his|she|her|they|their|the (?:former|latter|same))\b", re.I)
_PERSONAL = re.compile(r"\b(?:it|its|he|his|she|her|hers)\b", re.I)
_MODIFIERS = MODIFIERS - {"former", "formerly", "previously", "past", "acting", "post"}
_FIRST_WORD = re.compile(r"([A-Z][a-z]+)(?='s\b|\u2019s\b| [a-z])")
_OF_VERBS = ("ing", "ed")
_CAPITAL = re.compile(r"[a-z] [A-Z][a-z]")
_NEXT_CAPITAL = re.compile(r"[ -][A-Z]")


class Token(NamedTuple):
    """A word or number of the text in its compared form, and its place."""

    word: str
    start: int
    end: int


class About(NamedTuple):
    """A sentence that speaks of an entity: its number, and how."""

    sentence: int
    bond: Bond

    @property
    def sure(self) -> bool:
        """Whether nobody else can be meant."""
        return self.bond in ("named", "carried")


class ContextReader:
    """A context, linked to the rows and columns of one answer as texts are to tables.

    Args:
        text: the context.
        table: the answer, with a column for each attribute that is looked for.
        key: index of the column that names the rows.
        query: its words are no foreign names.
    """

    def __init__(self, text: str, table: Table, key: int = 0, query: str = "") -> None:
        self.text = text
        self._table, self._key, self._query = table, key, query
        self._unit = header_unit(table.columns[key])
        names = (row[key] or "" for row in table.rows if not is_blank(row[key]))
        self.entities = tuple(dict.fromkeys(map(clean, names)))
        reading = Reading(text)
        self.places = reading.places
        self._linking = Linking(reading, Source((table,)))

    @cached_property
    def _links(self) -> list[Links]:
        return [links[0] for links in self._linking.sentence_links]

    # sentences, words, amounts

    @cached_property
    def sentences(self) -> list[Span]:
        """All sentences, in order; none begins inside a cell ("Help! II is ...")."""
        cells = {clean(cell) for row in self._table.rows for cell in row if cell}
        marked = [cell for cell in cells if not {".", "!", "?"}.isdisjoint(cell[:_LONGEST])]
        whole = sorted(span for cell in marked for span in self.places.find(cell))
        spans: list[Span] = []
        for span in self._linking.reading.sentences:
            place = bisect_left(whole, Span(span.start, 0)) - 1
            inside = place >= 0 and span.start < whole[place].end
            goes_on = place >= 0 and spans and spans[-1].end <= whole[place].end + 1
            if spans and (inside or (goes_on and self.text[span.start].islower())):
                spans[-1] = Span(spans[-1].start, span.end)
            else:
                spans.append(span)
        return spans

    @cached_property
    def starts(self) -> list[int]:
        """Where sentences begin."""
        return [span.start for span in self.sentences]

    def evidence(self, sentence: int) -> Evidence:
        """A sentence as evidence."""
        start, end = self.sentences[sentence]
        return Evidence(self.text[start:end], start=start, end=end)

    def sentence_at(self, place: int) -> int:
        """Number of the sentence at a place."""
        return max(0, bisect_right(self.starts, place) - 1)

    @cached_property
    def _tokens(self) -> list[Token]:
        return [Token(*token) for token in self.places.tokens]

    def tokens(self, span: Span) -> Sequence[Token]:
        """The words and numbers that begin within a place."""
        return self._tokens[slice(*(bisect_left(self._tokens, at, key=_start) for at in span))]

    @cached_property
    def _amounts(self) -> list[Span]:
        return self.places.amounts(0, len(self.text))

    def amounts(self, span: Span) -> Sequence[Span]:
        """The numbers and dates that begin within a place."""
        return self._amounts[slice(*(bisect_left(self._amounts, at, key=_start) for at in span))]

    def has_word(self, word: str) -> bool:
        """Whether the text has a word, in some form."""
        word = singular(word)
        return any(akin(word, other) for other in self._words.get(word[:4], ()))

    @cached_property
    def _words(self) -> dict[str, set[str]]:
        words: dict[str, set[str]] = defaultdict(set)
        for token in self._tokens:
            words[token.word[:4]].add(token.word)
        return dict(words)

    # names

    @cached_property
    def name_spans(self) -> dict[str, list[Span]]:
        """Where each entity is named: in full, then also by a part of its name alone.

        What stands inside a longer name does not name the shorter one. Of one that is never named
        in full (:attr:`partly_named`) the part counts from the beginning.
        """
        found = {
            name: [s for s in self.places.find(name, self._unit) if not self._is_modified(s)]
            for name in self.entities
        }
        taken = sorted(chain(*found.values()), key=lambda span: (span.start, -span.end))
        inside, furthest = set(), Span(0, 0)
        for span in taken:
            if span.end <= furthest.end and span != furthest:
                inside.add(span)
            furthest = max(furthest, span, key=lambda one: one.end)
        spans = {name: [one for one in own if one not in inside] for name, own in found.items()}
        for name, part in self._parts:
            place = bisect_right(taken, part.end, key=_start) - 1
            is_free = place < 0 or taken[place].end <= part.start
            if is_free and (not found[name] or found[name][0] < part):
                spans[name].append(part)
        return {name: sorted(own) for name, own in spans.items()}

    @cached_property
    def _parts(self) -> list[tuple[str, Span]]:
        """Where a part stands that only one name has, beside no other capital: "Benedek"."""
        found = []
        for link in (cell for links in self._links for cell in links.cells):
            names = {self._table.rows[row][column] for row, column in link.places}
            span = Span(link.start, link.end)
            is_name = all(column == self._key for _, column in link.places)
            if is_name and not link.full and len(names) == 1 and self._is_alone(span):
                found.append((clean(names.pop() or ""), span))
        return found

    def _is_alone(self, span: Span) -> bool:
        """Whether a place has a capital, and no word beside it that can be of its name has one."""
        before = self.tokens(Span(max(0, span.start - 40), span.start))
        word, start, end = before[-1] if before else Token("", 0, 0)
        gap = self.text[end : span.start]
        beside = gap in (" ", "-") or (gap == ". " and len(word) == 1)  # "J. Smith"
        is_common = word in LITTLE_WORDS or word in OPENERS
        if beside and self.text[start].isupper() and not is_common:
            return False
        return self.text[span.start].isupper() and not _NEXT_CAPITAL.match(self.text, span.end)

    def _is_modified(self, span: Span) -> bool:
        """Whether the word before makes another thing of a name: "South Melbourne"."""
        before = self.tokens(Span(max(0, span.start - 24), span.start))
        if not before or self.text[before[-1].end : span.start] not in (" ", "-"):
            return False
        return before[-1].word in _MODIFIERS

    @cached_property
    def partly_named(self) -> frozenset[str]:
        """Entities of which only a part of the name stands in the text: "Harden"."""
        parts = {name for name, _ in self._parts}
        return frozenset(name for name in parts if not self.places.find(name, self._unit))

    # attributes

    @cached_property
    def _labels(self) -> list[tuple[Span, str]]:
        """Where attributes are named, and which: by the last word of their name, or in other words.

        As far as the name is spelled out.
        """
        found: list[tuple[Span, str]] = []
        columns, plain = self._table.columns, self._linking.reading.plain
        for link in (link for links in self._links for link in links.columns):
            names = {columns[column] for column in link.columns}
            if len(names) > 1 or columns[self._key] in names:
                continue
            (name,) = names
            said, wanted = tokens_of(plain[link.start : link.end]).words, content_words(name)
            named = bool(said and wanted) and akin(said[-1], wanted[-1])
            if not said or (not named and (link.coverage < 1 or said[-1].endswith(_OF_VERBS))):
                continue  # "the scoring total" names no points
            spelled = re.compile(rf"{re.escape(name.lower())}(?!\w)")
            whole = spelled.search(plain, max(0, link.start - len(name)), link.end + len(name))
            overlaps = whole and whole.start() < link.end and link.start < whole.end()
            start, end = whole.span() if whole and overlaps else (link.start, link.end)
            if not found or found[-1][0].end <= start:
                found.append((Span(start, end), name))
        return found

    def labels_in(self, sentence: int) -> Sequence[tuple[Span, str]]:
        """The places in a sentence that name attributes, in order."""
        start, end = self.sentences[sentence]
        low, high = (
            bisect_left(self._labels, at, key=lambda one: one[0].start) for at in (start, end)
        )
        return self._labels[low:high]

    # which sentences speak of which entity

    @cached_property
    def about(self) -> dict[str, list[About]]:
        """For each entity the sentences that speak of it, in order."""
        found: dict[str, list[About]] = {name: [] for name in self.entities}
        paragraphs = [span.start for span in paragraph_spans(self.text)]
        current: tuple[str, ...] = ()
        paragraph, unclear = -1, False
        for number, span in enumerate(self.sentences):
            named = tuple(dict.fromkeys(name for _, name in self.names_in(number)))
            here = bisect_right(paragraphs, span.start)
            if here != paragraph:
                current, paragraph, unclear = (), here, False
            unclear = not named and (unclear or self._may_begin_with_name(span))
            bond: Bond = "unclear" if unclear else "loose"
            if named:
                for name in named:
                    partly = name in self.partly_named
                    found[name].append(About(number, "loose" if partly else "named"))
                # "Like the Alba she is based at Corran" is about her too.
                first = self.names_in(number)[0][0].start
                carries_on = _PERSONAL.search(self.text, span.start, first) is not None
            elif _PRONOUN.match(self.text, span.start):
                carries_on = True
                bond = "carried" if len(current) == 1 and not unclear else bond
            else:
                carries_on = not self.names_foreign(number)
            for name in current if carries_on else ():
                if name not in named:
                    found[name].append(About(number, bond))
            if named or not carries_on:
                current = named
        return found

    def _may_begin_with_name(self, sentence: Span) -> bool:
        """Whether the first word can be a name of one word that the answer does not have."""
        first = _FIRST_WORD.match(self.text, sentence.start)
        if first is None or not self._is_capitalised:
            return False
        word = first[1].lower()
        is_common = word in OPENERS or word.endswith(("ly", "ing"))
        return not (is_common or word in self._small_words or word in self._vocabulary)

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        """The words of the answer and the query, and those that name nothing or a time."""
        cells = (cell for row in self._table.rows for cell in row if cell)
        texts = (*self._table.columns, *cells, self._query)
        known = frozenset(word for text in texts for word in tokens_of(text).words)
        return known.union(LITTLE_WORDS, MONTHS, WEEKDAYS)

    @cached_property
    def _small_words(self) -> frozenset[str]:
        """Words that the text writes without a capital somewhere."""
        return frozenset(re.findall(r"(?<![\w'\u2019-])[a-z][\w'\u2019-]+", self.text))

    @cached_property
    def carriers(self) -> dict[int, str]:
        """For each sentence that names no entity the only one that it carries on from."""
        found: dict[int, set[str]] = defaultdict(set)
        for name, sentences in self.about.items():
            for about in sentences:
                if about.bond != "named":
                    found[about.sentence].add(name)
        return {number: names.pop() for number, names in found.items() if len(names) == 1}

    def names_in(self, sentence: int) -> list[tuple[Span, str]]:
        """The places in a sentence that name entities, in order."""
        return self._names_by_sentence.get(sentence, [])

    @cached_property
    def _names_by_sentence(self) -> dict[int, list[tuple[Span, str]]]:
        found: dict[int, list[tuple[Span, str]]] = defaultdict(list)
        for span, name in sorted(
            (span, name) for name, spans in self.name_spans.items() for span in spans
        ):
            found[self.sentence_at(span.start)].append((span, name))
        return dict(found)

    # names that the answer does not have

    @cached_property
    def _is_capitalised(self) -> bool:
        """Whether names can be seen by their capitals; not in a text of small letters."""
        letters = [name[0] for name in self.entities if name[0].isalpha() and name in self.text]
        if letters:
            return any(map(str.isupper, letters))
        return _CAPITAL.search(self.text) is not None

    @cached_property
    def _foreign(self) -> list[Span]:
        """Names that neither the answer nor the query has."""
        names = sorted(chain.from_iterable(links.unknown_names for links in self._links))
        known = self._vocabulary
        return [n for n in names if not known.issuperset(tokens_of(self.text[slice(*n)]).words)]

    def names_foreign(self, sentence: int) -> bool:
        """Whether a sentence has a name that the answer does not have, so a subject of its own.

        True also where that cannot be seen.
        """
        return not self._is_capitalised or self.has_foreign(self.sentences[sentence])

    def has_foreign(self, span: Span) -> bool:
        """Whether a name stands in a place that the answer and query do not have."""
        place = bisect_left(self._foreign, span.start, key=_start)
        return place < len(self._foreign) and self._foreign[place].start < span.end


def _start(one: Span | Token) -> int:
    return one.start
