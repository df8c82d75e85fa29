"""True statements about a table, drawn at random: one function for each thing that can be said."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import TypeVar, cast

from tablemend.programs.execute import Result, execute, read_range
from tablemend.programs.nouns import exact, loosely, round_between, rounded
from tablemend.programs.program import (
    Aggregate,
    Amount,
    Between,
    Change,
    Compare,
    Condition,
    Count,
    Difference,
    GroupBy,
    GroupOp,
    Order,
    Program,
    Quantifier,
    QuantifierName,
    Rank,
    Ratio,
    Relation,
    Rows,
    Statement,
    Trend,
    Value,
)
from tablemend.programs.speaker import EXPECTED, Measure, TableDescriber
from tablemend.programs.table import Cell
from tablemend.values.units import ONE, PLAIN, Unit

T = TypeVar("T")
_PERCENT = Unit(symbol="%")


class Sampler:
    """Draws statements; each is ``None`` where what was drawn cannot be said of this table."""

    def __init__(self, speaker: TableDescriber, rng: Random) -> None:
        self.speaker, self.rng = speaker, rng
        self.said: set[tuple[int, int]] = set()
        measures = list(speaker.measures.values())
        self._numbers = [m for m in measures if m.kind == "number" and m.period is None]
        self._ranked = [m for m in measures if m.kind == "number" and m.comparable]
        self._texts = [m for m in measures if m.kind == "text"]
        self._dates = [m for m in measures if m.kind == "date"]
        self._pairs = [
            (one, other)
            for one in self._numbers
            for other in self._numbers
            if one != other
            and (self._are_rivals(one, other) or other.label.split()[-1] in EXPECTED)
        ]

    # Single cells

    def value(self) -> Statement | None:
        """One number."""
        measure, row = self._pick(self._numbers), self.rng.choice(self.speaker.rows)
        if measure is None or not self._holds_number(row, measure):
            return None
        return self._stated(row, measure)

    def attribute(self) -> Statement | None:
        """One text or date."""
        measure = self._pick([*self._texts, *self._dates])
        row = self.rng.choice(self.speaker.rows)
        if measure is None or (measure.kind == "date" and self.speaker.who is None):
            return None
        texts = {self._cell(row, measure).key for row in self.speaker.rows}
        if self._cell(row, measure).kind == "blank" or len(texts) == 1:
            return None
        return self._stated(row, measure)

    def several(self, name: str = "") -> list[Statement]:
        """Two or three values of one entity; one or two of that whose name is given."""
        speaker = self.speaker
        rows = [row for row in speaker.rows if speaker.name(row) == name or not name]
        if speaker.who is None or not rows or (name and speaker.when is not None):
            return []
        row = self.rng.choice(rows)
        measures = [
            measure
            for measure in [*self._numbers, *self._texts]
            for cell in [self._cell(row, measure)]
            if cell.kind != "blank"
            and not measure.flags
            and cell.place not in self.said
            and (measure.kind == "text" or self._holds_number(row, measure))
        ]
        wanted = self.rng.choice((1, 2) if name else (2, 2, 3))
        self.rng.shuffle(measures)
        texts = [measure for measure in measures if measure.kind == "text"]
        chosen = [m for m in measures if m not in texts[1:]][:wanted]  # one text is enough
        return [self._stated(row, m) for m in chosen] if len(chosen) == wanted else []

    def range(self) -> Statement | None:
        """A measurement against its reference range: as often beyond it as within."""
        measure, limits = self._pick(self._numbers), self.speaker.limits
        if limits is None or measure is None:
            return None
        found: dict[bool, list[Statement]] = {True: [], False: []}
        for row in self.speaker.rows:
            rows = self.speaker.only(row)
            ends = read_range(self.speaker.cell(row, limits).text)
            if ends != (None, None) and self._holds_number(row, measure):
                one = self._hold(Between(Value(rows, measure.column), Value(rows, limits)))
                if one is not None:
                    found[one.stated == "within"].append(one)
        # where nothing lies outside, that one thing does would be known to be false
        return self.rng.choice(self.rng.choice([*found.values()])) if all(found.values()) else None

    # Two cells

    def compared(self) -> Statement | None:
        """Two entities in one column: which is more, by how much, or how many times."""
        measure, rows = self._column(2)
        if measure is None:
            return None
        one, other = self.rng.sample(rows, 2)
        a, b = self._cell(one, measure), self._cell(other, measure)
        if a.value == b.value:
            return None
        left, right = self._at(one, measure), self._at(other, measure)
        way = self.rng.random()
        if way < 0.25:
            is_one = measure.counted and abs(a.value - b.value) == 1  # "1 fewer barns"
            return None if is_one else self._difference(Difference(left, right), a, b)
        times = a.value / b.value if b.value > 0 else 0.0
        is_share = "%" in (a.unit.symbol, a.measure) or a.measure == "points"
        if way < 0.45 and 1.2 < times < 20 and not is_share:
            decimals = next(n for n in range(3) if n == 2 or round(times, 2) == round(times, n))
            return Statement(Ratio(left, right), rounded(times, PLAIN, decimals))
        return self._hold(Compare(left, ">" if a.value > b.value else "<", right))

    def order(self) -> Statement | None:
        """Which of two entities has the later date."""
        speaker, measure = self.speaker, self._pick(self._dates)
        if measure is None or speaker.who is None or speaker.when is not None:
            return None
        rows = [row for row in speaker.rows if self._cell(row, measure).kind == "date"]
        if len(rows) < 2:
            return None
        one, other = self.rng.sample(rows, 2)
        a, b = self._cell(one, measure), self._cell(other, measure)
        if a.value == b.value or a.measure == "date":  # which comes first is open without a year
            return None
        relation: Relation = ">" if a.value > b.value else "<"
        return self._hold(Compare(self._at(one, measure), relation, self._at(other, measure)))

    def against(self) -> Statement | None:
        """One column of a row against another: reported against expected, gold against silver."""
        pair, row = self._pick(self._pairs), self.rng.choice(self.speaker.rows)
        if pair is None or not all(self._holds_number(row, measure) for measure in pair):
            return None
        a, b = (self._cell(row, measure) for measure in pair)
        same = (a.unit, a.measure) == (b.unit, b.measure) and a.value != b.value
        if not same or (self.speaker.who is None and pair[0].counted):
            return None
        left, right = (self._at(row, measure) for measure in pair)
        return self._hold(Compare(left, ">" if a.value > b.value else "<", right))

    # Over time

    def change(self) -> Statement | None:
        """From one period to another: which way, by how much, by what percentage."""
        measure, line = self._line(2)
        if measure is None or not self._is_ordered(line):
            return None
        is_rise = self.rng.random() < 0.5  # as often down as up, where it goes both ways
        for first in self.rng.sample(range(len(line) - 1), len(line) - 1):
            one, other = line[first], line[first + self.rng.choice((1, 1, len(line) - 1 - first))]
            a, b = self._cell(one, measure), self._cell(other, measure)
            if a.value != b.value and (a.value < b.value) is is_rise:
                break
        else:
            return None
        left, right = self._at(one, measure), self._at(other, measure)
        way = self.rng.random()
        if way < 0.35:
            return self._hold(Compare(left, "<" if a.value < b.value else ">", right))
        is_share = "%" in (a.unit.symbol, a.measure) or a.measure == "points"
        if way < 0.6 or a.value <= 0 or b.value <= 0 or is_share:
            return self._difference(Change(left, right), b, a)
        percent = 100 * (b.value - a.value) / a.value
        decimals = 1 if self.rng.random() < 0.7 else 0
        stated = rounded(percent, _PERCENT, decimals)
        if not decimals and stated.value and self.rng.random() < 0.6:
            stated = Amount(stated.value, _PERCENT, 1.0, "about")
        return Statement(Change(left, right, percent=True), stated) if stated.value else None

    def trend(self) -> Statement | None:
        """One direction over three periods or more."""
        measure, line = self._line(3)
        if measure is None or not self._is_ordered(line):
            return None
        length = self.rng.randint(3, len(line))
        start = self.rng.randrange(len(line) - length + 1)
        chosen = line[start : start + length]
        when = self.speaker.when
        assert when is not None
        cells = [self.speaker.cell(row, when) for row in chosen]
        if {after.value - before.value for before, after in pairwise(cells)} != {1.0}:
            return None
        ends = [Condition(when, ">=", cells[0].key), Condition(when, "<=", cells[-1].key)]
        rows = Rows((*self._entity(chosen[0]), *ends))
        values = [self._cell(row, measure).value for row in chosen]
        relation: Relation = ">" if values[0] < values[1] else "<"
        return self._hold(Trend(rows, measure.column, when, relation))

    def peak(self) -> Statement | None:
        """The period of the highest or lowest value."""
        measure, line = self._line(3)
        if measure is None or self.speaker.when is None:
            return None
        order: Order = self.rng.choice(("max", "min"))
        rank = Rank(Rows(self._entity(line[0])), measure.column, order)
        return self._named(Value(rank, self.speaker.when))

    # All rows

    def superlative(self) -> Statement | None:
        """The highest or lowest of all rows."""
        measure, rows = self._column(3)
        if measure is None or self.speaker.who is None:
            return None
        return self._first(rows, measure, self.rng.choice(("max", "min")))

    def rank(self) -> Statement | None:
        """The second to fourth highest."""
        measure, rows = self._column(4)
        n = self.rng.choice((2, 3, 4))
        if measure is None or n >= len(rows):
            return None
        values = sorted((self._cell(row, measure).value for row in rows), reverse=True)
        return self._first(rows, measure, "max", n) if len(set(values[:n])) == n else None

    def extreme(self) -> Statement | None:
        """The highest or lowest number of all rows, whosever it is."""
        measure, rows = self._column(3)
        if measure is None:
            return None
        order: Order = self.rng.choice(("max", "min"))
        program = Aggregate(order, Rows(self._period(rows[0])), measure.column)
        return Statement(program, loosely(execute(program, self.speaker.table), self.rng))

    def count(self) -> Statement | None:
        """How many rows are beyond a threshold or in a category."""
        measure = self._pick([*self._ranked, *self._texts])
        if measure is None or len(self.speaker.rows) < 4 or not self._are_one_thing():
            return None
        cells = [self._cell(row, measure) for row in self.speaker.rows]
        if measure.kind == "text":
            keys = [cell.key for cell in cells]
            chosen = self.rng.choice(keys)
            if not chosen or len(set(keys)) > len(keys) // 2 + 1:
                return None
            condition = Condition(measure.column, "=", chosen)
        else:
            values = sorted({cell.value for cell in cells})
            if len(values) < 4:
                return None
            middle = self.rng.randrange(1, len(values) - 1)
            found = self._threshold(measure, values[middle], values[middle + 1])
            if found is None:
                return None
            relation: Relation = self.rng.choice((">", ">", ">", ">=", "<", "<="))
            condition = Condition(measure.column, relation, found)
        program = Count(Rows((condition,)))
        result = execute(program, self.speaker.table)
        assert isinstance(result.value, float)
        wanted = 1 < result.value < len(cells)
        return Statement(program, rounded(result.value)) if wanted else None

    def quantified(self) -> Statement | None:
        """That all, most or no rows are beyond a threshold, or only one is."""
        rng, speaker, measure = self.rng, self.speaker, self._pick(self._ranked)
        if measure is None or len(speaker.rows) < 4 or not self._are_one_thing():
            return None
        values = sorted(self._cell(row, measure).value for row in speaker.rows)
        if values[0] <= 0:
            return None
        is_over = rng.random() < 0.6
        kind: QuantifierName = rng.choice(("all", "none", "most", "few", "only"))
        third = len(values) // 3
        if kind == "only":
            ends = (values[-2], values[-1]) if is_over else (values[0], values[1])
        elif kind in ("most", "few"):
            low, high = (values[third - 1], values[third]), (values[-third - 1], values[-third])
            ends = low if (kind == "most") is is_over else high
        elif (kind == "all") == is_over:
            ends = 0.7 * values[0], values[0]
        else:
            ends = values[-1], 1.3 * values[-1]
        threshold = self._threshold(measure, *ends)
        if threshold is None:
            return None
        relation: Relation = rng.choice((">", ">", ">=") if is_over else ("<", "<", "<="))
        condition = Condition(measure.column, relation, threshold)
        rows = Rows()
        if kind == "only":
            by_value = {self._cell(row, measure).value: row for row in speaker.rows}
            rows = speaker.only(by_value[values[-1] if is_over else values[0]])
            if speaker.who is None:
                return None
        return self._hold(Quantifier(kind, rows, condition))

    def total(self) -> Statement | None:
        """What a column adds up to, its mean, or the share of one entity."""
        speaker = self.speaker
        measure = self._pick([measure for measure in self._ranked if measure.summable])
        rows = [row for row in speaker.rows if measure and self._holds_number(row, measure)]
        if measure is None or speaker.has_totals or not self._are_one_thing() or len(rows) < 3:
            return None
        way = self.rng.random()
        sum_of = Aggregate("sum", Rows(), measure.column)
        if way < 0.4:
            return Statement(sum_of, exact(execute(sum_of, speaker.table)))
        if way < 0.6 and speaker.who is not None:
            ratio = Ratio(self._at(self.rng.choice(rows), measure), sum_of, percent=True)
            share = execute(ratio, speaker.table).value
            positive = all(self._cell(row, measure).value >= 0 for row in speaker.rows)
            fits = isinstance(share, float) and 1 < share < 100 and positive
            return Statement(ratio, rounded(cast(float, share), _PERCENT, 1)) if fits else None
        mean = Aggregate("mean", Rows(), measure.column)
        return Statement(mean, _round_mean(execute(mean, speaker.table)))

    def group(self) -> Statement | None:
        """The group with the highest total or mean, or with the most rows."""
        by, measure = self._pick(self._texts), self._pick([m for m in self._ranked if m.summable])
        if by is None or by.flags or not self._are_one_thing() or self.speaker.has_totals:
            return None
        keys = [self._cell(row, by).key for row in self.speaker.rows]
        if "" in keys or len(set(keys)) > len(keys) // 2:
            return None
        order: Order = self.rng.choice(("max", "min"))
        if measure is None or self.rng.random() < 0.4:
            return self._named(GroupBy(by.column, "count", by.column, order))
        op: GroupOp = self.rng.choice(("sum", "mean"))
        return self._named(GroupBy(by.column, op, measure.column, order))

    # What they share

    def _pick(self, items: list[T]) -> T | None:
        return self.rng.choice(items) if items else None

    def _cell(self, row: int, measure: Measure) -> Cell:
        return self.speaker.cell(row, measure.column)

    def _at(self, row: int, measure: Measure) -> Value:
        return Value(self.speaker.only(row), measure.column)

    def _holds_number(self, row: int, measure: Measure) -> bool:
        cell = self._cell(row, measure)
        return cell.kind == "number" and len(cell.text) <= 24

    def _stated(self, row: int, measure: Measure) -> Statement:
        cell = self._cell(row, measure)
        stated = loosely(cell, self.rng) if cell.kind == "number" else cell.text
        return Statement(self._at(row, measure), stated)

    def _hold(self, program: Program) -> Statement | None:
        """That it is so, or where it lies."""
        value = execute(program, self.speaker.table).value
        if isinstance(program, Between):
            return Statement(program, value) if isinstance(value, str) else None
        return Statement(program, True) if value is True else None

    def _named(self, program: Program) -> Statement | None:
        """What comes first; ``None`` for a tie."""
        result = execute(program, self.speaker.table)
        return None if result.undefined else Statement(program, result.text)

    def _first(
        self, rows: list[int], measure: Measure, order: Order, n: int = 1
    ) -> Statement | None:
        """Who has the n-th value of a column, in the period of these rows."""
        rank = Rank(Rows(self._period(rows[0])), measure.column, order, n)
        return None if self.speaker.who is None else self._named(Value(rank, self.speaker.who))

    def _difference(self, program: Difference | Change, more: Cell, less: Cell) -> Statement | None:
        decimals = max(more.decimals, less.decimals)
        stated = rounded(more.value - less.value, more.unit, decimals)
        return Statement(program, stated) if stated.value else None

    def _entity(self, row: int) -> tuple[Condition, ...]:
        return tuple(c for c in self.speaker.only(row).conditions if c.column == self.speaker.who)

    def _period(self, row: int) -> tuple[Condition, ...]:
        return tuple(c for c in self.speaker.only(row).conditions if c.column == self.speaker.when)

    def _column(self, least: int) -> tuple[Measure | None, list[int]]:
        """A column to compare rows in; in a panel the rows of one period."""
        speaker, measure = self.speaker, self._pick(self._ranked)
        if not speaker.whole or speaker.who is None or measure is None:
            return None, []
        rows = list(speaker.rows)
        if speaker.when is not None:
            period = self._period(self.rng.choice(rows))
            rows = [row for row in rows if self._period(row) == period]
        full = all(self._holds_number(row, measure) for row in rows)
        return (measure, rows) if full and len(rows) >= least else (None, [])

    def _line(self, least: int) -> tuple[Measure | None, list[int]]:
        """The rows of one entity, or of the table, in the order of time, with a column."""
        speaker, measure = self.speaker, self._pick(self._numbers)
        if speaker.when is None or measure is None:
            return None, []
        when, rows = speaker.when, list(speaker.rows)
        if speaker.who is not None:
            entity = self._entity(self.rng.choice(rows))
            rows = [row for row in rows if self._entity(row) == entity]
        rows.sort(key=lambda row: speaker.cell(row, when).value)
        full = all(self._holds_number(row, measure) for row in rows)
        units = {self._cell(row, measure).unit[1:] for row in rows}
        return (measure, rows) if full and len(units) == 1 and len(rows) >= least else (None, [])

    def _is_ordered(self, line: list[int]) -> bool:
        """Whether it is known which of two periods comes first."""
        when = self.speaker.when
        return when is not None and self.speaker.cell(line[0], when).measure != "date"

    def _are_one_thing(self) -> bool:
        """Whether all rows are known, each an entity or a period, and not one in the other."""
        speaker = self.speaker
        return speaker.whole and (speaker.who is None) != (speaker.when is None)

    def _are_rivals(self, one: Measure, other: Measure) -> bool:
        """Whether now the one is more, now the other: deals won and lost, not rooms and guests."""
        if not (one.counted and other.counted):
            return False
        rows = self.speaker.rows
        more = [self._cell(row, one).value > self._cell(row, other).value for row in rows]
        return 1 < sum(more) < len(more) - 1

    def _threshold(self, measure: Measure, low: float, high: float) -> float | None:
        """A round number between two; whole where the column is: no "more than 0.8 wins"."""
        found = round_between(low, high)
        cells = [self._cell(row, measure) for row in self.speaker.rows]
        whole = all(cell.decimals == 0 and cell.unit.scale == ONE for cell in cells)
        if found is None or (whole and found % 1) or (measure.counted and found == 1):
            return None
        return found


KINDS: dict[Callable[[Sampler], Statement | None], int] = {
    Sampler.value: 3,
    Sampler.attribute: 1,
    Sampler.compared: 5,
    Sampler.against: 3,
    Sampler.superlative: 5,
    Sampler.rank: 2,
    Sampler.extreme: 1,
    Sampler.order: 2,
    Sampler.range: 5,
    Sampler.change: 6,
    Sampler.trend: 2,
    Sampler.peak: 3,
    Sampler.count: 3,
    Sampler.quantified: 2,
    Sampler.total: 2,
    Sampler.group: 1,
}
"""What can be said, and how often it is tried. What a table has no place for is drawn anew."""
LISTS = 3
"""How often several values of one entity are tried."""


def _round_mean(mean: Result) -> Amount:
    """A mean with one decimal more than the cells have, fewer if large; money has cents or none."""
    assert isinstance(mean.value, float)
    size = abs(mean.value) / float(mean.unit.scale)
    if mean.unit.scale == 1000 and not mean.unit.symbol:  # three more are said, as millions
        decimals = -2 if size >= 10**4 else 0
    elif size >= 1000:
        decimals = 0
    elif mean.unit.currency and mean.unit.scale == ONE:
        decimals = 2
    else:
        decimals = min(mean.decimals + 1, 3 if size < 100 else 1)
    stated = rounded(mean.value, mean.unit, decimals)
    return rounded(mean.value, mean.unit) if stated.value % 1 == 0 else stated
