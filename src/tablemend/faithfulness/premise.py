"""What a model is shown of a source: the top cells and sentences, as in TabFaith, Appendix A.

A language model is shown short tables whole: of single cells nobody can tell the highest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tablemend.evidence.source import Source
from tablemend.records import Claim, Evidence, Verdict, VerdictName
from tablemend.tables.read import write_table
from tablemend.tables.table import TableError
from tablemend.verifier.error_types import name_error

CELLS = "Table cells: "
MOST_CHARACTERS = 8_000
"""Longest evidence that is shown; what is longer is left out whole, never cut."""
SHORT = 4_000
"""Characters of tables that a language model is shown whole."""


class Shown(NamedTuple):
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


def gather(statement: str, source: Source) -> Shown:
    """The best cells of the tables and the best sentences of the text."""
    found = [*source.find_cells(statement), *source.find_sentences(statement)]
    kept: list[Evidence] = []
    room = MOST_CHARACTERS
    for evidence in found:
        if len(evidence.text) <= room:
            kept.append(evidence)
            room -= len(evidence.text)
    return Shown(tuple(kept), len(found) - len(kept))


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


def unscored(claim: Claim, shown: Shown, reason: str, verifier: str) -> Verdict:
    """A claim that a model gave no verdict on."""
    return Verdict(claim, "unscored", None, shown.evidence, reason, verifier=verifier)
