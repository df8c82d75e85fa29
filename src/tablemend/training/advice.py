"""What to change in a recipe that does not fit."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tablemend.config import Lora
from tablemend.config.experiment import DpoExperiment, GrpoExperiment, Trained
from tablemend.training.memory import CARDS, GIB, STRATEGIES, Memory, Strategy
from tablemend.training.planner import Plans

SHORTEST = 2048
"""Rows shorter than this hold no adversarial context; a plan does not propose them."""


@dataclass(frozen=True, slots=True)
class Change:
    """A recipe that needs less, and the overrides that make it."""

    overrides: tuple[str, ...]
    config: Trained


def changes(config: Trained) -> Iterator[Change]:
    """Recipes that need less and less, each with the changes before it; cheapest first."""
    made: tuple[str, ...] = ()

    def but(override: str, section: str = "train", **update: Any) -> Change:
        nonlocal config, made
        key = override.partition("=")[0]
        made = (*(each for each in made if not each.startswith(f"{key}=")), override)
        changed = getattr(config, section).model_copy(update=update)
        config = config.model_copy(update={section: changed})
        return Change(made, config)

    if isinstance(config, DpoExperiment) and not config.dpo.precompute_reference:
        yield but("dpo.precompute_reference=true", "dpo", precompute_reference=True)
    if config.train.micro_batch > 1:
        yield but("train.micro_batch=1", micro_batch=1)
    if not config.train.gradient_checkpointing:
        yield but("train.gradient_checkpointing=true", gradient_checkpointing=True)
    if isinstance(config, GrpoExperiment) and config.grpo.engine == "transformers":
        for batch in _smaller_batches(config):
            yield but(f"train.global_batch={batch}", global_batch=batch)
    if config.train.method == "full":
        made = (*made, "train.lora={r: 32, alpha: 64}")
        but("model.dtype=bfloat16", "model", dtype="bfloat16")
        plain: dict[str, Any] = {"optimizer": "adamw", "muon_learning_rate": None}
        yield but("train.method=lora", method="lora", lora=Lora(r=32, alpha=64), **plain)
    if config.train.method == "lora" and config.train.precision == "bfloat16":
        yield but("train.method=qlora", method="qlora")
    length = config.longest_row // 2
    answer = config.grpo.max_new_tokens if isinstance(config, GrpoExperiment) else 0
    while length >= max(SHORTEST, answer + 1):
        yield but(f"train.max_length={length}", max_length=length)
        length //= 2


def _smaller_batches(config: GrpoExperiment) -> Iterator[int]:
    """Halves that are still whole groups and whole passes: as many answers are drawn at once."""
    whole = math.lcm(config.grpo.group, config.train.micro_batch)
    batch = config.train.global_batch // 2
    while batch >= whole:
        if batch % whole == 0:
            yield batch
        batch //= 2


def refused(config: Trained, strategy: Strategy) -> str:
    """Why a training is refused under a launch; empty where it is not."""
    if config.train.method == "qlora" and "weights" in strategy.shards:
        return "train.method=qlora keeps whole weights on every GPU"
    if config.train.optimizer == "muon" and strategy.shards:
        return "train.optimizer=muon needs whole matrices"
    return ""


def uneven(config: Trained, strategy: Strategy) -> str:
    """What to set where the global batch does not divide over a launch; empty where it does."""
    train, gpus = config.train, strategy.gpus
    if train.global_batch % (train.micro_batch * gpus) == 0:
        return ""
    smaller = (size for size in range(train.micro_batch, 0, -1))
    fitting = next((size for size in smaller if train.global_batch % (size * gpus) == 0), None)
    if fitting is not None:
        return f"train.micro_batch={fitting}"
    at_once = train.micro_batch * gpus
    return f"train.global_batch={max(1, round(train.global_batch / at_once)) * at_once}"


def lines(config: Trained, plans: Plans, found: Mapping[Strategy, Memory | None]) -> Iterator[str]:
    """For each card that one GPU of is too small: what else fits on it."""
    single = found[STRATEGIES[0]]
    assert single is not None
    tried: list[tuple[tuple[str, ...], Memory]] = [((), single)]
    steps = changes(config)
    for card in sorted(CARDS, reverse=True):
        if single.fits(card):
            continue
        while (one := _first_that_fits(tried, card)) is None:
            change = next(steps, None)
            if change is None:
                break
            tried.append((change.overrides, plans.memory(change.config, STRATEGIES[0])))
        several = [
            f"{strategy.gpus} GPUs with {strategy.config}"
            for strategy, memory in found.items()
            if memory is not None and strategy.gpus > 1 and memory.fits(card)
        ]
        ways = ([one] if one else []) + several
        yield f"{card} GB: " + ("; or ".join(ways) if ways else "not with anything above")


def _first_that_fits(tried: list[tuple[tuple[str, ...], Memory]], card: int) -> str | None:
    """The first recipe that fits on one GPU, where it helps with another share for vLLM."""
    for overrides, memory in tried:
        for each, more in ((memory, ()), _with_least_share(memory, card)):
            if each.fits(card):
                total = f"{each.total / GIB:.1f} GiB"
                return f"one GPU with {shlex.join((*overrides, *more))} ({total})"
    return None


def _with_least_share(memory: Memory, card: int) -> tuple[Memory, tuple[str, ...]]:
    """With the smallest share of the card that vLLM starts with, in steps of 0.05."""
    changed = memory.with_share(card)
    if changed.engine is None:
        return memory, ()
    return changed, (f"train.trl.vllm_gpu_memory_utilization={changed.engine.share:g}",)
