"""Two things compared: which has more, by how much, how many times as much, or the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tablemend.claims.cues import Cue, find_cues
from tablemend.verifier.logic.amounts import digits
from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.mentions import StatedNumber
from tablemend.verifier.logic.outcome import Outcome
from tablemend.verifier.logic.row_filter import RowFilter, range_set, within
from tablemend.verifier.logic.sides import Side, compare
from tablemend.verifier.logic.superlatives import Ordering, noun_phrase_end, orderings
from tablemend.verifier.logic.vocabulary import LOWER_IS_BETTER

_THAN = frozenset("than as to over compared against from versus vs".split())
_TIMES = frozenset({"before", "after", "early", "late"})
_PLACES = frozenset("spot spots place places position positions rank ranks".split())
_NO_OTHER = frozenset({("no", "other"), ("none", "other"), ("no", "one")})
_ON = frozenset("on in of for by regarding at".split())
_ANY = frozenset("any all every each other others else everyone rest".split())


def comparisons(frame: Frame, found: Sequence[RowFilter]) -> Iterator[Outcome]:
    """Every reading of every comparative with "than", and of before and after."""
    for cue in frame.cues:
        timed = cue.kind == "temporal" and cue.sense in _TIMES
        if not timed and (cue.kind != "comparative" or cue.direction == 0):
            continue
        first, last = frame.token_range(cue.start, cue.end)
        if first == last:
            continue
        than = _than(frame, first)
        if timed or cue.sense in ("exceed", "lead"):
            than = last - 1
        if than is None or than - last > 6:
            continue
        yield from _columns_compared(frame, found, cue, (first, last), than)
        for ordering in _orderings(frame, cue, first, last, timed):
            yield from _rows_compared(frame, found, cue, (first, last), than, ordering)
        if cue.sense in ("many", "few", "little"):
            yield from _counts_compared(frame, found, cue, (first, last), than)


def _than(frame: Frame, first: int) -> int | None:
    """The "than" that a comparative stands before, or what can stand for it."""
    behind = [place for place in range(first, len(frame.words)) if frame.words[place] in _THAN]
    return next(
        (place for place in behind if frame.words[place] == "than"), min(behind, default=None)
    )


def _orderings(frame: Frame, cue: Cue, first: int, last: int, timed: bool) -> list[Ordering]:
    near = set(frame.words[max(0, first - 2) : last + 2])
    ranked = [column for column in frame.view.columns if column.ranking]
    if near & _PLACES and ranked:
        direction = 1 if cue.sense in ("after", "late") else -1
        if not timed:
            direction = -cue.direction
        used = range_set(first, last) | {
            place for place in range(max(0, first - 2), last) if frame.words[place] in _PLACES
        }
        return [Ordering(ranked[0], direction, 0.8, used, ranked[0].ordered)]
    if timed:
        return [
            Ordering(column, cue.direction, 0.7, range_set(first, last), column.ordered)
            for column in frame.view.columns
            if column.temporal
        ][:2]
    if (change := _change_before(frame, first)) is not None:
        return _by_growth(frame, cue, change, first, last)
    found = orderings(frame, cue, first, last)[:3]
    return found or _named_behind(frame, cue, first, last)


def _change_before(frame: Frame, first: int) -> Cue | None:
    """The verb of change that a comparative stands behind: "grew faster than"."""
    for cue in frame.cues:
        behind = frame.token_range(cue.start, cue.end)[1] == first
        if cue.kind == "change" and cue.direction and behind:
            return cue
    return None


def _by_growth(frame: Frame, cue: Cue, change: Cue, first: int, last: int) -> list[Ordering]:
    """As in "grew faster than": by a column of growths, and by no level."""
    said = frame.token_range(change.start, change.end)
    columns = [
        column
        for column in frame.view.columns
        if column.adds_up and any(c.kind == "change" for c in find_cues(column.header))
    ]
    if len(columns) != 1:
        return []
    used = range_set(*said) | range_set(first, last)
    direction = cue.direction * change.direction
    return [Ordering(columns[0], direction, 0.8, used, columns[0].ordered)]


def _named_behind(frame: Frame, cue: Cue, first: int, last: int) -> list[Ordering]:
    """As in "A outperforms B on accuracy", "A is better than B in terms of accuracy"."""
    worded = frame.text(first, last).casefold()
    valued = cue.sense in ("good", "bad") or worded.startswith(("out", "under"))
    for heading in frame.headings:
        column = frame.view.columns[heading.column]
        if heading.first < last or heading.share < 0.5 or column.kind != "number":
            continue
        before = frame.words[max(0, heading.first - 4) : heading.first]
        if _ON.isdisjoint(before):
            continue
        turned = column.ranking or (valued and not LOWER_IS_BETTER.isdisjoint(column.terms))
        used = range_set(first, last) | range_set(heading.first, heading.last)
        direction = -cue.direction if turned else cue.direction
        return [Ordering(column, direction, 0.9, used, column.ordered)]
    return []


def _sides(
    frame: Frame, found: Sequence[RowFilter], first: int, than: int, taken: frozenset[int]
) -> tuple[list[RowFilter], list[RowFilter]]:
    """What stands before the comparative and what after "than"."""
    free = [condition for condition in found if not condition.used & taken]
    left = [condition for condition in free if condition.last <= max(first, than)]
    right = [condition for condition in free if condition.first > than]
    return left, right


def _rows_compared(
    frame: Frame,
    found: Sequence[RowFilter],
    cue: Cue,
    words: tuple[int, int],
    than: int,
    ordering: Ordering,
) -> Iterator[Outcome]:
    """As in "A scored more points than B": one row each, or the sum of several."""
    first, last = words
    taken = ordering.used | range_set(first, last)
    named = [c for c in found if c.column != ordering.column.index]
    left, right = _sides(frame, named, first, than, taken)
    amount = _difference_stated(frame, first)
    left = [c for c in left if amount is None or not range_set(amount.first, amount.last) & c.used]
    if not left and right and _NO_OTHER & set(pairwise(frame.words[:first])):
        yield from _above_all(frame, cue, words, than, ordering, right[:1])
        return
    if not left:
        return
    if not right and set(frame.words[than + 1 : than + 4]) & _ANY:
        yield from _above_all(frame, cue, words, than, ordering, left)
        return
    if not right:
        return
    one, other = left[-1], right[0]
    if one.column != other.column:
        shared = [c for c in left if c.column == other.column]
        one = shared[-1] if shared else one
    scope = [c for c in left if c is not one] + right[1:]
    rows = within(scope, frame.rows)
    sides = [_side(ordering, one, rows), _side(ordering, other, rows)]
    if sides[0] is None or sides[1] is None or one.rows == other.rows:
        return
    yield compare(frame, cue, words, ordering, (sides[0], sides[1]), amount, scope, found)


def _side(ordering: Ordering, condition: RowFilter, scope: frozenset[int]) -> Side | None:
    column, of = ordering.column, ordering.ordered.of
    rows = condition.rows & scope or condition.rows
    values = [of[row] for row in rows if row in of]
    if not values or (len(values) > 1 and not column.adds_up):
        return None
    how = "cell" if len(values) == 1 else "sum"
    fit = condition.fit if len(values) == 1 else condition.fit - 0.3
    return Side(sum(values), rows, condition.used, fit, condition.first, condition.last, how)


def _difference_stated(frame: Frame, first: int) -> StatedNumber | None:
    """The 5 of "5 more points" and of "5 points more"."""
    for stated in frame.amounts:
        if not 0 <= first - stated.last <= 1 or stated.amount.role != "value":
            continue
        if stated.last <= first and "," in frame.between(stated.last - 1, first):
            continue  # "stood at 255, more than in 2020"
        bracketed = ")" in frame.reading.plain[frame.tokens[stated.last - 1].end :][:1]
        if not bracketed and (stated.last == first or stated.last not in frame.verbs):
            return stated
    return None


def _counts_compared(
    frame: Frame, found: Sequence[RowFilter], cue: Cue, words: tuple[int, int], than: int
) -> Iterator[Outcome]:
    """As in "more players from Spain than from France": how often each occurs."""
    first, last = words
    amount = _difference_stated(frame, first)
    taken = range_set(first, last)
    if amount:
        taken |= range_set(amount.first, amount.last)
    free = [condition for condition in found if not condition.used & taken]
    right = [condition for condition in free if condition.first > than]
    left = [condition for condition in free if condition.last <= than]
    if not right or not left:
        return
    other = right[0]
    same = [c for c in left if c.column == other.column and c.rows != other.rows]
    if not same:
        return
    one = same[-1]
    scope = frame.rows
    rest = [c for c in free if c is not one and c is not other]
    for condition in rest:
        scope &= condition.rows
    if len(one.rows) < 2 and len(other.rows) < 2:
        return
    end = noun_phrase_end(frame, last)
    if any(
        frame.view.columns[h.column].measured and not frame.view.columns[h.column].counter
        for h in frame.headings_in(last, end)
    ):
        return
    column = frame.view.columns[one.column]
    ordering = Ordering(column, cue.direction, 0.8, range_set(*words), column.ordered)
    sides = []
    if not scope & (one.rows | other.rows):
        return
    for condition in (one, other):
        rows = condition.rows & scope
        sides.append(
            Side(
                float(len(rows)),
                rows,
                condition.used,
                condition.fit,
                condition.first,
                condition.last,
                "count",
            )
        )
    yield compare(frame, cue, words, ordering, (sides[0], sides[1]), amount, rest)


def _columns_compared(
    frame: Frame, found: Sequence[RowFilter], cue: Cue, words: tuple[int, int], than: int
) -> Iterator[Outcome]:
    """As in "more gold than silver medals": two columns of one row."""
    first, last = words
    end = noun_phrase_end(frame, last)
    columns = frame.view.columns
    left = [h for h in frame.headings_in(last, end) if columns[h.column].measured]
    left = left or [h for h in frame.headings_in(0, first) if columns[h.column].measured]
    right = [h for h in frame.headings_in(than + 1, len(frame.words)) if columns[h.column].measured]
    if not left or not right or left[0].column == right[0].column:
        return
    if right[0].first - than > 3:
        return
    one, other = columns[left[0].column], columns[right[0].column]
    if one.kind != other.kind or one.temporal or one.kind == "score":
        return
    taken = range_set(left[0].first, left[0].last) | range_set(right[0].first, right[0].last)
    named = [c for c in found if not c.used & (taken | range_set(*words))]
    rows = frame.rows
    for condition in named:
        rows &= condition.rows
    both = [r for r in sorted(rows) if r in one.ordered.of and r in other.ordered.of]
    if not both or not named or len(both) > 1:
        return
    row = both[0]
    sides = (
        Side(
            one.ordered.of[row], frozenset({row}), taken, 1.0, left[0].first, left[0].last, "cell"
        ),
        Side(
            other.ordered.of[row],
            frozenset({row}),
            taken,
            1.0,
            right[0].first,
            right[0].last,
            "cell",
        ),
    )
    direction = -cue.direction if one.ranking else cue.direction
    ordering = Ordering(
        one, direction, 0.6 + 0.4 * min(left[0].share, right[0].share), taken, one.ordered
    )
    yield compare(frame, cue, words, ordering, sides, _difference_stated(frame, first), named)


def _above_all(
    frame: Frame,
    cue: Cue,
    words: tuple[int, int],
    than: int,
    ordering: Ordering,
    left: Sequence[RowFilter],
) -> Iterator[Outcome]:
    """As in "more points than any other team"."""
    column = ordering.column
    one = left[-1]
    of = ordering.ordered.of
    own = [of[row] for row in one.rows if row in of]
    rest = [value for value, row in ordering.ordered.values if row not in one.rows]
    if len(own) != 1 or not rest:
        return
    top = max(rest) if ordering.direction > 0 else min(rest)
    truth = (own[0] - top) * ordering.direction > 1e-9
    used = ordering.used | range_set(*words) | one.used | range_set(than, than + 4)
    used |= frozenset(i for i, word in enumerate(frame.words) if word in ("no", "other"))
    name = frame.text(one.first, one.last)
    reason = f"{column.header}: {name} {digits(own[0])}, best other {digits(top)}"
    cells = tuple((row, column.index) for row in sorted(one.rows))
    yield Outcome(
        "comparison",
        truth,
        used,
        min(one.fit, ordering.fit),
        cells,
        reason,
        None if truth else words,
        (),
        "CMP",
    )
