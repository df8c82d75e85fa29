"""Two real processes train on rewards: as one does, and one goes on."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tablemend.recipe.experiment import GrpoCommand
from tablemend.runs import Run
from tablemend.training import checkpoints, grpo, stage
from tests.support.given_answers import given
from tests.support.short_trainings import logged, recipes, small_data, under
from tests.support.trainings_in_process import begin
from tests.support.warm_launch import launch

STEPS, CUT = 3, 2
LORA = ("train.method=lora", "train.lora={r: 4, alpha: 8}")
TOLERANCE = 1e-3
Make = Callable[..., GrpoCommand]
Alone = Callable[..., dict[str, Any]]


@pytest.fixture
def make(tiny_model: Path, tmp_path: Path) -> Make:
    """The random model: two prompts a step, four answers to each."""

    steps = (f"train.max_steps={STEPS}", f"train.save_every={CUT}", "train.learning_rate=1e-3")
    given = ("thinking=off", "model.dtype=float32", "train.micro_batch=2", *steps)
    given = (*given, "grpo.group=4", "grpo.max_new_tokens=8")
    return recipes(GrpoCommand, tiny_model, tmp_path, small_data(12), *given)


def _train(config: GrpoCommand) -> dict[str, Any]:
    """In this process alone."""
    run, trainer, _, _ = begin(config)
    return stage.run_steps(trainer, config, run)


def _launch(strategy: str, config: GrpoCommand) -> dict[str, Any]:
    """In two processes; what the manifest says."""
    done = launch(config, *under(strategy), script="tests/support/given_answers.py")
    assert done.returncode == 0, done.stderr[-4000:]
    facts: dict[str, Any] = json.loads(Run.of(config).manifest.read_text())["grpo"]
    return facts


def _same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for name in ("reward", "loss", "grad_norm"):
        assert logged(one, name) == pytest.approx(logged(other, name), abs=TOLERANCE), name
    assert one["tokens"] == other["tokens"]
    assert len(set(logged(one, "reward"))) == STEPS and min(logged(one, "grad_norm")) > 0.1


@pytest.fixture
def alone(make: Make, monkeypatch: pytest.MonkeyPatch) -> Alone:
    """What one process comes to."""
    monkeypatch.setattr(grpo.Trainer, "_generate_single_turn", given)
    return lambda *options: _train(make("one", *options))


@pytest.mark.slow
def test_two_processes_equal_one_and_one_goes_on(
    make: Make, alone: Alone, capsys: pytest.CaptureFixture[str]
) -> None:
    config, one = make("two"), alone()
    run, facts = Run.of(config), _launch("ddp", config)
    assert (facts["strategy"], facts["world_size"]) == ("ddp", 2)
    _same(facts, one)
    assert checkpoints.is_complete(run.model)
    shutil.rmtree(run.model)
    shutil.rmtree(run.path / "grpo" / f"checkpoint-{STEPS}")
    capsys.readouterr()
    _same(_train(config), one)
    said = capsys.readouterr().out
    assert "was saved by ddp on 2 processes, single on 1 process go on with other rounding" in said


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "method"), [("zero3", ()), ("fsdp2", LORA)])
def test_sharded_weights_are_whole_while_answers_are_drawn(
    make: Make, alone: Alone, strategy: str, method: tuple[str, ...]
) -> None:
    if strategy == "zero3" and sys.platform != "linux":
        pytest.skip("deepspeed is installed on Linux alone (pyproject.toml)")
    facts = _launch(strategy, make("two", *method))
    assert (facts["strategy"], facts["world_size"]) == (strategy, 2)
    _same(facts, alone(*method))
