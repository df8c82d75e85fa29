"""Counts and shares of rows: "3 of the 8 games", "all players", "the only one from Spain"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tablemend.verifier.amounts import (
    hedge_of,
    hedge_tokens,
    holds,
)
from tablemend.verifier.frame import TIME_UNITS, Frame
from tablemend.verifier.limits import unread
from tablemend.verifier.mentions import ColumnMention, StatedNumber
from tablemend.verifier.operators.orderings import phrase_end
from tablemend.verifier.operators.slots import (
    PREPOSITIONS,
    SLOTS,
    Computed,
    Slots,
    name_rows,
    number_of,
    where,
)
from tablemend.verifier.row_filter import RowFilter, range_set, within
from tablemend.verifier.table_size import size_of
from tablemend.verifier.views import ColumnIndex
from tablemend.verifier.vocabulary import DISTINCT, THINGS

_NO_COUNT_AFTER = frozenset(
    "more less fewer higher lower greater better worse longer shorter later earlier ahead behind "
    "above below percent million billion th st nd rd under over".split()
)
_ROWS = 100  # nobody counts thousands in a table of twenty rows
_NUMBERING = frozenset(
    "number no week round episode series season stage class section group top".split()
)
_BEFORE_COUNTS = frozenset("the only there in with have has was were are a".split())


def counts(slots: Slots) -> Iterator[Computed]:
    """As in "3 of the 8 games were won", "there are 5 players from Spain"."""
    for stated in slots.frame.amounts:
        if _can_count(slots.frame, stated):
            yield from _count(slots, stated)


def _can_count(frame: Frame, stated: StatedNumber) -> bool:
    """Whether a number can say how many: a whole one, of no unit, that names nothing."""
    amount = stated.amount
    if amount.role == "year" or amount.pair == "score" or amount.number.decimals:
        return False
    if amount.number.unit.symbol not in ("", *TIME_UNITS) or stated.value < 0:
        return False
    after, before = _beside(frame, stated)
    whole = stated.value == int(stated.value) and stated.value < _ROWS + 5 * len(frame.rows)
    return whole and after not in _NO_COUNT_AFTER and before not in _NUMBERING


def _beside(frame: Frame, stated: StatedNumber) -> tuple[str, str]:
    """The words behind a number and before it; empty at the ends."""
    after = frame.words[stated.last] if stated.last < len(frame.words) else ""
    return after, frame.words[stated.first - 1] if stated.first else ""


def _count(slots: Slots, stated: StatedNumber) -> Iterator[Computed]:
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
    features = [
        f"count before {after if after in THINGS | PREPOSITIONS else 'another word'}",
        f"count after {before if before in _BEFORE_COUNTS else 'another word'}",
        *(["counts a thing"] if thing is not None else []),
        *(_counted(slots, noun, stated) if noun else []),
        *(
            ["counts after there"]
            if "there" in words[max(0, stated.first - 3) : stated.first]
            else []
        ),
        *(["counts of a whole"] if whole else []),
        *(["count hedged"] if hedge else []),
    ]
    tokens = range_set(stated.first, start)
    tokens |= range_set(noun.first, noun.last) if noun else frozenset()
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
            yield Computed(
                "count",
                holds(float(number), stated, hedge),
                used,
                (
                    *features,
                    f"count of {kind}{' asked' if distinct else ''}",
                    f"count unread {min(left, 2)}",
                    *(["count in one row"] if single else []),
                    *slots.describe("of", scope, (stated.first, stated.last)),
                ),
                slots.cells(rows, noun.column if noun else slots.view.key),
                _counted_as(kind, number, column) + where(frame, scope),
                (stated.first, stated.last),
                (str(number),) if (number == 1) != after.endswith("s") else (),
                "NUM",
            )


def _counted_as(kind: str, number: int, column: ColumnIndex | None) -> str:
    """How a reason says what was counted."""
    if kind == "rows with some" and column is not None:
        return f"{number_of(number)} with some {column.header}"
    return number_of(number, kind.removesuffix("s"))


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
    free = [
        f
        for f in slots.conditions
        if (not f.used & tokens or _is_adjective(f, stated, tokens))
        and (f.rows or f.bound or f.column not in amounts)
    ]
    inside = [f for f in free if first <= f.first and f.last <= last]
    scopes = [inside]
    if len(free) > len(inside):
        scopes.append(free)
    if len(inside) > 1:
        behind = [f for f in inside if f.first > stated.first]
        scopes += [behind, behind[:1]]
        scopes.append([f for f in inside if f.last <= stated.first])
    return {tuple(map(id, scope)): scope for scope in scopes}.values()


def _is_adjective(f: RowFilter, stated: StatedNumber, tokens: frozenset[int]) -> bool:
    """Whether a name stands between a number and what it counts: "two BERT models"."""
    return f.first == stated.last and f.last in tokens and not range_set(*f.span) & tokens


def quantifiers(slots: Slots) -> Iterator[Computed]:
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
            truth = {
                "all": (number == size) is not not_all,
                "none": not number,
                "most": 2 * number > size if cue.direction >= 0 else 2 * number < size,
                "half": 2 * number == size,
            }[sense]
            exceptions = (rows - hits) if sense == "all" else hits
            used = range_set(first - not_all, last).union(*(f.used for f in free))
            left = len(unread(frame, used, frame.clause(first)))
            before = frame.words[first - 1] if first else ""
            after = before if before in PREPOSITIONS else "no preposition"
            reason = f"{number} of {number_of(size)}"
            if exceptions and sense in ("all", "none"):
                reason += f"; {'not' if sense == 'all' else 'but'} {name_rows(frame, exceptions)}"
            yield Computed(
                "quantifier",
                truth,
                used,
                (
                    f"{cue.sense} by {cut}",
                    f"cut {cut}",
                    f"quantifier {sense}",
                    f"quantifier after {after}",
                    f"quantifier unread {min(left, 2)}",
                    "of one row" if size == 1 else "of rows",
                    *slots.describe("among", scope, words),
                    *slots.describe("said", said, words),
                ),
                slots.cells(exceptions, said[0].column),
                reason,
                (first, size_end),
            )


def only(slots: Slots) -> Iterator[Computed]:
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
                yield Computed(
                    "only",
                    bool(own & rows) and not others,
                    range_set(*words).union(*(f.used for f in free)),
                    (
                        "who first" if who[0].first < said[0].first else "who last",
                        *(["only a number"] if number else []),
                        *slots.describe("who", who, words),
                        *slots.describe("said", said, words),
                    ),
                    slots.cells(rows or own, said[0].column),
                    f"also {name_rows(slots.frame, others)}"
                    if others
                    else f"{number_of(len(rows))}",
                    words,
                )
