"""Fine-tuning: equal settings give equal trajectories, and what is saved works."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)
from trl import SFTTrainer

from tablemend.config import parse
from tablemend.errors import TablemendError
from tablemend.publishing import checkpoint
from tablemend.publishing.hub import MergeCommand
from tablemend.recipe.experiment import SftCommand
from tablemend.recipe.training import Train
from tablemend.runs import Run
from tablemend.training import checkpoints, stage
from tablemend.training.trainer import rate_factor
from tests.support.finished_runs import spoil_merges
from tests.support.short_trainings import ROOT, logged, recipes, same_weights, small_data
from tests.support.trainings_in_process import begin, interrupt, train

LORA = ("train.method=lora", "train.lora={r: 4, alpha: 8}", "train.learning_rate=1e-2")


@pytest.fixture
def command(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., SftCommand]:
    """The tiny recipe on the random model: 24 rows, 3 steps an epoch of 8 rows each."""
    monkeypatch.chdir(ROOT)
    given = ("model.dtype=float32", "train.epochs=2", "train.save_every=2")
    return recipes(SftCommand, tiny_model, tmp_path, small_data(24), *given)


def _losses(facts: dict[str, Any]) -> list[float]:
    return logged(facts, "loss")


def test_full_fine_tuning_learns_and_leaves_a_whole_checkpoint(
    command: Callable[..., SftCommand], tiny_model: Path
) -> None:
    run, facts = train(command("full"))
    losses = _losses(facts)
    assert facts["steps"] == 6 and losses[-1] < losses[0]
    assert facts["tokens"] > 24 * 2 * 100 and facts["answer"]
    assert checkpoints.is_complete(run.model)
    assert not same_weights(run.model, tiny_model)
    assert sorted(path.name for path in run.path.iterdir()) == [
        "manifest.json",
        "model",
        "sft",
        "sft.yaml",
    ]
    assert not stage.begin(command("full"), run, overwrite=False)
    assert stage.begin(command("full"), run, overwrite=True)
    assert not run.model.exists()


def test_a_model_that_sees_pictures_resumes_and_is_saved_under_the_names_of_the_hub(
    command: Callable[..., SftCommand], tiny_model: Path, tmp_path: Path
) -> None:
    """Gemma 3: transformers names its weights otherwise than its checkpoints do."""
    folder = shutil.copytree(tiny_model, tmp_path / "gemma")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    small = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
    text = {**small, "num_hidden_layers": 2, "num_key_value_heads": 1, "head_dim": 8}
    text |= {"vocab_size": len(tokenizer), "max_position_embeddings": 1024}
    vision = {**small, "num_hidden_layers": 1, "image_size": 28, "vision_use_head": False}
    ids = {"image_token_index": 1, "boi_token_index": 2, "eoi_token_index": 3}
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    config = Gemma3Config(
        text_config={**text, **ends}, vision_config=vision, mm_tokens_per_image=4, **ids, **ends
    )
    Gemma3ForConditionalGeneration(config).save_pretrained(folder)
    names = set(checkpoints.read_shapes(folder))
    whole, facts = train(command("whole", f"model.path={folder}"))
    cut = command("cut", f"model.path={folder}")
    interrupt(cut, step=4)
    run, resumed = train(cut)
    assert resumed["resumed_from"] and _losses(resumed) == _losses(facts)
    assert same_weights(run.model, whole.model)
    assert set(checkpoints.read_shapes(run.model)) == names


def test_other_weights_or_rows_than_those_it_began_with_are_refused(
    command: Callable[..., SftCommand], tiny_model: Path, tmp_path: Path
) -> None:
    base = tmp_path / "base"
    shutil.copytree(tiny_model, base)
    config = command("moved", f"model.path={base}")
    run, _, _, prepared = begin(config)
    facts = {**prepared.facts, "model_revision": checkpoints.revision_of(str(base))}
    interrupt(config, step=5)
    stage.record(run, "sft", facts)
    with pytest.raises(TablemendError, match="another rows_hash"):
        stage.record(run, "sft", facts | {"rows_hash": "other"})
    with pytest.raises(TablemendError, match="another model_revision"):
        stage.record(run, "sft", facts | {"model_revision": "other"})  # of a name on the Hub
    weights = load_file(base / "model.safetensors")
    save_file({name: tensor + 1 for name, tensor in weights.items()}, base / "model.safetensors")
    with pytest.raises(TablemendError, match="another model_revision"):
        stage.begin(config, run, overwrite=False)
    assert stage.begin(config, run, overwrite=True)


def test_the_loss_is_trls_own(command: Callable[..., SftCommand]) -> None:
    _, trainer, _, _ = begin(command("loss"))
    batch = next(iter(trainer.get_train_dataloader()))
    trainer.model.train()
    ours = trainer.compute_loss(trainer.model, dict(batch))
    ours.backward()
    gradients = [weight.grad.clone() for weight in trainer.model.parameters()]
    trainer.model.zero_grad()
    theirs = SFTTrainer.compute_loss(trainer, trainer.model, dict(batch))
    theirs.backward()
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5)
    for mine, weight in zip(gradients, trainer.model.parameters(), strict=True):
        assert torch.allclose(mine, weight.grad, atol=1e-5)


def test_an_adapter_equals_its_merge(command: Callable[..., SftCommand]) -> None:
    merged, _ = train(command("merged", *LORA))
    adapter, facts = train(command("adapter", *LORA, "train.lora.save=adapter"))
    assert not list(merged.model.glob("adapter*"))
    compared = merged.recorded("sft")["merging"]
    assert 0 <= compared["max_logit_difference"] <= compared["tolerance"] < 1e-3
    assert (compared["prompts"], compared["same_next_token"]) == (2, 1)
    assert "merging" not in adapter.recorded("sft")
    assert not (adapter.model / "model.safetensors").exists()
    assert facts["answer"]
    base = checkpoints.load_model(command("x").model)
    attached = PeftModel.from_pretrained(base, str(adapter.model))
    whole = AutoModelForCausalLM.from_pretrained(merged.model)
    ids = torch.arange(5, 60)[None]
    with torch.no_grad():
        one, two = attached(ids).logits, whole(ids).logits
        plain = checkpoints.load_model(command("x").model)(ids).logits
    assert torch.allclose(one, two, atol=1e-4)
    assert not torch.allclose(plain, two, atol=1e-2)


def test_adapters_on_experts_train_and_are_merged(
    command: Callable[..., SftCommand], tiny_model: Path, tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    config = Qwen3MoeConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        moe_intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        num_experts=4,
        num_experts_per_tok=2,
        norm_topk_prob=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Qwen3MoeForCausalLM(config)
    base = tmp_path / "experts"
    model.save_pretrained(base)
    tokenizer.save_pretrained(base)
    lora = parse(SftCommand, ["recipe=qwen3.6-35b-a3b"]).train.lora
    assert lora is not None
    given = ("train.method=lora", f"train.lora={lora.model_dump_json()}", "train.epochs=1")
    tuning = command("moe", *given, f"model.path={base}", "train.learning_rate=1e-2")
    run, facts = train(tuning)
    assert _losses(facts)[-1] < _losses(facts)[0] and facts["answer"]
    compared = run.recorded("sft")["merging"]
    assert compared["max_logit_difference"] <= compared["tolerance"]
    before, after = (load_file(folder / "model.safetensors") for folder in (base, run.model))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert before.keys() == after.keys()
    kinds = {
        name.split(".", 3)[-1].replace("mlp.experts", "experts").removesuffix(".weight")
        for name in changed
    }
    assert {"experts.3.down_proj", "experts.0.gate_proj", "self_attn.q_proj"} <= kinds
    assert "mlp.gate" not in kinds  # the router


def _end_again(config: SftCommand, facts: dict[str, Any]) -> None:
    """As if it had been killed after its last checkpoint: the same model, and no step more."""
    run = Run.of(config)
    run.model.rename(run.path / "first")
    _, again = train(config)
    assert (again["steps"], again["tokens"]) == (facts["steps"], facts["tokens"])
    assert same_weights(run.model, run.path / "first")


def test_a_training_that_ends_within_a_pass_ends_once(command: Callable[..., SftCommand]) -> None:
    config = command("end", "train.epochs=null", "train.max_steps=4")
    _, facts = train(config)
    _end_again(config, facts)


@pytest.mark.parametrize("scheduler", ["constant", "linear", "cosine"])
def test_the_rate_rises_then_falls(scheduler: Any) -> None:
    train = Train(
        epochs=1, learning_rate=1, global_batch=1, micro_batch=1, scheduler=scheduler, warmup=0.1
    )
    curve = [rate_factor(step / 100, train) for step in range(101)]
    assert 0 < curve[0] < curve[5] < curve[10] == 1.0
    assert all(a >= b for a, b in pairwise(curve[10:]))
    assert curve[-1] == (1.0 if scheduler == "constant" else pytest.approx(0.0, abs=1e-9))


def test_a_full_disk_is_an_oserror(tmp_path: Path, command: Callable[..., SftCommand]) -> None:
    train = command("disk").train
    run = Run(tmp_path)
    with pytest.raises(OSError, match="No space left"), stage.refusals(train, run):
        raise SafetensorError("I/O error: No space left on device (os error 28)")
    with (
        pytest.raises(TablemendError, match=r"lower train\.micro_batch=4"),
        stage.refusals(train, run),
    ):
        raise torch.OutOfMemoryError
    with pytest.raises(RuntimeError, match="a defect"), stage.refusals(train, run):
        raise RuntimeError("a defect")


def test_a_merge_that_would_answer_otherwise_leaves_the_adapter(
    command: Callable[..., SftCommand],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with monkeypatch.context() as patch:
        spoil_merges(patch)
        run, _ = train(command("adapter", *LORA, "train.epochs=1"))
    assert "warning: merged weights would answer otherwise" in capsys.readouterr().out
    noted = run.recorded("sft")["merging"]
    assert noted["max_logit_difference"] > noted["tolerance"]
    assert checkpoints.is_complete(run.model) and (run.model / "adapter_config.json").is_file()
    assert not list(run.path.glob(".*partial")) and not (run.model / "model.safetensors").exists()
    done = checkpoint.merge_run(MergeCommand(run=str(run.path), prompts=1))  # as the line says
    assert done is not None and done.accepted


@pytest.mark.parametrize("method", [(), LORA])
def test_nothing_trained_stays_on_the_device(
    method: tuple[str, ...], command: Callable[..., SftCommand]
) -> None:
    """The saved model is loaded beside it."""
    config = command("run", "train.epochs=null", "train.max_steps=1", *method)
    run, trainer, _, _ = begin(config)
    stage.run_steps(trainer, config, run)
    inner = trainer.optimizer.optimizer
    alive = [weakref.ref(each) for each in (inner, *trainer.model.parameters())]
    alive += [weakref.ref(moments["exp_avg"]) for moments in inner.state.values()]
    del inner
    stage._release(trainer)
    assert len(alive) > 10 and not [ref for ref in alive if ref() is not None]
