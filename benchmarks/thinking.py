"""What a model should learn to write before its answer: four ways of thinking at one budget.

    python benchmarks/thinking.py [systems=[off,quote] tokens=1500000 seeds=[0] n=250]

Trains the recipe once a system and seed, with `thinking` set to the system, for as many steps as
the token budget allows: tokens of prompt and target, without padding, counted beforehand on the
first rows. Longer targets so see fewer examples; none is seen twice. Then all answer the same
held-out examples, each as it was trained. Prints the rows and tokens trained on, TotalHallu with
its 95 % interval, row recall, tokens an answer (what thinking costs), and of the rationales the
share without a wrong step (`check_rationale`). A finished run is not repeated. Hardware: a CPU
core, 8 minutes a system. What it gave: LAB_LOG.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import Field

from studies import steps
from tablemend.config import SMALL_WORLD, Section, load, parse
from tablemend.config.section import OnOff
from tablemend.errors import TablemendError
from tablemend.generations import Generations
from tablemend.recipe.experiment import Experiment
from tablemend.runs import Run
from tablemend.script import run_script

COLUMNS = (
    "thinking",
    "seed",
    "rows",
    "tokens",
    "TotalHallu adversarial (95 %)",
    "clean (95 %)",
    "row recall adversarial",
    "answer tokens",
    "true rationales",
)


class Ablation(Section):
    """How much to run."""

    systems: tuple[Annotated[Literal["off", "empty", "quote", "rationale"], OnOff], ...] = Field(
        default=("off", "empty", "quote", "rationale"), min_length=1
    )
    """Values of `thinking`."""
    tokens: int = Field(default=1_500_000, ge=1)
    """Training tokens of each system."""
    size: Literal["default", "large"] = "large"
    """Size of the small world's examples; the default one is soon solved by every system."""
    batch: int = Field(default=8, ge=1)
    """Rows a step: fewer than the recipe's make more steps of a small budget."""
    seeds: tuple[int, ...] = Field(default=(0,), min_length=1)
    """One training and comparison a system and seed."""
    n: int = Field(default=250, ge=1)
    """Held-out examples."""
    recipe: str = "tiny-rationale"
    """Recipe to train, a name or a path: small-world data, and a system `sft` without a `thinking`
    of its own."""


def overrides_of(settings: Ablation, system: str, seed: int, rows: int | None = None) -> list[str]:
    """What both commands take beside the program's name; ``rows`` are those of the budget."""
    tokens = [
        f"recipe={settings.recipe}",
        f"run=thinking-{Path(settings.recipe).stem}-{settings.size}-{settings.tokens}-{system}-{seed}",
        f"thinking={system}",
        f"seed={seed}",
        f"data.train.seed={1000 + seed}",
        f"data.train.size={settings.size}",
        f"data.test.size={settings.size}",
        f"data.test.n={settings.n}",
        f"train.global_batch={settings.batch}",
        f"train.micro_batch={settings.batch}",
        "evaluation.max_new_tokens=568",
        "evaluation.n=null",
        "data.validation=null",
    ]
    return tokens if rows is None else [*tokens, f"data.train.n={rows}"]


def read_recipe(settings: Ablation, system: str, seed: int) -> Experiment:
    """The recipe of a system before its budget is known.

    Raises:
        TablemendError: it does not train on the small world.
    """
    config = parse(Experiment, overrides_of(settings, system, seed))
    if any(source.source != SMALL_WORLD for source in config.data.training_sources):
        raise TablemendError(f"recipe={settings.recipe}: data.train.source must be {SMALL_WORLD}")
    return config


def rows_within(settings: Ablation, system: str, seed: int) -> int:
    """Whole steps of rows that the budget pays for."""
    config = read_recipe(settings, system, seed)
    batch = config.train.global_batch
    return batch * steps.steps_within(settings.tokens, batch, steps.row_tokens(config))


def measure(settings: Ablation, system: str, seed: int) -> str:
    """One row of the table; a finished run is read, not repeated."""
    rows = rows_within(settings, system, seed)
    overrides = overrides_of(settings, system, seed, rows)
    steps.train("train/sft.py", overrides)
    steps.script("eval/compare.py", overrides)
    own = Run.of(parse(Experiment, overrides))
    results = json.loads((own.path / "results.json").read_text(encoding="utf-8"))
    sound = true_rationales(settings, own, seed) if system == "rationale" else None
    return row(system, seed, own.recorded("sft"), results, sound)


def true_rationales(settings: Ablation, own: Run, seed: int) -> float:
    """Share of the answers on adversarial contexts whose thought has no wrong step."""
    from rationale_check import check_rationale, thought_of
    from tablemend.evaluation.systems import read_test

    examples = read_test(read_recipe(settings, "rationale", seed))
    by_id = {example.id: example for example in examples}
    stored = Generations(own.path / "generations").read("sft", "adversarial")
    thoughts = [(by_id[name], thought_of(one.answer.text)) for name, one in stored.items()]
    sound = [
        thought is not None and not check_rationale(example, thought)
        for example, thought in thoughts
    ]
    return fmean(sound)


def row(
    system: str,
    seed: int,
    trained: dict[str, Any],
    results: dict[str, Any],
    sound: float | None = None,
) -> str:
    """One line of Markdown from a run's manifest and results; a dash for what is unscored."""
    found, cost = results["systems"]["sft"], results["cost"]["sft"]["adversarial"]

    def rate(context: str) -> str:
        one = found[context]["total_hallu"]
        return f"{share(one['rate'])} ({share(one['low'])} to {share(one['high'])})"

    cells = (
        system,
        str(seed),
        str(trained["rows"]),
        str(trained["tokens"]),
        rate("adversarial"),
        rate("clean"),
        share(found["adversarial"]["row_recall"]["rate"]),
        f"{cost['completion_tokens'] / cost['answers']:.0f}",
        share(sound),
    )
    return f"| {' | '.join(cells)} |"


def share(value: float | None) -> str:
    """A share in per cent, or a dash where there is none."""
    return "-" if value is None else f"{value:.1%}"


def main() -> None:
    """The table so far after each training, in the midst of what the steps print."""
    settings = load(Ablation)
    for system in settings.systems:
        read_recipe(settings, system, settings.seeds[0])
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for seed in settings.seeds:
        for system in settings.systems:
            lines.append(measure(settings, system, seed))
            print("\n".join(lines), flush=True)


if __name__ == "__main__":
    run_script(main)
