"""A condition: something that the statement says and that holds of some rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Something that holds of some rows.

    Attributes:
        first, last: the tokens that say it, half open.
        rows: the rows of which it holds.
        used: the tokens that the reading accounts for.
        fit: how surely it is meant so.
        column: the column that it speaks of.
        bound: whether an amount is compared, and not only found.
        members: the rows of each name of a list ("A, B and C"); empty for one name.
    """

    first: int
    last: int
    rows: frozenset[int]
    used: frozenset[int]
    fit: float
    column: int
    bound: bool = False
    members: tuple[frozenset[int], ...] = ()

    @property
    def span(self) -> tuple[int, int]:
        """Its tokens, half open."""
        return self.first, self.last


def within(conditions: Iterable[RowFilter], rows: Iterable[int]) -> frozenset[int]:
    """The rows of which all hold."""
    kept = frozenset(rows)
    for condition in conditions:
        kept &= condition.rows
    return kept


def range_set(first: int, last: int) -> frozenset[int]:
    """Tokens as a set."""
    return frozenset(range(first, last))
