"""What all rows say together: counts with conditions, totals, averages."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from tablemend.datasets.tabfaith import templates
from tablemend.datasets.tabfaith.cells import flag_word
from tablemend.datasets.tabfaith.sentences import Claimed, Plan, Word
from tablemend.datasets.tabfaith.sheet import Amount, Measure
from tablemend.datasets.tabfaith.speech import Speech
from tablemend.datasets.tabfaith.summary import Operation, Part, Role
from tablemend.datasets.tabfaith.wording import spell
from tablemend.values.units import ONE, PLAIN, Unit


def say_count(speech: Speech) -> Plan | None:
    """How many rows are beyond a threshold or in a category."""
    sheet = speech.sheet
    if not sheet.whole or len(sheet.rows) < 4 or not _rows_are_one_thing(speech):
        return None
    measure = speech.pick([*speech.ranked, *speech.texts])
    if measure is None:
        return None
    column = measure.index
    words = {"m": speech.label(measure)}
    roles: dict[Role, str | Part] = {"column": "m", "value": "n"}
    cells = tuple((row.index, column) for row in sheet.rows)
    if measure.kind == "text":
        texts = [sheet.text(row.index, column) for row in sheet.rows]
        chosen = speech.rng.choice(texts)
        count = texts.count(chosen)
        if not chosen or not 1 < count < len(texts) or len(set(texts)) > len(texts) // 2 + 1:
            return None
        words["k"] = Word(chosen, "text")
        roles["category"] = "k"
        pool = templates.COUNT_CATEGORY
        if measure.flags:
            pool, words["m"] = templates.FLAGS, Word(templates.FLAGGED)
            words["k"] = flag_word(chosen)
        template = speech.choose(pool, measure)
    else:
        found = _threshold(speech, measure)
        if found is None:
            return None
        count, words["c"], words["t"] = found
        roles |= {"cue": "c", "threshold": "t"}
        pool = templates.COUNT_COUNTED if measure.counted else templates.COUNT
        template = speech.choose(pool, measure)
    words["n"], words["N"] = speech.count_words(count, len(sheet.rows), template=template)
    claims = [Claimed("numeric", "count", roles, "value", cells), speech.row_count_claim("N")]
    return speech.plan(template, words, claims, None)


def _threshold(speech: Speech, measure: Measure) -> tuple[int, Word, Word] | None:
    """A count, a cue and a threshold; the threshold is no cell's value."""
    amounts = [speech.amounts.get((row.index, measure.index)) for row in speech.sheet.rows]
    known = [amount for amount in amounts if amount is not None]
    values = sorted(amount.value for amount in known)
    if len(known) < len(amounts) or len(set(values)) < 4:
        return None
    middle = speech.rng.randrange(1, len(values) - 1)
    low, high = values[middle], values[middle + 1]
    threshold = _round_between(low, high)
    if threshold is None or not _is_apt(threshold, known):
        return None
    over = speech.rng.random() < 0.65
    if measure.counted:
        cues = templates.OVER_COUNTED if over else templates.UNDER_COUNTED
    else:
        cues = templates.OVER if over else templates.UNDER
    count = sum(value > threshold for value in values)
    unit = known[0].unit
    text = _spell_threshold(threshold, unit)
    count = count if over else len(values) - count
    if count in (0, 1, len(values)) or (measure.counted and threshold == 1):
        return None
    return count, Word(speech.rng.choice(cues)), Word(text)


def _is_apt(threshold: Decimal, amounts: list[Amount]) -> bool:
    """Whether a threshold has decimals only where the column has: no "more than 0.8 wins"."""
    whole = all(amount.decimals == 0 and amount.unit.scale == ONE for amount in amounts)
    return not whole or threshold == int(threshold)


