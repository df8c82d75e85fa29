"""The words that computed readings are made of: conditions, columns, and what orders rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tablemend.programs.execute import find_nth
from tablemend.records import ClaimError
from tablemend.values.units import MEASURES
from tablemend.verifier.conditions import PHRASE_ENDS, column_pairs
from tablemend.verifier.lexicon import (
    LITTLE_WORDS,
    LOWER_IS_BETTER,
    QUALITIES,
    THINGS,
    Cue,
    Quality,
    terms,
)
from tablemend.verifier.number_agreement import states
from tablemend.verifier.oriented_table import ColumnIndex, Order
from tablemend.verifier.sentence_links import RowFilter, SentenceLinks, range_set

Operator = Literal[
    "extreme",
    "rank",
    "count",
    "compare",
    "quantifier",
    "only",
    "total",
    "change",
    "reference",
    "together",
]
PREPOSITIONS = frozenset(
    "in of on at by for from with to over against during among than as".split()
)
_RATIO_ROOM = 0.1  # "doubled" is seldom meant to the last digit
_NEARLY = 0.2  # "nearly doubled"
_DENIALS = frozenset("not n't never without except excluding outside".split())
SLOTS = 4
"""Names of a sentence that are tried in a slot."""
_SHOWN = 5
_NAMES = 3
"""Rows that a reason names."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """An operator with its slots filled, run.

    Attributes:
        operator: what was computed.
        truth: whether the table gives what is said.
        used: the tokens that the reading accounts for.
        features: how the slots were filled.
        cells: what decided it, as row and column of the view.
        reason: what was computed, in a line.
        fault: the tokens at fault if it does not hold, half open.
        expected: what would be right in their place.
        error: the type of the error if it does not hold.
        doubtful: whether words that nobody read may leave out some of its rows.
        part: the tokens that it is about, half open; ``None``: the whole sentence.
    """

    operator: Operator
    truth: bool
    used: frozenset[int]
    features: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]
    reason: str
    fault: tuple[int, int] | None = None
    expected: tuple[str, ...] = ()
    error: ClaimError = "CMP"
    doubtful: bool = False
    part: tuple[int, int] | None = None


class Slots:
    """What a sentence names of one table, for the slots of operators."""

    def __init__(self, frame: SentenceLinks, filters: Sequence[RowFilter]) -> None:
        self.frame, self.view = frame, frame.view
        self.every = filters
        self.filters = [
            f for f in filters if not frame.is_aside(f.first) or frame.exception(f.first)
        ]
        pairs = list(column_pairs(frame))
        taken = frozenset[int]().union(*(f.used for f in pairs))
        kept = [f for f in self.filters if not f.used & taken]
        self.conditions = sorted([*kept, *pairs], key=lambda f: f.first)
        """The filters, and what holds of two columns of a row."""

    def heading_tokens(self, column: int) -> frozenset[int]:
        """The tokens that name a column."""
        return frozenset(p for h in self.frame.headings if h.column == column for p in h.tokens)

    def free(self, taken: frozenset[int], *columns: int) -> list[RowFilter]:
        """What narrows rows down beside some tokens, and is not of some columns."""
        found = [f for f in self.filters if not f.used & taken and f.column not in columns]
        return found[:SLOTS]

    def describe(
        self, name: str, filters: Sequence[RowFilter], words: tuple[int, int]
    ) -> list[str]:
        """How what fills a slot stands to the words of the operator."""
        if not filters:
            return [f"{name} nothing"]
        found = {f"{name} {min(len(filters), 3)}"}
        for f in filters:
            side = "before" if f.last <= words[0] else "behind"
            gap = range(f.last, words[0]) if side == "before" else range(words[1], f.first)
            apart = (f.last - 1, words[0]) if side == "before" else (words[1] - 1, f.first)
            verb = " the verb" if any(place in gap for place in self.frame.verbs) else ""
            word = self.frame.words[f.first - 1] if f.first else ""
            if word in ("the", "a", "an") and f.first > 1:
                word = self.frame.words[f.first - 2]
            column = self.view.columns[f.column]
            sort = "time" if column.temporal else "key" if f.column == self.view.key else "cell"
            led = f"after {word if word in PREPOSITIONS else 'no preposition'}"
            fit = "surely" if f.fit > 0.95 else "perhaps"
            found |= {f"{name} {known}" for known in (f"{side}{verb}", sort, led, fit)}
            if f.bound or not f.rows:
                found.add(f"{name} {'bounded' if f.bound else 'of no row'}")
            if self.frame.clause(f.first) != self.frame.clause(words[0]):
                found.add(f"{name} in another clause")
            elif any("," in self.frame.between(place, place + 1) for place in range(*apart)):
                found.add(f"{name} across a comma")
        return sorted(found)

    def splits(
        self, free: Sequence[RowFilter]
    ) -> Iterator[tuple[list[RowFilter], list[RowFilter]]]:
        """Of whom something is said, and among which rows."""
        for who in free:
            rest = [f for f in free if f is not who]
            yield [who], rest
            if rest:
                yield [who], []
        if len(free) > 1:
            yield list(free), []
        for number in range(2, len(free) - 1):
            yield list(free[:number]), list(free[number:])
            yield list(free[number:]), list(free[:number])

    def cells(
        self, rows: frozenset[int] | Sequence[int], column: int
    ) -> tuple[tuple[int, int], ...]:
        """The first cells of some rows in a column."""
        return tuple((row, column) for row in sorted(rows)[:_SHOWN])

    def cues(self, *kinds: str) -> Iterator[tuple[Cue, int, int]]:
        """The words that announce an operation of some kinds, with their tokens."""
        for cue in self.frame.cues:
            first, last = self.frame.token_range(cue.start, cue.end)
            if cue.kind in kinds and first < last:
                yield cue, first, last

    def names(self, rows: frozenset[int], column: int) -> tuple[str, ...]:
        """What some rows have in a column, where that is little enough for a correction."""
        names = sorted({self.view.cell(row, column) for row in rows} - {""})
        return tuple(names) if len(names) <= 3 else ()


def reaches_ratio(beyond: float, hedge: str) -> bool:
    """Whether a ratio is reached: by how much it is passed, as a share of it."""
    if hedge == "over":
        return beyond > 0
    if hedge == "under":
        return -_NEARLY <= beyond < 0
    return abs(beyond) <= _RATIO_ROOM if hedge != "at least" else beyond >= -1e-9


def name_rows(frame: SentenceLinks, rows: Iterable[int]) -> str:
    """The names of some rows."""
    ordered = sorted(rows)
    names = ", ".join(frame.view.cell(row, frame.view.key) for row in ordered[:_NAMES])
    return names if len(ordered) <= _NAMES else f"{names} and {len(ordered) - _NAMES} more"


def number_of(number: int, what: str = "row") -> str:
    """A number with its noun: "1 row", "3 rows"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def where(frame: SentenceLinks, filters: Sequence[RowFilter]) -> str:
    """What narrows rows down: " where Won: more than ten"; nothing without it.

    With the "more than" before a filter and the "or more" behind it.
    """
    said = []
    for f in filters:
        named = {p for h in frame.headings if h.column == f.column for p in h.tokens}
        own, (first, last) = f.used - named, f.span
        while first - 1 in own:
            first -= 1
        while last in own:
            last += 1
        denied = any(frame.words[place] in _DENIALS for place in own if place < first)
        words = f"{'not ' if denied else ''}{frame.text(first, last)}"
        said.append(f"{frame.view.columns[f.column].header}: {words}")
    return f" where {', '.join(said)}" if said else ""


