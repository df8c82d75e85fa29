"""Where a saved model is tried, and what adapters leave that merged weights would not equal."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import pytest

from tablemend.publishing import merging
from tablemend.publishing.command import MergeCommand
from tablemend.recipe.experiment import SftCommand
from tablemend.runs import Run
from tablemend.training import checkpoints, run_folder, saving, sft, stage
from tests.support.finished_runs import spoil_merges
from tests.support.short_trainings import ROOT, short, small_data


def test_a_merge_that_would_answer_otherwise_leaves_the_adapter(
    tiny_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    given = ("train.epochs=1", "model.dtype=float32", "train.learning_rate=1e-2")
    lora = ("train.method=lora", "train.lora={r: 4, alpha: 8}")
    config = short(SftCommand, tiny_model, tmp_path / "run", small_data(8), *given, *lora)
    run = Run.of(config)
    assert run_folder.begin(config, run, overwrite=False)
    tokenizer = checkpoints.load_tokenizer(config.model)
    prepared = sft.prepare(config, run, tokenizer)
    trainer = sft.build_trainer(config, run, tokenizer, prepared)
    revision = checkpoints.revision_of(str(tiny_model))
    facts: dict[str, Any] = {**prepared.facts, "model_revision": revision}
    facts |= stage.train(trainer, config, run)
    with monkeypatch.context() as patch:
        spoil_merges(patch)
        saving.save(trainer, config, run, tokenizer, prepared.prompts[:2], facts)
    assert "warning: merged weights would answer otherwise" in capsys.readouterr().out
    noted = run.recorded("sft")["merging"]
    assert noted["max_logit_difference"] > noted["tolerance"] == 1e-3
    assert checkpoints.is_complete(run.model) and (run.model / "adapter_config.json").is_file()
    assert not list(run.path.glob(".*partial")) and not (run.model / "model.safetensors").exists()
    done = merging.merge_run(MergeCommand(run=str(run.path), prompts=1))  # as the line says
    assert done is not None and done.accepted


@pytest.mark.parametrize("method", [(), ("train.method=lora", "train.lora={r: 4, alpha: 8}")])
def test_nothing_trained_stays_on_the_device(
    method: tuple[str, ...], tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The saved model is loaded beside it."""
    monkeypatch.chdir(ROOT)
    given = ("train.epochs=null", "train.max_steps=1", *method)
    config = short(SftCommand, tiny_model, tmp_path / "run", small_data(8), *given)
    run, tokenizer = Run.of(config), checkpoints.load_tokenizer(config.model)
    assert run_folder.begin(config, run, overwrite=False)
    trainer = sft.build_trainer(config, run, tokenizer, sft.prepare(config, run, tokenizer))
    stage.train(trainer, config, run)
    inner = trainer.optimizer.optimizer
    alive = [weakref.ref(each) for each in (inner, *trainer.model.parameters())]
    alive += [weakref.ref(moments["exp_avg"]) for moments in inner.state.values()]
    del inner
    saving._release(trainer)
    assert len(alive) > 10 and not [ref for ref in alive if ref() is not None]
