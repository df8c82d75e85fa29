"""What the operators share: a reading with its features, and what can fill its slots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tablemend.claims.cues import Cue
from tablemend.records import ClaimError
from tablemend.verifier.column_pairs import column_pairs
from tablemend.verifier.frame import Frame
from tablemend.verifier.row_filter import RowFilter

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
class Computed:
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
    """What a sentence names of one table, for the slots of operators.

    Args:
        frame: the sentence over the table, by rows or by columns.
        filters: what narrows its rows down.
    """

    def __init__(self, frame: Frame, filters: Sequence[RowFilter]) -> None:
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
        named = (h for h in self.frame.headings if h.column == column)
        return frozenset(place for h in named for place in range(h.first, h.last))

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
            found |= {
                f"{name} {side}{verb}",
                f"{name} {sort}",
                f"{name} after {word if word in PREPOSITIONS else 'no preposition'}",
                f"{name} {'surely' if f.fit > 0.95 else 'perhaps'}",
            }
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


def name_rows(frame: Frame, rows: Iterable[int]) -> str:
    """The names of some rows."""
    ordered = sorted(rows)
    names = ", ".join(frame.view.cell(row, frame.view.key) for row in ordered[:_NAMES])
    return names if len(ordered) <= _NAMES else f"{names} and {len(ordered) - _NAMES} more"


def number_of(number: int, what: str = "row") -> str:
    """A number with its noun: "1 row", "3 rows"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def where(frame: Frame, filters: Sequence[RowFilter]) -> str:
    """What narrows rows down: " where Won: more than ten"; nothing without it."""
    said = ", ".join(f"{frame.view.columns[f.column].header}: {_words(frame, f)}" for f in filters)
    return f" where {said}" if said else ""


def _words(frame: Frame, f: RowFilter) -> str:
    """The words of a filter, with the "more than" before it and the "or more" behind it."""
    named = {p for h in frame.headings if h.column == f.column for p in range(h.first, h.last)}
    own, (first, last) = f.used - named, f.span
    while first - 1 in own:
        first -= 1
    while last in own:
        last += 1
    denied = any(frame.words[place] in _DENIALS for place in own if place < first)
    return f"not {frame.text(first, last)}" if denied else frame.text(first, last)
