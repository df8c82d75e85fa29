"""Fine-tuning: equal settings give equal trajectories, and what is saved works."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from peft import PeftModel, get_peft_model
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)
from trl import SFTTrainer

from tablemend.backends.precision import has_bfloat16
from tablemend.config import parse
from tablemend.datasets.tablehallu import small_world
from tablemend.errors import TablemendError
from tablemend.evaluation import results
from tablemend.recipe.experiment import SftCommand
from tablemend.recipe.training import Train
from tablemend.runs import Run, write_jsonl
from tablemend.script import run_script
from tablemend.training import checkpoints, models, run_folder, saving, sft, stage
from tablemend.training.arguments import sft_arguments
from tablemend.training.budget import Budget, rate_factor
from tablemend.training.memory import Planner
from tablemend.training.quiet import silence
from tablemend.training.start import start_facts
from tablemend.training.trainer import Trainer
from tests.support.files import file_size_limit
from tests.support.interruption import Interrupt, Stop
from tests.support.short_trainings import ROOT, launch, logged, same_weights, short, small_data

LORA = ("train.method=lora", "train.lora={r: 4, alpha: 8}", "train.learning_rate=1e-2")


@pytest.fixture
def command(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., SftCommand]:
    """The tiny recipe on the random model: 24 rows, 3 steps an epoch of 8 rows each."""
    monkeypatch.chdir(ROOT)

    def make(name: str, *overrides: str) -> SftCommand:
        given = ("model.dtype=float32", "train.epochs=2", "train.save_every=2", *overrides)
        return short(SftCommand, tiny_model, tmp_path / name, small_data(24), *given)

    return make


def _trainer(config: SftCommand) -> tuple[Run, Trainer, Any, Any]:
    run = Run.of(config)
    tokenizer = checkpoints.load_tokenizer(config.model)
    assert run_folder.begin(config, run, config.overwrite)
    prepared = sft.prepare(config, tokenizer)
    return run, sft.build_trainer(config, run, tokenizer, prepared), tokenizer, prepared


def _fine_tune(config: SftCommand) -> tuple[Run, dict[str, Any]]:
    run, trainer, tokenizer, prepared = _trainer(config)
    facts = {**prepared.facts, **start_facts(config), **stage.train(trainer, config, run)}
    prompts = [row.prompt for row in prepared.train.rows[:2]]
    facts["answer"] = saving.save(trainer, config, run, tokenizer, prompts, facts)
    return run, facts


def _losses(facts: dict[str, Any]) -> list[float]:
    return logged(facts, "loss")


def test_full_fine_tuning_learns_and_leaves_a_whole_checkpoint(
    command: Callable[..., SftCommand], tiny_model: Path
) -> None:
    run, facts = _fine_tune(command("full"))
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
    assert not run_folder.begin(command("full"), run, overwrite=False)
    assert run_folder.begin(command("full"), run, overwrite=True)
    assert not run.model.exists()


@pytest.mark.parametrize("device", ["cpu", "cuda", "mps", "xpu"])
def test_the_loss_for_cpus_is_taken_on_cpus_alone(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere rows are laid out for TRL's own."""
    monkeypatch.setattr(SFTTrainer, "compute_loss", lambda *_: "TRL's")
    ids = SimpleNamespace(device=torch.device(device), is_cuda=device == "cuda")
    trainer = object.__new__(Trainer)
    if device != "cpu":
        assert trainer.compute_loss(nn.Identity(), {"input_ids": ids}) == "TRL's"
    else:
        with pytest.raises(KeyError, match="labels"):
            trainer.compute_loss(nn.Identity(), {"input_ids": ids})


