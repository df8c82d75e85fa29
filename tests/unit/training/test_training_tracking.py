"""tracking: a training's log goes to Trackio or W&B as well, and nowhere where nobody asks."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tablemend.config import ConfigError, parse, to_yaml
from tablemend.errors import TablemendError
from tablemend.evaluation.command import CompareCommand
from tablemend.recipe import experiment
from tablemend.recipe.experiment import (
    DistilCommand,
    DpoCommand,
    GrpoCommand,
    PairsCommand,
    SftCommand,
)
from tablemend.runs import Run
from tablemend.training.arguments import sft_arguments
from tablemend.training.tracking import check_tracking
from tests.support.short_trainings import ROOT, injected_pairs, short, small_data
from tests.support.trainings_in_process import pay_small_ids, train

SECRET = "hf_notToBeLogged"
STUB = """
from types import SimpleNamespace

class Config(dict):
    def update(self, other, allow_val_change=False):
        super().update(other)

__version__ = "0.43.0"
config, started, logged = Config(), [], []
context_vars = SimpleNamespace(current_space_id=SimpleNamespace(get=lambda: None))

def init(**settings):
    started.append(settings)

def log(numbers, **_):
    logged.append(numbers)

def finish():
    pass
"""


def test_nothing_is_tracked_unless_a_recipe_says_so(tiny_model: Path, tmp_path: Path) -> None:
    config = short(SftCommand, tiny_model, tmp_path / "run", small_data(8))
    assert config.tracking is None
    assert sft_arguments(config, str(tmp_path / "run" / "sft"), validate=False).report_to == []


def test_a_tracker_that_is_not_there_is_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(experiment, "find_spec", lambda name: None)
    with pytest.raises(ConfigError) as refused:
        parse(SftCommand, ["recipe=tiny", "tracking=trackio"])
    (ours,) = [one for one in refused.value.problems if one.startswith("tracking")]
    assert "needs the package trackio: pip install -e '.[trackio]'" in ours
    for command, recipe in ((CompareCommand, "tiny"), (PairsCommand, "tiny-dpo")):
        assert parse(command, [f"recipe={recipe}", "tracking=wandb"]).tracking == "wandb"


@pytest.mark.parametrize(
    ("command", "given", "said"),
    [
        (CompareCommand, ["recipe=tablehallu-eval"], "only a training is tracked"),
        (CompareCommand, ["recipe=tiny", "train.trl.report_to=mlflow"], "give one of them"),
    ],
)
def test_what_cannot_be_tracked_is_refused(
    command: Any, given: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(ConfigError, match=said):
        parse(command, [*given, "tracking=wandb"])


def test_wandb_without_a_key_is_refused_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(login=lambda prompt: False))  # type: ignore[arg-type]
    for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(ROOT)
    config = parse(CompareCommand, ["recipe=tiny", "tracking=wandb"])
    with pytest.raises(TablemendError, match="set WANDB_API_KEY"):
        check_tracking(config)  # type: ignore[arg-type]
    assert os.environ.pop("WANDB_PROJECT") == "tablemend"
    monkeypatch.setenv("WANDB_MODE", "offline")
    check_tracking(config)  # type: ignore[arg-type]
    os.environ.pop("WANDB_PROJECT")


@pytest.mark.parametrize(
    "kind",
    [
        SftCommand,
        *(pytest.param(one, marks=pytest.mark.slow) for one in (DpoCommand, GrpoCommand)),
        pytest.param(DistilCommand, marks=pytest.mark.slow),
    ],
)
def test_every_training_sends_its_log_and_no_secret(
    kind: Any, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "trackio.py").write_text(STUB)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.setitem(sys.modules, "trackio", SimpleNamespace())  # type: ignore[arg-type]
    del sys.modules["trackio"]  # is put back as it was
    import trackio

    monkeypatch.setattr("trl.extras.profiling.trackio", trackio, raising=False)
    monkeypatch.setenv("HF_TOKEN", SECRET)
    pay_small_ids(monkeypatch)
    steps = ["train.epochs=null", "train.max_steps=2", "tracking=trackio"]
    if kind is DpoCommand:
        steps.append(f"dpo.pairs.path={injected_pairs(tmp_path / 'pairs', small_data(16))}")
    config = short(kind, tiny_model, tmp_path / "named", small_data(16), *steps)
    _, facts = train(config)
    (started,) = trackio.started
    assert (started["project"], started["name"], started["space_id"]) == (
        "tablemend",
        "named",
        None,
    )
    losses = [entry["loss"] for entry in facts["log"] if "loss" in entry]
    assert [one["train/loss"] for one in trackio.logged if "train/loss" in one] == losses
    assert len(losses) == 2 and SECRET not in str([trackio.config, trackio.logged, started])


@pytest.mark.slow
@pytest.mark.parametrize("tracker", ["trackio", "wandb"])
def test_the_real_trackers_write_here_and_send_nothing(
    tracker: str, tiny_model: Path, tmp_path: Path
) -> None:
    if find_spec(tracker) is None:
        pytest.skip(f"{tracker} is not installed (docs/training.md)")
    where = tmp_path / "tracked"
    where.mkdir()
    steps = ["train.epochs=null", "train.max_steps=2", f"tracking={tracker}"]
    config = short(SftCommand, tiny_model, tmp_path / "named", small_data(16), *steps)
    (tmp_path / "recipe.yaml").write_text(to_yaml(config))
    variables = {
        "WANDB_MODE": "offline",
        "WANDB_DIR": where,
        "TRACKIO_DIR": where,
        "HF_TOKEN": SECRET,
    }
    done = subprocess.run(
        [sys.executable, "train/sft.py", f"recipe={tmp_path / 'recipe.yaml'}"],
        cwd=ROOT,
        env=os.environ | {key: str(one) for key, one in {**variables, "HF_TOKEN": SECRET}.items()},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    written = [path for path in where.rglob("*") if path.is_file()]
    assert written and not any(SECRET.encode() in path.read_bytes() for path in written)
    if tracker == "wandb":
        assert list(where.glob("wandb/offline-run-*/*.wandb"))
        return
    log = Run.of(config).recorded("sft")["log"]
    (database,) = where.glob("tablemend*.db")
    with sqlite3.connect(database) as opened:
        rows = str(opened.execute("select metrics from metrics").fetchall())
    losses = [entry["loss"] for entry in log if "loss" in entry]
    assert losses and all(str(loss) in rows for loss in losses)
