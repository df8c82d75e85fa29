"""What a training needs, before it starts: data, steps, hours, memory, and what makes it fit.

``--check`` prints it. Nothing is fetched and no model is built: memory is
:mod:`.memory`'s formulas, the data is counted from a sample.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from omegaconf import OmegaConf
from pydantic import ValidationError

from tablemend.backends.checkpoints import Checkpoint
from tablemend.config import HUB, SMALL_WORLD, Source
from tablemend.errors import NoTarget, TablemendError
from tablemend.recipe.experiment import (
    DpoExperiment,
    DrawingExperiment,
    GrpoExperiment,
    TrainingRecipe,
)
from tablemend.runs import say
from tablemend.tasks.sources import Chat, check_local, mixed, read_training
from tablemend.training.architectures import Shape, check_window, config_of, start_of, to_fit
from tablemend.training.data import (
    Pair,
    Row,
    check_pairs,
    read_pairs,
    render,
    render_chat,
    render_pair,
)
from tablemend.training.memory import (
    CARDS,
    GIB,
    MACHINE,
    STRATEGIES,
    Memory,
    Planner,
    Strategy,
    vllm_share,
    weight_type,
)

COLUMNS = ("weights", "gradients", "optimizer", "buffers", "activations", "reference", "generation")
"""Of the table, in order; the last two where there is one."""
UNITS = {"experiment": ("rows", "rows"), "dpo": ("pairs", "pairs")}
UNITS |= dict.fromkeys(("grpo", "distil"), ("prompts", "answers"))
"""What the data holds, and what a step takes, by kind of recipe."""
SAMPLE = 200
"""Examples, or pairs, that are rendered to find the length of rows."""
MEASURED = {(135, False): 43, (135, True): 55, (8_000, False): 277, (8_000, True): 406}
"""TFLOP/s by millions of weights, and whether layers are compiled or all weights train: SFT of
SmolLM2-135M's shape on an H100 (59,407 and 76,026 tokens/s) and of Qwen3-8B's on an H200 (6,122 and
8,959), what checkpointing computes twice counted (docs/training.md). Between them by logarithms."""


def preflight(config: TrainingRecipe) -> None:
    """Refuse data that is not there, and say what comes; before torch is imported.

    Raises:
        TablemendError: a file or folder that is missing, or pairs that were never made.
    """
    data = config.data
    sources = (*data.training_sources, data.validation, data.test)
    check_local(*sources, command=config.task_of().makes)
    if isinstance(config, DpoExperiment):
        check_pairs(config)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # TRL reports every run otherwise
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # our constraints pin TRL
    say("starting torch, transformers and TRL")


def plan_of(config: Any) -> Iterator[str]:
    """The lines that ``--check`` prints.

    A plan that cannot be made is said in its place: the configuration is valid all the same.

    Args:
        config: a command that trains; ``gpus`` to plan for are else as many as it was launched on.

    Raises:
        TablemendError: adapters, packing or a window that the architecture does not have.
    """
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    try:
        architecture = config_of(start_of(config.model.path))
    except TablemendError as error:
        yield f"no plan: {error}"
        return
    lora = config.train.lora
    adapts = lora and (lora.dropout or not isinstance(lora.target_modules, str))
    if config.train.packing or adapts:
        from tablemend.training.models import refuse_recipe  # torch

        refuse_recipe(config, architecture)
    check_window(config.model, architecture)
    try:
        gpus = config.gpus or (launched if launched > 1 else None)
        yield from lines(config, gpus, config.price)
    except TablemendError as error:
        yield f"no plan: {error}"


def lines(
    config: TrainingRecipe, gpus: int | None = None, price: float | None = None
) -> Iterator[str]:
    """The plan, a line at a time.

    Args:
        config: the recipe.
        gpus: how many there are beside the plan for one; ``None``: 8, and 32 over four machines.
        price: of an hour of one.

    Raises:
        TablemendError: the architecture of model.path is not known here.
    """
    named, path = config.model.path, start_of(config.model.path)
    config = config.model_copy(update={"model": config.model.model_copy(update={"path": path})})
    try:
        shape = Shape(config_of(path))
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise TablemendError(f"the configuration of {path} is not read: {error!r}") from error
    planner, train = Planner(config, shape), config.train
    adapters = f" (r {train.lora.r})" if train.lora else ""
    precision = "bfloat16" if train.precision == "auto" else train.precision  # as GPUs do
    yield (
        f"plan: {train.method}{adapters} of {named}, {train.micro_batch} "
        f"{'pairs of 2' if config.kind == 'dpo' else 'rows'} x {config.longest_row} tokens a GPU "
        f"and pass, {'with' if train.gradient_checkpointing else 'without'} gradient "
        f"checkpointing, {precision}"
    )
    if path != named:
        yield f"{named} is not trained yet: planned with {path}, which its recipe starts from"
    yield from shape.notes
    total, trained = planner.total, planner.trained
    yield f"weights: {total:,}, of which {trained:,} train ({trained / total:.2%})"
    if train.method == "full" and weight_type(config, shape.stored) != "float32":
        yield (
            "on one GPU and under DDP all weights train in bfloat16, where small updates round to "
            "nothing: model.dtype=float32 takes 16 bytes a weight with AdamW, in place of 8"
        )
    yield from _data_lines(config, shape, price)
    if own := train.evaluate:
        most = own.max_new_tokens or config.evaluation.max_new_tokens
        yield (
            f"evaluation: {own.n} prompts of data.validation every {own.every} steps and at the "
            f"end, answers of at most {most} tokens; best by {own.metric}"
        )
    if isinstance(config, DrawingExperiment):
        share, engine = vllm_share(config), config.drawing.engine
        where = f"takes {share:g} of every card" if share else "on GPUs of its own, not counted"
        answers = f"one GPU draws {train.global_batch} answers at once; W GPUs share the answers"
        yield f"generation: {answers if engine == 'transformers' else f'vLLM {where}'}"
    launches: tuple[Strategy, ...] = STRATEGIES
    if gpus is not None:
        several = [each for each in STRATEGIES[1:] if (each.gpus > MACHINE) == (gpus > MACHINE)]
        launches = (STRATEGIES[0], *(replace(each, gpus=gpus) for each in several))
    found = {
        each: planner.memory(each) for each in launches if not unsupported_launch(config, each)
    }
    yield from _table(config, launches, found)
    before: tuple[str, ...] = ()
    if not found[STRATEGIES[0]].fits(min(CARDS)):
        yield "on one GPU, each change beside those before it:"
        for overrides, changed in suggest_overrides(config):
            memory = Planner(changed, shape).memory(STRATEGIES[0])
            new = shlex.join(one for one in overrides if one not in before)
            yield f"  {new}: {memory.total / GIB:.2f} GiB, {memory.where}"
            before = overrides


def _data_lines(config: TrainingRecipe, shape: Shape, price: float | None) -> Iterator[str]:
    """How much data there is, how many steps are made of it, and the hours that they take."""
    train, (of, unit) = config.train, UNITS[config.kind]
    try:
        amount = amount_of(config)
    except TablemendError as error:
        yield f"data: not counted: {error}"
        formula = f"{of} x {train.epochs:g} / {train.global_batch}," if train.epochs else ""
        yield f"steps: {train.max_steps or formula} of {train.global_batch} {unit}"
        return
    about = "about " if amount.sampled < amount.rows + amount.dropped else ""
    if amount.sampled:
        yield (
            f"data: {about}{amount.rows} {of} ({amount.dropped} too long) of {amount.tokens:.0f} "
            f"tokens on average, {amount.supervised:.0f} in what is to be written "
            f"({amount.sampled} looked at)"
        )
    else:
        yield f"data: {amount.rows} {of}, all taken to fit: {amount.uncounted}"
    yield f"steps: {steps_line(config, amount)}"
    if amount.sampled:
        drawn = ", drawing not counted" if isinstance(config, DrawingExperiment) else ""
        hours = gpu_hours(config, shape, amount)
        cost = f" (about {hours * price:.2f} at {price:g} an hour)" if price else ""
        yield (
            f"time: about {hours:.1f} GPU hours of H200s{cost}, by the speed measured with 0.1B "
            f"and 8B{drawn}; of a CPU nothing is known before the first steps"
        )


def gpu_hours(config: TrainingRecipe, shape: Shape, amount: Amount) -> float:
    """Hours that all steps take on one H200 or H100, by operations and :data:`MEASURED`.

    A weight costs a token 2 operations forward and 2 back, 2 more where it trains, and 2 for each
    further pass: of gradient checkpointing, of a reference or teacher.
    """
    train = config.train
    group = config.group if isinstance(config, DrawingExperiment) else 0
    length = amount.tokens + (amount.supervised if group else 0)
    rows = (train.epochs or 0) * amount.rows * (group or 1)
    if train.max_steps:
        packed = config.longest_row // length if train.packing else 1
        rows = train.max_steps * train.global_batch * packed
    passes = 4 + 2 * (not train.lora) + 2 * train.gradient_checkpointing
    is_free = isinstance(config, GrpoExperiment) and not config.grpo.beta
    passes += 2 * (config.kind != "experiment" and not is_free)
    attention = 6 * sum(layer.query for layer in shape.layers) * length
    work = rows * length * (passes * shape.active + attention)
    is_fast = train.compile or (train.lora is None and shape.active > 1e9)
    low, high = MEASURED[135, is_fast], MEASURED[8_000, is_fast]
    part = math.log(shape.active / 135e6) / math.log(8_000 / 135)
    rate = low * (high / low) ** min(1.0, max(0.0, part))
    return float(work / (rate * 1e12 * 3600))


def steps_line(config: TrainingRecipe, amount: Amount) -> str:
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
    tokens = steps * batch * together * amount.tokens
    about = f", about {tokens / 1e6:.2f} M tokens" if amount.sampled else ""
    return f"{steps} of {batch} {unit}{about}"


def _table(
    config: TrainingRecipe, launches: Sequence[Strategy], found: Mapping[Strategy, Memory]
) -> Iterator[str]:
    """Memory under each launch."""
    columns = COLUMNS[:5] + tuple(
        name for name in COLUMNS[5:] if any(getattr(each, name) for each in found.values())
    )
    yield (
        f"memory in GiB on each GPU, for rows of {config.longest_row} tokens, the longest that "
        "the recipe allows (a step or generation, whichever takes more; vLLM's share not counted):"
    )
    titles = "".join(f"{name:>{len(name) + 2}}" for name in columns)
    yield f"{'launch':<14}{'GPUs':>5}{titles}{'total':>8}  fits on"
    for strategy in launches:
        name, memory = f"{strategy.config:<14}{strategy.gpus:>5}", found.get(strategy)
        if memory is None:
            yield f"{name}  refused: {unsupported_launch(config, strategy)}"
            continue
        cells = [f"{getattr(memory, each) / GIB:>{len(each) + 2}.2f}" for each in columns]
        host = f"; and {memory.host / GIB:.1f} GiB of the machine's memory" if memory.host else ""
        divisible = config.train.divisible_batch(strategy.gpus)
        batch = f"; with train.global_batch={divisible}"
        batch = batch if divisible != config.train.global_batch else ""
        yield f"{name}{''.join(cells)}{memory.total / GIB:>8.2f}  {memory.where}{host}{batch}"


def unsupported_launch(config: TrainingRecipe, strategy: Strategy) -> str:
    """Why a training is refused under a launch; empty where it is not."""
    if config.train.method == "qlora" and "weights" in strategy.shards:
        return "train.method=qlora keeps whole weights on every GPU"
    return ""


def suggest_overrides(config: TrainingRecipe) -> Iterator[tuple[tuple[str, ...], TrainingRecipe]]:
    """Overrides that make a recipe need less and less, the cheapest first, and what it is then.

    All train on the same rows. One that the schema refuses, beside those before it, is left out.
    """
    train, steps = config.train, list[tuple[str, ...]]()
    if isinstance(config, DpoExperiment) and not config.dpo.precompute_reference:
        steps.append(("dpo.precompute_reference=true",))
    if train.micro_batch > 1:
        steps.append(("train.micro_batch=1",))
    if not train.gradient_checkpointing:
        steps.append(("train.gradient_checkpointing=true",))
    if not isinstance(config, DrawingExperiment):  # TRL's configuration has no such field
        steps.append(("train.trl.activation_offloading=true",))
    if train.method == "full":
        rate = f"train.learning_rate={10 * train.learning_rate:g}"  # LoRA Without Regret (2025)
        lora = "train.lora={r: 32, alpha: 64}"
        steps.append((lora, rate, "model.dtype=bfloat16", "train.method=lora"))
    if train.method != "qlora":
        steps.append(("train.method=qlora",))
    made: dict[str, str] = {}
    for step in steps:
        values = OmegaConf.create(config.model_dump(mode="json"))
        values.merge_with_dotlist(list(step))
        try:
            config = type(config).model_validate(OmegaConf.to_container(values))
        except ValidationError:
            continue
        made |= {each.partition("=")[0]: each for each in step}
        yield tuple(made.values()), config


@dataclass(frozen=True, slots=True)
class Amount:
    """How much data a training reads.

    Attributes:
        rows, dropped: examples, pairs or prompts that fit, and that do not.
        tokens: of a row on average; of a pair's two sequences together, of a prompt alone.
        supervised: of these with loss; beside a prompt, of its gold answer.
        sampled: rows that were looked at; 0 where there is no tokenizer.
        uncounted: why there are no tokens.
    """

    rows: int
    dropped: int = 0
    tokens: float = 0
    supervised: float = 0
    sampled: int = 0
    uncounted: str = ""


def amount_of(config: TrainingRecipe) -> Amount:
    """Count rows, and tokens of a sample where the tokenizer is here too.

    Raises:
        TablemendError: the data is not on this machine, or none of it fits.
    """
    for source in config.data.training_sources:
        if source.source.startswith(HUB):
            raise TablemendError(f"{source.source} is not fetched for a plan")
    check_local(*config.data.training_sources, command=config.task_of().makes)
    items, total = _items(config)
    from tablemend.backends.loading import has_tokenizer
    from tablemend.training import checkpoints

    path = config.model.path
    try:
        if not has_tokenizer(Checkpoint(path, config.model.revision)):
            raise TablemendError(
                f"the tokenizer of {path} is not on this machine, and a plan fetches nothing"
            )
        tokenizer = checkpoints.load_tokenizer(config.model, local_files_only=True)
    except TablemendError as error:
        return Amount(total, uncounted=f"tokens are not counted: {error}")
    drawing = isinstance(config, DrawingExperiment)
    if drawing and config.thinking == "on":  # no gold answer has it
        config = config.model_copy(update={"thinking": "empty"})

    def rows_of(item: Any, shown: Any) -> Sequence[Row]:
        if isinstance(item, Chat):
            return (render_chat(tokenizer, item),)
        if isinstance(shown, Pair):
            return render_pair(tokenizer, item, shown, config)
        with suppress(NoTarget):  # nothing can be taught from it
            return (render(tokenizer, item, shown, config),)
        return ()

    def length(rows: Sequence[Row]) -> int:  # of the longest sequence that is made of an item
        if isinstance(config, DrawingExperiment):
            return len(rows[0].prompt) + config.drawing.max_new_tokens
        return max(map(len, rows))

    looked_at = items[:: max(1, len(items) // SAMPLE)]
    rendered = [rows for item in looked_at if (rows := rows_of(*item))]
    fitting = [rows for rows in rendered if length(rows) <= config.longest_row]
    if not fitting:
        shortest = min(map(length, rendered), default=0)
        raise TablemendError(
            f"none of {len(looked_at)} rows looked at fits {config.longest_row} tokens, the "
            f"shortest has {shortest}: {to_fit(config.model, shortest)}"
        )
    count = round(total * len(fitting) / len(looked_at))
    supervised = fmean(sum(len(row.target) for row in each) for each in fitting)
    tokens = fmean(sum(map(len, each)) for each in fitting) - (supervised if drawing else 0)
    return Amount(count, total - count, tokens, supervised, len(looked_at))


def _items(config: TrainingRecipe) -> tuple[list[tuple[Any, Any]], int]:
    """Samples and how each is shown (a view, or a pair), or some; and how many there are in all."""
    train, samples, count = config.data.train, config.task_of().samples, None
    if isinstance(config, DpoExperiment):
        known = {sample.id: sample for sample in samples(config.data.train)}
        pairs = read_pairs(Path(config.dpo.pairs.path))
        own = [one for one in pairs if one.split == "train" and one.example_id in known]
        return [(known[pair.example_id], pair) for pair in own], len(own)
    if isinstance(train, Source) and train.source == SMALL_WORLD:  # not made whole for a plan
        assert train.n is not None  # refused by the configuration
        count = train.n * len(config.shown)
        train = train.model_copy(update={"n": min(train.n, SAMPLE)})
    items = [
        (one, view)
        for _, one in mixed(read_training(train, samples), train)
        for view in (("",) if isinstance(one, Chat) else config.shown_to(one.id))
    ]
    return items, count or len(items)
