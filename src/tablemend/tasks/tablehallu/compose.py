"""From sentences that state cells to a pair of contexts whose facts all have a known place.

A row is verbalised as passages (:class:`Sentence`), each knowing where in it every value
stands. :class:`Context` lays all rows out, dispersed, before a query is known (the adversarial
context of TableHallu, A.2.2), and carries every span along, so that no place ever has to be
searched for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from string import Formatter
from typing import NamedTuple

from tablemend.records import Fact, Mention


class ValueSpan(NamedTuple):
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
    stated: tuple[ValueSpan, ...]
    theme: int = 0


@dataclass(frozen=True, slots=True)
class StatedRow:
    """All sentences about one row.

    Attributes:
        entity: the row's primary key.
        sentences: in any order; each can be read alone.
    """

    entity: str
    sentences: tuple[Sentence, ...]


class Composition(NamedTuple):
    """Both contexts of a query and the place of every fact in them.

    Attributes:
        groups: the group of each distractor row, by its number in ``facts``.
    """

    clean: str
    adversarial: str
    facts: tuple[Fact, ...]
    groups: tuple[int, ...]


def fill(pattern: str, values: Mapping[str, str]) -> Sentence:
    """Fill ``{column}`` slots and record where each value lands.

    Raises:
        KeyError: a slot names a column that ``values`` lacks.
    """
    parts: list[str] = []
    stated: list[ValueSpan] = []
    length = 0
    for literal, slot, _, _ in Formatter().parse(pattern):
        parts.append(literal)
        length += len(literal)
        if slot is not None:
            value = values[slot]
            stated.append(ValueSpan(slot, value, length, length + len(value)))
            parts.append(value)
            length += len(value)
    return Sentence("".join(parts), tuple(stated))


def _cut(order: Sequence[int], size: int) -> list[Sequence[int]]:
    """Pieces of about that size, none much shorter than the others."""
    total, count = len(order), max(1, round(len(order) / max(1, size)))
    ends = [total * piece // count for piece in range(count + 1)]
    return [order[start:end] for start, end in pairwise(ends)]


class Context:
    """The text of all rows, laid out before there is a query.

    Sentences are shuffled within their themes, those of all rows alike.

    Args:
        rows: what is said of each.
        groups: the group of each row, any of which may be asked for.
        rng: the only source of chance.
        paragraph: sentences a paragraph, with a blank line between two; 0 writes one
            paragraph, 1 one sentence a line.
        heading: heading of the text; may be empty.

    Attributes:
        text: the adversarial context of every query.
        rows, heading: as given.
    """

    def __init__(
        self,
        rows: Sequence[StatedRow],
        groups: Sequence[int],
        rng: Random,
        paragraph: int = 0,
        heading: str = "",
    ) -> None:
        self.rows, self._groups, self.heading = rows, groups, heading
        self._layout = paragraph, heading
        self._sentences = [(row, said) for row, own in enumerate(rows) for said in own.sentences]
        self._size = paragraph or len(self._sentences)
        self._border = "\n" if paragraph == 1 else "\n\n"
        themes: dict[int, list[int]] = defaultdict(list)
        for number, (_, sentence) in enumerate(self._sentences):
            themes[sentence.theme].append(number)
        self._order = [themes[theme] for theme in sorted(themes)]
        paragraphs = list[Sequence[int]]()
        for order in self._order:
            rng.shuffle(order)
            paragraphs += _cut(order, self._size)
        self.text, self._starts = self._lay_out(paragraphs)

    def _lay_out(self, paragraphs: Iterable[Sequence[int]]) -> tuple[str, dict[int, int]]:
        """Join the numbered sentences of paragraphs; starts by number."""
        parts, starts = [self.heading], dict[int, int]()
        length, joint = len(self.heading), "\n\n" if self.heading else ""
        for paragraph in paragraphs:
            for number in paragraph:
                starts[number] = length + len(joint)
                parts.append(joint + self._sentences[number][1].text)
                length += len(parts[-1])
                joint = " "
            joint = self._border
        return "".join(parts), starts

    def reword(self, rows: Sequence[StatedRow], rng: Random) -> Context:
        """The same rows in other words, laid out anew."""
        return Context(rows, self._groups, rng, *self._layout)

    def ask(self, gold: Sequence[int], violated: Sequence[str | None]) -> Composition:
        """What a query makes of the text: some rows are gold, the others distractors.

        The clean context has the sentences of the gold rows alone, in the same order.

        Args:
            gold: the rows asked for, in the order of the gold table; none where no row is.
            violated: for each row the column of the condition that it breaks; ``None`` for gold.
        """
        place = {row: number for number, row in enumerate(gold)}
        others = [row for row in range(len(self.rows)) if row not in place]
        numbers = place | {row: number for number, row in enumerate(others)}
        paragraphs = list[Sequence[int]]()
        for order in self._order:
            own = [number for number in order if self._sentences[number][0] in place]
            paragraphs += _cut(own, self._size)
        clean, clean_starts = self._lay_out(paragraphs)
        facts: list[Fact] = []
        # tuple.__new__ skips the keyword handling of named tuples: a third of the time.
        new = tuple.__new__
        for number, (row, sentence) in enumerate(self._sentences):
            at, length, entity = self._starts[number], len(sentence.text), self.rows[row].entity
            clean_at = clean_starts.get(number)
            for column, value, start, end in sentence.stated:
                clean_place = None
                if clean_at is not None:
                    spans = (clean_at + start, clean_at + end, clean_at, clean_at + length)
                    clean_place = new(Mention, spans)
                mention = new(Mention, (at + start, at + end, at, at + length))
                fact = (numbers[row], entity, column, value, violated[row], clean_place, mention)
                facts.append(new(Fact, fact))
        groups = tuple(self._groups[row] for row in others)
        return Composition(clean, self.text, tuple(facts), groups)
