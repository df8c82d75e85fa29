"""Which rows add up or average others: by their names, and where the figures leave no doubt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice

from tablemend.evidence.labels import names_total
from tablemend.evidence.layout import Body
from tablemend.values.text import akin

Numbers = dict[int, Decimal]
"""The numbers of a row, by column."""

_QUALIFIED = re.compile(r"(?:total|all) (?=\S)", re.I)
_CHECKED = 12
_MOST_ADDENDS = 40
_ADDENDS = 3
_DIGITS = 6
"""How many digits the sums of all columns must have together: small sums come by chance."""


def find_totals(
    body: Sequence[Body],
    paths: Sequence[tuple[str, ...]],
    numbers: Sequence[Numbers],
    texts: Sequence[Sequence[str]],
    key_header: str,
) -> list[bool]:
    """For each body row, whether it adds up or averages other rows.

    By its name alone: "Total", "Career", "Average". "Total Cholesterol" may be a thing of its own:
    such a row counts where it ends a section of that name, is the sum of the rows above or below
    it, or goes on in small letters ("Total sales"; "all farms" below "farm size") and is not
    smaller than the row beside it. By
    the figures alone only the first or the last row, where it is the sum of all others in at least
    half of the columns of numbers.

    Args:
        body: the body rows of a table.
        paths: the path of each.
        numbers: of each, outside the key column.
        texts: the cells of each left of the first column of numbers.
        key_header: header of the key column.
    """
    found: list[bool] = []
    starts: list[int] = []  # where the rows begin that a total above adds up
    for place, (part, path) in enumerate(zip(body, paths, strict=True)):
        start = place
        cells = [cell for cell in texts[place] if not _QUALIFIED.match(cell)]
        labels = [*path[len(part.sections) :], *cells]
        named = [label for label in labels if names_total(label)]
        flag = bool(named)
        if named:
            first = _sum_of(numbers[place], _above(numbers, found, starts, place))
            start = place if first is None else first
        if named and (qualified := _QUALIFIED.match(named[0])):
            rest = named[0][qualified.end() :]
            section = part.sections[-1].strip(" :").casefold() if part.sections else ""
            flag = (
                start < place
                or rest.casefold() == section
                or _sum_of(
                    numbers[place], enumerate(numbers[place + 1 : place + 1 + _MOST_ADDENDS])
                )
                is not None
                or (_is_class(key_header, named[0], rest) and not _below(numbers, place))
            )
        found.append(flag)
        starts.append(start)
    if len(body) > _ADDENDS and not any(found):
        for place in (len(body) - 1, 0):
            if _adds_up(numbers, place):
                found[place] = True
                break
    return found


def _is_class(key_header: str, label: str, rest: str) -> bool:
    """Whether "total sales" or "all farms" means a whole: a word in small letters, or the key's."""
    if rest != rest.lower():
        return False
    header = key_header.casefold().split()
    return label[0] in "tT" or any(akin(one, other) for one in rest.split() for other in header)


def _above(
    numbers: Sequence[Numbers], found: Sequence[bool], starts: Sequence[int], place: int
) -> Iterator[tuple[int, Numbers]]:
    """The rows above a row, the nearest first; a total stands for the rows that it adds up."""
    while place > 0:
        above = place - 1
        place = starts[above] if found[above] else above
        yield place, numbers[above]


def _sum_of(own: Numbers, rows: Iterable[tuple[int, Numbers]]) -> int | None:
    """Where the rows end, two of them at least, that add up to a row; ``None`` for none."""
    sums: Numbers = {}
    for count, (place, row) in enumerate(islice(rows, _MOST_ADDENDS), 1):
        for column, value in row.items():
            sums[column] = sums.get(column, Decimal(0)) + value
        if count > 1 and _equal_somewhere(own, sums, count):
            return place
    return None


def _equal_somewhere(total: Numbers, sums: Numbers, count: int) -> bool:
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


def averages_columns(rows: Iterable[Numbers], index: int) -> bool:
    """Whether a column is the average of the other columns of numbers, in most rows."""
    right = checked = 0
    for row in islice(rows, _CHECKED):
        own = row.get(index)
        others = [value for column, value in row.items() if column != index]
        if own is None or len(others) < _ADDENDS - 1:
            continue
        checked += 1
        mean = sum(others, Decimal(0)) / len(others)
        right += abs(mean - own) <= Decimal("0.011") * max(Decimal(1), abs(own))
    return 2 * right > checked > 0


def _below(numbers: Sequence[Numbers], place: int) -> bool:
    """Whether a row is smaller than the one beside it wherever both have amounts."""
    own = numbers[place]
    other = numbers[place - 1] if place else numbers[min(1, len(numbers) - 1)]
    shared = [column for column in own if column in other and other[column] > 0 and own[column] > 0]
    return bool(shared) and all(own[column] < other[column] for column in shared)


def _adds_up(numbers: Sequence[Numbers], place: int) -> bool:
    total = numbers[place]
    sums: Numbers = {}
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
