"""Is a claim true? Worked out again from its words and the table alone.

The verbaliser knows which cell it speaks of. This module does not ask it: names, columns and
periods are looked up by the words in the text (:mod:`lookup`), ranks, counts and sums are computed
anew. It shares nothing
with ``verification``, which is measured on what passes here. What is neither plainly true nor
plainly false (ties, rounding, two cells that can be meant) is ``None``, and never used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from tablemend.datasets.tabfaith.lookup import SLACK, Lookup, Texts, read_stated
from tablemend.datasets.tabfaith.periods import Period, read_period
from tablemend.datasets.tabfaith.summary import Operation, Role
from tablemend.datasets.tablehallu.columns import words_of
from tablemend.tables.table import Table

_UP = re.compile(
    r"\b(?:higher|greater|larger|longer|more|highest|largest|greatest|longest|most|latest"
    r"|most recent|later|peaked|high|maximum|rose|increased|grew|climbed|went up|above|over"
    r"|at least)\b"
)
_DOWN = re.compile(
    r"\b(?:lower|smaller|shorter|fewer|less|lowest|smallest|shortest|fewest|earliest|earlier"
    r"|bottomed|low|minimum|fell|decreased|declined|dropped|went down|below|under|at most)\b"
)
_OVER_TIME = re.compile(r"peaked|bottomed|\bhit\b|reached|\bwas\b")
_ORDINAL = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
_ABOVE = ("over", "more than", "just over")
_BELOW = ("nearly", "almost", "just under")
_RANGE_END = re.compile(r"\d+(?:\.\d+)?")
_DATES = re.compile(r"earlier|later|earliest|latest|recent")


class Recomputation:
    """Judges claims about one table.

    Args:
        table: the table.
    """

    def __init__(self, table: Table) -> None:
        self.lookup = Lookup(table)
        self._operations: dict[Operation, Callable[[Texts], bool | None]] = {
            "value": self._value,
            "compare": self._compare,
            "difference": self._difference,
            "superlative": self._superlative,
            "rank": self._rank,
            "change": self._change,
            "change_amount": self._change_amount,
            "change_percent": self._change_percent,
            "trend": self._trend,
            "count": self._count,
            "quantifier": self._quantifier,
            "total": self._total,
            "average": self._average,
            "range": self._range,
        }

    def holds(self, operation: Operation, texts: Texts) -> bool | None:
        """Whether a claim is true; ``None`` where that is open.

        Args:
            operation: what it claims.
            texts: its words by their role.
        """
        return self._operations[operation](texts)

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

    def _compare(self, texts: Texts) -> bool | None:
        if "against" in texts:
            other = self.lookup.cell({**texts, "column": texts["against"]})
        else:
            other = self.lookup.cell(texts, entity="other")
        one = self.lookup.cell(texts)
        sign = _sign(texts["cue"])
        if one is None or other is None or one == other or not sign:
            return None
        orders = [read_period(self.lookup.cells[row][column]) for row, column in (one, other)]
        if orders[0] is not None and orders[1] is not None and _DATES.search(texts["cue"]):
            difference: float = orders[0].order - orders[1].order
        else:
            values = self.lookup.numbers([one, other])
            if values is None:
                return None
            difference = values[0] - values[1]
        return None if not difference else difference * sign > 0

    def _difference(self, texts: Texts) -> bool | None:
        one, other = self.lookup.cell(texts), self.lookup.cell(texts, entity="other")
        values = None if one is None or other is None else self.lookup.numbers([one, other])
        return None if values is None else _equals(texts["value"], abs(values[0] - values[1]))

    def _ranking(self, texts: Texts) -> tuple[float, list[float]] | None:
        """The value of the subject and those of all that it is ranked among, its own included."""
        subject = self.lookup.cell(texts)
        if subject is None:
            return None
        rest = dict(texts)
        if _OVER_TIME.search(texts["cue"]) and "period" in texts:
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
        sign = _sign(texts["cue"])
        ranking = self._ranking(texts)
        if ranking is None or not sign:
            return None
        value, all_values = ranking
        best = max(sign * other for other in all_values)
        if sign * value < best:
            return False
        return True if all_values.count(value) == 1 else None

    def _rank(self, texts: Texts) -> bool | None:
        place = next((n for word, n in _ORDINAL.items() if word in texts["cue"].casefold()), None)
        ranking = self._ranking(texts)
        if ranking is None or place is None:
            return None
        value, all_values = ranking
        above = sum(other > value for other in all_values)
        if all_values.count(value) > 1 or len(set(all_values)) < len(all_values):
            return None if above < place <= above + all_values.count(value) else False
        return above + 1 == place

    def _ends(self, texts: Texts) -> tuple[float, float] | None:
        one, other = self.lookup.cell(texts), self.lookup.cell(texts, "until")
        if one is None or other is None or one == other:
            return None
        values = self.lookup.numbers([one, other])
        return None if values is None else (values[0], values[1])

    def _change(self, texts: Texts) -> bool | None:
        ends, sign = self._ends(texts), _sign(texts["cue"])
        if ends is None or not sign or ends[0] == ends[1]:
            return None
        return (ends[1] - ends[0]) * sign > 0

    def _change_amount(self, texts: Texts) -> bool | None:
        ends = self._ends(texts)
        return None if ends is None else _equals(texts["value"], abs(ends[1] - ends[0]))

    def _change_percent(self, texts: Texts) -> bool | None:
        ends = self._ends(texts)
        if ends is None or ends[0] <= 0 or ends[1] < 0:
            return None
        return _equals(texts["value"], 100 * abs(ends[1] - ends[0]) / ends[0])

    def _trend(self, texts: Texts) -> bool | None:
        sign = _sign(texts["cue"])
        first, last = self.lookup.cell(texts), self.lookup.cell(texts, "until")
        cells = self._over_time(texts)
        if not sign or first not in cells or last not in cells:
            return None
        values = self.lookup.numbers(cells[cells.index(first) : cells.index(last) + 1])
        if values is None or len(values) < 3:
            return None
        steps = [sign * (after - before) for before, after in pairwise(values)]
        return True if all(step > 0 for step in steps) else False if min(steps) < 0 else None

    def _count(self, texts: Texts) -> bool | None:
        stated = read_stated(texts["value"])
        if stated is None:
            return None
        if "column" not in texts:
            return stated.value == len(self.lookup.body)
        columns = self.lookup.columns_called(texts["column"])
        if len(columns) != 1:
            return None
        (column,) = columns
        if "category" in texts:
            wanted = words_of(texts["category"])
            return stated.value == sum(
                words_of(self.lookup.cells[r][column]) == wanted for r in self.lookup.body
            )
        threshold, sign = read_stated(texts["threshold"]), _sign(texts["cue"])
        values = self.lookup.numbers([(row, column) for row in self.lookup.body])
        if values is None or threshold is None or not sign or threshold.value in values:
            return None
        return stated.value == sum(sign * value > sign * threshold.value for value in values)

    def _quantifier(self, texts: Texts) -> bool | None:
        values, sign = self._column_values(texts), _sign(texts["cue"])
        threshold = read_stated(texts["threshold"])
        if not values or threshold is None or not sign or threshold.value in values:
            return None
        meeting = sum(sign * value > sign * threshold.value for value in values)
        quantifier = texts["quantifier"].casefold()
        if quantifier.startswith("none"):
            return meeting == 0
        if quantifier.startswith(("all", "each")):
            return meeting == len(values)
        less = quantifier.startswith(("fewer", "less"))
        return 2 * meeting < len(values) if less else 2 * meeting > len(values)

    def _column_values(self, texts: Texts) -> list[float] | None:
        columns = self.lookup.columns_called(texts["column"])
        if len(columns) != 1:
            return None
        (column,) = columns
        return self.lookup.numbers([(row, column) for row in self.lookup.body])

    def _total(self, texts: Texts) -> bool | None:
        values = self._column_values(texts)
        return _equals(texts["value"], sum(values)) if values else None

    def _average(self, texts: Texts) -> bool | None:
        values = self._column_values(texts)
        return _equals(texts["value"], sum(values) / len(values)) if values else None

    def _range(self, texts: Texts) -> bool | None:
        cell = self.lookup.cell(texts)
        amount = self.lookup.amount(*cell) if cell is not None else None
        if cell is None or amount is None:
            return None
        column = next(
            (
                i
                for i, label in enumerate(self.lookup.labels)
                if " range " in label or " interval " in label
            ),
            None,
        )
        if column is None:
            return None
        text = self.lookup.cells[cell[0]][column]
        ends = [float(end) for end in _RANGE_END.findall(text)]
        if text.startswith("<"):
            low, high = float("-inf"), ends[0]
        elif text.startswith(">"):
            low, high = ends[0], float("inf")
        elif len(ends) == 2:
            low, high = ends
        else:
            return None
        where = "below" if amount[0] < low else "above" if amount[0] > high else "within"
        return texts["cue"] == where


def _sign(cue: str) -> int:
    """1 for a cue of more, -1 for one of less, 0 for neither or both."""
    cue = cue.casefold()
    cue = cue.removesuffix(" number of")
    up, down = bool(_UP.search(cue)), bool(_DOWN.search(cue))
    return up - down


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
