"""One row that has all that a clause names: "A of B scored 5 on Monday"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tablemend.values.blanks import is_blank
from tablemend.values.text import fold
from tablemend.verifier.amounts import fits
from tablemend.verifier.mentions import StatedNumber
from tablemend.verifier.operators.slots import Computed, Slots, name_rows
from tablemend.verifier.row_filter import RowFilter, within
from tablemend.verifier.subjects import own_clauses
from tablemend.verifier.views import ColumnIndex
from tablemend.verifier.vocabulary import (
    RESULTS,
)

_WHOLE = frozenset({"quantifier", "superlative", "comparative"})
_LOCAL = frozenset("equal different beat several some any one_of compare lead record".split())
_MOST = 8
"""Names of a clause; of one with more no single row is meant."""


def _is_sum(column: ColumnIndex, rows: frozenset[int], amounts: Sequence[StatedNumber]) -> bool:
    total = sum(column.ordered.of.get(row, 0.0) for row in rows)
    return any(not s.amount.hedge and fits(column, total, s) for s in amounts)


def _of_all(
    slots: Slots,
    named: Sequence[RowFilter],
    listed: RowFilter,
    used: frozenset[int],
    features: Sequence[str],
) -> Iterator[Computed]:
    """As in "A, B and C have D": each of them, where the names are names of rows."""
    rest = [f for f in named if f is not listed]
    if len(rest) != 1 or listed.column != slots.view.key or rest[0].members:
        return
    column = slots.view.columns[rest[0].column]
    missing = frozenset[int]().union(*(m for m in listed.members if not m & rest[0].rows))
    told = ", ".join(f"{slots.view.cell(r, slots.view.key)} {column.cell(r)}" for r in missing)
    yield Computed(
        "together",
        False,
        used,
        (*features, "not of each"),
        slots.cells(missing, column.index),
        f"{column.header}: {told}",
        rest[0].span,
        (),
        "REL",
    )


def together(slots: Slots) -> Iterator[Computed]:
    """As in "A of B scored 5 on Monday", "A has more than 5 points": one row has all of it."""
    frame = slots.frame
    if "respectively" in frame.words:
        return
    for first, last in own_clauses(frame) or {(0, len(frame.words)), *frame.clauses}:
        named = [f for f in slots.filters if first <= f.first and f.last <= last]
        named = [f for f in named if "than" not in frame.words[named[0].last : f.first]]
        if len({f.column for f in named}) < 2 or len(named) > _MOST:
            continue
        rows = within(named, frame.rows)
        used = frozenset[int]().union(*(f.used for f in named))
        cues = {c.kind for c in frame.cues if c.kind in _WHOLE and c.sense not in _LOCAL}
        cues |= {
            c.kind for c in frame.cues if c.kind in ("count", "aggregate", "negation", "change")
        }
        columns = [f.column for f in named]
        features = [
            "whole sentence" if (first, last) == (0, len(frame.words)) else "a clause",
            f"names {min(len(named), 4)}",
            *(f"beside {kind}" for kind in sorted(cues)),
            *(["two of a column"] if len(set(columns)) < len(columns) else []),
            *(["bounded"] if any(f.bound for f in named) else []),
            *(["listed"] if any(f.members for f in named) else []),
            *(["several rows"] if len(rows) > 1 else []),
            *(["result"] if any(frame.words[f.first] in RESULTS for f in named) else []),
            *(["surely"] if min(f.fit for f in named) > 0.95 else []),
            *(["key named"] if slots.view.key in columns else []),
        ]
        listed = next((f for f in named if any(not m & rows for m in f.members)), None)
        if rows and listed:  # "A and B are of C", and only A is
            yield from _of_all(slots, named, listed, used, features)
            continue
        if rows:
            row = min(rows)
            told = {slots.view.columns[c].header: slots.view.cell(row, c) for c in columns}
            reason = "one row has " + ", ".join(f"{name}: {cell}" for name, cell in told.items())
            cells = tuple((row, column) for column in columns)
            yield Computed("together", True, used, tuple(features), cells, reason)
            continue
        for wrong in named:
            rest = [f for f in named if f is not wrong and f.rows]
            others = within(rest, frame.rows)
            if not rest or not 0 < len(others) <= 3 or wrong.rows == others:
                continue
            row = min(others)
            column = slots.view.columns[wrong.column]
            said, right = frame.text(wrong.first, wrong.last), column.cell(row)
            sums = [s for s in frame.amounts if wrong.first <= s.first < wrong.last]
            if column.adds_up and len(others) > 1 and _is_sum(column, others, sums):
                continue  # "the two with 4,090 units"
            denied = min(wrong.used) < wrong.first
            same = fold(right) == fold(said)
            rather = "" if same else f", not {said}"
            if is_blank(right) or (same and not denied):
                continue
            sort = "time" if column.temporal else "amount" if column.adds_up else "name"
            yield Computed(
                "together",
                False,
                used,
                (*features, f"wrong {sort}", f"{len(others)} left"),
                tuple((row, c) for c in columns),
                f"{column.header} of {name_rows(frame, others)}: {right}{rather}",
                (wrong.first, wrong.last),
                () if same or len(others) > 1 or column.flags else (right,),
                "TMP" if column.temporal else "NUM" if column.adds_up else "REL",
            )
