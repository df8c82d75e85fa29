"""What to change in a recipe that does not fit, or in a launch that does not divide its batch."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping

from omegaconf import OmegaConf
from pydantic import ValidationError

from tablemend.recipe.experiment import DpoExperiment, DrawingExperiment, Trained
from tablemend.training.memory import CARDS, GIB, STRATEGIES, Memory, Planner, Strategy


def changes(config: Trained) -> Iterator[tuple[tuple[str, ...], Trained]]:
    """Overrides that make a recipe need less and less, and what it is with all up to there.

    A step that the schema refuses, beside the changes before it, is left out.
    """
    made: dict[str, str] = {}
    for step in _steps(config):
        values = OmegaConf.create(config.model_dump(mode="json"))
        values.merge_with_dotlist(list(step))
        try:
            config = type(config).model_validate(OmegaConf.to_container(values))
        except ValidationError:
            continue
        made |= {each.partition("=")[0]: each for each in step}
        yield tuple(made.values()), config


def _steps(config: Trained) -> Iterator[tuple[str, ...]]:
    """Overrides that each need less memory and train on the same rows, the cheapest first."""
    train = config.train
    if isinstance(config, DpoExperiment) and not config.dpo.precompute_reference:
        yield ("dpo.precompute_reference=true",)
    if train.micro_batch > 1:
        yield ("train.micro_batch=1",)
    if not train.gradient_checkpointing:
        yield ("train.gradient_checkpointing=true",)
    if not isinstance(config, DrawingExperiment):  # TRL's configuration has no such field
        yield ("train.trl.activation_offloading=true",)
    if train.method == "full":
        yield (
            "train.lora={r: 32, alpha: 64}",
            f"train.learning_rate={10 * train.learning_rate:g}",  # LoRA Without Regret (2025)
            "model.dtype=bfloat16",
            "train.method=lora",
        )
    if train.method != "qlora":
        yield ("train.method=qlora",)


def refused(config: Trained, strategy: Strategy) -> str:
    """Why a training is refused under a launch; empty where it is not."""
    if config.train.method == "qlora" and "weights" in strategy.shards:
        return "train.method=qlora keeps whole weights on every GPU"
    return ""


def uneven(config: Trained, strategy: Strategy) -> str:
    """What to set where the global batch does not divide over a launch; empty where it does."""
    train, gpus = config.train, strategy.gpus
    for size in range(train.micro_batch, 0, -1):
        if train.global_batch % (size * gpus) == 0:
            return "" if size == train.micro_batch else f"train.micro_batch={size}"
    at_once = train.micro_batch * gpus
    if isinstance(config, DrawingExperiment):
        at_once = math.lcm(at_once, config.group)
    return f"train.global_batch={max(1, round(train.global_batch / at_once)) * at_once}"


def lines(
    config: Trained, planner: Planner, found: Mapping[Strategy, Memory | None]
) -> Iterator[str]:
    """For each card that one GPU of is too small: what else fits on it."""
    single = found[STRATEGIES[0]]
    assert single is not None
    steps = changes(config)
    overrides: tuple[str, ...] | None = ()
    memory = single
    for card in sorted(CARDS, reverse=True):
        if single.fits(card):
            continue
        while overrides is not None and not memory.fits(card):
            overrides, changed = next(steps, (None, config))
            memory = planner.memory(changed, STRATEGIES[0])
        ways = []
        if overrides is not None:
            ways = [f"one GPU with {shlex.join(overrides)} ({memory.total / GIB:.1f} GiB)"]
        several = [each for each, its in found.items() if each.gpus > 1 and its and its.fits(card)]
        fewest = min((each.gpus for each in several if not each.offload), default=0)
        for each in several:
            if each.offload or each.gpus == fewest:
                mend = uneven(config, each)
                mended = f" and {mend}" if mend else ""
                ways.append(f"{each.gpus} GPUs with {each.config}{mended}")
        yield f"{card} GB: " + ("; or ".join(ways) if ways else "not with anything above")
