"""Rows and conditions in words, for the reason of a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.row_filter import RowFilter

_SHOWN = 3
_DENIALS = frozenset("not n't never without except excluding outside".split())


def name_rows(frame: Frame, rows: Iterable[int]) -> str:
    """The names of some rows."""
    ordered = sorted(rows)
    names = ", ".join(frame.view.cell(row, frame.view.key) for row in ordered[:_SHOWN])
    return names if len(ordered) <= _SHOWN else f"{names} and {len(ordered) - _SHOWN} more"


def number_of(number: int, what: str = "row") -> str:
    """A number with its noun: "1 row", "3 rows"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def where(frame: Frame, conditions: Sequence[RowFilter]) -> str:
    """What narrows rows down: " where Won: more than ten"; " in the table" without conditions."""
    said = ", ".join(
        f"{frame.view.columns[c.column].header}: {_words(frame, c)}" for c in conditions
    )
    return f" where {said}" if said else " in the table"


def _words(frame: Frame, condition: RowFilter) -> str:
    """The words of a condition, with the "more than" before it and the "or more" behind it."""
    headed = {
        place
        for heading in frame.headings
        if heading.column == condition.column
        for place in range(heading.first, heading.last)
    }
    own = condition.used - headed
    first, last = condition.first, condition.last
    while first - 1 in own:
        first -= 1
    while last in own:
        last += 1
    denied = any(frame.words[place] in _DENIALS for place in own if place < first)
    return f"not {frame.text(first, last)}" if denied else frame.text(first, last)
