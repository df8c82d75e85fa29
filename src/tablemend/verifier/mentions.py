"""What words of a statement name: cells, columns, numbers."""

from __future__ import annotations

from dataclasses import dataclass

from tablemend.verifier.reading import Amount


@dataclass(frozen=True, slots=True)
class CellMention:
    """Words that name cells of one column.

    Attributes:
        first, last: the tokens, half open.
        column: the column whose cells have the words.
        rows: the rows whose cell has them; where cells consist of them, only those.
        share: how much of the cells' words they are, 1 where they are the whole cell.
    """

    first: int
    last: int
    column: int
    rows: frozenset[int]
    share: float


@dataclass(frozen=True, slots=True)
class ColumnMention:
    """Words that name a column.

    Attributes:
        first, last: the tokens, half open.
        column: the column.
        share: how much of the header they are.
    """

    first: int
    last: int
    column: int
    share: float


@dataclass(frozen=True, slots=True)
class StatedNumber:
    """A number of the statement as one token or several.

    Attributes:
        first, last: the tokens, half open.
        amount: what is stated.
        value: the number.
    """

    first: int
    last: int
    amount: Amount
    value: float


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that select rows, with every column in which they can.

    Attributes:
        first, last: the tokens, half open.
        mentions: one for every column, the likeliest first.
    """

    first: int
    last: int
    mentions: tuple[CellMention, ...]

    @property
    def rows(self) -> frozenset[int]:
        """Rows that any of its readings selects."""
        return frozenset().union(*(mention.rows for mention in self.mentions))

    @property
    def share(self) -> float:
        """How much of a cell it names."""
        return self.mentions[0].share
