"""The two sides of a comparison, and the judgement on them with what is stated beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tablemend.claims.cues import Cue
from tablemend.verifier.logic.amounts import digits, fits, hedge_of, ratio_hedge, spelled
from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.index import ColumnIndex
from tablemend.verifier.logic.mentions import StatedNumber
from tablemend.verifier.logic.outcome import Outcome
from tablemend.verifier.logic.row_filter import RowFilter, range_set
from tablemend.verifier.logic.superlatives import Ordering
from tablemend.verifier.logic.vocabulary import opposite

_UNITS = {
    "year": 365.25,
    "years": 365.25,
    "month": 30.44,
    "months": 30.44,
    "week": 7.0,
    "weeks": 7.0,
}
_NEARLY = 0.2  # "nearly twice as many"
_ABOUT = 0.05  # "twice as many" is seldom meant to the last digit


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two things.

    Attributes:
        value: what it comes to.
        rows: the rows behind it.
        used: the tokens that name it.
        fit: how surely it is meant.
        first, last: where it stands, half open.
        how: ``cell``, ``count`` or ``sum``.
    """

    value: float
    rows: frozenset[int]
    used: frozenset[int]
    fit: float
    first: int
    last: int
    how: str


def compare(
    frame: Frame,
    cue: Cue,
    words: tuple[int, int],
    ordering: Ordering,
    sides: tuple[Side, Side],
    amount: StatedNumber | None,
    scope: Sequence[RowFilter] = (),
    found: Sequence[RowFilter] = (),
) -> Outcome:
    """Verify one comparison, with the difference where it is stated."""
    one, other = sides
    gap = (one.value - other.value) * ordering.direction
    truth = gap > 1e-9
    if cue.sense == "multiple":
        factor = float(cue.number or 2)
        larger, smaller = (one, other) if cue.direction > 0 else (other, one)
        beyond = larger.value - factor * smaller.value
        hedge, hedged = ratio_hedge(frame, words[0])
        truth = {
            "over": beyond > 0,
            "at least": beyond >= 0,
            "under": -_NEARLY * abs(larger.value) <= beyond < 0,
        }.get(hedge, abs(beyond) <= _ABOUT * abs(larger.value))
        amount = None
    else:
        hedged = frozenset()
    used = hedged | ordering.used | range_set(*words) | one.used | other.used
    used = used.union(*(condition.used for condition in scope))
    fit = min(ordering.fit, one.fit, other.fit) - 0.15 * bool(scope)
    column = ordering.column
    names = [frame.text(side.first, side.last) for side in sides]
    reason = f"{column.header}: {names[0]} {digits(one.value)}, {names[1]} {digits(other.value)}"
    cells = tuple((row, column.index) for side in sides for row in sorted(side.rows)[:3])
    turned = opposite(frame.text(*words))
    own, wrong = _own_amounts(frame, sides, column)
    dated = _own_dates(frame, found, sides, column)
    for condition, side in dated:
        own |= condition.used
        if not condition.rows & side.rows:
            (row, *_) = sorted(side.rows)
            return Outcome(
                "comparison",
                False,
                used | own,
                fit,
                cells,
                reason,
                (condition.first, condition.last),
                (column.cell(row),),
                "TMP",
            )
    used |= own
    if wrong is not None:
        stated, side = wrong
        return Outcome(
            "comparison",
            False,
            used,
            fit,
            cells,
            reason,
            (stated.first, stated.last),
            (spelled(column, side.value, stated),),
            "NUM",
        )
    if amount is None:
        return Outcome(
            "comparison",
            truth,
            used,
            fit,
            cells,
            reason,
            None if truth else words,
            () if truth or not turned else (turned,),
            "TMP" if cue.kind == "temporal" else "CMP",
        )
    used |= range_set(amount.first, amount.last)
    if not truth:
        return Outcome(
            "difference",
            False,
            used,
            fit,
            cells,
            reason,
            words,
            (turned,) if turned else (),
            "CMP",
        )
    unit = _UNITS.get(frame.words[amount.last]) if amount.last < len(frame.words) else None
    if column.kind == "date":
        if unit is None:
            unit = 1.0
        gap = round(gap / unit) if unit > 1 else gap
    exact = fits(column, abs(gap), amount)
    return Outcome(
        "difference",
        exact,
        used,
        fit,
        cells,
        f"{reason}, difference {digits(abs(gap))}",
        None if exact else (amount.first, amount.last),
        () if exact else (spelled(column, abs(gap), amount),),
        "NUM",
    )


def _own_amounts(
    frame: Frame, sides: Sequence[Side], column: ColumnIndex
) -> tuple[frozenset[int], tuple[StatedNumber, Side] | None]:
    """The values stated beside the two things, "A (5) has more than B (3)", and a wrong one."""
    used: frozenset[int] = frozenset()
    for stated in frame.amounts:
        for side in sides:
            if not 0 <= stated.first - side.last <= 1 or stated.amount.role == "ordinal":
                continue
            if "(" not in frame.between(side.last - 1, stated.first):
                continue
            used |= range_set(stated.first, stated.last)
            if not fits(column, side.value, stated, hedge_of(frame, stated)):
                return used, (stated, side)
    return used, None


def _own_dates(
    frame: Frame, found: Sequence[RowFilter], sides: Sequence[Side], column: ColumnIndex
) -> list[tuple[RowFilter, Side]]:
    """The dates stated in brackets beside the two things."""
    return [
        (condition, side)
        for condition in found
        for side in sides
        if condition.column == column.index
        and 0 <= condition.first - side.last <= 1
        and "(" in frame.between(side.last - 1, condition.first)
    ]
