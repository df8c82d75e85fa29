"""Do all strategies train alike? The losses of each against those of a single process.

    python benchmarks/strategies.py [steps=20 processes=2 strategies=[zero3,fsdp2] methods=[full]]

Launches train/sft.py under the configs of accelerate_configs/ with the same recipe and global
batch in float32, reads the manifests, and prints for each strategy the largest difference from
the single process's loss at any step, and the seconds of the steps and of the whole command.
On a machine without GPUs the processes share the CPU: the seconds then say what a strategy costs,
not what it gains. ZeRO needs `pip install -e '.[deepspeed]' -c constraints.txt`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from tablemend.config import Section, load, parse
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import SftCommand
from tablemend.runs import Run
from tablemend.script import run_script

LIMIT = 1e-3
"""Largest difference of losses that is rounding."""
METHODS = {
    "full": ["train.method=full", "train.lora=null"],
    "lora": ["train.method=lora", "train.lora={r: 8, alpha: 16}", "train.learning_rate=1e-2"],
}
HEAD = (
    "| strategy | method | processes | last loss | largest difference | seconds of the steps | "
    "seconds in all |\n|---|---|---|---|---|---|---|"
)


class Benchmark(Section):
    """What to compare."""

    recipe: str = "tiny"
    """A recipe of supervised fine-tuning; its data, model and learning rate (full) are taken."""
    model: str | None = None
    """Folder or name of another model than the recipe's."""
    steps: int = Field(default=20, ge=2)
    """Optimizer steps."""
    processes: int = Field(default=2, ge=2)
    """Processes of every strategy but the single one."""
    global_batch: int = Field(default=8, ge=1)
    """Rows an optimizer step."""
    micro_batch: int = Field(default=2, ge=1)
    """Rows a forward pass."""
    strategies: tuple[Literal["ddp", "zero2", "zero3", "fsdp2"], ...] = (
        "ddp", "zero2", "zero3", "fsdp2",
    )  # fmt: skip
    """Names of files in accelerate_configs/."""
    methods: tuple[Literal["full", "lora"], ...] = ("full", "lora")
    """All weights, adapters."""


@dataclass(frozen=True)
class Measured:
    """One launch.

    Attributes:
        losses: of every step.
        steps, all: seconds of the optimizer steps, and of the whole command.
    """

    losses: list[float]
    steps: float
    all: float


def tokens_of(settings: Benchmark, method: str, folder: Path) -> list[str]:
    """The recipe and its overrides, as train/sft.py takes them."""
    return [
        f"recipe={settings.recipe}",
        f"run={folder}",
        *([f"model.path={settings.model}"] if settings.model else []),
        "model.dtype=float32",
        "data.validation=null",
        f"data.train.n={settings.steps * settings.global_batch}",
        "train.epochs=null",
        f"train.max_steps={settings.steps}",
        f"train.global_batch={settings.global_batch}",
        f"train.micro_batch={settings.micro_batch}",
        "train.precision=float32",
        "train.log_every=1",
        f"train.save_every={settings.steps}",
        *METHODS[method],
    ]


def launch(config: str, processes: int, tokens: list[str]) -> Measured:
    """Train once; what the launch printed is shown where it fails.

    Raises:
        TablemendError: it failed.
    """
    accelerate = str(Path(sys.executable).with_name("accelerate"))
    options = ["--config_file", f"accelerate_configs/{config}.yaml", "--main_process_port", "0"]
    command = [accelerate, "launch", *options, "--num_processes", str(processes), "train/sft.py"]
    start = time.monotonic()
    done = subprocess.run([*command, *tokens], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        raise TablemendError(f"{config}: {said[0] if said else done.stderr[-2000:]}")
    facts = json.loads(Run.of(parse(SftCommand, tokens)).manifest.read_text("utf-8"))["sft"]
    losses = [entry["loss"] for entry in facts["log"] if "loss" in entry]
    return Measured(losses, facts["seconds"], seconds)


def compare(settings: Benchmark, folder: Path) -> Iterator[tuple[str, float]]:
    """Each row of the table, and the largest difference from the single process."""
    for method in settings.methods:
        single = None
        for name in ("single", *settings.strategies):
            tokens = tokens_of(settings, method, folder / f"{name}-{method}")
            processes = 1 if name == "single" else settings.processes
            found = launch("cpu" if name == "single" else name, processes, tokens)
            single = single or found
            pairs = zip(found.losses, single.losses, strict=True)
            difference = max(abs(ours - theirs) for ours, theirs in pairs)
            yield (
                f"| {name} | {method} | {processes} | {found.losses[-1]:.4f} | {difference:.1e} | "
                f"{found.steps:.1f} | {found.all:.0f} |",
                difference,
            )


def main() -> None:
    """Print the table; fails where a strategy trains otherwise."""
    settings = load(Benchmark)
    parse(SftCommand, tokens_of(settings, "full", Path("/nowhere")))  # before anything is launched
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        worst = 0.0
        for row, difference in compare(settings, Path(folder)):
            print(row, flush=True)
            worst = max(worst, difference)
    if worst > LIMIT:
        raise SystemExit(f"a loss differs by {worst:.1e}, more than {LIMIT:g}")


if __name__ == "__main__":
    run_script(main)
