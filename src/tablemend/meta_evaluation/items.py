"""What people said of a text about a table: the one record that every validation set becomes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tablemend.evidence.source import Source
from tablemend.values.sentences import Span

Label = Literal["supported", "contradicted", "not_in_source"]


@dataclass(frozen=True, slots=True)
class Mark:
    """Words that an annotator marked.

    Attributes:
        start, end: half-open character places in the text.
        label: what the set calls the error.
        error: whether that is an error of faithfulness; where not (repetition, incoherence, a
            fragment), what is predicted there is neither right nor wrong.
    """

    start: int
    end: int
    label: str
    error: bool = True

    def overlaps(self, span: Span) -> bool:
        """Whether at least one character is shared."""
        return self.start < span.end and span.start < self.end


@dataclass(frozen=True, slots=True)
class Item:
    """One text with its source and what people said of it.

    Attributes:
        id: within its set.
        set: name of the set.
        group: a part of the set that has figures of its own: a domain, a difficulty; may be empty.
        text: what is verified.
        source: the truth.
        split_key: what is split and resampled together.
        references: texts that people wrote of the same source; may be empty.
        label: of the text as one statement; ``None`` in sets without.
        marks: one tuple for every annotator; empty in sets without marked words.
        rating: how much of the source the text gets right, by people; ``None`` in sets without.
    """

    id: str
    set: str
    group: str
    text: str
    source: Source
    split_key: str
    references: tuple[str, ...] = ()
    label: Label | None = None
    marks: tuple[tuple[Mark, ...], ...] = ()
    rating: float | None = None

    @property
    def judgements(self) -> Iterator[bool]:
        """Whether the text holds an error: the label, or each annotator's marks."""
        if self.label is not None:
            yield self.label != "supported"
        for marks in self.marks:
            yield any(mark.error for mark in marks)


def overlap(one: Span, other: Span) -> bool:
    """Whether two spans share at least one character."""
    return one.start < other.end and other.start < one.end
