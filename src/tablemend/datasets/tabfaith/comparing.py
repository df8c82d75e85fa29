"""What rows say beside each other: comparisons, superlatives, ranks, before and after."""

from __future__ import annotations

from collections.abc import Sequence

from tablemend.datasets.tabfaith import templates
from tablemend.datasets.tabfaith.degrees import degrees_of
from tablemend.datasets.tabfaith.periods import Period, read_period
from tablemend.datasets.tabfaith.sentences import Claimed, Plan, Word
from tablemend.datasets.tabfaith.sheet import Measure, Row
from tablemend.datasets.tabfaith.speech import Datum, Speech
from tablemend.datasets.tabfaith.summary import Operation, Part, Role
from tablemend.datasets.tablehallu.sentences import EVENTS


def say_compared(speech: Speech) -> Plan | None:
    """Two entities in one column."""
    found = _two_rows(speech)
    if found is None:
        return None
    one, other = found
    words = speech.words(one)
    words["o"], words["w"] = speech.name(other.row), speech.amount(other)
    a, b = speech.amounts[one.cell], speech.amounts[other.cell]
    counted = one.measure is not None and one.measure.counted
    degrees = degrees_of(one.measure)
    words["c"] = Word(speech.rng.choice(degrees.more if a.value > b.value else degrees.less))
    words["d"] = speech.difference(a, b)
    if one.measure is None:
        pool = templates.COMPARE_ENTITIES
    else:
        pool = templates.COMPARE_COUNTED if counted else templates.COMPARE
    template = speech.choose(pool, one.measure)
    if "{v} to {w}" in template and ":" in words["v"].style + words["w"].style:
        return None  # "almost 11,900 to 15,886" reads as a range
    address: dict[Role, str | Part] = {**speech.address(one), "other": "o", "cue": "c"}
    cells = (one.cell, other.cell)
    claims = [
        Claimed("comparative", "compare", address, "cue", cells),
        speech.value_claim(one, "v", "numeric"),
        speech.value_claim(other, "w", "numeric", entity="o"),
        Claimed("numeric", "difference", {**address, "value": "d"}, "value", cells),
    ]
    return speech.plan(template, words, claims, one)


def say_against(speech: Speech) -> Plan | None:
    """One column of a row against another: reported against expected, gold against silver."""
    row = speech.pick(speech.sheet.rows)
    pair = speech.pick(speech.pairs)
    if row is None or pair is None:
        return None
    one, other = (Datum(row, measure.index, measure, None) for measure in pair)
    a, b = speech.amounts.get(one.cell), speech.amounts.get(other.cell)
    if a is None or b is None or a.unit != b.unit or a.value == b.value:
        return None
    counted = pair[0].counted
    if row.entity is None and counted:
        return None
    words = speech.words(one)
    words["w"], words["k"] = speech.amount(other), speech.label(pair[1])
    if counted:
        cues = templates.MORE if a.value > b.value else templates.FEWER
    else:
        cues = templates.ABOVE if a.value > b.value else templates.BELOW
    words["c"] = Word(speech.rng.choice(cues))
    roles: dict[Role, str | Part] = {**speech.address(one), "against": "k", "cue": "c"}
    claims = [
        Claimed("comparative", "compare", roles, "cue", (one.cell, other.cell)),
        speech.value_claim(one, "v", "numeric"),
        speech.value_claim(other, "w", "numeric", column="k"),
    ]
    pool = templates.AGAINST_COUNTED if counted else templates.AGAINST
    return speech.plan(speech.rng.choice(pool), words, claims, one)


def say_superlative(speech: Speech) -> Plan | None:
    """The highest or lowest of all rows."""
    measure, column, rows, period = _column_of_rows(speech)
    if len(rows) < 3:
        return None
    highest = speech.rng.random() < 0.65
    order = sorted(rows, key=lambda row: speech.amounts[row.index, column].value, reverse=highest)
    best, second = order[0], order[1]
    if speech.value_at(best, column) == speech.value_at(second, column) or not best.entity:
        return None
    datum = Datum(best, column, measure, period)
    words = speech.words(datum)
    (words["N"],) = speech.count_words(len(rows))
    counted, degrees = measure is not None and measure.counted, degrees_of(measure)
    words["c"] = Word(speech.rng.choice(degrees.most if highest else degrees.least))
    pool = templates.SUPERLATIVE if measure else templates.SUPERLATIVE_OF_ENTITY
    if measure is not None and speech.rng.random() < 0.15:
        pool = templates.UNMATCHED_COUNTED if counted else templates.UNMATCHED
        words["c"] = Word(speech.rng.choice(degrees.more if highest else degrees.less))
    template = speech.choose(pool, measure)
    return speech.plan(template, words, _ranking_claims(speech, datum, "superlative", rows), datum)


