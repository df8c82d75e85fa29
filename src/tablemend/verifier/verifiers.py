"""What verifies claims: by program or by two together, with what a model is shown and says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from tablemend.backends.names import ModelName
from tablemend.config.section import nearest
from tablemend.errors import TablemendError
from tablemend.evidence.source import Source
from tablemend.records import (
    NOTHING,
    Claim,
    ClaimError,
    ClaimKind,
    Document,
    Evidence,
    Usage,
    Verdict,
    VerdictName,
)
from tablemend.tables.read import write_table
from tablemend.tables.table import TableError
from tablemend.verifier.extraction import VERSION as EXTRACTOR_VERSION
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.program import VERSION, verify_document

# ---- types of errors

BY_KIND: dict[ClaimKind, ClaimError] = {
    "numeric": "NUM",
    "relational": "REL",
    "comparative": "CMP",
    "temporal": "TMP",
    "attribute": "ATT",
    "presence": "REL",
}
"""What is most often wrong with a claim of a kind."""


def name_error(claim: Claim, source: Source) -> ClaimError:
    """The type of a claim that a model calls wrong: the program's, or what its kind most often is.

    The program reads the claim too; where it finds it wrong, it knows what would be right.
    """
    if claim.kind != "presence" and source.tables:
        for verdict in verify_document(extract_claims(claim.statement), source):
            if verdict.error_type is not None:
                return verdict.error_type
    return BY_KIND[claim.kind]


# ---- what a model is shown

CELLS = "Table cells: "
MOST_CHARACTERS = 8_000
"""Longest evidence that is shown; what is longer is left out whole, never cut."""
SHORT = 4_000
"""Characters of tables that a language model is shown whole."""


class Premise(NamedTuple):
    """Evidence for one claim.

    Attributes:
        evidence: what is shown, the best first.
        left_out: how much was retrieved and is too long to be shown.
        tables: the whole tables, shown in place of their cells; may be empty.
    """

    evidence: tuple[Evidence, ...]
    left_out: int = 0
    tables: str = ""

    @property
    def reason(self) -> str:
        """Why a claim without evidence cannot be scored by a model."""
        if self.left_out:
            return "the evidence for it is too long for the model"
        return "no cell or sentence of the source has to do with it"


def gather(statement: str, source: Source) -> Premise:
    """The best cells of the tables and the best sentences of the text."""
    found = [*source.find_cells(statement), *source.find_sentences(statement)]
    kept: list[Evidence] = []
    room = MOST_CHARACTERS
    for evidence in found:
        if len(evidence.text) <= room:
            kept.append(evidence)
            room -= len(evidence.text)
    return Premise(tuple(kept), len(found) - len(kept))


def whole_tables(source: Source) -> str:
    """The tables in Markdown; empty where they are long, or cannot be written so."""
    if sum(len(table.columns) * (len(table.rows) + 1) for table in source.tables) > SHORT:
        return ""
    try:
        written = "\n\n".join(write_table(table, "markdown") for table in source.tables)
    except TableError:
        return ""
    return written if len(written) <= SHORT else ""


def premise(evidence: Sequence[Evidence], tables: str = "") -> str:
    """Cells on one line, ``Table cells: Row "x", Column "y": 5. ...``, sentences on the next.

    Args:
        evidence: the best first.
        tables: the whole tables, in place of their cells.
    """
    cells = [one.text for one in evidence if one.table is not None]
    sentences = [one.text for one in evidence if one.table is None]
    lines = [tables] if tables else [f"{CELLS}{'. '.join(cells)}."] if cells else []
    return "\n".join([*lines, " ".join(sentences)] if sentences else lines)


def about(source: Source, query: str = "") -> str:
    """Titles of the tables and the question that an answer table answers, on one line."""
    titles = [f"the table {' '.join(t.title.split())!r}" for t in source.tables if t.title.strip()]
    if query:
        titles.append(f"the answer to the question {' '.join(query.split())!r}")
    return ", ".join(titles) or ("a table" if source.tables else "a text")


def scored(
    claim: Claim,
    verdict: VerdictName,
    evidence: tuple[Evidence, ...],
    source: Source,
    reason: str,
    verifier: str,
) -> Verdict:
    """A model's verdict, with the type of the error where it is wrong."""
    wrong = verdict in ("contradicted", "not_in_source")
    error_type = name_error(claim, source) if wrong else None
    return Verdict(claim, verdict, error_type, evidence, reason, verifier=verifier)


def unscored(claim: Claim, shown: Premise, reason: str, verifier: str) -> Verdict:
    """A claim that a model gave no verdict on."""
    return Verdict(claim, "unscored", None, shown.evidence, reason, verifier=verifier)


# ---- verifiers

PROGRAM = "program"
MODELS = ("nli", "llm", "program-by")
VERIFIERS = (
    "program, nli, nli:MODEL, llm:MODEL or program-by:MODEL (a model string such as "
    "hf:Qwen/Qwen3-8B), or two joined as program+nli:MODEL, program+llm:MODEL, "
    "program+program-by:MODEL"
)
"""What a verifier may be called, for messages."""
EXTRACTORS = "program, or llm:MODEL (a model string such as hf:Qwen/Qwen3-8B)"

