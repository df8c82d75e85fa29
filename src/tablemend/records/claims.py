"""Claims, the evidence for them, and what is found of each: the same for texts and answer tables.

A claim is an atomic statement of a summary, or a cell or a row of an answer table. Its evidence
is cells, or sentences of a context. Retrieval, verification, error typing and rewriting see only
these records and so work in both directions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple, dataclass
from operator import add
from typing import ClassVar, Literal, get_args

from pydantic import ConfigDict

from tablemend.tables.table import Table
from tablemend.values.text import Span

ClaimKind = Literal["numeric", "relational", "comparative", "temporal", "attribute", "presence"]
CLAIM_KINDS: tuple[ClaimKind, ...] = get_args(ClaimKind)
"""The five of TabFaith 4.1, and ``presence``: a row of an answer table belongs there."""

VerdictName = Literal["supported", "contradicted", "not_in_source", "unscored"]
VERDICTS: tuple[VerdictName, ...] = get_args(VerdictName)

ClaimError = Literal["NUM", "REL", "CMP", "TMP", "ATT"]
CLAIM_ERRORS: tuple[ClaimError, ...] = get_args(ClaimError)
"""Numerical, relational, comparative, temporal, attributional (TabFaith 3.1)."""
CLAIM_ERROR_NAMES: dict[ClaimError, tuple[str, str, str]] = {
    "NUM": ("Numerical error", "number", "a number that the table does not bear out"),
    "REL": ("Relational error", "relation", "a value given to the wrong entity or attribute"),
    "CMP": ("Comparative error", "comparison", "a wrong comparison, rank or extreme"),
    "TMP": ("Temporal error", "time", "a wrong date, period or order of events"),
    "ATT": ("Attributional error", "attribution", "an attribute that the table does not give"),
}
"""What reports call them: title, label, description."""


NO_CLAIMS = "no claims"
"""Beginning of the note on a text that could not be taken apart."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One atomic statement.

    Attributes:
        text: the words of the document at ``start:end``, exactly; of an answer table, which has
            no running text, the same as ``statement``.
        start, end: its place in the document; ``None`` in an answer table.
        kind: what sort of statement it is.
        statement: the claim in words that need no context, with the subject that a list or a
            pronoun leaves out; what a model is shown.
        focus: the words that it turns on: the number, the date, the name, "highest"; within
            ``start:end``.
        sentence: the place of the whole sentence.
        row: index of the answer table's row.
        column: name of the answer table's column; ``None`` where the row's presence is claimed.
    """

    text: str
    start: int | None
    end: int | None
    kind: ClaimKind
    statement: str
    focus: Span | None = None
    sentence: Span | None = None
    row: int | None = None
    column: str | None = None

    def touches(self, start: int, end: int) -> bool:
        """Whether it has words of a place in the text."""
        return (
            self.start is not None
            and self.end is not None
            and self.start < end
            and start < self.end
        )


@dataclass(frozen=True, slots=True)
class Document:
    """What is to be verified: a text or an answer table, taken apart into claims.

    Attributes:
        text: the running text; empty for an answer table.
        claims: in the order of the text, or of the rows.
        table: the answer table; ``None`` for a text.
        query: the question that an answer table answers, which says its scope; may be empty.
    """

    text: str
    claims: tuple[Claim, ...]
    table: Table | None = None
    query: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for or against a claim.

    Attributes:
        text: for a person and for a model: ``Row "x", Column "y": 5``, a sentence, or what was
            computed ("highest Points: 41, of x").
        table, row, column: place of a cell: number of the source's table, row and column index.
        start, end: place of a sentence in the source's text.
    """

    text: str
    table: int | None = None
    row: int | None = None
    column: int | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is found of one claim.

    Attributes:
        claim: the claim.
        verdict: ``unscored`` is neither right nor wrong.
        error_type: set exactly where the claim is contradicted or not in the source.
        evidence: what decided it, or what was looked at.
        reason: one line for a person.
        spans: the words at fault in the document's text; empty where nothing is, and in tables.
        expected: what the source says in place of the words at fault, in its own spelling, one
            for each reading; exactly one where only one thing can be meant.
        verifier: which verifier said it, with its version.
    """

    claim: Claim
    verdict: VerdictName
    error_type: ClaimError | None = None
    evidence: tuple[Evidence, ...] = ()
    reason: str = ""
    spans: tuple[Span, ...] = ()
    expected: tuple[str, ...] = ()
    verifier: str = ""

    def __post_init__(self) -> None:
        if (self.error_type is not None) != self.wrong:
            raise ValueError(f"{self.verdict} with the error type {self.error_type}")

    @property
    def wrong(self) -> bool:
        """Contradicted or not in the source."""
        return self.verdict in ("contradicted", "not_in_source")


@dataclass(frozen=True, slots=True)
class Usage:
    """What models were asked; nothing for a program."""

    __pydantic_config__: ClassVar = ConfigDict(
        extra="forbid", json_schema_extra={"description": __doc__}
    )

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failed: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))


NOTHING = Usage()


@dataclass(frozen=True, slots=True)
class Verification:
    """All verdicts on one document (TabFaith, section 4).

    Attributes:
        verdicts: one a claim, in the document's order.
        verifier: verifier and extractor with their versions.
        usage: what models were asked for it.
        notes: what a reader must know beside, such as claims of a model that were dropped.
    """

    verdicts: tuple[Verdict, ...]
    verifier: str
    usage: Usage = NOTHING
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[VerdictName, int]:
        """Claims by verdict; all four keys are present."""
        found = Counter(verdict.verdict for verdict in self.verdicts)
        return {name: found[name] for name in VERDICTS}

    @property
    def wrong(self) -> int:
        """Claims that are contradicted or not in the source."""
        return sum(verdict.wrong for verdict in self.verdicts)

    @property
    def staf(self) -> float | None:
        """Share of supported claims among those scored (equation 2); ``None`` without any.

        The paper's model gives each claim 0 or 1. Here a claim that cannot be scored counts
        neither way; :attr:`unscored` counts it.
        """
        counts = self.counts
        scored = len(self.verdicts) - counts["unscored"]
        return counts["supported"] / scored if scored else None

    @property
    def unscored(self) -> float:
        """Share of claims without a verdict; 0 for a document without claims."""
        return self.counts["unscored"] / len(self.verdicts) if self.verdicts else 0.0

    @property
    def verdict(self) -> VerdictName:
        """Of the document as one statement.

        Wrong if one claim is; else unscored if one claim is, or there is none; else supported.
        """
        counts = self.counts
        if counts["contradicted"]:
            return "contradicted"
        if counts["not_in_source"]:
            return "not_in_source"
        return "unscored" if counts["unscored"] or not self.verdicts else "supported"
