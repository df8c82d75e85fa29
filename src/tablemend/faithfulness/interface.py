"""What every verifier and every extractor is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from tablemend.evidence.source import Source
from tablemend.records import NOTHING, Document, Usage, Verdict


class Verifier(Protocol):
    """Something that verifies claims.

    Attributes:
        name: how it is asked for and recorded, with its version: ``program/2``, ``nli:MODEL``.
    """

    name: str

    def verify(
        self, items: Sequence[tuple[Document, Source]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
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
