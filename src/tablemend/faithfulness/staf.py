"""STAF: take a text or an answer table apart, verify every claim, count (TabFaith, section 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol, TypeVar

from tablemend.backends.backend import open_backend
from tablemend.claims.answers import answer_claims
from tablemend.config.backend import BackendOptions
from tablemend.evidence.source import Source
from tablemend.faithfulness.combined import CombinedVerifier
from tablemend.faithfulness.extractor import ModelExtractor
from tablemend.faithfulness.llm import LLMVerifier
from tablemend.faithfulness.names import PROGRAM, extractor_name, verifier_names
from tablemend.faithfulness.program import ProgramExtractor, ProgramVerifier
from tablemend.faithfulness.verifier import Extraction, Extractor, Usage, Verifier
from tablemend.records import Verification
from tablemend.tables.table import Table
from tablemend.verification.context_notes import answer_notes


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
) -> Verifier:
    """The verifier that a string names; close it when done.

    Args:
        name: ``program``; ``nli:MODEL``, a sequence-pair classifier; ``llm:`` and a model string
            (:meth:`ModelName.parse`); ``program+`` and one of these.
        options: how a model is asked; its ``revision`` is the classifier's too.
        thinking: whether a language model is to think first; ``None`` asks for nothing.
        max_new_tokens: its longest answer, thinking included; ``None``: 1024.
        labels: of a classifier whose checkpoint names its outputs ``LABEL_0``.

    Raises:
        TablemendError: an unknown name, or a model that cannot be opened.
    """
    verifiers: list[Verifier] = []
    for kind, model in verifier_names(name):
        if kind == PROGRAM:
            verifiers.append(ProgramVerifier())
        elif kind == "nli":
            from tablemend.faithfulness.nli import DEFAULT, NLIVerifier  # torch

            revision = None if options is None else options.revision
            verifiers.append(NLIVerifier(model or DEFAULT, revision, labels))
        else:
            backend = open_backend(model, options or BackendOptions())
            verifiers.append(LLMVerifier(backend, thinking, max_new_tokens))
    return CombinedVerifier(*verifiers) if len(verifiers) == 2 else verifiers[0]


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
    """Verify every claim of a text against its source.

    Args:
        text: the summary.
        source: its table, or tables and text.
        verifier: see :func:`open_verifier`; one that is open stays open.
        extractor: see :func:`open_extractor`; likewise.

    Raises:
        TablemendError: a name that is unknown, or a model that cannot go on.
    """
    return verify_texts([(text, source)], verifier, extractor)[0]


def verify_answer(
    table: Table, source: Source, query: str = "", verifier: str | Verifier = PROGRAM
) -> Verification:
    """Verify every cell and row of an answer table against the context that it was made from.

    Args:
        table: the answer.
        source: the context (``Source(text=...)``), tables, or both.
        query: the question, whose scope the rows are checked by; may be empty. What the program
            could not read of it stands in the notes.
        verifier: see :func:`open_verifier`; one that is open stays open.

    Raises:
        TablemendError: a name that is unknown, or a model that cannot go on.
    """
    return verify_answers([(table, source, query)], verifier)[0]


def verify_texts(
    items: Sequence[tuple[str, Source]],
    verifier: str | Verifier = PROGRAM,
    extractor: str | Extractor = PROGRAM,
) -> list[Verification]:
    """:func:`verify_text` of many texts, each opened once and asked in batches."""
    with opened(extractor, open_extractor) as taking_apart:
        extractions = taking_apart.extract([text for text, _ in items])
        name = taking_apart.name
    with opened(verifier, open_verifier) as verifying:
        return _verify(extractions, [source for _, source in items], verifying, name)


def verify_answers(
    items: Sequence[tuple[Table, Source, str]], verifier: str | Verifier = PROGRAM
) -> list[Verification]:
    """:func:`verify_answer` of many answer tables: table, source and query of each."""
    documents = [Extraction(answer_claims(table, query)) for table, _, query in items]
    with opened(verifier, open_verifier) as verifying:
        found = _verify(documents, [source for _, source, _ in items], verifying, "")
        # A model reads the whole query; what the program could not read of it must be said.
        is_program = isinstance(verifying, ProgramVerifier)
    return [
        replace(one, notes=(*one.notes, *answer_notes(table, query if is_program else "")))
        for one, (table, _, query) in zip(found, items, strict=True)
    ]


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


def _verify(
    extractions: Sequence[Extraction],
    sources: Sequence[Source],
    verifier: Verifier,
    extractor: str,
) -> list[Verification]:
    documents = [one.document for one in extractions]
    scored = verifier.verify(list(zip(documents, sources, strict=True)))
    named = verifier.name + (f"; claims: {extractor}" if extractor else "")
    found = []
    for extraction, (verdicts, usage) in zip(extractions, scored, strict=True):
        spent: Usage = extraction.usage + usage
        found.append(
            Verification(
                verdicts,
                named,
                spent.calls,
                spent.prompt_tokens,
                spent.completion_tokens,
                (extraction.note,) if extraction.note else (),
                spent.failed,
            )
        )
    return found
