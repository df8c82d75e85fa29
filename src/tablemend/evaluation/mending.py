"""Systems that edit the stored answers of another system: nothing is generated anew."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from tqdm import tqdm

from tablemend.backends.backend import open_backend
from tablemend.errors import TablemendError
from tablemend.evaluation.systems import System
from tablemend.faithfulness.program import ProgramExtractor, ProgramVerifier
from tablemend.generations import Generations, Stored, write_out
from tablemend.mitigations.edits import Draft, Editor, Tools, without_thinking
from tablemend.mitigations.mitigation import PostEdit
from tablemend.recipe.experiment import Comparison
from tablemend.records import ContextKind
from tablemend.runs import Run
from tablemend.tasks.task import Sample

CHUNK = 64
"""Answers that are mended together: a kill loses no more."""


def mend(
    systems: Sequence[System], examples: Sequence[Sample], config: Comparison, run: Run
) -> None:
    """Mend what is not mended yet, and again what has been answered anew.

    Raises:
        TablemendError: an answer is missing, or a model that cannot go on.
        Stopped: a server is gone; what is mended is stored.
    """
    generations = Generations(run.path / "generations")
    for system in systems:
        if system.after is None:
            continue
        with ExitStack() as stack:
            editor, identity = _editor(system, config, stack)
            for context in config.contexts:
                _mend_part(system, context, examples, generations, editor, identity)


def _editor(system: System, config: Comparison, stack: ExitStack) -> tuple[Editor, dict[str, Any]]:
    """What edits a system's answers, and all that its work depends on."""
    edit = system.mitigation
    assert isinstance(edit, PostEdit)
    identity: dict[str, Any] = {"mender": edit.text if system.task.format is None else edit.table}
    tools = Tools(ProgramVerifier(), ProgramExtractor(), thinking=system.thinking != "off")
    if edit.asks_model:
        backend = stack.enter_context(
            open_backend(system.model, system.options, attn=config.model.attn)
        )
        most = min(tools.max_new_tokens, config.evaluation.max_new_tokens)
        tools = tools._replace(backend=backend, max_new_tokens=most)
        identity["rewriting"] = backend.identity
    return without_thinking(lambda drafts: edit.edit(drafts, tools)), identity


def _mend_part(
    system: System,
    context: ContextKind,
    examples: Sequence[Sample],
    generations: Generations,
    editor: Editor,
    identity: dict[str, Any],
) -> None:
    """Mend one system's answers on one context."""
    assert system.after is not None
    answered = generations.read(system.after, context)
    lacking = [example.id for example in examples if example.id not in answered]
    if lacking:
        raise TablemendError(
            f"{generations.path(system.after, context)}: {len(lacking)} of {len(examples)} answers "
            f"are missing that system {system.name} is to mend"
        )
    settings = {
        **system.asked,
        **identity,
        "mends": generations.settings_key(system.after, context),
    }
    if note := generations.take_up(system.name, context, settings):
        print(note, file=sys.stderr)
    stored = generations.read(system.name, context)
    missing = [e for e in examples if e.id not in stored or stored[e.id].failed]
    stream = (
        one
        for place in range(0, len(missing), CHUNK)
        for one in _mend_chunk(system, context, missing[place : place + CHUNK], answered, editor)
    )
    described = f"{system.name}, {context}"
    with tqdm(total=len(missing), unit="answer", desc=described, disable=not missing) as progress:
        for _ in write_out(generations, {system.name: settings}, stream):
            progress.update()


def _mend_chunk(
    system: System,
    context: ContextKind,
    examples: Sequence[Sample],
    answered: dict[str, Stored],
    editor: Editor,
) -> Iterator[Stored]:
    """Some answers, mended; those that failed or were cut stay as they are."""
    began = time.monotonic()
    whole = [e for e in examples if answered[e.id].answer.finish_reason == "stop"]
    task = system.task
    drafts = [
        Draft(answered[e.id].answer.text, task.evidence(e, context), task.format, e.id)
        for e in whole
    ]
    mended = dict(zip((e.id for e in whole), editor(drafts), strict=True))
    seconds = (time.monotonic() - began) / max(1, len(whole))
    for example in examples:
        before = answered[example.id]
        found = mended.get(example.id)
        if found is None:
            yield replace(before, answer=replace(before.answer, system=system.name), seconds=0.0)
            continue
        answer = replace(
            before.answer,
            system=system.name,
            text=found.text,
            prompt_tokens=before.answer.prompt_tokens + found.usage.prompt_tokens,
            completion_tokens=before.answer.completion_tokens + found.usage.completion_tokens,
        )
        yield replace(
            before,
            answer=answer,
            seconds=seconds,
            calls=before.calls + found.usage.calls,
            edits=len(found.edits),
            passes=found.passes,
        )
