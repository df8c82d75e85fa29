"""What one reading of a statement comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tablemend.records import ClaimError

Family = Literal[
    "superlative",
    "rank",
    "comparison",
    "bound",
    "difference",
    "equality",
    "count",
    "quantifier",
    "only",
    "aggregate",
    "change",
    "reference",
    "together",
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A small program over the table, run.

    Attributes:
        family: what sort of program.
        truth: whether the statement holds, read so.
        used: the tokens of the statement that the reading accounts for.
        fit: how well words and table fit together, at most 1: whole names rather than parts,
            a column that is named rather than guessed.
        cells: what decided it, as row and column of the view.
        reason: what was computed, in a line.
        fault: the tokens at fault where it does not hold, half open.
        expected: what would be right in their place.
        error: the type of the error where it does not hold.
    """

    family: Family
    truth: bool
    used: frozenset[int]
    fit: float
    cells: tuple[tuple[int, int], ...]
    reason: str
    fault: tuple[int, int] | None = None
    expected: tuple[str, ...] = ()
    error: ClaimError = "CMP"
