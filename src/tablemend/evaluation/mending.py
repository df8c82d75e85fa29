"""Arms that mend the stored answers of another arm: nothing is generated anew.

A mitigation sees what its user would have: the answer, the query, the context. The gold table is
for the judge alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from tqdm import tqdm

from tablemend.backends.backend import open_backend
from tablemend.errors import TablemendError
from tablemend.evaluation.arms import Arm
from tablemend.generations import Generations, Stored, settings_hash, write_out
from tablemend.mitigations import cave_table, repair_table
from tablemend.mitigations.answers import AnswerItem
from tablemend.mitigations.cave import MAX_NEW_TOKENS
from tablemend.mitigations.cave_table import CaveTable
from tablemend.mitigations.edits import Mended
from tablemend.mitigations.repair_table import repair_answer
from tablemend.recipe.experiment import Comparison
from tablemend.records import ContextKind, Example
from tablemend.runs import Run

CHUNK = 64
"""Answers that are mended together: a kill loses no more."""

Mender = Callable[[Sequence[AnswerItem]], list[Mended]]


def mend(arms: Sequence[Arm], examples: Sequence[Example], config: Comparison, run: Run) -> None:
    """Mend what is not mended yet, and again what has been answered anew.

    Raises:
        TablemendError: an answer is missing, or a model that cannot go on.
        Stopped: a server is gone; what is mended is stored.
    """
    generations = Generations(run.path / "generations")
    for arm in arms:
        if arm.after is None:
            continue
        with ExitStack() as stack:
            mender, identity = _mender(arm, config, stack)
            for context in config.evaluation.contexts:
                _mend_part(arm, context, examples, generations, mender, identity)


def _mender(arm: Arm, config: Comparison, stack: ExitStack) -> tuple[Mender, dict[str, Any]]:
    """What mends an arm's answers, and all that its work depends on."""
    if arm.mend == "repair":
        return _repair, {"mender": repair_table.VERSION}
    backend = stack.enter_context(open_backend(arm.model, arm.options, attn=config.model.attn))
    most = min(MAX_NEW_TOKENS, config.evaluation.max_new_tokens)
    cave = CaveTable(backend, thinking=arm.thinking != "off", max_new_tokens=most)
    return cave.mend, {"mender": cave_table.VERSION, "rewriting": backend.identity}


def _repair(items: Sequence[AnswerItem]) -> list[Mended]:
    return [repair_answer(one.text, one.context, one.query, one.format) for one in items]


def _mend_part(
    arm: Arm,
    context: ContextKind,
    examples: Sequence[Example],
    generations: Generations,
    mender: Mender,
    identity: dict[str, Any],
) -> None:
    """Mend one arm's answers on one context."""
    assert arm.after is not None
    answered = generations.read(arm.after, context)
    lacking = [example.id for example in examples if example.id not in answered]
    if lacking:
        raise TablemendError(
            f"{generations.path(arm.after, context)}: {len(lacking)} of {len(examples)} answers "
            f"are missing that arm {arm.name} is to mend"
        )
    settings = {
        **arm.asked,
        **identity,
        "mends": generations.settings_key(arm.after, context),
    }
    if note := generations.take_up(arm.name, context, settings):
        print(note, file=sys.stderr)
    stored = generations.read(arm.name, context)
    missing = [e for e in examples if e.id not in stored or stored[e.id].failed]
    stream = (
        one
        for place in range(0, len(missing), CHUNK)
        for one in _mend_chunk(arm, context, missing[place : place + CHUNK], answered, mender)
    )
    keys = {arm.name: settings_hash(settings)}
    described = f"{arm.name}, {context}"
    with tqdm(total=len(missing), unit="answer", desc=described, disable=not missing) as progress:
        for _ in write_out(generations, keys, stream):
            progress.update()


def _mend_chunk(
    arm: Arm,
    context: ContextKind,
    examples: Sequence[Example],
    answered: dict[str, Stored],
    mender: Mender,
) -> Iterator[Stored]:
    """Some answers, mended; those that failed or were cut stay as they are."""
    began = time.monotonic()
    whole = [e for e in examples if answered[e.id].answer.finish_reason == "stop"]
    items = [
        AnswerItem(answered[e.id].answer.text, e.context(context), e.query, arm.format, e.id)
        for e in whole
    ]
    mended = dict(zip((e.id for e in whole), mender(items), strict=True))
    seconds = (time.monotonic() - began) / max(1, len(whole))
    for example in examples:
        before = answered[example.id]
        found = mended.get(example.id)
        if found is None:
            yield replace(before, answer=replace(before.answer, arm=arm.name), seconds=0.0)
            continue
        answer = replace(
            before.answer,
            arm=arm.name,
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
        )
