"""What a context says of one entity, kept apart by occasion, and in which words of each column.

A context says alike of all rows what is alike: "employs 140 people", "employs 87 people". Words
that stand beside the cells of one column, row after row, are that column's wording, and what else
stands there is given to the column, too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from tablemend.values.cells import Value, equal_values, includes, read_value
from tablemend.values.text import Span, akin, content_words, singular
from tablemend.values.units import PLAIN, Unit
from tablemend.verifier.answer_table.reader import (
    NAME,
    About,
    ContextReader,
    Label,
    StatedValue,
    read_sentence,
)
from tablemend.verifier.lexicon import LITTLE_WORDS
from tablemend.verifier.query_phrases import ScopeCondition, moments_of

# ---- wordings of columns

_SHARE = 0.75  # of the names beside whose sentences a wording stands, those whose cell it has
_SENTENCES = 40  # of a name that are looked at
_WORDS = 3  # of a wording, on one side of its value
_PHRASE_REACH = 60  # characters before a value
_NAMES = re.compile(rf"(?<![\w'\u2019-]){NAME}(?:(?: | (?:of|de|da|van|von|the|&) ){NAME})*(?<!\.)")
_JOINT = r"(?!(?:and|or|but|with|which|that|while) )"
_BEFORE = re.compile(rf"(?<![\w'\u2019-])(?:{_JOINT}[\w'\u2019-]+ ){{1,{_WORDS}}}$", re.I)
_BEHIND = re.compile(
    rf" ?[^\s\w,.;:()]|(?: {_JOINT}[\w'\u2019/\u00b2\u00b3-]+){{1,{_WORDS}}}", re.I
)
_SMALL = re.compile(r"(?<![\w'\u2019-])[a-z]+(?:-[a-z]+)*(?![\w'\u2019-])")

Wording = tuple[str, str]
"""The words before a value and those behind it; one of them may be empty."""


class PhraseSlot(NamedTuple):
    """A value in a sentence, whatever it is said of, with the wordings that it stands in."""

    span: Span
    wordings: tuple[Wording, ...]


class ColumnPhrases:
    """The wordings of each column.

    Args:
        reader: the context.
        cells: places of cells with text, whose extent is known.
        header: of the column of names: "the company" is who is spoken of.
    """

    def __init__(self, reader: ContextReader, cells: Iterable[Span], header: str) -> None:
        self._reader, self._little = reader, LITTLE_WORDS.union(header.lower().split())
        self._cells: dict[int, list[Span]] = defaultdict(list)
        for span in set(cells):
            self._cells[reader.sentence_at(span.start)].append(span)
        self._slots: dict[int, list[PhraseSlot]] = {}
        self._wordings: dict[Wording, tuple[str, bool]] = {}
        self._own: dict[Wording, set[int]] = {}  # where one stands that one name has
        self._small: set[str] = set()  # columns whose values are words in small letters

    def learn(
        self,
        columns: Sequence[str],
        asked: Sequence[str],
        fits: Callable[[str, str, Span], bool | None],
    ) -> None:
        """Learn the wordings of columns.

        Args:
            columns: their names.
            asked: others that the query has conditions on; they have what is no cell.
            fits: whether a name's cell of a column stands at a place, or a value that is in the
                query's scope; ``None`` where it cannot.
        """
        names: dict[tuple[Wording, str, str], set[str]] = defaultdict(set)
        own: dict[Wording, set[int]] = defaultdict(set)
        self._small.clear()
        reader, text = self._reader, self._reader.text
        stated = [
            (name, about.sentence, slot)
            for name in reader.entities
            for about in reader.about[name][:_SENTENCES]
            if about.sure and {one for _, one in reader.names_in(about.sentence)} <= {name}
            for slot in self.slots(about.sentence)
        ]
        for name, sentence, slot in stated:
            found = {one: fits(name, one, slot.span) for one in (*asked, *columns)}
            if any(found[column] for column in columns):
                found |= dict.fromkeys(asked, False)
            if (matches := list(found.values()).count(True)) > 1:
                continue  # of which column it is cannot be told
            for column, same in found.items():
                is_wrong = "wrong" if same is False else ""
                verdict = "right" if same else "another's" if matches else is_wrong
                for wording in self._told(slot, column) if same else slot.wordings:
                    names[wording, column, verdict].add(name)
                    if same:
                        own[wording].add(sentence)
                        if _SMALL.fullmatch(text, *slot.span):
                            self._small.add(column)
                        # "460.9" is no chance, "2" may be
                        if sum(map(str.isdigit, text[slice(*slot.span)])) != 1:
                            names[wording, column, "telling"].add(name)
        self._wordings, self._own = {}, {}
        for (wording, column, verdict), right in list(names.items()):
            wrong = names[wording, column, "another's"] | (names[wording, column, "wrong"] - right)
            if verdict == "right" and len(right) >= _SHARE * (len(right) + len(wrong)):
                once = names[wording, column, "telling"] and not wrong
                self._wordings[wording] = (column, len(right) > 1 or bool(once))
                if len(right) == 1:  # it tells nothing of the cell that it is learned from
                    self._own[wording] = own[wording]

    def _told(self, slot: PhraseSlot, column: str) -> Iterable[Wording]:
        """The wordings of a value of a column: those that name the column, where there are any."""
        words = content_words(column)
        named = [
            one
            for one in slot.wordings
            if any(akin(word, singular(part)) for part in " ".join(one).split() for word in words)
        ]
        return named or slot.wordings

    def slots(self, sentence: int) -> list[PhraseSlot]:
        """The values of a sentence: numbers, dates, names that are no entity's, known cells."""
        if sentence not in self._slots:
            reader, known = self._reader, self._cells[sentence]
            span = reader.sentences[sentence]
            names = [place for place, _ in reader.names_in(sentence)]
            said = _NAMES.finditer(reader.text, span.start + 1, span.end)
            runs = (Span(*match.span()) for match in said)
            free = [one for one in (*reader.amounts(span), *runs) if not overlap(one, known)]
            places = dict.fromkeys(sorted([*free, *known], key=lambda one: (one.start, -one.end)))
            named = (one for one in places if not overlap(one, names))
            found = [PhraseSlot(one, tuple(self._find(span, one, names))) for one in named]
            self._slots[sentence] = found
        return self._slots[sentence]

    def _words(self, sentence: int) -> Iterator[PhraseSlot]:
        """Words that are no known value and can be one of a column of such: "a yellow flag"."""
        span, text = self._reader.sentences[sentence], self._reader.text
        known = [one.span for one in self.slots(sentence)]
        known += [place for place, _ in self._reader.names_in(sentence)]
        for match in _SMALL.finditer(text, *span) if self._small else ():
            place = Span(*match.span())
            if match[0] in self._little or overlap(place, known):
                continue
            wordings = tuple(
                one
                for one in self._find(span, place, known)
                if self._wordings.get(one, ("", False))[0] in self._small
                and (one[0] or self._ends(text[span.start : place.start].split()[-1:]))
                and (one[1] or self._ends(text[place.end : span.end].split()[:1]))
            )
            if wordings:
                yield PhraseSlot(place, wordings)

    def _ends(self, word: Sequence[str]) -> bool:
        """Whether a value does not go on with the word beside it."""
        return not word or word[0].strip(".,;:") in ("", *self._little)

    def _find(self, sentence: Span, place: Span, names: Sequence[Span]) -> Iterator[Wording]:
        """The wordings that a value stands in, those of most words first on either side."""
        text = self._reader.text
        start = max([sentence.start, *(one.end for one in names if one.end <= place.start)])
        end = min([sentence.end, *(one.start for one in names if one.start >= place.end)])
        if text[start : place.start] == " (" and text.startswith(")", place.end):
            is_number = text[place.start].isdigit()
            yield "(", "number)" if is_number else ")"  # right behind the name
        match = _BEFORE.search(text, max(start, place.start - _PHRASE_REACH), place.start)
        before = match[0].lower().split() if match else []
        match = _BEHIND.match(text, place.end, end)
        behind = match[0].lower().split() if match else []
        for n in range(len(before), 0, -1):
            # "first runner-up was" is another wording than "second runner-up was"
            whole = n == len(before) or before[-n - 1] in self._little
            if whole and not self._little.issuperset(before[-n:]):
                yield " ".join(before[-n:]), ""
        if before and behind:
            yield before[-1], behind[0]
        for n in range(len(behind), 0, -1):
            if not self._little.issuperset(behind[:n]):
                yield "", " ".join(behind[:n])

    def read(self, sentence: int, can_be: Callable[[str, Span], bool]) -> Iterator[StatedValue]:
        """What a sentence states of the columns by their wordings."""
        taken = -1
        for slot in sorted([*self.slots(sentence), *self._words(sentence)]):
            found = [
                (known[1], len(" ".join(one).split()), known[0])
                for one in slot.wordings
                if (known := self._wordings.get(one))
                and can_be(known[0], slot.span)
                and sentence not in self._own.get(one, ())
            ]
            labels = {label for *rank, label in found if tuple(rank) == max(found)[:2]}
            if len(labels) == 1 and slot.span.start >= taken:
                taken = slot.span.end
                yield StatedValue(labels.pop(), slot.span, max(found)[0])


