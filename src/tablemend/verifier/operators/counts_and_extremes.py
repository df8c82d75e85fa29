"""Counts and quantifiers over rows, and the first of an order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from tablemend.programs.execute import quantify
from tablemend.programs.program import QuantifierName
from tablemend.verifier.conditions import unread
from tablemend.verifier.lexicon import DISTINCT, QUALITIES, THINGS, opposite
from tablemend.verifier.number_agreement import (
    counts_in_its_unit,
    hedge_of,
    hedge_tokens,
    holds,
    is_difference,
    size_of,
    spelled,
    states,
)
from tablemend.verifier.operators.slots import (
    PREPOSITIONS,
    SLOTS,
    Derivation,
    Ordering,
    Slots,
    name_rows,
    nth_rows,
    number_of,
    orderings,
    phrase_end,
    where,
)
from tablemend.verifier.sentence_links import (
    TIME_UNITS,
    ColumnMention,
    RowFilter,
    SentenceLinks,
    StatedNumber,
    in_brackets,
    range_set,
    within,
)

_NO_COUNT_AFTER = frozenset(
    "more less fewer higher lower greater better worse longer shorter later earlier ahead behind "
    "above below percent million billion th st nd rd under over".split()
)
_ROWS = 100  # nobody counts thousands in a table of twenty rows
_NUMBERING = frozenset(
    "number no week round episode series season stage class section group top".split()
)
_BEFORE_COUNTS = frozenset("the only there in with have has was were are a".split())


def counts(slots: Slots) -> Iterator[Derivation]:
    """As in "3 of the 8 games were won", "there are 5 players from Spain"."""
    for stated in slots.frame.amounts:
        amount, (after, before) = stated.amount, _beside(slots.frame, stated)
        if amount.role == "year" or amount.pair == "score" or amount.number.decimals:
            continue
        if amount.number.unit.symbol not in ("", *TIME_UNITS) or stated.value < 0:
            continue
        most = _ROWS + 5 * len(slots.frame.rows)
        whole = stated.value == int(stated.value) and stated.value < most
        if whole and after not in _NO_COUNT_AFTER and before not in _NUMBERING:
            yield from _count(slots, stated)


def _beside(frame: SentenceLinks, stated: StatedNumber) -> tuple[str, str]:
    """The words behind a number and before it; empty at the ends."""
    after = frame.words[stated.last] if stated.last < len(frame.words) else ""
    return after, frame.words[stated.first - 1] if stated.first else ""


def _count(slots: Slots, stated: StatedNumber) -> Iterator[Derivation]:
    frame, words = slots.frame, slots.frame.words
    after, before = _beside(frame, stated)
    parted = (s for s in frame.amounts if 0 < s.first - stated.last <= 3)
    whole = next(parted, None) if after in ("of", "out") else None
    start = (whole or stated).last
    end = phrase_end(frame, start)
    bounded = {p for f in slots.conditions if f.bound and f.first >= start for p in f.used}
    nouns = (h for h in frame.headings if stated.last <= h.first < end)
    noun = next((h for h in nouns if h.first not in bounded), None)  # not "cost more than 5"
    thing = next((place for place in range(start, end) if words[place] in THINGS), None)
    hedge = hedge_of(frame, stated)
    distinct = not DISTINCT.isdisjoint(words[stated.last : end])
    there = "there" in words[max(0, stated.first - 3) : stated.first]
    features = [
        f"count before {after if after in THINGS | PREPOSITIONS else 'another word'}",
        f"count after {before if before in _BEFORE_COUNTS else 'another word'}",
        *(["counts a thing"] if thing is not None else []),
        *(_counted(slots, noun, stated) if noun else []),
        *(["counts after there"] if there else []),
        *(["counts of a whole"] if whole else []),
        *(["count hedged"] if hedge else []),
    ]
    tokens = range_set(stated.first, start)
    tokens |= noun.tokens if noun else frozenset()
    tokens |= hedge_tokens(frame, stated) if hedge else frozenset()
    tokens |= {thing} if thing is not None else frozenset()
    for scope in _scopes(slots, stated, tokens):
        used = tokens.union(*(f.used for f in scope))
        left = len(unread(frame, used, frame.clause(stated.first)))
        rows = within(scope, frame.rows)
        if left and not scope:  # "four phones support 5G" is not said of four rows
            continue
        kinds: list[tuple[str, int]] = [("rows", len(rows))]
        column = slots.view.columns[noun.column] if noun else None
        if column is not None and column.adds_up and not distinct:  # "four worked overtime"
            kinds.append(("rows with some", sum(column.ordered.of.get(row, 0) > 0 for row in rows)))
        elif column is not None and column.index != slots.view.key:
            values = {column.cell(row).casefold() for row in rows} - {""}
            kinds += [("different values", len(values))] if len(values) != len(rows) else []
        named = (f for f in scope if f.column == slots.view.key and not f.members)
        single = any(len(f.rows) == 1 for f in named)
        for kind, number in kinds:
            told = number_of(number, kind.removesuffix("s"))
            if kind == "rows with some" and column is not None:
                told = f"{number_of(number)} with some {column.header}"
            truth, reason = holds(float(number), stated, hedge), told + where(frame, scope)
            known = [*features, f"count of {kind}{' asked' if distinct else ''}"]
            known += [f"count unread {min(left, 2)}", *(["count in one row"] if single else [])]
            known += slots.describe("of", scope, stated.span)
            cells = slots.cells(rows, noun.column if noun else slots.view.key)
            right = (str(number),) if (number == 1) != after.endswith("s") else ()
            yield Derivation(
                "count", truth, used, tuple(known), cells, reason, stated.span, right, "NUM"
            )


def _counted(slots: Slots, noun: ColumnMention, stated: StatedNumber) -> list[str]:
    """What the noun that is counted is in the table."""
    column = slots.view.columns[noun.column]
    names = "the key" if column.index == slots.view.key else "cells"
    said = any(stated.value in numbers for numbers in column.said.values())
    found = [f"counts {'amounts' if column.adds_up else names}"]
    return [*found, "a cell of the noun says it"] if said else found


def _scopes(
    slots: Slots, stated: StatedNumber, tokens: frozenset[int]
) -> Iterable[Sequence[RowFilter]]:
    """What can narrow the counted rows down: the names of the clause, all, or one side's."""
    first, last = slots.frame.clause(stated.first)
    amounts = {c.index for c in slots.view.columns if c.adds_up}
    free = []
    for f in slots.conditions:
        # "two BERT models": between a number and what it counts
        adjective = f.first == stated.last and f.last in tokens and not f.tokens & tokens
        if (not f.used & tokens or adjective) and (f.rows or f.bound or f.column not in amounts):
            free.append(f)
    inside = [f for f in free if first <= f.first and f.last <= last]
    scopes = [inside]
    if len(free) > len(inside):
        scopes.append(free)
    if len(inside) > 1:
        behind = [f for f in inside if f.first > stated.first]
        scopes += [behind, behind[:1]]
        scopes.append([f for f in inside if f.last <= stated.first])
    return {tuple(map(id, scope)): scope for scope in scopes}.values()


