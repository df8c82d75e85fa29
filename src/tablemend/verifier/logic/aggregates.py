"""Sums, averages, medians and ranges over the rows that a statement selects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean, median

from tablemend.verifier.logic.amounts import digits, fits, spelled
from tablemend.verifier.logic.changes import timeline
from tablemend.verifier.logic.counts import size_of
from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.index import ColumnIndex
from tablemend.verifier.logic.mentions import ColumnMention, StatedNumber
from tablemend.verifier.logic.naming import number_of
from tablemend.verifier.logic.outcome import Outcome
from tablemend.verifier.logic.row_filter import RowFilter, range_set, within
from tablemend.verifier.logic.unread import all_rows

_SUMMED = frozenset("together added adds summed".split())
_COMPUTED: dict[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "mean": fmean,
    "median": median,
}


def aggregates(frame: Frame, found: Sequence[RowFilter]) -> Iterator[Outcome]:
    """Every reading of a total, an average, a median or a range."""
    cues = [
        (cue.sense, *frame.token_range(cue.start, cue.end))
        for cue in frame.cues
        if cue.kind == "aggregate" and all_rows(frame, cue) is None
    ]
    if not cues:
        cues = [("sum", i, i + 1) for i, word in enumerate(frame.words) if word in _SUMMED]
    if frame.view.turned and timeline(frame.view) is None:
        return  # different metrics of one thing are no series
    for sense, first, last in cues:
        if first == last or any(
            h.first < last and first < h.last and h.last - h.first > 1 for h in frame.headings
        ):
            continue  # of the column's own name: "3-dart average"
        for heading in _measured(frame, first, last):
            column = frame.view.columns[heading.column]
            if heading.first <= first < heading.last and heading.share == 1:
                continue  # the column "Total" itself
            if sense == "range":
                yield from _range(frame, found, (first, last), heading)
                continue
            numbers = [s for s in frame.amounts if s.amount.role == "value" and column.adds_up]
            members = [s for s in numbers if size_of(frame, s)]
            free = [s for s in numbers if s not in members and _can_be(frame, s, column)]
            free.sort(key=lambda s: min(abs(s.first - heading.last), abs(heading.first - s.last)))
            for stated in free[:1]:
                kept = [
                    c
                    for c in found
                    if not any(
                        range_set(c.first, c.last) & range_set(s.first, s.last) for s in numbers
                    )
                    and c.column != column.index
                ]
                rows = within(kept, frame.rows)
                values = [column.ordered.of[row] for row in rows if row in column.ordered.of]
                if len(values) < 2:
                    continue
                value = _COMPUTED[sense](values)
                outcome = _verify(
                    frame, sense, (first, last), heading, stated, kept, value, sorted(rows)
                )
                over = [s for s in members if s.value == len(values)]
                used = outcome.used.union(*(range_set(s.first, s.last) for s in over))
                used |= frozenset(i for i, word in enumerate(frame.words) if word == "all")
                yield replace(outcome, used=used)


def _can_be(frame: Frame, stated: StatedNumber, column: ColumnIndex) -> bool:
    """Whether a number can be a sum or an average of a column: no share, no count of rows."""
    if stated.amount.number.percent and not column.percent:
        return False
    return frame.words[stated.last : stated.last + 1] != ("of",)


def _measured(frame: Frame, first: int, last: int) -> list[ColumnMention]:
    """Columns that the aggregate can be of: named behind it, else before it."""

    def near(heading: ColumnMention) -> int:
        return heading.first - last if heading.first >= last else first - heading.last + 2

    named = [h for h in frame.headings if frame.view.columns[h.column].measured]
    return sorted(named, key=near)[:2]


def _verify(
    frame: Frame,
    sense: str,
    words: tuple[int, int],
    heading: ColumnMention,
    stated: StatedNumber,
    kept: Sequence[RowFilter],
    value: float,
    rows: Sequence[int],
) -> Outcome:
    column = frame.view.columns[heading.column]
    exact = stated.amount.number.decimals or value != int(value)
    truth = fits(column, value, stated) or (bool(exact) and _rounded(value, stated))
    used = range_set(*words) | range_set(heading.first, heading.last)
    used = used | range_set(stated.first, stated.last)
    used = used.union(*(condition.used for condition in kept))
    reason = f"{sense} of {column.header} over {number_of(len(rows))}: {digits(value)}"
    cells = tuple((row, column.index) for row in rows[:8])
    fit = min([0.6 + 0.4 * heading.share, *(condition.fit for condition in kept)])
    return Outcome(
        "aggregate",
        truth,
        used,
        fit,
        cells,
        reason,
        None if truth else (stated.first, stated.last),
        () if truth else (spelled(column, value, stated),),
        "NUM",
    )


def _rounded(value: float, stated: StatedNumber) -> bool:
    """Whether an average is what is stated, rounded as it is stated."""
    slack = 0.5 * 10.0**-stated.amount.number.decimals + 1e-9
    return not stated.amount.hedge and abs(value - stated.value) <= slack


def _range(
    frame: Frame, found: Sequence[RowFilter], words: tuple[int, int], heading: ColumnMention
) -> Iterator[Outcome]:
    """As in "ranged from 3 to 9": the least and the most."""
    ends = [s for s in frame.amounts if s.first >= words[1]][:2]
    if len(ends) < 2:
        return
    column = frame.view.columns[heading.column]
    taken = range_set(ends[0].first, ends[1].last)
    kept = [c for c in found if not range_set(c.first, c.last) & taken]
    rows = within(kept, frame.rows)
    values = sorted(column.ordered.of[row] for row in rows if row in column.ordered.of)
    if len(values) < 2:
        return
    low, high = sorted(ends, key=lambda stated: stated.value)
    truth = fits(column, values[0], low) and fits(column, values[-1], high)
    used = range_set(*words) | taken | range_set(heading.first, heading.last)
    used = used.union(*(condition.used for condition in kept))
    wrong = low if not fits(column, values[0], low) else high
    right = values[0] if wrong is low else values[-1]
    reason = f"{column.header}: from {digits(values[0])} to {digits(values[-1])}"
    yield Outcome(
        "aggregate",
        truth,
        used,
        0.6 + 0.4 * heading.share,
        tuple((row, column.index) for row in sorted(rows)[:4]),
        reason,
        None if truth else (wrong.first, wrong.last),
        () if truth else (spelled(column, right, wrong),),
        "NUM",
    )
