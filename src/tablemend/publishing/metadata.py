"""The head of a model card: what the Hub reads by program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from tablemend.backends.checkpoints import local_folder
from tablemend.config import HUB
from tablemend.publishing.command import PublishCommand
from tablemend.publishing.recorded import Recorded, chain_of
from tablemend.publishing.scores import Scores
from tablemend.records import ContextKind
from tablemend.reports.wording import TOTAL, metrics_of, second_scorers, short_name
from tablemend.statistics import Rate

TASKS = {
    "table_generation": "query-driven table generation",
    "table_summary": "table summarisation",
    "claim_verification": "claim verification over tables",
}
"""Names that the Hub's readers know; another task has its own."""


def metadata(recorded: Recorded, scores: Scores | None, command: PublishCommand) -> ModelCardData:
    """The card's head; a base or data set is named there only where it is on the Hub."""
    path = chain_of(recorded)[0].config.model.path
    is_adapter = recorded.is_adapter and not command.merged
    sources = {one.source for one in recorded.config.data.training_sources}
    more: dict[str, Any] = {}
    if local_folder(path) is None:  # only a name on the Hub is one for its readers
        more["base_model_relation"] = "adapter" if is_adapter else "finetune"
    results = model_index(scores) if scores is not None else []
    return ModelCardData(
        base_model=path if more else None,
        datasets=sorted(one.removeprefix(HUB) for one in sources if one.startswith(HUB)) or None,
        eval_results=results or None,
        model_name=command.repo_id.partition("/")[2],
        language="en",
        library_name="peft" if is_adapter else "transformers",
        license=command.license,
        pipeline_tag="text-generation",
        tags=["tablemend", "table-generation", "hallucination", recorded.stage],
        **more,
    )


def _measured(scores: Scores) -> Iterator[tuple[ContextKind, str, str, str, Rate]]:
    """Context, metric, its name, scorer, rate: what is published as a number of the checkpoint."""
    results = scores.results
    assert scores.system is not None
    for context in scores.contexts:
        own = results["systems"][scores.system][context]
        for metric in metrics_of(results):
            if metric.name == TOTAL or metric.kind == "share":
                yield context, metric.name, metric.title, results["scorer"], own[metric.name]
        for scorer in second_scorers(results):
            second = results["second"]["systems"][scorer][scores.system][context]
            name = f"TotalHallu, {short_name(scorer)}"
            slug = re.sub(r"\W+", "_", short_name(scorer))
            yield context, f"total_hallu_{slug}", name, scorer, second["total_hallu"]


def model_index(scores: Scores) -> list[EvalResult]:
    """The checkpoint's rates in the ``model-index`` of the card's head."""
    if scores.system is None:
        return []
    data = scores.results["data"]
    source = str(data["source"]).removeprefix(HUB)
    return [
        EvalResult(
            task_type="text-generation",
            task_name=TASKS.get(scores.results["task"], scores.results["task"]),
            dataset_type=source if data["source"].startswith(HUB) else source.replace("/", "-"),
            dataset_name=source,
            dataset_config=context,
            dataset_split=data.get("split") or "test",
            dataset_revision=data.get("revision"),
            dataset_args={"hash": data["hash"], "n": scores.results["n"]},
            metric_type=metric,
            metric_name=f"{name} ({context} contexts)",
            metric_value=round(rate["rate"], 4),
            metric_args={"scorer": scorer, **_limits_of(rate)},
        )
        for context, metric, name, scorer, rate in _measured(scores)
        if rate["rate"] is not None
    ]


def _limits_of(rate: Rate) -> dict[str, Any]:
    if rate["low"] is None or rate["high"] is None:
        return {"n": rate["n"]}
    return {"low": round(rate["low"], 4), "high": round(rate["high"], 4), "n": rate["n"]}
