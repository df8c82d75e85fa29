"""What rose and what fell: between two periods, from one to the next, or all along."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tablemend.claims.cues import Cue
from tablemend.verifier.lexicon import terms
from tablemend.verifier.logic.amounts import digits, holds, preposition, ratio_hedge
from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.index import ColumnIndex, View
from tablemend.verifier.logic.measures import moment
from tablemend.verifier.logic.mentions import ColumnMention, StatedNumber
from tablemend.verifier.logic.outcome import Outcome
from tablemend.verifier.logic.row_filter import RowFilter, range_set, within
from tablemend.verifier.logic.unread import all_rows
from tablemend.verifier.logic.vocabulary import opposite

_STEADY = frozenset(
    "each every steadily consistently continuously continually monotonically constantly "
    "always".split()
)
_PERIODS = frozenset(
    "year years quarter quarters month months week weeks day days season seasons times".split()
)
_BELOW = (("below",), ("under",), ("above",), ("short",))  # "fell below 10" is a bound
_RATIOS = {"multiply": 2.0, "divide": 0.5}
_EXACT = 0.1  # "doubled" is seldom meant to the last digit
_ALMOST = 0.2  # "nearly doubled"
_STABLE = 0.02
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Change:
    """A measure between two rows that follow one another in time.

    Attributes:
        column: the measure.
        path: the rows, from the earlier to the later one.
        values: its values there.
        used: the tokens that say so.
        fit: how surely it is meant.
    """

    column: ColumnIndex
    path: tuple[int, ...]
    values: tuple[float, ...]
    used: frozenset[int]
    fit: float


def changes(frame: Frame, found: Sequence[RowFilter]) -> Iterator[Outcome]:
    """Every reading of every word of change."""
    times = timeline(frame.view)
    if times is None or any(cue.sense == "streak" for cue in frame.cues):
        return  # "in three consecutive quarters": in which?
    if any(stated.first < 2 and _counts_rows(frame, stated) for stated in frame.amounts):
        return  # "Two quarters had negative growth": which?
    if any(frame.words[stated.last : stated.last + 1] == ("of",) for stated in frame.amounts):
        return  # "grew in three of the four quarters"
    if "except" in frame.words or "excluding" in frame.words:
        return  # "in every quarter except one"
    for cue in frame.cues:
        if cue.kind != "change" or cue.sense not in ("rise", "fall", "stable", *_RATIOS):
            continue
        first, last = frame.token_range(cue.start, cue.end)
        if first == last or frame.words[last : last + 1] in _BELOW:
            continue
        for heading in _measures(frame, first):
            if heading.first < last and first < heading.last:
                continue  # the column is called "Growth"
            column = frame.view.columns[heading.column]
            change = _change(frame, found, times, column, heading, (first, last))
            if change is not None:
                yield _verify(frame, cue, (first, last), change, found)


def _counts_rows(frame: Frame, stated: StatedNumber) -> bool:
    """Whether an amount counts periods or rows: "two quarters", "3 regions"; no change is such."""
    word = "".join(frame.words[stated.last : stated.last + 1])
    key = frame.view.columns[frame.view.key].terms
    return word in _PERIODS or (word.endswith("s") and any(term in key for term in terms(word)))


def timeline(view: View) -> tuple[int, dict[int, float]] | None:
    """The column that places the rows in time, and the place of each; ``None`` without one."""
    for column in view.columns:
        of = {row: place for row in view.rows if (place := moment(column.cell(row))) is not None}
        if len(of) >= 2 and 10 * len(of) >= 9 * len(column.filled):
            return column.index, of
    return None


def _measures(frame: Frame, first: int) -> list[ColumnMention]:
    """The columns that can have changed: named before the word of change, else behind it."""
    named = [
        heading
        for heading in frame.headings
        if frame.view.columns[heading.column].measured
        and not frame.view.columns[heading.column].temporal
        and heading.share >= 0.5
    ]
    named.sort(key=lambda h: first - h.last if h.last <= first else 100 + h.first)
    return named[:1]


def _change(
    frame: Frame,
    found: Sequence[RowFilter],
    times: tuple[int, dict[int, float]],
    column: ColumnIndex,
    heading: ColumnMention,
    words: tuple[int, int],
) -> Change | None:
    index, places = times
    periods = [c for c in found if c.column == index and not c.used & range_set(*words)]
    others = [
        c for c in found if c.column not in (index, column.index) and not c.used & range_set(*words)
    ]
    rows = sorted(
        (row for row in within(others, frame.rows) if row in places and row in column.ordered.of),
        key=lambda row: places[row],
    )
    if len({places[row] for row in rows}) < len(rows) or len(rows) < 2:
        return None
    used = range_set(*words) | range_set(heading.first, heading.last)
    used = used.union(*(c.used for c in [*periods, *others]))
    fit = min([0.6 + 0.4 * heading.share, *(c.fit for c in others)])
    named: list[int] = []
    for condition in periods:
        for group in condition.members or (condition.rows,):
            here = [row for row in rows if row in group]
            named += [here[0], here[-1]] if here else []
    if len(set(named)) == 1:
        place = rows.index(named[0])
        if "between" in frame.words:
            return None  # the other period was not understood
        if frame.words[max(0, periods[0].first - 1)] in ("from", "since"):
            path = rows[place:]
        elif place:
            path = rows[place - 1 : place + 1]
        else:
            return None
        fit -= 0.1
    elif named:
        low, high = sorted({rows.index(row) for row in named})[0], max(map(rows.index, named))
        path = rows[low : high + 1]
    else:
        path, fit = rows, fit - 0.2
    if len(path) < 2:
        return None
    values = tuple(column.ordered.of[row] for row in path)
    return Change(column, tuple(path), values, used, fit)


def _verify(
    frame: Frame, cue: Cue, words: tuple[int, int], change: Change, found: Sequence[RowFilter]
) -> Outcome:
    column, values = change.column, change.values
    first, last = values[0], values[-1]
    used = change.used
    direction = (
        -cue.direction if column.ranking and cue.sense in ("rise", "fall") else cue.direction
    )
    steps = list(pairwise(values))
    if steady := _steady(frame):
        used |= steady
    else:
        steps = [(first, last)]
    if cue.sense == "stable":
        truth = all(abs(b - a) <= _STABLE * max(abs(a), abs(b)) for a, b in steps)
    else:
        truth = all((b - a) * direction > 0 for a, b in steps)
    if truth and cue.sense in _RATIOS and first:
        ratio = _RATIOS[cue.sense] if cue.number in (None, 2) else float(cue.number or 2)
        if cue.sense == "divide" and ratio > 1:
            ratio = 1 / ratio
        hedge, hedged = ratio_hedge(frame, words[0])
        used |= hedged
        beyond = (last / first / ratio - 1) * direction
        truth = _is_ratio(beyond, hedge)
    name = column.header
    where = [frame.view.cell(row, frame.view.key) for row in (change.path[0], change.path[-1])]
    reason = f"{name}: {digits(first)} ({where[0]}), {digits(last)} ({where[1]})"
    cells: tuple[tuple[int, int], ...] = (
        (change.path[0], column.index),
        (change.path[-1], column.index),
    )
    if steady and len(change.path) <= _SHOWN:
        reason = f"{name}: {', '.join(map(digits, values))} ({where[0]} to {where[1]})"
        cells = tuple((row, column.index) for row in change.path)
    if not truth:
        broken = next((i for i, (a, b) in enumerate(steps) if (b - a) * direction <= 0), None)
        if steady and broken is not None and cue.sense != "stable":  # the step that breaks the rule
            reason, cells = _step(frame, change, broken)
        turned = "" if steady else opposite(frame.text(*words))
        return Outcome(
            "change",
            False,
            used | _amount_tokens(frame, used),
            change.fit,
            cells,
            reason,
            words,
            (turned,) if turned else (),
            "CMP",
        )
    for stated in frame.amounts:
        tokens = range_set(stated.first, stated.last)
        if tokens & used or stated.amount.role != "value" or _counts_rows(frame, stated):
            continue
        used |= tokens
        right = _right(frame, stated, first, last, column)
        if right:
            return Outcome(
                "change",
                False,
                used,
                change.fit,
                cells,
                reason,
                (stated.first, stated.last),
                (right,),
                "NUM",
            )
    return Outcome("change", True, used, change.fit, cells, reason)


def _is_ratio(beyond: float, hedge: str) -> bool:
    """Whether a change reaches a ratio: by how much it goes beyond, as a share of it."""
    if hedge == "over":
        return beyond > 0
    if hedge == "under":
        return -_ALMOST <= beyond < 0
    return abs(beyond) <= _EXACT if hedge != "at least" else beyond >= -1e-9


def _step(frame: Frame, change: Change, place: int) -> tuple[str, tuple[tuple[int, int], ...]]:
    """One step of a change, as a reason and as cells."""
    rows, (before, after) = change.path[place : place + 2], change.values[place : place + 2]
    one, other = (frame.view.cell(row, frame.view.key) for row in rows)
    went = "rose" if after > before else "fell" if after < before else "did not change"
    reason = (
        f"{change.column.header}: {went} from {digits(before)} ({one}) to {digits(after)} ({other})"
    )
    return reason, tuple((row, change.column.index) for row in rows)


def _steady(frame: Frame) -> frozenset[int]:
    """The tokens that say that every step counts: "each year", "quarter after quarter"."""
    words = frame.words
    found = {place for place, word in enumerate(words) if word in _STEADY}
    for place in range(1, len(words) - 1):
        if words[place] in ("after", "by", "on") and words[place - 1] == words[place + 1]:
            found |= {place - 1, place, place + 1}
    for cue in frame.cues:
        if (whole := all_rows(frame, cue)) is not None:  # "in all four quarters"
            found |= range_set(*whole)
    return frozenset(found)


def _amount_tokens(frame: Frame, used: frozenset[int]) -> frozenset[int]:
    """The amounts that stand with a change whose direction is wrong already."""
    spans = (range_set(stated.first, stated.last) for stated in frame.amounts)
    return frozenset[int]().union(*(span for span in spans if not span & used))


def _right(
    frame: Frame, stated: StatedNumber, first: float, last: float, column: ColumnIndex
) -> str:
    """What an amount of a change has to be; empty where it is right."""
    scale = float(stated.amount.number.unit.scale)
    if scale != 1 or (column.scale != 1 and column.scaled_by(stated.value)):
        first, last = first * column.scale, last * column.scale
    percent = stated.amount.number.percent
    if percent and not column.percent and max(abs(first), abs(last)) <= 1:
        first, last = 100 * first, 100 * last  # fractions
    gap = abs(last - first)
    word = preposition(frame, stated)
    points = "point" in frame.text(stated.first, stated.last)
    share = 100 * gap / abs(first) if first else None
    hedge = "" if stated.amount.hedge == "at most" else None  # "went up to 5"
    if word == "from":
        return "" if holds(first, stated) else digits(first)
    if word in ("to", "reaching", "at") or hedge is not None:
        near = any(holds(value, stated, hedge) for value in (first, last))
        return "" if near else digits(last)
    near = share is not None and percent and not points and _near(share, stated)
    if near or any(holds(value, stated) for value in (gap, first, last)):
        return ""
    if percent and not points and not column.percent and share is not None:
        return f"{digits(round(share, 1))}%"
    return digits(gap)


def _near(share: float, stated: StatedNumber) -> bool:
    """Whether a growth is what is stated, within half a percentage point."""
    return abs(share - stated.value) <= 0.5 or holds(share, stated)