@pytest.mark.parametrize("method", [(), LORA], ids=["full", "lora"])
def test_a_resumed_training_equals_an_uninterrupted_one(
    method: tuple[str, ...],
    command: Callable[..., SftCommand],
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole, facts = _fine_tune(command("whole", *method))
    config = command("cut", *method)
    run, trainer, _, _ = _trainer(config)
    trainer.add_callback(Interrupt(5))
    with pytest.raises(Stop):
        stage.train(trainer, config, run)
    half = run.path / "sft" / "checkpoint-5"
    shutil.copytree(run.path / "sft" / "checkpoint-4", half)
    (half / "optimizer.pt").write_bytes(b"cut")
    capsys.readouterr()
    run, resumed = _fine_tune(config)
    shown = capsys.readouterr().out
    assert f"{half} is half-written" in shown
    assert f"resuming from {run.path}/sft/checkpoint-4" in shown
    assert _losses(resumed) == _losses(facts)
    assert resumed["tokens"] == facts["tokens"]
    assert same_weights(run.model, whole.model)


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
    whole, facts = _fine_tune(command("whole", f"model.path={folder}"))
    cut = command("cut", f"model.path={folder}")
    _, trainer, _, _ = _trainer(cut)
    trainer.add_callback(Interrupt(4))
    with pytest.raises(Stop):
        stage.train(trainer, cut, Run.of(cut))
    run, resumed = _fine_tune(cut)
    assert resumed["resumed_from"] and _losses(resumed) == _losses(facts)
    assert same_weights(run.model, whole.model)
    assert set(checkpoints.read_shapes(run.model)) == names


@pytest.mark.parametrize("micro", [1, 8])
def test_the_micro_batch_does_not_change_the_result(
    command: Callable[..., SftCommand], micro: int
) -> None:
    _, two = _fine_tune(command("two"))
    _, other = _fine_tune(command("other", f"train.micro_batch={micro}"))
    assert _losses(other) == pytest.approx(_losses(two), rel=2e-4)


def _launch(config: SftCommand, *options: str) -> subprocess.CompletedProcess[str]:
    return launch(config, *options, script="train/sft.py")


@pytest.mark.parametrize(
    "quiet",
    [
        pytest.param((), id="as-in-the-issue", marks=pytest.mark.slow),
        pytest.param(("--quiet",), id="quiet"),
    ],
)
def test_a_refusal_is_one_clear_line_through_the_launcher(
    quiet: tuple[str, ...], command: Callable[..., SftCommand], tmp_path: Path
) -> None:
    config = command("refused").model_copy(update={"overwrite": True})
    missing = config.model.model_copy(update={"path": str(tmp_path / "no-such-model")})
    done = _launch(config.model_copy(update={"model": missing}), *quiet)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert line == f"error: no model folder {missing.path}: set model.path to a checkpoint"
    assert done.returncode != 0
    # of its own CalledProcessError, accelerate shows the traceback unless it is quiet
    assert "CalledProcessError" in done.stderr or quiet
    assert not ("Traceback" in done.stderr and quiet)


@pytest.mark.slow
def test_the_command_line_trains_then_says_that_it_is_finished(
    command: Callable[..., SftCommand],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = command("line")
    done = _launch(config)
    assert done.returncode == 0, done.stderr
    run = Run.of(config)
    assert f"{run.model}: 6 steps" in done.stdout
    manifest = json.loads(run.manifest.read_text())["sft"]
    assert manifest["dropped"] == {} and manifest["rows"] == 24 and manifest["first_answer"]
    monkeypatch.setattr(sys, "argv", ["train/sft.py", f"recipe={run.path.with_suffix('.yaml')}"])
    main = runpy.run_path("train/sft.py")["main"]
    main()
    assert "finished: " in capsys.readouterr().out
    other = config.model_copy(update={"seed": 5})
    with pytest.raises(TablemendError, match="seed was 0, is 5"):
        run_folder.begin(other, run, overwrite=False)
    # A damaged model is made again from the last whole checkpoint.
    (run.model / "config.json").unlink()
    main()
    assert checkpoints.is_complete(run.model)


def test_settings_of_a_training_that_never_began_bind_nothing(
    command: Callable[..., SftCommand],
) -> None:
    short = _launch(command("early", "train.max_length=64"))
    assert short.returncode != 0 and "train.max_length" in short.stderr, short.stderr
    config = command("early")
    run = Run.of(config)
    assert "max_length: 64" in (run.path / "sft.yaml").read_text()
    assert run_folder.begin(config, run, overwrite=False)
    assert "max_length: 64" not in (run.path / "sft.yaml").read_text()


def test_other_weights_or_rows_than_those_it_began_with_are_refused(
    command: Callable[..., SftCommand], tiny_model: Path, tmp_path: Path
) -> None:
    base = tmp_path / "base"
    shutil.copytree(tiny_model, base)
    config = command("moved", f"model.path={base}")
    run, trainer, _, prepared = _trainer(config)
    facts = {**prepared.facts, **start_facts(config)}
    run_folder.record(run, "sft", facts)
    trainer.add_callback(Interrupt(5))
    with pytest.raises(Stop):
        stage.train(trainer, config, run)
    run_folder.record(run, "sft", facts)
    with pytest.raises(TablemendError, match=r"another rows_hash: data\.train has changed"):
        run_folder.record(run, "sft", facts | {"rows_hash": "other"})
    with pytest.raises(TablemendError, match=r"another model_revision: model\.path has changed"):
        run_folder.record(run, "sft", facts | {"model_revision": "other"})  # of a name on the Hub
    weights = load_file(base / "model.safetensors")
    save_file({name: tensor + 1 for name, tensor in weights.items()}, base / "model.safetensors")
    with pytest.raises(TablemendError, match=r"another model_revision: .*/base has changed"):
        run_folder.begin(config, run, overwrite=False)
    assert run_folder.begin(config, run, overwrite=True)


def test_full_training_in_16_bits_warns(
    command: Callable[..., SftCommand], capsys: pytest.CaptureFixture[str]
) -> None:
    half = ("model.dtype=bfloat16",)
    models.trainable_model(command("exact"))
    models.trainable_model(command("adapters", *half, *LORA))
    assert "warning" not in capsys.readouterr().out
    models.trainable_model(command("rounded", *half))
    assert "warning: all weights are trained in torch.bfloat16" in capsys.readouterr().out


def test_the_loss_is_trls_own(command: Callable[..., SftCommand]) -> None:
    _, trainer, _, _ = _trainer(command("loss"))
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


@pytest.mark.skipif(not has_bfloat16("cpu"), reason="this CPU emulates bfloat16: too slow")
def test_bfloat16_keeps_the_loss_and_leaves_no_trace_of_its_kernel(
    command: Callable[..., SftCommand],
) -> None:
    _, exact = _fine_tune(command("float32"))
    run, rough = _fine_tune(command("bfloat16", "train.precision=bfloat16"))
    assert _losses(rough) == pytest.approx(_losses(exact), rel=2e-2)
    assert "short_causal" not in (run.model / "config.json").read_text()
    assert all(
        tensor.dtype == torch.float32
        for tensor in load_file(run.model / "model.safetensors").values()
    )


def test_prompts_bear_no_loss(command: Callable[..., SftCommand]) -> None:
    _, trainer, _, prepared = _trainer(command("mask"))
    batch = next(iter(trainer.get_train_dataloader()))
    supervised = int((batch["labels"] != -100).sum())
    by_ids = {tuple(row.input_ids): len(row.target) for row in prepared.train.rows}
    ids = [
        row[mask.bool()].tolist()
        for row, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True)
    ]
    assert supervised == sum(by_ids[tuple(row)] for row in ids)


def test_an_adapter_equals_its_merge(command: Callable[..., SftCommand]) -> None:
    merged, _ = _fine_tune(command("merged", *LORA))
    adapter, facts = _fine_tune(command("adapter", *LORA, "train.lora.save=adapter"))
    assert not list(merged.model.glob("adapter*"))
    compared = merged.recorded("sft")["merging"]
    assert 0 <= compared["max_logit_difference"] <= compared["tolerance"] == 1e-3
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
    lora = parse(SftCommand, ["recipe=qwen3-30b-a3b"]).train.lora
    assert lora is not None
    given = ("train.method=lora", f"train.lora={lora.model_dump_json()}", "train.epochs=1")
    tuning = command("moe", *given, f"model.path={base}", "train.learning_rate=1e-2")
    counts = Planner(config).counts(tuning)
    run, facts = _fine_tune(tuning)
    assert _losses(facts)[-1] < _losses(facts)[0] and facts["answer"]
    compared = run.recorded("sft")["merging"]
    assert compared["max_logit_difference"] <= compared["tolerance"]
    before, after = (load_file(folder / "model.safetensors") for folder in (base, run.model))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert before.keys() == after.keys()
    assert {"experts.3.down_proj", "experts.0.gate_proj", "self_attn.q_proj", "mlp.gate"} <= {
        name.split(".", 3)[-1].replace("mlp.experts", "experts").removesuffix(".weight")
        for name in changed
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        silence()  # PEFT says that experts have no rank of their own, and they have
        adapters = get_peft_model(model, models.lora_config(lora, model))
    assert counts.total == sum(weight.numel() for weight in adapters.parameters())
    assert counts.trained == sum(w.numel() for w in adapters.parameters() if w.requires_grad)


def test_the_time_budget_ends_the_training_and_says_so(
    command: Callable[..., SftCommand], capsys: pytest.CaptureFixture[str]
) -> None:
    config = command("budget", "train.epochs=null", "train.max_steps=9", "train.minutes=1e-5")
    run, facts = _fine_tune(config)
    early = f"train.minutes=1e-05 ended the training after {facts['steps']} of 9 steps (11%)"
    assert (facts["steps"], facts["planned_steps"], facts["ended_early"]) == (1, 9, early)
    assert run.recorded("sft")["ended_early"] == early
    stage.report(run, facts)
    assert f"warning: {early}\n" in capsys.readouterr().out
    assert list(results._warnings(config, run)) == [f"sft: {early}"]
    assert checkpoints.last_complete(run.path / "sft") == (
        run.path / "sft" / f"checkpoint-{facts['steps']}"
    )
    _end_again(config, facts)


def _end_again(config: SftCommand, facts: dict[str, Any]) -> None:
    """As if it had been killed after its last checkpoint: the same model, and no step more."""
    run = Run.of(config)
    run.model.rename(run.path / "first")
    _, again = _fine_tune(config)
    assert (again["steps"], again["tokens"]) == (facts["steps"], facts["tokens"])
    assert same_weights(run.model, run.path / "first")


def test_a_training_that_ends_within_a_pass_ends_once(command: Callable[..., SftCommand]) -> None:
    config = command("end", "train.epochs=null", "train.max_steps=4")
    _, facts = _fine_tune(config)
    _end_again(config, facts)


def test_the_budget_counts_over_interruptions() -> None:
    from transformers import TrainerControl, TrainerState

    budget = Budget(minutes=1)
    state = TrainerState(global_step=7)
    state.stateful_callbacks = {"Budget": {"args": {}, "attributes": {"elapsed": 59.99999}}}
    control = TrainerControl()
    arguments: Any = type("Arguments", (), {"world_size": 1})()
    budget.on_train_begin(arguments, state, control)
    assert budget.progress(1, 100) > 0.99
    while not control.should_training_stop:
        budget.on_step_end(arguments, state, control)
    assert budget.elapsed >= 60 and control.should_save
    assert budget.ended_early(10, 100) and budget.ended_early(100, 100) is None
    with pytest.raises(TablemendError, match=r"9 of 100 steps \(9%\): too few"):
        budget.ended_early(9, 100)


@pytest.mark.parametrize("scheduler", ["constant", "linear", "cosine"])
def test_the_rate_rises_then_falls(scheduler: Any) -> None:
    train = Train(
        epochs=1, learning_rate=1, global_batch=1, micro_batch=1, scheduler=scheduler, warmup=0.1
    )
    curve = [rate_factor(step / 100, train) for step in range(101)]
    assert 0 < curve[0] < curve[5] < curve[10] == 1.0
    assert all(a >= b for a, b in pairwise(curve[10:]))
    assert curve[-1] == (1.0 if scheduler == "constant" else pytest.approx(0.0, abs=1e-9))


def test_a_batch_that_does_not_divide_is_refused(command: Callable[..., SftCommand]) -> None:
    config = command("batch")
    with pytest.raises(TablemendError, match=r"nearest that does is train\.global_batch=12"):
        sft_arguments(config, "nowhere", world_size=3, validate=False)


def test_a_value_that_trl_refuses_is_named(command: Callable[..., SftCommand]) -> None:
    config = command("trl", "train.trl.hub_strategy=nothing")
    with pytest.raises(TablemendError, match=r"train\.trl: .*nothing"):
        sft_arguments(config, "nowhere", world_size=1, validate=False)


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


def test_a_full_disk_ends_the_fine_tuning_and_room_continues_it(
    command: Callable[..., SftCommand], capsys: pytest.CaptureFixture[str]
) -> None:
    config = command("full-disk", "train.save_every=1")
    run, trainer, _, _ = _trainer(config)
    whole = trainer.save_model

    def main() -> None:
        stage.train(trainer, config, run)

    def fill_the_disk(*arguments: Any, **options: Any) -> None:
        if trainer.state.global_step < 3:
            whole(*arguments, **options)
            return
        with file_size_limit(20_000):
            whole(*arguments, **options)

    trainer.save_model = fill_the_disk
    with pytest.raises(SystemExit) as caught:
        run_script(main)
    assert caught.value.code == 1
    shown = capsys.readouterr().err.splitlines()
    assert [line for line in shown if line.startswith("error: the file may not grow any more")]
    assert checkpoints.last_complete(run.path / "sft") == run.path / "sft" / "checkpoint-2"
    run, facts = _fine_tune(config)
    assert facts["steps"] == 6
    assert facts["resumed_from"] == str(run.path / "sft" / "checkpoint-2")
    assert checkpoints.is_complete(run.model)


def test_tables_that_are_also_trained_on_are_refused(
    command: Callable[..., SftCommand], tmp_path: Path
) -> None:
    examples = list(small_world.examples(seed=1, n=6))
    write_jsonl(tmp_path / "train.jsonl", [example.to_json() for example in examples])
    write_jsonl(tmp_path / "test.jsonl", [example.to_json() for example in examples[5:]])
    source = [
        f"data.{part}={{source: {tmp_path}, split: {part}, n: null, seed: 0}}"
        for part in ("train", "test")
    ]
    config = command("shared", *source)
    with pytest.raises(TablemendError, match=r"data\.test and data\.train share 1 tables"):
        sft.prepare(config, checkpoints.load_tokenizer(config.model))


def test_data_that_is_not_here_is_refused_before_a_model_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a model was looked for")

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(checkpoints, "load_tokenizer", refuse)
    tokens = ["recipe=qwen3-8b", f"data.train.source={tmp_path / 'nowhere'}"]
    monkeypatch.setattr(sys, "argv", ["sft.py", *tokens])
    with pytest.raises(SystemExit) as caught:
        runpy.run_path("train/sft.py", run_name="__main__")
    assert caught.value.code == 2
    assert f"no file or folder {tmp_path / 'nowhere'}" in capsys.readouterr().err
