"""What to change in a recipe that does not fit, or in a launch that does not divide its batch."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence

from omegaconf import OmegaConf
from pydantic import ValidationError

from tablemend.recipe.experiment import DpoExperiment, GrpoExperiment, Trained
from tablemend.training.memory import CARDS, GIB, STRATEGIES, Memory, Planner, Strategy

SHORTEST = 2048
"""Rows shorter than this hold no adversarial context; a plan does not propose them."""


def changes(config: Trained) -> Iterator[tuple[tuple[str, ...], Trained]]:
    """Overrides that make a recipe need less and less, and what it is with all up to there.

    A step that the schema refuses, beside the changes before it, is left out.
    """
    made: tuple[str, ...] = ()
    for step in _steps(config):
        changed = _with(config, step)
        if changed is None:
            continue
        keys = {each.partition("=")[0] for each in step}
        made = (*(each for each in made if each.partition("=")[0] not in keys), *step)
        config = changed
        yield made, config


def _steps(config: Trained) -> Iterator[tuple[str, ...]]:
    """Overrides that each need less memory, the cheapest first."""
    train = config.train
    if isinstance(config, DpoExperiment) and not config.dpo.precompute_reference:
        yield ("dpo.precompute_reference=true",)
    if train.micro_batch > 1:
        yield ("train.micro_batch=1",)
    if not train.gradient_checkpointing:
        yield ("train.gradient_checkpointing=true",)
    if not isinstance(config, GrpoExperiment):  # GRPOConfig has no such field
        yield ("train.trl.activation_offloading=true",)
    if isinstance(config, GrpoExperiment) and config.grpo.engine == "transformers":
        batch = train.global_batch  # as many answers are drawn at once
        while (batch := batch // 2) >= config.grpo.group:
            yield (f"train.global_batch={batch}",)
    if train.method == "full":
        yield (
            "train.lora={r: 32, alpha: 64}",
            f"train.learning_rate={10 * train.learning_rate:g}",  # LoRA Without Regret (2025)
            "model.dtype=bfloat16",
            "train.method=lora",
        )
    if train.method != "qlora":
        yield ("train.method=qlora",)
    length = config.longest_row
    while (length := length // 2) >= SHORTEST:
        yield (f"train.max_length={length}",)


def _with(config: Trained, overrides: Sequence[str]) -> Trained | None:
    """The recipe with overrides, read as a command line's; ``None`` where the schema refuses it."""
    values = OmegaConf.create(config.model_dump(mode="json"))
    values.merge_with_dotlist(list(overrides))
    try:
        return type(config).model_validate(OmegaConf.to_container(values))
    except ValidationError:
        return None


def refused(config: Trained, strategy: Strategy) -> str:
    """Why a training is refused under a launch; empty where it is not."""
    if config.train.method == "qlora" and "weights" in strategy.shards:
        return "train.method=qlora keeps whole weights on every GPU"
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
    if isinstance(config, GrpoExperiment):
        at_once = math.lcm(at_once, config.grpo.group)
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
    others = [each for each in found if each.gpus > 1]
    for card in sorted(CARDS, reverse=True):
        if single.fits(card):
            continue
        while not memory.fits(card):
            overrides, changed = next(steps, (None, None))
            if changed is None:
                break
            memory = planner.memory(changed, STRATEGIES[0])
        ways = []
        if overrides is not None:
            ways = [f"one GPU with {shlex.join(overrides)} ({memory.total / GIB:.1f} GiB)"]
        several = [each for each in others if (its := found[each]) and its.fits(card)]
        fewest = min((each.gpus for each in several if not each.offload), default=0)
        ways += [_on(config, each) for each in several if each.offload or each.gpus == fewest]
        yield f"{card} GB: " + ("; or ".join(ways) if ways else "not with anything above")


def _on(config: Trained, strategy: Strategy) -> str:
    mend = uneven(config, strategy)
    return f"{strategy.gpus} GPUs with {strategy.config}" + (f" and {mend}" if mend else "")
