"""From sentences that state cells to a pair of contexts whose facts all have a known place.

A row is verbalised as passages (:class:`Sentence`), each knowing where in it every value
stands. :func:`compose` lays the gold rows out as the clean context, and gold and distractor
rows together, dispersed, as the adversarial one (TableHallu, A.2.2), and carries every span
along, so that no place ever has to be searched for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
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
    """A sentence, or several that stay together, and the cells that they state.

    Attributes:
        text: the first sentence names the entity; pronouns of the others refer to it.
        stated: the cells.
        theme: sentences of a lower one come before all of a higher one.
    """

    text: str
    stated: tuple[Stated, ...]
    theme: int = 0


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


def _cut(order: Sequence[int], size: int) -> list[Sequence[int]]:
    """Pieces of about that size, none much shorter than the others."""
    total, count = len(order), max(1, round(len(order) / max(1, size)))
    ends = [total * piece // count for piece in range(count + 1)]
    return [order[start:end] for start, end in pairwise(ends)]


def _lay_out(
    paragraphs: Iterable[Sequence[int]],
    sentences: Sequence[Sentence],
    border: str,
    heading: str,
) -> tuple[str, dict[int, int]]:
    """Join the numbered sentences of paragraphs; starts by number."""
    parts = [heading]
    starts: dict[int, int] = {}
    length, joint = len(heading), "\n\n" if heading else ""
    for paragraph in paragraphs:
        for number in paragraph:
            starts[number] = length + len(joint)
            parts.append(joint + sentences[number].text)
            length += len(parts[-1])
            joint = " "
        joint = border
    return "".join(parts), starts


def compose(
    gold: Sequence[StatedRow],
    distractors: Sequence[StatedRow],
    rng: Random,
    paragraph: int = 0,
    apart: bool = False,
    heading: str = "",
) -> Composition:
    """Lay out both contexts.

    Sentences are shuffled within their themes, gold ones first among themselves (the clean
    context), then all together: the gold order of the clean context is kept inside the
    adversarial one.

    Args:
        gold: the rows in scope, in the order of the gold table.
        distractors: the rows out of scope; each names the condition it breaks.
        rng: the only source of chance.
        paragraph: sentences a paragraph, with a blank line between two; 0 writes one
            paragraph, 1 one sentence a line.
        apart: no paragraph has sentences of both kinds.
        heading: heading of both contexts; may be empty.
    """
    numbered = [
        (row, stated_row, sentence)
        for rows in (gold, distractors)
        for row, stated_row in enumerate(rows)
        for sentence in stated_row.sentences
    ]
    first_distractor = sum(len(row.sentences) for row in gold)
    themes: dict[int, tuple[list[int], list[int]]] = {}
    for n, (_, _, sentence) in enumerate(numbered):
        themes.setdefault(sentence.theme, ([], []))[n >= first_distractor].append(n)
    size = paragraph or len(numbered)
    step = size if apart else 1
    clean_paragraphs, paragraphs = list[Sequence[int]](), list[Sequence[int]]()
    for _, (gold_order, other_order) in sorted(themes.items()):
        rng.shuffle(gold_order)
        # A shuffled pattern of gold (True) and distractor places disperses the gold sentences.
        places = [True] * len(_cut(gold_order, step)) + [False] * len(_cut(other_order, step))
        rng.shuffle(places)
        rng.shuffle(other_order)
        next_of = {True: iter(_cut(gold_order, step)), False: iter(_cut(other_order, step))}
        order = [next(next_of[is_gold]) for is_gold in places]
        clean_paragraphs += _cut(gold_order, size)
        paragraphs += order if apart else _cut([n for piece in order for n in piece], size)
    sentences = [sentence for _, _, sentence in numbered]
    border = "\n" if paragraph == 1 else "\n\n"
    clean, clean_starts = _lay_out(clean_paragraphs, sentences, border, heading)
    adversarial, starts = _lay_out(paragraphs, sentences, border, heading)
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
