"""What fine-tuning on adversarial contexts buys, for several seeds.

    python benchmarks/mitigation.py [recipe=tiny seeds=[0,1,2] n=400]

Trains and compares the recipe once a seed (its own training examples and order, the same
held-out ones), and prints TotalHallu of base and SFT on adversarial contexts, their ratio with
its 95 % interval, and both row recalls. The paper's ratio is 0.41 (24.45 / 59.10, Table 4).

All seeds start from one base, so the spread between the rows is that of fine-tuning alone. The
answers of systems that are not fine-tuned are therefore made once, for the first seed.
The column `quote` is the system of that name, where there is one: the base asked to quote first.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import Field

from studies import steps
from tablemend.config import SMALL_WORLD, Section, load, parse
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Experiment
from tablemend.runs import Run
from tablemend.script import run_script

COLUMNS = (
    "seed",
    "steps",
    "base",
    "SFT",
    "quote",
    "ratio (95 %)",
    "p",
    "row recall base",
    "row recall SFT",
    "clean base",
)
NOTHING = "-"


class Mitigation(Section):
    """How much to run."""

    seeds: tuple[int, ...] = Field(default=(0, 1, 2), min_length=1)
    """One training and comparison a seed."""
    n: int = Field(default=400, ge=1)
    """Held-out examples."""
    recipe: str = "tiny"
    """Recipe to train, a name or a path: small world data, systems `base`, `sft`, both contexts."""


def overrides_of(settings: Mitigation, seed: int) -> list[str]:
    """What both commands take beside the program's name."""
    return [
        f"recipe={settings.recipe}",
        f"run=mitigation-{Path(settings.recipe).stem}-{seed}",
        f"seed={seed}",
        f"data.train.seed={1000 + seed}",
        f"data.test.n={settings.n}",
        "evaluation.n=null",
    ]


def read_recipe(settings: Mitigation, seed: int) -> Experiment:
    """The recipe as both commands will read it.

    Raises:
        TablemendError: it lacks what the table is made of; every lack is named.
    """
    config = parse(Experiment, overrides_of(settings, seed))
    systems = config.evaluation.systems
    wrong = [
        f"data.{name}.source must be {SMALL_WORLD}"
        for name, part in (("train", config.data.train), ("test", config.data.test))
        if part.source != SMALL_WORLD
    ]
    wrong += [
        f"evaluation.systems.{name} must be there, with model: {name}"
        for name in ("base", "sft")
        if name not in systems or systems[name].model != name
    ]
    if not wrong and list(systems).index("base") > list(systems).index("sft"):
        wrong.append("evaluation.systems must name base before sft: their ratio is read so")
    if "quote" in systems and (systems["quote"].model, systems["quote"].thinking) != (
        "base",
        "quote",
    ):
        wrong.append("evaluation.systems.quote must be {model: base, thinking: quote}")
    wrong += [
        f"evaluation.contexts must hold {context}"
        for context in ("clean", "adversarial")
        if context not in config.contexts
    ]
    if wrong:
        raise TablemendError(f"recipe={settings.recipe}: {'; '.join(wrong)}")
    return config


def not_tuned(config: Experiment) -> list[str]:
    """Systems whose answers are the same for every seed, or are set aside where they are not."""
    return [name for name, system in config.evaluation.systems.items() if system.model != "sft"]


def measure(settings: Mitigation, seed: int, config: Experiment, first: Run) -> str:
    """One row of the table; a finished run is read, not repeated."""
    overrides = overrides_of(settings, seed)
    steps.train("train/sft.py", overrides)
    own = Run.of(config)
    steps.share_answers(config, not_tuned(config), first, own)
    steps.script("eval/compare.py", overrides)
    results = json.loads((own.path / "results.json").read_text(encoding="utf-8"))
    return row(seed, own.recorded("sft").get("steps"), results)


def row(seed: int, steps: int | None, results: dict[str, Any]) -> str:
    """One line of Markdown from a run's results."""

    def rate(system: str, context: str, metric: str = "total_hallu") -> str:
        found = results["systems"].get(system)
        return shown(found and found[context][metric]["rate"], ".1%")

    pair = next(
        test
        for test in results["paired"]
        if (test["context"], test["metric"]) == ("adversarial", "total_hallu")
        and (test["system_a"], test["system_b"]) == ("base", "sft")
    )
    ratio, low, high = (shown(pair[key], ".2f") for key in ("ratio", "ratio_low", "ratio_high"))
    cells = (
        str(seed),
        shown(steps, "d"),
        *(rate(system, "adversarial") for system in ("base", "sft", "quote")),
        NOTHING if ratio == NOTHING else f"{ratio} ({low} to {high})",
        shown(pair["p"], ".1e"),
        *(rate(system, "adversarial", "row_recall") for system in ("base", "sft")),
        rate("base", "clean"),
    )
    return f"| {' | '.join(cells)} |"


def shown(value: float | None, form: str) -> str:
    """A number, or a dash where there is none."""
    return NOTHING if value is None else format(value, form)


def main() -> None:
    """The table so far after each seed, in the midst of what the steps print."""
    settings = load(Mitigation)
    configs = {seed: read_recipe(settings, seed) for seed in settings.seeds}
    first = Run.of(configs[settings.seeds[0]])
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for seed, config in configs.items():
        lines.append(measure(settings, seed, config, first))
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    run_script(main)
