"""What rows say beside each other: comparisons, superlatives, ranks, before and after."""

from __future__ import annotations

from tablemend.datasets.tabfaith.labels import takes_article
from tablemend.datasets.tabfaith.sentences import Claimed, Plan, Word
from tablemend.datasets.tabfaith.speech import Datum, Speech
from tablemend.datasets.tabfaith.summary import Operation
from tablemend.datasets.tabfaith.templates import ORDINALS, PAIRS, TEMPLATES, degrees_of
from tablemend.datasets.tablehallu.sentences import EVENTS
from tablemend.values.periods import read_period


def say_compared(speech: Speech) -> Plan | None:
    """Two entities in one column."""
    data = _column(speech)
    if len(data) < 2:
        return None
    one, other = speech.rng.sample(data, 2)
    a, b = speech.amounts[one.cell], speech.amounts[other.cell]
    if a.value == b.value or not one.row.entity or not other.row.entity:
        return None
    words = speech.words(one)
    words["o"], words["w"] = speech.name(other.row), speech.amount(other)
    words["c"] = Word(speech.rng.choice(degrees_of(one.measure).compare[a.value < b.value]))
    words["d"] = speech.difference(a, b)
    name = "compare_counted" if one.measure and one.measure.counted else "compare"
    name = name if one.measure else "compare_entities"
    template = speech.choose(name, measure=one.measure)
    if "{v} to {w}" in template and ":" in words["v"].style + words["w"].style:
        return None  # "almost 11,900 to 15,886" reads as a range
    both = (one, other)
    claims = [
        speech.claim("comparative", "compare", one, both, "cue", other="o", cue="c"),
        speech.value_claim(one, "v", "numeric"),
        speech.value_claim(other, "w", "numeric", entity="o"),
        speech.claim("numeric", "difference", one, both, "value", other="o", cue="c", value="d"),
    ]
    return speech.plan(template, words, claims, one)


def say_against(speech: Speech) -> Plan | None:
    """One column of a row against another: reported against expected, gold against silver."""
    row = speech.pick(speech.sheet.rows)
    pair = speech.pick(speech.pairs)
    if row is None or pair is None:
        return None
    one, other = (Datum(row, measure.index, measure) for measure in pair)
    a, b = speech.amounts.get(one.cell), speech.amounts.get(other.cell)
    if a is None or b is None or a.unit != b.unit or a.value == b.value:
        return None
    counted = pair[0].counted
    if row.entity is None and counted:
        return None
    words = speech.words(one)
    words["w"], words["k"] = speech.amount(other), speech.label(pair[1])
    cues = PAIRS["more" if counted else "above"]
    words["c"] = Word(speech.rng.choice(cues[a.value < b.value]))
    claims = [
        speech.claim("comparative", "compare", one, (one, other), "cue", against="k", cue="c"),
        speech.value_claim(one, "v", "numeric"),
        speech.value_claim(other, "w", "numeric", column="k"),
    ]
    pool = TEMPLATES["against_counted" if counted else "against"]
    return speech.plan(speech.rng.choice(pool), words, claims, one)


def say_superlative(speech: Speech) -> Plan | None:
    """The highest or lowest of all rows."""
    data = _column(speech)
    if len(data) < 3:
        return None
    highest = speech.rng.random() < 0.65
    best, second = sorted(data, key=speech.value, reverse=highest)[:2]
    if speech.value(best) == speech.value(second) or not best.row.entity:
        return None
    measure, words = best.measure, speech.words(best)
    (words["N"],) = speech.count_words(len(data))
    degrees = degrees_of(measure)
    words["c"] = Word(speech.rng.choice(degrees.most[not highest]))
    name = "superlative" if measure else "superlative_of_entity"
    if measure is not None and speech.rng.random() < 0.15:
        name = "unmatched_counted" if measure.counted else "unmatched"
        words["c"] = Word(speech.rng.choice(degrees.compare[not highest]))
    template = speech.choose(name, measure=measure)
    return speech.plan(template, words, _ranking_claims(speech, best, "superlative", data), best)


