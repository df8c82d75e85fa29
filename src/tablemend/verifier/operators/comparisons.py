"""Two rows or groups compared, and one row that has all that a clause names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from tablemend.programs.execute import locate, read_range
from tablemend.records import ClaimError
from tablemend.values.cells import is_blank
from tablemend.values.text import fold
from tablemend.verifier.lexicon import RESULTS, Cue, opposite
from tablemend.verifier.number_agreement import (
    counts_in_its_unit,
    digits,
    fits,
    hedge_of,
    ratio_hedge,
    shown,
    spelled,
)
from tablemend.verifier.operators.slots import (
    Derivation,
    Ordering,
    Slots,
    name_rows,
    orderings,
    reaches_ratio,
)
from tablemend.verifier.sentence_links import RowFilter, StatedNumber, range_set, within

_INSTEAD_OF_THAN = frozenset("as to over compared from".split())
_OTHERS = frozenset("any all every each other others else everyone rest".split())
_SIDES = dict.fromkeys("above over exceeded exceeds beat topped".split(), "above")
_SIDES |= dict.fromkeys("below under missed beneath".split(), "below")
_SIDES |= {"within": "within", "inside": "within", "outside": "outside"}


def comparisons(slots: Slots) -> Iterator[Derivation]:
    """As in "A scored 5 more points than B", "more wins than any other", "A came before B"."""
    frame = slots.frame
    for cue, first, last in slots.cues("comparative", "temporal"):
        timed = cue.kind == "temporal"
        if not cue.direction or (timed and cue.sense not in ("before", "after", "early", "late")):
            continue
        if timed and frame.words[last : last + 1] and frame.words[last][0].isdigit():
            continue  # "after 2:29:47"
        than = next((p for p in range(first, len(frame.words)) if frame.words[p] == "than"), None)
        if than is None:
            behind = range(last - 1, len(frame.words))
            than = next((p for p in behind if frame.words[p] in _INSTEAD_OF_THAN), last - 1)
            if timed or cue.sense in ("exceed", "lead"):
                than = last - 1
        if than - last > 6:
            continue
        comparison = _Comparison(slots, cue, (first, last), than)
        columns = orderings(frame, cue, first, min(last, than) or last)
        if timed:
            known = range_set(first, last), ("column of time",)
            timing = [c for c in slots.view.columns if c.temporal or c.ranking][:2]
            columns = [Ordering(c, cue.direction, *known, c.ordered) for c in timing]
        yield from comparison.of_columns()
        for ordering in columns:
            yield from comparison.of_rows(ordering)
        if cue.sense in ("many", "few", "little"):
            yield from comparison.of_counts()


class _Comparison(NamedTuple):
    """The words of a comparison; ``than`` is where "than" stands, or what stands for it."""

    slots: Slots
    cue: Cue
    words: tuple[int, int]
    than: int

    def difference(self) -> StatedNumber | None:
        """The 5 of "5 more points", of "5 points more" and of "more points than B by 5"."""
        frame, first = self.slots.frame, self.words[0]
        for stated in frame.amounts if first < len(frame.words) else ():
            before = 0 <= first - stated.last <= 1 and stated.amount.role == "value"
            if before and not set("(),;") & set(frame.between(stated.last - 1, first)):
                return stated
            if stated.first > first and frame.words[stated.first - 1] == "by":
                return stated
        return None

    def of_rows(self, ordering: Ordering) -> Iterator[Derivation]:
        """Two rows or groups, or a row and all others, by one column."""
        slots, words, than = self.slots, self.words, self.than
        frame, column, of = slots.frame, ordering.column, ordering.ordered.of
        amount = self.difference()
        if amount and not counts_in_its_unit(frame, column, amount):
            return
        taken = ordering.used | range_set(*words)
        taken |= amount.tokens if amount else frozenset()
        free = [f for f in slots.filters if not f.used & taken and f.column != column.index]
        left = [f for f in free if f.last <= max(words[0], than)][-4:]
        right = [f for f in slots.every if not f.used & taken and f.column != column.index]
        right = [f for f in right if f.first > than][:2]  # "than in 2020" too
        rest = frozenset(frame.words[than + 1 : than + 5])
        if left and not right and rest & _OTHERS:
            yield from self.with_all_others(ordering, left[-1])
        if right and not left and {"no", "none"} & set(frame.words[: words[0]]):
            yield from self.with_all_others(ordering, right[0], ties=True)
        for one, other in product(left, right):
            if one.rows == other.rows:
                continue
            scope = [f for f in free if f is not one and f is not other and f.column != one.column]
            for among in ([], scope) if scope else ([],):
                sides = [
                    [of[row] for row in within(among, f.rows) if row in of] for f in (one, other)
                ]
                if not all(sides) or (max(map(len, sides)) > 1 and not column.adds_up):
                    continue
                features = [
                    *ordering.features,
                    "compares sums" if max(map(len, sides)) > 1 else "compares cells",
                    "sides of one column" if one.column == other.column else "sides of two columns",
                    "left nearest" if one is left[-1] else "left farther",
                    "right nearest" if other is right[0] else "right farther",
                    "with than" if frame.words[than] == "than" else "without than",
                    *slots.describe("among", among, words),
                ]
                used = (taken | one.used | other.used | {than}).union(*(f.used for f in among))
                values = sum(sides[0]), sum(sides[1])
                yield self.outcome(ordering, values, (one, other), amount, used, features)

    def of_counts(self) -> Iterator[Derivation]:
        """As in "more players from Spain than from France": how often each occurs."""
        slots, amount = self.slots, self.difference()
        taken = range_set(*self.words) | (amount.tokens if amount else frozenset())
        free = [f for f in slots.filters if not f.used & taken]
        for other in [f for f in free if f.first > self.than][:1]:
            same = [f for f in free if f.last <= self.than and f.column == other.column]
            for one in [f for f in same if f.rows != other.rows][-1:]:
                scope = [f for f in free if f is not one and f is not other]
                column = slots.view.columns[one.column]
                ordering = Ordering(column, self.cue.direction, taken, (), column.ordered)
                counts = float(len(within(scope, one.rows))), float(len(within(scope, other.rows)))
                if sum(counts) > 0 and max(len(one.rows), len(other.rows)) > 1:
                    known = ["compares counts", *slots.describe("among", scope, self.words)]
                    used = taken.union({self.than}, *(f.used for f in (one, other, *scope)))
                    yield self.outcome(ordering, counts, (one, other), amount, used, known)

    def of_columns(self) -> Iterator[Derivation]:
        """As in "more gold than silver medals": two columns of one row."""
        slots, words, than = self.slots, self.words, self.than
        columns = slots.view.columns
        named = [h for h in slots.frame.headings if columns[h.column].measured]
        left = [h for h in named if words[1] <= h.first < than]
        left = left or [h for h in named if h.last <= words[0]]
        right = [h for h in named if 0 < h.first - than <= 3]
        if not left or not right or left[0].column == right[0].column:
            return
        one, other = columns[left[0].column], columns[right[0].column]
        if one.kind != other.kind or one.temporal or one.kind == "score":
            return
        taken = left[0].tokens | right[0].tokens | range_set(*words) | {than}
        who = slots.free(taken)
        rows = within(who, slots.frame.rows) & one.ordered.of.keys() & other.ordered.of.keys()
        if len(rows) != 1:
            return
        (row,) = rows
        sides = tuple(
            RowFilter(h.first, h.last, frozenset(rows), taken, h.share, h.column)
            for h in (left[0], right[0])
        )
        ordering = Ordering(one, self.cue.direction, taken, (), one.ordered)
        values = one.ordered.of[row], other.ordered.of[row]
        amount = self.difference()
        used = taken.union(*(f.used for f in who), amount.tokens if amount else ())
        known = ["compares columns", *slots.describe("who", who, words)]
        yield self.outcome(ordering, values, sides, amount, used, known)

    def outcome(
        self,
        ordering: Ordering,
        values: tuple[float, float],
        sides: Sequence[RowFilter],
        amount: StatedNumber | None,
        used: frozenset[int],
        features: Sequence[str],
    ) -> Derivation:
        """Two values compared; where the first is more, also by how much."""
        slots, cue, words, column = self.slots, self.cue, self.words, ordering.column
        one, other = values
        gap = (one - other) * ordering.direction
        truth = gap > 1e-9
        if cue.sense == "multiple":
            factor = float(cue.number or 2)
            larger, smaller = (one, other) if cue.direction > 0 else (other, one)
            hedge, hedged = ratio_hedge(slots.frame, words[0])
            used |= hedged
            truth = bool(smaller) and reaches_ratio(larger / smaller / factor - 1, hedge)
            amount = None
        told = [
            f"{slots.frame.text(*side.span)} {shown(column, value)}"
            for side, value in zip(sides, values, strict=True)
        ]
        reason = f"{column.header}: {', '.join(told)}"
        cells = [cell for side in sides for cell in slots.cells(side.rows, column.index)[:3]]
        turned = opposite(slots.frame.text(*words)) if gap else ""
        fault, expected = words, (turned,) if turned else ()
        error: ClaimError = "TMP" if cue.kind == "temporal" else "CMP"
        known, decided = tuple(features), tuple(cells)
        # "3 years before" is no number of days
        if amount is not None and truth and column.kind not in ("date", "time", "span"):
            truth = fits(column, abs(gap), amount, hedge_of(slots.frame, amount))
            known += ("with its difference",)
            reason += f", difference {digits(abs(gap))}"
            fault, expected, error = amount.span, (spelled(column, abs(gap), amount),), "NUM"
        return Derivation("compare", truth, used, known, decided, reason, fault, expected, error)

    def with_all_others(
        self, ordering: Ordering, who: RowFilter, ties: bool = False
    ) -> Iterator[Derivation]:
        """As in "more points than any other team"; of "no other team had more than A" as well."""
        of, column, than = ordering.ordered.of, ordering.column, self.than
        own = [of[row] for row in who.rows if row in of]
        rest = [value for value, row in ordering.ordered.values if row not in who.rows]
        if len(own) != 1 or not rest:
            return
        best = max(rest) if ordering.direction > 0 else min(rest)
        truth = (own[0] - best) * ordering.direction > (-1e-9 if ties else 1e-9)
        used = ordering.used | range_set(*self.words) | who.used | range_set(than, than + 4)
        described = self.slots.describe("who", [who], self.words)
        known = (*ordering.features, "with all others", *described)
        reason = f"{column.header}: {shown(column, own[0])}, best other {shown(column, best)}"
        cells = self.slots.cells(who.rows, column.index)
        yield Derivation("compare", truth, used, known, cells, reason, self.words)


def references(slots: Slots) -> Iterator[Derivation]:
    """As in "sodium was above the reference range", "revenue came in below the consensus"."""
    frame, columns = slots.frame, slots.view.columns
    for place, word in enumerate(frame.words):
        side = _SIDES.get(word)
        norm = next((h for h in frame.headings if 0 <= h.first - place - 1 <= 2), None)
        if side is None or norm is None:
            continue
        words = (place, place + 1)
        named = [columns[h.column] for h in frame.headings if h.column != norm.column]
        values = [c for c in named if c.kind == "number"] or [
            c for c in columns if c.kind == "number" and c.index != norm.column
        ]
        taken = range_set(*words) | norm.tokens
        free = [
            f for f in slots.free(taken, norm.column) if f.column not in {c.index for c in values}
        ]
        who = [f for f in free if f.column == slots.view.key] or free
        rows = [row for row in within(who, frame.rows) if columns[norm.column].cell(row)]
        if len(rows) != 1 or not values:
            continue
        (row,), column = rows, values[0]
        low, high = read_range(columns[norm.column].cell(row))
        if low is None and high is None:
            low = high = columns[norm.column].ordered.of.get(row)
        value = column.ordered.of.get(row)
        if value is None or (low is None and high is None):
            continue
        found = locate(value, low, high)
        truth = found != "within" if side == "outside" else found == side
        used = taken.union(slots.heading_tokens(column.index), *(f.used for f in who))
        known = (side, *slots.describe("who", who, words))
        cells = (row, column.index), (row, norm.column)
        reason = ", ".join(f"{c.header} {c.cell(row)}" for c in (column, columns[norm.column]))
        right = (found,) if word in _SIDES.values() else ()
        yield Derivation("reference", truth, used, known, cells, reason, words, right)


# ---- one row that has it all

_WHOLE = frozenset({"quantifier", "superlative", "comparative"})
_LOCAL = frozenset("equal different beat several some any one_of compare lead record".split())
_MOST = 8
"""Names of a clause; of one with more no single row is meant."""


def _of_all(
    slots: Slots,
    named: Sequence[RowFilter],
    listed: RowFilter,
    used: frozenset[int],
    features: Sequence[str],
) -> Iterator[Derivation]:
    """As in "A, B and C have D": each of them, where the names are names of rows."""
    rest = [f for f in named if f is not listed]
    if len(rest) != 1 or listed.column != slots.view.key or rest[0].members:
        return
    column = slots.view.columns[rest[0].column]
    missing = frozenset[int]().union(*(m for m in listed.members if not m & rest[0].rows))
    told = ", ".join(f"{slots.view.cell(r, slots.view.key)} {column.cell(r)}" for r in missing)
    known, cells = (*features, "not of each"), slots.cells(missing, column.index)
    reason, fault = f"{column.header}: {told}", rest[0].span
    yield Derivation("together", False, used, known, cells, reason, fault, (), "REL")


def together(slots: Slots) -> Iterator[Derivation]:
    """As in "A of B scored 5 on Monday", "A has more than 5 points": one row has all of it."""
    frame = slots.frame
    if "respectively" in frame.words:
        return
    for first, last in frame.own_clauses or {(0, len(frame.words)), *frame.clauses}:
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
            yield Derivation("together", True, used, tuple(features), cells, reason)
            continue
        for wrong in named:
            rest = [f for f in named if f is not wrong and f.rows]
            others = within(rest, frame.rows)
            if not rest or not 0 < len(others) <= 3 or wrong.rows == others:
                continue
            row = min(others)
            column = slots.view.columns[wrong.column]
            said, right = frame.text(wrong.first, wrong.last), column.cell(row)
            total = sum(column.ordered.of.get(row, 0.0) for row in others)
            sums = [s for s in frame.amounts if wrong.first <= s.first < wrong.last]
            sums = [s for s in sums if not s.amount.hedge and fits(column, total, s)]
            if sums and column.adds_up and len(others) > 1:
                continue  # "the two with 4,090 units"
            denied = min(wrong.used) < wrong.first
            same = fold(right) == fold(said)
            rather = "" if same else f", not {said}"
            if is_blank(right) or (same and not denied):
                continue
            sort = "time" if column.temporal else "amount" if column.adds_up else "name"
            known = (*features, f"wrong {sort}", f"{len(others)} left")
            cells = tuple((row, c) for c in columns)
            reason = f"{column.header} of {name_rows(frame, others)}: {right}{rather}"
            expected = () if same or len(others) > 1 or column.flags else (right,)
            error: ClaimError = "NUM" if column.adds_up else "REL"
            error = "TMP" if column.temporal else error
            fault = wrong.span
            yield Derivation("together", False, used, known, cells, reason, fault, expected, error)
