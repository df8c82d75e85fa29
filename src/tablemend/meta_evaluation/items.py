"""What people said of a text about a table: the one record that every validation set becomes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from tablemend.evidence.source import Source
from tablemend.values.text import Span

Label = Literal["supported", "contradicted", "not_in_source"]
Split = Literal["dev", "test"]


def split_of(split_key: str) -> Split:
    """The split of all records with this key: rules are chosen on dev, figures reported on test.

    The second lowest bit of its SHA-256: the sets that we have were cut from larger ones by the
    lowest, which is 0 for every record. No table or document is in both splits.

    >>> split_of("2-1570274-4.html.csv")
    'test'
    """
    return "test" if int(sha256(split_key.encode()).hexdigest(), 16) >> 1 & 1 else "dev"


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


def overlap(one: Span | Mark, other: Span | Mark) -> bool:
    """Whether two passages share at least one character."""
    return one.start < other.end and other.start < one.end