def say_rank(speech: Speech) -> Plan | None:
    """The second to fourth highest."""
    data = _column(speech)
    if len(data) < 4 or data[0].measure is None:
        return None
    order = sorted(data, key=lambda datum: -speech.value(datum))
    place = speech.rng.choice((1, 1, 2, 3))
    if place >= len(order) - 1:
        return None
    chosen = order[place]
    values = [speech.value(datum) for datum in order]
    if values.count(values[place]) > 1 or len(set(values[: place + 1])) <= place:
        return None
    if not chosen.row.entity:
        return None
    words = speech.words(chosen)
    if speech.rng.random() < 0.4:
        words["c"] = Word(ORDINALS[place], "place")
        template = speech.choose("placed", measure=chosen.measure)
    else:
        most = degrees_of(chosen.measure).most[0][0].removeprefix("the ")
        words["c"] = Word(f"the {ORDINALS[place]}-{most}", "rank")
        template = speech.choose("ranked", measure=chosen.measure)
    return speech.plan(template, words, _ranking_claims(speech, chosen, "rank", data), chosen)


def _ranking_claims(
    speech: Speech, datum: Datum, operation: Operation, among: list[Datum]
) -> list[Claimed]:
    return [
        speech.claim("comparative", operation, datum, among, "cue", cue="c"),
        speech.value_claim(datum, "v", "numeric"),
        speech.row_count_claim("N"),
    ]


def say_order(speech: Speech) -> Plan | None:
    """Two entities by their dates."""
    measure = speech.pick(speech.dates)
    if measure is None or speech.sheet.layout != "entities" or len(speech.sheet.rows) < 2:
        return None
    one, other = (
        Datum(row, measure.index, measure) for row in speech.rng.sample(speech.sheet.rows, 2)
    )
    first, second = (read_period(speech.sheet.text(*datum.cell)) for datum in (one, other))
    if first is None or second is None or first.order == second.order or first.grain == "date":
        return None
    words = speech.words(one)
    words["o"] = speech.name(other.row)
    words["v"], words["w"] = speech.period(first), speech.period(second)
    claims = [
        speech.claim("temporal", "compare", one, (one, other), "cue", other="o", cue="c"),
        speech.value_claim(one, "v", "temporal"),
        speech.value_claim(other, "w", "temporal", entity="o"),
    ]
    if measure.label in EVENTS:
        template = speech.choose("order_of_events", measure=measure)
    elif takes_article(measure.label):
        template = speech.choose("order", "order_with_article", measure=measure)
    else:
        template = speech.choose("order", measure=measure)
    cues = PAIRS["a_later" if "had {c} {m}" in template else "later"]
    words["c"] = Word(speech.rng.choice(cues[first.order < second.order]))
    return speech.plan(template, words, claims, one)


def say_range(speech: Speech) -> Plan | None:
    """A measurement against its reference range."""
    sheet, datum = speech.sheet, speech.any_datum()
    if sheet.range_column is None or datum is None or datum.row.entity is None:
        return None
    value, reference = speech.value(datum), sheet.reference(datum.row.index)
    if reference is None:
        return None
    low, high = reference
    if low is not None and value < low:
        cue = "below"
    else:
        cue = "above" if high is not None and value > high else "within"
    if cue == "within" and speech.rng.random() < 0.6:
        return None  # what is beyond its range is what is worth saying
    words = {**speech.words(datum), "c": Word(cue)}
    cells = (datum, Datum(datum.row, sheet.range_column, None))
    claims = [
        speech.claim("comparative", "range", datum, cells, "cue", cue="c"),
        speech.value_claim(datum, "v", "numeric"),
    ]
    return speech.plan(speech.choose("range", measure=datum.measure), words, claims, datum)


def _column(speech: Speech) -> list[Datum]:
    """A column to compare rows in; in a panel the rows of one period. Empty where none is whole."""
    sheet = speech.sheet
    if not sheet.whole:
        return []
    if sheet.layout == "spread":
        column, period = speech.rng.choice(sheet.periods)
        data = [Datum(row, column, None, period) for row in sheet.rows]
        amounts = [speech.amounts.get(datum.cell) for datum in data]
        units = {amount.unit for amount in amounts if amount is not None}
        alike = None not in amounts and len(units) < 2 and sheet.unit_column is None
        return data if alike and sheet.noun else []
    measure = speech.pick(speech.ranked)
    if measure is None or sheet.layout == "periods":
        return []
    rows = list(sheet.rows)
    if sheet.layout == "panel":
        when = speech.rng.choice(rows).period
        rows = [row for row in rows if row.period == when]
    data = [Datum(row, measure.index, measure) for row in rows]
    return data if all(datum.cell in speech.amounts for datum in data) else []