def encloses(one: Span, other: Span) -> bool:
    """Whether a place holds all of another."""
    return one.start <= other.start and other.end <= one.end


def overlap(place: Span, others: Iterable[Span]) -> bool:
    """Whether a place has a character in common with one of others."""
    return any(one.start < place.end and place.start < one.end for one in others)


# ---- records

_NAME = 6  # words of the longest name
# Whose a value is, or whether it is one at all, is another question in such sentences.
_SHARED = re.compile(
    r"\b(?:respectively|the former|the latter|apiece|combined|matching|both|each)\b", re.I
)
_BOUND = re.compile(
    r"(?:\b(?:than|at least|at most|up to|nearly|almost|averag\w+)"
    r"|(?<!listed )(?<!grouped )(?<!falls )\b(?:over|under))\s+(?:an?\s+)?$",
    re.I,
)
_WHEN = re.compile(r"\b(?:in|during|for|by|on|the year|season|year)\s+(?:the\s+)?$", re.I)
_REACH = 24  # characters before a value


@dataclass(frozen=True, eq=False)
class Record:
    """Sentences about one entity on one occasion, or all that speak of it where there is but one.

    Attributes:
        sentences: number and bond of each.
    """

    sentences: tuple[About, ...]

    @cached_property
    def numbers(self) -> dict[int, About]:
        """The sentences by their number."""
        return {about.sentence: about for about in self.sentences}


