"""What takes texts apart into claims and what verifies them: by program, by a model, by both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from tablemend.backends.names import ModelName
from tablemend.claims.extract import VERSION as EXTRACTOR_VERSION
from tablemend.claims.extract import extract_claims
from tablemend.config.section import nearest
from tablemend.errors import TablemendError
from tablemend.evidence.source import Source
from tablemend.records import NOTHING, Document, Usage, Verdict
from tablemend.verifier.program import VERSION, verify_document

PROGRAM = "program"
VERIFIERS = (
    "program, nli, nli:MODEL, llm:MODEL (a model string such as hf:Qwen/Qwen3-8B), or two joined as"
    " program+nli:MODEL or program+llm:MODEL"
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


class CombinedVerifier:
    """Two verifiers, the second for the claims that the first leaves unscored."""

    def __init__(self, first: Verifier, second: Verifier) -> None:
        self.name = f"{first.name} + {second.name}"
        self._first, self._second = first, second

    def verify(self, items: Sequence[tuple[Document, Source]]) -> list[Verified]:
        """See :class:`Verifier`."""
        scored = self._first.verify(items)
        left = []
        for (document, source), (own, _) in zip(items, scored, strict=True):
            claims = tuple(one.claim for one in own if one.verdict == "unscored")
            left.append((replace(document, claims=claims), source))
        found = []
        for (own, used), (answers, more) in zip(scored, self._second.verify(left), strict=True):
            rest = iter(answers)
            verdicts = tuple(next(rest) if v.verdict == "unscored" else v for v in own)
            found.append((verdicts, used + more))
        return found

    def close(self) -> None:
        """Close both."""
        self._first.close()
        self._second.close()


def verifier_names(name: str) -> list[tuple[str, str]]:
    """Kind (``program``, ``nli``, ``llm``) and model of the verifier, or of two that are joined.

    Raises:
        TablemendError: an unknown name, a model string without an engine, or two verifiers that
            cannot be joined.
    """
    first, plus, second = name.partition("+")
    if plus and first.strip() == PROGRAM:
        return [(PROGRAM, ""), _read_name(second, ("nli", "llm"), "verifier", VERIFIERS)]
    return [_read_name(name, (PROGRAM, "nli", "llm"), "verifier", VERIFIERS)]


def extractor_name(name: str) -> tuple[str, str]:
    """The same of an extractor: ``program`` or ``llm``, and the model."""
    return _read_name(name, (PROGRAM, "llm"), "extractor", EXTRACTORS)


def _read_name(name: str, kinds: tuple[str, ...], what: str, known: str) -> tuple[str, str]:
    kind, _, model = name.strip().partition(":")
    if kind not in kinds or (kind == PROGRAM and model) or (kind == "llm" and not model):
        close = "" if kind in kinds else nearest(kind, kinds)
        raise TablemendError(f"no {what} {name!r}{close}; there are {known}")
    if kind == "llm":
        ModelName.parse(model)
    return kind, model
