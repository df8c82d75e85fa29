"""The planner's memory against what a training really takes, for many batches and methods.

    python benchmarks/planner.py recipe=tiny
    python benchmarks/planner.py recipe=tiny-dpo
    python benchmarks/planner.py recipe=tiny-grpo
    python benchmarks/planner.py recipe=qwen3-8b "lengths=[2048,4096]" "rows=[1]"    # on a GPU

The model has random weights of model.path's architecture (where that is not trained yet, of what
its recipe starts from), so nothing is fetched. Two steps of our trainer run, the second with the
optimizer's state. On a CPU the peak is what torch's allocator handed out, added up from the
profiler's events; on a GPU it is torch.cuda.max_memory_allocated.
"""

from __future__ import annotations

import gc
import itertools
import os
import platform
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import Field

from tablemend.backends.checkpoints import local_folder
from tablemend.config import load
from tablemend.config.load import kind_named
from tablemend.config.section import Section
from tablemend.recipe.experiment import DpoExperiment, Experiment, GrpoExperiment, TrainingRecipe
from tablemend.recipe.training import Lora
from tablemend.script import run_script

METHODS = ("full", "lora")
STEPS = 2


class Cases(Section):
    """What to measure of a recipe."""

    rows: tuple[int, ...] = Field(default=(1, 4, 16), min_length=1)
    """Rows a pass; pairs of a preference recipe."""
    lengths: tuple[int, ...] = Field(default=(128, 512), min_length=1)
    """Tokens a row."""
    passes: tuple[int, ...] = Field(default=(1, 2), min_length=1)
    """Passes a step."""
    supervised: float = Field(default=0.25, gt=0, lt=1)
    """Share of a row that bears loss, or is drawn."""


class Benchmark(Cases, Experiment):
    """A recipe of fine-tuning."""


class PreferenceBenchmark(Cases, DpoExperiment):
    """A recipe of preferences."""


class RewardBenchmark(Cases, GrpoExperiment):
    """A recipe of rewards."""


KINDS = {"experiment": Benchmark, "dpo": PreferenceBenchmark, "grpo": RewardBenchmark}


def main() -> None:
    """One line a case, then the largest error."""
    config = load(KINDS.get(kind_named(sys.argv[1:]) or "", Benchmark))
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    warnings.filterwarnings("ignore", category=FutureWarning)
    import torch

    from tablemend.training import architectures, stage

    config = stage.set_up(config)
    on_gpu = torch.cuda.is_available()
    where = torch.cuda.get_device_name() if on_gpu else platform.machine()
    path = architectures.start_of(config.model.path)
    config = config.model_copy(update={"model": config.model.model_copy(update={"path": path})})
    print(f"{config.kind}: {path}, {config.train.precision}, {where}; MiB at the peak")
    print("method  reference  checkpointing  passes  rows  tokens   planned  measured   error")
    errors = []
    for case in cases(config):
        planned, measured = compare(case, on_gpu)
        errors.append(planned / measured - 1)
        train = case.train
        print(
            f"{train.method:<6}  {reference_of(case):<9}  {train.gradient_checkpointing!s:<13}  "
            f"{train.global_batch // train.micro_batch:>6}  {train.micro_batch:>4}  "
            f"{case.longest_row:>6}  {planned / 2**20:8.1f}  {measured / 2**20:8.1f}  "
            f"{errors[-1]:+6.1%}",
            flush=True,
        )
    print(
        f"{len(errors)} cases: error {min(errors):+.1%} to {max(errors):+.1%}, "
        f"mean size {sum(map(abs, errors)) / len(errors):.1%}"
    )


def cases(config: Any) -> Iterator[Any]:
    """The recipe with each batch, method and reference."""
    for method, checkpointing, passes, rows, length in itertools.product(
        METHODS, (False, True), config.passes, config.rows, config.lengths
    ):
        case = case_of(config, method, checkpointing, passes, rows, length)
        if isinstance(case, DpoExperiment):
            for once in (True, False):
                update = {"precompute_reference": once}
                yield case.model_copy(update={"dpo": case.dpo.model_copy(update=update)})
        elif not isinstance(case, GrpoExperiment) or rows * passes >= 2 * case.grpo.group:
            yield case  # answers to two prompts at least, of two lengths


def case_of(
    config: Any, method: str, checkpointing: bool, passes: int, rows: int, length: int
) -> Any:
    """The recipe with one batch and one method."""
    update = {
        "method": method,
        "lora": (config.train.lora or Lora()) if method == "lora" else None,
        "gradient_checkpointing": checkpointing,
        "micro_batch": rows,
        "global_batch": rows * passes,
        "max_length": length,
        "max_steps": STEPS,
        "epochs": None,
    }
    changed = {"train": config.train.model_copy(update=update)}
    if isinstance(config, GrpoExperiment):
        drawn = {"group": 2, "max_new_tokens": round(length * config.supervised), "beta": 0.0}
        changed["grpo"] = config.grpo.model_copy(update=drawn)
    return config.model_copy(update=changed)


def reference_of(config: TrainingRecipe) -> str:
    """What scores beside the model."""
    if isinstance(config, DpoExperiment):
        return "once" if config.dpo.precompute_reference else "each pass"
    return "none"


def compare(config: Any, on_gpu: bool) -> tuple[int, int]:
    """Bytes planned and measured."""
    from tablemend.training import architectures, memory
    from tablemend.training.memory import STRATEGIES

    shape = architectures.Shape(architectures.config_of(config.model.path))
    plans = memory.Planner(config, shape, on_gpu)
    supervised = round(config.longest_row * config.supervised)
    planned = plans.memory(STRATEGIES[0], supervised).total
    weights = plans.loaded * (
        1 + (memory.has_copy(config, STRATEGIES[0]) and isinstance(config, DpoExperiment))
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = build(config, supervised, folder)
        measured = peak(trainer.train, on_gpu) + (0 if on_gpu else weights)
    del trainer
    gc.collect()
    return planned, measured


def build(config: Any, supervised: int, folder: str) -> Any:
    """Our trainer, on random weights and random rows of the greatest length and one less."""
    from transformers import AutoTokenizer

    import random_training

    fills = local_folder(config.model.path) or "checkpoints/tiny-base"  # its tokenizer pads alone
    tokenizer = AutoTokenizer.from_pretrained(fills)
    length, count = config.longest_row, config.train.global_batch * STEPS
    prompt = length - supervised
    if isinstance(config, DpoExperiment):
        pairs = [(prompt, supervised, supervised - 1)] * count
        return random_training.random_preference_trainer(config, tokenizer, pairs, folder)
    if isinstance(config, GrpoExperiment):
        prompts = [prompt - number % 2 for number in range(count)]
        return random_training.random_reward_trainer(config, tokenizer, prompts, folder)
    scored = [supervised] * count
    return random_training.random_trainer(config, tokenizer, [length] * count, scored, folder)


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