class Attribution(NamedTuple):
    """A value that a record gives to an attribute, and the sentence."""

    stated: StatedValue
    about: About
    value: Value

    @property
    def plain(self) -> bool:
        """Whether the wording leaves no doubt of attribute, extent and entity."""
        return self.stated.sure and self.about.sure


class Breach(NamedTuple):
    """A condition that something said of an entity does not meet."""

    condition: ScopeCondition
    said: str
    sentence: int


class Records:
    """The records of all entities of one answer.

    Args:
        reader: the context.
        labels: the attributes of the answer and of the query's conditions.
        conditions: of the query.
        timed: the answer has a column of the time that tells records of one entity apart.
    """

    def __init__(
        self,
        reader: ContextReader,
        labels: Iterable[Label],
        conditions: Sequence[ScopeCondition],
        timed: bool,
        learned: Callable[[int], Sequence[StatedValue]],
    ) -> None:
        self.reader = reader
        self.labels = {label.name: label for label in labels}
        self.conditions = conditions
        self._learned = learned
        self._timed = timed or any(condition.is_generic for condition in conditions)
        # Each record and sentence is read once: a bound method cannot be cached by itself.
        self.readings = lru_cache(maxsize=None)(self._readings)
        self.of = lru_cache(maxsize=None)(self._of)
        self.said = lru_cache(maxsize=None)(self._said)
        self.in_scope = lru_cache(maxsize=None)(self._in_scope)
        self.meets = lru_cache(maxsize=None)(self._meets)

    def _readings(self, sentence: int) -> tuple[StatedValue, ...]:
        """All values that a sentence gives to attributes."""
        start, end = self.reader.sentences[sentence]
        shared = _SHARED.search(self.reader.text, start, end)
        return tuple(
            one._replace(sure=False)
            if shared or _BOUND.search(self._before(one.span, start))
            else one
            for one in self._given(sentence)
        )

    def _given(self, sentence: int) -> Iterator[StatedValue]:
        """What a sentence gives by the names of attributes, and by the wordings of others."""
        named = list(read_sentence(self.reader, sentence, tuple(self.labels.values())))
        for one in self._learned(sentence):
            touching = [two for two in named if overlap(one.span, [two.span])]
            same = [two for two in touching if two.label == one.label]
            if one.sure or any(two.sure for two in same):
                named = [two for two in named if two not in touching]
                yield one._replace(sure=True)
                continue
            named = [two for two in named if two not in same]
            if touching == same:
                yield one
        yield from named

    def _before(self, place: Span, start: int = 0) -> str:
        return self.reader.text[max(start, place.start - _REACH) : place.start]

    def _said(self, entity: str, record: Record, label: str) -> list[Attribution]:
        return [
            Attribution(stated, about, read_value(self.reader.text[slice(*stated.span)]))
            for about in record.sentences
            for stated in self.readings(about.sentence)
            if stated.label == label and self.owner(about.sentence, stated.span) == entity
        ]

    def subjects(self, sentence: int) -> list[tuple[Span, str]]:
        """The entities that a sentence names and does not give to another as a value."""
        values = []
        for place in (one.span for one in self.readings(sentence) if one.sure):
            said = self.reader.text[slice(*place)]
            if len(said.split()) <= _NAME and not any(map(str.isdigit, said)):
                values.append(place)
        names = self.reader.names_in(sentence)
        return [named for named in names if not any(encloses(one, named[0]) for one in values)]

    def owner(self, sentence: int, place: Span) -> str | None:
        """Whom a value of a sentence belongs to: the entity named last before it, or the only one.

        ``None`` where that is not known.
        """
        names = self.subjects(sentence)
        if not names:
            return self.reader.carriers.get(sentence)
        before = [name for span, name in names if span.end <= place.start]
        return before[-1] if before else names[0][1]

    def times(self, record: Record) -> Iterator[tuple[Value, About]]:
        """Years and dates that a record is set in: "In 2029, ..."."""
        for about in (one for one in record.sentences if one.sure):
            given = [stated.span for stated in self.readings(about.sentence)]
            amounts = self.reader.amounts(self.reader.sentences[about.sentence])
            for span in (one for one in amounts if not overlap(one, given)):
                value = read_value(self.reader.text[slice(*span)])
                if moments_of(value) and _WHEN.search(self._before(span)):
                    yield value, about

    def _in_scope(self, entity: str) -> tuple[bool | None, list[Record], Breach | None]:
        """Whether an entity is in the query's scope, by which of its records, and what is against.

        Out of it is one of which each record breaks a condition, or, where it has one record,
        one that breaks any; nothing said is no breach.
        """
        records = self.of(entity)
        if not self.conditions:
            return None, records, None
        met = {record: [answer for answer, _ in self.meets(entity, record)] for record in records}
        good = [record for record in records if False not in met[record] and True in met[record]]
        neutral = [record for record in records if {*met[record]} == {None}]
        if good:
            return (True if any(all(met[one]) for one in good) else None), good + neutral, None
        breaches = [one for record in records for _, one in self.meets(entity, record) if one]
        if breaches and not (neutral and len(records) > 1):
            return False, records, breaches[0]
        return None, records, None

    def _meets(self, entity: str, record: Record) -> list[tuple[bool | None, Breach | None]]:
        """Whether a record meets each of the conditions; ``None`` where it does not say."""
        return [self._meet(entity, record, one) for one in self.conditions]

    def _meet(
        self, entity: str, record: Record, condition: ScopeCondition
    ) -> tuple[bool | None, Breach | None]:
        label = self.labels.get(condition.label)
        unit = label.unit if label else PLAIN
        values: list[tuple[Value, About]] = []
        if label is not None:
            said = self.said(entity, record, label.name)
            values += [(one.value, one.about) for one in said if one.plain]
        if condition.is_generic:
            values += self.times(record)
        answers = [condition.meets(value, unit) for value, _ in values]
        if True in answers or False not in answers:
            return (True in answers or None), None
        value, about = values[answers.index(False)]
        return False, Breach(condition, value.text, about.sentence)

    def _of(self, entity: str) -> list[Record]:
        """The records of an entity in the order of the text; none where it is not named.

        One, or one for each sentence and what carries on from it, where these differ.
        """
        groups: list[list[About]] = []
        for about in self.reader.about.get(entity, ()):
            if about.bond == "named":
                subjects = {name for _, name in self.subjects(about.sentence)}
                if subjects and entity not in subjects:
                    continue
                if not subjects:  # "The home team of somebody else is E"
                    about = About(about.sentence, "loose")
            if about.bond == "named" or not groups:
                groups.append([])
            groups[-1].append(about)
        parts = [Record(tuple(group)) for group in groups]
        if len(parts) < 2 or self._differ(entity, parts):
            return parts
        return [Record(tuple(about for group in groups for about in group))]

    def _differ(self, entity: str, parts: Sequence[Record]) -> bool:
        """Whether parts give one attribute, or the time, two values."""
        for label in self.labels.values():
            said = (one for part in parts for one in self.said(entity, part, label.name))
            plain = [one.value for one in said if one.plain]
            if not all(same_value(plain[0], value, label.unit) for value in plain[1:]):
                return True
        dated = parts if self._timed else ()
        return len({value.text for part in dated for value, _ in self.times(part)}) > 1


def same_value(one: Value, other: Value, unit: Unit) -> bool:
    """Whether two values say the same, in other words or with more of them."""
    return equal_values(one, other, unit) or includes(one, other, unit)
