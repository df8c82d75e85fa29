"""What every verifier and every extractor is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from tablemend.evidence.source import Source
from tablemend.records import Document, Verdict


@dataclass(frozen=True, slots=True)
class Usage:
    """What models were asked: requests, tokens, and requests that failed; nothing for a program."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failed: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.failed + other.failed,
        )


NOTHING = Usage()


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
