"""What fine-tuning on adversarial contexts buys, for several seeds.

    python benchmarks/mitigation.py [seeds=[0,1,2] n=400]

Trains and compares the tiny recipe once a seed (its own training examples and order, the same
held-out ones), and prints TotalHallu of base and SFT on adversarial contexts, their ratio with
its 95 % interval, and both row recalls. The paper's ratio is 0.41 (24.45 / 59.10, Table 4).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from pydantic import Field

from tablemend.config import Section, load
from tablemend.errors import TablemendError
from tablemend.runs import RUNS
from tablemend.script import run_script

HEAD = "| seed | base | SFT | ratio (95 %) | p | row recall base | row recall SFT | clean base |"


class Mitigation(Section):
    """How much to run."""

    seeds: tuple[int, ...] = Field(default=(0, 1, 2), min_length=1)
    """One training and comparison a seed."""
    n: int = Field(default=400, ge=1)
    """Held-out examples."""
    recipe: str = "tiny"
    """Recipe to train; its data must be the small world."""


def run(*command: str) -> None:
    """One step, its output passed through."""
    if subprocess.run(command, check=False).returncode:
        raise TablemendError(f"this step failed: {' '.join(command)}")


def measure(settings: Mitigation, seed: int) -> str:
    """One row of the table; a finished run is read, not repeated."""
    name = f"mitigation-{settings.recipe}-{seed}"
    overrides = [
        f"recipe={settings.recipe}",
        f"run={name}",
        f"seed={seed}",
        f"data.train.seed={1000 + seed}",
        f"data.test.n={settings.n}",
    ]
    launcher = str(Path(sys.executable).with_name("accelerate"))
    config = ("--config_file", "accelerate_configs/cpu.yaml")
    run(launcher, "launch", "--quiet", *config, "train/sft.py", *overrides)
    run(sys.executable, "eval/compare.py", *overrides)
    results = json.loads((RUNS / name / "results.json").read_text(encoding="utf-8"))
    arms = results["arms"]
    pair = next(
        test
        for test in results["paired"]
        if (test["context"], test["metric"]) == ("adversarial", "total_hallu")
        and (test["arm_a"], test["arm_b"]) == ("base", "sft")
    )
    rates = {arm: arms[arm]["adversarial"] for arm in ("base", "sft")}
    return (
        f"| {seed} | {rates['base']['total_hallu']['rate']:.1%} "
        f"| {rates['sft']['total_hallu']['rate']:.1%} "
        f"| {pair['ratio']:.2f} ({pair['ratio_low']:.2f} to {pair['ratio_high']:.2f}) "
        f"| {pair['p']:.1e} | {rates['base']['row_recall']['rate']:.1%} "
        f"| {rates['sft']['row_recall']['rate']:.1%} "
        f"| {arms['base']['clean']['total_hallu']['rate']:.1%} |"
    )


def main() -> None:
    """One row a seed, then the table."""
    settings = load(Mitigation)
    rows = [measure(settings, seed) for seed in settings.seeds]
    print("\n".join([HEAD, "|---" * 8 + "|", *rows]))


if __name__ == "__main__":
    run_script(main)
