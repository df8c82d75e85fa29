"""A summary of a table with what each of its words claims, and the errors injected in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tablemend.records import ClaimError, ClaimKind
from tablemend.values.sentences import Span

Role = Literal[
    "entity",
    "other",  # the entity that it is compared with
    "column",
    "against",  # the column that it is compared with
    "period",
    "until",  # the later of two periods
    "value",
    "cue",
    "quantifier",  # all, most, none
    "threshold",
    "category",
]
Operation = Literal[
    "value",  # a cell: of an entity, a column and a period, as far as they are stated
    "compare",  # one entity against another, or one column against another
    "difference",  # how far apart they are
    "superlative",  # highest or lowest, earliest or latest, among rows or among periods
    "rank",  # place among the rows, the highest first
    "change",  # direction between two periods
    "change_amount",
    "change_percent",
    "trend",  # one direction from each period to the next
    "count",  # rows; with a threshold or a category, those that meet it
    "quantifier",  # all, most or no rows meet a threshold
    "total",  # over the rows, or over an entity's periods
    "average",
    "range",  # a measurement against its reference range
]


@dataclass(frozen=True, slots=True)
class Part:
    """Words of a summary that a claim rests on.

    Attributes:
        role: what they are in the claim.
        start, end: their place in the text.
        text: the words.
        style: how a value or a name is worded, so that another one can be worded alike.
    """

    role: Role
    start: int
    end: int
    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """One atomic statement and its ground truth.

    Attributes:
        kind: the sort of claim (TabFaith, 4.1).
        operation: what makes it true.
        parts: the words that state it, at most one of each role. A name that a pronoun or a list
            leaves out is the part that stands earlier.
        focus: index of the part that it turns on.
        cells: row and column of every cell that it names; the whole column also where it ranks,
            counts or adds up.
        sentence: place of its sentence.
    """

    kind: ClaimKind
    operation: Operation
    parts: tuple[Part, ...]
    focus: int
    cells: tuple[tuple[int, int], ...]
    sentence: Span

    def part(self, role: Role) -> Part | None:
        """The part of a role, or ``None``."""
        return next((part for part in self.parts if part.role == role), None)


@dataclass(frozen=True, slots=True)
class Summary:
    """A text about a table; every number, name, period and cue in it belongs to a fact."""

    text: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class InjectedError:
    """One error of a summary.

    Attributes:
        type: the paper's type (3.1).
        start, end: the words at fault.
        text: these words.
        original: what stood there before; empty where nothing was replaced, in a model's summary.
        expected: what the source says there; of a cell its own spelling. Empty where it is open.
        facts: indices of the claims that it makes false: one, or all values of a list whose name
            or period is at fault; empty where the facts are not known.
    """

    type: ClaimError
    start: int
    end: int
    text: str
    original: str
    expected: str
    facts: tuple[int, ...] = ()
