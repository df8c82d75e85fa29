"""Two real processes: each strategy trains as one process does, resumes, and saves what loads."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from tablemend.errors import TablemendError
from tablemend.recipe.experiment import SftCommand
from tablemend.runs import Run, sole_writer
from tablemend.training import checkpoints, stage
from tests.support.checkpoint_layouts import LAYOUTS
from tests.support.short_trainings import logged, short, small_data, under
from tests.support.trainings_in_process import begin
from tests.support.warm_launch import Launch, launch

STEPS, CUT = 20, 10
ROWS = 21
"""Three steps a pass, the last of 5 rows: what is cut is resumed within the fourth."""
FILLERS = 6 * 3
"""Tokens without loss that two processes add: 3 rows of one in each of six whole passes."""
LORA = (
    "train.method=lora",
    "train.lora={r: 4, alpha: 8}",
    "train.learning_rate=1e-2",
    "train.gradient_checkpointing=true",  # with ZeRO-3 and LoRA it once did not train
)
METHODS = {"full": (), "lora": LORA}
KILLED_AT = {"ddp": "model", "zero2": "marker", "zero3": "optimizer", "fsdp2": "random"}
"""Where each strategy is killed: before the second process writes its share of the optimizer or its
random state, before a checkpoint is marked complete, before the finished model gets its name."""
GOES_ON: dict[str, tuple[tuple[str, ...], str]] = {
    "zero3": ((), "resuming from"),
    "fsdp2": (
        ("--num_processes=4",),
        "was saved by fsdp2 on 2 processes, fsdp2 on 4 processes go on",
    ),
}
"""Which strategies continue adapters, how they are launched then, and what is said."""
TOLERANCE = 1e-3
"""The losses of twenty steps are those of one process within it."""

Make = Callable[[str, str], SftCommand]


@dataclass(frozen=True)
class Alone:
    """What one process comes to."""

    losses: list[float]
    tokens: int
    weights: dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def make(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A short training of the random model."""
    folder = tmp_path_factory.mktemp("strategies")

    def command(name: str, method: str) -> SftCommand:
        steps = ("train.epochs=null", f"train.max_steps={STEPS}", f"train.save_every={CUT}")
        given = (*steps, "train.micro_batch=2", "train.trl.weight_decay=0.5", *METHODS[method])
        return short(SftCommand, tiny_model, folder / f"{name}-{method}", small_data(ROWS), *given)

    return command


@pytest.fixture(scope="module")
def alone(make: Make) -> Callable[[str], Alone]:
    """What one process comes to, by method."""
    known: dict[str, Alone] = {}

    def train(method: str) -> Alone:
        if method not in known:
            config = make("single", method)
            run, trainer, _, _ = begin(config)
            facts = stage.run_steps(trainer, config, run)
            weights = dict(trainer.model.named_parameters())
            known[method] = Alone(logged(facts, "loss"), facts["tokens"], weights)
        return known[method]

    return train


def _skip_without(strategy: str) -> None:
    if strategy.startswith("zero") and sys.platform != "linux":
        pytest.skip("deepspeed is installed on Linux alone (pyproject.toml)")


def _launch(strategy: str, config: SftCommand, *options: str) -> str:
    """Train; return what was printed."""
    _skip_without(strategy)
    done = launch(config, *under(strategy), *options, script="train/sft.py")
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def _launch_and_kill(strategy: str, config: SftCommand, point: str) -> None:
    """Train up to a point of the save of the last step; then SIGKILL, first to the launcher."""
    _skip_without(strategy)
    run = Run.of(config)
    there = run.path.with_suffix(".halted")
    script = ["tests/support/halted.py", point, str(there), "train/sft.py"]
    launch = Launch.of(config, *under(strategy), script=script)
    launcher = psutil.Process(launch.process.pid)
    try:
        until = time.monotonic() + 900
        begun = run.path / "sft" / f"checkpoint-{STEPS}"  # by the other process
        while not (there.exists() and begun.is_dir()):
            assert launch.process.is_alive() and time.monotonic() < until, launch.said()
            time.sleep(0.05)
        workers = launcher.children(recursive=True)
    finally:
        os.killpg(launcher.pid, signal.SIGKILL)
        launch.process.join()
    # they have sessions of their own, outlive the launcher, and keep the folder to themselves
    with pytest.raises(TablemendError, match="is writing into"), sole_writer(run.path):
        pass
    for worker in workers:
        worker.kill()
    psutil.wait_procs(workers)


def _forget_the_end(run: Run) -> None:
    """As if the training had been interrupted after its first checkpoint."""
    shutil.rmtree(run.model)
    shutil.rmtree(run.path / "sft" / f"checkpoint-{STEPS}")


def _facts(config: SftCommand) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(Run.of(config).manifest.read_text())["sft"]
    return facts


def _check_checkpoint(folder: Path) -> None:
    """Whole, loads with nothing missing, and a tied head is not saved twice."""
    assert checkpoints.is_complete(folder)
    model, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
    saved = load_file(folder / "model.safetensors")
    assert set(saved) == {name for name, _ in model.named_parameters()}
    assert all(tensor.numel() and tensor.dtype == torch.float32 for tensor in saved.values())


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "point"), KILLED_AT.items())
def test_two_processes_that_are_killed_train_as_one_and_save(
    strategy: str, point: str, make: Make, alone: Callable[[str], Alone]
) -> None:
    config = make(strategy, "full")
    run = Run.of(config)
    _launch_and_kill(strategy, config, point)
    folders = [run.path / "sft" / f"checkpoint-{step}" for step in (CUT, STEPS)]
    files = {path.relative_to(folders[0]).as_posix() for path in folders[0].rglob("*")}
    assert files >= LAYOUTS[strategy]
    assert folders[1].is_dir() and not run.model.exists()
    last = folders[1] if point == "model" else folders[0]
    assert checkpoints.last_complete(run.path / "sft") == last
    said = _launch(strategy, config)
    assert (f"{folders[1]} is half-written: deleted" in said) == (point != "model")
    assert f"resuming from {last}" in said
    facts = _facts(config)
    assert (facts["strategy"], facts["world_size"], facts["steps"]) == (strategy, 2, STEPS)
    # an optimizer that had begun anew would differ by far more
    assert logged(facts, "loss") == pytest.approx(alone("full").losses, abs=1e-4)
    _check_checkpoint(run.model)
    saved = load_file(run.model / "model.safetensors")
    # weight decay in the wrong group, or a step counted twice, would differ by 1e-4 and more
    for name, weight in alone("full").weights.items():
        assert torch.allclose(saved[name], weight, rtol=0, atol=5e-5), name
    left = {path.name for path in run.path.iterdir()}
    assert left == {".lock", "manifest.json", "model", "sft", "sft.yaml"}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", GOES_ON)
def test_adapters_train_as_in_one_process_and_go_on(
    strategy: str, make: Make, alone: Callable[[str], Alone]
) -> None:
    config = make(strategy, "lora")
    _launch(strategy, config)
    facts = _facts(config)
    losses = logged(facts, "loss")
    assert facts["strategy"] == strategy and losses[-1] < losses[0]
    assert losses == pytest.approx(alone("lora").losses, abs=TOLERANCE)
    assert facts["tokens"] == alone("lora").tokens + FILLERS
    _check_checkpoint(Run.of(config).model)
    _forget_the_end(Run.of(config))
    options, word = GOES_ON[strategy]
    assert word in _launch(strategy, config, *options)
    # an optimizer that had begun anew would differ by 1e-2
    assert logged(_facts(config), "loss") == pytest.approx(losses, abs=TOLERANCE)
