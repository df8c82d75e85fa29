"""Running the equal-budget study: trainings, comparison, and what came of them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml

from studies import steps
from studies.equal_budget import PROMPTED, TRAINED, EqualBudget, Seed, Training
from studies.tables import ENDS, PLACES, places, results_table
from tablemend.config import parse
from tablemend.recipe.experiment import Comparison, DpoExperiment, Experiment, GrpoExperiment
from tablemend.records import CONTEXT_KINDS
from tablemend.reports.page_markers import fill_page, read_page
from tablemend.runs import Run, Store, read_jsonl, surroundings, write_json, write_text
from tablemend.statistics import mean_interval

PROMPTED_SYSTEMS = tuple(f"{name}{end}" for name in PROMPTED for end in ENDS)
MEASURES = ("detector", "row_recall", "exact", "exact_recall")
COSTS = ("calls", "edits", "prompt_tokens", "completion_tokens", "seconds")
"""What an answer costs, a mean over the answers."""


def run_study(study: EqualBudget) -> str:
    """Run what is not finished yet.

    Returns:
        The table.

    Raises:
        TablemendError: a step failed, the budget pays for no step, or `page` is no page.
    """
    if study.page:
        read_page(Path(study.page), PLACES)
    seeds = [Seed(study, number) for number in study.seeds]
    for seed in seeds:
        train_all(seed)
        compare(seed)
    results = collect(study, seeds)
    folder = Path(study.folder)
    write_json(folder / "results.json", results)
    table = results_table(results)
    write_text(folder / "table.md", table + "\n")
    if study.page:
        fill_page(Path(study.page), places(results), PLACES)
    return table


def train_all(seed: Seed) -> None:
    """Every checkpoint of a seed, in the order in which they need each other."""
    for name in ("sft", "rationales", "start"):
        fine_tune(seed.fine_tuning(name))
    preferences = seed.preferences()
    steps.script("data_gen/preference.py", preferences.overrides)
    batch, mean = pair_tokens(preferences)
    go_on(preferences, batch, mean)
    rewards = seed.rewards()
    config = parse(GrpoExperiment, list(rewards.overrides))
    # an answer of the start is about as long as gold
    mean = steps.row_tokens(parse(Experiment, list(seed.fine_tuning("start").overrides)))
    go_on(rewards, config.train.global_batch, mean)


def fine_tune(training: Training) -> None:
    """As many whole steps as the budget pays for; no example twice."""
    config = parse(Experiment, list(training.overrides))
    batch = config.train.global_batch
    rows = batch * steps.steps_within(training.tokens, batch, steps.row_tokens(config))
    steps.train(training.script, (*training.overrides, f"data.train.n={rows}"))


def pair_tokens(training: Training) -> tuple[int, float]:
    """Pairs a step, and the mean tokens of a pair: both answers, each behind its prompt."""
    from tablemend.training.checkpoints import load_tokenizer
    from tablemend.training.preference import build_rows

    config = parse(DpoExperiment, list(training.overrides))
    built, _ = build_rows(config, load_tokenizer(config.model))
    lengths = [sum(map(len, pair)) for pair in built["train"]]
    return config.train.global_batch, fmean(lengths)


def go_on(training: Training, batch: int, mean: float) -> None:
    """The second training of a chain, for the rest of the budget."""
    count = steps.steps_within(training.tokens, batch, mean)
    limits = ("train.epochs=null", f"train.max_steps={count}")
    steps.train(training.script, (*training.overrides, *limits))


def compare(seed: Seed) -> None:
    """Every checkpoint, alone and mended, on the same held-out examples.

    The base's answers are the same for all seeds and are taken from another's comparison, also
    where the seeds are run by commands of their own.
    """
    recipe = seed.path / "comparison.yaml"
    write_text(recipe, yaml.safe_dump(seed.comparison(), sort_keys=False))
    own = seed.run("comparison")
    config = parse(Comparison, [f"recipe={recipe}"])
    for other in sorted(seed.path.parent.glob("*/comparison")):
        steps.share_answers(config, PROMPTED_SYSTEMS, Run(other), own)
    steps.script("eval/compare.py", [f"recipe={recipe}"])


def collect(study: EqualBudget, seeds: list[Seed]) -> dict[str, Any]:
    """All figures of the finished study.

    Returns:
        ``study`` (the settings), ``systems`` (system -> context -> figures over the seeds),
        ``training`` (checkpoint -> one record a seed), and where it was made.
    """
    results = {
        seed.seed: json.loads((seed.run("comparison").path / "results.json").read_text("utf-8"))
        for seed in seeds
    }
    values = {seed.seed: _values(seed.run("comparison")) for seed in seeds}
    some = next(iter(results.values()))
    systems = {
        system: {
            context: _figures(
                [one["systems"][system][context] for one in results.values()],
                [_exact(one)[system][context] for one in results.values()],
                [one["cost"][system][context] for one in results.values()],
                [one[system, context] for one in values.values()],
            )
            for context in CONTEXT_KINDS
        }
        for system in some["systems"]
    }
    kept = ("scorer", "data")
    return {
        "study": study.model_dump(mode="json", exclude={"page", "folder"}),
        **{name: some[name] for name in kept},
        "made": surroundings(),
        "systems": systems,
        "training": {name: [_trained(seed, name) for seed in seeds] for name in TRAINED},
    }


def _trained(seed: Seed, name: str) -> dict[str, Any]:
    """What one training took, by its manifest."""
    stage = name if name in ("dpo", "grpo") else "sft"
    noted = seed.run(name).recorded(stage)
    found = {key: noted[key] for key in ("steps", "tokens", "seconds")} | {"seed": seed.seed}
    if name == "dpo":
        pairs = Run(seed.path / "pairs").recorded("preference")
        found |= {key: pairs[key] for key in ("pairs", "rejected", "asked", "dropped")}
        found["drawn"] = _drawn(seed.path / "pairs" / "generations")
    if name == "grpo":
        found["rewards"] = noted["rewards"]
        lengths = [e["completions/mean_length"] for e in noted["log"] if "reward" in e]
        found["drawn"] = round(fmean(lengths) * noted["steps"] * _answers_a_step(seed))
    return found


def _answers_a_step(seed: Seed) -> int:
    return parse(GrpoExperiment, list(seed.rewards().overrides)).train.global_batch


def _drawn(folder: Path) -> int:
    """Tokens of all stored answers."""
    return sum(
        record["completion_tokens"]
        for path in folder.glob("*.jsonl")
        for record in Store(path, "example_id").values()
    )


def _exact(results: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the exact scorer says, by system and context."""
    found: Mapping[str, Any] = results["second"]["systems"]
    return found


