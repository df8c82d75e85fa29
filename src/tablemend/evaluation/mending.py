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
from tablemend.backends.requests import Sampling
from tablemend.errors import Stopped, TablemendError
from tablemend.evaluation.generating import IMPOSSIBLE
from tablemend.evaluation.systems import STAGE, ResolvedSystem
from tablemend.generations import Generations, Stored, write_out
from tablemend.mitigations.edits import Tools
from tablemend.mitigations.mitigation import PostEdit
from tablemend.mitigations.repair_scorer import mend_answers
from tablemend.recipe.experiment import Comparison
from tablemend.records import ContextKind
from tablemend.runs import Run
from tablemend.tasks.task import Sample, Submission
from tablemend.verifier.verifiers import ProgramExtractor, ProgramVerifier

CHUNK = 64
"""Answers that are mended together: a kill loses no more."""


def mend(
    systems: Sequence[ResolvedSystem], examples: Sequence[Sample], config: Comparison, run: Run
) -> None:
    """Mend what is not mended yet, and again what has been answered anew.

    A model that cannot go on makes its system one that is not possible here: what the others were
    paid for is scored all the same.

    Raises:
        TablemendError: an answer is missing.
        Stopped: a server is gone; what is mended is stored.
    """
    generations = Generations(run.path / "generations")
    impossible = dict(run.recorded(STAGE).get(IMPOSSIBLE, {}))
    for system in systems:
        edit = system.mitigation
        if not isinstance(edit, PostEdit) or system.name in impossible:
            continue
        try:
            with ExitStack() as stack:
                tools, identity = _open(system, edit, config, stack)
                for context in config.contexts:
                    _mend_part(system, context, examples, generations, tools, identity)
        except Stopped:
            raise
        except TablemendError as error:
            if not edit.asks_model:
                raise
            impossible[system.name] = str(error)
            run.record(STAGE, {**run.recorded(STAGE), IMPOSSIBLE: impossible})


def _open(
    system: ResolvedSystem, edit: PostEdit, config: Comparison, stack: ExitStack
) -> tuple[Tools, dict[str, Any]]:
    """What a mitigation works with, and all that its work depends on."""
    identity: dict[str, Any] = {"mender": edit.text if system.task.format is None else edit.table}
    tools = Tools(ProgramVerifier(), ProgramExtractor(), thinking=system.thinking != "off")
    if edit.asks_model:
        opened = open_backend(system.model, system.options, attn=config.model.attn)
        backend = stack.enter_context(opened)
        most = min(tools.sampling.max_new_tokens, system.sampling.max_new_tokens)
        sampling = Sampling(most, max_repeats=system.sampling.max_repeats)
        tools = tools._replace(backend=backend, sampling=sampling)
        identity["rewriting"] = backend.identity
    return tools, identity


def _mend_part(
    system: ResolvedSystem,
    context: ContextKind,
    examples: Sequence[Sample],
    generations: Generations,
    tools: Tools,
    identity: dict[str, Any],
) -> None:
    """Mend one system's answers on one context."""
    assert system.after is not None
    answered = generations.read(system.after, context)
    lacking = sum(example.id not in answered for example in examples)
    if lacking:
        raise TablemendError(
            f"{generations.path(system.after, context)}: {lacking} of {len(examples)} answers "
            f"are missing that system {system.name} is to mend"
        )
    source = generations.settings_key(system.after, context)
    settings = {**system.settings, **identity, "mends": source}
    if note := generations.take_up(system.name, context, settings):
        print(note, file=sys.stderr)
    stored = generations.read(system.name, context)
    missing = [e for e in examples if e.id not in stored or stored[e.id].failed]
    stream = (
        one
        for place in range(0, len(missing), CHUNK)
        for one in _mend_chunk(system, context, missing[place : place + CHUNK], answered, tools)
    )
    described = f"{system.name}, {context}"
    with tqdm(total=len(missing), unit="answer", desc=described, disable=not missing) as progress:
        for _ in write_out(generations, {system.name: settings}, stream):
            progress.update()


def _mend_chunk(
    system: ResolvedSystem,
    context: ContextKind,
    examples: Sequence[Sample],
    answered: dict[str, Stored],
    tools: Tools,
) -> Iterator[Stored]:
    """Some answers, mended; those that failed or were cut stay as they are."""
    began = time.monotonic()
    asked = [
        Submission(example, context, answered[example.id].answer.text)
        for example in examples
        if answered[example.id].answer.finish_reason == "stop"
    ]
    assert isinstance(system.mitigation, PostEdit)
    mended = mend_answers(asked, system.task, system.mitigation, tools)
    found = {one.sample.id: edited for one, edited in zip(asked, mended, strict=True)}
    seconds = (time.monotonic() - began) / max(1, len(found))
    for example in examples:
        before = answered[example.id]
        answer = replace(before.answer, system=system.name)
        if example.id not in found:
            yield replace(before, answer=answer, seconds=0.0)
            continue
        edited = found[example.id]
        yield replace(
            before,
            answer=replace(
                answer,
                text=edited.text,
                prompt_tokens=answer.prompt_tokens + edited.usage.prompt_tokens,
                completion_tokens=answer.completion_tokens + edited.usage.completion_tokens,
            ),
            seconds=seconds,
            calls=before.calls + edited.usage.calls,
            edits=len(edited.edits),
            passes=edited.passes,
        )
