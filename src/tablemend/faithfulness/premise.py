"""What a model is shown of a source: the top cells and sentences, as in TabFaith, Appendix A."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tablemend.evidence.source import Source, retrieve_cells, retrieve_sentences
from tablemend.records import Claim, Document, Evidence, Verdict, VerdictName
from tablemend.verification.error_types import name_error

TOP = 3
"""Cells, and sentences, that a claim is scored by (TabFaith 4.1, step 2)."""
CELLS = "Table cells: "
MOST_CHARACTERS = 8_000
"""Longest evidence that is shown; what is longer is left out whole, never cut."""


class Shown(NamedTuple):
    """Evidence for one claim.

    Attributes:
        evidence: what is shown, the best first.
        left_out: how much was retrieved and is too long to be shown.
    """

    evidence: tuple[Evidence, ...]
    left_out: int = 0

    @property
    def reason(self) -> str:
        """Why a claim without evidence cannot be scored by a model."""
        if self.left_out:
            return "the evidence for it is too long for the model"
        return "no cell or sentence of the source has to do with it"


def gather(claim: Claim, source: Source, top: int = TOP) -> Shown:
    """The best cells of the tables and the best sentences of the text."""
    found: list[Evidence] = []
    if source.tables:
        found += retrieve_cells(claim.statement, source, top)
    if source.text:
        found += retrieve_sentences(claim.statement, source, top)
    kept: list[Evidence] = []
    room = MOST_CHARACTERS
    for evidence in found:
        if len(evidence.text) <= room:
            kept.append(evidence)
            room -= len(evidence.text)
    return Shown(tuple(kept), len(found) - len(kept))


def premise(evidence: Sequence[Evidence]) -> str:
    """Cells on one line, ``Table cells: Row "x", Column "y": 5. ...``, sentences on the next."""
    cells = [one.text for one in evidence if one.table is not None]
    sentences = [one.text for one in evidence if one.table is None]
    lines = [f"{CELLS}{'. '.join(cells)}."] if cells else []
    return "\n".join([*lines, " ".join(sentences)] if sentences else lines)


def about(document: Document, source: Source) -> str:
    """Titles of the tables and the question that an answer table answers, on one line."""
    titles = [f"the table {' '.join(t.title.split())!r}" for t in source.tables if t.title.strip()]
    if document.query:
        titles.append(f"the answer to the question {' '.join(document.query.split())!r}")
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


def unscored(claim: Claim, shown: Shown, reason: str, verifier: str) -> Verdict:
    """A claim that a model gave no verdict on."""
    return Verdict(claim, "unscored", None, shown.evidence, reason, verifier=verifier)
