"""Totals and averages over rows, and changes from one period to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import cast

from tablemend.programs.execute import AGGREGATES
from tablemend.programs.program import AggregateOp
from tablemend.verifier.lexicon import Cue, opposite
from tablemend.verifier.number_agreement import (
    GAINING,
    counts_in_its_unit,
    counts_rows,
    digits,
    fits,
    hedge_of,
    holds,
    preposition,
    ratio_hedge,
    shown,
    spelled,
    states,
)
from tablemend.verifier.operators.slots import Derivation, Slots, number_of, reaches_ratio
from tablemend.verifier.oriented_table import ColumnIndex, OrientedTable, moment
from tablemend.verifier.sentence_links import (
    ColumnMention,
    RowFilter,
    SentenceLinks,
    StatedNumber,
    range_set,
    within,
)

_EACH = frozenset("each every always constantly".split())
_ROOM = 8  # of so many steps one may go the other way in "rose steadily"
_STEADY = frozenset(
    "each every steadily consistently continuously continually constantly always".split()
)
_RATIOS = {"multiply": 2.0, "divide": 0.5}
_LIMITS = frozenset("below under above over".split())
_ENDS = ("from", "to", "reaching", "at")
_EARLIER = frozenset("previous prior before old initial baseline".split())
"""Terms of headers of what something was, beside what it is."""
_MOST_PERCENT = 100
_ALIKE = 0.02
"""Values this close are stable."""


def totals(slots: Slots) -> Iterator[Derivation]:
    """As in "a total of 45 goals", "the average age is 30", "ranged from 3 to 9"."""
    frame = slots.frame
    if slots.view.turned and timeline(slots.view) is None:
        return  # different metrics of one thing are no series
    for cue, first, last in slots.cues("aggregate"):
        words = (first, last)
        if cue.sense == "range":
            yield from _range(slots, words)
        if cue.sense not in ("sum", "mean", "median"):
            continue
        sense = cast(AggregateOp, cue.sense)
        named = [h for h in frame.headings if slots.view.columns[h.column].adds_up]
        named.sort(key=lambda h: h.first - last if h.first >= last else first - h.last + 2)
        for place, heading in enumerate(named[:2]):
            inside = heading.first <= first < heading.last
            numbers = [s for s in frame.amounts if s.amount.role == "value"]
            numbers.sort(
                key=lambda s: min(abs(s.first - heading.last), abs(heading.first - s.last))
            )
            for near, stated in enumerate(numbers[:2]):
                of = frame.words[stated.last : stated.last + 1] == ("of",)
                column = f"column {place}{' inside' if inside else ''}"
                number = f"number {near}{' of' if of else ''}"
                name = "whole name" if heading.share > 0.99 else "part of a name"
                features = (sense, column, number, name)
                yield from _total(slots, sense, words, heading, stated, features)


def _total(
    slots: Slots,
    sense: AggregateOp,
    words: tuple[int, int],
    heading: ColumnMention,
    stated: StatedNumber,
    features: tuple[str, ...],
) -> Iterator[Derivation]:
    """A number as a total of a column, over all rows and over those that are named."""
    frame, column = slots.frame, slots.view.columns[heading.column]
    if stated.amount.number.percent and not column.percent:
        return
    if not counts_in_its_unit(frame, column, stated):
        return
    every = frozenset(place for place, word in enumerate(frame.words) if word == "all")
    tokens = range_set(*words) | stated.tokens
    free = slots.free(tokens, column.index)
    for among in ([], free) if free else ([],):
        rows = within(among, frame.rows)
        values = [column.ordered.of[row] for row in rows if row in column.ordered.of]
        if len(values) < 2:
            continue
        value = AGGREGATES[sense](values)
        exact = stated.amount.number.decimals or value != int(value)
        slack = 0.5 * 10.0**-stated.amount.number.decimals + 1e-9
        rounded = bool(exact) and abs(value - stated.value) <= slack
        used = (tokens | every | heading.tokens).union(*(f.used for f in among))
        truth = fits(column, value, stated) or (rounded and not stated.amount.hedge)
        known = (*features, *slots.describe("among", among, words))
        reason = f"{sense} of {column.header} over {number_of(len(rows))}: {digits(value)}"
        cells, right = slots.cells(rows, column.index), (spelled(column, value, stated),)
        yield Derivation("total", truth, used, known, cells, reason, stated.span, right, "NUM")


def _range(slots: Slots, words: tuple[int, int]) -> Iterator[Derivation]:
    """As in "ranged from 3 to 9": the least and the most."""
    frame = slots.frame
    ends = [s for s in frame.amounts if s.first >= words[1] and s.amount.role == "value"][:2]
    named = [h for h in frame.headings if slots.view.columns[h.column].measured]
    if len(ends) < 2:
        return
    low, high = sorted(ends, key=lambda stated: stated.value)
    taken = range_set(*words) | range_set(ends[0].first, ends[1].last)
    for heading in named[:2]:
        column = slots.view.columns[heading.column]
        among = slots.free(taken, column.index)
        if any(ends[0].first < f.first < ends[1].first for f in among):  # "from 3 in A to 9 in B"
            among = [f for f in among if f.first < ends[0].first]
        rows = within(among, (row for _, row in column.ordered.values))
        values = sorted(column.ordered.of[row] for row in rows)
        if len(values) < 2:
            continue
        wrong, right = (low, values[0]) if not fits(column, values[0], low) else (high, values[-1])
        truth = fits(column, values[0], low) and fits(column, values[-1], high)
        used = (taken | heading.tokens).union(*(f.used for f in among))
        known = ("range", *slots.describe("among", among, words))
        cells, expected = slots.cells(rows, column.index), (spelled(column, right, wrong),)
        least, most = shown(column, values[0]), shown(column, values[-1])
        reason = f"{column.header}: from {least} to {most}"
        yield Derivation("total", truth, used, known, cells, reason, wrong.span, expected, "NUM")


def changes(slots: Slots) -> Iterator[Derivation]:
    """As in "sales rose from 2019 to 2021", "fell each year", "doubled"."""
    frame = slots.frame
    yield from _within_a_row(slots)
    times = timeline(slots.view)
    if times is None or any(cue.sense == "streak" for cue in frame.cues):
        return  # "in three consecutive quarters": in which?
    if any(frame.exception(f.first) for f in slots.filters):
        return  # "in every quarter except Q3"
    when, places = times
    for cue, first, last in [*slots.cues("change"), *_gains(frame)]:
        if cue.sense not in ("rise", "fall", "stable", *_RATIOS):
            continue
        words = (first, last)
        if frame.words[last : last + 1] and frame.words[last] in _LIMITS:
            continue  # "never fell below 27"
        named = [
            h
            for h in frame.headings
            if slots.view.columns[h.column].measured
            and not slots.view.columns[h.column].temporal
            and not (h.first < last and first < h.last)  # a column "Growth"
            and not frame.exception(h.first)
        ]
        named.sort(key=lambda h: first - h.last if h.last <= first else 100 + h.first)
        for heading in named[:1]:
            column = slots.view.columns[heading.column]
            tokens = range_set(*words) | heading.tokens
            ends = [s for s in frame.amounts if preposition(frame, s) in _ENDS]
            numbers = {stated.first for stated in ends}
            others = (f for f in slots.filters if f.column != column.index)
            free = [f for f in others if not f.used & (tokens | numbers)]
            among = [f for f in free if f.column != when]
            periods = [f for f in free if f.column == when]
            turns = (p for p in range(last, len(frame.words)) if frame.words[p] in _TURNS)
            turn = next(turns, len(frame.words))
            first_change = [f for f in periods if f.first < turn]
            if len(first_change) > 1:  # "fell from Q1 to Q3 before it rose in Q4"
                periods = first_change
            rows = sorted(
                (r for r in within(among, frame.rows) if r in places and r in column.ordered.of),
                key=places.__getitem__,
            )
            if len(rows) < 2 or len({places[row] for row in rows}) < len(rows):
                continue
            for how, path in _paths(frame, rows, periods):
                change = _changed(slots, cue, words, column, path, tokens, among, periods, how)
                if not change.truth and frame.words[first] in GAINING:  # "gained 6" of a fall
                    end = next(s.last for s in frame.amounts if s.first == last)
                    change = replace(change, fault=(first, end), expected=(), error="NUM")
                yield change
                if change.truth:
                    yield from _change_amounts(slots, change, column, path)


def _gains(frame: SentenceLinks) -> Iterator[tuple[Cue, int, int]]:
    """The verbs that say by how much something rose or fell: "gained 2", "lost 6"."""
    for stated in frame.amounts:
        first = stated.first - 1
        way = GAINING.get(frame.words[first], 0) if first >= 0 else 0
        if way and stated.amount.role == "value":
            token = frame.tokens[first]
            sense = "rise" if way > 0 else "fall"
            yield Cue("change", sense, way, token.start, token.end), first, stated.first


def _within_a_row(slots: Slots) -> Iterator[Derivation]:
    """As in "ferritin fell from 35 to 22", where a row has both numbers."""
    for cue, first, last in slots.cues("change"):
        ends = {preposition(slots.frame, s): s for s in slots.frame.amounts if s.first >= last}
        if cue.sense not in ("rise", "fall") or not {"from", "to"} <= set(ends):
            continue
        words, numbers = (first, last), (ends["from"], ends["to"])
        tokens = range_set(*words).union(*(s.tokens for s in numbers))
        for who in slots.free(tokens):
            row = min(who.rows, default=0)
            before, after = (
                [c for c in slots.view.columns if states(c, c.ordered, row, s)] for s in numbers
            )
            pair = next(((a, b) for a in before for b in after if a is not b), None)
            if pair is None or len(who.rows) != 1:
                continue
            turned = opposite(slots.frame.text(*words))
            truth = (numbers[1].value - numbers[0].value) * cue.direction > 0
            truth = truth and _EARLIER.isdisjoint(pair[1].terms)
            known = (cue.sense, "within a row", *slots.describe("among", [who], words))
            cells = tuple((row, column.index) for column in pair)
            reason = ", ".join(f"{column.header}: {column.cell(row)}" for column in pair)
            used, right = tokens | who.used, (turned,) if turned else ()
            yield Derivation("change", truth, used, known, cells, reason, words, right)


def _changed(
    slots: Slots,
    cue: Cue,
    words: tuple[int, int],
    column: ColumnIndex,
    path: Sequence[int],
    tokens: frozenset[int],
    among: Sequence[RowFilter],
    periods: Sequence[RowFilter],
    how: str,
) -> Derivation:
    frame = slots.frame
    values: Sequence[float] = [column.ordered.of[row] for row in path]
    way = cue.direction * (-1 if column.ranking and cue.sense in ("rise", "fall") else 1)
    steady = _steady(frame)
    steps = list(pairwise(values)) if steady else [(values[0], values[-1])]
    if cue.sense == "stable":
        truth = all(abs(b - a) <= _ALIKE * max(abs(a), abs(b)) for a, b in steps)
    else:
        kept = sum((b - a) * way > 0 for a, b in steps)
        room = len(steps) // _ROOM if steady and _EACH.isdisjoint(frame.words) else 0
        truth = kept >= len(steps) - room and (values[-1] - values[0]) * way > 0
    hedged: frozenset[int] = frozenset()
    if truth and cue.sense in _RATIOS and not values[0]:
        truth = False  # nothing doubles from 0
    elif truth and cue.sense in _RATIOS:
        ratio = _RATIOS[cue.sense] if cue.number in (None, 2) else float(cue.number or 2)
        ratio = 1 / ratio if cue.sense == "divide" and ratio > 1 else ratio
        hedge, hedged = ratio_hedge(frame, words[0])
        truth = reaches_ratio((values[-1] / values[0] / ratio - 1) * way, hedge)
    names = [slots.view.cell(row, slots.view.key) for row in (path[0], path[-1])]
    turned = "" if steady or values[0] == values[-1] else opposite(frame.text(*words))
    told, last = (path if steady else (path[0], path[-1])), values[-1]
    broken = next((i for i, (a, b) in enumerate(steps) if (b - a) * way <= 0), 0)
    if steady and not truth and cue.sense != "stable":  # the step that breaks the rule
        told = path[broken : broken + 2]
        names = [slots.view.cell(row, slots.view.key) for row in told]
        values, last = steps[broken], steps[broken][1]
    used = (tokens | steady | hedged).union(*(f.used for f in [*among, *periods]))
    known = [cue.sense, how, "each step" if steady else "first to last"]
    known += slots.describe("among", among, words) + slots.describe("when", periods, words)
    known += ["numbers stand by"] if frame.amounts else []
    ends = f"{shown(column, values[0])} ({names[0]}), {shown(column, last)} ({names[1]})"
    reason, cells = f"{column.header}: {ends}", slots.cells(told, column.index)
    right = (turned,) if turned else ()
    return Derivation("change", truth, used, tuple(known), cells, reason, words, right)


def _change_amounts(
    slots: Slots, change: Derivation, column: ColumnIndex, path: Sequence[int]
) -> Iterator[Derivation]:
    """As in "rose by 5 to 20", "fell from 8 %", "grew 12 %"."""
    first, last = (column.ordered.of[row] for row in (path[0], path[-1]))
    gap = abs(last - first)
    share = 100 * gap / abs(first) if first else None
    for stated in slots.frame.amounts:
        tokens = stated.tokens
        clause = slots.frame.clause(stated.first)
        if tokens & change.used or clause != slots.frame.clause(min(change.used)):
            continue
        if stated.amount.role != "value" or counts_rows(slots.frame, stated):
            continue
        percent = stated.amount.number.percent
        points = "point" in slots.frame.text(stated.first, stated.last)
        word = preposition(slots.frame, stated)
        large = column.money or column.scale != 1 or max(abs(first), abs(last)) > _MOST_PERCENT
        if percent and not points and not column.percent and word in _ENDS and large:
            continue  # "the margin rose to 35.2%" beside an amount
        ends = dict(zip(_ENDS, ([first], [last], [last], [first, last]), strict=True))
        before = change.fault is not None and stated.last <= change.fault[0]
        possible = ends.get(word, [last, first, gap] if before else [gap, first, last])
        if word in GAINING:  # "added 14 in Q3" can be what it had there
            possible = [gap, last] if "to a period" in change.features else [gap]
        truth = any(fits(column, value, stated) for value in possible)
        most = 3 if word == "and" else 1  # "from 5 in 2020 and 7 in 2021" can be anything
        right = [spelled(column, value, stated) for value in possible[:most]]
        if percent and not points and not column.percent and word not in ends:
            if share is None:
                continue
            hedge, room = hedge_of(slots.frame, stated), 0.5
            truth = holds(share, stated, hedge) or (
                hedge in ("", "about") and abs(share - stated.value) <= room
            )
            right = [f"{digits(round(share, 1))}%"]
        known = (*change.features, "its number", f"number {word if word in ends else 'by'}")
        found = replace(change, truth=truth, used=change.used | tokens, features=known)
        expected = tuple(dict.fromkeys(right))
        yield replace(found, fault=stated.span, expected=expected, error="NUM")


def _steady(frame: SentenceLinks) -> frozenset[int]:
    """The tokens that say that every step counts: "each year", "quarter after quarter"."""
    words = frame.words
    found = {place for place, word in enumerate(words) if word in _STEADY}
    for place in range(1, len(words) - 1):
        if words[place] in ("after", "by", "on") and words[place - 1] == words[place + 1]:
            found |= {place - 1, place, place + 1}
    return frozenset(found)


def _paths(
    frame: SentenceLinks, rows: Sequence[int], periods: Sequence[RowFilter]
) -> Iterator[tuple[str, Sequence[int]]]:
    """The rows of a change, the earlier first, and how they were found."""
    named: list[int] = []
    for f in periods:
        for group in f.members or (f.rows,):
            here = [place for place, row in enumerate(rows) if row in group]
            named += [here[0], here[-1]] if here else []
    if not named:
        if not periods:
            yield "over all periods", rows
        return
    low, high = min(named), max(named)
    if low < high:
        yield "between periods", rows[low : high + 1]
        return
    word = frame.words[periods[0].first - 1] if periods[0].first else ""
    if word in ("from", "since"):
        if low < len(rows) - 1:
            yield "since a period", rows[low:]
    elif low:
        yield "to a period", rows[low - 1 : low + 1]


_TURNS = frozenset("before then until".split())
_TIMES = frozenset("year date month quarter season period week day fiscal".split())


def timeline(view: OrientedTable) -> tuple[int, dict[int, float]] | None:
    """The column that places the rows in time, and the place of each; ``None`` without one."""
    dated = sorted(view.columns, key=lambda c: _TIMES.isdisjoint(c.terms) and c.index != view.key)
    for column in dated:
        of = {row: place for row in view.rows if (place := moment(column.cell(row))) is not None}
        if len(of) >= 2 and 10 * len(of) >= 9 * len(column.filled):
            return column.index, of
    return None
