"""STAF: take a text or an answer table apart, verify every claim, count (TabFaith, section 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from tablemend.backends.backend import open_backend
from tablemend.config.section import BackendOptions
from tablemend.evidence.source import Source
from tablemend.records import Verification
from tablemend.tables.table import Table
from tablemend.verifier.answer_table.verify import answer_notes
from tablemend.verifier.extraction import answer_claims
from tablemend.verifier.llm import LLMVerifier, ModelExtractor, PerRequest
from tablemend.verifier.verifiers import (
    DISPUTED,
    PROGRAM,
    CombinedVerifier,
    Extraction,
    Extractor,
    ProgramExtractor,
    ProgramVerifier,
    Verifier,
    extractor_name,
    verifier_names,
)


class _Closes(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=_Closes)


def open_verifier(
    name: str,
    options: BackendOptions | None = None,
    *,
    thinking: bool | None = None,
    max_new_tokens: int | None = None,
    labels: Sequence[str] = (),
    per_request: PerRequest = "sentence",
    samples: int = 1,
) -> Verifier:
    """The verifier that a string names; close it when done.

    Args:
        name: ``program``; ``nli:MODEL``, a sequence-pair classifier; ``llm:`` or ``program-by:``
            and a model string (:meth:`ModelName.parse`); ``program+`` and one of these.
        options: how a model is asked; its ``revision`` is the classifier's too.
        thinking: whether a language model is to think first; ``None`` asks for nothing.
        max_new_tokens: its longest answer, thinking included; ``None``: 1024.
        labels: of a classifier whose checkpoint names its outputs ``LABEL_0``.
        per_request: what one request to a language model asks about: a claim, or all claims of a
            sentence or paragraph.
        samples: how many programs ``program-by:`` asks for, which vote.

    Raises:
        TablemendError: an unknown name, or a model that cannot be opened.
    """
    verifiers: list[Verifier] = []
    for kind, model in verifier_names(name):
        if kind == PROGRAM:
            verifiers.append(ProgramVerifier())
        elif kind == "nli":
            from tablemend.verifier.nli import DEFAULT, NLIVerifier  # torch

            revision = None if options is None else options.revision
            verifiers.append(NLIVerifier(model or DEFAULT, revision, labels))
        else:
            backend = open_backend(model, options or BackendOptions())
            manner = backend, thinking, max_new_tokens, per_request
            if kind == "llm":
                verifiers.append(LLMVerifier(*manner))
            else:
                from tablemend.verifier.program_by import ProgramByVerifier  # seldom needed

                verifiers.append(ProgramByVerifier(*manner, samples))
    if len(verifiers) == 1:
        return verifiers[0]
    first, second = verifiers
    return CombinedVerifier(first, second, veto=isinstance(second, LLMVerifier))


def open_extractor(
    name: str,
    options: BackendOptions | None = None,
    *,
    thinking: bool | None = None,
    max_new_tokens: int | None = None,
) -> Extractor:
    """The extractor that a string names: ``program``, or ``llm:`` and a model string.

    The other arguments are those of :func:`open_verifier`; a longest answer of ``None`` is 2048.

    Raises:
        TablemendError: an unknown name, or a model that cannot be opened.
    """
    kind, model = extractor_name(name)
    if kind == PROGRAM:
        return ProgramExtractor()
    backend = open_backend(model, options or BackendOptions())
    return ModelExtractor(backend, thinking, max_new_tokens)


def verify_text(
    text: str,
    source: Source,
    verifier: str | Verifier = PROGRAM,
    extractor: str | Extractor = PROGRAM,
) -> Verification:
    """:func:`verify_documents` of one text."""
    return verify_documents([(text, source)], verifier, extractor)[0]


def verify_documents(
    items: Sequence[tuple[str | Table, Source]],
    verifier: str | Verifier = PROGRAM,
    extractor: str | Extractor = PROGRAM,
) -> list[Verification]:
    """Verify every claim of texts, and every cell and row of answer tables, by their sources.

    Models are opened once and asked in batches.

    Args:
        items: texts, each with its table, or tables and text; answer tables, each with the
            context that it was made from and the query. What the program could not read of a
            query stands in the notes.
        verifier: see :func:`open_verifier`; one that is open stays open.
        extractor: see :func:`open_extractor`; likewise.

    Raises:
        TablemendError: a name that is unknown, or a model that cannot go on.
    """
    with opened(extractor, open_extractor) as extracting:
        of_texts = iter(extracting.extract([one for one, _ in items if isinstance(one, str)]))
    extractions = [
        next(of_texts)
        if isinstance(one, str)
        else Extraction(answer_claims(one, source.query), notes=answer_notes(one))
        for one, source in items
    ]
    sources = [source for _, source in items]
    with opened(verifier, open_verifier) as verifying:
        documents = [one.document for one in extractions]
        scored = verifying.verify(list(zip(documents, sources, strict=True)))
    found = []
    for extraction, source, (verdicts, usage) in zip(extractions, sources, scored, strict=True):
        name, notes = verifying.name, extraction.notes
        if extraction.document.table is None:
            name = f"{name}; claims: {extracting.name}"
        elif isinstance(verifying, ProgramVerifier):  # a model reads the whole query
            notes = answer_notes(extraction.document.table, source.query)
        if disputed := sum(
            one.verdict == "unscored" and one.reason.startswith(f"{DISPUTED}: ") for one in verdicts
        ):
            notes += (f"flags of the program that the model did not confirm: {disputed}, unscored",)
        found.append(Verification(verdicts, name, extraction.usage + usage, notes))
    return found


@contextmanager
def opened(named: str | T, opener: Callable[[str], T]) -> Iterator[T]:
    """An open one as it is; a name is opened, and closed at the end."""
    if not isinstance(named, str):
        yield named
        return
    found = opener(named)
    try:
        yield found
    finally:
        found.close()
