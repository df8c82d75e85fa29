"""Whether things share a value: the same, tied, different."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tablemend.claims.cues import Cue
from tablemend.verifier.logic.amounts import digits, fits, hedge_of, spelled
from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.index import ColumnIndex
from tablemend.verifier.logic.naming import name_rows
from tablemend.verifier.logic.outcome import Outcome
from tablemend.verifier.logic.row_filter import RowFilter, range_set


def equalities(frame: Frame, found: Sequence[RowFilter]) -> Iterator[Outcome]:
    """As in "A and B have the same points", "A and B were drafted in different rounds"."""
    for cue in frame.cues:
        if cue.kind != "comparative" or cue.sense not in ("equal", "different"):
            continue
        first, last = frame.token_range(cue.start, cue.end)
        if first == last or any(h.first < last and first < h.last for h in frame.headings):
            continue
        if frame.words[last : last + 1] in (("more",), ("less",), ("fewer",), ("entry",), ("row",)):
            continue
        named = [condition for condition in found if not condition.used & range_set(first, last)]
        groups = next((c.members for c in named if len(c.members) > 1), ())
        pair = [c for c in named if c.members] or named
        if not groups and len(named) >= 2 and named[0].column == named[1].column:
            groups, pair = (named[0].rows, named[1].rows), named[:2]
        if len(groups) < 2:
            continue
        for heading in frame.headings_in(first, len(frame.words)) or frame.headings:
            column = frame.view.columns[heading.column]
            if any(column.index == condition.column for condition in pair):
                continue
            yield _equal(frame, cue, (first, last), column, heading.share, groups, pair, heading)
            break


def _equal(
    frame: Frame,
    cue: Cue,
    words: tuple[int, int],
    column: ColumnIndex,
    share: float,
    groups: Sequence[frozenset[int]],
    pair: Sequence[RowFilter],
    heading: object,
) -> Outcome:
    values = [{_standard(column, row) for row in group} for group in groups]
    alike = all(value & values[0] for value in values[1:])
    truth = alike if cue.sense == "equal" else not alike
    used = range_set(*words).union(*(condition.used for condition in pair))
    for named in frame.headings:
        if named.column == column.index:
            used |= range_set(named.first, named.last)
    rows = sorted(frozenset().union(*groups))
    cells = tuple((row, column.index) for row in rows[:6])
    said = ", ".join(column.cell(row) for row in rows[:4])
    reason = f"{column.header}: {said} ({name_rows(frame, rows)})"
    fit = min([0.6 + 0.4 * share, *(condition.fit for condition in pair)])
    return Outcome("equality", truth, used, fit, cells, reason, None if truth else words, (), "CMP")


def _standard(column: ColumnIndex, row: int) -> object:
    measure = column.measures.get(row)
    if measure is not None and measure.kind in ("number", "date", "time", "rank"):
        return measure.value
    return column.cell(row).casefold().strip()


def differences(frame: Frame, found: Sequence[RowFilter]) -> Iterator[Outcome]:
    """As in "the difference between A and B in points was 5", "a gap of 5 between A and B"."""
    for cue in frame.cues:
        if (cue.kind, cue.sense) != ("change", "difference"):
            continue
        first, last = frame.token_range(cue.start, cue.end)
        pair = next((c for c in found if len(c.members) == 2), None)
        if first == last or pair is None or any(len(member) != 1 for member in pair.members):
            continue
        for heading in frame.headings:
            column = frame.view.columns[heading.column]
            of = column.ordered.of
            rows = [min(member) for member in pair.members]
            amounts = [s for s in frame.amounts if s.amount.role == "value"]
            if not column.adds_up or any(row not in of for row in rows) or len(amounts) != 1:
                continue
            gap, stated = abs(of[rows[0]] - of[rows[1]]), amounts[0]
            truth = fits(column, gap, stated, hedge_of(frame, stated))
            used = range_set(first, last) | range_set(heading.first, heading.last) | pair.used
            yield Outcome(
                "difference",
                truth,
                used | range_set(stated.first, stated.last),
                min(pair.fit, 0.6 + 0.4 * heading.share),
                tuple((row, column.index) for row in rows),
                f"{column.header}: {column.cell(rows[0])}, {column.cell(rows[1])}, "
                f"difference {digits(gap)}",
                None if truth else (stated.first, stated.last),
                () if truth else (spelled(column, gap, stated),),
                "NUM",
            )
            break
