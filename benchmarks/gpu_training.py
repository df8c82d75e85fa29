"""Speed and memory of supervised fine-tuning on one GPU, with random weights: what pays.

    python benchmarks/gpu_training.py                        # Qwen3-8B's shape, rows of 4096 tokens
    python benchmarks/gpu_training.py only="[lora, lora-compile]" seconds=60
    python benchmarks/gpu_training.py tries="{mine: {overrides: [train.micro_batch=2]}}"

Nothing is fetched: weights have the shape of the recipe's model, rows are random ids. A try is
the recipe with overrides, in a process of its own, and one JSON line in `out`; what pays can be
written into a recipe as it stands. Padding is not counted as tokens. TFLOP/s are those of the
model (random_training.py names the formula); MFU is their share of the data sheet's
dense bfloat16 rate, where a try computes in bfloat16, `of_matmul` of a matrix product of the same
type measured beside it. The planner's estimate stands beside the peak. lora-trl and
lora-trl-packed are TRL's own trainer on the rows of lora-mixed and lora-packed, with its grouping
by length and its packing. Without a GPU the tiny recipe runs a few of the tries.
Known on one H100: 12,473 tokens/s (Llama-3-8B, LoRA, 402 TFLOP/s) and 14,110 (Qwen2.5-7B, 423):
NVIDIA NeMo AutoModel.
"""

from __future__ import annotations

import os
import platform
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from tablemend.config import Section, load, parse
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Experiment
from tablemend.runs import read_jsonl, surroundings, write_jsonl
from tablemend.script import run_script

TOKENIZER = "checkpoints/tiny-base"  # pads, and no more
ADAPTERS = "train.lora={r: 32, alpha: 64, dropout: 0, target_modules: all-linear, save: merged}"
LORA = ("train.method=lora", ADAPTERS)
FULL = ("train.method=full", "train.lora=null")
CHECKPOINTING = "train.gradient_checkpointing=true"
WITHOUT = "train.gradient_checkpointing=false"
FLASH = "model.attn=flash_attention_2"
PACKING = "train.packing=true"
MIXED = 1 / 8
FIELDS = {
    "train.max_length": "length",
    "train.global_batch": "rows",
    "train.epochs": "seconds",
    "train.max_steps": "seconds",
}
"""Keys of a recipe that a field of the benchmark sets."""
COLUMNS = ("try", "result", "tokens/s", "TFLOP/s", "MFU", "peak GiB", "planned GiB")


class Try(Section):
    """One way of training."""

    overrides: tuple[str, ...] = LORA
    """Of the recipe."""
    shortest: float = Field(default=1.0, gt=0, le=1)
    """Row lengths are drawn evenly from this share of `length` to `length`."""
    plain: bool = False
    """TRL's own trainer instead of ours."""
    adapters: Literal["float32", "bfloat16"] = "float32"
    """Type of the adapters; PEFT's default is float32."""
    chunk: int | None = Field(default=None, ge=1)
    """Words that TRL's fused head scores at a time, where not TRL's own number."""


TRIES = {
    "lora": Try(overrides=(*LORA, WITHOUT)),
    "lora-checkpointing": Try(overrides=(*LORA, CHECKPOINTING)),
    "lora-batch-2": Try(overrides=(*LORA, WITHOUT, "train.micro_batch=2")),
    "lora-batch-4": Try(overrides=(*LORA, CHECKPOINTING, "train.micro_batch=4")),
    "lora-dropout": Try(overrides=(*LORA, "train.lora.dropout=0.05")),
    "lora-bfloat16": Try(overrides=(*LORA, "train.precision=float32"), adapters="bfloat16"),
    "lora-compile": Try(overrides=(*LORA, CHECKPOINTING, "train.compile=true")),
    "lora-flash": Try(overrides=(*LORA, FLASH)),
    "lora-whole-head": Try(chunk=1 << 20),
    "lora-small-chunks": Try(chunk=4096),
    "lora-mixed": Try(overrides=(*LORA, "train.micro_batch=4"), shortest=MIXED),
    "lora-packed": Try(overrides=(*LORA, FLASH, PACKING), shortest=MIXED),
    "lora-packed-flex": Try(
        overrides=(*LORA, "model.attn=flex_attention", PACKING), shortest=MIXED
    ),
    "lora-packed-sdpa": Try(overrides=(*LORA, PACKING), shortest=MIXED),
    "lora-trl": Try(overrides=(*LORA, "train.micro_batch=4"), shortest=MIXED, plain=True),
    "lora-trl-packed": Try(overrides=(*LORA, FLASH, PACKING), shortest=MIXED, plain=True),
    "full": Try(overrides=(*FULL, CHECKPOINTING)),
    "full-float32": Try(overrides=(*FULL, CHECKPOINTING, "model.dtype=float32")),
}
"""lora-bfloat16 computes in the type of its weights, without autocast."""
ANYWHERE = ("lora", "lora-checkpointing", "lora-mixed", "lora-trl", "full")
"""Tries that say something without a GPU too."""


