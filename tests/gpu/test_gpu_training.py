"""The benchmark of fine-tuning on a GPU: what it counts, and what it writes down, on a CPU."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoTokenizer

import gpu_training
import random_training
from tablemend.config import parse
from tablemend.recipe.experiment import Experiment
from tablemend.runs import read_jsonl
from tablemend.training.data import IGNORED
from tablemend.training.sft import Trainer

ROOT = Path(__file__).parents[2]
LORA = ("train.method=lora", "train.lora={r: 4, alpha: 8}")
Make = Callable[..., Trainer]
KERNELS = ("sdpa", "eager", "flex_attention")


@pytest.fixture
def settings(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """The benchmark on the random model, a step after a step, in this process."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    def make(*only: str, overrides: tuple[str, ...] = (), **fields: Any) -> Any:
        return gpu_training.Benchmark(
            recipe="tiny",
            overrides=(f"model.path={tiny_model}", *overrides),
            length=64,
            rows=4,
            only=only,
            warm=1,
            seconds=1e-6,
            out=tmp_path / "lines.jsonl",
            **fields,
        )

    return make


@pytest.fixture
def trainer_of(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.chdir(ROOT)

    def make(*overrides: str, lengths: list[int]) -> Trainer:
        small = [f"model.path={tiny_model}", "train.global_batch=2", "train.micro_batch=2"]
        plain = ["train.precision=float32", "train.max_length=64"]
        config = parse(Experiment, ["recipe=tiny", *small, *plain, *overrides])
        tokenizer = AutoTokenizer.from_pretrained(tiny_model)
        scored = [length // 2 for length in lengths]
        return random_training.random_trainer(config, tokenizer, lengths, scored, str(tmp_path))

    return make


def test_tries_are_measured_and_written_down(settings: Any, tiny_model: Path) -> None:
    names = ["full", "lora-mixed", "lora-trl"]
    config = settings(*names)
    tries = gpu_training.chosen(config, on_gpu=False)
    lines = [gpu_training.make(config, name, each) for name, each in tries.items()]
    assert lines == list(read_jsonl(config.out))
    assert [line["try"] for line in lines] == names
    assert {line["result"] for line in lines} == {"measured"}
    whole, mixed, _ = lines
    assert whole["tokens"] == whole["steps"] * 4 * 64
    assert mixed["row_lengths"] == [8, 64] and mixed["tokens"] < mixed["steps"] * 4 * 64
    for line in lines:
        assert line["tokens_per_second"] == pytest.approx(
            line["tokens"] / line["seconds"], rel=0.05
        )
        assert line["tflops"] > 0 and line["of_matmul"] > 0
        assert line["mfu"] is None and line["peak_gib"] is None  # nobody measured a GPU
    weights = (tiny_model / "model.safetensors").stat().st_size / 2**30
    assert whole["planned_gib"] > 4 * weights  # gradients and AdamW's two moments
    assert mixed["planned_gib"] > weights
    rows = gpu_training.table(lines).splitlines()
    assert rows[2].startswith("| full | measured | ") and rows[2].endswith(" |")
    assert {row.count("|") for row in rows} == {len(gpu_training.COLUMNS) + 1}


def test_running_out_of_memory_is_a_result(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(random_training, "random_trainer", full)
    monkeypatch.setattr(gpu_training, "peak", lambda: 77.5)
    line = gpu_training.make(settings(), "full", gpu_training.TRIES["full"])
    assert (line["result"], line["peak_gib"], line["method"]) == ("out of memory", 77.5, "full")
    assert "| full | out of memory | - | - | - | 77.5 | 0.0" in gpu_training.table([line])


def _counted(trainer: Trainer) -> int:
    batch = next(iter(trainer.get_train_dataloader()))
    with FlopCounterMode(display=False) as counter:
        trainer.model.train()
        # without keeping columns, so that the head sees every token
        trainer.model(input_ids=batch["input_ids"], use_cache=False).logits.sum().backward()
    return counter.get_total_flops()


def test_the_formula_counts_what_torch_counts(trainer_of: Make) -> None:
    length, rows = 64, 2
    full = trainer_of("model.attn=eager", lengths=[length] * 4)
    work = random_training.Work.of(full.model)
    # eager attention computes both halves of the causal square
    once = work.flops([length] * rows, rows * length)
    both = 2 * once - replace(work, attention={}).flops([length] * rows, rows * length)
    assert _counted(full) == pytest.approx(both, rel=0.02)
    adapters = trainer_of(*LORA, "model.attn=eager", lengths=[length] * 4)
    frozen = random_training.Work.of(adapters.model)
    assert (work.passes, frozen.passes) == (6, 4)
    assert (work.body, work.head, work.attention) == (frozen.body, frozen.head, frozen.attention)


@pytest.fixture
def packed(trainer_of: Make) -> Iterator[Callable[[str], Trainer]]:
    """A trainer on packed rows; flex attention is not compiled, which takes minutes on a CPU."""

    def make(kernel: str) -> Trainer:
        drawn = random.Random(0)
        lengths = [drawn.randint(16, 24) for _ in range(12)]
        packing = (f"model.attn={kernel}", "train.packing=true", "train.precision=bfloat16")
        torch.compiler.set_stance("force_eager")
        return trainer_of(*LORA, *packing, lengths=lengths)

    yield make
    torch.compiler.set_stance("default")


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_packed_example_is_trained_as_if_alone(
    kernel: str, packed: Callable[[str], Trainer]
) -> None:
    trainer = packed(kernel)
    batch = next(iter(trainer.get_train_dataloader()))
    ids, labels, places = (batch[name] for name in ("input_ids", "labels", "position_ids"))
    assert batch.keys().isdisjoint({"attention_mask"})
    first, *_, last = (places[0] == 0).nonzero().flatten()[1:].tolist()
    others, watched = ids.clone(), torch.full_like(labels, IGNORED)
    others[0, :first] = ids[0, :first].flip(0)
    watched[0, last:] = labels[0, last:]

    @torch.no_grad()
    def loss(**changed: torch.Tensor) -> float:
        return trainer.compute_loss(trainer.model, {**batch, "labels": watched, **changed}).item()

    assert loss(input_ids=others) == loss()
    unpacked = torch.arange(ids.shape[1]).expand_as(ids)
    assert loss(input_ids=others, position_ids=unpacked) != loss(position_ids=unpacked)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("keeps_places", [True, False])
def test_what_crosses_packed_examples_is_measured(
    keeps_places: bool,
    kernel: str,
    packed: Callable[[str], Trainer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer = packed(kernel)
    if not keeps_places:
        decoder: Any = trainer.model.get_base_model().get_decoder()
        forward = decoder.forward

        def forgetful(position_ids: Any = None, **options: Any) -> Any:
            return forward(**options)

        monkeypatch.setattr(decoder, "forward", forgetful)
    felt = random_training.crossing(trainer)
    assert felt is not None
    assert felt == 0 if keeps_places else felt > 1e-3
