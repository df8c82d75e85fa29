"""What an entity says over periods: changes, trends, peaks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tablemend.datasets.tabfaith import templates
from tablemend.datasets.tabfaith.labels import is_mixed_label, is_plural_label
from tablemend.datasets.tabfaith.sentences import Claimed, Plan, Word
from tablemend.datasets.tabfaith.speech import Datum, Speech
from tablemend.datasets.tabfaith.summary import Part, Role


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
    words["w"] = speech.amount(other)
    words["p"], words["q"] = speech.period(one.period), speech.period(other.period)
    words["c"] = Word(speech.rng.choice(templates.ROSE if b.value > a.value else templates.FELL))
    words["d"] = speech.difference(a, b, speech.sheet.stated_unit(one.row.index))
    pool = templates.CHANGE
    if a.value > 0 and b.value > 0 and a.unit.symbol != "%":
        words["r"] = speech.percentage(100 * abs(b.value - a.value) / a.value)
    else:
        pool = tuple(template for template in pool if "{r}" not in template)
    template = speech.choose(pool, one.measure)
    here: dict[Role, str | Part] = {
        role: slot for role, slot in speech.address(one).items() if role != "period"
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
    return speech.plan(template, words, claims, one)


def say_trend(speech: Speech) -> Plan | None:
    """One direction over three periods or more."""
    line = _line(speech)
    if len(line) < 3 or not _is_ordered(line):
        return None
    length = speech.rng.randint(3, len(line))
    start = speech.rng.randrange(len(line) - length + 1)
    chosen = line[start : start + length]
    values = [speech.amounts[datum.cell].value for datum in chosen]
    pairs = list(pairwise(values))
    rising = all(a < b for a, b in pairs)
    periods = [datum.period for datum in chosen if datum.period is not None]
    steps = {b.order - a.order for a, b in pairwise(periods)}
    if not (rising or all(a > b for a, b in pairs)) or steps != {1}:
        return None
    grain = "year" if periods[0].grain == "season" else periods[0].grain
    words = speech.words(chosen[0])
    words["p"], words["q"] = speech.period(periods[0]), speech.period(periods[-1])
    verb = speech.rng.choice(templates.ROSE if rising else templates.FELL)
    every = speech.rng.choice(templates.EVERY).format(grain=grain)
    words["c"] = Word(f"{verb} {every}", "trend")
    here: dict[Role, str | Part] = {
        role: slot for role, slot in speech.address(chosen[0]).items() if role != "period"
    }
    roles: dict[Role, str | Part] = {**here, "period": "p", "until": "q", "cue": "c"}
    cells = tuple(datum.cell for datum in chosen)
    claim = Claimed("comparative", "trend", roles, "cue", cells)
    return speech.plan(speech.choose(templates.TREND, chosen[0].measure), words, [claim], chosen[0])


def say_peak(speech: Speech) -> Plan | None:
    """The period of the highest or lowest value."""
    line = _line(speech)
    if len(line) < 3:
        return None
    highest = speech.rng.random() < 0.6
    order = sorted(line, key=lambda datum: speech.amounts[datum.cell].value, reverse=highest)
    best = order[0]
    if speech.amounts[best.cell].value == speech.amounts[order[1].cell].value:
        return None
    if best.period is None:
        return None
    words = speech.words(best)
    words["p"] = speech.period(best.period)
    cues = templates.PEAKED if highest else templates.BOTTOMED
    label = "" if best.measure is None else best.measure.label
    several = is_plural_label(label) or is_mixed_label(label) if label else False
    if several or (not label and speech.is_plural_name(best.row.entity or "")):
        cues = tuple(cue for cue in cues if not cue.startswith("was "))
    words["c"] = Word(speech.rng.choice(cues))
    roles: dict[Role, str | Part] = {**speech.address(best), "period": "p", "cue": "c"}
    cells = tuple(datum.cell for datum in line)
    claims = [
        Claimed("comparative", "superlative", roles, "cue", cells),
        Claimed(
            "numeric",
            "value",
            {**speech.address(best), "period": "p", "value": "v"},
            "value",
            (best.cell,),
        ),
    ]
    template = speech.choose(templates.SUPERLATIVE_OF_PERIOD, best.measure)
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
        line = [Datum(row, measure.index, measure, None) for row in rows]
    known = [speech.amounts.get(datum.cell) for datum in line]
    units = {(a.unit.symbol, a.unit.currency) for a in known if a is not None}
    return line if None not in known and len(units) == 1 else []
