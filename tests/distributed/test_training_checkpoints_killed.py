"""What a kill leaves behind is recognised, and the same command goes on from the last whole thing.

Real kills of two processes: test_training_launch_strategies.py.
"""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tablemend.config import ConfigError, to_yaml
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import SftCommand
from tablemend.runs import Run, sole_writer
from tablemend.training import checkpoints, stage
from tablemend.training.sft import Trainer, sft_arguments
from tests.support.checkpoint_layouts import LAYOUTS
from tests.support.interruption import Stop
from tests.support.short_trainings import ROOT, recipes, small_data


@pytest.fixture
def command(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., SftCommand]:
    """Two steps of the random model, a checkpoint after each."""
    monkeypatch.chdir(ROOT)
    given = ("train.epochs=2", "train.save_every=1")
    return recipes(SftCommand, tiny_model, tmp_path, small_data(8), *given)


def _checkpoint(folder: Path, strategy: str) -> Path:
    for name in LAYOUTS[strategy]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 10)
    return folder


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("strategy", LAYOUTS)
def test_a_checkpoint_that_lacks_anything_is_skipped_and_deleted(
    strategy: str, tmp_path: Path
) -> None:
    """A process's share, the optimizer, the Trainer's state: whatever is missing or cut."""
    whole = _checkpoint(tmp_path / "checkpoint-3", strategy)
    checkpoints.mark_complete(whole)
    for damage in (Path.unlink, _cut):
        for name in (*LAYOUTS[strategy], checkpoints.MARKER):
            half = _checkpoint(tmp_path / "checkpoint-6", strategy)
            checkpoints.mark_complete(half)
            assert checkpoints.last_complete(tmp_path) == half
            damage(half / name)
            assert checkpoints.last_complete(tmp_path) == whole, name
            assert checkpoints.remove_partial(tmp_path) == [half]
    half = _checkpoint(tmp_path / "checkpoint-6", strategy)  # all is written, nothing is marked
    assert checkpoints.last_complete(tmp_path) == whole
    assert checkpoints.remove_partial(tmp_path) == [half] and not half.exists()


def _script(config: SftCommand, recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe.write_text(to_yaml(config))
    monkeypatch.setattr(sys, "argv", ["train/sft.py", f"recipe={recipe}"])
    runpy.run_path("train/sft.py")["main"]()


def _stop(*_: Any, **__: Any) -> None:
    raise Stop


def _stop_with_an_answer(run: Run, stage_name: str, facts: dict[str, Any]) -> None:
    """Ends the save; what is noted before the first step goes through."""
    if "first_answer" in facts:
        raise Stop
    run.record(stage_name, facts)


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (checkpoints, "check_weights"),
        (stage, "record"),
        (checkpoints, "put_in_place"),
    ],
    ids=["before-the-checks", "before-the-manifest", "before-the-name"],
)
def test_a_kill_in_the_last_save_loses_no_step(
    where: Any,
    name: str,
    command: Callable[..., SftCommand],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = command("cut")
    run = Run.of(config)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stop):
        patch.setattr(where, name, _stop_with_an_answer if name == "record" else _stop)
        _script(config, tmp_path / "cut.yaml", monkeypatch)
    assert (run.path / ".model.partial").is_dir() and not run.model.exists()
    trained = load_file(run.path / "sft" / "checkpoint-2" / "model.safetensors")
    capsys.readouterr()
    _script(config, tmp_path / "cut.yaml", monkeypatch)
    assert f"resuming from {run.path}/sft/checkpoint-2" in capsys.readouterr().out
    saved = load_file(run.model / "model.safetensors")
    assert all(torch.equal(saved[name], trained[name]) for name in saved)
    noted = json.loads(run.manifest.read_text())["sft"]
    assert noted["steps"] == 2 and noted["tokens"] > 0 and noted["first_answer"]
    assert [entry["step"] for entry in noted["log"] if "loss" in entry] == [1, 2]
    assert noted["last_loss"] == [entry["loss"] for entry in noted["log"] if "loss" in entry][-1]
    _script(config, tmp_path / "cut.yaml", monkeypatch)
    assert "finished: " in capsys.readouterr().out


def test_a_checkpoint_that_is_not_what_was_trained_is_not_marked(
    command: Callable[..., SftCommand], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = command("spoilt")
    random = Trainer._save_rng_state  # the last that is written, after the weights

    def spoil(self: Any, folder: str) -> None:
        random(self, folder)
        (file,) = Path(folder).glob("*.safetensors")
        tensors = load_file(file)
        name = "model.norm.weight"
        halved = tensors | {name: tensors[name][::2].clone()}  # one process's share
        save_file(halved, file, metadata={"format": "pt"})

    monkeypatch.setattr(Trainer, "_save_rng_state", spoil)
    message = r"tensor model\.norm\.weight was saved with shape \(16,\), and is \(32,\)"
    with pytest.raises(TablemendError, match=message):
        _script(config, tmp_path / "spoilt.yaml", monkeypatch)
    folder = Run.of(config).path / "sft"
    assert (folder / "checkpoint-1").is_dir() and checkpoints.last_complete(folder) is None


def test_two_trainings_never_write_into_one_folder(
    command: Callable[..., SftCommand], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes of a launcher that was killed train on."""
    config = command("both")
    run = Run.of(config)
    half = _checkpoint(run.path / "sft" / "checkpoint-1", "single")
    with (
        sole_writer(run.path),
        pytest.raises(TablemendError, match=r"another process .* is writing into .*/both"),
    ):
        _script(config, tmp_path / "both.yaml", monkeypatch)
    assert half.is_dir()  # the other one may be writing it
    with stage.alone(run):
        pass


def test_what_could_lose_every_checkpoint_is_refused(command: Callable[..., SftCommand]) -> None:
    with pytest.raises(TablemendError, match="before the next one is whole: give 2 or more"):
        sft_arguments(command("one", "train.trl.save_total_limit=1"), "nowhere", validate=False)
    found = sft_arguments(command("three", "train.trl.save_total_limit=3"), "x", validate=False)
    assert found.save_total_limit == 3 and not found.save_only_model
    for name in ("save_only_model", "ignore_data_skip"):
        with pytest.raises(ConfigError, match=f"{name}: is set by overwrite"):
            command("lost", f"train.trl.{name}=true")


def test_what_overwrite_replaces_is_there_until_the_new_training_begins(
    command: Callable[..., SftCommand],
) -> None:
    config, other = command("again"), command("again", "seed=5")
    run = Run.of(config)
    checkpoint = run.path / "sft" / "checkpoint-1"
    for folder in (run.model, checkpoint):
        folder.mkdir(parents=True)
        (folder / "weights").write_text("old")
        checkpoints.mark_complete(folder)
    settings = run.path / "sft.yaml"
    settings.write_text(to_yaml(config))

    def is_the_old_one() -> bool:
        whole = all(map(checkpoints.is_complete, (run.model, checkpoint)))
        return whole and settings.read_text() == to_yaml(config)

    with pytest.raises(TablemendError, match="no rows"), stage.alone(run):
        assert stage.begin(other, run, overwrite=True)
        assert not run.model.exists()
        raise TablemendError("no rows")  # the data is refused
    assert is_the_old_one()
    assert stage.begin(other, run, overwrite=True)  # killed here
    assert not stage.begin(config, run, overwrite=False) and is_the_old_one()
    assert stage.begin(other, run, overwrite=True)
    stage.record(run, "sft", {"rows_hash": "new"})  # it trains
    assert not run.model.exists() and settings.read_text() == to_yaml(other)
