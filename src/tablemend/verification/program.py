"""The program verifier: every claim of a document judged against its source."""

from __future__ import annotations

from tablemend.evidence.source import Source
from tablemend.records import Document, Verdict

VERSION = "program/1"


def verify_document(document: Document, source: Source) -> tuple[Verdict, ...]:
    """Judge every claim of a document, in its order."""
    return tuple(
        Verdict(claim, "unjudged", reason="not verified yet", judge=VERSION)
        for claim in document.claims
    )
