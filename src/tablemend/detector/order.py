"""Are the rows in the order that the query asks for?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import combinations, pairwise
from typing import NamedTuple

from tablemend.records import Constraints, SortOrder
from tablemend.tables.table import Cell
from tablemend.values.cells import Value, read_value, year_of
from tablemend.values.dates import MONTHS, WEEKDAYS
from tablemend.values.text import fold, strip_accents, tokens_of

_CALENDAR = {
    name: place
    for names in (MONTHS, WEEKDAYS)
    for place, full in enumerate(names)
    for name in (full, full[:3])
}
_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
_ARTICLE = re.compile(r"^(?:the|an?) ")
Rank = Callable[[Value, str], object | None]


class SortRule(NamedTuple):
    """The sort that a query demands: a column of the gold table and a direction."""

    column: str
    order: SortOrder

    @classmethod
    def of(cls, constraints: Constraints) -> SortRule | None:
        """The rule of an example; ``None`` where it names no column."""
        column = constraints.sort_column
        return cls(column, constraints.sort_order) if column else None


class Disorder(NamedTuple):
    """Two neighbouring matched rows in the wrong order: positions among the matched rows."""

    before: int
    after: int


def find_disorder(gold: Sequence[Cell], answer: Sequence[int], order: SortOrder) -> Disorder | None:
    """The first place where the answer breaks the order, or ``None``.

    Scored on *gold* values, so that a wrong cell is never an order error too. Ties are free,
    and so are rows whose sort cell is blank. Values are compared as numbers, dates, months
    and weekdays, or text, in the first of these ways that the gold table itself follows; where
    it follows none, only what the gold table has the other way round counts.

    Args:
        gold: the sort column of the gold table, top to bottom.
        answer: for each matched answer row, top to bottom, the index of its gold row.
        order: the direction demanded.
    """
    sign = 1 if order == "ascending" else -1
    ranks = _ranks_of(gold, sign)
    ranked = [(place, row) for place, row in enumerate(answer) if ranks[row] is not None]
    for (before, one), (after, other) in pairwise(ranked):
        if one > other and _reversed(ranks[one], ranks[other], sign):
            return Disorder(before, after)
    return None


def ordered_pairs(gold: Sequence[Cell], answer: Sequence[int], order: SortOrder) -> tuple[int, int]:
    """Pairs of gold rows that an answer has in the order demanded, and all that have one.

    A graded :func:`find_disorder`, with its arguments: ties and blanks have no order, and a row
    that the answer lacks is in order with none.
    """
    sign = 1 if order == "ascending" else -1
    ranks = _ranks_of(gold, sign)
    place = {row: index for index, row in enumerate(answer)}
    kept = total = 0
    for one, other in combinations(range(len(ranks)), 2):
        before, after = ranks[one], ranks[other]
        if before is not None and after is not None and _reversed(after, before, sign):
            total += 1
            kept += one in place and other in place and place[one] < place[other]
    return kept, total


def _usable(cells: Sequence[Cell]) -> Iterator[tuple[Rank, list[object | None]]]:
    """The ways of comparing that all filled cells of a column have; a blank has no rank."""
    values = [(read_value(cell), cell or "") for cell in cells]
    for rank in (*_TYPED, *_AS_TEXT):
        ranks = [None if value.blank else rank(value, cell) for value, cell in values]
        if all(
            own is not None or value.blank for own, (value, _) in zip(ranks, values, strict=True)
        ):
            yield rank, ranks


def _ranks_of(gold: Sequence[Cell], sign: int) -> list[object | None]:
    """The first ranks that the gold table follows, else the first that all its cells have."""
    every = [ranks for _, ranks in _usable(gold)]
    blank: list[object | None] = [None] * len(gold)
    return next((ranks for ranks in every if _follows(ranks, sign)), (every or [blank])[0])


def is_sorted(cells: Sequence[Cell], order: SortOrder) -> bool:
    """Whether a column runs in this order; ties and blanks are free.

    Numbers, dates, months and weekdays have one order; text may follow any of the usual ones.
    """
    for rank, ranks in _usable(cells):
        if _follows(ranks, 1 if order == "ascending" else -1):
            return True
        if rank in _TYPED:
            return False
    return False


def sort_rows(cells: Sequence[Cell], order: SortOrder) -> list[int] | None:
    """The rows of a column put into an order: indices, blanks last; ties stay as they are.

    By the first way of comparing that all filled cells have; ``None`` where none fits all.
    """
    ranks = next((ranks for _, ranks in _usable(cells)), None)
    if ranks is None:
        return None
    filled = [index for index, rank in enumerate(ranks) if rank is not None]
    filled.sort(key=ranks.__getitem__, reverse=order == "descending")  # type: ignore[arg-type]
    return filled + [index for index, rank in enumerate(ranks) if rank is None]


def _follows(ranks: Sequence[object | None], sign: int) -> bool:
    """Whether the gold table itself is in this order."""
    known = [rank for rank in ranks if rank is not None]
    return not any(_reversed(one, other, sign) for one, other in pairwise(known))


def _reversed(one: object, other: object, sign: int) -> bool:
    """Ranks of one kind, so they compare."""
    left, right = (one, other) if sign > 0 else (other, one)
    return bool(right < left)  # type: ignore[operator]


def _parts(text: str) -> tuple[tuple[int, Decimal, str], ...]:
    """Numbers inside a text by their size: ``Group 2`` before ``Group 10``."""
    words = tokens_of(text).words
    return tuple((0, Decimal(w), "") if _NUMBER.fullmatch(w) else (1, Decimal(0), w) for w in words)


_TYPED: tuple[Rank, ...] = (
    lambda value, cell: value.number.value if value.number else None,
    lambda value, cell: value.dates[0] if value.dates else year_of(value),
    lambda value, cell: _CALENDAR.get(value.text),
)
# Text has no one order: with or without accents, spaces, articles, capitals before small letters.
_AS_TEXT: tuple[Rank, ...] = (
    lambda value, cell: _parts(value.text),
    lambda value, cell: tokens_of(value.text).words,
    lambda value, cell: _ARTICLE.sub("", strip_accents(fold(cell))),
    lambda value, cell: "".join(tokens_of(value.text).words),
    lambda value, cell: fold(cell),
    lambda value, cell: cell,
)
