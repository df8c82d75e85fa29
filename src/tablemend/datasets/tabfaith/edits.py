"""What could stand in place of a claim's words so that it becomes false, by type of error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from tablemend.datasets.tabfaith.labels import is_plural_label, spoken_name
from tablemend.datasets.tabfaith.sheet import Sheet
from tablemend.datasets.tabfaith.summary import Fact, Part
from tablemend.datasets.tabfaith.templates import CONTRARIES, ORDINALS
from tablemend.datasets.tabfaith.wording import word_alike
from tablemend.datasets.tablehallu.sentences import with_article
from tablemend.records import ClaimError
from tablemend.values.number_words import UP_TO_TWENTY
from tablemend.values.periods import Period, move_period, read_period, spell_like

MIX: dict[ClaimError, float] = {"NUM": 30.6, "REL": 23.8, "CMP": 23.1, "TMP": 13.4, "ATT": 9.1}
"""Shares of the types in the paper's Table 1, in percent."""
RANGE = (0.07, 1.10)
"""How far a wrong number is from the right one at least and at most, as printed."""
COMPUTED = ("difference", "change_amount", "change_percent", "total", "average")
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_FACTORS = (0.4, 0.55, 0.7, 0.8, 0.88, 0.93, 1.07, 1.12, 1.2, 1.35, 1.6, 2.1)
_STEPS = (-4, -3, -2, -1, 1, 2, 3, 4)


class _MadeUp(str):
    """A period that the table does not have."""


class Edit(NamedTuple):
    """A part of a claim, and what might stand there.

    Attributes:
        new: a number that matches no cell, or a period that the table has nowhere, is demanded.
    """

    type: ClaimError
    part: int
    text: str
    new: bool = False


def propose(fact: Fact, sheet: Sheet, type: ClaimError, rng: Random) -> Iterator[Edit]:
    """Edits of a claim that may make it false in one way, in random order; none is checked.

    Args:
        fact: a true claim.
        sheet: its table.
        type: the wanted error (TabFaith, 3.1).
        rng: what draws.
    """
    for index in rng.sample(range(len(fact.parts)), len(fact.parts)):
        part = fact.parts[index]
        for text in _PROPOSALS[type](fact, part, sheet, rng):
            new = type == "NUM" or isinstance(text, _MadeUp)
            yield Edit(type, index, _as_cased(part.text, text), new)


def _numerical(fact: Fact, part: Part, sheet: Sheet, rng: Random) -> Iterator[str]:
    if fact.kind in ("numeric", "relational") and part.role == "value":
        yield from _other_numbers(part.text, rng)


def _relational(fact: Fact, part: Part, sheet: Sheet, rng: Random) -> Iterator[str]:
    if fact.operation == "value" and fact.kind in ("numeric", "relational"):
        yield from _other_cells(fact, part, sheet, rng)


def _comparative(fact: Fact, part: Part, sheet: Sheet, rng: Random) -> Iterator[str]:
    cue = part.role == "cue" and fact.operation != "count" and fact.kind != "temporal"
    if part.role == "quantifier" or cue:
        yield from _opposites(part, rng)
    if part.role == "entity" and fact.operation in ("superlative", "rank"):
        yield from _other_names(part, sheet, rng)


def _temporal(fact: Fact, part: Part, sheet: Sheet, rng: Random) -> Iterator[str]:
    dated = fact.kind == "temporal"
    if part.role == "cue" and dated:
        yield from _opposites(part, rng)
    if part.role in ("period", "until") or (part.role == "value" and dated):
        yield from _other_periods(part, sheet, rng)


def _attributional(fact: Fact, part: Part, sheet: Sheet, rng: Random) -> Iterator[str]:
    if fact.operation == "value" and part.role == "entity":
        yield from _other_names(part, sheet, rng)
    if fact.kind == "attribute" and part.role == "value":
        for text in _other_texts(fact, sheet, rng):
            yield text.lower() if part.style == "flag" and len(text) > 1 else text


_PROPOSALS: dict[ClaimError, Callable[[Fact, Part, Sheet, Random], Iterator[str]]] = {
    "NUM": _numerical,
    "REL": _relational,
    "CMP": _comparative,
    "TMP": _temporal,
    "ATT": _attributional,
}


def _other_numbers(text: str, rng: Random) -> Iterator[str]:
    """The number moved within :data:`RANGE`, with as many digits that count; a count's word."""
    folded = text.casefold()
    if folded in UP_TO_TWENTY:
        words = [word for word in UP_TO_TWENTY[2:] if word != folded]
        yield from rng.sample(words, len(words))
        return
    match = _DIGITS.search(text)
    if match is None:
        return
    digits = match[0]
    decimals = len(digits.partition(".")[2])
    whole = digits.replace(",", "").partition(".")[0]
    zeros = len(whole) - len(whole.rstrip("0")) if not decimals and len(whole) > 3 else 0
    value = float(digits.replace(",", ""))
    step = 10.0 ** (zeros - decimals)
    near = [value + number * step for number in (-2, -1, 1, 2)]
    moves = [round(value * factor / step) * step for factor in rng.sample(_FACTORS, len(_FACTORS))]
    for moved in (*moves, *rng.sample(near, len(near))):
        if moved <= step / 2 or ("%" in text and value <= 100 < moved):
            continue
        commas = "," in digits or moved >= 10_000 or value < 1000
        other = f"{moved:{',' if commas else ''}.{decimals}f}"
        if other != "1" and _is_in_range(value, float(other.replace(",", ""))):
            yield text[: match.start()] + other + text[match.end() :]


