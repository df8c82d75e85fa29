"""The column, and the end of it, that "the highest", "older than" or "second best" speaks of."""

from __future__ import annotations

from dataclasses import dataclass

from tablemend.claims.cues import Cue
from tablemend.values.units import MEASURES
from tablemend.verifier.amounts import states
from tablemend.verifier.frame import Frame
from tablemend.verifier.lexicon import LITTLE_WORDS, terms
from tablemend.verifier.limits import PHRASE_ENDS
from tablemend.verifier.row_filter import range_set
from tablemend.verifier.views import ColumnIndex, Ordered
from tablemend.verifier.vocabulary import LOWER_IS_BETTER, QUALITIES, THINGS, Quality

_MEASURES_OF = frozenset("number amount total percentage share rate sum count level value".split())
_IN_TIME = frozenset("first last early late recent new old young before after".split())
_PHYSICAL = frozenset(
    "long short tall heavy light old young wide deep fast slow wet dry sunny windy".split()
)
"""What no column can be without saying so: a salary is no "longest"."""
_MOST = 4
TIMES = frozenset(unit for unit, (measure, *_) in MEASURES.items() if measure == "time")


@dataclass(frozen=True, slots=True)
class Ordering:
    """A column that a word of order can speak of.

    Attributes:
        column: the column.
        direction: 1 where more of the quality is a larger value, else -1.
        used: the tokens of the word and of the column's name.
        features: how the column is named.
        ordered: its cells as the word orders them.
    """

    column: ColumnIndex
    direction: int
    used: frozenset[int]
    features: tuple[str, ...]
    ordered: Ordered


def orderings(frame: Frame, cue: Cue, first: int, last: int) -> list[Ordering]:
    """The columns that a superlative or comparative can speak of, likeliest first."""
    end = phrase_end(frame, last)
    sense, used = cue.sense, range_set(first, last)
    adjective = frame.words[last] if last < end else ""
    if sense in ("many", "little") and adjective in QUALITIES:
        sense, used = adjective, used | {last}
    if sense in ("near", "far") or adjective in ("common", "frequent", "often"):
        return []
    if _by_another(frame, end):
        return []
    quality = QUALITIES.get(sense, Quality())
    found: list[tuple[ColumnIndex, frozenset[int], tuple[str, ...]]] = []
    for heading in frame.headings:
        if (heading.first < last and first < heading.last) or frame.exception(heading.first):
            continue
        rate = frame.words[max(0, heading.first - 1) : heading.first]
        if rate in (("a",), ("an",), ("per",)) and any(
            stated.last == heading.first - 1 for stated in frame.amounts
        ):
            continue  # "$2.80 an hour more"
        column = frame.view.columns[heading.column]
        how = "in the phrase" if last <= heading.first < end else "behind"
        how = "before" if heading.last <= first else how
        margin = any(s.last == heading.first for s in frame.amounts) and heading.last == first
        if how == "before" and sense == "lead" and not margin:
            continue  # who leads, and not in what; but "5 points ahead"
        tokens = used | range_set(heading.first, heading.last)
        share = "whole" if heading.share > 0.99 else "half" if heading.share >= 0.5 else "part"
        by = (
            " by"
            if {"by", "on", "of", "in"}
            & set(frame.words[max(0, heading.first - 2) : heading.first])
            else ""
        )
        fields = "most said" if frame.context(column) > 0.6 else "little said"
        found.append((column, tokens, (f"column {how}{by}", f"column {share}", f"column {fields}")))
    for column in frame.view.columns:
        good = sense in ("good", "bad") and column.ranking
        if good or not quality.about.isdisjoint(column.terms):
            found.append((column, used, ("column by its adjective",)))
    if sense in _PHYSICAL and any("by its adjective" in one[2][0] for one in found):
        found = [one for one in found if "by its adjective" in one[2][0]]
    if sense in ("old", "young") and any("age" in column.terms for column, _, _ in found):
        found = [one for one in found if not one[0].temporal]  # no one is old by a date of entry
    if any(
        "in the phrase" in f[0] and "column part" not in f and column.adds_up
        for column, _, f in found
    ):  # "the largest screen and the biggest battery": of each its own
        found = [one for one in found if not _is_apart(frame, one[1])]
    plain = [column for column in frame.view.columns if column.adds_up]
    key = frame.view.columns[frame.view.key].terms
    nouns = {word for word in frame.words[last:end] if not set(terms(word)) & set(key)}
    nouns -= LITTLE_WORDS | THINGS
    if len(plain) == 1 and not nouns and sense not in _PHYSICAL:
        found.append((plain[0], used, ("column the only one",)))
    named = any(column.measured for column, _, _ in found)
    if not named and (sense == "lead" or not nouns):  # "led with 400": whichever column has that
        stated = [s for s in frame.amounts if s.first >= last and s.amount.role == "value"]
        found += [
            (column, used, ("column by its number",))
            for column in plain
            if any(states(column, column.ordered, row, s) for s in stated for row in frame.rows)
        ]
    order = (
        "by its number",
        "in the phrase",
        "by its adjective",
        "before",
        "behind",
        "the only one",
    )
    found.sort(key=lambda one: next(i for i, how in enumerate(order) if how in one[2][0]))
    kept: dict[int, Ordering] = {}
    for column, tokens, features in found:
        direction = _direction(column, cue, sense, quality)
        dated = column.temporal or column.counter
        usable = column.measured and column.kind != "score" and direction
        if usable and (not dated if sense not in _IN_TIME else dated or "age" in column.terms):
            ordered = column.order_of(sense)
            kept.setdefault(column.index, Ordering(column, direction, tokens, features, ordered))
    return list(kept.values())[:_MOST]


