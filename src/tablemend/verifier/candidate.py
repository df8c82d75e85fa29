"""One reading of something that a claim states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tablemend.records import ClaimError, Evidence


@dataclass(frozen=True, slots=True)
class Candidate:
    """A table program that a claim can mean, executed.

    Attributes:
        kind: what is stated.
        start, end: the words that state it, as places in the document.
        truth: whether the table gives what is stated; ``None`` where that is not clear.
        features: what speaks for this reading, for the ranking.
        evidence: the cells that decided it.
        error: the type of the error if it is false.
        expected: what would be right in place of the words.
        reason: one line for a person.
        doubtful: whether words were passed over without which it is false: it contradicts nothing.
    """

    kind: Literal["number", "period", "name", "computed"]
    start: int
    end: int
    truth: bool | None
    features: dict[str, float]
    evidence: tuple[Evidence, ...] = ()
    error: ClaimError = "NUM"
    expected: tuple[str, ...] = ()
    reason: str = ""
    doubtful: bool = False
