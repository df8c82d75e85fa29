"""What to say of a table: one true sentence at a time, drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from random import Random
from typing import TypeVar

from tablemend.records import ClaimKind
from tablemend.synthesis.sentences import EVENTS, is_plural, with_article
from tablemend.tabfaith import templates
from tablemend.tabfaith.periods import Period, read_period, spell_period
from tablemend.tabfaith.sentences import Claimed, Plan, Word
from tablemend.tabfaith.sheet import Amount, Measure, Row, Sheet
from tablemend.tabfaith.summary import Operation, Part, Role
from tablemend.tabfaith.wording import short_names, spell, word_amount, word_count
from tablemend.values.units import ONE, PLAIN, Unit

Cells = tuple[tuple[int, int], ...]
T = TypeVar("T")
_TENTH = Decimal("0.1")
_TRIES = 4


class Datum:
    """A number of the table and all that addresses it."""

    def __init__(self, row: Row, column: int, measure: Measure | None, period: Period | None):
        self.row, self.column, self.measure = row, column, measure
        self.period = period or row.period

    @property
    def cell(self) -> tuple[int, int]:
        """Its place in the table."""
        return self.row.index, self.column


class Planner:
    """Draws sentences about one table.

    Args:
        sheet: the table.
        rng: what draws.

    Attributes:
        said: the cells whose values stand in the text; lists leave them out.
    """

    def __init__(self, sheet: Sheet, rng: Random) -> None:
        self._sheet, self._rng = sheet, rng
        self._named: set[str] = set()
        self.said: set[tuple[int, int]] = set()
        measures = sheet.measures
        self._numbers = [measure for measure in measures if measure.kind == "number"]
        self._texts = [measure for measure in measures if measure.kind == "text"]
        self._dates = [measure for measure in measures if measure.kind == "date"]
        self._ranked = [measure for measure in self._numbers if measure.comparable]
        amounts: dict[tuple[int, int], Amount] = {}
        columns = [m.index for m in self._numbers] or [index for index, _ in sheet.periods]
        for row in sheet.rows:
            for column in columns:
                if (amount := sheet.amount(row.index, column)) is not None:
                    amounts[row.index, column] = amount
        self._amounts = amounts

    def draw(self, carried: Part | None = None) -> Plan | None:
        """A sentence, or ``None`` where what was drawn cannot be said of this table.

        Args:
            carried: the only entity of the sentence before, which a pronoun can stand for.
        """
        if carried is not None and self._rng.random() < (0.35 if self._sheet.noun else 0.1):
            plan = self._go_on(carried)
            if plan is not None:
                return plan
        kinds: list[tuple[Callable[[], Plan | None], int]] = [
            (self._value, 3),
            (self._attribute, 2),
            (self._several, 3),
            (self._compare, 4),
            (self._superlative, 5),
            (self._rank, 2),
            (self._change, 6),
            (self._trend, 2),
            (self._period_superlative, 3),
            (self._count, 3),
            (self._total, 2),
            (self._order, 2),
            (self._range, 5),
        ]
        draw = self._rng.choices([kind for kind, _ in kinds], [share for _, share in kinds])[0]
        for _ in range(_TRIES):  # rarer kinds would be too rare otherwise
            if (plan := draw()) is not None:
                return plan
        return None

    # ---- single cells

    def _value(self) -> Plan | None:
        datum = self._any_datum()
        if datum is None:
            return None
        words = self._words(datum)
        measure = datum.measure
        if datum.row.entity is None or measure is None:
            pool = templates.VALUE
        elif self._is_counted(datum):
            pool = templates.COUNTED + templates.OWNER
        else:
            pool = templates.VALUE + templates.VALUE_OF_ENTITY
            pool += () if is_plural(measure.label) else templates.OWNER_OF_AMOUNT
        template = self._choose(pool, measure)
        owner = template in templates.OWNER + templates.OWNER_OF_AMOUNT
        claim = self._value_claim(datum, "v", "relational" if owner else "numeric")
        return self._plan(template, words, [claim], datum)

    def _attribute(self) -> Plan | None:
        measure = self._pick([*self._texts, *self._dates])
        row = self._pick(self._sheet.rows)
        if measure is None or row is None:
            return None
        text = self._sheet.text(row.index, measure.index)
        if not text:
            return None
        datum = Datum(row, measure.index, measure, None)
        words = self._words(datum)
        if measure.kind == "date":
            if row.entity is None or (period := read_period(text)) is None:
                return None
            words["v"] = Word(spell_period(period, self._rng), text)
            pool = templates.EVENT if measure.label in EVENTS else templates.DATE
        else:
            words["v"] = Word(text, "text")
            plural = is_plural(measure.label)
            if row.entity is None:
                pool = templates.TEXT_OF_PERIOD
            else:
                pool = templates.TEXTS if plural else templates.TEXT
        kind: ClaimKind = "temporal" if measure.kind == "date" else "attribute"
        claim = self._value_claim(datum, "v", kind)
        return self._plan(self._choose(pool, measure), words, [claim], datum)

    def _several(self) -> Plan | None:
        row = self._pick(self._sheet.rows)
        if row is None or row.entity is None:
            return None
        return self._list(row, self._choose(templates.LISTS), None)

    def _go_on(self, carried: Part) -> Plan | None:
        sheet = self._sheet
        if sheet.layout != "entities":
            return None
        rows = [row for row in sheet.rows if row.entity == carried.style]
        if not rows:
            return None
        it = f"the {sheet.noun}" if sheet.noun else "the same entry"
        template = self._choose(templates.LISTS_ON).replace("<it>", it)
        return self._list(rows[0], template, carried)

    def _list(self, row: Row, template: str, carried: Part | None) -> Plan | None:
        """Two or three values of one entity, joined."""
        measures = [
            measure
            for measure in [*self._numbers, *self._texts]
            if (row.index, measure.index) not in self.said
            and self._sheet.text(row.index, measure.index)
            and (measure.kind == "text" or (row.index, measure.index) in self._amounts)
            and (
                self._is_counted(Datum(row, measure.index, measure, None))
                or not any(map(is_plural, measure.label.split()))
            )
        ]
        wanted = self._rng.choice((1, 2)) if carried is not None else self._rng.choice((2, 2, 3))
        if len(measures) < wanted:
            return None
        words: dict[str, Word] = {}
        claims, items = [], []
        for number, measure in enumerate(self._rng.sample(measures, wanted)):
            datum = Datum(row, measure.index, measure, None)
            m, v = f"m{number}", f"v{number}"
            article = with_article(measure.label).split()[0]
            words[m] = Word(measure.label, article)
            words.update({k: w for k, w in self._words(datum, v).items() if k in ("e", "p", v)})
            if measure.kind == "text":
                words[v] = Word(self._sheet.text(row.index, measure.index), "text")
                items.append(f"{{{v}}} as the {{{m}}}")
            elif self._is_counted(datum):
                items.append(f"{{{v}}} {{{m}}}")
            else:
                items.append(f"{article} {{{m}}} of {{{v}}}")
            kind: ClaimKind = "attribute" if measure.kind == "text" else "numeric"
            claim = self._value_claim(datum, v, kind, m)
            if carried is not None:
                claim = claim._replace(roles={**claim.roles, "entity": carried})
            claims.append(claim)
        joined = ", ".join(items[:-1]) + f" and {items[-1]}" if len(items) > 1 else items[0]
        return self._plan(template.replace("<list>", joined), words, claims, datum)

    # ---- one entity against others

    def _compare(self) -> Plan | None:
        found = self._two_rows()
        if found is None:
            return None
        one, other = found
        words = self._words(one)
        words["o"], words["w"] = self._name(other.row), self._amount(other)
        a, b = self._amounts[one.cell], self._amounts[other.cell]
        counted = one.measure is not None and one.measure.counted
        up, down = (
            (templates.MORE, templates.FEWER) if counted else (templates.HIGHER, templates.LOWER)
        )
        words["c"] = Word(self._rng.choice(up if a.value > b.value else down))
        words["d"] = self._difference(a, b)
        if one.measure is None:
            pool = templates.COMPARE_ENTITIES
        else:
            pool = templates.COMPARE_COUNTED if counted else templates.COMPARE
        template = self._choose(pool, one.measure)
        address: dict[Role, str | Part] = {**self._address(one), "other": "o", "cue": "c"}
        cells = (one.cell, other.cell)
        claims = [
            Claimed("comparative", "compare", address, "cue", cells),
            self._value_claim(one, "v", "numeric"),
            self._value_claim(other, "w", "numeric", entity="o"),
            Claimed("numeric", "difference", {**address, "value": "d"}, "value", cells),
        ]
        return self._plan(template, words, claims, one)

    def _superlative(self) -> Plan | None:
        measure, column, rows, period = self._column_of_rows()
        if len(rows) < 3:
            return None
        highest = self._rng.random() < 0.65
        order = sorted(
            rows, key=lambda row: self._amounts[row.index, column].value, reverse=highest
        )
        best, second = order[0], order[1]
        if self._value_at(best, column) == self._value_at(second, column) or not best.entity:
            return None
        datum = Datum(best, column, measure, period)
        words = self._words(datum)
        words["N"] = self._count_word(len(rows))
        counted = measure is not None and measure.counted
        cues = templates.HIGHEST, templates.LOWEST
        if counted:
            cues = templates.MOST, templates.FEWEST
        words["c"] = Word(self._rng.choice(cues[0] if highest else cues[1]))
        pool = templates.SUPERLATIVE if measure else templates.SUPERLATIVE_OF_ENTITY
        template = self._choose(pool, measure)
        return self._plan(template, words, self._ranking_claims(datum, "superlative", rows), datum)

    def _rank(self) -> Plan | None:
        measure, column, rows, period = self._column_of_rows()
        if measure is None or len(rows) < 4:
            return None
        order = sorted(rows, key=lambda row: -self._value_at(row, column))
        place = self._rng.choice((1, 1, 2, 3))
        if place >= len(order) - 1:
            return None
        chosen = order[place]
        values = [self._value_at(row, column) for row in order]
        if values.count(values[place]) > 1 or len(set(values[: place + 1])) <= place:
            return None
        if not chosen.entity:
            return None
        datum = Datum(chosen, column, measure, period)
        words = self._words(datum)
        ordinal = templates.ORDINALS[place]
        if self._rng.random() < 0.4:
            words["c"] = Word(ordinal, "place")
            template = self._choose(templates.PLACED, measure)
        else:
            words["c"] = Word(f"the {ordinal}-{'most' if measure.counted else 'highest'}", "rank")
            template = self._choose(templates.RANKED, measure)
        return self._plan(template, words, self._ranking_claims(datum, "rank", rows), datum)

    def _ranking_claims(
        self, datum: Datum, operation: Operation, rows: Sequence[Row]
    ) -> list[Claimed]:
        column = datum.column
        cells = tuple((row.index, column) for row in rows)
        address: dict[Role, str | Part] = {**self._address(datum), "cue": "c"}
        return [
            Claimed("comparative", operation, address, "cue", cells),
            self._value_claim(datum, "v", "numeric"),
            self._row_count_claim("N"),
        ]

    def _order(self) -> Plan | None:
        measure = self._pick(self._dates)
        if measure is None or self._sheet.layout != "entities" or len(self._sheet.rows) < 2:
            return None
        one, other = self._rng.sample(self._sheet.rows, 2)
        periods = [read_period(self._sheet.text(row.index, measure.index)) for row in (one, other)]
        first, second = periods
        if first is None or second is None or first.order == second.order:
            return None
        datum, against = (
            Datum(one, measure.index, measure, None),
            Datum(other, measure.index, measure, None),
        )
        words = self._words(datum)
        words["o"] = self._name(other)
        words["v"], words["w"] = self._period(first), self._period(second)
        cues = templates.EARLIER if first.order < second.order else templates.LATER
        words["c"] = Word(self._rng.choice(cues))
        address: dict[Role, str | Part] = {**self._address(datum), "other": "o", "cue": "c"}
        claims = [
            Claimed("temporal", "compare", address, "cue", (datum.cell, against.cell)),
            self._value_claim(datum, "v", "temporal"),
            self._value_claim(against, "w", "temporal", entity="o"),
        ]
        pool = templates.ORDER_OF_EVENTS if measure.label in EVENTS else templates.ORDER
        return self._plan(self._choose(pool, measure), words, claims, datum)

    # ---- one entity over time

    def _change(self) -> Plan | None:
        line = self._line()
        if len(line) < 2:
            return None
        first = self._rng.randrange(len(line) - 1)
        steps = (1, 1, len(line) - 1 - first)
        one, other = line[first], line[first + self._rng.choice(steps)]
        a, b = self._amounts[one.cell], self._amounts[other.cell]
        if a.value == b.value or one.period is None or other.period is None:
            return None
        words = self._words(one)
        words["w"] = self._amount(other)
        words["p"], words["q"] = self._period(one.period), self._period(other.period)
        words["c"] = Word(self._rng.choice(templates.ROSE if b.value > a.value else templates.FELL))
        words["d"] = self._difference(a, b)
        pool = templates.CHANGE
        if a.value > 0 and b.value > 0 and a.unit.symbol != "%":
            words["r"] = self._percentage(100 * abs(b.value - a.value) / a.value)
        else:
            pool = tuple(template for template in pool if "{r}" not in template)
        template = self._choose(pool, one.measure)
        here: dict[Role, str | Part] = {
            role: slot for role, slot in self._address(one).items() if role != "period"
        }
        address: dict[Role, str | Part] = {**here, "period": "p", "until": "q"}
        cells = (one.cell, other.cell)
        claims = [
            Claimed("comparative", "change", {**address, "cue": "c"}, "cue", cells),
            Claimed("numeric", "change_amount", {**address, "value": "d"}, "value", cells),
            Claimed("numeric", "change_percent", {**address, "value": "r"}, "value", cells),
            Claimed("numeric", "value", {**here, "period": "p", "value": "v"}, "value", cells[:1]),
            Claimed("numeric", "value", {**here, "period": "q", "value": "w"}, "value", cells[1:]),
        ]
        return self._plan(template, words, claims, one)

    def _trend(self) -> Plan | None:
        line = self._line()
        if len(line) < 3:
            return None
        length = self._rng.randint(3, len(line))
        start = self._rng.randrange(len(line) - length + 1)
        chosen = line[start : start + length]
        values = [self._amounts[datum.cell].value for datum in chosen]
        pairs = list(pairwise(values))
        rising = all(a < b for a, b in pairs)
        periods = [datum.period for datum in chosen if datum.period is not None]
        steps = {b.order - a.order for a, b in pairwise(periods)}
        if not (rising or all(a > b for a, b in pairs)) or steps != {1}:
            return None
        grain = "year" if periods[0].grain == "season" else periods[0].grain
        words = self._words(chosen[0])
        words["p"], words["q"] = self._period(periods[0]), self._period(periods[-1])
        verb = self._rng.choice(templates.ROSE if rising else templates.FELL)
        every = self._rng.choice(templates.EVERY).format(grain=grain)
        words["c"] = Word(f"{verb} {every}", "trend")
        here: dict[Role, str | Part] = {
            role: slot for role, slot in self._address(chosen[0]).items() if role != "period"
        }
        roles: dict[Role, str | Part] = {**here, "period": "p", "until": "q", "cue": "c"}
        cells = tuple(datum.cell for datum in chosen)
        claim = Claimed("comparative", "trend", roles, "cue", cells)
        return self._plan(
            self._choose(templates.TREND, chosen[0].measure), words, [claim], chosen[0]
        )

    def _period_superlative(self) -> Plan | None:
        line = self._line()
        if len(line) < 3:
            return None
        highest = self._rng.random() < 0.6
        order = sorted(line, key=lambda datum: self._amounts[datum.cell].value, reverse=highest)
        best = order[0]
        if self._amounts[best.cell].value == self._amounts[order[1].cell].value:
            return None
        if best.period is None:
            return None
        words = self._words(best)
        words["p"] = self._period(best.period)
        words["c"] = Word(self._rng.choice(templates.PEAKED if highest else templates.BOTTOMED))
        roles: dict[Role, str | Part] = {**self._address(best), "period": "p", "cue": "c"}
        cells = tuple(datum.cell for datum in line)
        claims = [
            Claimed("comparative", "superlative", roles, "cue", cells),
            Claimed(
                "numeric",
                "value",
                {**self._address(best), "period": "p", "value": "v"},
                "value",
                (best.cell,),
            ),
        ]
        template = self._choose(templates.SUPERLATIVE_OF_PERIOD, best.measure)
        return self._plan(template, words, claims, best)

    # ---- all rows together

    def _count(self) -> Plan | None:
        sheet = self._sheet
        if not sheet.whole or len(sheet.rows) < 4 or not self._rows_are_one_thing():
            return None
        measure = self._pick([*self._ranked, *self._texts])
        if measure is None:
            return None
        column = measure.index
        words = {"m": self._label(measure), "N": self._count_word(len(sheet.rows))}
        roles: dict[Role, str | Part] = {"column": "m", "value": "n"}
        cells = tuple((row.index, column) for row in sheet.rows)
        if measure.kind == "text":
            texts = [sheet.text(row.index, column) for row in sheet.rows]
            chosen = self._rng.choice(texts)
            count = texts.count(chosen)
            if not chosen or not 1 < count < len(texts) or len(set(texts)) > len(texts) // 2 + 1:
                return None
            words["k"] = Word(chosen, "text")
            roles["category"] = "k"
            template = self._choose(templates.COUNT_CATEGORY, measure)
        else:
            found = self._threshold(measure)
            if found is None:
                return None
            count, words["c"], words["t"] = found
            roles |= {"cue": "c", "threshold": "t"}
            pool = templates.COUNT_COUNTED if measure.counted else templates.COUNT
            template = self._choose(pool, measure)
        words["n"] = Word(*word_count(count, self._rng))
        claims = [Claimed("numeric", "count", roles, "value", cells), self._row_count_claim("N")]
        return self._plan(template, words, claims, None)

    def _threshold(self, measure: Measure) -> tuple[int, Word, Word] | None:
        """A count, a cue and a threshold; the threshold is no cell's value."""
        amounts = [self._amounts.get((row.index, measure.index)) for row in self._sheet.rows]
        known = [amount for amount in amounts if amount is not None]
        values = sorted(amount.value for amount in known)
        if len(known) < len(amounts) or len(set(values)) < 4:
            return None
        middle = self._rng.randrange(1, len(values) - 1)
        low, high = values[middle], values[middle + 1]
        threshold = _round_between(low, high)
        if threshold is None:
            return None
        over = self._rng.random() < 0.65
        if measure.counted:
            cues = templates.OVER_COUNTED if over else templates.UNDER_COUNTED
        else:
            cues = templates.OVER if over else templates.UNDER
        count = sum(value > threshold for value in values)
        unit = known[0].unit
        decimals = max(0, -int((threshold / unit.scale).normalize().as_tuple().exponent))
        text = spell(threshold, unit, decimals)
        count = count if over else len(values) - count
        if count in (0, 1, len(values)):
            return None
        return count, Word(self._rng.choice(cues)), Word(text)

    def _total(self) -> Plan | None:
        sheet = self._sheet
        measure = self._pick([measure for measure in self._ranked if measure.summable])
        if measure is None or not sheet.whole or sheet.totals or not self._rows_are_one_thing():
            return None
        amounts = [self._amounts.get((row.index, measure.index)) for row in sheet.rows]
        known = [amount for amount in amounts if amount is not None]
        if len(known) < len(amounts) or len(known) < 3:
            return None
        total = sum((amount.value for amount in known), Decimal(0))
        decimals = max(amount.decimals for amount in known)
        unit = known[0].unit
        words = {"m": self._label(measure), "N": self._count_word(len(known))}
        average = self._rng.random() < 0.5
        if average:
            mean = total / len(known)
            decimals = min(decimals + 1, 3)
            step = Decimal(1).scaleb(-decimals) * unit.scale
            mean = (mean / step).quantize(ONE, ROUND_HALF_UP) * step
            words["v"] = Word(spell(mean, unit, decimals), "computed")
            pool = templates.AVERAGE_COUNTED if measure.counted else templates.AVERAGE
        else:
            words["v"] = Word(spell(total, unit, decimals), "computed")
            pool = templates.TOTAL_COUNTED if measure.counted else templates.TOTAL
        operation: Operation = "average" if average else "total"
        cells = tuple((row.index, measure.index) for row in sheet.rows)
        claims = [
            Claimed("numeric", operation, {"column": "m", "value": "v"}, "value", cells),
            self._row_count_claim("N"),
        ]
        return self._plan(self._choose(pool, measure), words, claims, None)

    def _range(self) -> Plan | None:
        sheet, row = self._sheet, self._pick(self._sheet.rows)
        measure = self._numbers[0] if self._numbers else None
        if sheet.range_column is None or row is None or measure is None or row.entity is None:
            return None
        amount, reference = (
            self._amounts.get((row.index, measure.index)),
            sheet.reference(row.index),
        )
        if amount is None or reference is None:
            return None
        low, high = reference
        if low is not None and amount.value < low:
            cue = "below"
        else:
            cue = "above" if high is not None and amount.value > high else "within"
        datum = Datum(row, measure.index, measure, None)
        words = {**self._words(datum), "c": Word(cue)}
        cells = (datum.cell, (row.index, sheet.range_column))
        roles: dict[Role, str | Part] = {**self._address(datum), "cue": "c"}
        claims = [
            Claimed("comparative", "range", roles, "cue", cells),
            self._value_claim(datum, "v", "numeric"),
        ]
        return self._plan(self._choose(templates.RANGE, measure), words, claims, datum)

    # ---- what is spoken of

    def _any_datum(self) -> Datum | None:
        row = self._pick(self._sheet.rows)
        if row is None:
            return None
        if self._sheet.layout == "spread":
            column, period = self._rng.choice(self._sheet.periods)
            measure = None
        else:
            chosen = self._pick(self._numbers)
            if chosen is None:
                return None
            column, period, measure = chosen.index, None, chosen
        return Datum(row, column, measure, period) if (row.index, column) in self._amounts else None

    def _two_rows(self) -> tuple[Datum, Datum] | None:
        measure, column, rows, period = self._column_of_rows()
        if len(rows) < 2:
            return None
        one, other = self._rng.sample(rows, 2)
        if self._value_at(one, column) == self._value_at(other, column):
            return None
        if not one.entity or not other.entity:
            return None
        return Datum(one, column, measure, period), Datum(other, column, measure, period)

    def _column_of_rows(self) -> tuple[Measure | None, int, list[Row], Period | None]:
        """A column to compare rows in; in a panel the rows of one period."""
        sheet = self._sheet
        nothing = None, 0, list[Row](), None
        rows = list(sheet.rows)
        if not sheet.whole:
            return nothing
        if sheet.layout == "spread":
            column, period = self._rng.choice(sheet.periods)
            amounts = [self._amounts.get((row.index, column)) for row in rows]
            units = {amount.unit for amount in amounts if amount is not None}
            if None in amounts or len(units) > 1 or not sheet.noun:
                return nothing
            return None, column, rows, period
        measure = self._pick(self._ranked)
        if measure is None or sheet.layout == "periods":
            return nothing
        when = None
        if sheet.layout == "panel":
            when = self._rng.choice(rows).period
            rows = [row for row in rows if row.period == when]
        filled = [row for row in rows if (row.index, measure.index) in self._amounts]
        return (measure, measure.index, filled, when) if len(filled) == len(rows) else nothing

    def _line(self) -> list[Datum]:
        """The numbers of one entity (or of the table) in the order of time."""
        sheet = self._sheet
        if sheet.layout == "spread":
            row = self._rng.choice(sheet.rows)
            line = [Datum(row, column, None, period) for column, period in sheet.periods]
        else:
            measure = self._pick(self._numbers)
            if measure is None or sheet.layout == "entities":
                return []
            rows = list(sheet.rows)
            if sheet.layout == "panel":
                entity = self._rng.choice(rows).entity
                rows = [row for row in rows if row.entity == entity]
            rows.sort(key=lambda row: row.period.order if row.period else 0)
            line = [Datum(row, measure.index, measure, None) for row in rows]
        known = [self._amounts.get(datum.cell) for datum in line]
        units = {(a.unit.symbol, a.unit.currency) for a in known if a is not None}
        return line if None not in known and len(units) == 1 else []

    def _is_counted(self, datum: Datum) -> bool:
        """Whether "5 points" can be said; one point would need another word."""
        amount = self._amounts.get(datum.cell)
        counted = datum.measure is not None and datum.measure.counted
        return counted and amount is not None and amount.value != 1

    def _value_at(self, row: Row, column: int) -> Decimal:
        return self._amounts[row.index, column].value

    def _rows_are_one_thing(self) -> bool:
        """Whether a row is an entity or a period, and not one in the other."""
        return self._sheet.layout in ("entities", "periods")

    # ---- words

    def _words(self, datum: Datum, slot: str = "v") -> dict[str, Word]:
        words = {}
        if datum.row.entity is not None:
            words["e"] = self._name(datum.row)
        if datum.measure is not None:
            words["m"] = self._label(datum.measure)
        if datum.period is not None:
            words["p"] = self._period(datum.period)
        if datum.cell in self._amounts:
            words[slot] = self._amount(datum)
        return words

    def _address(self, datum: Datum) -> dict[Role, str | Part]:
        """The roles that say which cell is meant."""
        roles: dict[Role, str | Part] = {}
        if datum.row.entity is not None:
            roles["entity"] = "e"
        if datum.measure is not None:
            roles["column"] = "m"
        if datum.period is not None:
            roles["period"] = "p"
        return roles

    def _value_claim(
        self, datum: Datum, slot: str, kind: ClaimKind, column: str = "m", entity: str = "e"
    ) -> Claimed:
        roles = {**self._address(datum), "value": slot}
        if "column" in roles:
            roles["column"] = column
        if "entity" in roles:
            roles["entity"] = entity
        focus: Role = "entity" if kind == "relational" else "value"
        return Claimed(kind, "value", roles, focus, (datum.cell,))

    def _row_count_claim(self, slot: str) -> Claimed:
        """How many rows there are."""
        cells = tuple((row.index, self._sheet.grid.key) for row in self._sheet.rows)
        return Claimed("numeric", "count", {"value": slot}, "value", cells)

    def _name(self, row: Row) -> Word:
        name = row.entity or ""
        forms = short_names(self._sheet, name)
        text = name
        if forms and (self._rng.random() < 0.3 or name in self._named):
            text = self._rng.choice(forms)
        self._named.add(name)
        return Word(text, name)

    def _amount(self, datum: Datum) -> Word:
        said = self._sheet.stated_unit(datum.row.index)
        return Word(*word_amount(self._amounts[datum.cell], said, self._rng))

    def _label(self, measure: Measure) -> Word:
        return Word(measure.label, with_article(measure.label).split()[0])

    def _period(self, period: Period) -> Word:
        return Word(spell_period(period, self._rng), period.text)

    def _count_word(self, count: int) -> Word:
        return Word(*word_count(count, self._rng))

    def _difference(self, a: Amount, b: Amount) -> Word:
        unit, decimals = a.unit, max(a.decimals, b.decimals)
        if unit.symbol == "%":
            number = spell(abs(a.value - b.value), PLAIN, decimals)
            return Word(f"{number} percentage points", "computed")
        return Word(spell(abs(a.value - b.value), unit, decimals), "computed")

    def _percentage(self, value: Decimal) -> Word:
        places = _TENTH if self._rng.random() < 0.7 else ONE
        rounded = value.quantize(places, ROUND_HALF_UP)
        if not rounded:
            rounded = value.quantize(Decimal("0.01"), ROUND_HALF_UP)
        decimals = max(0, -int(rounded.as_tuple().exponent))
        hedge = "" if decimals else self._rng.choice(("", "about ", "roughly "))
        return Word(f"{hedge}{spell(rounded, Unit(symbol='%'), decimals)}", "computed")

    def _choose(self, pool: Sequence[str], measure: Measure | None = None) -> str:
        """A template; one with an article only before a singular."""
        if self._sheet.totals:
            pool = [template for template in pool if "{N}" not in template]
        if measure is not None and any(map(is_plural, measure.label.split())):
            pool = [
                t for t in pool if "<a> {m}" not in t and " a {c} {m}" not in t and "<A>" not in t
            ]
        return self._rng.choice(pool)

    def _plan(
        self,
        template: str,
        words: Mapping[str, Word],
        claims: Sequence[Claimed],
        datum: Datum | None,
    ) -> Plan | None:
        """The template without its ``<marks>``; the period goes to the front or the end."""
        rng = self._rng
        measure = None if datum is None else datum.measure
        if "{x}" in template:
            if datum is None or datum.row.entity is None:
                pool = templates.QUANTITY_OF_PERIOD
            else:
                pool = templates.QUANTITY if measure else templates.QUANTITY_OF_ENTITY
            quantity = rng.choice(pool)
            if "{e}'s" in quantity and words["e"].text.endswith(("s", ".")):
                quantity = pool[0]
            template = template.replace("{x}", quantity)
        if "<tail>" in template:
            template = template.replace("<tail>", rng.choice(templates.TAILS))
        plural = "m" in words and is_plural(words["m"].text)
        rows = self._rows_word()
        article = words["m"].style if "m" in words else ""
        for mark, text in (
            ("<rows>", rows),
            ("<a>", article),
            ("<A>", article.capitalize()),
            ("<was>", "were" if plural else "was"),
            ("<that>", "those" if plural else "that"),
        ):
            template = template.replace(mark, text)
        if "p" in words and "{p}" not in template:
            period = _preposition(words["p"])
            if rng.random() < 0.5 and "<when>" in template:
                template = template.replace("<when>", f" {period} {{p}}")
            else:
                lowered = _lower_first(template.replace("<when>", ""))
                template = f"{period} {{p}}, {lowered}"
        template = template.replace("<when>", "")
        for slot in ("p", "q", "v"):
            mark = f"{{in}} {{{slot}}}"
            if mark in template:
                template = template.replace(mark, f"{_preposition(words[slot])} {{{slot}}}")
        return Plan(template, words, claims)

    def _rows_word(self) -> str:
        noun = self._sheet.noun
        if self._sheet.layout == "periods" and self._sheet.rows[0].period:
            noun = {"season": "season", "day": "day"}.get(
                self._sheet.rows[0].period.grain, self._sheet.rows[0].period.grain
            )
        if not noun:
            return "entries"
        if noun.endswith("y") and noun[-2:-1] not in "aeiou":
            return f"{noun[:-1]}ies"
        return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"

    def _pick(self, items: Sequence[T]) -> T | None:
        return self._rng.choice(items) if items else None


def _preposition(word: Word) -> str:
    period = read_period(word.style)
    return "on" if period is not None and period.grain == "day" else "in"


def _lower_first(template: str) -> str:
    """The sentence as it goes on behind a comma: a slot keeps its case."""
    return template if template.startswith("{") else template[0].lower() + template[1:]


def _round_between(low: Decimal, high: Decimal) -> Decimal | None:
    """The roundest number strictly between two, clear of both; ``None`` where they are too near."""
    gap = high - low
    if gap <= 0 or low < 0:
        return None
    for power in range(high.adjusted(), high.adjusted() - 6, -1):
        step = Decimal(1).scaleb(power)
        for unit in (step, step / 2):
            candidate = (low / unit).to_integral_value(rounding="ROUND_FLOOR") * unit + unit
            if low < candidate < high and candidate:
                return candidate
    return None
