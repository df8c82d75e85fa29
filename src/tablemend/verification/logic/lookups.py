"""Statements of one row with a bound, a rank or a place: "A scored more than 5", "B came third"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tablemend.verification.logic.conditions import Condition, range_set, within
from tablemend.verification.logic.frame import Frame
from tablemend.verification.logic.outcome import Outcome
from tablemend.verification.logic.superlatives import name_rows

_PLACED = frozenset({"place", "within", "last"})


def bounds(frame: Frame, found: Sequence[Condition]) -> Iterator[Outcome]:
    """As in "A has more than 5 points", "A won before 2000": some row has all that is said."""
    bounded = [c for c in found if c.bound]
    if not bounded or len(found) < 2:
        return
    rows = within(found, frame.rows)
    others = within((c for c in found if not c.bound), frame.rows)
    if not others or len(others) > 3:
        return
    used = frozenset[int]().union(*(c.used for c in found))
    column = frame.view.columns[bounded[0].column]
    said = ", ".join(column.cell(row) for row in sorted(others)[:3])
    reason = f"{column.header} of {name_rows(frame, others)}: {said}"
    cells = tuple((row, column.index) for row in sorted(others)[:3])
    truth = bool(rows)
    wrong = next((c for c in bounded if not c.rows & others), bounded[0])
    expected = tuple({frame.view.columns[wrong.column].cell(row) for row in others})
    yield Outcome(
        "bound",
        truth,
        used,
        min(c.fit for c in found),
        cells,
        reason,
        None if truth else (wrong.first, wrong.last),
        () if truth else expected,
        "NUM",
    )


def ranks(frame: Frame, found: Sequence[Condition]) -> Iterator[Outcome]:
    """As in "A finished third", "A is in the top 5"."""
    columns = [column for column in frame.view.columns if column.ranking]
    columns.sort(key=lambda column: -frame.context(column))
    cues = [cue for cue in frame.cues if cue.kind == "rank" and cue.sense in _PLACED]
    for cue in cues if len(cues) == 1 else ():
        first, last = frame.token_range(cue.start, cue.end)
        if first == last or not columns:
            continue
        column = columns[0]
        named = [c for c in found if not c.used & range_set(first, last)]
        values = column.ordered.values
        if not named or not values:
            continue
        number = cue.number or 1
        if cue.sense == "within":
            fits = (
                {row for v, row in values if v <= number}
                if cue.direction >= 0
                else {row for _, row in values[-number:]}
            )
        elif cue.sense == "last":
            fits = {row for v, row in values if v == values[-1][0]}
        else:
            fits = {row for v, row in values if v == number}
        hits = within(named, frozenset(fits))
        who = within(named[:1], frame.rows)
        used = range_set(first, last).union(*(c.used for c in named))
        said = ", ".join(column.cell(row) for row in sorted(who)[:3])
        reason = f"{column.header} of {name_rows(frame, who)}: {said}"
        truth = bool(hits)
        cells = tuple((row, column.index) for row in sorted(who)[:3])
        right = tuple({column.cell(row) for row in who}) if cue.sense == "place" else ()
        yield Outcome(
            "rank",
            truth,
            used,
            min(0.8, *(c.fit for c in named)),
            cells,
            reason,
            None if truth else (first, last),
            () if truth else right,
            "CMP",
        )
