"""Is a claim true? Worked out again from its words and the table alone.

The verbaliser knows which cell it speaks of. This module does not ask it: names, columns and
periods are looked up by the words in the text (:mod:`lookup`), ranks, counts and sums are computed
anew. It shares nothing with ``verification``, which is measured on what passes here. What is
neither plainly true nor plainly false (ties, rounding, two cells that can be meant) is ``None``,
and never used.
"""

from __future__ import annotations

import re
from itertools import pairwise

from tablemend.datasets.tabfaith.lookup import SLACK, Lookup, Texts, read_stated
from tablemend.datasets.tabfaith.sheet import read_range
from tablemend.datasets.tabfaith.summary import Operation, Role
from tablemend.datasets.tabfaith.templates import (
    ALL,
    FEWER_THAN_HALF,
    NONE,
    ORDINALS,
    PAIRS,
    sign_of,
)
from tablemend.datasets.tablehallu.columns import words_of
from tablemend.tables.table import Table
from tablemend.values.periods import Period, read_period

_ABOVE = ("over", "more than", "just over")
_BELOW = ("nearly", "almost", "just under")
_RANGE_LABEL = re.compile(" (?:range|interval) ")
_OF_DATES = frozenset(cue for name in ("later", "a_later") for pool in PAIRS[name] for cue in pool)
_OF_PERIODS = frozenset(cue for pool in PAIRS["peak"] for cue in pool)
Cell = tuple[int, int]


