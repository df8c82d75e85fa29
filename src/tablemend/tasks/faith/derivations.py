"""How a number in a report follows from its tables: the program annotator (FAITH, 3.4 and 3.5).

A derivation is a small formula over at most three cells: a look-up, a sum, a difference, a ratio, a
change or share in percent. It is found by its value and by what the sentence says of its cells.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, combinations, pairwise
from math import log
from typing import Literal, NamedTuple

from tablemend.evidence.labels import counts_by_itself
from tablemend.programs.table import Cell, TypedTable
from tablemend.tables.table import Table
from tablemend.tasks.faith.sample import MASK, are_money
from tablemend.tasks.faith.values import Reading, read_values, unit_scale
from tablemend.values.units import Unit, same_currency
from tablemend.values.words import content_words

Formula = Literal["value", "difference", "change", "ratio", "share", "sum"]
Scenario = Literal["A", "B", "C", "D"]

_COST: dict[Formula, float] = {
    "value": 0.0,
    "change": 0.1,
    "difference": 0.1,
    "share": 0.1,
    "ratio": 0.1,
    "sum": 0.4,
}
"""What a formula must be more likely than a look-up by."""
_LEAST = 0.5
"""The least score of a derivation; chosen on the dev half of the pilot."""
_NEARLY = 0.05
"""Derivations within this of the best are as likely."""
_SAYS_SCALE = 10**4
"""From here on a number is said with its scale."""
_TOTAL = 0.3
"""How well a row or column of totals fits that the sentence does not name."""
_MOST_ADDED = 24
"""Rows of a column among which sums of three are looked for."""
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_CHANGES = re.compile(
    r"\b(?:in|de)creas|\bgrew|\bgrowth|\bdecline|\brose|\bfell|\bup\b|\bdown\b|\bchange|\bhigher"
    r"|\blower|\bimprov|\breduc|\bcompared|\bdifference|\bmore than|\bless than",
    re.I,
)
_DIRECTION = re.compile(
    r"\b(?:(?P<up>increas|grew|growth|rose|up\b|higher|improv)"
    r"|(?P<down>decreas|declin|fell|down\b|lower|reduc))",
    re.I,
)
_RATES = re.compile(r"percent|%|\b(?:rates?|ratio|margin|yield|growth|change|bps)\b", re.I)
_WORDINGS: dict[Formula, re.Pattern[str]] = {
    "change": _CHANGES,
    "difference": _CHANGES,
    "share": re.compile(
        r"\bof (?:our |the |its |all )?\w+|\brepresent|\bportion|\bshare|\bmargin|\bratio|\brate\b"
        r"|\baccount|\bas a percent",
        re.I,
    ),
    "ratio": re.compile(r"\btimes\b|\bratio|\btwice|\bmultiple", re.I),
    "sum": re.compile(r"\btotal|\bcombined|\baggregate|\btogether|\bsum\b|\bcumulative", re.I),
}
"""What a sentence says where its number came about by a formula."""


class Operand(NamedTuple):
    """A cell that a formula reads.

    Attributes:
        table: its number.
        row, column: its place in the table as written.
        text: as written.
        label, header: what its row and its column are called.
    """

    table: int
    row: int
    column: int
    text: str
    label: str
    header: str

    def __str__(self) -> str:
        header = f", {self.header}" if self.header else ""
        return f"{self.label}{header} (table {self.table + 1}): {self.text}"


class Derivation(NamedTuple):
    """How a value follows from cells.

    Attributes:
        formula: what is done with them: ``difference`` is the first less the second, ``change``
            the percentage from the second to the first, ``share`` the first as a percentage of
            the second.
        operands: the cells.
        value: the result, scales applied; percentages in points.
        score: how well the cells' names agree with the sentence.
        alternatives: other derivations that are as likely.
    """

    formula: Formula
    operands: tuple[Operand, ...]
    value: float
    score: float
    alternatives: int = 0

    @property
    def scenario(self) -> Scenario:
        """FAITH, 3.4: by how many metrics are combined."""
        if self.formula == "value":
            return "A"
        if len(self.operands) > 2:
            return "D"
        return "B" if len({one.label for one in self.operands}) == 1 else "C"

    @property
    def rises(self) -> bool:
        """Whether the first cell is more than the second; of two negative ones, further from 0."""
        both_negative = all(one.text.lstrip("$ ").startswith(("(", "-")) for one in self.operands)
        return (self.value > 0) != both_negative

    @property
    def explanation(self) -> str:
        """The cells and the formula, in a line each."""
        names = "abc"[: len(self.operands)]
        cells = [f"{name} = {one}" for name, one in zip(names, self.operands, strict=True)]
        said = {
            "value": "a",
            "difference": "a - b",
            "change": "(a - b) / |b| x 100 %",
            "ratio": "a / b",
            "share": "a / b x 100 %",
            "sum": " + ".join(names),
        }[self.formula]
        return "\n".join([*cells, f"{said} = {self.value:.6g}"])


class _Number(NamedTuple):
    """A cell with a number, and how well its row and column fit the sentence."""

    cell: Cell
    table: int
    row: int
    score: float
    may_scale: bool
    of_total: bool
    is_change: bool


class Evidence:
    """The tables of one report, read once for all of its sentences.

    Args:
        tables: their titles are their pre-texts.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        self.tables = [TypedTable.of(table) for table in tables]
        self._scaled = [
            any(c.unit.scale != 1 for line in t.cells for c in line) for t in self.tables
        ]
        self._titles = [frozenset(content_words(table.title)) for table in tables]

    @cached_property
    def _rarity(self) -> dict[str, float]:
        """How much a word of a label tells: the more, the fewer rows have it."""
        rows = [set(self._row_words(t, r)) for t, r in self._rows()]
        found = Counter(word for own in rows for word in own)
        return {word: log(1 + len(rows) / n) for word, n in found.items()}

    def _rows(self) -> Iterator[tuple[int, int]]:
        for number, table in enumerate(self.tables):
            for row in range(len(table.rows)):
                yield number, row

    def _row_words(self, table: int, row: int) -> list[str]:
        return [w for label in self.tables[table].rows[row].path for w in content_words(label)]

    def rank(self, sentence: str, around: str) -> list[list[_Number]]:
        """The numbers of each row with how well they fit, rows without a common word left out.

        Args:
            sentence: with or without its masked span.
            around: the sentences before and after.
        """
        near, far = set(content_words(sentence)), set(content_words(around))
        years = set(_YEAR.findall(sentence)) or set(_YEAR.findall(around))
        found = []
        for number, row in self._rows():
            table = self.tables[number]
            *above, name = table.rows[row].path
            fit = self._fit(content_words(name), near, far)
            if above:
                section = [word for label in above for word in content_words(label)]
                fit = max(fit, 0.7 * fit + 0.3 * self._fit(section, near, far))
            if table.rows[row].total:
                fit = max(fit, _TOTAL)  # what a share is of need not be said
            if not fit:
                continue
            fit += 0.15 * bool(self._titles[number] & near)
            line = []
            for place, cell in enumerate(table.cells[row]):
                if cell.kind == "blank" and place not in table.naming and cell.text:
                    cell = cell._replace(kind="number")  # a dash is nothing, which can be said
                if cell.kind != "number":
                    continue
                header = table.columns[place].header
                told = set(_YEAR.findall(header))
                extra = 0.25 if told & years else -0.25 if told and years else 0.0
                extra += 0.15 * self._fit(content_words(header), near, set())
                score = fit + extra
                total = table.columns[place].total or "total" in header.casefold()
                change = _CHANGES.search(header) is not None
                may_scale = not (self._scaled[number] or counts_by_itself(f"{name} {header}"))
                line.append(_Number(cell, number, row, score, may_scale, total, change))
            found.append(line)
        return found

    def _fit(self, words: Sequence[str], near: set[str], far: set[str]) -> float:
        """The share of a label that is said; what is said around counts half."""
        weights = {word: self._rarity.get(word, 1.0) for word in words}
        total = sum(weights.values())
        said = sum(
            w * (1.0 if word in near else 0.5 * (word in far)) for word, w in weights.items()
        )
        return said / total if total else 0.0

    def operand(self, one: _Number) -> Operand:
        """A number as a derivation names it."""
        table, cell = self.tables[one.table], one.cell
        label, header = ", ".join(table.rows[one.row].path), table.columns[cell.column].header
        return Operand(one.table, cell.row, cell.column, cell.text, label, header)

    def nearest(self, masked: str, around: str, most: int) -> list[int]:
        """So many tables that fit a masked sentence best, in the report's order."""
        best = dict.fromkeys(range(len(self.tables)), 0.0)
        for line in self.rank(masked, around):
            for one in line:
                best[one.table] = max(best[one.table], one.score)
        return sorted(sorted(best, key=lambda table: -best[table])[:most])

    def candidates(self, masked: str, around: str, most: int) -> list[str]:
        """So many rows that fit a masked sentence best, a line each, with the changes between
        neighbouring columns; nothing of the span is used.
        """
        lines = [line for line in self.rank(masked, around) if line]
        lines.sort(key=lambda line: -max(one.score for one in line))
        return [self._line(line) for line in lines[:most]]

    def _line(self, line: Sequence[_Number]) -> str:
        operands = [self.operand(one) for one in line]
        cells = "; ".join(f"{one.header or 'value'} {one.text}" for one in operands)
        said = [f"table {line[0].table + 1}, {operands[0].label}: {cells}"]
        for one, other in pairwise(line):
            left, right = one.cell, other.cell
            if _alike(left, right) and right.value and left.unit.symbol != "%":
                change = (left.value - right.value) / abs(right.value) * 100
                gap = f"{(left.value - right.value) / float(left.unit.scale):.6g}"
                said.append(f"{left.text} from {right.text}: {gap}, {change:.1f} %")
        return "; ".join(said)

    def is_kin(self, one: _Number, other: _Number) -> bool:
        """Whether two rows are of one metric: "2014 net revenue" and "2015 net revenue"."""
        words = (set(self._row_words(each.table, each.row)) for each in (one, other))
        left, right = ({word for word in own if not word.isdigit()} for own in words)
        return left == right or (bool(left & right) and len(left ^ right) <= 1)

    def derive(self, masked: str, span: str, around: str = "") -> Derivation | None:
        """The likeliest way in which a span follows from the tables; ``None`` for none.

        Args:
            masked: the sentence with :data:`~tablemend.tasks.faith.sample.MASK` for the span.
            span: its words.
            around: the sentences before and after.
        """
        readings = read_values(span)
        if len(readings) != 1:
            return None
        wanted = _written(span, readings[0])
        lines = self.rank(masked, around)
        found = [
            one._replace(score=one.score - _COST[one.formula] * max(1, len(one.operands) - 1))
            for one in _Search(self, wanted).of_lines(lines)
            if _agrees(one, masked, wanted.value < 0)
        ]
        best = max(found, key=lambda one: one.score, default=None)
        if best is None or best.score < _LEAST:
            return None
        close = sum(one.score > best.score - _NEARLY for one in found)
        return best._replace(alternatives=close - 1)