class Benchmark(Section):
    """What to measure."""

    recipe: str | None = None
    """Recipe whose model and settings are used; null: qwen3-8b, without a GPU tiny."""
    overrides: tuple[str, ...] = ()
    """Of the recipe, for all tries; they stand above those of a try."""
    length: int = Field(default=4096, ge=32)
    """Tokens of the longest row; at most the recipe's context_length."""
    rows: int = Field(default=8, ge=1)
    """Rows an optimizer step."""
    scored: float = Field(default=1.0, gt=0, le=1)
    """Share of a row that bears loss; its first token never does."""
    tries: dict[str, Try] | None = None
    """Ways of training by name, instead of those in the script."""
    only: tuple[str, ...] | None = None
    """Names of the tries to make; all of them where it is null."""
    warm: int = Field(default=3, ge=1)
    """First steps, which are not timed."""
    seconds: float = Field(default=30, gt=0)
    """Timed steps end after so many."""
    minutes: float = Field(default=5, gt=0)
    """A try that takes longer, its start included, is ended, and its line says so."""
    out: Path = Path("runs/gpu-training.jsonl")
    """File that the lines are appended to."""
    alone: bool = False
    """Make the tries in this process, without `minutes`; the next one keeps what one patches."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """An override of what the benchmark has a field for."""
        for override in self.overrides:
            if field := FIELDS.get(override.partition("=")[0]):
                yield "overrides", f"{override}: set {field}"


def main() -> None:
    """Every try in turn, then the table; fails where none was measured."""
    config = load(Benchmark)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import torch

    on_gpu = torch.cuda.is_available()
    tries = chosen(config, on_gpu)
    for settings in tries.values():
        recipe_of(config, settings)  # a wrong one is refused before anything is started
    lines = []
    for name, settings in tries.items():
        line = make(config, name, settings) if config.alone else apart(config, name)
        why = f": {line['why']}" if "why" in line else ""
        print(f"{name}: {line['result']}{why}", flush=True)
        lines.append(line)
    print(table(lines))
    if not on_gpu:
        print("no GPU here: these are figures of a CPU, those of a GPU are missing")
    if not any(line["result"] == "measured" for line in lines):
        raise SystemExit("nothing was measured")


def chosen(config: Benchmark, on_gpu: bool) -> dict[str, Try]:
    """The tries to make, in their order.

    Raises:
        TablemendError: a name that no try has.
    """
    known = TRIES if config.tries is None else config.tries
    names = config.only
    if names is None:
        names = tuple(known) if on_gpu or config.tries is not None else ANYWHERE
    wrong = sorted(set(names) - set(known))
    if wrong:
        raise TablemendError(f"only: no try {wrong[0]}; there are {', '.join(known)}")
    return {name: known[name] for name in names}


def apart(config: Benchmark, name: str) -> dict[str, Any]:
    """One try in a process of its own; its line, also where the process wrote none."""
    before = len(lines_of(config.out))
    command = [sys.executable, __file__, *sys.argv[1:], f"only=[{name}]", "alone=true"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 * config.minutes)
        why = (done.stderr.strip().splitlines() or ["no word"])[-1]
        failed = {"result": "failed", "why": f"status {done.returncode}: {why}"}
    except subprocess.TimeoutExpired:
        failed = {"result": "over the time", "why": f"more than {config.minutes:g} minutes"}
    written = lines_of(config.out)[before:]
    return written[0] if written else record(config, name, failed)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Lines written so far."""
    return list(read_jsonl(path)) if path.is_file() else []


