"""How many rows a table has, where a text says it: "4 of the six tests", "all 31 players"."""

from __future__ import annotations

from tablemend.verifier.frame import TIME_UNITS, Frame
from tablemend.verifier.mentions import StatedNumber
from tablemend.verifier.vocabulary import THINGS

_DEFINITE = frozenset("the all its these those".split())
_NARROWING = frozenset(
    "from with who that which in at of on by whose against for where to have having".split()
)
_OVERALL = frozenset("average total altogether".split())
_PARTITIVE = frozenset("of among across throughout".split())
_PARTS = {
    "quarters": frozenset({4}),
    "months": frozenset({12}),
    "seasons": frozenset({4}),
    "halves": frozenset({2}),
}
_AMONG = frozenset("of among across for in over within throughout all together".split())


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
    among = _AMONG if stated.last in named or stated.value in sizes(frame, stated) else _PARTITIVE
    if words[stated.last + 1 : stated.last + 2] and words[stated.last + 1] in _NARROWING:
        return False
    while place >= 0 and words[place] in _DEFINITE:
        place -= 1
    if place == stated.first - 1 and words[place] == "across" and stated.last in named:
        return True  # "5 employees across 4 departments"
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
    parts = _PARTS.get(
        "".join(frame.words[stated.last : stated.last + 1]), frozenset()
    )  # "all four quarters"
    return frozenset({len(view.rows), len(view.rows) + len(view.totals), *names} | parts)
