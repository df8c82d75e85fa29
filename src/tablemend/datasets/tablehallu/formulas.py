"""Columns whose values follow from those of others: totals, differences, products, rates, lags."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice, permutations
from operator import mul, truediv
from typing import NamedTuple

MOST_COLUMNS = 10
Numbers = Sequence[float | None]
Rule = Callable[..., float]
Candidate = tuple[tuple[int, ...], Rule]


class Formula(NamedTuple):
    """A column that follows from others.

    Attributes:
        total: its index.
        parts: indices of the others.
        rule: the value from theirs, in this order.
        error: the largest difference that rounding explains.
    """

    total: int
    parts: tuple[int, ...]
    rule: Rule
    error: float

    def value(self, numbers: Numbers) -> float | None:
        """What follows from the numbers of a row; ``None`` where one is missing or divides by 0."""
        parts = [number for part in self.parts if (number := numbers[part]) is not None]
        try:
            return self.rule(*parts) if len(parts) == len(self.parts) else None
        except ZeroDivisionError:
            return None

    def holds(self, numbers: Numbers) -> bool:
        """Whether a row agrees with it; one with a gap does."""
        total, value = numbers[self.total], self.value(numbers)
        return total is None or value is None or abs(value - total) <= self.error


def find_formulas(
    numbers: Sequence[int], dates: Sequence[int], orders: Sequence[Numbers], decimals: Sequence[int]
) -> tuple[Formula, ...]:
    """All formulas that hold in nearly every row; those that rounding makes inexact come last.

    One row in ten may be an exception, as a misprint is.

    Args:
        numbers: indices of the columns of numbers and years.
        dates: those of dates, of which one can be some days after another.
        orders: the values of every column.
        decimals: digits behind the point in every column.
    """
    filled = [c for c in numbers if orders[c].count(None) < len(orders[c]) / 5][:MOST_COLUMNS]
    filled_dates = [c for c in dates if orders[c].count(None) < len(orders[c]) / 5]
    rows = [
        row
        for row in zip(*orders, strict=True)
        if None not in [row[index] for index in (*filled, *filled_dates)]
    ]
    values = {c: len({row[c] for row in rows}) for c in (*filled, *filled_dates)}
    varied, dated = ([c for c in some if values[c] > 1] for some in (filled, filled_dates))
    candidates = (
        Formula(total, parts, rule, 0.5 * 10.0 ** -decimals[total] + 1e-6)
        for columns, rules in ((dated, _lags), (varied, _rules), (varied, _rates))
        for total in columns
        if values[total] > 2
        for parts, rule in rules(total, [c for c in columns if c != total], rows)
    )
    most = len(rows) // 10
    return tuple(one for one in candidates if _exceptions(one, rows, most) <= most)


def _exceptions(formula: Formula, rows: Sequence[Numbers], most: int) -> int:
    """Rows that a formula does not hold in, counted until there are too many."""
    return sum(1 for _ in islice((row for row in rows if not formula.holds(row)), most + 1))


def _lags(total: int, others: list[int], rows: Sequence[Numbers]) -> Iterator[Candidate]:
    for part in others:
        lag = (rows[0][total] or 0.0) - (rows[0][part] or 0.0)
        yield (part,), lambda value, lag=lag: value + lag


def _rules(total: int, others: list[int], rows: Sequence[Numbers]) -> Iterator[Candidate]:
    yield from _lags(total, others, rows)
    for count in (2, 3, 4):
        for some in combinations(others, count):
            yield some, lambda *values: sum(values)
    for one, other in permutations(others, 2):
        yield (one, other), lambda wins, draws: 3 * wins + draws
        yield (one, other), lambda wins, draws: 2 * wins + draws
        if one < other:
            yield (one, other), mul


def _rates(total: int, others: list[int], rows: Sequence[Numbers]) -> Iterator[Candidate]:
    whole = sum(row[total] or 0.0 for row in rows)
    for one, other in permutations(others, 2):
        yield (one, other), truediv
        yield (one, other), lambda first, second: 100 * first / second
    for part in others:
        if parts := sum(row[part] or 0.0 for row in rows):
            yield (part,), lambda value, rate=whole / parts: value * rate