# ---- orderings

_MEASURES_OF = frozenset("number amount total percentage share rate sum count level value".split())
_IN_TIME = frozenset("first last early late recent new old young before after".split())
_PHYSICAL = frozenset(
    "long short tall heavy light old young wide deep fast slow wet dry sunny windy".split()
)
"""What no column can be without saying so: a salary is no "longest"."""
_LIKELIEST = "by its number,in the phrase,by its adjective,before,behind,the only one".split(",")
"""How a column is named, the surest way first."""
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
    ordered: Order


def orderings(frame: SentenceLinks, cue: Cue, first: int, last: int) -> list[Ordering]:
    """The columns that a superlative or comparative can speak of, likeliest first."""
    end = phrase_end(frame, last)
    sense, used = cue.sense, range_set(first, last)
    adjective = frame.words[last] if last < end else ""
    if sense in ("many", "little") and adjective in QUALITIES:
        sense, used = adjective, used | {last}
    if sense in ("near", "far") or adjective in ("common", "frequent", "often"):
        return []
    taken = {p for words in (*frame.phrases, *frame.amounts) for p in words.tokens}
    taken |= {p for h in frame.headings for p in h.tokens}
    follows = frame.words[end : end + 1] == ("by",)
    noun = set(range(end + 1, phrase_end(frame, end + 1))) if follows else set()
    if taken.isdisjoint(noun) and any(frame.words[p] not in LITTLE_WORDS for p in noun):
        return []  # "by" names what is ordered by, and no column is: "by revenue"
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
        tokens = used | heading.tokens
        share = "whole" if heading.share > 0.99 else "half" if heading.share >= 0.5 else "part"
        led = set(frame.words[max(0, heading.first - 2) : heading.first])
        by = " by" if led & {"by", "on", "of", "in"} else ""
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
        for one in list(found):
            inside = range(min(one[1], default=0), max(one[1], default=0) + 1)
            parted = any("," in frame.between(place - 1, place) for place in inside[1:])
            if parted or any(frame.words[place] == "and" for place in inside):
                found.remove(one)
    plain = [column for column in frame.view.columns if column.adds_up]
    key = frame.view.columns[frame.view.key].terms
    nouns = {word for word in frame.words[last:end] if not set(terms(word)) & set(key)}
    nouns -= LITTLE_WORDS | THINGS
    if len(plain) == 1 and not nouns and sense not in _PHYSICAL:
        found.append((plain[0], used, ("column the only one",)))
    named = any(column.measured for column, _, _ in found)
    if not named and (sense == "lead" or not nouns):  # "led with 400": whichever column has that
        stated = [s for s in frame.amounts if s.first >= last and s.amount.role == "value"]
        pairs = [(row, s) for s in stated for row in frame.rows]
        having = (c for c in plain if any(states(c, c.ordered, *pair) for pair in pairs))
        found += [(column, used, ("column by its number",)) for column in having]
    found.sort(key=lambda one: next(i for i, how in enumerate(_LIKELIEST) if how in one[2][0]))
    kept: dict[int, Ordering] = {}
    for column, tokens, features in found:
        turned = not quality.inverse.isdisjoint(column.terms)
        turned |= sense in ("high", "low", "good", "bad") and column.ranking
        short = column.kind == "time" or not TIMES.isdisjoint(column.units)
        turned |= sense in ("fast", "slow") and short
        lower = column.kind == "time" or not LOWER_IS_BETTER.isdisjoint(column.terms)
        turned |= sense in ("good", "bad") and lower
        direction = -cue.direction if turned else cue.direction
        dated = column.temporal or column.counter
        usable = column.measured and column.kind != "score" and direction
        if usable and (not dated if sense not in _IN_TIME else dated or "age" in column.terms):
            ordered = column.order_of(sense)
            kept.setdefault(column.index, Ordering(column, direction, tokens, features, ordered))
    return list(kept.values())[:_MOST]


def phrase_end(frame: SentenceLinks, first: int) -> int:
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


def nth_rows(ordered: Order, rows: frozenset[int], direction: int, number: int) -> frozenset[int]:
    """The rows with the n-th value from the top, or from the bottom; ties share a place."""
    values = ((value, row) for value, row in ordered.values if row in rows)
    return frozenset(find_nth(values, "max" if direction > 0 else "min", number))
