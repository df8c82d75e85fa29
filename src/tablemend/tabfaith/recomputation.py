"""Is a claim true? Worked out again from its words and the table alone.

The verbaliser knows which cell it speaks of. This module does not ask it: names, columns and
periods are looked up by the words in the text, numbers are read by the strict reader of
:mod:`~tablemend.synthesis.columns`, ranks, counts and sums are computed anew. It shares nothing
with ``verification``, which is measured on what passes here. What is neither plainly true nor
plainly false (ties, rounding, two cells that can be meant) is ``None``, and never used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from tablemend.detector.keys import primary_key
from tablemend.evidence.grid import Grid
from tablemend.synthesis.columns import clean_cell, read_number, words_of
from tablemend.tabfaith.periods import Period, read_period
from tablemend.tabfaith.sheet import measure_label
from tablemend.tabfaith.summary import Operation, Role
from tablemend.tables.table import Table
from tablemend.values.units import SCALES, header_unit

Texts = Mapping[Role, str]

_UP = re.compile(
    r"\b(?:higher|greater|larger|more|highest|largest|greatest|most|latest|most recent|later"
    r"|peaked|high|maximum|rose|increased|grew|climbed|went up|above|over|at least)\b"
)
_DOWN = re.compile(
    r"\b(?:lower|smaller|fewer|less|lowest|smallest|fewest|earliest|earlier|bottomed|low|minimum"
    r"|fell|decreased|declined|dropped|went down|below|under|at most)\b"
)
_OVER_TIME = re.compile(r"peaked|bottomed|\bhit\b|reached|\bwas\b")
_ORDINAL = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
_WORDS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_STATED = re.compile(
    r"(?P<hedge>about|roughly|approximately|around|nearly|almost|just under|over|more than"
    r"|just over)?\s*(?P<minus>-)?(?P<before>[^\d\s.,-]{0,4})\s?"
    r"(?P<digits>\d[\d,]*)(?P<fraction>\.\d+)?(?:\s(?P<scale>thousand|lakh|million|crore|billion|trillion))?(?P<after>.*)",
    re.DOTALL,
)
_ABOVE = ("over", "more than", "just over")
_BELOW = ("nearly", "almost", "just under")
_RANGE_END = re.compile(r"\d+(?:\.\d+)?")
_CLOSE = 1e-9


class Stated(NamedTuple):
    """A number in words: its value, the step of its last digit, its hedge."""

    value: float
    step: float
    hedge: str
    percent: bool


def read_stated(text: str) -> Stated | None:
    """The number that the words of a part state; ``None`` where they are no number."""
    text = text.casefold().strip()
    if text in _WORDS:
        return Stated(_WORDS[text], 1, "", False)
    match = _STATED.fullmatch(text)
    if match is None:
        return None
    scale = float(SCALES[match["scale"]]) if match["scale"] else 1.0
    fraction = match["fraction"] or ""
    value = float(match["digits"].replace(",", "") + fraction) * scale
    percent = match["after"].strip().startswith(("%", "percent"))
    step = scale * 10.0 ** -max(0, len(fraction) - 1)
    return Stated(-value if match["minus"] else value, step, match["hedge"] or "", percent)


class Recomputation:
    """Judges claims about one table.

    Args:
        table: the table.
    """

    def __init__(self, table: Table) -> None:
        self._grid = Grid(table)
        self._cells = [[clean_cell(cell) or "" for cell in row] for row in table.rows]
        self._body = [line.index for line in self._grid.lines if not line.total]
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

    def has_number(self, value: float) -> bool:
        """Whether any cell is this number but for rounding, with its header's scale or without."""
        return any(abs(value - known) <= max(0.01 * abs(known), _CLOSE) for known in self._known)

    def has_period(self, period: Period) -> bool:
        """Whether any cell or header names this period, or a longer name that begins with it."""
        texts = [*self._grid.table.columns, *(cell for row in self._cells for cell in row)]
        isos = {found.iso for text in texts if (found := read_period(text)) is not None}
        return any(iso.startswith(period.iso) or period.iso.startswith(iso) for iso in isos)

    @cached_property
    def _known(self) -> list[float]:
        """All numbers of the table, with all their scales and as written."""
        known = []
        for row in range(len(self._cells)):
            for column, cell in enumerate(self._cells[row]):
                if (amount := self._amount(row, column)) is not None:
                    known.append(abs(amount[0]))
                if (read := read_number(cell)) is not None:
                    known.append(abs(read[0]))
        return known

    # ---- where a claim points

    @cached_property
    def _labels(self) -> list[str]:
        return [words_of(measure_label(self._grid, c.index)) for c in self._grid.columns]

    @cached_property
    def _names(self) -> list[dict[str, list[int]]]:
        """For the key column and then each other: rows by the words of their cell."""
        key = primary_key(self._grid.table)
        order = [key, *(i for i in range(len(self._labels)) if i != key)]
        found = []
        for column in order:
            names: dict[str, list[int]] = {}
            for row in self._body:
                names.setdefault(words_of(self._cells[row][column]), []).append(row)
            found.append(names)
        return found

    def _rows_called(self, name: str) -> set[int]:
        """The rows of a name: the whole of it, else what is outside brackets, else its end."""
        wanted = words_of(name)
        for names in self._names:
            if wanted in names:
                return set(names[wanted])
        key = self._names[0]
        for cut in (_outside_brackets, _last_word):
            rows = [
                row
                for full, there in key.items()
                for row in there
                if cut(full, self._text(row)) == wanted
            ]
            if rows:
                return set(rows)
        return set()

    def _text(self, row: int) -> str:
        return self._cells[row][primary_key(self._grid.table)]

    def _columns_called(self, label: str) -> set[int]:
        wanted = words_of(label)
        return {index for index, found in enumerate(self._labels) if found == wanted}

    def _place(
        self, texts: Texts, period: Role = "period", entity: Role = "entity"
    ) -> tuple[set[int], set[int]]:
        """Rows and columns that a claim's words leave over."""
        rows, columns = set(self._body), set(range(len(self._labels)))
        if entity in texts:
            rows &= self._rows_called(texts[entity])
        if "column" in texts:
            columns &= self._columns_called(texts["column"])
        if period in texts:
            headed, dated = self._at_period(texts[period])
            if headed:
                columns &= headed
            else:
                rows &= dated
        return rows, columns

    def _at_period(self, text: str) -> tuple[set[int], set[int]]:
        """Columns that are headed by a period, and rows that stand under it."""
        period = read_period(text)
        if period is None:
            return set(), set()
        headed = {
            column.index
            for column in self._grid.columns
            if len(column.path) == 1 and _same_period(column.path[0], period.iso)
        }
        dated = {
            row
            for row in self._body
            if any(_same_period(cell, period.iso) for cell in self._cells[row])
        }
        return headed, dated

    def _cell(
        self, texts: Texts, period: Role = "period", entity: Role = "entity"
    ) -> tuple[int, int] | None:
        """The one cell that is meant."""
        rows, columns = self._place(texts, period, entity)
        if len(rows) != 1 or len(columns) != 1:
            return None
        return next(iter(rows)), next(iter(columns))

    def _amount(self, row: int, column: int) -> tuple[float, str] | None:
        """A cell's value with all scales applied, and its unit."""
        read = read_number(self._cells[row][column])
        if read is None:
            return None
        value, before, after = read
        scale = SCALES.get(after.casefold())
        if scale is None and (before or not after):
            scale = header_unit(self._grid.table.columns[column]).scale
        unit = before if scale is not None and after.casefold() in SCALES else before + after
        return value * float(scale or 1), unit

    def _number(
        self, texts: Texts, period: Role = "period", entity: Role = "entity"
    ) -> float | None:
        cell = self._cell(texts, period, entity)
        amount = self._amount(*cell) if cell is not None else None
        return amount[0] if amount is not None else None

    def _numbers(self, cells: Sequence[tuple[int, int]]) -> list[float] | None:
        """The values of cells that all are numbers of one unit."""
        amounts = [self._amount(*cell) for cell in cells]
        known = [amount for amount in amounts if amount is not None]
        if len(known) < len(amounts) or len({unit for _, unit in known}) > 1:
            return None
        return [value for value, _ in known]

    # ---- what it says of it

    def _value(self, texts: Texts) -> bool | None:
        cell = self._cell(texts)
        if cell is None:
            return None
        text = self._cells[cell[0]][cell[1]]
        period = read_period(text)
        said = read_period(texts["value"])
        if period is not None and (said is not None or not text.isdigit()):
            return None if said is None else said.iso == period.iso
        amount = self._amount(*cell)
        if amount is None:
            same = words_of(text) == words_of(texts["value"])
            return True if same else _differs(text, texts["value"])
        return _equals(texts["value"], amount[0], "%" in amount[1])

    def _compare(self, texts: Texts) -> bool | None:
        one, other = self._cell(texts), self._cell(texts, entity="other")
        sign = _sign(texts["cue"])
        if one is None or other is None or one == other or not sign:
            return None
        orders = [read_period(self._cells[row][column]) for row, column in (one, other)]
        if orders[0] is not None and orders[1] is not None and _DATES.search(texts["cue"]):
            difference: float = orders[0].order - orders[1].order
        else:
            values = self._numbers([one, other])
            if values is None:
                return None
            difference = values[0] - values[1]
        return None if not difference else difference * sign > 0

    def _difference(self, texts: Texts) -> bool | None:
        one, other = self._cell(texts), self._cell(texts, entity="other")
        values = None if one is None or other is None else self._numbers([one, other])
        return None if values is None else _equals(texts["value"], abs(values[0] - values[1]))

    def _ranking(self, texts: Texts) -> tuple[float, list[float]] | None:
        """The value of the subject and those of all that it is ranked among, its own included."""
        subject = self._cell(texts)
        if subject is None:
            return None
        rest = dict(texts)
        if _OVER_TIME.search(texts["cue"]) and "period" in texts:
            cells = self._over_time(texts)
        else:
            rest.pop("entity", None)
            rows, columns = self._place(rest)
            cells = [(row, column) for row in rows for column in columns]
        if subject not in cells or len(cells) < 2:
            return None
        values = self._numbers([subject, *cells])
        return None if values is None else (values[0], values[1:])

    def _over_time(self, texts: Texts) -> list[tuple[int, int]]:
        """All cells that differ from the claim's in their period only, in the order of time."""
        rest: dict[Role, str] = dict(texts)
        period = rest.pop("period")
        rows, columns = self._place(rest)
        headed, _ = self._at_period(period)
        if headed:
            dated = {
                index: found.order
                for index in columns
                if (found := read_period(self._grid.table.columns[index])) is not None
            }
            return [
                (row, column) for row in rows for column in sorted(dated, key=dated.__getitem__)
            ]
        when = {row: found.order for row in rows if (found := self._row_period(row)) is not None}
        return [(row, column) for row in sorted(when, key=when.__getitem__) for column in columns]

    def _row_period(self, row: int) -> Period | None:
        return next((p for cell in self._cells[row] if (p := read_period(cell)) is not None), None)

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
        one, other = self._cell(texts), self._cell(texts, "until")
        if one is None or other is None or one == other:
            return None
        values = self._numbers([one, other])
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
        first, last = self._cell(texts), self._cell(texts, "until")
        cells = self._over_time(texts)
        if not sign or first not in cells or last not in cells:
            return None
        values = self._numbers(cells[cells.index(first) : cells.index(last) + 1])
        if values is None or len(values) < 3:
            return None
        steps = [sign * (after - before) for before, after in pairwise(values)]
        return True if all(step > 0 for step in steps) else False if min(steps) < 0 else None

    def _count(self, texts: Texts) -> bool | None:
        stated = read_stated(texts["value"])
        if stated is None:
            return None
        if "column" not in texts:
            return stated.value == len(self._body)
        columns = self._columns_called(texts["column"])
        if len(columns) != 1:
            return None
        (column,) = columns
        if "category" in texts:
            wanted = words_of(texts["category"])
            return stated.value == sum(
                words_of(self._cells[r][column]) == wanted for r in self._body
            )
        threshold, sign = read_stated(texts["threshold"]), _sign(texts["cue"])
        values = self._numbers([(row, column) for row in self._body])
        if values is None or threshold is None or not sign or threshold.value in values:
            return None
        return stated.value == sum(sign * value > sign * threshold.value for value in values)

    def _column_values(self, texts: Texts) -> list[float] | None:
        columns = self._columns_called(texts["column"])
        if len(columns) != 1:
            return None
        (column,) = columns
        return self._numbers([(row, column) for row in self._body])

    def _total(self, texts: Texts) -> bool | None:
        values = self._column_values(texts)
        return _equals(texts["value"], sum(values)) if values else None

    def _average(self, texts: Texts) -> bool | None:
        values = self._column_values(texts)
        return _equals(texts["value"], sum(values) / len(values)) if values else None

    def _range(self, texts: Texts) -> bool | None:
        cell = self._cell(texts)
        amount = self._amount(*cell) if cell is not None else None
        if cell is None or amount is None:
            return None
        column = next(
            (
                i
                for i, label in enumerate(self._labels)
                if " range " in label or " interval " in label
            ),
            None,
        )
        if column is None:
            return None
        text = self._cells[cell[0]][column]
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


_DATES = re.compile(r"earlier|later|earliest|latest|recent")


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
    slack = _CLOSE * max(1.0, abs(actual))
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


def _same_period(cell: str, iso: str) -> bool:
    period = read_period(clean_cell(cell) or "")
    return period is not None and period.iso == iso


def _outside_brackets(_: str, text: str) -> str:
    return words_of(text.partition("(")[0])


def _last_word(full: str, _: str) -> str:
    words = full.split()
    return f" {words[-1]} " if len(words) == 2 else ""
