"""Every table program that a statement can mean, run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tablemend.verifier.logic.aggregates import aggregates
from tablemend.verifier.logic.changes import changes
from tablemend.verifier.logic.comparisons import comparisons
from tablemend.verifier.logic.counts import counts
from tablemend.verifier.logic.equalities import differences, equalities
from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.one_row import bounds, ranks, together
from tablemend.verifier.logic.outcome import Outcome
from tablemend.verifier.logic.quantifiers import quantifiers
from tablemend.verifier.logic.references import references
from tablemend.verifier.logic.row_filter import RowFilter
from tablemend.verifier.logic.superlatives import superlatives

_PROGRAMS = (
    changes,
    superlatives,
    counts,
    comparisons,
    equalities,
    differences,
    quantifiers,
    aggregates,
    bounds,
    ranks,
    references,
    together,
)
_AUXILIARIES = frozenset("be is are was were do does did have has had".split())


def run_programs(frame: Frame, found: list[RowFilter]) -> Iterator[Outcome]:
    """Every reading of a statement, run."""
    negated = _negated(frame, found)
    for program in _PROGRAMS:
        for outcome in program(frame, found):
            if _is_torn(frame, found, outcome):
                continue
            if negated is None or negated in outcome.used:
                yield outcome
                continue
            yield replace(
                outcome,
                truth=not outcome.truth,
                used=outcome.used | {negated},
                reason=f"{outcome.reason} (denied)",
                fault=(negated, negated + 1) if outcome.truth else None,
                expected=(),
            )


def _negated(frame: Frame, found: list[RowFilter]) -> int | None:
    """The "not" that denies the whole statement: behind an auxiliary, and of no condition."""
    taken = frozenset[int]().union(*(condition.used for condition in found))
    for place, word in enumerate(frame.words):
        contracted = word.endswith("n't")
        behind = place > 0 and frame.words[place - 1] in _AUXILIARIES
        denies = contracted or word == "never" or (word == "not" and behind)
        if denies and place not in taken:
            return place
    return None


def _is_torn(frame: Frame, found: list[RowFilter], outcome: Outcome) -> bool:
    """Whether a reading computes over rows of one name that differ, and no sum is asked for."""
    torn = frame.view.torn
    if not torn or outcome.family == "aggregate":
        return False
    if any(cue.kind == "aggregate" for cue in frame.cues):
        return False
    columns = {column for _, column in outcome.cells}
    named = {
        row
        for condition in found
        if condition.column == frame.view.key and condition.used <= outcome.used
        for row in condition.rows
    }
    cells = {*outcome.cells, *((row, column) for row in named for column in columns)}
    return not torn.isdisjoint(cells)
