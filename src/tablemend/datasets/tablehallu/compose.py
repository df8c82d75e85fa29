"""From sentences that state cells to a pair of contexts whose facts all have a known place.

A row is verbalised as sentences (:class:`Sentence`), each knowing where in it every value
stands. :func:`compose` lays the gold rows out as the clean context, and gold and distractor
rows together, dispersed, as the adversarial one (TableHallu, A.2.2), and carries every span
along, so that no place ever has to be searched for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from string import Formatter
from typing import NamedTuple

from tablemend.records import Fact, Mention


class Stated(NamedTuple):
    """A value inside a sentence: half-open character span, relative to the sentence."""

    column: str
    value: str
    start: int
    end: int


class Sentence(NamedTuple):
    """A sentence and the cells that it states."""

    text: str
    stated: tuple[Stated, ...]


@dataclass(frozen=True, slots=True)
class StatedRow:
    """All sentences about one row.

    Attributes:
        entity: the row's primary key.
        sentences: in any order; each can be read alone.
        violates: column of the condition that the row breaks; ``None`` for a gold row.
    """

    entity: str
    sentences: tuple[Sentence, ...]
    violates: str | None = None


class Composition(NamedTuple):
    """Both contexts and the place of every fact in them."""

    clean: str
    adversarial: str
    facts: tuple[Fact, ...]


def fill(pattern: str, values: Mapping[str, str]) -> Sentence:
    """Fill ``{column}`` slots and record where each value lands.

    Raises:
        KeyError: a slot names a column that ``values`` lacks.
    """
    parts: list[str] = []
    stated: list[Stated] = []
    length = 0
    for literal, slot, _, _ in Formatter().parse(pattern):
        parts.append(literal)
        length += len(literal)
        if slot is not None:
            value = values[slot]
            stated.append(Stated(slot, value, length, length + len(value)))
            parts.append(value)
            length += len(value)
    return Sentence("".join(parts), tuple(stated))


def _lay_out(
    sentences: Iterable[tuple[int, Sentence]], paragraph: int
) -> tuple[str, dict[int, int]]:
    """Join numbered sentences into paragraphs; starts by number."""
    parts: list[str] = []
    starts: dict[int, int] = {}
    length = 0
    border = "\n" if paragraph == 1 else "\n\n"
    for position, (number, sentence) in enumerate(sentences):
        if position:
            joint = border if paragraph and position % paragraph == 0 else " "
            parts.append(joint)
            length += len(joint)
        starts[number] = length
        parts.append(sentence.text)
        length += len(sentence.text)
    return "".join(parts), starts


def compose(
    gold: Sequence[StatedRow],
    distractors: Sequence[StatedRow],
    rng: Random,
    paragraph: int = 0,
) -> Composition:
    """Lay out both contexts.

    Sentences are shuffled, gold ones first among themselves (the clean context), then all
    together: the gold order of the clean context is kept inside the adversarial one.

    Args:
        gold: the rows in scope, in the order of the gold table.
        distractors: the rows out of scope; each names the condition it breaks.
        rng: the only source of chance.
        paragraph: sentences a paragraph, with a blank line between two; 0 writes one
            paragraph, 1 one sentence a line.
    """
    numbered = [
        (row, stated_row, sentence)
        for rows in (gold, distractors)
        for row, stated_row in enumerate(rows)
        for sentence in stated_row.sentences
    ]
    first_distractor = sum(len(row.sentences) for row in gold)
    gold_order = list(range(first_distractor))
    rng.shuffle(gold_order)
    # A shuffled pattern of gold (True) and distractor places disperses the gold sentences.
    places = [True] * first_distractor + [False] * (len(numbered) - first_distractor)
    rng.shuffle(places)
    other_order = list(range(first_distractor, len(numbered)))
    rng.shuffle(other_order)
    gold_next, other_next = iter(gold_order), iter(other_order)
    order = [next(gold_next) if is_gold else next(other_next) for is_gold in places]
    clean, clean_starts = _lay_out([(n, numbered[n][2]) for n in gold_order], paragraph)
    adversarial, starts = _lay_out([(n, numbered[n][2]) for n in order], paragraph)
    facts: list[Fact] = []
    # tuple.__new__ skips the keyword handling of named tuples: a third of the time of compose.
    new = tuple.__new__
    for n, (row, stated_row, sentence) in enumerate(numbered):
        entity, violates = stated_row.entity, stated_row.violates
        at, length = starts[n], len(sentence.text)
        clean_at = clean_starts[n] if n < first_distractor else None
        for column, value, start, end in sentence.stated:
            clean_place = None
            if clean_at is not None:
                place = (clean_at + start, clean_at + end, clean_at, clean_at + length)
                clean_place = new(Mention, place)
            place = (at + start, at + end, at, at + length)
            fact = (row, entity, column, value, violates, clean_place, new(Mention, place))
            facts.append(new(Fact, fact))
    return Composition(clean, adversarial, tuple(facts))
