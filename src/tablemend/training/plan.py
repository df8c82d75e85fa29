"""The plan as text, below the configuration that ``--check`` prints."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress

import torch

from tablemend.errors import TablemendError
from tablemend.recipe.experiment import (
    DpoExperiment,
    DrawingExperiment,
    GrpoExperiment,
    Trained,
)
from tablemend.training import advice
from tablemend.training.amounts import Amount, amount_of
from tablemend.training.architectures import check_window, config_of, start_of
from tablemend.training.memory import (
    CARDS,
    GIB,
    STRATEGIES,
    Memory,
    Planner,
    Strategy,
    answers_at_once,
    launches,
    vllm_share,
    weight_type,
)
from tablemend.training.precision import with_types
from tablemend.training.requirements import refuse_recipe

COLUMNS = ("weights", "gradients", "optimizer", "buffers", "activations")
"""Of the table, in order."""
SOMETIMES = ("reference", "generation")
"""Those that stand behind them where there is one."""
H100, USED = 989.4e12, 0.35
"""Its dense bfloat16 operations a second (data sheet; H200: the same), and the share in use."""
UNITS = {"experiment": ("rows", "rows"), "dpo": ("pairs", "pairs")}
UNITS |= dict.fromkeys(("grpo", "distil"), ("prompts", "answers"))
"""What the data holds, and what a step takes, by kind of recipe."""


def print_plan(config: Trained, gpus: int | None = None) -> None:
    """Print it as comments, so that what ``--check`` prints is still a recipe.

    A plan that cannot be made is said in its place: the configuration is valid all the same.

    Args:
        config: the recipe.
        gpus: to plan for; ``None``: as many as this command was launched on.

    Raises:
        TablemendError: adapters or packing that the architecture does not take.
    """
    architecture = None
    with suppress(TablemendError):  # what is not known here is said below
        architecture = config_of(start_of(config.model.path))
    if architecture is not None:
        refuse_recipe(config, architecture)
        check_window(config.model, architecture)
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    if gpus is None and launched > 1:
        gpus = launched
    try:
        for line in lines(config, gpus):
            print(f"# {line}", flush=True)
    except TablemendError as error:
        print(f"# no plan: {error}")


def lines(config: Trained, gpus: int | None = None) -> Iterator[str]:
    """The plan, a line at a time.

    Args:
        config: the recipe.
        gpus: how many there are beside the plan for one; ``None``: 8, and 32 over four machines.

    Raises:
        TablemendError: the architecture of model.path is not known here, or has a shorter window.
    """
    named, path = config.model.path, start_of(config.model.path)
    config = config.model_copy(update={"model": config.model.model_copy(update={"path": path})})
    if config.train.precision == "auto":
        config = with_types(config, "bfloat16", config.model.dtype)  # as GPUs do
    architecture = config_of(path)
    check_window(config.model, architecture)
    planner = Planner(architecture)
    counts = planner.counts(config)
    yield f"plan: {_what(config, named)}"
    if path != named:
        yield f"{named} is not trained yet: planned with {path}, which its recipe starts from"
    yield (
        f"weights: {counts.total:,}, of which {counts.trained:,} train "
        f"({counts.trained / counts.total:.2%})"
    )
    if config.train.method == "full" and weight_type(config, architecture) != torch.float32:
        yield (
            "on one GPU and under DDP all weights train in bfloat16, where small updates round to "
            "nothing: model.dtype=float32 takes 16 bytes a weight with AdamW, in place of 8"
        )
    yield from _data_lines(config, planner)
    if own := config.train.evaluate:
        longest = own.max_new_tokens or config.evaluation.max_new_tokens
        yield (
            f"evaluation: {own.n} prompts of data.validation every {own.every} steps and at the "
            f"end, answers of at most {longest} tokens; best by {own.metric}"
        )
    if isinstance(config, DrawingExperiment):
        yield _generation_line(config, planner)
    found = {
        each: None if advice.refused(config, each) else planner.memory(config, each)
        for each in launches(gpus)
    }
    yield from _table(config, found)
    yield from advice.lines(config, planner, found)


def _what(config: Trained, path: str) -> str:
    """What is trained, on how much at a time."""
    train = config.train
    adapters = f" (r {train.lora.r})" if train.lora else ""
    kept = "with" if train.gradient_checkpointing else "without"
    unit = "pairs of 2" if isinstance(config, DpoExperiment) else "rows"
    return (
        f"{train.method}{adapters} of {path}, {train.micro_batch} {unit} x {config.longest_row} "
        f"tokens a GPU and pass, {kept} gradient checkpointing, {train.precision}"
    )


def _data_lines(config: Trained, planner: Planner) -> Iterator[str]:
    """How much data there is, and how many steps are made of it."""
    train, (of, unit) = config.train, UNITS[config.kind]
    try:
        amount = amount_of(config)
    except TablemendError as error:
        yield f"data: not counted: {error}"
        formula = f"{of} x {train.epochs:g} / {train.global_batch}," if train.epochs else ""
        yield f"steps: {train.max_steps or formula} of {train.global_batch} {unit}"
        return
    if amount.uncounted:
        yield f"data: {amount.uncounted}"
    if amount.sampled:
        about = "about " if amount.sampled < amount.rows + amount.dropped else ""
        yield (
            f"data: {about}{amount.rows} {of} ({amount.dropped} too long) of {amount.tokens:.0f} "
            f"tokens on average, {amount.supervised:.0f} in what is to be written "
            f"({amount.sampled} looked at)"
        )
    else:
        yield f"data: {amount.rows} {of}, all taken to fit"
    yield f"steps: {steps_line(config, amount)}"
    if amount.sampled:
        hours = gpu_hours(config, planner, amount)
        drawn = ", drawing not counted" if isinstance(config, DrawingExperiment) else ""
        yield f"time: about {hours:.1f} GPU hours of H100s at {USED:.0%} of their peak{drawn}"


def gpu_hours(config: Trained, planner: Planner, amount: Amount) -> float:
    """Hours that all steps take on one H100 or H200, by their operations (docs/training.md).

    A weight costs a token 2 operations forward and 2 back, 2 more where it trains, and 2 for each
    further pass: of gradient checkpointing, of a reference or teacher.
    """
    train, text = config.train, planner.architecture.get_text_config()
    group = config.group if isinstance(config, DrawingExperiment) else 0
    length = amount.tokens + (amount.supervised if group else 0)
    rows = (train.epochs or 0) * amount.rows * (group or 1)
    if train.max_steps:
        packed = config.longest_row // length if train.packing else 1
        rows = train.max_steps * train.global_batch * packed
    passes = 4 + 2 * (not train.lora) + 2 * train.gradient_checkpointing
    is_free = isinstance(config, GrpoExperiment) and not config.grpo.beta
    passes += 2 * (config.kind != "experiment" and not is_free)
    counts, layers = planner.counts(config), text.num_hidden_layers
    weights = counts.total - counts.ends
    if experts := getattr(text, "num_experts", 0):
        matrix = text.hidden_size * text.moe_intermediate_size
        weights -= layers * (experts - text.num_experts_per_tok) * 3 * matrix
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    attention = 6 * layers * text.num_attention_heads * head * length
    return float(rows * length * (passes * weights + attention) / (USED * H100 * 3600))


def steps_line(config: Trained, amount: Amount) -> str:
    """Steps and tokens of a training."""
    train = config.train
    batch, (_, unit) = train.global_batch, UNITS[config.kind]
    if isinstance(config, DrawingExperiment):
        # TRL leaves out of a pass the prompts that fill no step, and learns from each draw anew
        at_once = batch // config.group
        pass_steps = amount.rows // at_once * getattr(config.drawing, "iterations", 1)
        if not pass_steps:
            return f"none: {amount.rows} prompts, and one step takes {at_once}: refused"
        steps = train.max_steps or math.ceil(pass_steps * (train.epochs or 0))
        return (
            f"{steps} of {batch} answers, {config.group} to a prompt, "
            f"{steps / pass_steps:.2g} passes over the prompts"
        )
    together = 1.0  # rows in a sequence of a batch
    if train.packing:
        if not amount.sampled:
            return f"{train.max_steps or 'not counted,'} of {batch} packed rows"
        together = max(1.0, config.longest_row // amount.tokens)
        unit = f"packed rows (about {together:.0f} rows in each)"
    fill = math.floor if config.kind == "dpo" else math.ceil
    pass_steps = fill(amount.rows / together / batch)
    steps = train.max_steps or math.ceil(pass_steps * (train.epochs or 0))
    if not amount.sampled:
        return f"{steps} of {batch} {unit}"
    tokens = steps * batch * together * amount.tokens
    return f"{steps} of {batch} {unit}, about {tokens / 1e6:.2f} M tokens"


def _table(config: Trained, found: Mapping[Strategy, Memory | None]) -> Iterator[str]:
    """Memory under each launch."""
    shown = [memory for memory in found.values() if memory is not None]
    more = [name for name in SOMETIMES if any(getattr(each, name) for each in shown)]
    what = "the greater of a step and of generation" if "generation" in more else "their sum"
    beside = ", without vLLM's share" if shown[0].vllm else ""
    yield (
        f"memory in GiB on each GPU, for rows of {config.longest_row} tokens, the longest that "
        f"the recipe allows; total: {what}{beside}:"
    )
    columns = [*COLUMNS, *more]
    titles = "".join(f"{name:>{len(name) + 2}}" for name in columns)
    yield f"{'launch':<14}{'GPUs':>5}{titles}{'total':>8}  fits on"
    for strategy, memory in found.items():
        name = f"{strategy.config:<14}{strategy.gpus:>5}"
        if memory is None:
            yield f"{name}  refused: {advice.refused(config, strategy)}"
            continue
        cells = [f"{getattr(memory, each) / GIB:>{len(each) + 2}.2f}" for each in columns]
        where = f"{memory.card} GB" if memory.card else f"none up to {max(CARDS)} GB"
        host = f"; and {memory.host / GIB:.1f} GiB of the machine's memory" if memory.host else ""
        mend = advice.uneven(config, strategy)
        batch = f"; the batch does not divide: set {mend}" if mend else ""
        yield f"{name}{''.join(cells)}{memory.total / GIB:>8.2f}  {where}{host}{batch}"


def _generation_line(config: DrawingExperiment, planner: Planner) -> str:
    """What draws the answers, and what it needs."""
    if config.drawing.engine == "transformers":
        answers = answers_at_once(config, STRATEGIES[0])
        return f"generation: one GPU draws {answers} answers at once; W GPUs share the answers"
    where = "on GPUs of its own, not counted here,"
    if share := vllm_share(config):
        where = f"takes {share:g} of every card,"
    weights = planner.counts(config).total * 2 / GIB
    return f"generation: vLLM {where} for {weights:.1f} GiB of weights, and keys and values"
