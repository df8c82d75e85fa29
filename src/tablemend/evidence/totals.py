"""Which rows add up or average others: by their names, and where the figures leave no doubt."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from tablemend.evidence.labels import names_total

if TYPE_CHECKING:
    from tablemend.evidence.grid import Grid

_CHECKED = 12
_ADDENDS = 3
_DIGITS = 6
"""How many digits the sums of all columns must have together: small sums come by chance."""


def find_totals(
    grid: Grid, rows: Sequence[int], names: Sequence[str], paths: Sequence[tuple[str, ...]]
) -> list[bool]:
    """For each body row, whether it adds up or averages other rows.

    By its name ("Total", "Career", "All farms"), unless the figures refute it: no sum of amounts
    is below the row next to it in every column. By the figures alone only for the first and the
    last row: where they are the sums of all others in at least half of the columns of numbers.

    Args:
        grid: the table.
        rows: indices of its body rows.
        names: the key cell of each.
        paths: the path of each.
    """
    named = [
        any(map(names_total, (name, path[-1]))) for name, path in zip(names, paths, strict=True)
    ]
    found = [
        flag and not (name.casefold().startswith(("total ", "all ")) and _below(grid, rows, place))
        for place, (flag, name) in enumerate(zip(named, names, strict=True))
    ]
    if len(rows) > _ADDENDS and not any(found):
        for place in (len(rows) - 1, 0):
            if _adds_up(grid, rows, place):
                found[place] = True
                break
    return found


def averages_columns(grid: Grid, index: int, rows: Sequence[int]) -> bool:
    """Whether a column is the average of the other columns of numbers, in most rows."""
    right = checked = 0
    for row in rows[:_CHECKED]:
        numbers = _numbers(grid, row)
        own = numbers.pop(index, None)
        if own is None or len(numbers) < _ADDENDS - 1:
            continue
        checked += 1
        mean = sum(numbers.values(), Decimal(0)) / len(numbers)
        right += abs(mean - own) <= Decimal("0.011") * max(Decimal(1), abs(own))
    return 2 * right > checked > 0


def _numbers(grid: Grid, row: int) -> dict[int, Decimal]:
    return {
        column: number.value
        for column in range(len(grid.table.columns))
        if column != grid.key and (number := grid.value(row, column).number) is not None
    }


def _below(grid: Grid, rows: Sequence[int], place: int) -> bool:
    """Whether the row is smaller than the one beside it wherever both have amounts."""
    beside = place - 1 if place else min(1, len(rows) - 1)
    own, other = _numbers(grid, rows[place]), _numbers(grid, rows[beside])
    shared = [column for column in own if column in other and other[column] > 0 and own[column] > 0]
    return bool(shared) and all(own[column] < other[column] for column in shared)


def _adds_up(grid: Grid, rows: Sequence[int], place: int) -> bool:
    total = _numbers(grid, rows[place])
    others = [rows[other] for other in range(len(rows)) if other != place]
    sums: dict[int, Decimal] = {}
    counts: dict[int, int] = {}
    for row in others:
        for column, value in _numbers(grid, row).items():
            sums[column] = sums.get(column, Decimal(0)) + value
            counts[column] = counts.get(column, 0) + 1
    matched = [
        column
        for column, value in total.items()
        if counts.get(column, 0) >= _ADDENDS and value and sums[column] == value
    ]
    digits = sum(len(str(abs(int(total[column])))) for column in matched)
    return 2 * len(matched) >= len(total) and digits >= _DIGITS
