"""The plan as text, below the configuration that ``--check`` prints."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from tablemend.errors import TablemendError
from tablemend.recipe.experiment import DpoExperiment, GrpoExperiment, Trained
from tablemend.recipe.training import SftTrain, Train
from tablemend.training import advice
from tablemend.training.amounts import Amount, amount_of
from tablemend.training.memory import CARDS, GIB, STRATEGIES, Memory, Strategy, launches
from tablemend.training.planner import Plans, answers_at_once, has_copy, weight_type
from tablemend.training.precision import with_types
from tablemend.training.rollout import cache_bytes
from tablemend.training.shapes import config_of, start_of

COLUMNS = (
    "weights",
    "gradients",
    "optimizer",
    "buffers",
    "reference",
    "activations",
    "logits",
    "generation",
)
"""Of the table, in order; ``reference`` and ``generation`` only where there is one."""


def lines(config: Trained, gpus: int | None = None) -> Iterator[str]:
    """The plan, a line at a time.

    Args:
        config: the recipe.
        gpus: how many there are beside the plan for one; ``None``: 8, and 32 over four machines.

    Raises:
        TablemendError: the architecture of model.path is not known here.
    """
    named, path = config.model.path, start_of(config.model.path)
    config = config.model_copy(update={"model": config.model.model_copy(update={"path": path})})
    if config.train.precision == "auto":
        config = with_types(config, "bfloat16", config.model.dtype)  # as GPUs do
    architecture = config_of(path)
    window = architecture.get_text_config().max_position_embeddings
    if config.model.context_length > window:
        raise TablemendError(
            f"model.context_length={config.model.context_length} is longer than the window of "
            f"{path}, {window} tokens: lower it"
        )
    plans = Plans(architecture)
    counts = plans.counts(config)
    amount, data = _count(config)
    long = _of_longest(config, amount)
    yield f"plan: {_what(long, named)}"
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
    yield from data
    found = {
        each: None if advice.refused(long, each) else plans.memory(long, each)
        for each in launches(gpus)
    }
    yield from _reference_lines(config)
    yield from _generation_lines(long, plans)
    yield from _table(long, amount, found)
    yield from _other_checkpointing(long, plans)
    yield from advice.lines(long, plans, found)


def _of_longest(config: Trained, amount: Amount | None) -> Trained:
    """The recipe with rows as long as the longest of its data, where that is known."""
    if amount is None or amount.most is None:
        return config
    trl = config.train.trl
    if isinstance(config, GrpoExperiment):  # vLLM's window stays what the recipe says
        trl = {"vllm_max_model_length": config.longest_row, **trl}
    train = config.train.model_copy(update={"max_length": amount.most, "trl": trl})
    return config.model_copy(update={"train": train})


def _what(config: Trained, path: str) -> str:
    """What is trained, on how much at a time."""
    train = config.train
    adapters = f" (r {train.lora.r})" if train.lora else ""
    kept = "with" if train.gradient_checkpointing else "without"
    size = f"{train.micro_batch} x {config.longest_row} tokens"
    if isinstance(config, DpoExperiment):
        pairs = f"{train.micro_batch} pair{'s' if train.micro_batch > 1 else ''}"
        size = f"{pairs} of 2 x {config.longest_row} tokens"
    return (
        f"{train.method}{adapters} of {path}, {size} a GPU and pass, {kept} gradient "
        f"checkpointing, {train.precision}"
    )


def _table(
    config: Trained, amount: Amount | None, found: Mapping[Strategy, Memory | None]
) -> Iterator[str]:
    """Memory under each launch."""
    shown = [memory for memory in found.values() if memory is not None]
    columns = [
        name
        for name in COLUMNS
        if name not in ("reference", "generation") or any(getattr(each, name) for each in shown)
    ]
    what = "the greater of a step and of generation" if "generation" in columns else "their sum"
    beside = ", without vLLM's share" if shown[0].engine else ""
    known = amount is not None and amount.most is not None
    longest = "the longest of the data" if known else "the longest that the recipe allows"
    yield (
        f"memory in GiB on each GPU, for rows of {config.longest_row} tokens, {longest}; total: "
        f"{what}{beside}:"
    )
    titles = "".join(f"{name:>{len(name) + 2}}" for name in columns)
    yield f"{'launch':<14}{'GPUs':>5}{titles}{'total':>8}  fits on"
    for strategy, memory in found.items():
        yield _row(config, strategy, memory, columns)


def _row(config: Trained, strategy: Strategy, memory: Memory | None, columns: list[str]) -> str:
    name = f"{strategy.config:<14}{strategy.gpus:>5}"
    if memory is None:
        return f"{name}  refused: {advice.refused(config, strategy)}"
    cells = "".join(f"{getattr(memory, column) / GIB:>{len(column) + 2}.2f}" for column in columns)
    where = f"{memory.card} GB" if memory.card else f"none up to {max(CARDS)} GB"
    host = f"; and {memory.host / GIB:.1f} GiB of the machine's memory" if memory.host else ""
    mend = advice.uneven(config, strategy)
    batch = f"; the batch does not divide: set {mend}" if mend else ""
    return f"{name}{cells}{memory.total / GIB:>8.2f}  {where}{host}{batch}"


def _other_checkpointing(config: Trained, plans: Plans) -> Iterator[str]:
    """With the other choice, and with checkpointing for every second layer."""
    train = config.train
    other = not train.gradient_checkpointing
    ways: dict[str, dict[str, Any]] = {
        f"train.gradient_checkpointing={str(other).lower()}": {"gradient_checkpointing": other}
    }
    kwargs = train.trl.get("gradient_checkpointing_kwargs")
    if isinstance(train, SftTrain) and train.gradient_checkpointing and not kwargs:
        selective = {"gradient_checkpointing_kwargs": {"every_n_layers": 2}}
        ways["train.trl.gradient_checkpointing_kwargs={every_n_layers: 2}"] = {
            "trl": {**train.trl, **selective}
        }
    for name, update in ways.items():
        changed = train.model_copy(update=update)
        memory = plans.memory(config.model_copy(update={"train": changed}), STRATEGIES[0])
        yield (
            f"with {name}: activations {memory.activations / GIB:.2f}, total "
            f"{memory.total / GIB:.2f} ({STRATEGIES[0].config})"
        )


def _reference_lines(config: Trained) -> Iterator[str]:
    """Where the reference's scores come from."""
    if isinstance(config, DpoExperiment):
        if config.dpo.precompute_reference:
            copy = "; FSDP2 keeps a copy of it" if config.train.lora is None else ""
            yield f"reference: the start scores all pairs once, before the first step{copy}"
        elif config.train.lora is not None:
            yield "reference: the model without its adapters scores the pairs in every pass"
        else:
            yield (
                "reference: a second model scores the pairs in every pass "
                "(dpo.precompute_reference=true scores them once)"
            )
    elif isinstance(config, GrpoExperiment) and config.grpo.beta:
        what = "a second model" if has_copy(config, STRATEGIES[0]) else "the model without adapters"
        yield f"reference: {what} scores the answers of a step once (grpo.beta)"


