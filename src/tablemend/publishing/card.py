"""The model card: everything from the manifest and the results, nothing by hand."""

from __future__ import annotations

import json
from typing import Any

import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData
from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend import __version__
from tablemend.config import HUB
from tablemend.evaluation.systems import other_test
from tablemend.publishing.hub import BEHIND, PublishCommand
from tablemend.publishing.recorded import (
    Scores,
    TrainingRecord,
    base_of,
    chain_of,
    commands,
    datasets_of,
    recipe_of,
)
from tablemend.records import ContextKind
from tablemend.renderer import prompt_text
from tablemend.reports.content import (
    agreement_table,
    main_share,
    metrics_of,
    rate_table,
    say_cut,
    say_tests,
    setting_table,
    short_name,
    tests_of,
    total_of,
)
from tablemend.reports.rendering import align, render
from tablemend.reports.tabulation import TOTAL
from tablemend.statistics import Rate


def write_card(
    recorded: TrainingRecord,
    scores: Scores | None,
    command: PublishCommand,
    tokenizer: Tokenizer,
    lacking: list[str],
) -> ModelCard:
    """The card of a checkpoint; what is ``lacking`` to publish it is said at its head."""

    def fenced(text: str, language: str = "text") -> str:
        fence = "`" * 3
        while fence in text:
            fence += "`"
        return f"{fence}{language}\n{text}\n{fence}"

    def training_data(own: TrainingRecord) -> str:
        return json.dumps(
            own.config.model_dump(mode="json", exclude_defaults=True)["data"]["train"]
        )

    def training_settings(own: TrainingRecord) -> str:  # the sections that the method reads
        sections = {name: getattr(own.config, name) for name in ("train", "dpo", "grpo", "distil")}
        settings = {name: one.model_dump(mode="json") for name, one in sections.items() if one}
        return str(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)).strip()

    functions = (fenced, training_data, training_settings)
    text = render(
        "tablemend.publishing",
        "card.md.j2",
        {one.__name__: one for one in functions} | {"method": TRAININGS.__getitem__},
        name=command.repo_id.partition("/")[2],
        repo_id=command.repo_id,
        lacking=lacking,
        is_adapter=recorded.is_adapter and not command.merged,
        merge=recorded.run.recorded("merge") if command.merged else None,
        task=recorded.config.task,
        recipe=recorded.config.name,
        version=__version__,
        chain=chain_of(recorded),
        usage=_usage(recorded, scores, tokenizer),
        scores=scores,
        **(_results(recorded, scores) if scores is not None else {}),
        commands="\n".join(commands(recorded, scores is not None, command.merged)),
        behind=BEHIND,
        recipe_file=recipe_of(recorded, 0),
    )
    return ModelCard(f"---\n{metadata(recorded, scores, command).to_yaml()}\n---\n\n{text}")


TRAININGS = {
    "sft": "supervised fine-tuning",
    "dpo": "preference training (DPO)",
    "grpo": "training on rewards (GRPO)",
    "distil": "on-policy self-distillation",
}


def _usage(recorded: TrainingRecord, scores: Scores | None, tokenizer: Tokenizer) -> dict[str, Any]:
    """What stands in the lines of code that ask the checkpoint.

    The arguments of ``generate`` are those that the results were made with, else the recipe's, and
    said in full: a base's own generation_config may sample where the comparison did not.
    """
    config = recorded.config
    task, thinking = config.task_of(), config.thinking != "off"
    *system, user = task.template(config.train.prompt)
    asked: dict[str, Any] = {}
    if scores is not None and scores.system is not None:
        asked = scores.results["settings"][scores.system]
    temperature = asked.get("temperature", config.evaluation.temperature)
    most = asked.get("max_new_tokens", config.evaluation.max_new_tokens)
    how = "do_sample=False"
    if temperature:
        how = f"do_sample=True, temperature={temperature}, top_p=1.0, top_k=0"
    return {
        "prompt": user["content"],
        "rendered": prompt_text(tokenizer, [*system, user], thinking),
        "filled": "".join(f".replace('{{{slot}}}', {slot})" for slot in task.slots),
        "system": "".join(f"{dict(turn)!r}, " for turn in system),
        "thinking": thinking,
        "decoding": f"max_new_tokens={most}, {how}",
        "begins": repr(task.begins),
    }


