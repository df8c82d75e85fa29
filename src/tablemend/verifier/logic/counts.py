"""How many rows, or how many different values, satisfy what is said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tablemend.verifier.lexicon import LITTLE_WORDS
from tablemend.verifier.logic.amounts import hedge_of, hedge_tokens, holds
from tablemend.verifier.logic.frame import TIME_UNITS, Frame
from tablemend.verifier.logic.mentions import ColumnMention, StatedNumber
from tablemend.verifier.logic.naming import name_rows, number_of, where
from tablemend.verifier.logic.outcome import Outcome
from tablemend.verifier.logic.row_filter import RowFilter, range_set, within
from tablemend.verifier.logic.unread import is_one_row, is_unread
from tablemend.verifier.logic.vocabulary import DISTINCT, THINGS

_NO_COUNT_AFTER = frozenset(
    "more less fewer higher lower greater better worse longer shorter later earlier ahead behind "
    "above below percent million billion th st nd rd under over".split()
)
_LABELS = frozenset(
    "number no week round series episode season stage class section group top".split()
)
_AVERAGE = frozenset({"average", "mean", "median", "averaged", "averages"})
_DEFINITE = frozenset("the all its these those".split())
_NARROWING = frozenset(
    "from with who that which in at of on by whose against for where to have having".split()
)
_OVERALL = frozenset("average total altogether".split())
_PARTITIVE = frozenset("of among across throughout".split())
_PLAYING = frozenset(
    "win wins won lose loses lost play plays played draw draws drew tie ties tied".split()
)
_PLAYED = frozenset("game games match matches".split())
_AMONG = frozenset("of among across for in over within throughout all together".split())


def counts(frame: Frame, found: Sequence[RowFilter]) -> Iterator[Outcome]:
    """Every reading of every number as a count of rows or of values."""
    for stated in frame.amounts:
        if _can_count(frame, stated) and not size_of(frame, stated):
            first, last = frame.clause(stated.first)
            inside = [c for c in found if first <= c.first and c.last <= last]
            yield from _count(frame, stated, inside)


def _can_count(frame: Frame, stated: StatedNumber) -> bool:
    amount = stated.amount
    if amount.role == "year" or stated.value != int(stated.value) or stated.value < 0:
        return False
    if amount.pair == "score" or amount.number.decimals or amount.number.unit.symbol:
        return False
    words = frame.words
    if words[stated.last : stated.last + 1] and words[stated.last] in _NO_COUNT_AFTER:
        return False
    if words[stated.last - 1] in ("couple", "pair") and words[stated.last :][:1] != ("of",):
        return False
    if any(word in _AVERAGE for word in words[max(0, stated.first - 3) : stated.first]):
        return False
    before = stated.first - 1  # "week 2", "tie no 5" are names
    if before >= 0 and any(h.first <= before < h.last for h in frame.headings):
        return False
    return before < 0 or words[before] not in _LABELS


def _count(frame: Frame, stated: StatedNumber, found: Sequence[RowFilter]) -> Iterator[Outcome]:
    noun, fit, distinct = _counted(frame, stated)
    if fit == 0:
        return
    tokens = range_set(stated.first, stated.last)
    whole = _whole(frame, stated)
    if whole is not None:
        tokens |= range_set(stated.last, whole.last)
        if whole.value not in sizes(frame, whole):
            fit -= 0.3
    kept = [
        condition
        for condition in found
        if tokens.isdisjoint(condition.used)
        and (noun is None or condition.column != noun.column or not condition.share_of(noun))
    ]
    if whole is not None and not kept:
        return  # "1 of the 6 games went to overtime": by what cell?
    member = _one_of(frame, stated)
    if member is not None:
        yield from _membership(frame, stated, kept, member, fit, noun)
        return
    if _is_record(frame, stated):
        return
    if is_one_row(frame, kept):
        return  # "Finance has 25 people": what is counted stands in that row
    hedge = hedge_of(frame, stated)
    used = tokens.union(*(condition.used for condition in kept))
    if hedge:
        used |= hedge_tokens(frame, stated)
    if is_unread(frame, used | tokens, kept, frame.clause(stated.first)):
        return  # "two candidates were women": nobody knows who is one
    if noun is not None:
        used |= range_set(noun.first, noun.last)
    else:
        behind = (whole or stated).last
        if behind < len(frame.words) and frame.words[behind] in THINGS:
            used |= {behind}
    fit = min([fit, *(condition.fit for condition in kept)])
    column = noun.column if noun is not None else frame.view.key
    scopes = [kept]
    listed = next((c for c in kept if len(c.members) > 1), None)
    if listed is not None and "each" in frame.words:
        scopes = [
            [c for c in kept if c is not listed] + [replace(listed, rows=member, members=())]
            for member in listed.members
        ]
        used |= {frame.words.index("each")}
    elif listed is not None and len(listed.members) == stated.value and not hedge:
        yield from _enumerated(frame, stated, kept, listed, used, fit)
        return
    numbers = [[number for _, number in _numbers(frame, scope, noun, distinct)] for scope in scopes]
    names = [name for name, _ in _numbers(frame, scopes[0], noun, distinct)]
    for place, what in enumerate(names):
        found_here = [row[min(place, len(row) - 1)] for row in numbers]
        truth = all(holds(float(number), stated, hedge) for number in found_here)
        rows = within(scopes[0], frame.rows)
        least = ", ".join(map(str, found_here[:-1]))
        number = number_of(found_here[-1], what)
        reason = f"{least}, {number}" if least else number
        reason += where(frame, kept)
        yield Outcome(
            "count",
            truth,
            used,
            fit if what == "row" or distinct else fit - 0.1,
            tuple((row, column) for row in sorted(rows)[:5]),
            reason,
            None if truth else (stated.first, stated.last),
            () if truth or len(set(found_here)) > 1 else _right(frame, stated, found_here[0]),
            "NUM",
        )


def _is_record(frame: Frame, stated: StatedNumber) -> bool:
    """Whether games are counted, and no row is one: "lost 12 games" over a table of players."""
    if frame.words[stated.last : stated.last + 1] not in {(word,) for word in _PLAYED}:
        return False
    if _PLAYING.isdisjoint(frame.words[max(0, stated.first - 3) : stated.first]):
        return False
    columns = frame.view.columns
    return not any(c.has_results or c.temporal or c.kind in ("score", "date") for c in columns)


def _right(frame: Frame, stated: StatedNumber, number: int) -> tuple[str, ...]:
    """The number that is right, where the noun behind it stays as it is: no "one quarters"."""
    noun = "".join(frame.words[stated.last : stated.last + 1])
    counted = noun in THINGS or any(heading.first == stated.last for heading in frame.headings)
    return () if counted and (number == 1) == noun.endswith("s") else (str(number),)


def _one_of(frame: Frame, stated: StatedNumber) -> int | None:
    """The token of the "1" in "1 of the 2 players"; ``None`` where it says nothing like it."""
    place = stated.first - 1
    while place > 0 and frame.words[place] in ("the", "only", "just"):
        place -= 1
    if place > 0 and frame.words[place] == "of" and frame.words[place - 1] in ("1", "one"):
        return place - 1
    return None


def _membership(
    frame: Frame,
    stated: StatedNumber,
    kept: Sequence[RowFilter],
    member: int,
    fit: float,
    noun: ColumnMention | None,
) -> Iterator[Outcome]:
    """As in "A is one of the 2 players from England": there are 2, and A is of them."""
    who = [condition for condition in kept if condition.last <= member]
    what = [condition for condition in kept if condition.first > member]
    if not who:
        return
    own, rows = within(who, frame.rows), within(what, frame.rows)
    truth = bool(own & rows) and holds(float(len(rows)), stated)
    used = range_set(member, stated.last).union(*(condition.used for condition in kept))
    if noun is not None:
        used |= range_set(noun.first, noun.last)
    reason = f"{number_of(len(rows))}{where(frame, what)}: {name_rows(frame, rows)}"
    cells = tuple((row, frame.view.key) for row in sorted(rows)[:5])
    right = (str(len(rows)),) if own & rows and not truth else ()
    yield Outcome(
        "count",
        truth,
        used,
        min([fit, *(condition.fit for condition in kept)]),
        cells,
        reason,
        None if truth else (stated.first, stated.last),
        right,
        "NUM",
    )


def _numbers(
    frame: Frame, kept: Sequence[RowFilter], noun: ColumnMention | None, distinct: bool
) -> list[tuple[str, int]]:
    """The rows, and the different values of the column that is counted where they differ."""
    rows = within(kept, frame.rows)
    if noun is None or noun.column == frame.view.key:
        return [("row", len(rows))]
    values = {frame.view.cell(row, noun.column).casefold() for row in rows} - {""}
    different = ("different value", len(values))
    return [different] if distinct else [("row", len(rows)), different]


def _enumerated(
    frame: Frame,
    stated: StatedNumber,
    kept: Sequence[RowFilter],
    listed: RowFilter,
    used: frozenset[int],
    fit: float,
) -> Iterator[Outcome]:
    """As in "3 players from Spain: A, B and C": they are those, and all of them."""
    rest = [condition for condition in kept if condition is not listed]
    rows = within(rest, frame.rows)
    missing = [member for member in listed.members if not member & rows]
    others = rows - listed.rows
    truth = not missing and (not others or not rest)
    reason = f"{number_of(len(rows))}{where(frame, rest)}"
    cells = tuple((row, listed.column) for row in sorted(rows)[:5])
    yield Outcome(
        "count",
        truth,
        used,
        fit - 0.1,
        cells,
        reason,
        None if truth else (stated.first, stated.last),
        (),
        "NUM",
    )


def size_of(frame: Frame, stated: StatedNumber) -> bool:
    """Whether a number says how many rows there are: "4 of the six tests", "all 31 players"."""
    words, place = frame.words, stated.first - 1
    if stated.last >= len(words) or not _can_be_size(stated):
        return False
    columns = frame.view.columns
    named = [
        h.first
        for h in frame.headings
        if h.share > 0.99 and not (columns[h.column].adds_up or columns[h.column].kind == "score")
    ]
    if words[stated.last] not in THINGS and stated.last not in named:
        return False
    among = _AMONG if stated.last in named else _PARTITIVE
    if words[stated.last + 1 : stated.last + 2] and words[stated.last + 1] in _NARROWING:
        return False
    while place >= 0 and words[place] in _DEFINITE:
        place -= 1
    counted = any(other.last == place for other in frame.amounts)
    if place > 0 and words[place] == "of" and counted and _has_subject(frame, place):
        return False  # "A won 3 of the 8 games": of its own
    if place < stated.first - 1:
        if place < 0 or words[place] in among or words[place] in _OVERALL:
            return True
        return "," in frame.between(place, place + 1)
    return place > 0 and words[place] == "of" and counted


def _has_subject(frame: Frame, place: int) -> bool:
    """Whether a clause speaks of one row before a token: the numbers behind it are that row's."""
    first = frame.clause(place)[0]
    named = [p for p in frame.phrases if first <= p.first and p.last < place]
    return any(m.column == frame.view.key and len(m.rows) == 1 for p in named for m in p.mentions)