def _values(run: Run) -> dict[tuple[str, str], dict[str, dict[str, float]]]:
    """What was found of each scored answer: (system, context) -> measure -> example -> 0 to 1."""
    found: dict[tuple[str, str], dict[str, dict[str, float]]] = defaultdict(
        lambda: {measure: {} for measure in MEASURES}
    )
    for name, wrong, recall in (
        ("judgements", "detector", "row_recall"),
        ("second_judgements", "exact", "exact_recall"),
    ):
        for line in read_jsonl(run.path / f"{name}.jsonl"):
            if not line["unscored"]:
                own, example = found[line["system"], line["context"]], line["example_id"]
                own[wrong][example] = float(bool(line["findings"]))
                part, total = line["shares"]["row_recall"]
                own[recall][example] = part / (total or 1)
    return dict(found)


def _figures(
    results: Sequence[Mapping[str, Any]],
    exact: Sequence[Mapping[str, Any]],
    costs: Sequence[Mapping[str, Any]],
    values: Sequence[Mapping[str, Mapping[str, float]]],
) -> dict[str, Any]:
    """One system on one context over the seeds.

    The interval is over examples: each example's mean over the seeds is resampled, so the answers
    of several seeds to one question are not taken for independent ones.
    """
    answers = sum(one["answers"] for one in costs)
    return {
        **{
            measure: {
                **mean_interval(_means([one[measure] for one in values])),
                "seeds": [one[name]["rate"] for one in scored],
            }
            for measure, name, scored in (
                ("detector", "total_hallu", results),
                ("row_recall", "row_recall", results),
                ("exact", "total_hallu", exact),
                ("exact_recall", "row_recall", exact),
            )
        },
        "unscored": fmean(one["unscored"]["rate"] for one in results),
        "disagreement": sum(one["agreement"]["disagreement"] for one in exact),
        "answers": answers,
        **{name: sum(one[name] for one in costs) / answers for name in COSTS},
    }


def _means(seeds: Sequence[Mapping[str, float]]) -> list[float]:
    """Each example's mean over the seeds that have a verdict for it."""
    names = {name: None for one in seeds for name in one}
    return [fmean(one[name] for one in seeds if name in one) for name in names]
