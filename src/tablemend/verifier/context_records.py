"""What a context says of one entity, kept apart by occasion: the same ship in 2020 and in 2029."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from tablemend.values.cells import Value, equal_values, read_value
from tablemend.values.inclusion import includes
from tablemend.values.sentences import Span
from tablemend.values.units import PLAIN, Unit
from tablemend.verifier.context_text import About, ContextReader
from tablemend.verifier.context_values import Label, StatedValue, read_sentence
from tablemend.verifier.learned_wordings import overlap
from tablemend.verifier.scope_conditions import ScopeCondition, moments_of

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


class Said(NamedTuple):
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
        text, span = self.reader.text, self.reader.sentences[sentence]
        shared = _SHARED.search(text, *span)
        return tuple(
            stated._replace(sure=False)
            if shared or _BOUND.search(self._before(stated.span, span.start))
            else stated
            for stated in self._given(sentence)
        )

    def _given(self, sentence: int) -> Iterator[StatedValue]:
        """What a sentence gives by the names of attributes, and by the wordings of others."""
        named = list(read_sentence(self.reader, sentence, tuple(self.labels.values())))
        for one in self._learned(sentence):
            same = [
                two for two in named if two.label == one.label and overlap(one.span, [two.span])
            ]
            named = [two for two in named if two not in same]
            if one.sure or any(two.sure for two in same):
                named = [two for two in named if not overlap(one.span, [two.span])]
                yield one._replace(sure=True)
            elif not any(overlap(one.span, [two.span]) for two in named):
                yield one
        yield from named

    def _before(self, place: Span, start: int = 0) -> str:
        return self.reader.text[max(start, place.start - _REACH) : place.start]

    def _said(self, entity: str, record: Record, label: str) -> list[Said]:
        """What a record gives to an attribute."""
        return [
            Said(stated, about, read_value(self.reader.text[slice(*stated.span)]))
            for about in record.sentences
            for stated in self.readings(about.sentence)
            if stated.label == label and self.owner(about.sentence, stated.span) == entity
        ]

    def subjects(self, sentence: int) -> list[tuple[Span, str]]:
        """The entities that a sentence names and does not give to another as a value."""
        values = [stated.span for stated in self.readings(sentence) if self._is_name(stated)]
        return [
            (span, name)
            for span, name in self.reader.names_in(sentence)
            if not any(one.start <= span.start and span.end <= one.end for one in values)
        ]

    def _is_name(self, stated: StatedValue) -> bool:
        """Whether a value can be a name or hold one: sure, short and without a number."""
        said = self.reader.text[slice(*stated.span)]
        return stated.sure and len(said.split()) <= _NAME and not any(map(str.isdigit, said))

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
        for about in record.sentences:
            if not about.sure:
                continue
            given = [stated.span for stated in self.readings(about.sentence)]
            for span in self.reader.amounts(self.reader.sentences[about.sentence]):
                if any(one.start < span.end and span.start < one.end for one in given):
                    continue
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
            said = [one for part in parts for one in self.said(entity, part, label.name)]
            plain = [one.value for one in said if one.plain]
            if not all(same_value(plain[0], value, label.unit) for value in plain[1:]):
                return True
        times = (
            {value.text for part in parts for value, _ in self.times(part)} if self._timed else ()
        )
        return len(times) > 1


def same_value(one: Value, other: Value, unit: Unit) -> bool:
    """Whether two values say the same, in other words or with more of them."""
    return equal_values(one, other, unit) or includes(one, other, unit)
