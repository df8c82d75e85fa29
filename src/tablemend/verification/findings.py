"""What is found of one stated thing: a number, a period or a name in its sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tablemend.records import ClaimError, Evidence, VerdictName
from tablemend.values.sentences import Span

FindingKind = Literal["number", "moment", "name"]


@dataclass(frozen=True, slots=True)
class Subject:
    """Words that name one row (of a transposed table: one column).

    Attributes:
        grid: number of the table.
        index: the row or column.
        start, end: place of the words; -1 where they stand in an earlier sentence.
    """

    grid: int
    index: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one stated thing.

    Attributes:
        start, end: its place in the document.
        kind: what it is.
        verdict: as of a claim.
        error: set where it is contradicted or not in the source.
        evidence: the cells that decided it.
        reason: one line for a person.
        span: the words at fault.
        expected: what the source says in their place.
        firm: whether a row and a column were named; a value found somewhere is weaker.
        final: whether no other reading may verify it: the table itself says several things, or
            nothing of what the text counts.
        subject: whom a number was taken to be said of.
        columns: the columns (of a transposed table the rows) that it was compared with.
    """

    start: int
    end: int
    kind: FindingKind
    verdict: VerdictName
    error: ClaimError | None = None
    evidence: tuple[Evidence, ...] = ()
    reason: str = ""
    span: Span | None = None
    expected: tuple[str, ...] = ()
    firm: bool = False
    final: bool = False
    subject: Subject | None = None
    columns: tuple[int, ...] = ()
