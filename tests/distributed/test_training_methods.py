"""What holds for every training alike: resuming, batches, held-out tables."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

import random_training
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import (
    DistilCommand,
    DpoCommand,
    GrpoCommand,
    SftCommand,
    TrainingRecipe,
)
from tablemend.runs import Run, write_jsonl
from tablemend.tasks.tablehallu import small_world
from tablemend.training import checkpoints, stage
from tests.support.short_trainings import (
    RECIPES,
    ROOT,
    injected_pairs,
    logged,
    same_weights,
    short,
    small_data,
)
from tests.support.trainings_in_process import METHODS, interrupt, pay_small_ids, train

LORA = ("train.method=lora", "train.lora={r: 4, alpha: 8}", "train.learning_rate=1e-2")
OPTIONS: dict[str, tuple[type[TrainingRecipe], tuple[str, ...]]] = {
    "sft": (SftCommand, ("model.dtype=float32",)),
    "sft-lora": (SftCommand, LORA),
    "dpo": (DpoCommand, ("dpo.pairs.sampled=0", "dpo.sft_weight=0")),
    "grpo": (GrpoCommand, ("thinking=off", "grpo.group=4", "grpo.max_new_tokens=8")),
    "distil": (DistilCommand, ("distil.max_new_tokens=8",)),
    "distil-ema": (DistilCommand, ("distil.max_new_tokens=8", "distil.teacher=ema")),
}
Make = Callable[..., TrainingRecipe]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return injected_pairs(tmp_path_factory.mktemp("pairs"), small_data(16))


@pytest.fixture
def make(tiny_model: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Three steps of a method on the random model, a checkpoint after the second."""
    monkeypatch.chdir(ROOT)

    def command(method: str, name: str, *overrides: str) -> TrainingRecipe:
        kind, options = OPTIONS[method]
        given = ("train.epochs=null", "train.max_steps=3", "train.save_every=2", *options)
        if kind is DpoCommand:
            given = (*given, f"dpo.pairs.path={pairs}")
        return short(kind, tiny_model, tmp_path / name, small_data(16), *given, *overrides)

    return command


@pytest.mark.parametrize("method", OPTIONS)
def test_a_resumed_training_equals_an_uninterrupted_one(
    method: str, make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if method == "grpo":
        pay_small_ids(monkeypatch)
    whole, facts = train(make(method, "whole"))
    config = make(method, "cut")
    run = interrupt(config, step=3)
    folder = stage.checkpoints_of(run, config.stage)
    half = shutil.copytree(folder / "checkpoint-2", folder / "checkpoint-3")
    (half / "optimizer.pt").write_bytes(b"cut")
    reference = sorted(run.path.rglob("cache-*.arrow"))  # DPO's scores by the start
    assert bool(reference) == (method == "dpo")
    written = [path.stat().st_mtime_ns for path in reference]
    capsys.readouterr()
    run, resumed = train(config)
    said = capsys.readouterr().out
    assert f"{half} is half-written" in said and f"resuming from {folder}/checkpoint-2" in said
    assert [path.stat().st_mtime_ns for path in reference] == written
    for name in ("loss", "reward", "rewards/margins", "hallucinated"):
        assert logged(resumed, name) == logged(facts, name)
    assert resumed["tokens"] == facts["tokens"]
    for name in ("train_loss", "num_tokens"):  # of the whole run, not of the last call
        assert logged(resumed, name) == pytest.approx(logged(facts, name))
    assert logged(facts, "train_loss") and resumed["train_loss"] == pytest.approx(
        facts["train_loss"]
    )
    assert same_weights(run.model, whole.model)


@pytest.mark.parametrize("method", ["sft", "dpo", "grpo", "distil"])
def test_what_does_not_change_the_result_may_change_on_the_way(
    method: str, make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As our own advice says after out of memory."""
    if method == "grpo":
        pay_small_ids(monkeypatch)
    options = ("train.max_steps=5",)
    whole, facts = train(make(method, "whole", *options))
    interrupt(make(method, "cut", *options), step=3)
    others = ("train.micro_batch=2", "train.gradient_checkpointing=true", "train.log_every=2")
    others = (*others, "train.save_every=3", "train.trl.dataloader_num_workers=0")
    config = make(method, "cut", *options, *others)
    run, resumed = train(config)
    said = capsys.readouterr().out
    assert "goes on with other settings, which do not change the result" in said
    recorded = run.recorded(config.stage)["went_on_with"]
    assert "train.micro_batch was 4, is 2" in recorded and recorded[0] in said
    assert len(recorded) == 5
    assert resumed["train_loss"] == pytest.approx(facts["train_loss"], rel=1e-3, abs=1e-6)
    assert resumed["tokens"] == facts["tokens"]
    assert same_weights(run.model, whole.model, tolerance=1e-4)
    with pytest.raises(TablemendError, match=r"learning_rate was .*: give run=NAME"):
        train(make(method, "cut", *options, "train.learning_rate=0.5"))


@pytest.mark.parametrize("method", ["sft", "dpo"])
@pytest.mark.parametrize("micro", [1, 8])
def test_the_micro_batch_does_not_change_the_result(method: str, micro: int, make: Make) -> None:
    _, four = train(make(method, "four"))
    _, other = train(make(method, "other", f"train.micro_batch={micro}"))
    assert logged(other, "loss") == pytest.approx(logged(four, "loss"), rel=1e-3)


@pytest.mark.parametrize("method", ["sft", "dpo", "grpo", "distil"])
def test_tables_of_the_test_are_not_trained_on(method: str, make: Make, tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    write_jsonl(path, [example.to_json() for example in small_world.examples(seed=1, n=2)])
    config = make(method, "shared", f"data.test={{source: {path}, seed: 0, n: null, queries: 1}}")
    tokenizer = checkpoints.load_tokenizer(config.model)
    with pytest.raises(TablemendError, match=r"data\.test and data\.train share 2 tables"):
        METHODS[config.stage].prepare(config, Run.of(config), tokenizer)


def _trainer(config: Any, model: Path, folder: Path) -> Any:
    tokenizer = AutoTokenizer.from_pretrained(model)
    if isinstance(config, DpoCommand):
        pairs = [(20, 10, 12)] * 8
        return random_training.random_preference_trainer(config, tokenizer, pairs, str(folder))
    if isinstance(config, GrpoCommand | DistilCommand):
        return random_training.random_reward_trainer(config, tokenizer, [20] * 8, str(folder))
    return random_training.random_trainer(config, tokenizer, [30] * 8, [10] * 8, str(folder))


@pytest.mark.parametrize("kind", RECIPES)
def test_a_step_of_each_training_draws_no_warning_of_what_will_be_gone(
    kind: type[TrainingRecipe], tiny_model: Path, tmp_path: Path
) -> None:
    config = short(
        kind, tiny_model, tmp_path, small_data(8), "train.epochs=null", "train.max_steps=1"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        warnings.simplefilter("error", DeprecationWarning)
        trainer = _trainer(config, tiny_model, tmp_path)
        trainer.train()
    assert trainer.state.global_step == 1
