"""Does a sentence in other words still state exactly what it stated?

Stricter than reading: every value stands there as it is written, so that its place is known to
the character, and nothing else has come in that a table could be filled from.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from tablemend.datasets.tablehallu.columns import words_of
from tablemend.datasets.tablehallu.compose import Sentence, Stated
from tablemend.prompting.replies import Problem
from tablemend.records import Example, Fact
from tablemend.values.cells import read_value, year_of
from tablemend.values.sentences import sentence_spans

ENTITY_MISSING = "entity missing or changed"
VALUE_MISSING = "value missing or changed"
VALUE_TWICE = "value said more often"
NUMBER_ADDED = "number added"
WORD_ADDED = "number word, comparison, hedge or negation added"
NAME_ADDED = "name added"
OTHER_ENTITY = "entity of another row named"
BLANK_NAMED = "blank attribute named"
ATTRIBUTE_MISSING = "attribute of a number not named"
SWAPPED = "value beside another attribute"
TOO_LONG = "too long"
NOT_ONE = "not one sentence"
MARKUP = "markup added"
UNCHANGED = "same words as before"
NOT_REWORDED = "sentence that was not or cannot be reworded"

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LETTER_BEFORE = re.compile(r"[\w$\u20ac\u00a3\u00a5]$|\d[.,]$")
_LETTER_AFTER = re.compile(r"\w")
_MORE_NUMBER = re.compile(r"%|[.,]\d")
_MARKUP = re.compile(r"[*`{}|#<>\[\]_\u25a0]")
_MASK = "\u25a0"
# What no rewording may bring in: words for numbers, comparisons, hedges, negations.
_ADDING = frozenset(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred hundreds thousand thousands million millions billion billions trillion dozen dozens
    half quarter third twice double doubled triple tripled once pair both first second fourth
    fifth last final
    highest lowest largest smallest biggest best worst longest shortest tallest oldest newest
    youngest earliest latest fastest slowest most least fewest more less fewer higher lower larger
    smaller greater top leading only
    about approximately approx nearly almost roughly around estimated circa some exactly
    not no never neither nor none without unknown undisclosed unavailable unspecified missing
    isn't wasn't doesn't didn't hasn't cannot can't former latter respectively
    """.split()
)
_LITTLE = frozenset("the and per for from with number name total its".split())
_STEM = 4
_NEAR = 8


class Told(NamedTuple):
    """A sentence of an example and what it states.

    Attributes:
        text: the sentence.
        entity: the primary key of its row.
        facts: what it states, by place in the example's facts.
    """

    text: str
    entity: str
    facts: tuple[int, ...]


class Rewording:
    """Holds the sentences of one example against what a model makes of them."""

    def __init__(self, example: Example) -> None:
        self._facts = example.facts
        # Lists in order, no sets: the reason is part of the next prompt.
        self._names: dict[str, list[str]] = defaultdict(list)
        for entity in dict.fromkeys(fact.entity for fact in example.facts):
            words = words_of(entity)
            self._names[words.split()[0] if words.strip() else ""].append(words)
        table = example.gold_table
        entities = {fact.row: fact.entity for fact in example.facts if fact.violates is None}
        self._blanks: dict[str, list[str]] = defaultdict(list)
        for row, cells in enumerate(table.rows):
            for column, cell in zip(table.columns, cells, strict=True):
                if cell is None and row in entities:
                    self._blanks[entities[row]].append(column)

    def is_fit(self, told: Told) -> bool:
        """Whether every value stands in the sentence once for each time that it is stated.

        Only then is it plain which words of a new sentence are the value.
        """
        wanted = self._wanted(told)
        found, _ = _find(told.text, wanted)
        return all(len(found[value]) == count for value, count in wanted.items())

    def check(self, told: Told, new: str) -> Sentence | Problem:
        """The new sentence with the place of every value, or what is wrong with it."""
        facts = [self._facts[index] for index in told.facts]
        wanted = self._wanted(told)
        places, rest = _find(new, wanted)
        _, old_rest = _find(told.text, wanted)
        problem = (
            _check_form(told.text, new)
            or _check_values(told, wanted, places)
            or _check_additions(told.text, old_rest, rest)
            or self._check_names(told, new)
            or self._check_blanks(told, facts, new)
        )
        if problem:
            return problem
        stated = _state(facts, places)
        return (
            _check_repetition(facts, rest)
            or _check_labels(told, stated, new, rest)
            or (Sentence(new, tuple(stated)))
        )

    def _wanted(self, told: Told) -> Counter[str]:
        """How often each value is stated, and the entity that the sentence must name."""
        wanted = Counter(self._facts[index].value for index in told.facts)
        wanted[told.entity] = max(1, wanted[told.entity])
        return wanted

    def _check_names(self, told: Told, new: str) -> Problem | None:
        spoken, known = words_of(new), words_of(told.text)
        for word in dict.fromkeys(spoken.split()):
            for name in self._names.get(word, ()):
                if name in spoken and name not in known:
                    text = f'"{name.strip()}" belongs to another sentence.'
                    return Problem(OTHER_ENTITY, text)
        return None

    def _check_blanks(self, told: Told, facts: Sequence[Fact], new: str) -> Problem | None:
        """The words of verification: what is blank is not named beside its entity."""
        for entity, columns in self._blanks.items():
            if entity not in new:
                continue
            for column in columns:
                label = words_of(column)
                spoken = words_of(new.replace(entity, " | "))
                for fact in facts:
                    if fact.column != column and label in words_of(fact.column):
                        spoken = spoken.replace(words_of(fact.column), " | ")
                if label.strip() and label in spoken:
                    return Problem(BLANK_NAMED, f'Nothing may be said of the "{column}".')
        return None


