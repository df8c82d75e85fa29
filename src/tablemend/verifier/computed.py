"""All computed readings of a sentence, and what is known of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import log

from tablemend.values.cells import read_value
from tablemend.verifier.agreement import in_open_scale
from tablemend.verifier.limits import is_part, is_part_of_group, unread
from tablemend.verifier.operators.comparisons import comparisons, references
from tablemend.verifier.operators.counts import counts, only, quantifiers
from tablemend.verifier.operators.extremes import extremes, ranks
from tablemend.verifier.operators.series import changes, totals
from tablemend.verifier.operators.slots import Computed, Slots
from tablemend.verifier.operators.together import together
from tablemend.verifier.row_filter import range_set
from tablemend.verifier.vocabulary import (
    EMPTY,
    RESULTS,
    THINGS,
)

_AUXILIARIES = frozenset("be is are was were do does did have has had".split())
_OPERATIONS = frozenset(
    "superlative rank comparative quantifier aggregate change negation count".split()
)
_OPERATORS: tuple[Callable[[Slots], Iterator[Computed]], ...] = (
    extremes,
    ranks,
    counts,
    comparisons,
    quantifiers,
    only,
    totals,
    changes,
    references,
    together,
)


def computed_readings(slots: Slots) -> list[Computed]:
    """Every reading; what stands under a "not" is turned round."""
    negated = _negated(slots)
    found = []
    for operator in _OPERATORS:
        for reading in operator(slots):
            if _is_torn(slots, reading):
                continue
            if negated is not None and _denies(slots, negated, reading):
                reading = replace(
                    reading,
                    truth=not reading.truth,
                    used=reading.used | {negated},
                    reason=f"{reading.reason} (denied)",
                    fault=(negated, negated + 1),
                    expected=(),
                )
            found.append(replace(reading, doubtful=_overreaches(slots, reading)))
    return found


def _negated(slots: Slots) -> int | None:
    """The "not" that denies the whole statement: behind an auxiliary, and of no condition."""
    taken = frozenset[int]().union(*(f.used for f in slots.filters))
    for place, word in enumerate(slots.frame.words):
        behind = place > 0 and slots.frame.words[place - 1] in _AUXILIARIES
        only = slots.frame.words[place + 1 : place + 2] == ("only",)
        denies = word.endswith("n't") or word == "never" or (word == "not" and behind)
        denies = denies and not only
        if denies and place not in taken:
            return place
    return None


def _denies(slots: Slots, negated: int, reading: Computed) -> bool:
    """Whether a "not" is of the clause that the reading speaks of."""
    place = reading.fault[0] if reading.fault else min(reading.used, default=negated)
    apart = slots.frame.clause(place) != slots.frame.clause(negated)
    return negated not in reading.used and not apart


def _overreaches(slots: Slots, reading: Computed) -> bool:
    """Whether it fails over rows that words which nobody read may leave out."""
    if reading.truth or reading.fault is None:
        return False
    frame, used, fault = slots.frame, reading.used, reading.fault
    stated = next((s.amount for s in frame.amounts if s.first == fault[0]), None)
    for row, column in reading.cells if stated else ():
        index = slots.view.columns[column]
        number = read_value(index.cell(row)).number
        if number and stated and in_open_scale(stated, number, index.unit(row)) == "near":
            return True
    if reading.operator == "total":
        return "range" not in reading.features and is_part(frame, used, fault)
    if reading.operator not in ("count", "quantifier"):
        return False
    if reading.operator == "count" and all(not f.used & used for f in slots.filters):
        behind = (fault[1], frame.clause(fault[0])[1])
        return bool(unread(frame, used, behind))  # "three cities are capitals"
    return is_part_of_group(frame, used, fault[1])


def _is_torn(slots: Slots, reading: Computed) -> bool:
    """Whether it computes over rows of one name that differ, and no sum is asked for."""
    torn = slots.view.torn
    if not torn or any(cue.kind == "aggregate" for cue in slots.frame.cues):
        return False
    columns = {column for _, column in reading.cells}
    rows = {
        row
        for f in slots.filters
        if f.column == slots.view.key and f.used <= reading.used
        for row in f.rows
    }
    return not torn.isdisjoint({*reading.cells, *((r, c) for r in rows for c in columns)})


def features(slots: Slots, readings: Sequence[Computed], reading: Computed) -> dict[str, float]:
    """What is known of a reading: its slots, and how much of the sentence it accounts for."""
    frame = slots.frame
    first, last = reading.part or (0, len(frame.words))
    content = frame.content & range_set(first, last)
    left = content - reading.used
    weight = {place: _weight(slots, place) for place in content}
    covered = 1.0 - sum(weight[place] for place in left) / (sum(weight.values()) or 1.0)
    stated = [s for s in frame.amounts if first <= s.first < last]
    numbers = sum(not reading.used & range_set(s.first, s.last) for s in stated)
    named = [f for f in slots.filters if first <= f.first < last]
    names = sum(not f.used & reading.used for f in named)
    spans = [(cue.kind, frame.token_range(cue.start, cue.end)) for cue in frame.cues]
    kinds = [
        kind
        for kind, span in spans
        if kind in _OPERATIONS and first <= span[0] < last and not reading.used & range_set(*span)
    ]
    own = reading.operator
    alike = sum(
        (r.operator, r.truth, r.used) == (own, reading.truth, reading.used) for r in readings
    )
    known = {
        "bias": 1.0,
        f"is {own}": 1.0,
        f"{own} holds": float(reading.truth),
        f"{own} covered": covered,
        "covered": covered,
        "all covered": float(not left),
        "numbers left": float(min(numbers, 3)),
        f"{own} numbers left": float(min(numbers, 3)),
        "names left": float(min(names, 3)),
        f"{own} names left": float(min(names, 3)),
        "fails on nothing": float(not reading.truth and not reading.cells),
        "no condition": float(all(not f.used & reading.used for f in slots.filters)),
        "cues left": float(min(len(kinds), 3)),
        "negations left": float("negation" in kinds),
        "alike": log(alike),
        "readings": log(sum(r.operator == own for r in readings)),
        "words": min(len(content), 30) / 10,
    }
    known |= {f"{own} left {kind}": 1.0 for kind in kinds}
    known |= {f"{own} {name}": 1.0 for name in reading.features}
    if slots.view.turned:
        known |= {"turned": 1.0, f"{own} turned": 1.0}
    return {f"logic {name}": value for name, value in known.items() if value}


def _weight(slots: Slots, place: int) -> float:
    word = slots.frame.words[place]
    if word.isdigit():
        return 2.0
    verb = place in slots.frame.verbs and word not in RESULTS
    light = word in THINGS or word in EMPTY or verb or place in slots.frame.headed
    return 0.25 if light else 1.0