def _is_in_range(value: float, other: float) -> bool:
    least, most = RANGE
    return value > 0 and least - 1e-9 <= abs(other - value) / value <= most + 1e-9


def _other_cells(fact: Fact, part: Part, sheet: Sheet, rng: Random) -> Iterator[str]:
    """For a value those of other rows and columns, for a column's name others."""
    row, column = fact.cells[0]
    if part.role == "value":
        places = [(other.index, column) for other in sheet.rows if other.index != row]
        columns = [m.index for m in sheet.measures if m.kind == "number"]
        columns = columns or [index for index, _ in sheet.periods]
        places += [(row, other) for other in columns if other != column]
        own = sheet.amount(row, column)
        counted = {measure.index for measure in sheet.measures if measure.counted}
        for place in rng.sample(places, min(len(places), 12)):
            amount = sheet.amount(*place)
            alike = amount is not None and own is not None and amount.unit == own.unit
            if amount is None or not alike or amount.value == 1:
                continue
            if column not in counted or amount.value == int(amount.value):  # no "4.5 wins"
                yield word_alike(amount, sheet.stated_unit(place[0]), part.style)
    elif part.role == "column":
        own_measure = next((m for m in sheet.measures if m.index == column), None)
        others = [
            measure
            for measure in sheet.measures
            if own_measure is not None
            and measure.kind == "number"
            and measure.counted == own_measure.counted
            and is_plural_label(measure.label) == is_plural_label(own_measure.label)
            and with_article(measure.label).split()[0] == part.style
            and measure.index != column
            and _same_unit(sheet, row, column, measure.index)
        ]
        yield from (measure.label for measure in rng.sample(others, len(others)))


def _same_unit(sheet: Sheet, row: int, one: int, other: int) -> bool:
    amounts = sheet.amount(row, one), sheet.amount(row, other)
    return amounts[0] is not None and amounts[1] is not None and amounts[0].unit == amounts[1].unit


def _opposites(part: Part, rng: Random) -> Iterator[str]:
    """The contrary of a cue; of a rank other ranks."""
    cue = part.text.casefold()
    if part.style in ("rank", "place"):
        own = next((word for word in ORDINALS if word in cue), None)
        if own is None:
            return
        for other in rng.sample(ORDINALS[:4], 4):
            if other == own:
                continue
            if part.style == "rank" and other == "first":
                yield cue.replace("first-", "").replace(f"{own}-", "")
            else:
                yield cue.replace(own, other)
        return
    for pair in CONTRARIES:
        for ours, theirs in (pair, pair[::-1]):
            for word in ours:
                if cue == word or (part.style == "trend" and cue.startswith(f"{word} ")):
                    place = min(ours.index(word), len(theirs) - 1)
                    yield theirs[place] + cue.removeprefix(word)


def _other_names(part: Part, sheet: Sheet, rng: Random) -> Iterator[str]:
    names = {row.entity for row in sheet.rows if row.entity and row.entity != part.style}
    for name in rng.sample(sorted(names), min(len(names), 8)):
        yield spoken_name(sheet.noun, name)


def _other_texts(fact: Fact, sheet: Sheet, rng: Random) -> Iterator[str]:
    row, column = fact.cells[0]
    texts = {text for other in sheet.rows if (text := sheet.text(other.index, column))}
    texts.discard(sheet.text(row, column))
    yield from rng.sample(sorted(texts), min(len(texts), 8))


def _other_periods(part: Part, sheet: Sheet, rng: Random) -> Iterator[str]:
    """Other periods of the table, and now and then one that it does not have."""
    own = read_period(part.text)
    if own is None:
        return
    dated = [measure.index for measure in sheet.measures if measure.kind == "date"]
    listed = [
        period
        for row in sheet.rows
        for period in (row.period, *(read_period(sheet.text(row.index, i)) for i in dated))
    ]
    found: dict[str, Period] = {}
    for period in (*listed, *(period for _, period in sheet.periods)):
        if period is not None:
            found.setdefault(period.iso, period)
    others = [p for p in found.values() if p.iso != own.iso and p.grain == own.grain]
    made_up = [move_period(own, step) for step in rng.sample(_STEPS, len(_STEPS))]
    here = [spell_like(period, own) for period in rng.sample(others, min(len(others), 8))]
    nowhere = [_MadeUp(spell_like(period, own)) for period in made_up if period.iso not in found]
    yield from (*nowhere, *here) if rng.random() < 0.25 else (*here, *nowhere)


def _as_cased(old: str, new: str) -> str:
    """The new words with a capital where the old ones had one at the beginning of a sentence."""
    return new[0].upper() + new[1:] if old[0].isupper() else new
