"""Which reading of a statement is meant: what each accounts for, weighed."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.outcome import Outcome
from tablemend.verifier.logic.row_filter import RowFilter
from tablemend.verifier.logic.vocabulary import EMPTY, RESULTS, THINGS

_LIGHT = 0.25
_NUMBER = 2.0
_OPERATIONS = frozenset(
    {"superlative", "rank", "comparative", "quantifier", "aggregate", "change", "negation", "count"}
)


def features(
    frame: Frame, found: Sequence[RowFilter], outcomes: Sequence[Outcome], outcome: Outcome
) -> dict[str, float]:
    """What is known of a reading: how much of the statement it accounts for, and how well."""
    left = frame.content - outcome.used
    weight = {place: _weight(frame, place) for place in frame.content}
    total = sum(weight.values()) or 1.0
    names = sum(1 for c in found if not c.used & outcome.used)
    numbers = sum(
        1
        for stated in frame.amounts
        if not outcome.used & frozenset(range(stated.first, stated.last))
    )
    cues = negations = 0
    for cue in frame.cues:
        if cue.kind not in _OPERATIONS:
            continue
        first, last = frame.token_range(cue.start, cue.end)
        if not outcome.used & frozenset(range(first, last)):
            cues += 1
            negations += cue.kind == "negation"
    alike = sum(_program(other) == _program(outcome) for other in outcomes)
    covered = 1.0 - sum(weight[place] for place in left) / total
    family = outcome.family
    known = {
        "bias": 1.0,
        f"is {family}": 1.0,
        f"{family} holds": float(outcome.truth),
        "covered": covered,
        "all covered": float(not left),
        "fit": outcome.fit,
        "numbers left": float(min(numbers, 3)),
        "names left": float(min(names, 3)),
        "fails on nothing": float(not outcome.truth and not outcome.cells),
        "no condition": float(all(not c.used & outcome.used for c in found)),
        "cues left": float(min(cues, 3)),
        "negations left": float(negations > 0),
        "alike": log(alike),
        "words": min(len(frame.content), 30) / 10,
    }
    return {name: value for name, value in known.items() if value}


def _weight(frame: Frame, place: int) -> float:
    word = frame.words[place]
    if word.isdigit():
        return _NUMBER
    verb = place in frame.verbs and word not in RESULTS
    if word in THINGS or word in EMPTY or verb or place in frame.headed:
        return _LIGHT
    return 1.0


def _program(outcome: Outcome) -> object:
    """What readings share that only differ in which word they blame."""
    return outcome.family, outcome.truth, outcome.used