def _generation_lines(config: Trained, plans: Plans) -> Iterator[str]:
    """What draws the answers, and what it needs."""
    if not isinstance(config, GrpoExperiment):
        return
    single = STRATEGIES[0]
    answers = answers_at_once(config, single)
    if config.grpo.engine == "transformers":
        cache = plans.drawn(config, single).cache
        yield (
            f"generation: one GPU draws {answers} answers at once and ends with "
            f"{cache / GIB:.2f} GiB of keys and values; W GPUs share the answers"
        )
        return
    row = cache_bytes(plans.architecture, config.longest_row) / GIB
    engine = plans.memory(config, single).engine
    if engine is None:
        yield (
            f"generation: vLLM on GPUs of its own, not counted here: "
            f"{plans.counts(config).total * 2 / GIB:.1f} GiB of weights, and {row:.2f} GiB of keys "
            f"and values for each row of {config.longest_row} tokens"
        )
        return
    rows = {card: engine.rows(card) for card in CARDS}
    starts = ", ".join(f"{n} on {card} GB" for card, n in rows.items() if n)
    small = ", ".join(f"{card}" for card, n in rows.items() if not n)
    yield (
        f"generation: vLLM takes {engine.share:g} of every card"
        f"{', and gives it back while a step runs' if engine.sleeps else ''}; its weights are "
        f"{engine.weights / GIB:.2f} GiB, keys and values {engine.row / GIB:.2f} GiB for a row of "
        f"{config.longest_row} tokens"
    )
    yield (
        f"generation: so many such rows at a time: {starts or 'none'}"
        f"{f'; it does not start on {small} GB' if small else ''}"
    )


