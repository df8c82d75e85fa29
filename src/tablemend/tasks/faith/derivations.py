"""How a number in a report follows from its tables: the program annotator (FAITH, 3.4 and 3.5).

A derivation is a small formula over at most three cells: a look-up, a sum, a difference, a ratio, a
change or share in percent. It is found by its value and by what the sentence says of its cells.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, combinations, pairwise, permutations
from math import log
from typing import Literal, NamedTuple

from tablemend.evidence.labels import counts_by_itself
from tablemend.programs.table import Cell, TypedTable
from tablemend.tables.table import Table
from tablemend.tasks.faith.sample import MASK, Reading, are_money, read_values, unit_scale
from tablemend.tasks.faith.sentences import read_periods, read_wording
from tablemend.values.text import content_words
from tablemend.values.units import Unit, same_currency

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
_COMPUTE: dict[Formula, Callable[..., float]] = {
    "value": lambda a: a,
    "difference": lambda a, b: a - b,
    "change": lambda a, b: (a - b) / abs(b) * 100,
    "ratio": lambda a, b: a / b,
    "share": lambda a, b: a / b * 100,
    "sum": lambda *addends: sum(addends),
}
_LEAST = 0.5
"""The least score of a derivation; chosen on the dev half of the pilot."""
_NEARLY = 0.05
"""Derivations within this of the best are as likely."""
_NAMED = 0.6
"""How much of a row's name a sentence says that names it; chosen on the dev half of the pages."""
_SAYS_SCALE = 10**4
"""From here on a number is said with its scale."""
_TOTAL = 0.3
"""How well a row or column of totals fits that the sentence does not name."""
_MOST_ADDED = 24
"""Rows of a column among which sums of three are looked for."""
_CHANGES = re.compile(
    r"\b(?:in|de)creas|\bgrew|\bgrowth|\bdecline|\bchang|\bhigher|\blower|\bimprov|\breduc"
    r"|\bcompared|\bdifference|\bvariance|\bbetter|\bvs\b|\bversus\b|\bover\b",
    re.I,
)
_RATES = re.compile(r"percent|%|\b(?:rates?|ratio|margin|yield|growth|change|bps)\b", re.I)
_COUNTS = re.compile(
    r"\bnumber of\b"
    r"|\b(?:shares|options|units|stock) (?:outstanding|issued|granted|exercised|vested)\b"
    r"|\b(?:average|diluted|basic)\b.*\bshares\b|\(?\b(?:shares|units|years|months|days)\)?$",
    re.I,
)
_ASIDE = re.compile(r"\(.*?\)")
_PRICED = re.compile(r"[$\u20ac\u00a3]|\bper\b|\bprice|\bvalue|\bcost|\bamount|\bexpense", re.I)
_EARLIER = re.compile(
    r"\b(?:prior|previous|preceding|last|earlier)\b|\bago\b|\bfrom\b|\bcompared\b|\bversus\b", re.I
)
_TIME = frozenset(
    "year ended ending end fiscal month quarter week day three six nine twelve period january "
    "february march april may june july august september october november december restated".split()
)
"""Words of a header that say when."""
_SUMS = re.compile(
    rf"\btotal(?:s|l?ed|l?ing| of)? (?:approximately |about )?{re.escape(MASK)}"
    r"|\bcombined|\baggregate|\btogether|\bsum of\b|\bcumulative",
    re.I,
)
_TIMES = re.compile(r"\btimes\b|\bratio\b|\btwice\b|\bmultiple\b", re.I)
_GAPS = re.compile(r"\bexceed\w*|\bexcess of\b|\bdifference between\b|\bnet of\b|\bless\b", re.I)
"""What a sentence says where its number came about by such a formula over two metrics."""


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
        return "B" if len({tuple(_untimed(one.label)) for one in self.operands}) == 1 else "C"

    @property
    def way(self) -> str:
        """``up`` where the first cell is more than the second; of two negative ones, further
        from 0.
        """
        both_negative = all(one.text.lstrip("$ ").startswith(("(", "-")) for one in self.operands)
        return "up" if (self.value > 0) != both_negative else "down"

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
    """A cell with a number, and how well its row and column fit the sentence.

    Attributes:
        cell, row: the cell, and its row in the typed table.
        operand: the cell as a derivation names it.
        score: how well its row and column fit.
        words: of the row's name; of its column's where the row is called "Total".
        metric: the words of its column that say no time.
        years: those of its column, else of its row.
        may_scale: the table states no scale.
        of_total: its column adds others up.
        is_change: its column, or its row, says what something rose or fell by.
    """

    cell: Cell
    row: int
    operand: Operand
    score: float
    words: tuple[str, ...]
    metric: frozenset[str]
    years: frozenset[str]
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
        paths = [self.tables[table].rows[row].path for table, row in self._rows()]
        rows = [{word for label in path for word in content_words(label)} for path in paths]
        found = Counter(word for own in rows for word in own)
        return {word: log(1 + len(rows) / n) for word, n in found.items()}

    def _rows(self) -> Iterator[tuple[int, int]]:
        for number, table in enumerate(self.tables):
            for row in range(len(table.rows)):
                yield number, row

    def rank(self, sentence: str, around: str) -> list[list[_Number]]:
        """The numbers of each row with how well they fit, rows without a common word left out.

        Args:
            sentence: with or without its masked span.
            around: the sentences before and after.
        """
        near, far = set(content_words(sentence)), set(content_words(around))
        periods, far_periods = (set().union(*read_periods(text)) for text in (sentence, around))
        years = {one for one in periods if one.isdigit()} or {
            one for one in far_periods if one.isdigit()
        }
        found = []
        for number, row in self._rows():
            table = self.tables[number]
            *above, name = table.rows[row].path
            fit = self._fit(content_words(name), near, far)
            if above:
                section = [word for label in above for word in content_words(label)]
                fit = max(fit, 0.7 * fit + 0.3 * self._fit(section, near, far))
            if not any(map(_untimed, table.rows[row].path)):  # the row of a period
                fit = float(bool(_period(name) & (periods or far_periods)))
            if table.rows[row].total:
                fit = max(fit, _TOTAL)  # what a share is of need not be said
            if not fit:
                continue
            fit += 0.15 * bool(self._titles[number] & near)
            label = ", ".join(table.rows[row].path)
            words, line = tuple(_untimed(self._name(number, row))), []
            for place, cell in enumerate(table.cells[row]):
                if cell.kind == "blank" and place not in table.naming and cell.text:
                    cell = cell._replace(kind="number")  # a dash is nothing, which can be said
                if cell.kind != "number":
                    continue
                header = table.columns[place].header
                told = read_periods(header)[0]
                extra = 0.25 if told & years else -0.25 if told and years else 0.0
                extra += 0.15 * self._fit(content_words(header), near, set())
                score = fit + extra
                metric = frozenset(_untimed(header))
                line.append(
                    _Number(
                        cell,
                        row,
                        Operand(number, cell.row, cell.column, cell.text, label, header),
                        score,
                        words or tuple(metric),
                        metric,
                        _period(header) or _period(" ".join(table.rows[row].path)),
                        not (self._scaled[number] or counts_by_itself(f"{name} {header}")),
                        table.columns[place].total or "total" in header.casefold(),
                        len(told) > 1 or _CHANGES.search(header) is not None,
                    )
                )
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

    def is_named(self, one: _Number, text: str, least: float = _NAMED) -> bool:
        """Whether a text says a row's name, and not within a longer one: "sales" is not named by
        "sales per store" where there is such a row.
        """
        if self._fit(one.words, set(content_words(text)), set()) < least:
            return False
        for row in range(len(self.tables[one.operand.table].rows)):
            name = self._name(one.operand.table, row)
            if set(one.words) < set(_untimed(name)):
                longer = re.sub(r"\W+$", "", _ASIDE.sub("", name))
                text = re.sub(re.escape(longer), " ", text, flags=re.I)
        return self._fit(one.words, set(content_words(text)), set()) >= least

    def nearest(self, masked: str, around: str, most: int) -> list[int]:
        """So many tables that fit a masked sentence best, in the report's order."""
        best = dict.fromkeys(range(len(self.tables)), 0.0)
        for line in self.rank(masked, around):
            for one in line:
                best[one.operand.table] = max(best[one.operand.table], one.score)
        return sorted(sorted(best, key=lambda table: -best[table])[:most])

    def candidates(self, masked: str, around: str, most: int) -> list[str]:
        """So many rows that fit a masked sentence best, a line each, with the changes between
        neighbouring columns; nothing of the span is used.
        """
        ranked = [line for line in self.rank(masked, around) if line]
        ranked.sort(key=lambda line: -max(one.score for one in line))
        lines = []
        for line in ranked[:most]:
            place = f"table {line[0].operand.table + 1}, {line[0].operand.label}"
            cells = "; ".join(f"{one.operand.header or 'value'} {one.cell.text}" for one in line)
            said = [f"{place}: {cells}"]
            for (left, *_), (right, *_) in pairwise(line):
                if _alike(left, right) and right.value and left.unit.symbol != "%":
                    gap = left.value - right.value
                    change = f"{gap / abs(right.value) * 100:.1f} %"
                    units = f"{gap / float(left.unit.scale):.6g}"
                    said.append(f"{left.text} from {right.text}: {units}, {change}")
            lines.append("; ".join(said))
        return lines

    def _name(self, table: int, row: int) -> str:
        """What a row is called, beside its period: "Revenue" of "Revenue, 2022 Q2"."""
        path = self.tables[table].rows[row].path
        return next((name for name in reversed(path) if _untimed(name)), path[-1])

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
            for one in _Search(self, wanted, masked, span).of_lines(lines)
        ]
        best = max(found, key=lambda one: one.score, default=None)
        if best is None or best.score < _LEAST:
            return None
        close = sum(one.score > best.score - _NEARLY for one in found)
        return best._replace(alternatives=close - 1)


