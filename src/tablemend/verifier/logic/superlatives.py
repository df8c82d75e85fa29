"""Superlatives and ranks by a quality: "the highest attendance", "second most goals"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tablemend.claims.cues import Cue
from tablemend.verifier.lexicon import LITTLE_WORDS
from tablemend.verifier.logic.amounts import spelled, states
from tablemend.verifier.logic.frame import Frame
from tablemend.verifier.logic.index import ColumnIndex, Ordered
from tablemend.verifier.logic.mentions import ColumnMention, StatedNumber
from tablemend.verifier.logic.naming import name_rows
from tablemend.verifier.logic.outcome import Outcome
from tablemend.verifier.logic.row_filter import RowFilter, range_set, within
from tablemend.verifier.logic.vocabulary import (
    AGAINST,
    LOWER_IS_BETTER,
    QUALITIES,
    THINGS,
    Quality,
    opposite,
)

_NP_ENDS = frozenset(
    "in of for by during from at with to against on among between be is are was were have has had "
    "who which that when where and but than as while over under after before do did does".split()
)
_MEASURES_OF = frozenset("number amount total percentage share rate sum count level value".split())
_IN_TIME = frozenset({"first", "last", "early", "late", "recent", "new", "old", "young"})
_FOLLOWER = 5  # tokens from "followed" to the name: "followed very closely by the"
_UNCLEAR = frozenset({"near", "far"})
_IDIOM = re.compile(
    r"\b(?:hit|reach(?:ed)?|(?:was|were|be|is|are) at) (?:a|its|their) "
    r"(low|high|minimum|maximum|peak|trough)\b|\bbottomed out\b"
)
_GOOD = frozenset({"good", "bad"})
_OF_SIZE = frozenset({"large", "small"})
_PHYSICAL = frozenset("long short tall heavy light old young wide deep fast slow".split())
"""What no column can be without saying so: a salary is no "longest"."""
_CONCEDING = frozenset("conceded concede concedes allowed allow allows conceding allowing".split())
_SCORING = frozenset("scored score scores scoring".split())


@dataclass(frozen=True, slots=True)
class Ordering:
    """A column that a word of order can speak of.

    Attributes:
        column: the column.
        direction: 1 where more of the quality is a larger value.
        fit: 1 where the column is named, less where it is guessed.
        used: the tokens that name it.
        ordered: its cells as the word orders them.
    """

    column: ColumnIndex
    direction: int
    fit: float
    used: frozenset[int]
    ordered: Ordered


def noun_phrase_end(frame: Frame, first: int) -> int:
    """Where the nouns end that begin at a token; "number of goals" is one."""
    place = first
    while place < len(frame.words):
        if place > first and any(mark in frame.between(place - 1, place) for mark in ",;:("):
            break
        word = frame.words[place]
        if word in _NP_ENDS and not (
            word == "of" and place > first and frame.words[place - 1] in _MEASURES_OF
        ):
            break
        place += 1
    return place


def orderings(frame: Frame, cue: Cue, first: int, last: int) -> list[Ordering]:
    """The columns that a superlative or comparative at some tokens can speak of, best first."""
    end = last if frame.words[last - 1] == "than" else noun_phrase_end(frame, last)
    sense, used = cue.sense, frozenset(range(first, last))
    adjective = frame.words[last] if last < end else ""
    if sense in ("many", "little") and adjective in QUALITIES:
        sense, used = adjective, used | {last}
    elif sense in ("many", "little") and adjective in ("common", "frequent", "often"):
        return []
    if sense in _UNCLEAR:
        return []
    quality = QUALITIES.get(sense, Quality())
    found: list[Ordering] = []
    behind = [h for h in frame.headings_in(last, len(frame.words)) if h.first < end]
    for heading in behind:
        column = frame.view.columns[heading.column]
        tokens = used | frozenset(range(heading.first, heading.last))
        fit = 0.6 + 0.25 * heading.share + 0.15 * frame.context(column)
        found.append(
            Ordering(
                column, _direction(column, cue, sense, quality), fit, tokens, column.order_of(sense)
            )
        )
    if not found and end == last:
        for heading in reversed(frame.headings_in(0, first)):
            column = frame.view.columns[heading.column]
            tokens = used | frozenset(range(heading.first, heading.last))
            fit = 0.4 + 0.4 * heading.share
            found.append(
                Ordering(
                    column,
                    _direction(column, cue, sense, quality),
                    fit,
                    tokens,
                    column.order_of(sense),
                )
            )
    for column in frame.view.columns:
        if not quality.about.isdisjoint(column.terms):
            found.append(
                Ordering(
                    column,
                    _direction(column, cue, sense, quality),
                    0.65,
                    used,
                    column.order_of(sense),
                )
            )
        elif sense in _GOOD and column.ranking:
            found.append(
                Ordering(
                    column,
                    _direction(column, cue, sense, quality),
                    0.6,
                    used,
                    column.order_of(sense),
                )
            )
    nouns = set(frame.words[last:end]) - LITTLE_WORDS - THINGS
    if not found and not nouns and sense not in _PHYSICAL:
        plain = [column for column in frame.view.columns if column.adds_up]
        if len(plain) == 1:
            column = plain[0]
            found.append(
                Ordering(
                    column,
                    _direction(column, cue, sense, quality),
                    0.4,
                    used,
                    column.order_of(sense),
                )
            )
    timed = sense in _IN_TIME
    measured = any(o.column.measured and o.column.temporal <= timed for o in found)
    if not measured and (measure := _measure_named(frame, sense, end)) is not None:
        column = frame.view.columns[measure.column]
        tokens = used | range_set(measure.first, measure.last)
        direction = _direction(column, cue, sense, quality)
        found.append(Ordering(column, direction, 0.9, tokens, column.order_of(sense)))
    seen: dict[int, Ordering] = {}
    for ordering in found:
        known = seen.get(ordering.column.index)
        column = ordering.column
        if (column.counter or column.temporal) and sense not in _IN_TIME:
            continue
        dated = column.temporal or column.counter or "age" in column.terms
        if sense in _IN_TIME and not dated:
            continue  # "the most recent" is no number of seasons
        usable = column.measured and column.kind != "score" and ordering.direction != 0
        if usable and (known is None or known.fit < ordering.fit):
            seen[ordering.column.index] = ordering
    best = sorted(seen.values(), key=lambda ordering: -ordering.fit)
    return _conceded(frame, best) if _concedes(frame, first) else best


def _concedes(frame: Frame, first: int) -> bool:
    """Whether what is compared is conceded: "allowed more points than"."""
    before = frame.words[frame.clause(first)[0] : first]
    verbs = [word for word in before if word in _CONCEDING | _SCORING]
    return bool(verbs) and verbs[-1] in _CONCEDING


def _conceded(frame: Frame, found: list[Ordering]) -> list[Ordering]:
    """The columns of what is conceded in place of those of what is scored."""
    against = [c for c in frame.view.columns if c.adds_up and AGAINST.intersection(c.terms)]
    kept = [ordering for ordering in found if ordering.column in against]
    if kept or not found or len(against) != 1:
        return kept
    (column,) = against
    return [replace(found[0], column=column, ordered=column.ordered)]


def _measure_named(frame: Frame, sense: str, end: int) -> ColumnMention | None:
    """The column that is named behind the noun: "second-best by revenue", "with 45 beds"."""
    by = frame.words[end : end + 3]
    place = end + (1 if by[:1] == ("by",) else 3 if by == ("in", "terms", "of") else 0)
    for heading in frame.headings_in(end, len(frame.words)):
        column = frame.view.columns[heading.column]
        if heading.share < 0.5 or not column.adds_up:
            continue
        if place > end and heading.first - place <= 1:
            return heading
        with_amount = any(s.last == heading.first for s in frame.amounts if s.first >= end)
        if sense in _OF_SIZE and with_amount:
            return heading
    return None


def _direction(column: ColumnIndex, cue: Cue, sense: str, quality: Quality) -> int:
    """Which way more of the quality lies in a column; 0 where nobody can say."""
    turned = not quality.inverse.isdisjoint(column.terms) or (
        sense in ("high", "low", "good", "bad") and column.ranking
    )
    if sense in _GOOD and (column.kind == "time" or not LOWER_IS_BETTER.isdisjoint(column.terms)):
        turned = True
    return -cue.direction if turned else cue.direction


def superlatives(frame: Frame, found: Sequence[RowFilter]) -> Iterator[Outcome]:
    """Every reading of every superlative."""
    border = _followed(frame)
    own = [c for c in found if c.first < border]
    after = next((c for c in found if 2 <= c.first - border <= _FOLLOWER), None)
    for cue in (*frame.cues, *_idioms(frame)):
        by_quality = cue.kind == "rank" and cue.sense in QUALITIES
        if cue.kind != "superlative" and not by_quality:
            continue
        first, last = frame.token_range(cue.start, cue.end)
        if first == last:
            continue
        if "than" in frame.words[frame.clause(first)[0] : first]:
            continue  # "more than the one with the lowest": nested
        number = cue.number if by_quality and cue.number else 1
        if first and not by_quality and (ordinal := frame.ordinal(first - 1)):
            first, number = first - 1, ordinal
        for ordering in orderings(frame, cue, first, last)[:3]:
            for scope, claimed in _splits(frame, own, first, last, ordering):
                claimed = [c for c in claimed if not c.first > border >= last]
                yield from _verify(frame, number, (first, last), ordering, scope, claimed, after)


def _followed(frame: Frame) -> int:
    """The token of "followed" in "A has the most, followed by B"; the number of tokens without."""
    pairs = zip(frame.words, frame.words[1:], strict=False)
    places = (place for place, pair in enumerate(pairs) if pair == ("followed", "by"))
    return next(places, len(frame.words))


def _idioms(frame: Frame) -> Iterator[Cue]:
    """As in "revenue hit a low", "sales bottomed out"."""
    start, end = frame.links.span
    for match in _IDIOM.finditer(frame.reading.plain, start, end):
        if not any(
            c.start < match.end() and match.start() < c.end
            for c in frame.cues
            if c.kind in ("superlative", "rank")
        ):
            low = match[1] in ("low", "minimum", "trough", None)
            yield Cue(
                "superlative",
                "low" if low else "high",
                -1 if low else 1,
                match.start(),
                match.end(),
            )


def _splits(
    frame: Frame, found: Sequence[RowFilter], first: int, last: int, ordering: Ordering
) -> Iterator[tuple[list[RowFilter], list[RowFilter | StatedNumber]]]:
    """What narrows the rows down, and what is claimed of the extreme row.

    "A have the most B in C": what stands before the verb is claimed, what follows narrows down.
    "The most B in C be A": the other way round.
    """
    named = [
        condition
        for condition in found
        if not range_set(condition.first, condition.last) & ordering.used
    ]
    taken = ordering.used.union(*(condition.used for condition in named))
    free: list[RowFilter | StatedNumber] = [
        stated
        for stated in frame.amounts
        if not range_set(stated.first, stated.last) & taken
        and not _in_header(ordering.column, stated)
        and (stated.amount.role != "year" or ordering.column.temporal)
    ]
    verbs = frame.verbs
    if min(ordering.used) < first:  # "A's revenue was highest in 2004", "peaked in 2004"
        own = ordering.column.index  # "A has 60 points, the most of all"
        scope = [c for c in named if c.last <= first and c.column != own]
        behind: list[RowFilter | StatedNumber] = [c for c in named if c.first >= last]
        values: list[RowFilter | StatedNumber] = [s for s in free if s.first >= last]
        values += [c for c in named if c.last <= first and c.column == own]
        if behind:
            yield scope, [*behind, *values]
        elif scope:
            timed = [c for c in scope if frame.view.columns[c.column].temporal]
            who = timed[-1] if timed else scope[-1]
            yield [c for c in scope if c is not who], [who, *values]
        return
    before = [place for place in verbs if place < first]
    after = [place for place in verbs if place >= last]
    if before and any(condition.last <= before[-1] for condition in named):
        verb = before[-1]
        claimed: list[RowFilter | StatedNumber] = [c for c in named if c.last <= verb]
        scope = [c for c in named if c.first > verb]
        values = [stated for stated in free if stated.first > verb]
        timed = [c for c in named if c.last <= verb and frame.view.columns[c.column].temporal]
        if timed and len(claimed) > len(timed):  # "In 2008, A had the most ..."
            claimed = [c for c in claimed if c not in timed]
            scope = [*timed, *scope]
        yield scope, claimed + values
        if scope:
            yield [], [*claimed, *scope, *values]
    elif after:
        verb = after[0]
        claimed = [*(c for c in named if c.first > verb), *(s for s in free if s.first > verb)]
        scope = [c for c in named if c.last <= verb]
        if claimed:
            yield scope, claimed
    elif named or free:
        yield [], [*named, *free]


def _in_header(column: ColumnIndex, stated: StatedNumber) -> bool:
    return str(stated.amount.value) in column.terms


def _verify(
    frame: Frame,
    number: int,
    words: tuple[int, int],
    ordering: Ordering,
    scope: list[RowFilter],
    claimed: list[RowFilter | StatedNumber],
    after: RowFilter | None = None,
) -> Iterator[Outcome]:
    column = ordering.column
    ordered = frozenset(row for _, row in ordering.ordered.values)
    rows = within(scope, ordered)
    if len(rows) < 2 or not claimed:
        return
    extreme = nth_rows(ordering.ordered, rows, ordering.direction, number)
    if not extreme:
        return
    used = set(ordering.used).union(*(condition.used for condition in scope), _of_all(frame))
    fit = min([ordering.fit, *(condition.fit for condition in scope)])
    wrong: list[RowFilter | StatedNumber] = []
    matching = extreme
    for claim in claimed:
        if isinstance(claim, RowFilter):
            used |= claim.used
            fit = min(fit, claim.fit)
            hit = matching & claim.rows
        else:
            used |= range_set(claim.first, claim.last)
            hit = frozenset(row for row in matching if states(column, ordering.ordered, row, claim))
        if hit:
            matching = hit
        else:
            wrong.append(claim)
    value = column.cell(min(extreme))
    reason = f"{frame.text(*words)} {column.header}: {value}, of {name_rows(frame, extreme)}"
    cells = tuple((row, column.index) for row in sorted(extreme)[:3])
    fault, expected = _mend(frame, ordering, words, rows, extreme, wrong)
    if after is not None:
        used |= after.used
        # With two first ones nobody is second.
        later = nth_rows(ordering.ordered, rows, ordering.direction, number + len(extreme))
        if not wrong and later and not later & after.rows:
            wrong = [after]
            reason = f"{reason}; then {name_rows(frame, later)}"
            cells += tuple((row, column.index) for row in sorted(later)[:3])
            names = {frame.view.cell(row, after.column) for row in later}
            fault, expected = (after.first, after.last), tuple(sorted(names))
    yield Outcome(
        "superlative", not wrong, frozenset(used), fit, cells, reason, fault, expected, "CMP"
    )


def _of_all(frame: Frame) -> frozenset[int]:
    """The tokens of "all" in "the fewest of all models": it says among whom."""
    found = [
        frame.token_range(cue.start, cue.end)
        for cue in frame.cues
        if (cue.kind, cue.sense) == ("quantifier", "all")
    ]
    return frozenset[int]().union(
        *(range_set(a, b) for a, b in found if a and frame.words[a - 1] in ("of", "among"))
    )


def nth_rows(ordered: Ordered, rows: frozenset[int], direction: int, number: int) -> frozenset[int]:
    """The rows with the n-th value from the top, or from the bottom; ties share a place."""
    values = [(value, row) for value, row in ordered.values if row in rows]
    if direction > 0:
        values.reverse()
    place = number - 1
    if place >= len(values):
        return frozenset()
    wanted = values[place][0]
    return frozenset(row for value, row in values if value == wanted)


def _mend(
    frame: Frame,
    ordering: Ordering,
    words: tuple[int, int],
    rows: frozenset[int],
    extreme: frozenset[int],
    wrong: list[RowFilter | StatedNumber],
) -> tuple[tuple[int, int] | None, tuple[str, ...]]:
    """The tokens at fault and what belongs there: the value, the other end, or the name."""
    if not wrong:
        return None, ()
    claim = wrong[0]
    column = ordering.column
    if isinstance(claim, StatedNumber) or claim.column == column.index:
        right = column.cell(min(extreme))
        value = ordering.ordered.of.get(min(extreme))
        if isinstance(claim, StatedNumber) and value is not None and column.scale != 1:
            right = spelled(column, value, claim)
        return (claim.first, claim.last), (right,)
    turned = opposite(frame.text(*words))
    if turned and nth_rows(ordering.ordered, rows, -ordering.direction, 1) & claim.rows:
        return words, (turned,)
    names = {frame.view.cell(row, claim.column) for row in extreme}
    return (claim.first, claim.last), tuple(sorted(names))
