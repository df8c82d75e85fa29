"""What all rows say together: counts with conditions, totals, averages."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from tablemend.datasets.tabfaith.cells import flag_word
from tablemend.datasets.tabfaith.sentences import Claimed, Plan, Word
from tablemend.datasets.tabfaith.sheet import Amount, Measure
from tablemend.datasets.tabfaith.speech import Speech
from tablemend.datasets.tabfaith.summary import Operation
from tablemend.datasets.tabfaith.templates import ALL, FLAGGED, MOST_OF, NONE, PAIRS
from tablemend.datasets.tabfaith.wording import spell
from tablemend.values.units import ONE, PLAIN, Unit


def say_count(speech: Speech) -> Plan | None:
    """How many rows are beyond a threshold or in a category."""
    sheet = speech.sheet
    if len(sheet.rows) < 4 or not _are_one_thing(speech):
        return None
    measure = speech.pick([*speech.ranked, *speech.texts])
    if measure is None:
        return None
    words = {"m": speech.label(measure)}
    roles = {"column": "m", "value": "n"}
    if measure.kind == "text":
        texts = [sheet.text(row.index, measure.index) for row in sheet.rows]
        chosen = speech.rng.choice(texts)
        count = texts.count(chosen)
        if not chosen or not 1 < count < len(texts) or len(set(texts)) > len(texts) // 2 + 1:
            return None
        words["k"] = Word(chosen, "text")
        roles["category"] = "k"
        if measure.flags:
            words["m"], words["k"] = Word(FLAGGED), flag_word(chosen)
        name = "flags" if measure.flags else "count_category"
    else:
        found = _threshold(speech, measure)
        if found is None:
            return None
        count, words["c"], words["t"] = found
        roles |= {"cue": "c", "threshold": "t"}
        name = "count_counted" if measure.counted else "count"
    template = speech.choose(name, measure=measure)
    words["n"], words["N"] = speech.count_words(count, len(sheet.rows), template=template)
    claim = Claimed("numeric", "count", roles, "value", speech.cells_of(measure))
    return speech.plan(template, words, [claim, speech.row_count_claim("N")], None)


def _threshold(speech: Speech, measure: Measure) -> tuple[int, Word, Word] | None:
    """A count, a cue and a threshold; the threshold is no cell's value."""
    amounts = speech.amounts_of(measure)
    values = sorted(amount.value for amount in amounts)
    if len(set(values)) < 4:
        return None
    middle = speech.rng.randrange(1, len(values) - 1)
    threshold = _round_between(values[middle], values[middle + 1])
    if threshold is None or not _is_apt(threshold, amounts):
        return None
    over = speech.rng.random() < 0.65
    count = sum(value > threshold for value in values)
    count = count if over else len(values) - count
    if count in (0, 1, len(values)) or (measure.counted and threshold == 1):
        return None
    cue = speech.rng.choice(_bounds(measure)[not over])
    return count, Word(cue), Word(_spell_threshold(threshold, amounts[0].unit))


def _bounds(measure: Measure) -> tuple[Sequence[str], Sequence[str]]:
    return PAIRS["over_counted" if measure.counted else "over"]


def _is_apt(threshold: Decimal, amounts: list[Amount]) -> bool:
    """Whether a threshold has decimals only where the column has: no "more than 0.8 wins"."""
    whole = all(amount.decimals == 0 and amount.unit.scale == ONE for amount in amounts)
    return not whole or threshold == int(threshold)


def say_quantified(speech: Speech) -> Plan | None:
    """That all, most or no rows are beyond a threshold."""
    rng, measure = speech.rng, speech.pick(speech.ranked)
    if measure is None or len(speech.sheet.rows) < 4 or not _are_one_thing(speech):
        return None
    amounts = speech.amounts_of(measure)
    values = sorted(amount.value for amount in amounts)
    if not values or values[0] <= 0:
        return None
    over = rng.random() < 0.6
    low, high = values[0], values[-1]
    kind = rng.choice((ALL, MOST_OF, NONE))
    third = len(values) // 3
    if kind is MOST_OF:
        ends = (values[third - 1], values[third]) if over else (values[-third - 1], values[-third])
    elif (kind is ALL) == over:
        ends = low * Decimal("0.7"), low
    else:
        ends = high, high * Decimal("1.3")
    threshold = _round_between(*ends)
    if threshold is None or (measure.counted and threshold == 1):
        return None
    if not _is_apt(threshold, amounts):
        return None
    words = {
        "m": speech.label(measure),
        "k": Word(rng.choice(kind)),
        "c": Word(rng.choice(_bounds(measure)[not over])),
        "t": Word(_spell_threshold(threshold, amounts[0].unit)),
    }
    roles = {"column": "m", "quantifier": "k", "cue": "c", "threshold": "t"}
    cells = speech.cells_of(measure)
    claim = Claimed("comparative", "quantifier", roles, "quantifier", cells)
    names = ["quantified", "quantified_most"] if kind is MOST_OF else ["quantified"]
    names = ["quantified_counted"] if measure.counted else names
    return speech.plan(speech.choose(*names, measure=measure), words, [claim], None)


def _spell_threshold(threshold: Decimal, unit: Unit) -> str:
    exponent = int((threshold / unit.scale).normalize().as_tuple().exponent)
    decimals = max(0, -exponent)
    cents = decimals == 1 and unit.currency and unit.scale == ONE
    return spell(threshold, unit, 2 if cents else decimals)


def say_total(speech: Speech) -> Plan | None:
    """What a column adds up to, or its mean."""
    measure = speech.pick([measure for measure in speech.ranked if measure.summable])
    if measure is None or speech.sheet.totals or not _are_one_thing(speech):
        return None
    amounts = speech.amounts_of(measure)
    if len(amounts) < 3:
        return None
    total = sum((amount.value for amount in amounts), Decimal(0))
    decimals, unit = max(amount.decimals for amount in amounts), amounts[0].unit
    words = {"m": speech.label(measure), "N": speech.count_words(len(amounts))[0]}
    operation: Operation = "average" if speech.rng.random() < 0.5 else "total"
    if operation == "average":
        mean = total / len(amounts)
        decimals = _mean_decimals(mean, unit, decimals)
        step = Decimal(1).scaleb(-decimals) * unit.scale
        total = (mean / step).quantize(ONE, ROUND_HALF_UP) * step
        if unit == PLAIN and total == int(total):
            decimals = 0  # "25.0 wins"
    words["v"] = Word(spell(total, unit, decimals), "computed")
    name = f"{operation}_counted" if measure.counted else operation
    roles = {"column": "m", "value": "v"}
    claim = Claimed("numeric", operation, roles, "value", speech.cells_of(measure))
    template = speech.choose(name, measure=measure)
    return speech.plan(template, words, [claim, speech.row_count_claim("N")], None)


def _mean_decimals(mean: Decimal, unit: Unit, decimals: int) -> int:
    """Decimal places of a mean, in its unit's scale: one more than the cells have, fewer if large.

    In thousands three more are said, as millions; sums of money have cents or none.
    """
    size = abs(mean) / unit.scale
    if unit.scale == 1000 and not unit.symbol:
        return -2 if size >= 10**4 else 0
    if size >= 1000:
        return 0
    if unit.currency and unit.scale == ONE:
        return 2
    return min(decimals + 1, 3) if size < 100 else min(decimals + 1, 1)


def _are_one_thing(speech: Speech) -> bool:
    """Whether all rows are known, each an entity or a period, and not one in the other."""
    return speech.sheet.whole and speech.sheet.layout in ("entities", "periods")


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
