"""What a context says of one entity, kept apart by occasion: the same ship in 2020 and in 2029."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tablemend.values.cells import Value, equal_values, read_value
from tablemend.values.inclusion import includes
from tablemend.values.sentences import Span
from tablemend.values.units import PLAIN, Unit
from tablemend.verifier.context_labels import Label
from tablemend.verifier.context_reading import About, ContextReader
from tablemend.verifier.context_values import StatedValue, read_sentence
from tablemend.verifier.scope_conditions import ScopeCondition, moments_of

_REACH = 24  # characters
_NAME = 6  # words
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
        return self.stated.sure and self.about.bond != "loose"


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
        labels: Sequence[Label],
        conditions: Sequence[ScopeCondition],
        timed: bool,
    ) -> None:
        self.reader = reader
        self.labels = {label.name: label for label in labels}
        self.conditions = tuple(conditions)
        self._timed = timed or any(condition.is_generic for condition in conditions)
        self._readings: dict[int, tuple[StatedValue, ...]] = {}
        self._said: dict[tuple[Record, str], list[Said]] = {}
        self._records: dict[str, list[Record]] = {}
        self._scopes: dict[str, tuple[bool | None, list[Record], Breach | None]] = {}
        self._met: dict[Record, list[tuple[bool | None, Breach | None]]] = {}

    def readings(self, sentence: int) -> tuple[StatedValue, ...]:
        """All values that a sentence gives to attributes."""
        if sentence not in self._readings:
            labels = tuple(self.labels.values())
            found = read_sentence(self.reader, sentence, labels)
            text, span = self.reader.text, self.reader.sentences[sentence]
            shared = _SHARED.search(text, span.start, span.end) is not None
            self._readings[sentence] = tuple(
                stated._replace(sure=False)
                if shared
                or _BOUND.search(text[max(span.start, stated.span.start - 24) : stated.span.start])
                else stated
                for stated in found
            )
        return self._readings[sentence]

    def of(self, entity: str) -> list[Record]:
        """The records of an entity, in the order of the text; none where it is not named."""
        if entity not in self._records:
            self._records[entity] = self._part(entity)
        return self._records[entity]

    def said(self, entity: str, record: Record, label: str) -> list[Said]:
        """What a record gives to an attribute."""
        key = (record, label)
        if key not in self._said:
            self._said[key] = [
                Said(stated, about, read_value(self.reader.text[slice(*stated.span)]))
                for about in record.sentences
                for stated in self.readings(about.sentence)
                if stated.label == label and self.owner(about.sentence, stated.span) == entity
            ]
        return self._said[key]

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
        text = self.reader.text
        for about in record.sentences:
            if about.bond == "loose":
                continue
            bound = [stated.span for stated in self.readings(about.sentence)]
            for span in self.reader.amounts(self.reader.sentences[about.sentence]):
                if any(one.start < span.end and span.start < one.end for one in bound):
                    continue
                value = read_value(text[slice(*span)])
                if moments_of(value) and _WHEN.search(text[max(0, span.start - 24) : span.start]):
                    yield value, about

    def in_scope(self, entity: str) -> tuple[bool | None, list[Record], Breach | None]:
        """Whether an entity is in the query's scope, by which of its records, and what is against.

        Out of it is one of which each record breaks a condition, or, where it has one record,
        one that breaks any; nothing said is no breach.
        """
        if entity not in self._scopes:
            self._scopes[entity] = self._place(entity)
        return self._scopes[entity]

    def _place(self, entity: str) -> tuple[bool | None, list[Record], Breach | None]:
        records = self.of(entity)
        if not self.conditions:
            return None, records, None
        good, neutral = [], []
        breach: Breach | None = None
        for record in records:
            met = self._meets(entity, record)
            broken = next((one for answer, one in met if answer is False), None)
            if broken is not None:
                breach = breach or broken
            elif any(answer for answer, _ in met):
                good.append(record)
            else:
                neutral.append(record)
        if good:
            complete = [r for r in good if all(answer for answer, _ in self._meets(entity, r))]
            return (True if complete else None), good + neutral, None
        if breach is not None and not (neutral and len(records) > 1):
            return False, records, breach
        return None, records, None

    def meets(self, entity: str, record: Record) -> list[bool | None]:
        """Whether a record meets each of the conditions; ``None`` where it does not say."""
        return [answer for answer, _ in self._meets(entity, record)]

    def _meets(self, entity: str, record: Record) -> list[tuple[bool | None, Breach | None]]:
        if record not in self._met:
            self._met[record] = [self._meet(entity, record, one) for one in self.conditions]
        return self._met[record]

    def _meet(
        self, entity: str, record: Record, condition: ScopeCondition
    ) -> tuple[bool | None, Breach | None]:
        label = self.labels.get(condition.label)
        unit = label.unit if label else PLAIN
        found: list[tuple[bool | None, Value, About]] = []
        if label is not None:
            for one in self.said(entity, record, label.name):
                if one.plain:
                    found.append((condition.meets(one.value, unit), one.value, one.about))
        if condition.is_generic:
            for value, about in self.times(record):
                found.append((condition.meets(value), value, about))
        if any(answer for answer, _, _ in found):
            return True, None
        for answer, value, about in found:
            if answer is False:
                return False, Breach(condition, value.text, about.sentence)
        return None, None

    def _part(self, entity: str) -> list[Record]:
        """One record, or one for each sentence and what carries on from it, where these differ."""
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
        if not groups:
            return []
        parts = [Record(tuple(group)) for group in groups]
        if len(parts) > 1 and self._differ(entity, parts):
            return parts
        return [Record(tuple(about for group in groups for about in group))]

    def _differ(self, entity: str, parts: Sequence[Record]) -> bool:
        """Whether parts give one attribute, or the time, two values."""
        for label in self.labels.values():
            first: Value | None = None
            for part in parts:
                for one in self.said(entity, part, label.name):
                    if not one.plain:
                        continue
                    if first is not None and not same_value(first, one.value, label.unit):
                        return True
                    first = first or one.value
        if self._timed:
            seen = {value.text for part in parts for value, _ in self.times(part)}
            return len(seen) > 1
        return False


def same_value(one: Value, other: Value, unit: Unit) -> bool:
    """Whether two values say the same, in other words or with more of them."""
    return equal_values(one, other, unit) or includes(one, other, unit)
