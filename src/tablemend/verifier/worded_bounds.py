"""Bounds said in words: "between 10 and 20 points", "a positive margin", "abnormal"."""

from __future__ import annotations

from collections.abc import Iterator

from tablemend.verifier.amounts import fits, heading_beside, preposition
from tablemend.verifier.frame import Frame
from tablemend.verifier.row_filter import RowFilter, range_set
from tablemend.verifier.views import ColumnIndex

_SIGNED = {"negative": (float("-inf"), -1e-9), "positive": (1e-9, float("inf"))}
_BEING = frozenset("be is are was were been has have had remained stayed turned".split())
_NORMS = frozenset("range ranges limit limits values interval".split())
_UNFLAGGED = frozenset({"normal", "n", "ok", "within range", "in range"})


def worded_bounds(frame: Frame) -> Iterator[RowFilter]:
    """The conditions of a statement that bound an amount without stating it as one."""
    yield from _ranges(frame)
    yield from _signed(frame)
    yield from _flagged(frame)


def _between(
    frame: Frame,
    column: ColumnIndex,
    low: float,
    high: float,
    used: frozenset[int],
    first: int,
    last: int,
) -> RowFilter:
    of = column.ordered.of
    rows = frozenset(row for row in frame.rows if row in of and low <= of[row] <= high)
    return RowFilter(first, last, rows, used, 0.9, column.index, True)


def _ranges(frame: Frame) -> Iterator[RowFilter]:
    """As in "between 10 and 20 points"; both ends count."""
    for one, other in zip(frame.amounts, frame.amounts[1:], strict=False):
        joined = frame.words[one.last : other.first] == ("and",)
        if not joined or preposition(frame, one) != "between":
            continue
        heading = heading_beside(frame, other) or heading_beside(frame, one)
        if heading is None:
            continue
        column = frame.view.columns[heading.column]
        of = column.ordered.of
        rows = frozenset(
            row
            for row, value in of.items()
            if row in frame.rows
            and fits(column, value, one, "at least")
            and fits(column, value, other, "at most")
        )
        used = range_set(one.first - 1, other.last) | range_set(heading.first, heading.last)
        yield RowFilter(one.first, other.last, rows, used, 0.9, column.index, True)


def _signed(frame: Frame) -> Iterator[RowFilter]:
    """As in "negative growth", "a positive margin"."""
    for heading in frame.headings:
        column = frame.view.columns[heading.column]
        sign = frame.words[heading.first - 1] if heading.first else ""
        if sign in _SIGNED and column.adds_up and heading.share > 0.5:
            used = range_set(heading.first - 1, heading.last)
            yield _between(frame, column, *_SIGNED[sign], used, heading.first - 1, heading.last)
        place = heading.last  # "the margin was positive"
        while frame.words[place : place + 1] and frame.words[place] in _BEING:
            place += 1
        sign = frame.words[place] if heading.last < place < len(frame.words) else ""
        if sign in _SIGNED and column.adds_up and heading.share > 0.5:
            used = range_set(heading.first, place + 1)
            yield _between(frame, column, *_SIGNED[sign], used, place, place + 1)


def _flagged(frame: Frame) -> Iterator[RowFilter]:
    """As in "all results were abnormal": by the column of flags, where a normal one is blank."""
    columns = [c for c in frame.view.columns if c.terms[:1] == ("flag",)]
    for place, word in enumerate(frame.words if len(columns) == 1 else ()):
        behind = frame.words[place + 1 : place + 2]
        if word not in ("normal", "abnormal") or (behind and behind[0] in _NORMS):
            continue
        (column,) = columns
        flagged = {row for row in column.filled if column.cell(row).casefold() not in _UNFLAGGED}
        rows = frozenset(row for row in frame.rows if (row in flagged) == (word == "abnormal"))
        yield RowFilter(place, place + 1, rows, frozenset({place}), 0.9, column.index)
