"""What every verifier is: documents and sources in, one verdict a claim out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tablemend.evidence.source import Source
from tablemend.records import Document, Verdict


@dataclass(slots=True)
class Usage:
    """What models were asked: requests and tokens."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Verifier(Protocol):
    """Something that judges claims.

    Attributes:
        name: how it is asked for and recorded, with its version: ``program/1``, ``nli:MODEL``.
    """

    name: str

    def verify(
        self, items: Sequence[tuple[Document, Source]]
    ) -> list[tuple[tuple[Verdict, ...], Usage]]:
        """Judge many documents; models batch them."""
        ...

    def close(self) -> None:
        """Let go of memory and connections."""
        ...
