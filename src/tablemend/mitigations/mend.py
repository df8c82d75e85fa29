"""Mend texts and answer tables: any mitigation that edits, by its name."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.requests import Sampling
from tablemend.config.section import BackendOptions, nearest
from tablemend.errors import TablemendError
from tablemend.evidence.source import Source
from tablemend.mitigations.edits import MAX_NEW_TOKENS, Draft, Mended, Tools
from tablemend.mitigations.mitigation import MITIGATIONS, PostEdit
from tablemend.mitigations.repair_table import repair_answer
from tablemend.mitigations.repair_text import repair_text
from tablemend.records import Verification
from tablemend.verifier.staf import open_extractor, open_verifier, opened, verify_text
from tablemend.verifier.verifiers import PROGRAM, Extractor, Verifier

METHODS = {name: one for name, one in MITIGATIONS.items() if isinstance(one, PostEdit)}
"""Mitigations that edit, by name."""


def named(method: str, model: object) -> PostEdit:
    """The mitigation of this name.

    Raises:
        TablemendError: there is none, or it needs a model, or asks none.
    """
    edit = METHODS.get(method)
    if edit is None:
        raise TablemendError(
            f"no method {method!r}{nearest(method, METHODS)}; there are {', '.join(METHODS)}"
        )
    if edit.asks_model and model is None:
        raise TablemendError(
            f"{method} needs a model to rewrite with, such as "
            "openai:MODEL@http://localhost:8000/v1; repair needs none"
        )
    if not edit.asks_model and model is not None:
        raise TablemendError(f"{method} asks no model: leave the model out, or say method cave")
    return edit


def mend(
    drafts: Sequence[Draft],
    method: str = "repair",
    model: str | Backend | None = None,
    *,
    verifier: str | Verifier = PROGRAM,
    extractor: str | Extractor = PROGRAM,
    thinking: bool | None = None,
    max_new_tokens: int = MAX_NEW_TOKENS,
) -> list[Mended]:
    """Mend answers; what is not flagged stays byte for byte. Models are opened once.

    Args:
        drafts: texts, each with its table, and raw answers that hold a table, each with context
            and query; an answer without a table stays as it is.
        method: ``repair`` replaces by program what is contradicted and clear; ``cave`` has a
            model rewrite what is flagged.
        model: of ``cave``: a model string (``openai:MODEL@URL``, ``hf:NAME``) or an open backend.
        verifier: what detects (:func:`~tablemend.verifier.staf.open_verifier`); tables are
            repaired by the program.
        extractor: what takes a text apart.
        thinking: whether the model is to think first; ``None`` asks for nothing.
        max_new_tokens: its longest answer, thinking included.

    Raises:
        TablemendError: no such method, ``cave`` without a model, or a model that cannot go on.
    """
    edit = named(method, model)
    with (
        opened(verifier, open_verifier) as opened_verifier,
        opened(extractor, open_extractor) as opened_extractor,
        open_backend(model, BackendOptions())
        if isinstance(model, str)
        else nullcontext(model) as backend,
    ):
        sampling = Sampling(max_new_tokens)
        tools = Tools(opened_verifier, opened_extractor, backend, thinking, sampling)
        return edit.edit(drafts, tools)


def repair(drafts: Sequence[Draft], tools: Tools) -> list[Mended]:
    """Texts by any verifier, tables by the program."""

    def verify(text: str, source: Source) -> Verification:
        return verify_text(text, source, tools.verifier, tools.extractor)

    return [
        repair_text(text, evidence, verify)
        if format is None
        else repair_answer(text, evidence.text, evidence.query, format)
        for text, evidence, format, _ in drafts
    ]