def say_quantified(speech: Speech) -> Plan | None:
    """That all, most or no rows are beyond a threshold."""
    sheet, rng = speech.sheet, speech.rng
    measure = speech.pick(speech.ranked)
    if measure is None or not sheet.whole or len(sheet.rows) < 4 or not _rows_are_one_thing(speech):
        return None
    amounts = [speech.amounts.get((row.index, measure.index)) for row in sheet.rows]
    values = sorted(amount.value for amount in amounts if amount is not None)
    if len(values) < len(amounts) or values[0] <= 0:
        return None
    over = rng.random() < 0.6
    cues = (templates.OVER_COUNTED, templates.UNDER_COUNTED)
    if not measure.counted:
        cues = (templates.OVER, templates.UNDER)
    low, high = values[0], values[-1]
    kind = rng.choice((templates.ALL, templates.MOST_OF, templates.NONE))
    if kind is templates.MOST_OF:
        first = values[: len(values) // 3 + 1] if over else values[-(len(values) // 3) - 1 :]
        threshold = _round_between(first[-2], first[-1]) if over else _round_between(*first[:2])
    elif (kind is templates.ALL) == over:
        threshold = _round_between(low * Decimal("0.7"), low)
    else:
        threshold = _round_between(high, high * Decimal("1.3"))
    unit = next(amount for amount in amounts if amount is not None).unit
    if threshold is None or (measure.counted and threshold == 1):
        return None
    if not _is_apt(threshold, [amount for amount in amounts if amount is not None]):
        return None
    words = {
        "m": speech.label(measure),
        "k": Word(rng.choice(kind)),
        "c": Word(rng.choice(cues[0] if over else cues[1])),
        "t": Word(_spell_threshold(threshold, unit)),
    }
    roles: dict[Role, str | Part] = {"column": "m", "quantifier": "k", "cue": "c", "threshold": "t"}
    cells = tuple((row.index, measure.index) for row in sheet.rows)
    claim = Claimed("comparative", "quantifier", roles, "quantifier", cells)
    pool = templates.QUANTIFIED_MOST if kind is templates.MOST_OF else templates.QUANTIFIED
    if measure.counted:
        pool = templates.QUANTIFIED_COUNTED
    return speech.plan(speech.choose(pool, measure), words, [claim], None)


def _spell_threshold(threshold: Decimal, unit: Unit) -> str:
    exponent = int((threshold / unit.scale).normalize().as_tuple().exponent)
    decimals = max(0, -exponent)
    cents = decimals == 1 and unit.currency and unit.scale == ONE
    return spell(threshold, unit, 2 if cents else decimals)


def say_total(speech: Speech) -> Plan | None:
    """What a column adds up to, or its mean."""
    sheet = speech.sheet
    measure = speech.pick([measure for measure in speech.ranked if measure.summable])
    if measure is None or not sheet.whole or sheet.totals or not _rows_are_one_thing(speech):
        return None
    amounts = [speech.amounts.get((row.index, measure.index)) for row in sheet.rows]
    known = [amount for amount in amounts if amount is not None]
    if len(known) < len(amounts) or len(known) < 3:
        return None
    total = sum((amount.value for amount in known), Decimal(0))
    decimals = max(amount.decimals for amount in known)
    unit = known[0].unit
    words = {"m": speech.label(measure), "N": speech.count_words(len(known))[0]}
    average = speech.rng.random() < 0.5
    if average:
        mean = total / len(known)
        decimals = _mean_decimals(mean, unit, decimals)
        step = Decimal(1).scaleb(-decimals) * unit.scale
        mean = (mean / step).quantize(ONE, ROUND_HALF_UP) * step
        if unit == PLAIN and mean == int(mean):
            decimals = 0  # "25.0 wins"
        words["v"] = Word(spell(mean, unit, decimals), "computed")
        pool = templates.AVERAGE_COUNTED if measure.counted else templates.AVERAGE
    else:
        words["v"] = Word(spell(total, unit, decimals), "computed")
        pool = templates.TOTAL_COUNTED if measure.counted else templates.TOTAL
    operation: Operation = "average" if average else "total"
    cells = tuple((row.index, measure.index) for row in sheet.rows)
    claims = [
        Claimed("numeric", operation, {"column": "m", "value": "v"}, "value", cells),
        speech.row_count_claim("N"),
    ]
    return speech.plan(speech.choose(pool, measure), words, claims, None)


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


def _rows_are_one_thing(speech: Speech) -> bool:
    """Whether a row is an entity or a period, and not one in the other."""
    return speech.sheet.layout in ("entities", "periods")


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