def quantifiers(slots: Slots) -> Iterator[Derivation]:
    """As in "all games were won", "no player is from Spain", "half", "both", "never"."""
    frame = slots.frame
    for cue, first, last in slots.cues("quantifier", "negation", "aggregate"):
        sense = cue.sense
        if cue.kind == "aggregate":  # "in all four quarters"
            if frame.words[first:last] != ("in", "all"):
                continue
            sense = "all"
        if frame.words[first] in ("always", "every", "each"):
            sense = "all"
        sense = {"never": "none", "both": "all", "neither": "none"}.get(sense, sense)
        if sense not in ("all", "none", "most", "half"):
            continue
        few = sense == "most" and cue.direction < 0
        quantifier = cast(QuantifierName, "few" if few else sense)
        words = (first, last)
        sizes = (s.last for s in frame.amounts if s.first == last and size_of(frame, s))
        size_end = next(sizes, last) if sense == "all" else last  # "all four regions"
        free = [f for f in slots.conditions if not f.used & range_set(*words)][:SLOTS]
        if cue.sense == "never":  # "never fell below 30"
            size_end = next((f.last for f in free if f.bound and f.first >= last), last)
        listed = cue.sense in ("both", "neither")
        verb = next((v for v in frame.verbs if v >= last), last)
        cuts = {
            "verb": ([f for f in free if f.first < verb], [f for f in free if f.first >= verb]),
            "bound": ([f for f in free if not f.bound], [f for f in free if f.bound]),
            "everything": ([], list(free)),
            "last": (list(free[:-1]), list(free[-1:])),
            "first": (list(free[1:]), list(free[:1])),
        }
        seen = set()
        for cut, (scope, said) in cuts.items():
            key = (tuple(map(id, scope)), tuple(map(id, said)))
            rows = within(scope, frame.rows)
            if not said or key in seen or not rows:
                continue
            seen.add(key)
            hits = within(said, rows)
            number, size = len(hits), len(rows)
            if listed and scope and len(scope[0].members) == 2:
                number, size = sum(bool(m & hits) for m in scope[0].members), 2
            not_all = sense == "all" and first > 0 and frame.words[first - 1] == "not"
            truth = quantify(quantifier, number, size) is not not_all
            exceptions = (rows - hits) if sense == "all" else hits
            used = range_set(first - not_all, last).union(*(f.used for f in free))
            left = len(unread(frame, used, frame.clause(first)))
            before = frame.words[first - 1] if first else ""
            after = before if before in PREPOSITIONS else "no preposition"
            reason = f"{number} of {number_of(size)}"
            if exceptions and sense in ("all", "none"):
                reason += f"; {'not' if sense == 'all' else 'but'} {name_rows(frame, exceptions)}"
            known = [f"{cue.sense} by {cut}", f"cut {cut}", f"quantifier {sense}"]
            known += [f"quantifier after {after}", f"quantifier unread {min(left, 2)}"]
            known += ["of one row" if size == 1 else "of rows"]
            known += slots.describe("among", scope, words) + slots.describe("said", said, words)
            cells, fault = slots.cells(exceptions, said[0].column), (first, size_end)
            yield Derivation("quantifier", truth, used, tuple(known), cells, reason, fault)


