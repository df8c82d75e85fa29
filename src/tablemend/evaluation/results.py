"""What a comparison leaves: examples, judgements, results.json, and the manifest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from tablemend.config import Comparison
from tablemend.detector.judge import DETECTOR_VERSION
from tablemend.evaluation.arms import hash_examples
from tablemend.evaluation.judging import JudgedArms
from tablemend.generations import Generations
from tablemend.records import Example
from tablemend.reports.results import Judgements, cost, tabulate
from tablemend.runs import Run, write_json, write_jsonl


def write_results(
    judged: JudgedArms, examples: Sequence[Example], config: Comparison, run: Run
) -> dict[str, Any]:
    """Write examples.jsonl, judgements.jsonl, then results.json, and note the run's manifest.

    Returns:
        The results.
    """
    generations = Generations(run.path / "generations")
    judgements = {
        arm: {
            context: {example_id: one.judgement for example_id, one in own.items()}
            for context, own in kinds.items()
        }
        for arm, kinds in judged.items()
    }
    options = {arm: config.options_of(config.evaluation.arms[arm]) for arm in judged}
    results = {
        "run": run.path.name,
        "recipe": config.name,
        "n": len(examples),
        "judge": _judge_name(judgements),
        "detector_version": DETECTOR_VERSION,
        "similarity": config.evaluation.similarity,
        "cut": config.evaluation.cut,
        "data": config.data.test.model_dump(mode="json") | {"hash": hash_examples(examples)},
        "seed": config.evaluation.seed,
        "format": config.format,
        "settings": {
            arm: generations.made_with(arm, next(iter(kinds))) for arm, kinds in judged.items()
        },
        "cost": {
            arm: {
                context: cost(
                    (one.stored for one in own.values()),
                    options[arm].price_in,
                    options[arm].price_out,
                )
                for context, own in kinds.items()
            }
            for arm, kinds in judged.items()
        },
        **tabulate(judgements, examples),
    }
    write_jsonl(run.path / "examples.jsonl", [example.to_json() for example in examples])
    write_jsonl(run.path / "judgements.jsonl", list(_judgement_lines(judgements)))
    write_json(run.path / "results.json", results)
    kept = ("recipe", "n", "judge", "cut", "data", "settings", "cost")
    asked = {
        arm: {"model": config.evaluation.arms[arm].model, "options": own.model_dump(mode="json")}
        for arm, own in options.items()
    }
    run.record("compare", {name: results[name] for name in kept} | {"asked": asked})
    return results


def _judge_name(judgements: Judgements) -> str:
    names = {
        j.judge for kinds in judgements.values() for own in kinds.values() for j in own.values()
    }
    assert len(names) == 1, names  # one detector judges every arm
    return names.pop()


def _judgement_lines(judgements: Judgements) -> Iterator[dict[str, Any]]:
    for arm, kinds in judgements.items():
        for context, own in kinds.items():
            for example_id, judgement in own.items():
                place = {"example_id": example_id, "arm": arm, "context": context}
                yield place | asdict(judgement)