class Recomputation:
    """Scores claims about one table.

    Args:
        table: the table.
    """

    def __init__(self, table: Table) -> None:
        self.lookup = Lookup(table)

    def holds(self, operation: Operation, texts: Texts) -> bool | None:
        """Whether a claim is true; ``None`` where that is open.

        Args:
            operation: what it claims.
            texts: its words by their role.
        """
        match operation:
            case "value":
                return self._value(texts)
            case "compare" | "change":
                apart, sign = self._apart(operation, texts), sign_of(texts["cue"])
                return apart * sign > 0 if apart and sign else None
            case "superlative":
                return self._superlative(texts)
            case "rank":
                return self._rank(texts)
            case "trend":
                return self._trend(texts)
            case "count":
                return self._count(texts)
            case "quantifier":
                return self._quantifier(texts)
            case "range":
                return self._range(texts)
            case "total" | "average":
                values = self._column(texts)
                if not values:
                    return None
                number = sum(values) / (len(values) if operation == "average" else 1)
                return _equals(texts["value"], number)
            case "change_percent":
                ends = self._ends(texts, "until")
                if ends is None or ends[0] <= 0 or ends[1] < 0:
                    return None
                return _equals(texts["value"], 100 * abs(ends[1] - ends[0]) / ends[0])
            case "difference" | "change_amount":
                ends = self._ends(texts, "other" if operation == "difference" else "until")
                return None if ends is None else _equals(texts["value"], abs(ends[1] - ends[0]))

    def _two(self, texts: Texts, role: Role) -> tuple[Cell, Cell] | None:
        """The cell of a claim, and the one that it is set against."""
        if role == "against":
            other = self.lookup.cell({**texts, "column": texts["against"]})
        else:
            other = self.lookup.cell(
                texts,
                period="until" if role == "until" else "period",
                entity="other" if role == "other" else "entity",
            )
        one = self.lookup.cell(texts)
        return None if one is None or other is None or one == other else (one, other)

    def _ends(self, texts: Texts, role: Role) -> list[float] | None:
        """The numbers of the two cells."""
        cells = self._two(texts, role)
        return None if cells is None else self.lookup.numbers(cells)

    def _apart(self, operation: Operation, texts: Texts) -> float | None:
        """How far the cell is above the other, or the later one above it."""
        role: Role = "until" if operation == "change" else "other"
        role = "against" if "against" in texts else role
        cells = self._two(texts, role)
        if cells is None:
            return None
        if texts["cue"].casefold() in _OF_DATES:
            dates = [read_period(self.lookup.cells[row][column]) for row, column in cells]
            if dates[0] is not None and dates[1] is not None:
                return dates[0].order - dates[1].order
        values = self.lookup.numbers(cells)
        if values is None:
            return None
        return values[1] - values[0] if operation == "change" else values[0] - values[1]

    def _value(self, texts: Texts) -> bool | None:
        cell = self.lookup.cell(texts)
        if cell is None:
            return None
        text = self.lookup.cells[cell[0]][cell[1]]
        period = read_period(text)
        said = read_period(texts["value"])
        if period is not None and (said is not None or not text.isdigit()):
            return None if said is None else said.iso == period.iso
        amount = self.lookup.amount(*cell)
        if amount is None:
            same = words_of(text) == words_of(texts["value"])
            return True if same else _differs(text, texts["value"])
        return _equals(texts["value"], amount[0], "%" in amount[1])

    def _ranking(self, texts: Texts) -> tuple[float, list[float]] | None:
        """The value of the subject and those of all that it is ranked among, its own included."""
        subject = self.lookup.cell(texts)
        if subject is None:
            return None
        rest = dict(texts)
        if texts["cue"].casefold() in _OF_PERIODS and "period" in texts:
            cells = self._over_time(texts)
        else:
            rest.pop("entity", None)
            rows, columns = self.lookup.place(rest)
            cells = [(row, column) for row in rows for column in columns]
        if subject not in cells or len(cells) < 2:
            return None
        values = self.lookup.numbers([subject, *cells])
        return None if values is None else (values[0], values[1:])

    def _over_time(self, texts: Texts) -> list[tuple[int, int]]:
        """All cells that differ from the claim's in their period only, in the order of time."""
        rest: dict[Role, str] = dict(texts)
        period = rest.pop("period")
        rows, columns = self.lookup.place(rest)
        headed, _ = self.lookup.at_period(period)
        if headed:
            dated = {
                index: found.order
                for index in columns
                if (found := read_period(self.lookup.grid.table.columns[index])) is not None
            }
            return [
                (row, column) for row in rows for column in sorted(dated, key=dated.__getitem__)
            ]
        when = {row: found.order for row in rows if (found := self._row_period(row)) is not None}
        return [(row, column) for row in sorted(when, key=when.__getitem__) for column in columns]

    def _row_period(self, row: int) -> Period | None:
        return next(
            (p for cell in self.lookup.cells[row] if (p := read_period(cell)) is not None), None
        )

    def _superlative(self, texts: Texts) -> bool | None:
        sign = sign_of(texts["cue"])
        ranking = self._ranking(texts)
        if ranking is None or not sign:
            return None
        value, all_values = ranking
        best = max(sign * other for other in all_values)
        if sign * value < best:
            return False
        return True if all_values.count(value) == 1 else None

    def _rank(self, texts: Texts) -> bool | None:
        cue = texts["cue"].casefold()
        place = next((n for n, word in enumerate(ORDINALS, 1) if word in cue), None)
        ranking = self._ranking(texts)
        if ranking is None or place is None:
            return None
        value, all_values = ranking
        above = sum(other > value for other in all_values)
        if all_values.count(value) > 1 or len(set(all_values)) < len(all_values):
            return None if above < place <= above + all_values.count(value) else False
        return above + 1 == place

    def _trend(self, texts: Texts) -> bool | None:
        sign = sign_of(texts["cue"])
        first, last = self.lookup.cell(texts), self.lookup.cell(texts, "until")
        cells = self._over_time(texts)
        if not sign or first not in cells or last not in cells:
            return None
        values = self.lookup.numbers(cells[cells.index(first) : cells.index(last) + 1])
        if values is None or len(values) < 3:
            return None
        steps = [sign * (after - before) for before, after in pairwise(values)]
        return True if all(step > 0 for step in steps) else False if min(steps) < 0 else None

    def _column(self, texts: Texts) -> list[float] | None:
        """The numbers of the column that a claim names."""
        columns = self.lookup.columns_called(texts["column"])
        if len(columns) != 1:
            return None
        return self.lookup.numbers(
            [(row, column) for row in self.lookup.body for column in columns]
        )

    def _meeting(self, texts: Texts) -> tuple[int, int] | None:
        """How many rows are beyond a threshold, and how many there are."""
        values, sign = self._column(texts), sign_of(texts["cue"])
        threshold = read_stated(texts["threshold"])
        if not values or threshold is None or not sign or threshold.value in values:
            return None
        return sum(sign * value > sign * threshold.value for value in values), len(values)

    def _count(self, texts: Texts) -> bool | None:
        stated = read_stated(texts["value"])
        if stated is None:
            return None
        if "column" not in texts:
            return stated.value == len(self.lookup.body)
        if "category" in texts:
            columns = self.lookup.columns_called(texts["column"])
            wanted = words_of(texts["category"])
            cells = [self.lookup.cells[r][c] for r in self.lookup.body for c in columns]
            if len(columns) != 1:
                return None
            return stated.value == sum(words_of(cell) == wanted for cell in cells)
        meeting = self._meeting(texts)
        return None if meeting is None else stated.value == meeting[0]

    def _quantifier(self, texts: Texts) -> bool | None:
        found, quantifier = self._meeting(texts), texts["quantifier"].casefold()
        if found is None:
            return None
        meeting, rows = found
        if quantifier in NONE:
            return meeting == 0
        if quantifier in ALL:
            return meeting == rows
        less = quantifier in FEWER_THAN_HALF
        return 2 * meeting < rows if less else 2 * meeting > rows

    def _range(self, texts: Texts) -> bool | None:
        cell = self.lookup.cell(texts)
        amount = self.lookup.amount(*cell) if cell is not None else None
        if cell is None or amount is None:
            return None
        labels = enumerate(self.lookup.labels)
        column = next((i for i, label in labels if _RANGE_LABEL.search(label)), None)
        if column is None:
            return None
        ends = read_range(self.lookup.cells[cell[0]][column])
        if ends is None:
            return None
        low, high = ends
        where = "within"
        if low is not None and amount[0] < float(low):
            where = "below"
        elif high is not None and amount[0] > float(high):
            where = "above"
        return texts["cue"] == where


def _equals(words: str, actual: float, percent: bool = False) -> bool | None:
    """Whether words state a number, at the precision they have; ``None`` where it is near."""
    stated = read_stated(words)
    if stated is None:
        return None
    apart = abs(stated.value - actual)
    slack = SLACK * max(1.0, abs(actual))
    if stated.hedge:
        right = apart <= 0.0051 * abs(actual) or (stated.step >= 1 and apart <= stated.step / 2)
        right = right and not (stated.hedge in _ABOVE and actual <= stated.value)
        right = right and not (stated.hedge in _BELOW and actual >= stated.value)
        return True if right else False if apart > 0.1 * abs(actual) else None
    if apart <= stated.step / 2 + slack:
        return True
    if stated.percent or percent:
        return False if apart > max(0.5, stated.step) else None
    steps = actual / stated.step
    exact = abs(steps - round(steps)) < 1e-6
    return False if exact or apart > stated.step else None


def _differs(one: str, other: str) -> bool | None:
    """``False`` (no match) for two texts that share no word; ``None`` where one may be meant."""
    return None if set(words_of(one).split()) & set(words_of(other).split()) else False