def _find(text: str, wanted: Iterable[str]) -> tuple[dict[str, list[int]], str]:
    """Where each value starts, longest values first, and the text with all of them masked."""
    places: dict[str, list[int]] = {}
    for value in sorted(wanted, key=lambda value: (-len(value), value)):
        found: list[int] = []
        start = text.find(value)
        while start >= 0:
            end = start + len(value)
            if _is_whole(text, start, end):
                found.append(start)
                text = text[:start] + _MASK * len(value) + text[end:]
            start = text.find(value, start + 1)
        places[value] = found
    return places, text


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether a value has borders: 5 is not in 15, 5.2, -5, $5 or 5%."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if _LETTER_BEFORE.search(before) or _LETTER_AFTER.match(after):
        return False
    if text[start].isdigit() and before[-1:] in "-\u2212" and before:
        return False
    return not (text[end - 1].isdigit() and _MORE_NUMBER.match(after))


def _check_form(old: str, new: str) -> Problem | None:
    if new == old:
        return Problem(UNCHANGED, "The new sentence is the old one; put it into other words.")
    if len(new) > 2 * len(old) + 30:
        return Problem(TOO_LONG, "The new sentence is far longer than the old one.")
    if set(_MARKUP.findall(new)) - set(_MARKUP.findall(old)):
        return Problem(MARKUP, "The new sentence must be plain text without marks.")
    whole = len(sentence_spans(new)) <= max(1, len(sentence_spans(old)))
    if not whole or not new.rstrip("\"'\u201d\u2019)").endswith("."):
        return Problem(NOT_ONE, "Write exactly one sentence with a full stop at its end.")
    return None


def _check_values(told: Told, wanted: Counter[str], places: dict[str, list[int]]) -> Problem | None:
    if not places[told.entity]:
        return Problem(ENTITY_MISSING, f'"{told.entity}" must stand in it, letter by letter.')
    for value, count in wanted.items():
        if len(places[value]) < count:
            return Problem(VALUE_MISSING, f'"{value}" must stand in it as it is written.')
        if len(places[value]) > count and value != told.entity:
            return Problem(VALUE_TWICE, f'"{value}" must stand in it once only.')
    return None


def _check_additions(old: str, old_rest: str, rest: str) -> Problem | None:
    """Numbers, telling words and names beside the values that were not there before."""
    numbers = Counter(_NUMBER.findall(rest)) - Counter(_NUMBER.findall(old_rest))
    if numbers:
        return Problem(NUMBER_ADDED, f'"{min(numbers)}" is not in the sentence that was given.')
    words = list(_WORD.finditer(rest))
    folded = Counter(match[0].casefold().replace("\u2019", "'") for match in words)
    known = Counter(word.casefold().replace("\u2019", "'") for word in _WORD.findall(old_rest))
    added = sorted(word for word in (folded - known) if word in _ADDING)
    if added:
        return Problem(WORD_ADDED, f'"{added[0]}" adds something that was not said.')
    spoken = words_of(old)
    for match in words:
        is_start = not rest[: match.start()].strip("\"'\u201c\u2018 ")
        if match[0][0].isupper() and not is_start and words_of(match[0]) not in spoken:
            return Problem(NAME_ADDED, f'"{match[0]}" is not in the sentence that was given.')
    return None


