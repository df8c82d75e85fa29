"""Which rows add up or average others: by their names, and where the figures leave no doubt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from tablemend.evidence.labels import names_total
from tablemend.values.words import akin

if TYPE_CHECKING:
    from tablemend.evidence.grid import Grid
    from tablemend.evidence.layout import Body

_Numbers = dict[int, Decimal]

_QUALIFIED = re.compile(r"(?:total|all) (?=\S)", re.I)
_CHECKED = 12
_MOST_ADDENDS = 40
_ADDENDS = 3
_DIGITS = 6
"""How many digits the sums of all columns must have together: small sums come by chance."""


def find_totals(grid: Grid, body: Sequence[Body], paths: Sequence[tuple[str, ...]]) -> list[bool]:
    """For each body row, whether it adds up or averages other rows.

    By its name alone: "Total", "Career", "Average". "Total Cholesterol" may be a thing of its own:
    such a row counts where it ends a section of that name, is the sum of the rows above or below
    it, or goes on in small letters ("Total sales"; "all farms" below "farm size") and is not
    smaller than the row beside it. By
    the figures alone only the first or the last row, where it is the sum of all others in at least
    half of the columns of numbers.

    Args:
        grid: the table.
        body: its body rows.
        paths: the path of each.
    """
    rows = [part.row for part in body]
    numbers = [_numbers(grid, row) for row in rows]
    found: list[bool] = []
    starts: list[int] = []  # where the rows begin that a total above adds up
    for place, (part, path) in enumerate(zip(body, paths, strict=True)):
        start = place
        labels = [*path[len(part.sections) :], *_heading_cells(grid, part.row)]
        named = [label for label in labels if names_total(label)]
        flag = bool(named)
        qualified = _QUALIFIED.match(named[0]) if named else None
        if qualified:
            rest = named[0][qualified.end() :]
            start = _sums_above(numbers, found, starts, place)
            section = part.sections[-1].strip(" :").casefold() if part.sections else ""
            flag = (
                start < place
                or rest.casefold() == section
                or _sums_below(numbers, place)
                or (_is_class(grid, named[0], rest) and not _below(numbers, place))
            )
        elif flag:
            start = _sums_above(numbers, found, starts, place)
        found.append(flag)
        starts.append(start)
    if len(rows) > _ADDENDS and not any(found):
        for place in (len(rows) - 1, 0):
            if _adds_up(numbers, place):
                found[place] = True
                break
    return found


def _is_class(grid: Grid, label: str, rest: str) -> bool:
    """Whether "total sales" or "all farms" means a whole: a word in small letters, or the key's."""
    if rest != rest.lower():
        return False
    header = grid.columns[grid.key].header.casefold().split()
    return label[0] in "tT" or any(akin(one, other) for one in rest.split() for other in header)


def _heading_cells(grid: Grid, row: int) -> list[str]:
    """The cells of a row left of the first column of numbers that say "total" and no more."""
    cells: list[str] = []
    for column in grid.columns:
        if column.kind == "number":
            return [cell for cell in cells if not _QUALIFIED.match(cell)]
        cells.append(grid.cell(row, column.index))
    return []


def _sums_above(
    numbers: Sequence[_Numbers], found: Sequence[bool], starts: Sequence[int], place: int
) -> int:
    """Where the rows begin that end above a row and add up to it; the row itself for none.

    A total above stands for the rows that it adds up itself.
    """
    own = numbers[place]
    sums: _Numbers = {}
    above = place - 1
    for count in range(1, _MOST_ADDENDS + 1):
        if above < 0:
            break
        first = starts[above] if found[above] else above
        for column, value in numbers[above].items():
            sums[column] = sums.get(column, Decimal(0)) + value
        if count > 1 and _equal_somewhere(own, sums, count):
            return first
        above = first - 1
    return place


def _sums_below(numbers: Sequence[_Numbers], place: int) -> bool:
    """Whether rows directly below a row add up to it."""
    sums: _Numbers = {}
    for count, row in enumerate(numbers[place + 1 : place + 1 + _MOST_ADDENDS], 1):
        for column, value in row.items():
            sums[column] = sums.get(column, Decimal(0)) + value
        if count > 1 and _equal_somewhere(numbers[place], sums, count):
            return True
    return False


def _equal_somewhere(total: _Numbers, sums: _Numbers, count: int) -> bool:
    """Whether sums of so many rows are a row's numbers, up to rounding, in half its columns."""
    equal = sum(
        value != 0
        and column in sums
        and abs(value - sums[column]) <= Decimal(count) / 2 * _last_place(value)
        for column, value in total.items()
    )
    return 2 * equal >= len(total) > 0


def _last_place(value: Decimal) -> Decimal:
    exponent = value.as_tuple().exponent
    return Decimal(1).scaleb(exponent) if isinstance(exponent, int) and exponent < 0 else Decimal(0)


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


def _numbers(grid: Grid, row: int) -> _Numbers:
    return {
        column: number.value
        for column in range(len(grid.table.columns))
        if column != grid.key and (number := grid.value(row, column).number) is not None
    }


def _below(numbers: Sequence[_Numbers], place: int) -> bool:
    """Whether a row is smaller than the one beside it wherever both have amounts."""
    own = numbers[place]
    other = numbers[place - 1] if place else numbers[min(1, len(numbers) - 1)]
    shared = [column for column in own if column in other and other[column] > 0 and own[column] > 0]
    return bool(shared) and all(own[column] < other[column] for column in shared)


def _adds_up(numbers: Sequence[_Numbers], place: int) -> bool:
    total = numbers[place]
    sums: _Numbers = {}
    counts: dict[int, int] = {}
    for other, row in enumerate(numbers):
        for column, value in row.items() if other != place else ():
            sums[column] = sums.get(column, Decimal(0)) + value
            counts[column] = counts.get(column, 0) + 1
    matched = [
        column
        for column, value in total.items()
        if counts.get(column, 0) >= _ADDENDS and value and sums[column] == value
    ]
    digits = sum(len(str(abs(int(total[column])))) for column in matched)
    return 2 * len(matched) >= len(total) and digits >= _DIGITS
