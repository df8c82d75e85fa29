"""A summary of a table with what each of its words claims, and the errors injected in it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from pydantic import PlainValidator

from tablemend.foreign import FromJson
from tablemend.programs.program import Role, Statement, from_json, to_json
from tablemend.records import ClaimError, ClaimKind
from tablemend.values.sentences import Span


@dataclass(frozen=True, slots=True)
class Part:
    """Words of a summary that a claim rests on.

    Attributes:
        role: what they are in the claim.
        start, end: their place in the text.
        text: the words.
    """

    role: Role
    start: int
    end: int
    text: str


def _statement(stored: str) -> Any:
    """A statement from its JSON."""
    return from_json(json.loads(stored))


@dataclass(frozen=True, slots=True)
class Fact(FromJson):
    """One atomic statement and its ground truth.

    Attributes:
        kind: the sort of claim (TabFaith, 4.1).
        statement: the program that makes it true, and what is said to come out.
        turned: the program runs over columns.
        parts: the words that state it, at most one of each role. A name that a pronoun or a list
            leaves out is the part that stands earlier.
        focus: index of the part that it turns on.
        cells: row and column of every cell that decides it.
        sentence: place of its sentence.
    """

    kind: ClaimKind
    statement: Annotated[Statement, PlainValidator(_statement)]
    turned: bool
    parts: tuple[Part, ...]
    focus: int
    cells: tuple[tuple[int, int], ...]
    sentence: Span

    def part(self, role: str) -> Part | None:
        """The part of a role, or ``None``."""
        return next((part for part in self.parts if part.role == role), None)

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        return {**asdict(self), "statement": json.dumps(to_json(self.statement))}


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


@dataclass(frozen=True, slots=True)
class Summary:
    """A text about a table; every number, name, period and cue in it belongs to a fact.

    Attributes:
        facts: the claims, the false ones included, with what they say.
        errors: in the order of the text; no two overlap or concern one claim.
    """

    text: str
    facts: tuple[Fact, ...]
    errors: tuple[InjectedError, ...] = ()