def _state(facts: Sequence[Fact], places: dict[str, list[int]]) -> list[Stated]:
    """Every fact at the next place of its value."""
    left = {value: iter(starts) for value, starts in places.items()}
    starts = (next(left[fact.value]) for fact in facts)
    return [
        Stated(fact.column, fact.value, start, start + len(fact.value))
        for fact, start in zip(facts, starts, strict=True)
    ]


def _check_repetition(facts: Sequence[Fact], rest: str) -> Problem | None:
    """A value is not said again in other letters ("solar" beside "Solar")."""
    said = words_of(rest.replace(_MASK, " | "))
    for fact in facts:
        value = words_of(fact.value)
        if fact.value == fact.entity or not value.strip() or value not in said:
            continue
        if all(value not in words_of(other.column) for other in facts):
            return Problem(VALUE_TWICE, f'"{fact.value}" must stand in it once only.')
    return None


def _check_labels(told: Told, stated: Sequence[Stated], new: str, rest: str) -> Problem | None:
    """A number is said to be of its attribute, and no two values have changed places."""
    words = [(match[0].casefold(), match.start(), match.end()) for match in _WORD.finditer(rest)]
    facts = [part for part in stated if part.value != told.entity]
    stems = {part.column: _stems(part.column) for part in facts}
    at = _label_places(words, stems, rest)
    years = sum(year_of(read_value(part.value)) is not None for part in facts)
    for part in facts:
        value = read_value(part.value)
        counts = value.number is not None or bool(value.dates)
        # "In 2019" is plain where the sentence has one year.
        if "year" in stems[part.column] and years == 1 and year_of(value):
            continue
        if counts and stems[part.column] and not _spans(words, stems[part.column]):
            text = f'It must be plain that "{part.value}" is the "{part.column}".'
            return Problem(ATTRIBUTE_MISSING, text)
    for one, other in combinations(facts, 2):
        own, foreign = at[one.column], at[other.column]
        if one.column == other.column or not own or not foreign or own == foreign:
            continue
        straight = _distance(one, own) + _distance(other, foreign)
        crossed = _distance(one, foreign) + _distance(other, own)
        if crossed < straight:
            text = f'"{one.value}" is the "{one.column}", "{other.value}" the "{other.column}".'
            return Problem(SWAPPED, f"{text} Set each value beside its own attribute.")
    return None


def _label_places(
    words: Sequence[tuple[str, int, int]], stems: Mapping[str, set[str]], rest: str
) -> dict[str, list[tuple[int, int]]]:
    """Where the words of each label stand that are no other label's.

    A label without such words ("Votes" beside "Vote Share") has all of its words but those that
    a few letters join to a word of another's own ("Years in Force").
    """
    own = {}
    for column, named in stems.items():
        others = {stem for other, found in stems.items() if other != column for stem in found}
        own[column] = _spans(words, named - others)
    places = {}
    for column, named in stems.items():
        foreign = [span for other, spans in own.items() if other != column for span in spans]
        every = _spans(words, named)
        free = [span for span in every if not any(_are_joined(span, o, rest) for o in foreign)]
        places[column] = own[column] or free or every
    return places


def _are_joined(one: tuple[int, int], other: tuple[int, int], rest: str) -> bool:
    first, second = sorted((one, other))
    between = rest[first[1] : second[0]]
    return len(between) <= _NEAR and between.replace(" ", "a").isalpha()


def _stems(label: str) -> set[str]:
    """How a label's words begin, so that "launch" is found in "launched"; units in full."""
    head, _, unit = label.partition("(")
    words = [word.casefold() for word in _WORD.findall(head)]
    found = {word[:_STEM] for word in words if len(word) > 2 and word not in _LITTLE}
    return found | {word.casefold()[:_STEM] for word in _WORD.findall(unit)}


def _spans(words: Iterable[tuple[str, int, int]], stems: set[str]) -> list[tuple[int, int]]:
    return [(start, end) for word, start, end in words if word[:_STEM] in stems]


def _distance(part: Stated, places: Sequence[tuple[int, int]]) -> int:
    """Characters between a value and the nearest of some words."""
    return min(_gap((part.start, part.end), place) for place in places)


def _gap(one: tuple[int, int], other: tuple[int, int]) -> int:
    return max(other[0] - one[1], one[0] - other[1], 0)
