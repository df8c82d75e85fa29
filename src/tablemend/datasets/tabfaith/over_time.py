"""What an entity says over periods: changes, trends, peaks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tablemend.datasets.tabfaith.labels import is_mixed_label, is_plural_label
from tablemend.datasets.tabfaith.sentences import Plan, Word
from tablemend.datasets.tabfaith.speech import Datum, Speech
from tablemend.datasets.tabfaith.templates import EVERY, PAIRS


def say_change(speech: Speech) -> Plan | None:
    """From one period to another."""
    line = _line(speech)
    if len(line) < 2 or not _is_ordered(line):
        return None
    first = speech.rng.randrange(len(line) - 1)
    steps = (1, 1, len(line) - 1 - first)
    one, other = line[first], line[first + speech.rng.choice(steps)]
    a, b = speech.amounts[one.cell], speech.amounts[other.cell]
    if a.value == b.value or one.period is None or other.period is None:
        return None
    words = speech.words(one)
    words["w"], words["q"] = speech.amount(other), speech.period(other.period)
    words["c"] = Word(speech.rng.choice(PAIRS["change"][b.value < a.value]))
    words["d"] = speech.difference(a, b, speech.sheet.stated_unit(one.row.index))
    relative = a.value > 0 and b.value > 0 and a.unit.symbol != "%"
    if relative:
        words["r"] = speech.percentage(100 * abs(b.value - a.value) / a.value)
    template = speech.choose("change", measure=one.measure, without="" if relative else "{r}")
    ends = (one, other)
    claims = [
        speech.claim("comparative", "change", one, ends, "cue", until="q", cue="c"),
        speech.claim("numeric", "change_amount", one, ends, "value", until="q", value="d"),
        speech.claim("numeric", "change_percent", one, ends, "value", until="q", value="r"),
        speech.value_claim(one, "v", "numeric"),
        speech.value_claim(other, "w", "numeric", period="q"),
    ]
    return speech.plan(template, words, claims, one)


def say_trend(speech: Speech) -> Plan | None:
    """One direction over three periods or more."""
    line = _line(speech)
    if len(line) < 3 or not _is_ordered(line):
        return None
    length = speech.rng.randint(3, len(line))
    start = speech.rng.randrange(len(line) - length + 1)
    chosen = line[start : start + length]
    pairs = list(pairwise(map(speech.value, chosen)))
    rising = all(a < b for a, b in pairs)
    periods = [datum.period for datum in chosen if datum.period is not None]
    steps = {b.order - a.order for a, b in pairwise(periods)}
    if not (rising or all(a > b for a, b in pairs)) or steps != {1}:
        return None
    grain = "year" if periods[0].grain == "season" else periods[0].grain
    words = speech.words(chosen[0])
    words["q"] = speech.period(periods[-1])
    verb = speech.rng.choice(PAIRS["change"][not rising])
    words["c"] = Word(f"{verb} {speech.rng.choice(EVERY).format(grain=grain)}", "trend")
    claim = speech.claim("comparative", "trend", chosen[0], chosen, "cue", until="q", cue="c")
    template = speech.choose("trend", measure=chosen[0].measure)
    return speech.plan(template, words, [claim], chosen[0])


def say_peak(speech: Speech) -> Plan | None:
    """The period of the highest or lowest value."""
    line = _line(speech)
    if len(line) < 3:
        return None
    highest = speech.rng.random() < 0.6
    best, second = sorted(line, key=speech.value, reverse=highest)[:2]
    if speech.value(best) == speech.value(second) or best.period is None:
        return None
    words = speech.words(best)
    cues = PAIRS["peak"][not highest]
    if best.measure is not None:
        several = is_plural_label(best.measure.label) or is_mixed_label(best.measure.label)
    else:
        several = speech.is_plural_name(best.row.entity or "")
    if several:
        cues = tuple(cue for cue in cues if not cue.startswith("was "))
    words["c"] = Word(speech.rng.choice(cues))
    claims = [
        speech.claim("comparative", "superlative", best, line, "cue", cue="c"),
        speech.value_claim(best, "v", "numeric"),
    ]
    template = speech.choose("superlative_of_period", measure=best.measure)
    return speech.plan(template, words, claims, best)


def _is_ordered(line: Sequence[Datum]) -> bool:
    """Whether it is known which of two periods comes first."""
    return all(datum.period is not None and datum.period.grain != "date" for datum in line)


def _line(speech: Speech) -> list[Datum]:
    """The numbers of one entity (or of the table) in the order of time."""
    sheet = speech.sheet
    if sheet.layout == "spread":
        row = speech.rng.choice(sheet.rows)
        line = [Datum(row, column, None, period) for column, period in sheet.periods]
    else:
        measure = speech.pick(speech.numbers)
        if measure is None or sheet.layout == "entities":
            return []
        rows = list(sheet.rows)
        if sheet.layout == "panel":
            entity = speech.rng.choice(rows).entity
            rows = [row for row in rows if row.entity == entity]
        rows.sort(key=lambda row: row.period.order if row.period else 0)
        line = [Datum(row, measure.index, measure) for row in rows]
    known = [speech.amounts.get(datum.cell) for datum in line]
    units = {(a.unit.symbol, a.unit.currency) for a in known if a is not None}
    return line if None not in known and len(units) == 1 else []
