"""A column held against another one of the same row: a norm, a plan, a reference range."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tablemend.verifier.logic.amounts import fits, hedge_of
from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.index import ColumnIndex
from tablemend.verifier.logic.mentions import ColumnMention
from tablemend.verifier.logic.outcome import Outcome
from tablemend.verifier.logic.row_filter import RowFilter, range_set, within
from tablemend.verifier.logic.vocabulary import opposite

_NUMBER = r"-?\d+(?:[.,]\d+)*"
_BETWEEN = re.compile(rf"^\W*({_NUMBER})\s*(?:-|to)\s*({_NUMBER})")
_BOUND = re.compile(rf"^\W*?(<=|>=|<|>|≤|≥|up to|below|under|above|over)\s*({_NUMBER})")
_SIDES = {
    "within": 0,
    "inside": 0,
    "outside": 2,
    "above": 1,
    "over": 1,
    "exceeded": 1,
    "exceeds": 1,
    "beat": 1,
    "topped": 1,
    "below": -1,
    "under": -1,
    "missed": -1,
    "beneath": -1,
}
_SAID = {0: "within", 1: "above", -1: "below"}


def references(frame: Frame, found: Sequence[RowFilter]) -> Iterator[Outcome]:
    """As in "Sodium was above the reference range", "revenue came in below the consensus"."""
    for place, word in enumerate(frame.words):
        side = _SIDES.get(word)
        if side is None:
            continue
        behind = [h for h in frame.headings if 0 <= h.first - place - 1 <= 2]
        if not behind:
            continue
        reference = behind[0]
        columns = [h for h in frame.headings if h.last <= place or h.first >= reference.last]
        columns = [h for h in columns if h.column != reference.column]
        yield from _held(frame, found, (place, place + 1), side, reference, columns)


def _held(
    frame: Frame,
    found: Sequence[RowFilter],
    words: tuple[int, int],
    side: int,
    reference: ColumnMention,
    named: Sequence[ColumnMention],
) -> Iterator[Outcome]:
    norm = frame.view.columns[reference.column]
    amounts = {stated.first for stated in frame.amounts if stated.amount.role == "value"}
    rows = within(
        (
            c
            for c in found
            if c.column != norm.index and not c.used & range_set(*words) and c.first not in amounts
        ),
        frame.rows,
    )
    values = [frame.view.columns[h.column] for h in named]
    values = [column for column in values if column.measured and not column.temporal]
    if not values:
        numbers = [c for c in frame.view.columns if c.kind == "number" and c.index != norm.index]
        values = numbers if len(numbers) == 1 else []
    rows = frozenset(row for row in rows if norm.cell(row))
    if len(rows) != 1 or not values:
        return
    (row,) = rows
    column = values[0]
    value, bounds = column.ordered.of.get(row), bounds_of(norm, row)
    if value is None or bounds is None:
        return
    low, high = bounds
    found_side = -1 if value < low else 1 if value > high else 0
    truth = found_side != 0 if side == 2 else found_side == side
    used = range_set(*words) | range_set(reference.first, reference.last)
    used = used.union(*(c.used for c in found if row in c.rows and not c.bound))
    used = used.union(*(range_set(h.first, h.last) for h in named if h.column == column.index))
    reason = f"{column.header} {column.cell(row)}, {norm.header} {norm.cell(row)}"
    cells = ((row, column.index), (row, norm.index))
    fit = 0.6 + 0.4 * reference.share
    stated = [s for s in frame.amounts if s.amount.role == "value"]
    for amount, (own, low_end, high_end) in zip(
        stated, ((column, value, value), (norm, low, high)), strict=False
    ):
        tokens = range_set(amount.first, amount.last)
        used |= tokens
        hedge = hedge_of(frame, amount)
        if amount.first == words[1] or any(
            fits(own, v, amount, hedge) for v in (low_end, high_end)
        ):
            continue
        yield Outcome(
            "reference",
            False,
            used,
            fit,
            cells,
            reason,
            (amount.first, amount.last),
            (own.cell(row),),
            "NUM",
        )
        return
    said = frame.text(*words)
    right = _SAID[found_side] if side == 2 or "range" in norm.terms else opposite(said)
    yield Outcome(
        "reference",
        truth,
        used,
        fit,
        cells,
        reason,
        None if truth else words,
        () if truth or not right else (right,),
        "CMP",
    )


def bounds_of(column: ColumnIndex, row: int) -> tuple[float, float] | None:
    """What a cell allows: ``135-145``, ``<=200``, ``>40``, or one number, which is both ends."""
    cell = column.cell(row).casefold()
    if between := _BETWEEN.match(cell):
        return _number(between[1]), _number(between[2])
    if bound := _BOUND.match(cell):
        value = _number(bound[2])
        if bound[1] in ("<=", "<", "≤", "up to", "below", "under"):
            return float("-inf"), value
        return value, float("inf")
    value_of = column.ordered.of.get(row)
    return None if value_of is None else (value_of, value_of)


def _number(text: str) -> float:
    return float(text.replace(",", ""))
