"""Two real processes train on rewards: as one does, and one goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from given_answers import given

from tablemend.config import parse, to_yaml
from tablemend.config.experiment import GrpoCommand
from tablemend.runs import Run
from tablemend.training import checkpoints, grpo, stage

ROOT = Path(__file__).parents[1]
STEPS, CUT = 3, 2
TOLERANCE = 1e-3
Make = Callable[..., GrpoCommand]


@pytest.fixture
def make(tiny_model: Path, tmp_path: Path) -> Make:
    """The random model: two prompts a step, four answers to each."""

    def command(name: str, *options: str) -> GrpoCommand:
        return parse(
            GrpoCommand,
            [
                f"recipe={ROOT / 'recipes' / 'tiny-grpo.yaml'}",
                f"model.path={tiny_model}",
                f"run={tmp_path / name}",
                "data={train: {source: small-world, n: 12, seed: 1},"
                " test: {source: small-world, n: 4, seed: 3}}",
                "thinking=off",
                "train.minutes=null",
                f"train.max_steps={STEPS}",
                "train.global_batch=8",
                "train.micro_batch=2",
                "train.learning_rate=1e-3",
                f"train.save_every={CUT}",
                "train.log_every=1",
                "train.trl.disable_tqdm=true",
                "grpo.group=4",
                "grpo.max_new_tokens=8",
                *options,
            ],
        )

    return command


def _train(config: GrpoCommand) -> dict[str, Any]:
    """In this process alone."""
    run, tokenizer = Run.of(config), checkpoints.load_tokenizer(config.model)
    assert stage.begin(config, run, overwrite=False)
    prepared = grpo.prepare(config, tokenizer)
    return stage.train(grpo.build_trainer(config, run, tokenizer, prepared), config, run)


def _launch(strategy: str, config: GrpoCommand) -> dict[str, Any]:
    """In two processes; what the manifest says."""
    recipe = Run.of(config).path.with_suffix(".yaml")
    recipe.write_text(to_yaml(config))
    accelerate = str(Path(sys.executable).with_name("accelerate"))
    file = f"--config_file=accelerate_configs/{strategy}.yaml"
    launch = [accelerate, "launch", file, "--main_process_port=0"]
    done = subprocess.run(
        [*launch, "tests/given_answers.py", f"recipe={recipe}"],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    facts: dict[str, Any] = json.loads(Run.of(config).manifest.read_text())["grpo"]
    return facts


def _course(facts: dict[str, Any], name: str) -> list[float]:
    return [entry[name] for entry in facts["log"] if name in entry]


def _same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for name in ("reward", "loss", "grad_norm"):
        assert _course(one, name) == pytest.approx(_course(other, name), abs=TOLERANCE), name
    assert one["tokens"] == other["tokens"]
    assert len(set(_course(one, "reward"))) == STEPS and min(_course(one, "grad_norm")) > 0.1


@pytest.mark.slow
def test_two_processes_equal_one_and_one_goes_on(
    make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(grpo.Trainer, "_generate_single_turn", given)
    alone = _train(make("one"))
    config = make("two")
    run, facts = Run.of(config), _launch("ddp", config)
    assert (facts["strategy"], facts["world_size"]) == ("ddp", 2)
    _same(facts, alone)
    assert checkpoints.is_complete(run.model)
    shutil.rmtree(run.model)
    shutil.rmtree(run.path / "grpo" / f"checkpoint-{STEPS}")
    capsys.readouterr()
    _same(_train(config), alone)
    said = capsys.readouterr().out
    assert "was saved by ddp on 2 processes, single on 1 process go on: the same prompts" in said
