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
from tablemend.training import checkpoints, run_folder, saving
from tablemend.training.arguments import sft_arguments
from tablemend.training.trainer import Trainer
from tests.support.checkpoint_layouts import LAYOUTS
from tests.support.finished_runs import LORA
from tests.support.interruption import Stop
from tests.support.short_trainings import ROOT, short, small_data


@pytest.fixture
def command(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., SftCommand]:
    """Two steps of the random model, a checkpoint after each."""
    monkeypatch.chdir(ROOT)

    def make(name: str, *overrides: str) -> SftCommand:
        given = ("train.epochs=2", "train.save_every=1", *overrides)
        return short(SftCommand, tiny_model, tmp_path / name, small_data(8), *given)

    return make


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


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (checkpoints, "check_weights"),
        (saving, "record"),
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
        patch.setattr(where, name, _stop)
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


def _empty(weights: dict[str, torch.Tensor]) -> None:
    """As ZeRO-3 would save without gathering."""
    weights["model.norm.weight"] = torch.zeros(0)


def _half(weights: dict[str, torch.Tensor]) -> None:
    """One process's share."""
    weights["model.norm.weight"] = weights["model.norm.weight"][::2].clone()


def _zero(weights: dict[str, torch.Tensor]) -> None:
    weights.update({name: 0 * weight for name, weight in weights.items() if ".lora_B." in name})


@pytest.mark.parametrize(
    ("damage", "overrides", "message"),
    [
        (_empty, (), r"tensor model\.norm\.weight is empty"),
        (_half, (), r"tensor model\.norm\.weight was saved with shape \(16,\), and is \(32,\)"),
        (_zero, LORA, "the adapter is zero: it was never trained"),
    ],
)
def test_a_checkpoint_that_is_not_what_was_trained_is_not_marked(
    damage: Callable[[dict[str, torch.Tensor]], None],
    overrides: tuple[str, ...],
    message: str,
    command: Callable[..., SftCommand],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = command("spoilt", *overrides)
    random = Trainer._save_rng_state  # the last that is written, after the weights

    def spoil(self: Any, folder: str) -> None:
        random(self, folder)
        (file,) = Path(folder).glob("*.safetensors")
        tensors = load_file(file)
        damage(tensors)
        save_file(tensors, file, metadata={"format": "pt"})

    monkeypatch.setattr(Trainer, "_save_rng_state", spoil)
    with pytest.raises(TablemendError, match=message):
        _script(config, tmp_path / "spoilt.yaml", monkeypatch)
    folder = Run.of(config).path / "sft"
    assert (folder / "checkpoint-1").is_dir() and checkpoints.last_complete(folder) is None


def test_the_folder_has_its_name_only_when_it_was_checked_and_the_manifest_tells_of_it(
    command: Callable[..., SftCommand], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = command("told")
    run = Run.of(config)
    whole = checkpoints.put_in_place
    checks: list[str] = []

    def noted(name: str) -> None:
        check = getattr(checkpoints, name)

        def call(*given: Any) -> Any:
            checks.append(name)
            return check(*given)

        monkeypatch.setattr(checkpoints, name, call)

    def put(folder: Path, new: Path) -> None:
        assert not folder.exists() and checkpoints.is_complete(new)
        assert "first_answer" in run.recorded("sft")
        whole(folder, new)

    monkeypatch.setattr(checkpoints, "put_in_place", put)
    for name in ("check_weights", "check_generation", "generate_once"):
        noted(name)
    _script(config, tmp_path / "told.yaml", monkeypatch)
    assert checkpoints.is_complete(run.model)
    assert checks == ["check_weights", "check_generation", "generate_once"]


def test_a_kill_between_two_names_leaves_what_the_next_save_clears(tmp_path: Path) -> None:
    model, partial, old = (tmp_path / name for name in ("model", ".model.partial", ".model.old"))
    for folder in (partial, old):  # the old one has lost its name, the new one has none yet
        folder.mkdir()
        (folder / "weights").write_text(folder.name)
    checkpoints.put_in_place(model, partial)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    partial.mkdir()
    checkpoints.put_in_place(model, partial)
    assert [path.name for path in tmp_path.iterdir()] == ["model"] and not list(model.iterdir())


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
    with run_folder.alone(run):
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
    run.model.mkdir(parents=True)
    (run.model / "weights").write_text("old")
    checkpoints.mark_complete(run.model)
    checkpoint = run.path / "sft" / "checkpoint-1"
    checkpoint.mkdir(parents=True)
    checkpoints.mark_complete(checkpoint)
    (run.path / "sft.yaml").write_text(to_yaml(config))

    def is_the_old_one() -> bool:
        return (
            (run.model / "weights").is_file()
            and checkpoints.is_complete(checkpoint)
            and (run.path / "sft.yaml").read_text() == to_yaml(config)
            and not (run.path / run_folder.REPLACED).exists()
        )

    with pytest.raises(TablemendError, match="no rows"), run_folder.alone(run):
        assert run_folder.begin(other, run, overwrite=True)
        assert not run.model.exists()
        raise TablemendError("no rows")  # the data is refused
    assert is_the_old_one()
    assert run_folder.begin(other, run, overwrite=True)  # killed here
    assert not run_folder.begin(config, run, overwrite=False) and is_the_old_one()

    assert run_folder.begin(other, run, overwrite=True)
    run_folder.record(run, "sft", {"rows_hash": "new"})
    with pytest.raises(KeyboardInterrupt), run_folder.alone(run):
        raise KeyboardInterrupt  # while it trains
    assert not run.model.exists() and not (run.path / run_folder.REPLACED).exists()
    assert (run.path / "sft.yaml").read_text() == to_yaml(other)