def _is_apart(frame: Frame, tokens: frozenset[int]) -> bool:
    """Whether a comma or an "and" stands between some tokens."""
    inside = range(min(tokens, default=0), max(tokens, default=0) + 1)
    return any(
        frame.words[place] == "and"
        or (place > inside[0] and "," in frame.between(place - 1, place))
        for place in inside
    )


def _by_another(frame: Frame, place: int) -> bool:
    """Whether "by" names what is ordered by, and no column is: "by revenue"."""
    named = {p for h in frame.headings for p in range(h.first, h.last)}
    named |= {p for phrase in frame.phrases for p in range(phrase.first, phrase.last)}
    named |= {p for stated in frame.amounts for p in range(stated.first, stated.last)}
    by = frame.words[place : place + 1] == ("by",)
    noun = set(range(place + 1, phrase_end(frame, place + 1))) if by else set()
    return any(frame.words[p] not in LITTLE_WORDS for p in noun) and named.isdisjoint(noun)


def phrase_end(frame: Frame, first: int) -> int:
    """Where the nouns end that begin at a token; "number of goals" is one phrase."""
    place = first
    while place < len(frame.words):
        if place > first and any(mark in frame.between(place - 1, place) for mark in ",;:("):
            break
        word = frame.words[place]
        measure = word == "of" and place > first and frame.words[place - 1] in _MEASURES_OF
        if word in PHRASE_ENDS and not measure:
            break
        place += 1
    return place


def _direction(column: ColumnIndex, cue: Cue, sense: str, quality: Quality) -> int:
    turned = not quality.inverse.isdisjoint(column.terms) or (
        sense in ("high", "low", "good", "bad") and column.ranking
    )
    if sense in ("fast", "slow") and (column.kind == "time" or not TIMES.isdisjoint(column.units)):
        turned = True
    lower = column.kind == "time" or not LOWER_IS_BETTER.isdisjoint(column.terms)
    if sense in ("good", "bad") and lower:
        turned = True
    return -cue.direction if turned else cue.direction


def nth_rows(ordered: Ordered, rows: frozenset[int], direction: int, number: int) -> frozenset[int]:
    """The rows with the n-th value from the top, or from the bottom; ties share a place."""
    values = [(value, row) for value, row in ordered.values if row in rows]
    if direction > 0:
        values.reverse()
    if not 0 < number <= len(values):
        return frozenset()
    wanted = values[number - 1][0]
    return frozenset(row for value, row in values if value == wanted)
