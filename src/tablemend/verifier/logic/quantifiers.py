"""All, both, none, most, half, only: how much of a scope has a property."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tablemend.claims.cues import Cue
from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.mentions import StatedNumber
from tablemend.verifier.logic.naming import name_rows, number_of
from tablemend.verifier.logic.outcome import Outcome
from tablemend.verifier.logic.row_filter import RowFilter, range_set, within
from tablemend.verifier.logic.unread import all_rows, is_unread

_AMONG = frozenset("of among across out in".split())
_EVERYWHERE = frozenset("in for across during over throughout at".split())
_STAYING = frozenset("stay stayed stays remain remained keep kept".split())


def quantifiers(frame: Frame, found: Sequence[RowFilter]) -> Iterator[Outcome]:
    """Every reading of all, both, none, neither, most, half and only."""
    for cue in frame.cues:
        if (whole := all_rows(frame, cue)) is not None:
            yield from _at_all_times(frame, found, cue, *whole)
            continue
        never = (cue.kind, cue.sense) == ("negation", "never")
        if cue.kind != "quantifier" and (cue.kind, cue.sense) != ("count", "only") and not never:
            continue
        first, last = frame.token_range(cue.start, cue.end)
        if first == last:
            continue
        if never or frame.words[first] == "always":
            yield from _at_all_times(frame, found, cue, first, last)
            continue
        if cue.sense in ("all", "none", "most", "half"):
            yield from _share(frame, found, cue, first, last)
        elif cue.sense in ("both", "neither"):
            yield from _members(frame, found, cue, first, last)
        elif cue.sense == "only":
            yield from _only(frame, found, first, last)


def _share(
    frame: Frame, found: Sequence[RowFilter], cue: Cue, first: int, last: int
) -> Iterator[Outcome]:
    if frame.words[last : last + 1] == ("other",):
        return  # "no other team had more points than A" compares
    if (
        first
        and frame.words[first - 1] in _EVERYWHERE
        and any(c.bound and c.last < first for c in found)
    ):
        yield from _at_all_times(frame, found, cue, first - 1, last)
        return
    if first and frame.words[first - 1] in _AMONG:
        return  # "of all teams" says among whom
    named = [c for c in found if not c.used & range_set(first, last)]
    nouns = [h for h in frame.headings if h.first == last]
    if any(frame.view.columns[h.column].adds_up for h in nouns):
        return  # "all points", "no goals" speak of one row's number
    used = range_set(first, last).union(*(c.used for c in named))
    if is_unread(frame, used, named, frame.clause(first)):
        return  # "all hospitals in Oslo have a helipad"
    allowed: StatedNumber | None = None
    if cue.sense == "all" and frame.words[last : last + 1] == ("but",):
        allowed = next((s for s in frame.amounts if s.first == last + 1), None)
        used |= range_set(last, allowed.last if allowed else last + 1)
        named = [c for c in named if allowed is None or c.first >= allowed.last]
    verbs = [place for place in frame.verbs if place >= last]
    verbs += [min(c.used) for c in named if c.bound and c.first >= last]  # "exceeded 5"
    if not verbs or not named:
        return
    verb = next((v for v in verbs if any(c.first > v for c in named)), verbs[0])
    scope = [c for c in named if c.last <= verb]
    predicate = [c for c in named if c.first > verb]
    if not predicate:
        scope, predicate = [], scope
    rows = within(scope, frame.rows)
    hits = within(predicate, rows)
    if not rows:
        return
    negated = first > 0 and frame.words[first - 1] in ("not", "n't", "never")
    share = len(hits) / len(rows)
    missed = len(rows) - len(hits)
    truth = {
        "all": missed == (allowed.value if allowed else 0),
        "none": not hits,
        "most": share > 0.5 if cue.direction >= 0 else share < 0.5,
        "half": share == 0.5,
    }[cue.sense]
    truth ^= negated
    fit = min(c.fit for c in named) - 0.2 * (len(rows) < 2)
    exceptions = sorted(rows - hits) if cue.sense == "all" else sorted(hits)
    cells = tuple((row, predicate[0].column) for row in exceptions[:5])
    reason = f"{len(hits)} of {number_of(len(rows))}"
    if exceptions and cue.sense in ("all", "none"):
        reason += f"; {'not' if cue.sense == 'all' else 'but'} {name_rows(frame, exceptions)}"
    fault: tuple[int, int] = (first, last)
    expected: tuple[str, ...] = ()
    if allowed is not None:
        fault, expected = (allowed.first, allowed.last), (str(missed),)
    yield Outcome(
        "quantifier",
        truth,
        used,
        fit,
        cells,
        reason,
        None if truth else fault,
        () if truth else expected,
        "CMP",
    )


def _at_all_times(
    frame: Frame, found: Sequence[RowFilter], cue: Cue, first: int, last: int
) -> Iterator[Outcome]:
    """As in "never exceeded 5", "was always above 5", "exceeded 5 in every quarter"."""
    bounded = [c for c in found if c.bound and not c.used & range_set(first, last)]
    scope = [c for c in found if not c.bound and not c.used & range_set(first, last)]
    listed = [c for c in scope if c.members and frame.exception(c.first) is None]
    if len(bounded) != 1 or listed:
        return
    (bound,) = bounded
    column = frame.view.columns[bound.column]
    rows = within(scope, column.ordered.of) & frame.rows
    used = range_set(first, last).union(*(c.used for c in found))
    if len(rows) < 2 or is_unread(frame, used | _stayed(frame), found, frame.clause(first)):
        return
    hits = rows & bound.rows
    none = cue.sense in ("never", "none")
    exceptions = sorted(hits if none else rows - hits)
    reason = f"{column.header}: {len(hits)} of {number_of(len(rows))}"
    if exceptions:
        reason += f"; {'but' if none else 'not'} {name_rows(frame, exceptions)}"
    shown = exceptions or sorted(rows)
    yield Outcome(
        "quantifier",
        not exceptions,
        used,
        bound.fit,
        tuple((row, column.index) for row in shown[:5]),
        reason,
        (first, last) if exceptions else None,
        (),
        "CMP",
    )


def _stayed(frame: Frame) -> frozenset[int]:
    return frozenset(place for place, word in enumerate(frame.words) if word in _STAYING)


def _members(
    frame: Frame, found: Sequence[RowFilter], cue: Cue, first: int, last: int
) -> Iterator[Outcome]:
    """As in "both A and B won": each has it; "neither A nor B": none has."""
    pairs = [c for c in found if len(c.members) == 2]
    for pair in pairs[:2]:
        rest = [c for c in found if c is not pair]
        if not rest:
            continue
        rows = within(rest, frame.rows)
        hits = [bool(member & rows) for member in pair.members]
        truth = all(hits) if cue.sense == "both" else not any(hits)
        used = range_set(first, last).union(*(c.used for c in found))
        cells = tuple((row, rest[0].column) for row in sorted(pair.rows)[:4])
        reason = f"{sum(hits)} of 2"
        yield Outcome(
            "quantifier",
            truth,
            used,
            min(c.fit for c in found),
            cells,
            reason,
            None if truth else (first, last),
            (),
            "CMP",
        )


def _only(frame: Frame, found: Sequence[RowFilter], first: int, last: int) -> Iterator[Outcome]:
    """As in "A is the only one from B": whoever has the property is A, and A has it."""
    if any(stated.first in (last, last - 1) for stated in frame.amounts):
        return  # "only 5 games" is a count
    named = [c for c in found if not c.used & range_set(first, last)]
    after = [c for c in named if c.first >= last]
    before = [c for c in named if c.last <= first]
    if before and after:
        who, what = before, after
    elif len(after) >= 2:
        verbs = [v for v in frame.verbs if v >= last]
        verb = next((v for v in verbs if any(c.first > v for c in after)), None)
        if verb is None:
            return
        who = [c for c in after if c.last <= verb]
        what = [c for c in after if c.first > verb]
        if frame.words[first - 1 : first] in (("the",), ("his",), ("their",), ("its",), ("her",)):
            who, what = what, who  # "the only player from Spain is A"
        if not who or not what:
            return
    else:
        return
    rows = within(what, frame.rows)
    own = within(who, frame.rows)
    truth = bool(own & rows) and rows <= own
    used = range_set(first, last).union(*(c.used for c in named))
    others = sorted(rows - own)
    if others:
        reason = f"also {name_rows(frame, others)}"
    else:
        reason = f"only {name_rows(frame, rows)}" if rows else "no row has it"
    cells = tuple((row, what[0].column) for row in sorted(rows)[:4])
    yield Outcome(
        "only",
        truth,
        used,
        min(c.fit for c in named),
        cells,
        reason,
        None if truth else (first, last),
        (),
        "CMP",
    )