def _results(recorded: TrainingRecord, scores: Scores) -> dict[str, Any]:
    results = scores.results
    metrics = metrics_of(results)
    errors = [metric for metric in metrics if metric.kind == "error"]
    shown = [metric for metric in metrics if metric.kind != "error"]
    shown.sort(key=lambda metric: metric.name != TOTAL)
    systems = {system: f"{scores.role(system)} (system {system})" for system in scores.systems}
    failures = ""
    if scores.system is not None:
        own = results["systems"][scores.system]
        counts = []
        for error in errors:
            rates = [own[context][error.name] for context in scores.contexts]
            counts.append([error.title, *(str(round((r["rate"] or 0) * r["n"])) for r in rates)])
        scored = ["of", *(str(own[context][TOTAL]["n"]) for context in scores.contexts)]
        failures = align([["answers of the checkpoint", *scores.contexts], *counts, scored])
    return {
        "held_out": _held_out(recorded, results["data"]),
        "cut": say_cut(results),
        "total": total_of(results),
        "share": main_share(results),
        "contexts": [
            (title, rate_table(results, context, shown, systems), _tests(scores, context))
            for context, title in results["contexts"].items()
        ],
        "settings": setting_table(results, scores.systems),
        "errors": errors,
        "failures": failures,
        "agreement": agreement_table(results, scores.systems),
    }


def _held_out(recorded: TrainingRecord, data: dict[str, Any]) -> str:
    """What is known of tables that stand in training and test data."""
    for one in chain_of(recorded):
        if "few" in (split := str(one.run.recorded("own").get("split", ""))):  # train/run.py
            return f"the {split}"
    for test in (one.config.data.test for one in chain_of(recorded)):
        kept = test.model_dump(mode="json")
        if test.source.startswith(HUB) or other_test(kept, kept | data):
            return "whether the training data shares a table with them was not checked"
    return "the training refuses data that shares a table with them"


def _tests(scores: Scores, context: ContextKind) -> list[str]:
    """The paired tests of the checkpoint against each base, by both scorers."""
    results, total, second = scores.results, total_of(scores.results), scores.results["second"]
    said = []
    for base in scores.systems:
        if base == scores.system:
            continue
        tests = tests_of(results["paired"], context, TOTAL, base, scores.system)
        said += say_tests(tests, results["systems"], total)
        if second["scorer"]:
            tests = tests_of(second["paired"], context, TOTAL, base, scores.system)
            sentences = say_tests(tests, second["systems"], total)
            said += [f"By {short_name(second['scorer'])}: {sentence}" for sentence in sentences]
    return said


TASK_NAMES = {
    "table_generation": "query-driven table generation",
    "table_summary": "table summarisation",
    "claim_verification": "claim verification over tables",
}
"""Names that the Hub's readers know; another task has its own."""


def metadata(
    recorded: TrainingRecord, scores: Scores | None, command: PublishCommand
) -> ModelCardData:
    """The card's head; a base or data set is named there only where it is on the Hub."""
    base = base_of(recorded) if command.base_model is None else command.base_model
    is_adapter = recorded.is_adapter and not command.merged
    more: dict[str, Any] = {}
    if base not in (None, "none"):  # only a name on the Hub is one for its readers
        more = {"base_model": base, "base_model_relation": "adapter" if is_adapter else "finetune"}
    results = model_index(scores) if scores is not None else []
    return ModelCardData(
        datasets=sorted({*datasets_of(recorded)[0], *(command.datasets or ())}) or None,
        eval_results=results or None,
        model_name=command.repo_id.partition("/")[2],
        language="en",
        library_name="peft" if is_adapter else "transformers",
        license=command.license,
        pipeline_tag="text-generation",
        tags=["tablemend", "table-generation", "hallucination", recorded.stage],
        **more,
    )


def model_index(scores: Scores) -> list[EvalResult]:
    """The checkpoint's rates in the ``model-index`` of the card's head."""
    if scores.system is None:
        return []
    results, data, found = scores.results, scores.results["data"], []
    measured: list[tuple[ContextKind, str, str, str, Rate]] = []
    for context in scores.contexts:
        own = results["systems"][scores.system][context]
        for one in metrics_of(results):
            if one.name == TOTAL or one.kind == "share":
                measured.append((context, one.name, one.title, results["scorer"], own[one.name]))
        if scorer := results["second"]["scorer"]:
            rate = results["second"]["systems"][scores.system][context][TOTAL]
            short = short_name(scorer)
            measured.append((context, f"{TOTAL}_{short}", f"TotalHallu, {short}", scorer, rate))
    source = str(data["source"]).removeprefix(HUB)
    for context, metric, name, scorer, rate in measured:
        if rate["rate"] is None:
            continue
        args: dict[str, Any] = {"scorer": scorer}
        if rate["low"] is not None and rate["high"] is not None:
            args |= {"low": round(rate["low"], 4), "high": round(rate["high"], 4)}
        found.append(
            EvalResult(
                task_type="text-generation",
                task_name=TASK_NAMES.get(results["task"], results["task"]),
                dataset_type=source if data["source"].startswith(HUB) else source.replace("/", "-"),
                dataset_name=source,
                dataset_config=context,
                dataset_split=data.get("split") or "test",
                dataset_revision=data.get("revision"),
                dataset_args={"hash": data["hash"], "n": results["n"]},
                metric_type=metric,
                metric_name=f"{name} ({context} contexts)",
                metric_value=round(rate["rate"], 4),
                metric_args=args | {"n": rate["n"]},
            )
        )
    return found