def _agrees(one: Derivation, masked: str, is_signed: bool) -> bool:
    """Whether the sentence speaks of such a formula; a change goes forward in time, and the way
    that the word next to the mask says.
    """
    wording = _WORDINGS.get(one.formula)
    if wording is not None and not wording.search(masked):
        return False
    if one.formula != "change" or is_signed:
        return True
    years = [max(_YEAR.findall(operand.header), default="") for operand in one.operands]
    if all(years) and years[0] < years[1]:
        return False
    place = masked.find(MASK)
    words = [(abs(match.start() - place), match.lastgroup) for match in _DIRECTION.finditer(masked)]
    _, said = min(words, default=(0, None))
    return said is None or (said == "up") == one.rises


def _written(span: str, reading: Reading) -> Reading:
    """The reading with the step of its last written digit, as rounding in a report is, and in
    the unit that it is written in, as a table has it: thousands of BOE in MBOE.
    """
    own = unit_scale(span)
    reading = reading._replace(value=reading.value / own, step=reading.step / own)
    digits = re.findall(r"\d[\d,]*(?:\.\d+)?", span)
    if len(digits) != 1 or not reading.value:
        return reading
    plain = digits[0].replace(",", "")
    scale = abs(reading.value) / type(reading.value)(plain) if float(plain) else reading.step
    decimals = len(plain.partition(".")[2])
    step = scale / 10**decimals
    if plain.endswith("000"):  # "$168,000" is rounded to thousands
        step *= 1000
    return reading._replace(step=step)


