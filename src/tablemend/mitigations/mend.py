"""Mend a text or an answer table: repair by program, or CAVE by a model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Literal

from tablemend.backends.backend import Backend, open_backend
from tablemend.config.backend import BackendOptions
from tablemend.detector.judge import AnswerFormat
from tablemend.errors import TablemendError
from tablemend.evidence.source import Source
from tablemend.faithfulness.names import PROGRAM
from tablemend.faithfulness.staf import open_extractor, open_verifier, opened, verify_text
from tablemend.faithfulness.verifier import Extractor, Verifier
from tablemend.mitigations.answers import AnswerItem
from tablemend.mitigations.cave import MAX_NEW_TOKENS, PASSES, cave_text
from tablemend.mitigations.cave_table import CaveTable
from tablemend.mitigations.edits import Mended
from tablemend.mitigations.repair_table import repair_answer
from tablemend.mitigations.repair_text import repair_text
from tablemend.mitigations.steps import run_together

Method = Literal["repair", "cave"]


def mend_text(
    text: str,
    source: Source,
    method: Method = "repair",
    model: str | Backend | None = None,
    *,
    verifier: str | Verifier = PROGRAM,
    extractor: str | Extractor = PROGRAM,
    passes: int = PASSES,
    thinking: bool | None = None,
    max_new_tokens: int = MAX_NEW_TOKENS,
) -> Mended:
    """Mend a text about a table; what is not flagged stays byte for byte.

    Args:
        text: the summary.
        source: its table.
        method: ``repair`` replaces by program what is contradicted and clear; ``cave`` has a
            model rewrite what is flagged.
        model: of ``cave``: a model string (``openai:MODEL@URL``, ``hf:NAME``) or an open backend.
        verifier: what detects (:func:`~tablemend.faithfulness.staf.open_verifier`).
        extractor: what takes the text apart.
        passes: most rewrites of the same words.
        thinking: whether the model is to think first; ``None`` asks for nothing.
        max_new_tokens: its longest answer, thinking included.

    Raises:
        TablemendError: ``cave`` without a model, or a model that cannot go on.
    """
    return mend_texts(
        [(text, source)],
        method,
        model,
        verifier=verifier,
        extractor=extractor,
        passes=passes,
        thinking=thinking,
        max_new_tokens=max_new_tokens,
    )[0]


def mend_texts(
    items: Sequence[tuple[str, Source]],
    method: Method = "repair",
    model: str | Backend | None = None,
    *,
    verifier: str | Verifier = PROGRAM,
    extractor: str | Extractor = PROGRAM,
    passes: int = PASSES,
    thinking: bool | None = None,
    max_new_tokens: int = MAX_NEW_TOKENS,
) -> list[Mended]:
    """:func:`mend_text` of many texts; models are opened once and asked in batches."""
    with opened(verifier, open_verifier) as judging, opened(extractor, open_extractor) as parting:
        if method == "repair":
            _refuse_model(model)
            return [
                repair_text(text, source, lambda t, s: verify_text(t, s, judging, parting))
                for text, source in items
            ]
        with _backend(model) as backend:
            steps = [
                cave_text(text, source, passes, thinking, max_new_tokens) for text, source in items
            ]
            return run_together(steps, backend, judging, parting)


def mend_answer(
    text: str,
    *,
    context: str,
    query: str = "",
    method: Method = "repair",
    model: str | Backend | None = None,
    format: AnswerFormat = "auto",
    verifier: str | Verifier = PROGRAM,
    passes: int = PASSES,
    thinking: bool | None = None,
    max_new_tokens: int = MAX_NEW_TOKENS,
) -> Mended:
    """Mend a raw answer that holds a table; what surrounds the table stays byte for byte.

    Args:
        text: the raw answer; one without a table stays as it is.
        context: the text that it was made from.
        query: the question, which says rows, columns and order.
        method: ``repair`` or ``cave``.
        model: of ``cave``, as of :func:`mend_text`.
        format: the answer's format.
        verifier: what detects, for ``cave``; repair goes by the program.
        passes: most times that a cell is asked for.
        thinking: whether the model is to think first; ``None`` asks for nothing.
        max_new_tokens: its longest answer, thinking included.

    Raises:
        TablemendError: ``cave`` without a model, or a model that cannot go on.
    """
    return mend_answers(
        [AnswerItem(text, context, query, format)],
        method,
        model,
        verifier=verifier,
        passes=passes,
        thinking=thinking,
        max_new_tokens=max_new_tokens,
    )[0]


def mend_answers(
    items: Sequence[AnswerItem],
    method: Method = "repair",
    model: str | Backend | None = None,
    *,
    verifier: str | Verifier = PROGRAM,
    passes: int = PASSES,
    thinking: bool | None = None,
    max_new_tokens: int = MAX_NEW_TOKENS,
) -> list[Mended]:
    """:func:`mend_answer` of many answers; models are opened once and asked in batches."""
    if method == "repair":
        _refuse_model(model)
        return [repair_answer(item.text, item.context, item.query, item.format) for item in items]
    with opened(verifier, open_verifier) as judging, _backend(model) as backend:
        return CaveTable(backend, judging, passes, thinking, max_new_tokens).mend(items)


def _backend(model: str | Backend | None) -> Backend | nullcontext[Backend]:
    """The model of ``cave``; one that is open stays open."""
    if model is None:
        raise TablemendError(
            "cave needs a model to rewrite with, such as openai:MODEL@http://localhost:8000/v1; "
            "repair needs none"
        )
    return open_backend(model, BackendOptions()) if isinstance(model, str) else nullcontext(model)


def _refuse_model(model: object) -> None:
    if model is not None:
        raise TablemendError("repair asks no model: leave the model out, or say method cave")
