"""Extremes and ranks: "the highest attendance", "second most goals", "finished third"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tablemend.verifier.amounts import counts_in_its_unit, is_difference, spelled, states
from tablemend.verifier.frame import Frame
from tablemend.verifier.operators.orderings import Ordering, nth_rows, orderings
from tablemend.verifier.operators.slots import Computed, Slots, name_rows
from tablemend.verifier.row_filter import RowFilter, range_set, within
from tablemend.verifier.subjects import in_brackets
from tablemend.verifier.vocabulary import (
    QUALITIES,
    opposite,
)

_GOING_ON = frozenset("then before".split())
_JOINING = frozenset("and while but whereas".split())
_OWN = frozenset("its their his her s own".split())


def extremes(slots: Slots) -> Iterator[Computed]:
    """As in "A has the most points in 2004", "the second highest attendance was 5,000"."""
    frame = slots.frame
    for cue, first, last in slots.cues("superlative", "rank"):
        ranked = cue.kind == "rank"
        if ranked and cue.sense not in QUALITIES:
            continue
        number = (cue.number or 1) if ranked else 1
        if first and not ranked and (ordinal := frame.ordinal(first - 1)):
            first, number = first - 1, ordinal
        nested = "than" in frame.words[frame.clause(first)[0] : first]
        words = (first, last)
        for ordering in orderings(frame, cue, first, last):
            shared = [*ordering.features, *(["nested"] if nested else []), _owner(frame, first)]
            free = slots.free(ordering.used | range_set(*words), ordering.column.index)
            part, free = _own_part(slots, words, free)
            after = next((f for f in free if _follows(slots, f)), None)
            free = [f for f in free if f is not after]
            noun = frame.words[first:last] in (("high",), ("low",), ("highs",), ("lows",))
            for who, among in () if noun else slots.splits(free):  # "a high of 17" is its value
                for reading in _extreme(slots, ordering, number, words, who, among, after, shared):
                    yield replace(reading, part=part)
                    if reading.truth and after is None:
                        yield from _its_values(slots, ordering, number, reading, words, among)
            yield from _extreme_values(slots, ordering, number, words, free, shared)


def _own_part(
    slots: Slots, words: tuple[int, int], free: list[RowFilter]
) -> tuple[tuple[int, int], list[RowFilter]]:
    """The tokens on one side of an "and", and what they name: "A has the most and B the least"."""
    frame = slots.frame
    start, end = 0, len(frame.words)
    cues = [words, *(span for _, *span in slots.cues("superlative", "rank"))]
    for first, last in cues:
        low, high = sorted((words, (first, last)))
        ands = [p for p in range(low[1], high[0]) if frame.words[p] in _JOINING]
        for place in ands[:1]:
            sides = [f for f in free if f.last <= place], [f for f in free if f.first > place]
            keys = [any(f.column == slots.view.key for f in side) for side in sides]
            if all(keys):
                free = sides[words[0] > place]
                start, end = (place, end) if words[0] > place else (start, place)
    return (start, end), free


def _owner(frame: Frame, first: int) -> str:
    """Whether "its highest" is said, or "the highest"."""
    word = frame.words[first - 1] if first else ""
    return "of its own" if word in _OWN else "of all" if word == "the" else "of whom unsaid"


def _extreme(
    slots: Slots,
    ordering: Ordering,
    number: int,
    words: tuple[int, int],
    who: Sequence[RowFilter],
    among: Sequence[RowFilter],
    after: RowFilter | None,
    shared: Sequence[str],
) -> Iterator[Computed]:
    """Whether rows have the n-th value among some, and, if one is named, who comes after them."""
    frame, column = slots.frame, ordering.column
    rows = within(among, (row for _, row in ordering.ordered.values))
    top = nth_rows(ordering.ordered, rows, ordering.direction, number)
    if len(rows) < 2 or not top:
        return
    turned = opposite(frame.text(*words))
    low = nth_rows(ordering.ordered, rows, -ordering.direction, 1)
    swap = bool(turned and within(who, low))
    truth = bool(within(who, top))
    used = (ordering.used | range_set(*words)).union(*(f.used for f in [*who, *among]))
    if truth and after is not None:
        for following in after.members or (after.rows,):
            number += len(top)
            top = nth_rows(ordering.ordered, rows, ordering.direction, number)
            if truth := bool(following & top):
                continue
            break
        who, used, swap = [after], used | after.used, False
    side = "before" if who[0].last <= words[0] else "behind"
    sort = "key" if who[0].column == slots.view.key else "cell"
    yield Computed(
        "extreme",
        truth,
        used,
        (
            *shared,
            f"{shared[-1]} {sort} {side}",
            *slots.describe("who", who, words),
            *slots.describe("among", among, words),
        ),
        slots.cells(top, column.index),
        f"{frame.text(*words)} {column.header}: {column.cell(min(top, default=min(rows)))}, "
        f"of {name_rows(frame, top)}",
        words if swap else who[0].span,
        (turned,) if swap else slots.names(top, who[0].column),
    )


def _its_values(
    slots: Slots,
    ordering: Ordering,
    number: int,
    reading: Computed,
    words: tuple[int, int],
    among: Sequence[RowFilter],
) -> Iterator[Computed]:
    """As in "A had the most points with 65", where it is A that had the most."""
    for value in _extreme_values(slots, ordering, number, words, list(among), reading.features):
        if not value.fault or not range_set(*value.fault) & reading.used:
            yield replace(
                value,
                used=value.used | reading.used,
                features=(*reading.features, "with its value"),
            )


def _follows(slots: Slots, f: RowFilter) -> bool:
    """As B does in "A has the most, followed by B"."""
    return {"followed", "by"} <= set(slots.frame.words[max(0, f.first - 5) : f.first])


def _extreme_values(
    slots: Slots,
    ordering: Ordering,
    number: int,
    words: tuple[int, int],
    free: Sequence[RowFilter],
    shared: Sequence[str],
) -> Iterator[Computed]:
    """As in "the highest attendance was 5,000"."""
    column = ordering.column
    frame = slots.frame
    stated = [s for s in frame.amounts if s.first >= words[1] and s.amount.role == "value"]
    for amount in stated[:2]:
        if is_difference(frame, amount) or not _GOING_ON.isdisjoint(
            frame.words[words[1] : amount.first]
        ):
            continue  # "peaked at 5 and then slipped to 3"
        if not counts_in_its_unit(frame, column, amount):
            continue
        place = (amount.first, amount.last)
        if any(
            h.column != column.index and in_brackets(frame, (h.first, h.last), place)
            for h in frame.headings
        ):
            continue  # "the best accuracy (84.9) and F1 (86.5)"
        tokens = range_set(amount.first, amount.last)
        among = [f for f in free if not f.used & tokens]
        for scope in ([], among) if among else ([],):
            rows = within(scope, (row for _, row in ordering.ordered.values))
            top = nth_rows(ordering.ordered, rows, ordering.direction, number)
            if len(rows) < 2 or not top:
                continue
            value = ordering.ordered.of[min(top)]
            yield Computed(
                "extreme",
                any(states(column, ordering.ordered, row, amount) for row in top),
                (ordering.used | range_set(*words) | tokens).union(*(f.used for f in scope)),
                (*shared, "of a number", *slots.describe("among", scope, words)),
                slots.cells(top, column.index),
                f"{slots.frame.text(*words)} {column.header}: {column.cell(min(top))}",
                (amount.first, amount.last),
                (spelled(column, value, amount),),
                "NUM",
            )


def ranks(slots: Slots) -> Iterator[Computed]:
    """As in "A finished third", "A is in the top 5", "A ranks second in sales"."""
    for cue, first, last in slots.cues("rank"):
        if cue.sense not in ("place", "within", "last"):
            continue
        words = (first, last)
        places = [(c, 1 if c.ranking else -1) for c in slots.view.columns if c.ranking]
        places += [
            (slots.view.columns[h.column], -1)
            for h in slots.frame.headings_in(last, len(slots.frame.words))
            if slots.view.columns[h.column].adds_up
        ]
        for column, way in dict.fromkeys(places[:3]):
            number = cue.number or 1
            taken = range_set(*words) | slots.heading_tokens(column.index)
            for who, among in slots.splits(slots.free(taken, column.index)):
                rows = within(among, (row for _, row in column.ordered.values))
                values = [(value, row) for value, row in column.ordered.values if row in rows]
                if not values:
                    continue
                of = {row: value for value, row in values}
                if way < 0:  # no cell states the place
                    place_of: dict[float, float] = {}
                    for place, (value, _) in enumerate(reversed(values), 1):
                        place_of.setdefault(value, float(place))
                    of = {row: place_of[value] for value, row in values}
                own = [of[row] for row in within(who, rows)]
                if not own:
                    continue
                lowest = sorted(of.values(), reverse=True)[min(number, len(of)) - 1]
                low = cue.sense == "last" or (cue.sense == "within" and cue.direction < 0)
                truth = {
                    "within": all(v >= lowest if low else v <= number for v in own),
                    "last": all(v == lowest for v in own),
                }.get(cue.sense, all(v == number for v in own))
                own_place = int(own[0])
                yield Computed(
                    "rank",
                    truth,
                    taken.union(*(f.used for f in [*who, *among])),
                    (
                        cue.sense,
                        "states the place" if way > 0 else "place by amount",
                        *slots.describe("who", who, words),
                        *slots.describe("among", among, words),
                    ),
                    slots.cells(within(who, rows), column.index),
                    f"{column.header}: {slots.frame.text(*who[0].span)} is number {own_place}",
                    words,
                )