def only(slots: Slots) -> Iterator[Derivation]:
    """As in "A is the only one from B": whoever has the property is A, and A has it."""
    for _, first, last in (
        one for one in slots.cues("quantifier", "count") if one[0].sense == "only"
    ):
        words = (first, last)
        number = any(s.first in (last, last - 1) for s in slots.frame.amounts)
        free = [f for f in slots.conditions if not f.used & range_set(*words)][:SLOTS]
        for cut in range(1, len(free)):
            for who, said in ((free[:cut], free[cut:]), (free[cut:], free[:cut])):
                rows, own = within(said, slots.frame.rows), within(who, slots.frame.rows)
                others = rows - own
                truth, used = bool(own & rows) and not others, range_set(*words)
                used = used.union(*(f.used for f in free))
                known = ["who first" if who[0].first < said[0].first else "who last"]
                known += ["only a number"] if number else []
                known += slots.describe("who", who, words) + slots.describe("said", said, words)
                reason = f"also {name_rows(slots.frame, others)}" if others else ""
                reason, cells = (
                    reason or number_of(len(rows)),
                    slots.cells(rows or own, said[0].column),
                )
                yield Derivation("only", truth, used, tuple(known), cells, reason, words)


# ---- extremes and ranks

_GOING_ON = frozenset("then before".split())
_JOINING = frozenset("and while but whereas".split())
_OWN = frozenset("its their his her s own".split())


def extremes(slots: Slots) -> Iterator[Derivation]:
    """As in "A has the most points in 2004", "the second highest attendance was 5,000"."""
    frame = slots.frame
    for cue, first, last in slots.cues("superlative", "rank"):
        ranked = cue.kind == "rank"
        if ranked and cue.sense not in QUALITIES:
            continue
        number = (cue.number or 1) if ranked else 1
        nested = "than" in frame.words[frame.clause(first)[0] : first]
        word = frame.words[first - 1] if first else ""
        owner = "of its own" if word in _OWN else "of all" if word == "the" else "of whom unsaid"
        words = (first, last)
        for ordering in orderings(frame, cue, first, last):
            shared = (*ordering.features, *(["nested"] if nested else []), owner)
            extreme = _Extreme(slots, ordering, number, words, shared)
            free = slots.free(ordering.used | range_set(*words), ordering.column.index)
            part, free = _own_part(slots, words, free)
            led = ((f, frame.words[max(0, f.first - 5) : f.first]) for f in free)
            # as B is in "A has the most, followed by B"
            after = next((f for f, before in led if {"followed", "by"} <= set(before)), None)
            free = [f for f in free if f is not after]
            noun = frame.words[first:last] in (("high",), ("low",), ("highs",), ("lows",))
            for who, among in () if noun else slots.splits(free):  # "a high of 17" is its value
                for reading in extreme.of_rows(who, among, after):
                    yield replace(reading, part=part)
                    if reading.truth and after is None:
                        yield from extreme.of_its_values(reading, among)
            yield from extreme.of_values(free, shared)


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


