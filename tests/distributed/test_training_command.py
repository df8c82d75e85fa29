"""The commands under accelerate's launcher: refused in one line, trained, finished, continued."""

from __future__ import annotations

import json
import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tablemend.backends.loading import has_bfloat16
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import DpoCommand, SftCommand
from tablemend.runs import Run
from tablemend.training import checkpoints, stage
from tests.support.scripts import run_script
from tests.support.short_trainings import (
    ROOT,
    injected_pairs,
    launch,
    launch_command,
    logged,
    short,
    small_data,
    under,
)
from tests.support.trainings_in_process import train
from tests.support.warm_launch import launch as launch_warm

Make = Callable[..., Any]


@pytest.fixture
def make(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A training of the random model."""
    monkeypatch.chdir(ROOT)
    return lambda kind, name, *given: short(
        kind, tiny_model, tmp_path / name, small_data(16), *given
    )


@pytest.mark.slow
def test_a_refusal_is_one_clear_line_and_binds_nothing(
    make: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = make(SftCommand, "refused", "train.max_length=64")
    missing = config.model.model_copy(update={"path": str(tmp_path / "no-such-model")})
    done = launch(config.model_copy(update={"model": missing}), "--quiet", script="train/sft.py")
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert line == f"error: no checkpoint folder {missing.path}"
    assert done.returncode != 0 and "Traceback" not in done.stderr
    recipe = launch_command(config, script=["train/sft.py"])[-1]
    assert run_script("train/sft.py", [recipe], monkeypatch) == 2
    assert "train.max_length" in capsys.readouterr().err
    run = Run.of(config)
    assert "max_length: 64" in (run.path / "sft.yaml").read_text()
    assert stage.begin(make(SftCommand, "refused"), run, overwrite=False)
    assert "max_length: 64" not in (run.path / "sft.yaml").read_text()


@pytest.mark.slow
def test_the_command_trains_then_says_that_it_is_finished(
    make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = ("train.epochs=null", "train.max_steps=2", "train.precision=auto")
    config = make(SftCommand, "line", *steps)
    done = launch(config, "--cpu", script="train/sft.py")
    assert done.returncode == 0, done.stderr
    run = Run.of(config)
    assert f"{run.model}: 2 steps" in done.stdout
    kind, has = ("bfloat16", "has") if has_bfloat16("cpu") else ("float32", "has no")
    assert (
        f"computing in {kind} (train.precision=auto, and this CPU {has} instructions for "
        "bfloat16); threads a process: 1 (OMP_NUM_THREADS)\n"
    ) in done.stderr
    facts = json.loads(run.manifest.read_text())["sft"]
    assert facts["dropped"] == {} and facts["rows"] == 16 and facts["first_answer"]
    assert (facts["precision"], facts["threads"]) == (kind, 1)
    monkeypatch.setattr(sys, "argv", ["train/sft.py", f"recipe={run.path.with_suffix('.yaml')}"])
    main = runpy.run_path("train/sft.py")["main"]
    main()
    assert "finished: " in capsys.readouterr().out
    with pytest.raises(TablemendError, match="seed was 0, is 5"):
        stage.begin(config.model_copy(update={"seed": 5}), run, overwrite=False)
    (run.model / "config.json").unlink()  # made again from the last whole checkpoint
    main()
    assert checkpoints.is_complete(run.model)


@pytest.mark.slow
def test_two_processes_prefer_as_one_does_and_one_goes_on(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each pass has one step of 12 pairs, and leaves four others of the 16 out."""
    pairs = injected_pairs(tmp_path / "pairs", small_data(16))
    given = (
        *(f"dpo.pairs.path={pairs}", "dpo.pairs.sampled=0", "dpo.sft_weight=0"),
        *("train.max_steps=2", "train.epochs=null", "train.save_every=1", "model.dtype=float32"),
        *("train.global_batch=12", "train.micro_batch=3", "train.learning_rate=1e-3"),
    )
    _, one = train(make(DpoCommand, "one", *given))
    config = make(DpoCommand, "two", *given)
    done = launch_warm(config, *under("ddp"), script="train/dpo.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the right way round") == 1
    facts = json.loads(Run.of(config).manifest.read_text())["dpo"]
    assert (facts["strategy"], facts["world_size"]) == ("ddp", 2)
    assert logged(facts, "loss") == pytest.approx(logged(one, "loss"), rel=1e-3)
    assert facts["tokens"] == one["tokens"] and facts["left_out_of_each_pass"] == 4
    shutil.rmtree(Run.of(config).model)
    shutil.rmtree(Run.of(config).path / "dpo" / "checkpoint-2")
    capsys.readouterr()
    _, alone = train(config)
    said = capsys.readouterr().out
    assert "was saved by ddp on 2 processes, single on 1 process go on" in said
    assert logged(alone, "loss") == pytest.approx(logged(one, "loss"), rel=1e-3)
