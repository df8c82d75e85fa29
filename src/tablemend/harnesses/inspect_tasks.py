"""Our tasks and their scorer for inspect_ai, found by its entry point (docs/publishing.md).

inspect eval tablemend/table_generation -T source=data/tablehallu --model hf/NAME
inspect score LOG --scorer tablemend/detector
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from inspect import Parameter, Signature
from typing import Any

import anyio
from inspect_ai import Task as InspectTask
from inspect_ai import task as register_task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import SampleScore, Score, Target, metric, scorer, stderr
from inspect_ai.solver import TaskState, generate

from tablemend.harnesses import benchmark
from tablemend.harnesses.benchmark import Benchmark, Settings
from tablemend.records import FinishReason
from tablemend.tasks.all_tasks import TASKS

TURNS = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
FINISHED: dict[str, FinishReason] = {
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
}
"""Reasons to stop, in our words; all others are ``stop``."""
SETTINGS, RECORD, TABLE = "settings", "record", "source_table"
"""Keys of a sample's metadata: stored logs are scored by them."""


@cache
def _opened(settings: str) -> Benchmark:
    return Benchmark(json.loads(settings))


def _rate() -> Callable[[list[SampleScore]], float]:
    """The mean over the samples in which a metric counts."""

    def mean(scores: list[SampleScore]) -> float:
        return benchmark.rate([one.score.as_float() for one in scores])

    return mean


rate = metric(name="rate")(_rate)


def _detector() -> Callable[[TaskState, Target], Any]:
    """The scorer of the task that a sample belongs to.

    A value is NaN where a metric does not count, which inspect leaves out: an unscored answer
    counts in ``unscored`` alone.
    """
    one_at_a_time = anyio.CapacityLimiter(1)

    async def score(state: TaskState, target: Target) -> Score:
        own = _opened(state.metadata[SETTINGS])
        sample = own.task.sample(state.metadata[RECORD])
        output = state.output
        finish = FINISHED.get(output.stop_reason, "stop")
        found = await anyio.to_thread.run_sync(  # a verifier may run an event loop of its own
            own.judge, sample, output.completion, finish, limiter=one_at_a_time
        )
        values = own.values(found).items()
        errors = (f"{one.type}: {one.evidence}" for one in found.findings)
        return Score(
            value={name: math.nan if value is None else value for name, value in values},
            answer=output.completion,
            explanation=found.unscored or "\n".join(errors),
            reason="scoring_failed" if found.unscored else None,
            metadata={"judgement": found.to_json()},
        )

    return score


detector = scorer(metrics={"*": [rate(), stderr(cluster=TABLE)]}, name="detector")(_detector)


def _register(name: str) -> None:
    """Make one of our tasks known to inspect_ai."""

    def build(**given: Any) -> InspectTask:
        settings = json.dumps({"task": name, **given})
        own = _opened(settings)
        samples = [
            Sample(
                id=one.id,
                input=[TURNS[turn["role"]](content=turn["content"]) for turn in own.messages(one)],
                target=own.target(one),
                metadata={
                    SETTINGS: settings,
                    RECORD: one.to_json(),
                    TABLE: one.source_hash,
                    "domain": one.domain,
                },
            )
            for one in own.samples
        ]
        return InspectTask(
            dataset=MemoryDataset(samples, name=name, location=own.settings.source),
            solver=generate(),
            scorer=detector(),
            metadata={"view": own.view, "scorer": own.scorer.name, **own.task.versions()},
        )

    fields = {key: field for key, field in Settings.model_fields.items() if key != "task"}
    build.__signature__ = Signature(  # type: ignore[attr-defined]  # inspect reads what -T takes
        [
            Parameter(
                key,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if field.is_required() else field.default,
                annotation=field.annotation,
            )
            for key, field in fields.items()
        ]
    )
    register_task(name=name)(build)


for _name in TASKS:
    _register(_name)
