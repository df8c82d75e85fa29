"""What a training starts from: one commit, noted; no adapter, no quantised weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from peft import get_peft_model

from tablemend.backends.checkpoints import Checkpoint
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Model, SftCommand, TrainingRecipe
from tablemend.recipe.training import Lora
from tablemend.runs import Run
from tablemend.training import adapters, checkpoints, stage
from tablemend.training.models import lora_config
from tests.support.short_trainings import RECIPES, short, small_data


def _config(path: object, run: Path, *overrides: str) -> SftCommand:
    return short(SftCommand, Path(str(path)), run, small_data(8), "train.epochs=1", *overrides)


@pytest.mark.parametrize("kind", RECIPES)
def test_an_adapter_is_refused_before_anything_is_written(
    kind: type[TrainingRecipe], tiny_model: Path, tmp_path: Path
) -> None:
    """PEFT would put the new adapter on the base, and the old one would be gone."""
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    named = {"base_model_name_or_path": str(tiny_model)}
    (adapter / "adapter_config.json").write_text(json.dumps(named))
    config = short(kind, adapter, tmp_path / "run", small_data(16), "train.micro_batch=8")
    with pytest.raises(TablemendError, match=r"is an adapter.*train/merge\.py"):
        stage.begin(config, Run.of(config), overwrite=False)
    assert not (tmp_path / "run").exists()
    whole = config.model_copy(
        update={"model": config.model.model_copy(update={"path": str(tiny_model)})}
    )
    assert stage.begin(whole, Run.of(config), overwrite=False)
    assert not checkpoints.is_complete(Run.of(config).model)


SHA = "0123456789abcdef0123456789abcdef01234567"
MOVED = SHA[::-1]


def _on_the_hub(cache: Path, model: Path, commit: str) -> None:
    """A model in the local cache of the Hub, whose main branch is this commit."""
    repository = cache / "models--owner--base"
    shutil.copytree(model, repository / "snapshots" / commit)
    (repository / "refs").mkdir(exist_ok=True)
    (repository / "refs" / "main").write_text(commit)


@pytest.fixture
def cache(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The local cache of a machine without a network, with owner/base in it."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    _on_the_hub(tmp_path / "hub", tiny_model, SHA)
    return tmp_path / "hub"


def _merge_at(pinned: Model, moved: Model, folder: Path) -> None:
    """An adapter finds the base that it was trained on, of which main has no weights any more."""
    lora = lora_config(Lora(r=2, alpha=4), revision=pinned.revision)
    get_peft_model(checkpoints.load_model(pinned), lora).save_pretrained(folder)
    checkpoints.load_tokenizer(pinned).save_pretrained(folder)
    assert Checkpoint(str(folder)).adapter_base == Checkpoint("owner/base", SHA)
    assert checkpoints.generate_once(folder, pinned, [5, 6, 7], tokens=4)
    assert adapters.merge(folder, folder.with_name("whole"), moved, SHA, [[5, 6, 7]]).accepted


def test_a_name_on_the_hub_is_one_commit_for_the_whole_training(
    cache: Path, tiny_model: Path, tmp_path: Path
) -> None:
    config = _config("owner/base", tmp_path / "run")
    run = Run.of(config)
    assert stage.begin(config, run, overwrite=False)
    pinned = stage.pinned(config, run)
    assert pinned.model.revision == checkpoints.revision_of("owner/base", SHA) == SHA
    _on_the_hub(cache, tiny_model, MOVED)  # while it trains
    (cache / "models--owner--base" / "snapshots" / MOVED / "model.safetensors").unlink()
    assert checkpoints.load_tokenizer(pinned.model) and checkpoints.load_model(pinned.model)
    _merge_at(pinned.model, config.model, tmp_path / "adapter")
    assert stage.pinned(config, run).model.revision == MOVED  # nothing waits to be continued
    run.record("sft", {"model_revision": SHA})
    checkpoint = run.path / "sft" / "checkpoint-1"
    checkpoint.mkdir(parents=True)
    checkpoints.mark_complete(checkpoint)
    assert stage.pinned(config, run) == pinned
    folder = _config(tiny_model, tmp_path / "other")
    assert stage.pinned(folder, Run.of(folder)) is folder


@pytest.mark.parametrize("path", ["owner/base", "folder"])
def test_a_quantised_start_is_refused_before_its_data_is_read(
    path: str, cache: Path, tmp_path: Path
) -> None:
    base = cache / "models--owner--base" / "snapshots" / SHA
    settings = json.loads((base / "config.json").read_text())
    settings["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    (base / "config.json").write_text(json.dumps(settings))
    config = _config(base if path == "folder" else path, tmp_path / "run")
    run = Run.of(config)
    with pytest.raises(TablemendError, match=r"is quantised: .* unquantised model; .*qlora"):
        assert stage.begin(config, run, overwrite=False)
        stage.pinned(config, run)
    assert run.path.exists() == (path == "owner/base")