class _Search:
    """All formulas over some numbers whose value is the one that is wanted."""

    def __init__(self, evidence: Evidence, wanted: Reading) -> None:
        self._evidence, self._wanted = evidence, wanted
        self._percent, self._target = "%" in wanted.units, abs(float(wanted.value))
        self._half = float(wanted.step) / 2 + 1e-9 * max(1.0, self._target)

    def of_lines(self, lines: Sequence[Sequence[_Number]]) -> Iterator[Derivation]:
        """Over one row at a time, and over one column."""
        for line in lines:
            for one in line:
                yield from self._look_up(one)
            stated = [one for one in line if not one.is_change]
            for one, other in combinations(stated, 2):
                if _alike(one.cell, other.cell):
                    yield from chain(self._of_row(one, other), self._of_two(one, other))
        for column in _columns(lines):
            for one, other in combinations(column, 2):
                if _alike(one.cell, other.cell):
                    yield from chain(self._of_column(one, other), self._of_two(one, other))
            for three in combinations(column[:_MOST_ADDED], 3):
                if _alike(three[0].cell, three[1].cell) and _alike(three[0].cell, three[2].cell):
                    yield from self._sum(three)

    def _fits(self, value: float, added: Iterable[float] = ()) -> bool:
        """Also that each of what was added or subtracted makes a difference."""
        half = self._half
        return abs(abs(value) - self._target) <= half and all(abs(one) > 3 * half for one in added)

    def _made(self, formula: Formula, value: float, *numbers: _Number) -> Derivation:
        scores = [one.score for one in numbers]
        if numbers[0].row == numbers[-1].row:  # one row: the column that fits best decides
            scores = [max(scores)]
        operands = tuple(map(self._evidence.operand, numbers))
        return Derivation(formula, operands, value, sum(scores) / len(scores))

    def _scaled(self, *numbers: _Number) -> Iterator[list[float]]:
        """The numbers as they may be said: a table that states no scale may be in any, and a small
        number may leave the table's scale out.
        """
        first, scales = numbers[0], [1.0]
        unit = first.cell.unit
        if not _may_be(unit, self._wanted):
            return
        if self._percent and len(numbers) > 1 and unit.symbol != "%":
            return
        if unit.symbol != "%" and not self._percent:
            if self._target >= _SAYS_SCALE:
                scales += [1e3, 1e6] if all(one.may_scale for one in numbers) else []
            elif unit.scale != 1:
                scales.append(1 / float(unit.scale))
        for scale in scales:
            yield [one.cell.value * scale for one in numbers]

    def _look_up(self, one: _Number) -> Iterator[Derivation]:
        if self._percent and one.cell.unit.symbol != "%":
            operand = self._evidence.operand(one)
            if not _RATES.search(f"{operand.label} {operand.header}"):
                return
        for (value,) in self._scaled(one):
            if self._fits(value):
                found = self._made("value", value, one)
                yield found if value == one.cell.value else found._replace(score=found.score - 0.1)

    def _of_row(self, one: _Number, other: _Number) -> Iterator[Derivation]:
        for a, b in ((one, other), (other, one)):
            if not (self._percent and b.cell.value):
                continue
            change = (a.cell.value - b.cell.value) / abs(b.cell.value) * 100
            if self._fits(change):
                yield self._made("change", change, a, b)
            elif b.of_total and self._fits(change + 100):
                yield self._made("share", change + 100, a, b)

    def _of_column(self, one: _Number, other: _Number) -> Iterator[Derivation]:
        for a, b in ((one, other), (other, one)):
            ratio = a.cell.value / b.cell.value if b.cell.value else 0.0
            change = (a.cell.value - b.cell.value) / abs(b.cell.value) * 100 if ratio else 0.0
            if self._percent and self._fits(ratio * 100):
                yield self._made("share", ratio * 100, a, b)
            elif self._percent and change and self._fits(change) and self._evidence.is_kin(a, b):
                yield self._made("change", change, a, b)
            elif not self._wanted.units and self._fits(ratio):
                yield self._made("ratio", ratio, a, b)

    def _of_two(self, one: _Number, other: _Number) -> Iterator[Derivation]:
        for x, y in self._scaled(one, other):
            if self._fits(x - y, (x, y)):
                yield self._made("difference", x - y, one, other)
        yield from self._sum((one, other))

    def _sum(self, numbers: Sequence[_Number]) -> Iterator[Derivation]:
        for values in self._scaled(*numbers):
            if self._fits(sum(values), values):
                yield self._made("sum", sum(values), *numbers)


def _columns(lines: Sequence[Sequence[_Number]]) -> list[list[_Number]]:
    """The same numbers by table and column."""
    found: dict[tuple[int, int], list[_Number]] = {}
    for line in lines:
        for one in line:
            found.setdefault((one.table, one.cell.column), []).append(one)
    return list(found.values())


def _alike(one: Cell, other: Cell) -> bool:
    percent = (one.unit.symbol == "%") == (other.unit.symbol == "%")
    return percent and same_currency(one.unit.currency, other.unit.currency)


def _may_be(unit: Unit, wanted: Reading) -> bool:
    """Whether a cell with this unit can be said with the units that are wanted."""
    if "%" in wanted.units:
        return unit.symbol in ("%", "") and not unit.currency
    if unit.symbol == "%":
        return False
    return not (unit.currency and wanted.units and not are_money(wanted.units))