def _can_be_size(stated: StatedNumber) -> bool:
    return (
        stated.amount.role == "value"
        and stated.value == int(stated.value) > 1
        and not stated.amount.hedge
        and stated.amount.number.unit.symbol in ("", *TIME_UNITS)
    )


def sizes(frame: Frame, stated: StatedNumber) -> frozenset[int]:
    """What "the N rows" can be: with and without totals, or the different values named."""
    view = frame.view
    columns = {view.key, *(h.column for h in frame.headings if h.first == stated.last)}
    names = (len(view.columns[column].groups) for column in columns)
    return frozenset({len(view.rows), len(view.rows) + len(view.totals), *names})


def _whole(frame: Frame, stated: StatedNumber) -> StatedNumber | None:
    """The N of "K of the N rows" and of "K out of N"."""
    place = stated.last
    while place < len(frame.words) and frame.words[place] in ("out", "of", "the", "its", "all"):
        place += 1
    if "of" not in frame.words[stated.last : place]:
        return None
    return next((other for other in frame.amounts if other.first == place), None)


def _counted(frame: Frame, stated: StatedNumber) -> tuple[ColumnMention | None, float, bool]:
    """What is counted: the column that names it, how surely it is a count, and if once each."""
    whole = _whole(frame, stated)
    words, place = frame.words, (whole or stated).last
    named = [h for h in frame.headings if h.first >= stated.last]
    while place < len(words) and place - stated.last < 3 and words[place] not in LITTLE_WORDS:
        if words[place] in THINGS or any(heading.first == place for heading in named):
            break
        place += 1
    distinct = not DISTINCT.isdisjoint(words[stated.last : place + 1])
    if whole is not None:
        return next((h for h in named if h.first == place), None), 0.9, distinct
    before = words[max(0, stated.first - 3) : stated.first]
    there = "there" in before
    thing = place < len(words) and words[place] in THINGS
    for heading in named:
        beside = heading.first - place == 1 and thing
        if heading.first <= place < heading.last or beside:
            column = frame.view.columns[heading.column]
            if words[place] not in ("time", "times"):
                if column.adds_up:
                    return None, 0.5 if there else 0.0, False
                if any(stated.value in said for said in column.said.values()):
                    return None, 0.0, False
            if not beside:
                return heading, 0.9, distinct
    if thing:
        return None, 0.9, distinct
    if there or "only" in before:
        return None, 0.7, distinct
    return None, 0.5 if place < len(words) and words[place] == "of" else 0.0, distinct
