"""Conditions on two columns of a row: "grew from Q1 to Q4", "sold more in Q4 than in Q1".

A row meets one or it does not, so that "all regions", "three regions" and "the only region" can be
said of it as of a name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tablemend.claims.cues import Cue
from tablemend.verifier.amounts import counts_rows
from tablemend.verifier.frame import Frame
from tablemend.verifier.measures import moment
from tablemend.verifier.mentions import ColumnMention
from tablemend.verifier.row_filter import RowFilter, range_set
from tablemend.verifier.table_size import size_of

_WITHIN = frozenset("in during for".split())
_COMPARING = frozenset("high low large small great good bad many few little exceed beat".split())


def column_pairs(frame: Frame) -> Iterator[RowFilter]:
    """The rows whose value in one named column is above, or below, that in another."""
    for cue in frame.cues:
        first, last = frame.token_range(cue.start, cue.end)
        if not cue.direction or first == last:
            continue
        pair = _pair(frame, cue, first, last)
        if pair is None:
            continue
        left, right = pair
        one, other = (frame.view.columns[h.column].ordered.of for h in pair)
        rows = frozenset(
            row
            for row in frame.rows
            if row in one and row in other and (one[row] - other[row]) * cue.direction > 1e-9
        )
        used = range_set(first, last)
        used |= range_set(left.first, left.last) | range_set(right.first, right.last)
        used |= {p for p in range(last, len(frame.words)) if frame.words[p] == "than"}
        start, end = min(used), max(used) + 1
        yield RowFilter(start, end, rows, used, 1.0, right.column, True)


def _pair(
    frame: Frame, cue: Cue, first: int, last: int
) -> tuple[ColumnMention, ColumnMention] | None:
    """The column that is more, or less, and the one that it is compared with."""
    columns = frame.view.columns
    named = [h for h in frame.headings if columns[h.column].measured and h.share > 0.5]
    if cue.kind == "change" and cue.sense in ("rise", "fall"):
        times = {h: at for h in named if (at := moment(columns[h.column].header)) is not None}
        periods = sorted(times, key=times.__getitem__)
        stated = [s for s in frame.amounts if s.amount.role != "year"]
        if any(not counts_rows(frame, s) and not size_of(frame, s) for s in stated):
            return None  # "rose from 5 to 7"
        if len({h.column for h in periods}) == 1:
            periods = [*_before(frame, periods[0]), *periods]  # "rose in Q2"
        if len({h.column for h in periods}) != 2:
            return None
        pair = periods[-1], periods[0]  # filings have the later period first
    elif cue.kind == "comparative" and cue.sense in _COMPARING:
        than = next((p for p in range(first, len(frame.words)) if frame.words[p] == "than"), last)
        right = [h for h in named if 0 <= h.first - than <= 3]
        left = [h for h in named if h.last <= than and h not in right]
        if not right or not left:
            return None
        pair = left[-1], right[0]
    else:
        return None
    one, other = (columns[h.column] for h in pair)
    return pair if one.kind == other.kind and one.index != other.index else None


def _before(frame: Frame, named: ColumnMention) -> list[ColumnMention]:
    """The period before a named one, where the table has the periods side by side."""
    if frame.words[max(0, named.first - 1)] not in _WITHIN:
        return []
    periods = [(at, c.index) for c in frame.view.columns if (at := moment(c.header)) is not None]
    periods.sort()
    place = [column for _, column in periods].index(named.column)
    return [replace(named, column=periods[place - 1][1])] if place else []
