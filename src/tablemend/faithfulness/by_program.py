"""The embedded verifier and extractor: no weights, no network."""

from __future__ import annotations

from collections.abc import Sequence

from tablemend.claims.extract import VERSION as EXTRACTOR_VERSION
from tablemend.claims.extract import extract_claims
from tablemend.evidence.source import Source
from tablemend.faithfulness.interface import Extraction
from tablemend.records import Document, Usage, Verdict
from tablemend.verifier.program import VERSION, verify_document


class ProgramVerifier:
    """Every claim over the whole source, by program."""

    name = VERSION

    def verify(
        self, items: Sequence[tuple[Document, Source]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
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
