"""SFT on few labelled tables against what learns from contexts without gold, in equal time.

    python benchmarks/labelled_budget.py [labels=[100,300,1000] seeds=[0,1,2] n=300 page=PAGE]

Trains each seed's models on the small world, answers the same held-out examples with all of them,
alone and with repair, has the detector and the exact scorer score every answer, and writes
results.json and table.md into `folder`. Differences are to the better of two fine-tunings on as
many labels, one of them half as long. What is finished is not repeated: the same command goes on,
and seeds may be run one by one, also side by side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml

from studies import steps
from studies.labelled_budget import LabelledBudget, Seed
from tablemend.config import load
from tablemend.reports.content import percent, with_interval
from tablemend.reports.rendering import align, fill_page, read_page
from tablemend.runs import Run, Store, read_jsonl, surroundings, write_json, write_text
from tablemend.script import run_script
from tablemend.statistics import compare_shares, mean_interval

PLACES = ("labelled budget", "clean contexts")
SCORERS = {"detector": "judgements", "exact": "second_judgements"}
Values = dict[tuple[str, str], dict[str, dict[str, float]]]
"""(system, context) -> measure -> example -> 0 to 1."""


def main() -> None:
    """The trainings and comparisons, seed by seed, then the table."""
    study = load(LabelledBudget)
    if study.page:
        read_page(Path(study.page), PLACES)
    seeds = [Seed(study, number) for number in study.seeds]
    for seed in seeds:
        run_seed(seed)
    results = collect(study, seeds)
    tables = {
        name: table(results, context)
        for name, context in zip(PLACES, ("adversarial", "clean"), strict=True)
    }
    write_json(Path(study.folder) / "results.json", results)
    write_text(Path(study.folder) / "table.md", "\n\n".join(tables.values()) + "\n")
    if study.page:
        fill_page(Path(study.page), tables, PLACES)
    print(tables[PLACES[0]])


def run_seed(seed: Seed) -> None:
    """Every method's commands, each once, then the comparison."""
    done: set[str] = set()
    write_yaml(seed.path / "own.yaml", seed.own_answers())
    for commands in seed.methods().values():
        for one in commands:
            if one.run not in done:
                trains = one.script.startswith("train/")
                (steps.train if trains else steps.script)(one.script, one.overrides)
                done.add(one.run)
    recipe = seed.path / "comparison.yaml"
    write_yaml(recipe, seed.comparison())
    steps.script("eval/compare.py", [f"recipe={recipe}"])


def write_yaml(path: Path, recipe: Mapping[str, Any]) -> None:
    """A recipe that only this study has."""
    write_text(path, yaml.safe_dump(recipe, sort_keys=False))


def collect(study: LabelledBudget, seeds: Sequence[Seed]) -> dict[str, Any]:
    """All figures of the finished study: means over the seeds, intervals over the examples."""
    values = [values_of(seed.run("comparison")) for seed in seeds]
    names = list(seeds[0].methods())
    base = better_sft(study, values)
    systems: dict[str, Any] = {}
    for system, context in values[0]:
        own = [one[system, context] for one in values]
        theirs = [one[base, context] for one in values]
        found: dict[str, Any] = {}
        for measure in own[0]:
            mine, other = (over_seeds([one[measure] for one in side]) for side in (own, theirs))
            shared = [name for name in mine if name in other]
            found[measure] = {
                **mean_interval(list(mine.values())),
                "seeds": [fmean(one[measure].values()) for one in own],
                "to_sft": compare_shares([(other[name], mine[name]) for name in shared]),
            }
        systems.setdefault(system, {})[context] = found
    return {
        "study": study.model_dump(mode="json", exclude={"page", "folder"}),
        "compared_with": base,
        "made": surroundings(),
        "systems": systems,
        "minutes": {name: fmean(minutes_of(seed, name) for seed in seeds) for name in names},
    }


def better_sft(study: LabelledBudget, values: Sequence[Values]) -> str:
    """What the others are compared with: fine-tuning on as many labels, with all of the steps or
    half of them, whichever the detector finds fewer errors in.
    """
    names = (f"sft-{study.from_labels}", f"sft-{study.from_labels}-half")
    return min(
        names,
        key=lambda name: fmean(
            fmean(one[name, "adversarial"]["detector"].values()) for one in values
        ),
    )


def values_of(run: Run) -> Values:
    """What both scorers found of each scored answer."""
    found: Values = defaultdict(lambda: defaultdict(dict))
    for scorer, file in SCORERS.items():
        for line in read_jsonl(run.path / f"{file}.jsonl"):
            if not line["unscored"]:
                own, example = found[line["system"], line["context"]], line["example_id"]
                own[scorer][example] = float(bool(line["findings"]))
                part, total = line["shares"]["row_recall"]
                if total:
                    own[f"{scorer} row recall"][example] = part / total
    return {key: dict(measures) for key, measures in found.items()}


def over_seeds(seeds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Each example's mean over the seeds that have a verdict for it."""
    names = {name: None for one in seeds for name in one}
    return {name: fmean(one[name] for one in seeds if name in one) for name in names}


def minutes_of(seed: Seed, method: str) -> float:
    """What a method took, from its first command to its model: training and drawing."""
    total = 0.0
    for one in seed.methods()[method]:
        run = seed.run(one.run)
        if one.script.startswith("train/"):
            stage = Path(one.script).stem
            total += run.recorded(stage)["seconds"]
        else:
            stored = (run.path / "generations").glob("*.jsonl")
            total += sum(
                record["seconds"]
                for file in stored
                for record in Store(file, "example_id").values()
            )
    return total / 60


def table(results: Mapping[str, Any], context: str) -> str:
    """One row a method: rates by both scorers, differences to SFT on as many tables, minutes."""
    base = results["compared_with"]
    head = (
        "method|TotalHallu, detector (95 %)|exact scorer (95 %)|row recall|"
        f"detector, to {base}|exact, to {base}|with repair|minutes"
    )
    rows = [head.split("|")]
    for name in ("base", *results["minutes"]):
        own = results["systems"][name][context]
        mended = results["systems"][f"{name}+repair"][context]
        minutes = results["minutes"].get(name)
        rows.append(
            [
                name,
                with_interval(own["detector"]),
                with_interval(own["exact"]),
                percent(own["detector row recall"]["rate"]),
                *(difference(own[scorer]["to_sft"]) for scorer in SCORERS),
                percent(mended["detector"]["rate"]),
                "" if minutes is None else f"{minutes:.1f}",
            ]
        )
    return align(rows)


def difference(paired: Mapping[str, Any]) -> str:
    """A paired difference in points, with its interval."""
    points = [100 * paired[key] for key in ("difference", "low", "high")]
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*points)


if __name__ == "__main__":
    run_script(main)
