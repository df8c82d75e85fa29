"""Preference training: the ids are ours, the reference is the start, the margin rises."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tablemend.config import to_yaml
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import DpoCommand
from tablemend.renderer import prompt_ids
from tablemend.runs import write_json, write_jsonl
from tablemend.tasks.tablehallu import prompts
from tablemend.tasks.tablehallu.task import read_examples
from tablemend.training import checkpoints, dpo
from tablemend.training.data import PAIRS_FILE, read_pairs
from tests.support.scripts import run_script
from tests.support.short_trainings import (
    ROOT,
    injected_pairs,
    logged,
    recipes,
    same_weights,
    small_data,
)
from tests.support.trainings_in_process import begin, interrupt, train

DATA = small_data(16, seed=5)
LORA = ("train.method=lora", "train.lora={r: 4, alpha: 8, dropout: 0}", "train.learning_rate=1e-2")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """16 pairs of injected errors: no model is needed."""
    return injected_pairs(tmp_path_factory.mktemp("pairs"), DATA)


@pytest.fixture
def command(
    tiny_model: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., DpoCommand]:
    """The tiny recipe on the random model: 16 pairs, 2 steps an epoch of 8 pairs each."""
    monkeypatch.chdir(ROOT)
    given = (f"dpo.pairs.path={pairs}", "dpo.pairs.sampled=0", "dpo.sft_weight=0")
    given = (*given, "train.epochs=2", "train.learning_rate=1e-3", "train.save_every=2")
    return recipes(DpoCommand, tiny_model, tmp_path, DATA, *given)


def test_training_raises_the_margin_from_nothing(
    command: Callable[..., DpoCommand], tiny_model: Path
) -> None:
    run, facts = train(command("full", "data.validation={source: small-world, n: 4, seed: 2}"))
    # the start is its own reference: no drift, and the loss of a coin
    assert logged(facts, "drift/chosen")[0] == pytest.approx(0, abs=1e-2)
    assert logged(facts, "loss")[0] == pytest.approx(0.6931, abs=1e-3)
    margins, accuracies = logged(facts, "rewards/margins"), logged(facts, "rewards/accuracies")
    assert margins[-1] > max(0.05, margins[0]) and accuracies[-1] > 0.8
    assert logged(facts, "loss")[-1] < 0.67
    drift = logged(facts, "drift/rejected")[-1], logged(facts, "rewards/rejected")[-1]
    assert drift[1] == pytest.approx(0.1 * drift[0], rel=1e-3)
    assert facts["steps"] == 4 and facts["tokens"] > 16 * 2 * 2 * 100 and facts["answer"]
    assert checkpoints.is_complete(run.model) and not same_weights(run.model, tiny_model)
    last = [entry for entry in facts["log"] if "rewards/accuracies" in entry][-1]
    for more, warns in ((1, False), (-1, True)):
        logged_last = {**last, "drift/chosen": dpo.DRIFT + more}
        line, *warnings = dpo.summary({"log": [logged_last]})
        assert "% of the pairs the right way round" in line
        assert any("chosen answers have become less likely" in one for one in warnings) == warns


def test_the_ids_are_the_prompts_of_evaluation_and_whole_answers(
    command: Callable[..., DpoCommand], pairs: Path
) -> None:
    config = command("ids")
    _, trainer, tokenizer, _ = begin(config)
    examples = {example.id: example for example in read_examples(config.data.train)}
    end = tokenizer.eos_token_id
    rows = trainer.train_dataset
    for row, pair in zip(rows, read_pairs(pairs), strict=True):
        chat = prompts.messages(examples[pair.example_id], "adversarial")
        assert row["prompt_ids"] == prompt_ids(tokenizer, chat, True)
        for name in ("chosen", "rejected"):
            ids = row[f"{name}_ids"]
            assert ids[-1] == end and ids.count(end) == 1
            assert tokenizer.decode(ids[:-1]) == getattr(pair, name)
    # what the loss sees, through TRL's own loader
    batch = next(iter(trainer.get_train_dataloader()))
    wanted = {
        (*row["prompt_ids"], *row[f"{n}_ids"]) for row in rows for n in ("chosen", "rejected")
    }
    for ids, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True):
        assert tuple(ids[mask.bool()].tolist()) in wanted
    assert batch["completion_mask"].sum(dim=1).min() > 20
    assert trainer.args.max_length is trainer.data_collator.max_length is None


def test_other_pairs_are_refused_while_a_checkpoint_waits(
    command: Callable[..., DpoCommand], pairs: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(pairs, other)
    config = command("other", f"dpo.pairs.path={other}")
    run, tokenizer = interrupt(config, step=3), checkpoints.load_tokenizer(config.model)
    write_jsonl(other / PAIRS_FILE, [pair.to_json() for pair in read_pairs(other)[1:]])
    with pytest.raises(TablemendError, match=r"another rows_hash: .* since; give run="):
        dpo.prepare(config, run, tokenizer)


def test_adapters_have_the_base_without_them_as_reference(
    command: Callable[..., DpoCommand], tiny_model: Path
) -> None:
    config = command("lora", *LORA, "dpo.precompute_reference=false")
    run, facts = train(config)
    assert logged(facts, "drift/chosen")[0] == pytest.approx(0, abs=1e-2)
    margins = logged(facts, "rewards/margins")
    assert margins[-1] > max(0.05, margins[0])
    assert not same_weights(run.model, tiny_model)  # merged


def test_a_second_copy_is_the_same_reference_as_precomputed_scores(
    command: Callable[..., DpoCommand],
) -> None:
    steps = ("train.max_steps=2", "train.epochs=null")
    _, one = train(command("one", *steps))
    _, other = train(command("other", *steps, "dpo.precompute_reference=false"))
    assert logged(other, "loss") == pytest.approx(logged(one, "loss"), rel=1e-3)


def test_what_does_not_fit_is_dropped_and_counted_never_cut(
    command: Callable[..., DpoCommand], pairs: Path, tmp_path: Path
) -> None:
    tokenizer = checkpoints.load_tokenizer(command("long").model)
    with pytest.raises(
        TablemendError, match=r"^0 pairs of .* make more, or set model\.context_length="
    ):
        dpo.build_rows(command("long", "train.max_length=16"), tokenizer)
    records = [pair.to_json() for pair in read_pairs(pairs)[:10]]
    records[0]["rejected"] = f"a{tokenizer.eos_token}b"
    records[1]["rejected"] = records[1]["chosen"]
    write_jsonl(tmp_path / "odd" / PAIRS_FILE, records)
    _, facts = dpo.build_rows(command("odd", f"dpo.pairs.path={tmp_path / 'odd'}"), tokenizer)
    assert facts["rows"] == 8 and facts["dropped"] == {
        "an end of turn within the answer": 1,
        "the two answers are the same ids": 1,
    }


def test_pairs_of_other_examples_are_refused(
    command: Callable[..., DpoCommand], pairs: Path
) -> None:
    config = command("other", "data.train.n=12")
    tokenizer = checkpoints.load_tokenizer(config.model)
    with pytest.raises(TablemendError, match=r"data\.train and data\.validation do not hold"):
        dpo.build_rows(config, tokenizer)


def test_the_script_trains_and_records_the_start(
    command: Callable[..., DpoCommand],
    tiny_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = tmp_path / "first"
    shutil.copytree(tiny_model, first / "model")
    (first / "sft.yaml").touch()
    write_json(first / "manifest.json", {"sft": {"rows_hash": "abc", "log": [{"loss": 1.0}]}})
    path = f"model.path={first / 'model'}"
    config = command("second", path, "train.max_steps=2", "train.epochs=null")
    recipe = tmp_path / "second.yaml"
    recipe.write_text(to_yaml(config))
    assert run_script("train/dpo.py", [f"recipe={recipe}"], monkeypatch) == 0
    out = capsys.readouterr().out
    assert f"{tmp_path}/second/model: 2 steps" in out and "the right way round" in out
    facts = json.loads((tmp_path / "second" / "manifest.json").read_text())["dpo"]
    assert facts["rows"] == facts["pairs"] == 16 and facts["pairs_made"]["rejected"]
    assert facts["model_revision"].startswith("sha256:")
    assert run_script("train/dpo.py", [f"recipe={recipe}"], monkeypatch) == 0
    assert "finished: " in capsys.readouterr().out