def _count(config: Trained) -> tuple[Amount | None, list[str]]:
    """How much data there is, where it can be counted, and what the plan says of it."""
    train = config.train
    unit = of = "rows"
    if isinstance(config, DpoExperiment):
        unit = of = "pairs"
    if isinstance(config, GrpoExperiment):
        unit, of = "answers", "prompts"
    until = f", at most {train.minutes:g} minutes" if train.minutes else ""
    try:
        amount = amount_of(config)
    except TablemendError as error:
        each = f" x {config.grpo.group}" if isinstance(config, GrpoExperiment) else ""
        formula = f"{of} x {train.epochs:g}{each} / {train.global_batch}," if train.epochs else ""
        return None, [
            f"steps: {train.max_steps or formula} of {train.global_batch} {unit}{until}",
            f"data: not counted: {error}",
        ]
    about = "about " if amount.sampled < amount.rows + amount.dropped else ""
    said = [f"data: {amount.assumed}"] if amount.assumed else []
    if amount.sampled:
        said.append(f"data: {about}{_amount_line(config, amount)}")
    else:
        said.append(f"data: {amount.rows} {of}, all taken to fit")
    return amount, [*said, f"{_steps_line(config, amount, unit, about)}{until}"]


def _amount_line(config: Trained, amount: Amount) -> str:
    looked = f"({amount.sampled} looked at)"
    dropped = f"({amount.dropped} too long)"
    if isinstance(config, DpoExperiment):
        return (
            f"{amount.rows} pairs {dropped} of {amount.tokens:.0f} tokens on average in their two "
            f"rows, {amount.supervised:.0f} with loss, the longest row {amount.longest} {looked}"
        )
    if isinstance(config, GrpoExperiment):
        return (
            f"{amount.rows} prompts {dropped} of {amount.tokens:.0f} tokens on average, gold "
            f"answers of {amount.supervised:.0f}, the longest of both {amount.longest} {looked}"
        )
    return (
        f"{amount.rows} rows {dropped} of {amount.tokens:.0f} tokens on average, "
        f"{amount.supervised:.0f} with loss, the longest {amount.longest} {looked}"
    )


def _steps_line(config: Trained, amount: Amount, unit: str, about: str) -> str:
    train = config.train
    if isinstance(config, GrpoExperiment):
        return _drawn_line(config, amount)
    nearly = ""
    if train.packing:
        if not amount.sampled:
            return f"steps: {train.max_steps or 'not counted,'} of {train.global_batch} packed rows"
        unit = f"packed rows (about {amount.per_sequence:.1f} rows in each)"
        nearly = about = "about "
    pass_steps = math.ceil(amount.rows / amount.per_sequence / train.global_batch)
    steps = _steps(train, pass_steps)
    text = f"steps: {nearly}{steps} of {train.global_batch} {unit}"
    if not amount.sampled:
        return text
    tokens = steps * train.global_batch * amount.per_sequence * amount.tokens
    return f"{text}, {about}{tokens / 1e6:.2f} M tokens"


def _drawn_line(config: GrpoExperiment, amount: Amount) -> str:
    """TRL leaves out of a pass the prompts that fill no step, and learns from each draw anew."""
    grpo, batch = config.grpo, config.train.global_batch
    at_once = batch // grpo.group
    pass_steps = amount.rows // at_once * grpo.iterations
    if not pass_steps:
        return f"steps: none: {amount.rows} prompts, and one step takes {at_once}: refused"
    steps = _steps(config.train, pass_steps)
    answers = steps * batch / grpo.iterations
    text = (
        f"steps: {steps} of {batch} answers, {grpo.group} to a prompt, "
        f"{steps / pass_steps:.2g} passes over the prompts"
    )
    if grpo.iterations > 1:
        text += f", {grpo.iterations} steps on each answer"
    if not amount.sampled:
        return text
    gold = answers * amount.supervised / 1e6
    most = answers * grpo.max_new_tokens / 1e6
    return (
        f"{text}; {gold:.2f} M tokens drawn where answers are as long as gold, at most {most:.2f} M"
    )


def _steps(train: Train, pass_steps: int) -> int:
    if train.max_steps:
        return train.max_steps
    assert train.epochs is not None
    return math.ceil(pass_steps * train.epochs)


def print_plan(config: Trained, gpus: int | None = None) -> None:
    """Print it as comments, so that what ``--check`` prints is still a recipe.

    A plan that cannot be made is said in its place: the configuration is valid all the same.

    Args:
        config: the recipe.
        gpus: to plan for; ``None``: as many as this command was launched on.
    """
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    if gpus is None and launched > 1:
        gpus = launched
    try:
        for line in lines(config, gpus):
            print(f"# {line}", flush=True)
    except TablemendError as error:
        print(f"# no plan: {error}")
