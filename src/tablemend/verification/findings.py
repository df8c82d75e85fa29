"""What is found of one stated thing: a number, a period or a name in its sentence."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from tablemend.records import ClaimError, Evidence, VerdictName
from tablemend.values.numbers import plain_digits
from tablemend.values.sentences import Span
from tablemend.verification.reading import Amount

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
        final: whether no other reading may judge it: the table itself says several things, or
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


def compared_number(
    amount: Amount, expected: Decimal, evidence: tuple[Evidence, ...], reason: str
) -> Finding:
    """The firm verdict on a number that must be exactly what the source says."""
    same = amount.value == expected
    return Finding(
        amount.start,
        amount.end,
        "number",
        "supported" if same else "contradicted",
        None if same else "NUM",
        evidence,
        reason,
        None if same else Span(amount.start, amount.digits_end),
        () if same else (plain_digits(expected),),
        firm=True,
    )