Verified = tuple[tuple[Verdict, ...], Usage]


class Verifier(Protocol):
    """Something that verifies claims.

    Attributes:
        name: how it is asked for and recorded, with its version: ``program/2``, ``nli:MODEL``.
    """

    name: str

    def verify(self, items: Sequence[tuple[Document, Source]]) -> list[Verified]:
        """Verify many documents; models batch them."""
        ...

    def close(self) -> None:
        """Let go of memory and connections; a second call does nothing."""
        ...


class Extraction(NamedTuple):
    """A text taken apart.

    Attributes:
        document: the text and its claims.
        usage: what a model was asked for it.
        notes: what a reader must know of it, such as claims that were dropped.
    """

    document: Document
    usage: Usage = NOTHING
    notes: tuple[str, ...] = ()


class Extractor(Protocol):
    """Something that takes texts apart into claims.

    Attributes:
        name: how it is recorded, with its version.
    """

    name: str

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        """Take many texts apart; models batch them."""
        ...

    def close(self) -> None:
        """Let go of memory and connections; a second call does nothing."""
        ...


class ProgramVerifier:
    """Every claim over the whole source, by program."""

    name = VERSION

    def verify(self, items: Sequence[tuple[Document, Source]]) -> list[Verified]:
        """See :class:`Verifier`."""
        return [(verify_document(document, source), Usage()) for document, source in items]

    def close(self) -> None:
        """There is nothing to let go of."""


class ProgramExtractor:
    """Sentences, clauses, coordinations and lists, by program."""

    name = EXTRACTOR_VERSION

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        """See :class:`Extractor`."""
        return [Extraction(extract_claims(text)) for text in texts]

    def close(self) -> None:
        """There is nothing to let go of."""


DISPUTED = "disputed"
"""Beginning of the reason where the first verifier flags a claim and the second supports it."""


class CombinedVerifier:
    """Two verifiers, the second for what the first leaves unscored, and to confirm its errors.

    Args:
        first, second: asked in this order.
        veto: whether the second is also asked about what the first calls wrong. A claim that it
            then calls supported is disputed: unscored, with both reasons. Without a verdict of the
            second the first's is kept.
    """

    def __init__(self, first: Verifier, second: Verifier, veto: bool = False) -> None:
        self.name = f"{first.name} + {second.name}"
        self._first, self._second, self._veto = first, second, veto

    def verify(self, items: Sequence[tuple[Document, Source]]) -> list[Verified]:
        """See :class:`Verifier`."""
        first = self._first.verify(items)
        left = []
        for (document, source), (own, _) in zip(items, first, strict=True):
            claims = tuple(one.claim for one in own if self._is_open(one))
            left.append((replace(document, claims=claims), source))
        found = []
        for (own, used), (answers, more) in zip(first, self._second.verify(left), strict=True):
            rest = iter(answers)
            verdicts = (self._join(one, next(rest)) if self._is_open(one) else one for one in own)
            found.append((tuple(verdicts), used + more))
        return found

    def _is_open(self, verdict: Verdict) -> bool:
        return verdict.verdict == "unscored" or (self._veto and verdict.wrong)

    def _join(self, first: Verdict, second: Verdict) -> Verdict:
        if first.verdict == "unscored":
            return second
        if second.verdict != "supported":
            said = second.verdict.replace("_", " ")
            return replace(first, reason=f"{first.reason}; the model: {second.reason or said}")
        reason = (
            f"{DISPUTED}: {first.reason}; but {second.reason or 'the model calls it supported'}"
        )
        return replace(
            first,
            verdict="unscored",
            error_type=None,
            reason=reason,
            spans=(),
            expected=(),
            verifier=self.name,
        )

    def close(self) -> None:
        """Close both."""
        self._first.close()
        self._second.close()


def verifier_names(name: str) -> list[tuple[str, str]]:
    """Kind (a key of :data:`MODELS`, or ``program``) and model of the verifier, or of two joined.

    Raises:
        TablemendError: an unknown name, a model string without an engine, or two verifiers that
            cannot be joined.
    """
    first, plus, second = name.partition("+")
    if plus and first.strip() == PROGRAM:
        return [(PROGRAM, ""), _read_name(second, MODELS, "verifier", VERIFIERS)]
    return [_read_name(name, (PROGRAM, *MODELS), "verifier", VERIFIERS)]


def extractor_name(name: str) -> tuple[str, str]:
    """The same of an extractor: ``program`` or ``llm``, and the model."""
    return _read_name(name, (PROGRAM, "llm"), "extractor", EXTRACTORS)


def _read_name(name: str, kinds: tuple[str, ...], what: str, known: str) -> tuple[str, str]:
    kind, _, model = name.strip().partition(":")
    asks = kind in ("llm", "program-by")
    if kind not in kinds or (kind == PROGRAM and model) or (asks and not model):
        close = "" if kind in kinds else nearest(kind, kinds)
        raise TablemendError(f"no {what} {name!r}{close}; there are {known}")
    if asks:
        ModelName.parse(model)
    return kind, model
