"""The comparison: every system answers the same samples, and one scorer reads all of them."""

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
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.generating import IMPOSSIBLE, generate
from tablemend.evaluation.scoring import score, scorers, write_results
from tablemend.evaluation.systems import (
    STAGE,
    ResolvedSystem,
    begin,
    problems,
    read_test,
    refuse,
    resolve,
)
from tablemend.generations import Generations, Stored, write_out
from tablemend.mitigations.edits import Tools
from tablemend.mitigations.mitigation import PostEdit
from tablemend.mitigations.repair_scorer import mend_answers
from tablemend.recipe.experiment import Comparison
from tablemend.records import ContextKind
from tablemend.runs import Run, say, sole_writer
from tablemend.tasks.task import Sample, Submission
from tablemend.verifier.verifiers import ProgramExtractor, ProgramVerifier


def compare(config: CompareCommand) -> dict[str, Any]:
    """Answer, edit, score and write the results; the same call continues where one stopped.

    Returns:
        What results.json holds.

    Raises:
        TablemendError: samples, a checkpoint or a model that is not there or cannot go on.
        Stopped: a server is gone; what is answered is stored.
    """
    run = Run.of(config)
    say(f"reading {config.data.test.source}")
    systems = resolve(config, run)
    refuse(problems(config, () if config.rescore else systems))
    samples = read_test(config)
    with scorers(systems) as scoring, sole_writer(run.path):  # or hours end in a refusal
        if not config.rescore:
            begin(config, run, samples)
            generate(systems, samples, config, run)
            mend(systems, samples, config, run)
        impossible = run.recorded(STAGE).get(IMPOSSIBLE, {})
        possible = [one for one in systems if one.name not in impossible]
        for name, why in impossible.items():
            say(f"system {name} is not possible here: {why}")
        if not possible:
            raise TablemendError(
                "no system of the comparison is possible here: "
                + "; ".join(f"{name}: {why}" for name, why in impossible.items())
            )
        say(f"scoring the answers to {len(samples):,} samples")
        scored = score(possible, samples, config, run, scoring)
        return write_results(scored, possible, samples, config, run, impossible)


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
        identity: dict[str, Any] = {
            "mender": edit.text if system.task.format is None else edit.table
        }
        tools = Tools(ProgramVerifier(), ProgramExtractor(), thinking=system.thinking != "off")
        try:
            with ExitStack() as stack:
                if edit.asks_model:
                    opened = open_backend(system.model, system.options, attn=config.model.attn)
                    backend = stack.enter_context(opened)
                    most = min(tools.sampling.max_new_tokens, system.sampling.max_new_tokens)
                    sampling = Sampling(most, max_repeats=system.sampling.max_repeats)
                    tools = tools._replace(backend=backend, sampling=sampling)
                    identity["rewriting"] = backend.identity
                for context in config.contexts:
                    _mend_part(system, context, examples, generations, tools, identity)
        except Stopped:
            raise
        except TablemendError as error:
            if not edit.asks_model:
                raise
            impossible[system.name] = str(error)
            run.record(STAGE, {**run.recorded(STAGE), IMPOSSIBLE: impossible})


def _mend_part(
    system: ResolvedSystem,
    context: ContextKind,
    examples: Sequence[Sample],
    generations: Generations,
    tools: Tools,
    identity: dict[str, Any],
) -> None:
    """Mend one system's answers on one context; those that failed or were cut stay as they are.

    ``identity`` is all that the work of ``tools`` depends on.
    """
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

    def mended(chunk: Sequence[Sample]) -> Iterator[Stored]:
        began = time.monotonic()
        asked = [
            Submission(example, context, answered[example.id].answer.text)
            for example in chunk
            if answered[example.id].answer.finish_reason == "stop"
        ]
        assert isinstance(system.mitigation, PostEdit)
        edits = mend_answers(asked, system.task, system.mitigation, tools)
        found = {one.sample.id: edited for one, edited in zip(asked, edits, strict=True)}
        seconds = (time.monotonic() - began) / max(1, len(found))
        for example in chunk:
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

    chunks = (missing[place : place + CHUNK] for place in range(0, len(missing), CHUNK))
    stream = (one for chunk in chunks for one in mended(chunk))
    described = f"{system.name}, {context}"
    with tqdm(total=len(missing), unit="answer", desc=described, disable=not missing) as progress:
        for _ in write_out(generations, {system.name: settings}, stream):
            progress.update()