def record(config: Benchmark, name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Append a line."""
    line = {"try": name, **facts, "surroundings": surroundings()}
    write_jsonl(config.out, [*lines_of(config.out), line])
    return line


def recipe_of(config: Benchmark, settings: Try) -> Experiment:
    """The recipe with a try's overrides and the benchmark's rows.

    Raises:
        ConfigError: no such recipe, or overrides that are wrong.
    """
    import torch

    name = config.recipe or ("qwen3-8b" if torch.cuda.is_available() else "tiny")
    own = ["train.micro_batch=1", f"train.global_batch={config.rows}"]
    own += ["train.epochs=null", "train.max_steps=1000000"]
    read = parse(Experiment, [f"recipe={name}", *own, *settings.overrides, *config.overrides])
    length = min(config.length, read.model.context_length)
    return read.model_copy(update={"train": read.train.model_copy(update={"max_length": length})})


def make(config: Benchmark, name: str, settings: Try) -> dict[str, Any]:
    """One try; running out of memory is a result, and so is what this machine lacks."""
    import torch

    facts: dict[str, Any] = {}
    try:
        for more in steps_of(config, settings):
            facts |= more
    except torch.OutOfMemoryError:
        facts |= {"result": "out of memory", "peak_gib": peak()}
    except (TablemendError, ImportError) as error:
        facts |= {"result": "refused", "why": str(error)}
    return record(config, name, facts)


def steps_of(config: Benchmark, settings: Try) -> Iterator[dict[str, Any]]:
    """What becomes known of a try, as it becomes known: plan, model, measurement."""
    import torch
    from transformers import AutoTokenizer

    import random_training
    from tablemend.training import architectures, memory, models, stage

    recipe = recipe_of(config, settings)
    on_gpu = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if on_gpu else platform.machine()
    yield {"device": device, "settings": settings.model_dump(mode="json"), "result": "failed"}
    recipe = stage.set_up(recipe)
    models.refuse_kernel(recipe.model.attn)
    models.check_method(recipe)
    drawn = random.Random(recipe.seed)
    longest = recipe.longest_row
    shortest = max(2, round(settings.shortest * longest))
    lengths = [drawn.randint(shortest, longest) for _ in range(config.rows * 32)]
    scored = [min(each - 1, max(1, round(each * config.scored))) for each in lengths]
    shape = architectures.Shape(architectures.config_of(recipe.model.path))
    most = min(longest - 1, max(1, round(longest * config.scored)))
    planned = memory.Planner(recipe, shape, on_gpu).memory(memory.STRATEGIES[0], most).total
    yield {
        "model": recipe.model.path,
        "method": recipe.train.method,
        "row_lengths": [min(lengths), longest],
        "planned_gib": float(f"{planned / 2**30:.3g}"),
    }
    with tempfile.TemporaryDirectory() as folder, chunks(settings.chunk):
        tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
        trainer = random_training.random_trainer(
            recipe, tokenizer, lengths, scored, folder, plain=settings.plain
        )
        if settings.adapters == "bfloat16":
            for weight in trainer.model.parameters():
                if weight.requires_grad:
                    weight.data = weight.data.to(torch.bfloat16)
        work = random_training.Work.of(trainer.model)
        if recipe.train.packing:
            yield {"crossing": random_training.crossing(trainer)}
        clock = random_training.Clock(config.warm, config.seconds)
        trainer.add_callback(clock)
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        trainer.train()
        computes = torch.bfloat16 if trainer.args.bf16 else trainer.model.dtype
    tokens = clock.tokens
    passes = tokens / sum(lengths)
    rate = work.flops(lengths, sum(scored)) * passes / clock.seconds / 1e12
    sheet = next(
        (most for part, most in random_training.DATA_SHEET.items() if part in device), None
    )
    yield {
        "result": "measured",
        "steps": clock.steps,
        "tokens": tokens,
        "seconds": round(clock.seconds, 6),
        "tokens_per_second": round(tokens / clock.seconds, 1),
        "tflops": float(f"{rate:.4g}"),
        "formula": random_training.FORMULA,
        "computes_in": str(computes).removeprefix("torch."),
        "mfu": round(rate / sheet, 4) if sheet and computes == torch.bfloat16 else None,
        "of_matmul": round(rate / random_training.product_rate(computes), 4),
        "peak_gib": peak() if on_gpu else None,
    }


def peak() -> float:
    """GiB that torch's allocator held at most on the GPU."""
    import torch

    return round(torch.cuda.max_memory_allocated() / 2**30, 2)


@contextmanager
def chunks(words: int | None) -> Iterator[None]:
    """TRL's fused head with chunks of another size (trl 1.16 has no setting for it)."""
    from trl.trainer import utils

    known = utils._CHUNKED_LOGPROB_CHUNK_SIZE
    utils._CHUNKED_LOGPROB_CHUNK_SIZE = words or known
    try:
        yield
    finally:
        utils._CHUNKED_LOGPROB_CHUNK_SIZE = known


def table(lines: list[dict[str, Any]]) -> str:
    """The tries as Markdown."""
    keys = ("try", "result", "tokens_per_second", "tflops", "mfu", "peak_gib", "planned_gib")
    rows = [COLUMNS, ("---",) * len(COLUMNS)]
    rows += [
        tuple("-" if (cell := line.get(key)) is None else str(cell) for key in keys)
        for line in lines
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    run_script(main)
