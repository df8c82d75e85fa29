"""Which reading of a statement is meant: what each accounts for, weighed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp

from tablemend.verification.logic.condition import Condition
from tablemend.verification.logic.frame import Frame
from tablemend.verification.logic.outcome import Outcome
from tablemend.verification.logic.weights import WEIGHTS
from tablemend.verification.logic.words import RESULTS, THINGS

_EMPTY = frozenset(
    "value values figure figures amount level during between among overall table list data other "
    "same also moreover meanwhile addition further respectively along all total number each up "
    "out across".split()
)
_LIGHT = 0.25
_NUMBER = 2.0
_OPERATIONS = frozenset(
    {"superlative", "rank", "comparative", "quantifier", "aggregate", "change", "negation", "count"}
)


def features(frame: Frame, found: Sequence[Condition], outcome: Outcome) -> dict[str, float]:
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
        "words": min(len(frame.content), 30) / 10,
    }
    return {name: value for name, value in known.items() if value}


def _weight(frame: Frame, place: int) -> float:
    word = frame.words[place]
    if word.isdigit():
        return _NUMBER
    verb = place in frame.verbs and word not in RESULTS
    if word in THINGS or word in _EMPTY or verb or place in frame.headed:
        return _LIGHT
    return 1.0


def score(frame: Frame, found: Sequence[Condition], outcome: Outcome) -> float:
    """The weight of a reading, on a logarithmic scale on which no reading at all is 0."""
    return sum(
        WEIGHTS.get(name, 0.0) * value for name, value in features(frame, found, outcome).items()
    )


def weigh(
    frame: Frame, found: Sequence[Condition], outcomes: Sequence[Outcome]
) -> tuple[float, list[tuple[float, Outcome]]]:
    """How likely the statement is, and the readings with their share, the likeliest first.

    Readings compete: each has a share of the belief, and one part of it is nobody's (the
    statement means something that none of them reads), which speaks for neither side.
    """
    doubled: Counter[object] = Counter(_program(outcome) for outcome in outcomes)
    weighed = [
        (exp(min(score(frame, found, outcome), 30.0)) / doubled[_program(outcome)], outcome)
        for outcome in outcomes
    ]
    total = 1.0 + sum(mass for mass, _ in weighed)
    shares = sorted(((mass / total, outcome) for mass, outcome in weighed), key=_share)
    likely = 0.5 / total + sum(share for share, outcome in shares if outcome.truth)
    return likely, shares


def _program(outcome: Outcome) -> object:
    """What readings share that only differ in which word they blame."""
    return outcome.family, outcome.truth, outcome.used


def _share(entry: tuple[float, Outcome]) -> float:
    return -entry[0]
