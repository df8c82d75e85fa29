"""Columns whose values follow from those of others: totals, differences, products, rates, lags."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations
from operator import mul, truediv
from typing import NamedTuple

MOST_COLUMNS = 10
Numbers = Sequence[float | None]
Columns = dict[int, list[float]]
Candidate = tuple[tuple[int, ...], Callable[..., float]]


class Formula(NamedTuple):
    """A column that follows from others.

    Attributes:
        total: its index.
        parts: indices of the others.
    """

    total: int
    parts: tuple[int, ...]


def find_formulas(
    numbers: Sequence[int], dates: Sequence[int], orders: Sequence[Numbers], decimals: Sequence[int]
) -> tuple[Formula, ...]:
    """All formulas that hold in nearly every row; those that rounding makes inexact come last.

    One row in ten may be an exception, as a misprint is; rows with a gap say nothing.

    Args:
        numbers: indices of the columns of numbers and years.
        dates: those of dates, of which one can be some days after another.
        orders: the values of every column.
        decimals: digits behind the point in every column.
    """
    filled = [c for c in numbers if orders[c].count(None) < len(orders[c]) / 5][:MOST_COLUMNS]
    filled_dates = [c for c in dates if orders[c].count(None) < len(orders[c]) / 5]
    every = [*filled, *filled_dates]
    rows = [row for row in zip(*(orders[c] for c in every), strict=True) if None not in row]
    columns: Columns = {
        c: [value for value in own if value is not None]
        for c, own in zip(every, zip(*rows, strict=True), strict=False)
    }
    values = {c: len({*own}) for c, own in columns.items()}
    varied, dated = ([c for c in some if values.get(c, 0) > 1] for some in (filled, filled_dates))
    return tuple(
        Formula(total, parts)
        for some, rules in ((dated, _lags), (varied, _rules), (varied, _rates))
        for total in some
        if values[total] > 2
        for parts, rule in rules(total, [c for c in some if c != total], columns)
        if _holds(columns, total, parts, rule, 0.5 * 10.0 ** -decimals[total] + 1e-6)
    )


def _holds(
    columns: Columns, total: int, parts: tuple[int, ...], rule: Callable[..., float], error: float
) -> bool:
    """Whether nearly all rows agree, by what rounding explains; a division by 0 does."""
    exceptions = len(columns[total]) // 10
    for value, *given in zip(columns[total], *(columns[part] for part in parts), strict=True):
        try:
            if abs(rule(*given) - value) <= error:
                continue
        except ZeroDivisionError:
            continue
        if not exceptions:
            return False
        exceptions -= 1
    return True


def _lags(total: int, others: list[int], columns: Columns) -> Iterator[Candidate]:
    for part in others:
        lag = columns[total][0] - columns[part][0]
        yield (part,), lambda value, lag=lag: value + lag


def _rules(total: int, others: list[int], columns: Columns) -> Iterator[Candidate]:
    yield from _lags(total, others, columns)
    for count in (2, 3, 4):
        for some in combinations(others, count):
            yield some, lambda *values: sum(values)
    for one, other in permutations(others, 2):
        yield (one, other), lambda wins, draws: 3 * wins + draws
        yield (one, other), lambda wins, draws: 2 * wins + draws
        if one < other:
            yield (one, other), mul


def _rates(total: int, others: list[int], columns: Columns) -> Iterator[Candidate]:
    whole = sum(columns[total])
    for one, other in permutations(others, 2):
        yield (one, other), truediv
        yield (one, other), lambda first, second: 100 * first / second
    for part in others:
        if parts := sum(columns[part]):
            yield (part,), lambda value, rate=whole / parts: value * rate
