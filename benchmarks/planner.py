"""The planner's memory against what a training really takes, for many batches and methods.

    python benchmarks/planner.py recipe=tiny
    python benchmarks/planner.py recipe=qwen3-8b "lengths=[2048,4096]" "rows=[1]"    # on a GPU

The model has random weights of model.path's architecture, so nothing is fetched. Three steps of
our trainer run on rows of one length. On a CPU the peak is what torch's allocator handed out,
added up from the profiler's events; on a GPU it is torch.cuda.max_memory_allocated.
"""

from __future__ import annotations

import gc
import itertools
import os
import platform
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

from pydantic import Field

from tablemend.backends.checkpoints import local_folder
from tablemend.config import Experiment, Lora, load
from tablemend.script import run_script

METHODS = ("full", "lora")


class Benchmark(Experiment):
    """The recipe, and what to measure of it."""

    rows: tuple[int, ...] = Field(default=(2, 8), min_length=1)
    """Rows a pass."""
    lengths: tuple[int, ...] = Field(default=(256, 1024), min_length=1)
    """Tokens a row."""
    supervised: float = Field(default=0.25, gt=0, lt=1)
    """Share of a row that bears loss."""


def main() -> None:
    """One line a case, then the largest error."""
    config = load(Benchmark)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    warnings.filterwarnings("ignore", category=FutureWarning)
    import torch

    from tablemend.training import stage

    stage.set_up()
    on_gpu = torch.cuda.is_available()
    where = torch.cuda.get_device_name() if on_gpu else platform.machine()
    print(f"{config.model.path}, {config.train.precision}, {where}; MiB at the peak")
    print("method  checkpointing  passes  rows  tokens   planned  measured   error")
    errors = []
    for method, checkpointing, passes, rows, length in itertools.product(
        METHODS, (False, True), (1, 2), config.rows, config.lengths
    ):
        case = _case(config, method, checkpointing, passes, rows, length)
        planned, measured = compare(case, round(length * config.supervised), on_gpu)
        errors.append(planned / measured - 1)
        print(
            f"{method:<6}  {checkpointing!s:<13}  {passes:>6}  {rows:>4}  {length:>6}  "
            f"{planned / 2**20:8.1f}  {measured / 2**20:8.1f}  {errors[-1]:+6.1%}",
            flush=True,
        )
    print(
        f"{len(errors)} cases: error {min(errors):+.1%} to {max(errors):+.1%}, "
        f"mean size {sum(map(abs, errors)) / len(errors):.1%}"
    )


def _case(
    config: Benchmark, method: str, checkpointing: bool, passes: int, rows: int, length: int
) -> Benchmark:
    """The recipe with one batch and one method."""
    update = {
        "method": method,
        "lora": (config.train.lora or Lora()) if method == "lora" else None,
        "gradient_checkpointing": checkpointing,
        "micro_batch": rows,
        "global_batch": rows * passes,
        "max_length": length,
        "max_steps": 3,
        "epochs": None,
    }
    return config.model_copy(update={"train": config.train.model_copy(update=update)})


def compare(config: Benchmark, supervised: int, on_gpu: bool) -> tuple[int, int]:
    """Bytes planned and measured."""
    from tablemend.training import planner, shapes

    plans = planner.Plans(shapes.config_of(config.model.path))
    single = planner.STRATEGIES[0]
    planned = plans.memory(config, single, on_gpu=on_gpu, supervised=supervised).total
    weights = plans.counts(config).total_bytes
    with tempfile.TemporaryDirectory() as folder:
        trainer = build(config, supervised, folder)
        measured = peak(trainer.train, on_gpu) + (0 if on_gpu else weights)
    del trainer
    gc.collect()
    return planned, measured


def build(config: Benchmark, supervised: int, folder: str) -> Any:
    """Our trainer, on random weights and random rows."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback

    from tablemend.training import models, planner, sft, shapes
    from tablemend.training.arguments import sft_arguments
    from tablemend.training.budget import Budget
    from tablemend.training.data import Row
    from tablemend.training.trainer import Trainer

    architecture = shapes.config_of(config.model.path)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(
            architecture,
            dtype=planner.weight_type(config, architecture),
            attn_implementation=config.model.attn,
        )
    models.freeze_unused(model)
    length, train = config.longest_row, config.train
    prompt = [(at % 97) + 3 for at in range(length - supervised)]
    row = Row(tuple(prompt), tuple(prompt[:1] * supervised))
    arguments = sft_arguments(config, folder, 1, validate=False)
    arguments.save_strategy, arguments.logging_strategy, arguments.disable_tqdm = "no", "no", True
    fills = local_folder(config.model.path) or "checkpoints/tiny-base"  # its tokenizer pads alone
    trainer = Trainer(
        recipe=train,
        budget=Budget(),
        model=model,
        args=arguments,
        train_dataset=sft.as_dataset([row] * train.global_batch * 3),
        processing_class=AutoTokenizer.from_pretrained(fills),
        peft_config=models.lora_config(train.lora, model) if train.lora else None,
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def peak(run: Callable[[], object], on_gpu: bool) -> int:
    """The most bytes while something runs: all of them on a GPU, those it adds on a CPU."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    gc.collect()
    if on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        run()
        return torch.cuda.max_memory_allocated()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    events = [
        each for each in profiler.profiler.kineto_results.events() if each.name() == "[memory]"
    ]
    held = most = 0
    for event in sorted(events, key=lambda each: each.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


if __name__ == "__main__":
    run_script(main)