def say_rank(speech: Speech) -> Plan | None:
    """The second to fourth highest."""
    measure, column, rows, period = _column_of_rows(speech)
    if measure is None or len(rows) < 4:
        return None
    order = sorted(rows, key=lambda row: -speech.value_at(row, column))
    place = speech.rng.choice((1, 1, 2, 3))
    if place >= len(order) - 1:
        return None
    chosen = order[place]
    values = [speech.value_at(row, column) for row in order]
    if values.count(values[place]) > 1 or len(set(values[: place + 1])) <= place:
        return None
    if not chosen.entity:
        return None
    datum = Datum(chosen, column, measure, period)
    words = speech.words(datum)
    ordinal = templates.ORDINALS[place]
    if speech.rng.random() < 0.4:
        words["c"] = Word(ordinal, "place")
        template = speech.choose(templates.PLACED, measure)
    else:
        most = degrees_of(measure).most[0].removeprefix("the ")
        words["c"] = Word(f"the {ordinal}-{most}", "rank")
        template = speech.choose(templates.RANKED, measure)
    return speech.plan(template, words, _ranking_claims(speech, datum, "rank", rows), datum)


def _ranking_claims(
    speech: Speech, datum: Datum, operation: Operation, rows: Sequence[Row]
) -> list[Claimed]:
    column = datum.column
    cells = tuple((row.index, column) for row in rows)
    address: dict[Role, str | Part] = {**speech.address(datum), "cue": "c"}
    return [
        Claimed("comparative", operation, address, "cue", cells),
        speech.value_claim(datum, "v", "numeric"),
        speech.row_count_claim("N"),
    ]


def say_order(speech: Speech) -> Plan | None:
    """Two entities by their dates."""
    measure = speech.pick(speech.dates)
    if measure is None or speech.sheet.layout != "entities" or len(speech.sheet.rows) < 2:
        return None
    one, other = speech.rng.sample(speech.sheet.rows, 2)
    periods = [read_period(speech.sheet.text(row.index, measure.index)) for row in (one, other)]
    first, second = periods
    if first is None or second is None or first.order == second.order or first.grain == "date":
        return None
    datum, against = (
        Datum(one, measure.index, measure, None),
        Datum(other, measure.index, measure, None),
    )
    words = speech.words(datum)
    words["o"] = speech.name(other)
    words["v"], words["w"] = speech.period(first), speech.period(second)
    cues = templates.EARLIER if first.order < second.order else templates.LATER
    address: dict[Role, str | Part] = {**speech.address(datum), "other": "o", "cue": "c"}
    claims = [
        Claimed("temporal", "compare", address, "cue", (datum.cell, against.cell)),
        speech.value_claim(datum, "v", "temporal"),
        speech.value_claim(against, "w", "temporal", entity="o"),
    ]
    pool = templates.ORDER_OF_EVENTS if measure.label in EVENTS else templates.ORDER
    pool = pool if measure.label in EVENTS or speech.is_single(measure) else pool[:1]
    template = speech.choose(pool, measure)
    if "had {c} {m}" in template:
        cues = templates.AN_EARLIER if first.order < second.order else templates.A_LATER
    words["c"] = Word(speech.rng.choice(cues))
    return speech.plan(template, words, claims, datum)


def say_range(speech: Speech) -> Plan | None:
    """A measurement against its reference range."""
    sheet, datum = speech.sheet, speech.any_datum()
    if sheet.range_column is None or datum is None or datum.row.entity is None:
        return None
    value, reference = speech.amounts[datum.cell].value, sheet.reference(datum.row.index)
    if reference is None:
        return None
    low, high = reference
    if low is not None and value < low:
        cue = "below"
    else:
        cue = "above" if high is not None and value > high else "within"
    if cue == "within" and speech.rng.random() < 0.6:
        return None  # what is beyond its range is what is told
    words = {**speech.words(datum), "c": Word(cue)}
    cells = (datum.cell, (datum.row.index, sheet.range_column))
    roles: dict[Role, str | Part] = {**speech.address(datum), "cue": "c"}
    claims = [
        Claimed("comparative", "range", roles, "cue", cells),
        speech.value_claim(datum, "v", "numeric"),
    ]
    return speech.plan(speech.choose(templates.RANGE, datum.measure), words, claims, datum)


def _two_rows(speech: Speech) -> tuple[Datum, Datum] | None:
    measure, column, rows, period = _column_of_rows(speech)
    if len(rows) < 2:
        return None
    one, other = speech.rng.sample(rows, 2)
    if speech.value_at(one, column) == speech.value_at(other, column):
        return None
    if not one.entity or not other.entity:
        return None
    return Datum(one, column, measure, period), Datum(other, column, measure, period)


def _column_of_rows(speech: Speech) -> tuple[Measure | None, int, list[Row], Period | None]:
    """A column to compare rows in; in a panel the rows of one period."""
    sheet = speech.sheet
    nothing = None, 0, list[Row](), None
    rows = list(sheet.rows)
    if not sheet.whole:
        return nothing
    if sheet.layout == "spread":
        column, period = speech.rng.choice(sheet.periods)
        amounts = [speech.amounts.get((row.index, column)) for row in rows]
        units = {amount.unit for amount in amounts if amount is not None}
        if None in amounts or len(units) > 1 or not sheet.noun or sheet.unit_column is not None:
            return nothing
        return None, column, rows, period
    measure = speech.pick(speech.ranked)
    if measure is None or sheet.layout == "periods":
        return nothing
    when = None
    if sheet.layout == "panel":
        when = speech.rng.choice(rows).period
        rows = [row for row in rows if row.period == when]
    filled = [row for row in rows if (row.index, measure.index) in speech.amounts]
    return (measure, measure.index, filled, when) if len(filled) == len(rows) else nothing
