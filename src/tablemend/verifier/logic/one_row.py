"""Statements of one row with a bound, a rank or a place: "A scored more than 5", "B came third"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tablemend.values.text import fold
from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.mentions import ColumnMention
from tablemend.verifier.logic.naming import name_rows
from tablemend.verifier.logic.outcome import Outcome
from tablemend.verifier.logic.row_filter import RowFilter, range_set, within
from tablemend.verifier.logic.superlatives import nth_rows
from tablemend.verifier.logic.vocabulary import THINGS

_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_WHOLE_TABLE = frozenset({"quantifier", "superlative", "comparative"})
_EXTREMES = frozenset("high low maximum minimum peak trough".split())
_LOCAL = frozenset(
    {"equal", "different", "beat", "several", "some", "any", "one_of", "compare", "lead", "record"}
)
_SEVERAL = {(word,) for word in THINGS if word.endswith("s")}
_PLACED = frozenset({"place", "within", "last"})


def together(frame: Frame, found: Sequence[RowFilter]) -> Iterator[Outcome]:
    """As in "A of B scored 5 on Monday": one row has all that is said."""
    later = any(c.kind == "temporal" and c.sense in ("early", "late") for c in frame.cues)
    if (later and "than" in frame.words) or _is_extreme(frame):
        return
    if any(stated.amount.pair == "range" for stated in frame.amounts):
        return  # "between 10 and 14 goals" states neither
    if any(cue.kind in _WHOLE_TABLE for cue in frame.cues if cue.sense not in _LOCAL):
        return
    named = [c for c in found if (not c.bound or c.first) and not frame.is_aside(c.first)]
    if len(named) < 2 or len({c.column for c in named}) < 2:
        return
    times = [c for c in found if frame.view.columns[c.column].temporal]
    several_times = sum(max(1, len(c.members)) for c in times) > 1
    for first, last in frame.clauses:
        inside = [c for c in named if first <= c.first and c.last <= last]
        if any(_counts_other(frame, found, c) for c in inside) or _of_several(frame, inside):
            continue
        if len(inside) < 2 or len({c.column for c in inside}) < 2:
            continue
        rows = within(inside, frame.rows)
        used = frozenset[int]().union(*(c.used for c in inside))
        fit = min(c.fit for c in inside)
        if rows:
            if _disagree(frame, inside):
                continue
            cells = tuple((row, c.column) for row in sorted(rows)[:1] for c in inside)
            (row, *_) = sorted(rows)
            told = {
                frame.view.columns[c.column].header: frame.view.cell(row, c.column) for c in inside
            }
            reason = "one row has " + ", ".join(f"{name}: {cell}" for name, cell in told.items())
            yield Outcome("together", True, used, fit, cells, reason)
            continue
        if len({c.column for c in inside}) < len(inside):
            continue  # two names of one column: two rows are spoken of
        close = [(c, within((d for d in inside if d is not c), frame.rows)) for c in inside]
        close = [(c, others) for c, others in close if len(others) == 1 and c.rows != others]
        if several_times:  # of "nine in 2016 and six in 2020" the numbers are wrong
            close = [(c, o) for c, o in close if not frame.view.columns[c.column].temporal]
        if not close:
            continue
        for wrong, others in reversed(close):
            (row,) = others
            column = frame.view.columns[wrong.column]
            if not column.header and len(close) > 1:
                continue  # the period that heads a column, where the cell under it is wrong
            said = frame.text(wrong.first, wrong.last)
            of_what = f"{column.header} of {name_rows(frame, others)}: " if column.header else ""
            reason = f"{of_what}{column.cell(row)}, not {said}"
            yield Outcome(
                "together",
                False,
                used,
                fit,
                tuple((row, c.column) for c in inside),
                reason,
                (wrong.first, wrong.last),
                () if fold(column.cell(row)) == fold(said) else (column.cell(row),),  # "not 15"
                "TMP" if column.temporal else "NUM" if column.adds_up else "REL",
            )


def _counts_other(frame: Frame, found: Sequence[RowFilter], number: RowFilter) -> bool:
    """Whether a noun that names no column follows a number: "12 assists" in a table of goals."""
    place = number.last
    if not frame.view.columns[number.column].adds_up or place >= len(frame.words):
        return False
    word = frame.words[place]
    if not frame.words[number.last - 1].isalnum() or frame.between(place - 1, place).strip():
        return False
    named = any(h.first <= place < h.last for h in frame.headings)
    named = named or any(place in condition.used for condition in found)
    return not named and len(word) > 3 and word.endswith("s") and not word.endswith("ss")


def _of_several(frame: Frame, named: Sequence[RowFilter]) -> bool:
    """Whether rows are counted: of "two hospitals in Oslo" nothing is said by one row."""
    used = frozenset[int]().union(*(condition.used for condition in named))
    keyed = {h.first for h in frame.headings if h.column == frame.view.key and h.share > 0.99}
    return any(
        stated.value >= 2
        and (stated.last in keyed or frame.words[stated.last : stated.last + 1] in _SEVERAL)
        and stated.first not in used
        and stated.amount.role == "value"
        for stated in frame.amounts
    )


def _disagree(frame: Frame, named: Sequence[RowFilter]) -> bool:
    """Whether rows of one name say different things and nothing tells them apart."""
    columns = frame.view.columns
    who = next((c for c in named if c.column == frame.view.key and not c.members), None)
    if who is None or len(who.rows) < 2:
        return False
    apart = [c for c in columns if not c.adds_up]
    kinds = {tuple(c.cell(row).casefold() for c in apart) for row in who.rows}
    said = [c for c in named if columns[c.column].adds_up]
    return len(kinds) < len(who.rows) and any(not who.rows <= c.rows for c in said)


def _is_extreme(frame: Frame) -> bool:
    """As in "hit a low", "bottomed out": more than one row is spoken of."""
    after = pairwise(frame.words)
    return "bottomed" in frame.words or any(a == "a" and word in _EXTREMES for a, word in after)


def bounds(frame: Frame, found: Sequence[RowFilter]) -> Iterator[Outcome]:
    """As in "A has more than 5 points", "A won before 2000": some row has all that is said."""
    bounded = [c for c in found if c.bound]
    if not bounded or len(found) < 2 or _of_several(frame, found):
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


def ranks(frame: Frame, found: Sequence[RowFilter]) -> Iterator[Outcome]:
    """As in "A finished third", "A is in the top 5"."""
    columns = [column for column in frame.view.columns if column.ranking]
    columns.sort(key=lambda column: -frame.context(column))
    cues = [cue for cue in frame.cues if cue.kind == "rank" and cue.sense in _PLACED]
    for cue in cues if len(cues) == 1 else ():
        first, last = frame.token_range(cue.start, cue.end)
        if first == last:
            continue
        behind = [h for h in frame.headings_in(last, len(frame.words)) if h.first - last <= 2]
        behind = [h for h in behind if frame.view.columns[h.column].adds_up]
        if behind and cue.sense == "place" and cue.number:
            yield from _by_amount(frame, found, (first, last), behind[0], cue.number)
            continue
        if not columns:
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
        if not who:
            continue  # "the top two were separated by four points"
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


def _by_amount(
    frame: Frame,
    found: Sequence[RowFilter],
    words: tuple[int, int],
    heading: ColumnMention,
    number: int,
) -> Iterator[Outcome]:
    """As in "A ranked second in sales": the second largest."""
    column = frame.view.columns[heading.column]
    taken = range_set(*words) | range_set(heading.first, heading.last)
    named = [c for c in found if not c.used & taken]
    who = within(named, frame.rows)
    rows = frozenset(row for _, row in column.ordered.values)
    fits = nth_rows(column.ordered, rows, 1, number)
    if not named or len(who) != 1 or not fits:
        return
    truth = bool(who & fits)
    used = taken.union(*(c.used for c in named))
    value = column.ordered.of.get(min(who))
    place = 1 + sum(other > (value or 0.0) for other, _ in column.ordered.values)
    reason = f"{column.header}: {name_rows(frame, fits)} is number {number}, not {place}"
    if truth:
        reason = f"{column.header}: {name_rows(frame, who)} is number {number}"
    cells = tuple((row, column.index) for row in sorted(who | fits)[:3])
    yield Outcome(
        "rank",
        truth,
        used,
        min([0.9, *(c.fit for c in named)]),
        cells,
        reason,
        None if truth else words,
        () if truth or not 0 < place <= len(_ORDINALS) else (_ORDINALS[place - 1],),
        "CMP",
    )