class _Extreme(NamedTuple):
    """The words that ask for the n-th of an order; ``number`` is 2 of "second highest"."""

    slots: Slots
    ordering: Ordering
    number: int
    words: tuple[int, int]
    features: tuple[str, ...]

    def of_rows(
        self, who: Sequence[RowFilter], among: Sequence[RowFilter], after: RowFilter | None
    ) -> Iterator[Derivation]:
        """Whether rows have the n-th value among some, and, if one is named, who is next."""
        slots, ordering, number, words, shared = self
        frame, column, way = slots.frame, ordering.column, ordering.direction
        rows = within(among, (row for _, row in ordering.ordered.values))
        top = nth_rows(ordering.ordered, rows, way, number)
        if len(rows) < 2 or not top:
            return
        turned = opposite(frame.text(*words))
        swap = bool(turned and within(who, nth_rows(ordering.ordered, rows, -way, 1)))
        truth = bool(within(who, top))
        used = (ordering.used | range_set(*words)).union(*(f.used for f in [*who, *among]))
        if truth and after is not None:
            for following in after.members or (after.rows,):
                number += len(top)
                top = nth_rows(ordering.ordered, rows, way, number)
                truth = bool(following & top)
                if not truth:
                    break
            who, used, swap = [after], used | after.used, False
        side = "before" if who[0].last <= words[0] else "behind"
        sort = "key" if who[0].column == slots.view.key else "cell"
        known = [*shared, f"{shared[-1]} {sort} {side}", *slots.describe("who", who, words)]
        known += slots.describe("among", among, words)
        best = f"{column.cell(min(top, default=min(rows)))}, of {name_rows(frame, top)}"
        reason, cells = (
            f"{frame.text(*words)} {column.header}: {best}",
            slots.cells(top, column.index),
        )
        fault, right = who[0].span, slots.names(top, who[0].column)
        if swap:
            fault, right = words, (turned,)
        yield Derivation("extreme", truth, used, tuple(known), cells, reason, fault, right)

    def of_its_values(
        self, reading: Derivation, among: Sequence[RowFilter]
    ) -> Iterator[Derivation]:
        """As in "A had the most points with 65", where it is A that had the most."""
        features = (*reading.features, "with its value")
        for value in self.of_values(among, reading.features):
            if not value.fault or not range_set(*value.fault) & reading.used:
                yield replace(value, used=value.used | reading.used, features=features)

    def of_values(self, free: Sequence[RowFilter], features: Sequence[str]) -> Iterator[Derivation]:
        """As in "the highest attendance was 5,000"."""
        slots, ordering, number, words, _ = self
        frame, column = slots.frame, ordering.column
        stated = [s for s in frame.amounts if s.first >= words[1] and s.amount.role == "value"]
        for amount in stated[:2]:
            between = frame.words[words[1] : amount.first]
            if is_difference(frame, amount) or not _GOING_ON.isdisjoint(between):
                continue  # "peaked at 5 and then slipped to 3"
            if not counts_in_its_unit(frame, column, amount):
                continue
            others = (h for h in frame.headings if h.column != column.index)
            if any(in_brackets(frame, h.span, amount.span) for h in others):
                continue  # "the best accuracy (84.9) and F1 (86.5)"
            among = [f for f in free if not f.used & amount.tokens]
            for scope in ([], among) if among else ([],):
                rows = within(scope, (row for _, row in ordering.ordered.values))
                top = nth_rows(ordering.ordered, rows, ordering.direction, number)
                if len(rows) < 2 or not top:
                    continue
                used = ordering.used | range_set(*words) | amount.tokens
                used = used.union(*(f.used for f in scope))
                truth = any(states(column, ordering.ordered, row, amount) for row in top)
                known = (*features, "of a number", *slots.describe("among", scope, words))
                reason = f"{frame.text(*words)} {column.header}: {column.cell(min(top))}"
                cells = slots.cells(top, column.index)
                right = (spelled(column, ordering.ordered.of[min(top)], amount),)
                yield Derivation(
                    "extreme", truth, used, known, cells, reason, amount.span, right, "NUM"
                )


def ranks(slots: Slots) -> Iterator[Derivation]:
    """As in "A finished third", "A is in the top 5", "A ranks second in sales"."""
    for cue, first, last in slots.cues("rank"):
        if cue.sense not in ("place", "within", "last"):
            continue
        words = (first, last)
        places = [(c, 1 if c.ranking else -1) for c in slots.view.columns if c.ranking]
        behind = slots.frame.headings_in(last, len(slots.frame.words))
        places += [(c, -1) for h in behind if (c := slots.view.columns[h.column]).adds_up]
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
                if cue.sense == "within":
                    truth = all(v >= lowest if low else v <= number for v in own)
                else:
                    truth = set(own) == {lowest if cue.sense == "last" else number}
                used = taken.union(*(f.used for f in [*who, *among]))
                known = [cue.sense, "states the place" if way > 0 else "place by amount"]
                known += slots.describe("who", who, words) + slots.describe("among", among, words)
                cells = slots.cells(within(who, rows), column.index)
                name = slots.frame.text(*who[0].span)
                reason = f"{column.header}: {name} is number {int(own[0])}"
                yield Derivation("rank", truth, used, tuple(known), cells, reason, words)