def _untimed(name: str) -> list[str]:
    """The words of a name that say no time."""
    words = content_words(name)
    return [word for word in words if word not in _TIME and not re.fullmatch(r"q?\d+", word)]


def _period(name: str) -> frozenset[str]:
    """The quarters that a name says, else its years."""
    years, quarters = read_periods(name)
    return frozenset(quarters or years)


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
    if re.fullmatch(r"\d{2,}000", plain):  # "$168,000" is rounded to thousands, "1,000" is not
        step *= 1000
    return reading._replace(step=step)


class _Search:
    """All formulas over some numbers whose value is the one that is wanted, as the sentence words
    it: a look-up needs the row's name the more the fewer digits there are to go by, a formula the
    names of all its rows.
    """

    def __init__(self, evidence: Evidence, wanted: Reading, masked: str, span: str) -> None:
        self._evidence, self._wanted, self._masked = evidence, wanted, masked
        self._percent, self._target = "%" in wanted.units, abs(float(wanted.value))
        self._half = float(wanted.step) / 2 + 1e-9 * max(1.0, self._target)
        self._wording = read_wording(masked)
        self._years = set().union(*read_periods(masked))
        digits = re.sub(r"[^\d.]", "", span)
        told = len(digits.replace(".", "").lstrip("0")) if "." in digits else len(digits.strip("0"))
        self._least = {0: 0.7, 1: 0.7, 2: 0.5}.get(told, 0.3)

    def of_lines(self, lines: Sequence[Sequence[_Number]]) -> Iterator[Derivation]:
        """Over one row at a time, and over one column."""
        lines = [[one for one in line if not self._is_count(one)] for line in lines]
        for line in lines:
            told = {year for one in line for year in one.years}
            for one in line:
                for found in self._look_up(one):
                    if self._is_of_time(one, told) and self._is_looked_up(one):
                        yield found
            yield from self._changes(line)
            if not self._wording.is_change:
                yield from self._of_row(line)
        if self._wording.is_change:
            for column in _columns(lines):
                rows = defaultdict[frozenset[str], list[_Number]](list)
                for one in column:
                    if one.years:
                        rows[frozenset(one.words)].append(one)
                for kin in rows.values():
                    yield from self._changes(kin)
        else:
            times = defaultdict[tuple[int, int], set[str]](set)
            for one in chain.from_iterable(lines):
                times[one.operand.table, one.row] |= one.years
            for column in _columns(lines):
                yield from self._of_column(
                    one
                    for one in column
                    if self._is_of_time(one, times[one.operand.table, one.row])
                    and not one.is_change
                )

    def _is_of_time(self, one: _Number, told: set[str]) -> bool:
        """Whether the sentence may speak of a column's year, of those that its row has."""
        if not one.years:
            return True
        if own := self._wording.when & told:
            return bool(one.years & own)
        goes_back = _EARLIER.search(self._masked) is not None
        if said := self._years & told:
            next_to = {_moved(year, step) for year in said for step in (-1, 1) if goes_back}
            return bool(one.years & (said | next_to))
        return bool(one.years & {max(told), _moved(max(told), -goes_back)})

    def _is_count(self, one: _Number) -> bool:
        """Whether a cell counts shares, years or the like where money is wanted."""
        if not are_money(self._wanted.units) or one.cell.unit.currency:
            return False
        names = one.operand.label, one.operand.header
        return any(map(_COUNTS.search, names)) and not _PRICED.search(" ".join(names))

    def _is_looked_up(self, one: _Number) -> bool:
        """Whether a cell is of the kind that the sentence words, and its row is named."""
        wording = self._wording
        if wording.is_change and not (one.is_change or _CHANGES.search(one.operand.label)):
            return False
        if one.is_change and not wording.is_change and not _CHANGES.search(self._masked):
            return False
        return self._evidence.is_named(one, wording.metric, self._least)

    def _changes(self, numbers: Sequence[_Number]) -> Iterator[Derivation]:
        """What one metric rose or fell by, from one of the periods that the sentence compares to
        another, the way that it says.
        """
        wording = self._wording
        if not wording.is_change or wording.is_supposed:
            return
        for later, earlier in self._periods(numbers):
            if not self._evidence.is_named(later, wording.metric):
                continue
            formulas: tuple[Formula, ...] = ("change", "difference")
            for formula in formulas if self._percent else formulas[1:]:
                for one in self._try(formula, later, earlier):
                    if self._wanted.value < 0 or wording.direction in ("", one.way):
                        yield one

    def _periods(self, numbers: Sequence[_Number]) -> Iterator[tuple[_Number, _Number]]:
        """Pairs of one metric, the later first."""
        said = set(content_words(self._wording.metric))
        stated = [one for one in numbers if not one.is_change or one.metric <= said]
        for metric in dict.fromkeys(one.metric for one in stated):
            own = [one for one in stated if one.metric == metric]
            pairs = [] if metric else list(pairwise(own))[:1]  # two columns that say nothing
            if all(one.years for one in own):
                own.sort(key=lambda one: max(one.years), reverse=True)
                years = sorted({max(one.years) for one in own}, reverse=True)
                told = [year for year in years if year in self._years]
                steps = list(combinations(told, 2)) or [
                    step for step in pairwise(years) if not told or told[0] in step
                ]
                if not told:
                    steps = steps[:1]
                pairs = [
                    (one, other)
                    for one, other in combinations(own, 2)
                    if (max(one.years), max(other.years)) in steps
                ]
            yield from pairs

    def _try(self, formula: Formula, *numbers: _Number) -> Iterator[Derivation]:
        """The derivation by a formula, where its value is the one that is wanted and each of what
        was added or subtracted makes a difference.
        """
        if not all(_alike(numbers[0].cell, one.cell) for one in numbers):
            return
        options = [[one.cell.value for one in numbers]] if numbers[-1].cell.value else []
        if formula in ("value", "difference", "sum"):
            options = list(self._scaled(*numbers))
        scores = [one.score for one in numbers]
        if numbers[0].row == numbers[-1].row:  # one row: the column that fits best decides
            scores = [max(scores)]
        operands, score = tuple(one.operand for one in numbers), sum(scores) / len(scores)
        for values in options:
            value = _COMPUTE[formula](*values)
            added = values if formula in ("difference", "sum") else ()
            is_near = abs(abs(value) - self._target) <= self._half
            if is_near and all(abs(one) > 3 * self._half for one in added):
                yield Derivation(formula, operands, value, score)

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
        names = f"{one.operand.label} {one.operand.header}"
        if self._percent and one.cell.unit.symbol != "%" and not _RATES.search(names):
            return
        for found in self._try("value", one):
            score = found.score - 0.1 * (found.value != one.cell.value)
            if one.is_change and self._wording.is_change:
                score += 0.4  # its header says what is asked for, and no year
            yield found._replace(score=score)

    def _of_row(self, line: Sequence[_Number]) -> Iterator[Derivation]:
        """A column's share of the total, and sums of columns that are all named."""
        if not line or not self._evidence.is_named(line[0], self._masked):
            return
        stated = [one for one in line if not one.is_change]
        for one, total in permutations(stated, 2):
            is_part = total.of_total and not one.of_total
            if self._percent and is_part and self._wording.whole:
                yield from (x for x in self._try("share", one, total) if self._says_column(one))
        if _SUMS.search(self._masked):
            named = [one for one in stated if self._says_column(one)]
            for count in (2, 3):
                for some in combinations(named, count):
                    yield from self._try("sum", *some)

    def _says_column(self, one: _Number) -> bool:
        said = set(content_words(self._masked))
        return one.metric <= said if one.metric else bool(one.years) and one.years <= self._years

    def _of_column(self, column: Iterable[_Number]) -> Iterator[Derivation]:
        """What is said of two metrics or three, all of them named."""
        is_named, masked, whole = self._evidence.is_named, self._masked, self._wording.whole
        rest = masked.replace(whole, " ", 1) if whole else masked
        named = [one for one in column if is_named(one, masked)]
        for one, other in permutations(named, 2):
            if not other.cell.value or one.words == other.words:
                continue
            if self._percent:
                found = self._try("share", one, other)
                yield from (x for x in found if is_named(other, whole) and is_named(one, rest))
            if self._wanted.units <= {"times"} and _TIMES.search(masked):
                yield from self._try("ratio", one, other)
            if _GAPS.search(masked):
                found = self._try("difference", one, other)
                yield from (x for x in found if x.value > 0)
        if _SUMS.search(masked) and not self._percent:
            for count in (2, 3):
                for some in combinations(named[:_MOST_ADDED], count):
                    if len({one.words for one in some}) == count:
                        yield from self._try("sum", *some)


def _moved(period: str, years: int) -> str:
    """A year or quarter so many years later."""
    return f"{int(period[:4]) + years}{period[4:]}"


def _columns(lines: Sequence[Sequence[_Number]]) -> Iterable[list[_Number]]:
    """The same numbers by table and column."""
    found = defaultdict[tuple[int, int], list[_Number]](list)
    for one in chain.from_iterable(lines):
        found[one.operand.table, one.cell.column].append(one)
    return found.values()


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
