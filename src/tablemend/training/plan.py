"""The plan as text, below the configuration that ``--check`` prints."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tablemend.backends.checkpoints import local_folder
from tablemend.config import HUB, SMALL_WORLD, Experiment
from tablemend.config.experiment import Trained
from tablemend.errors import TablemendError
from tablemend.tasks.sources import check_local, read_examples, read_training
from tablemend.training import checkpoints, planner
from tablemend.training.data import Row, build_mixture, build_rows, contexts
from tablemend.training.planner import CARDS, GIB, STRATEGIES, Memory, Plans, Strategy
from tablemend.training.shapes import config_of

SAMPLE = 200
"""Examples that are rendered to find the length of rows."""


@dataclass(frozen=True, slots=True)
class Amount:
    """How much data a training reads.

    Attributes:
        rows: that fit, of all.
        dropped: that do not.
        tokens, supervised: of a row, on average.
        longest: of the rows that fit.
        sampled: rows that were looked at.
    """

    rows: int
    dropped: int
    tokens: float
    supervised: float
    longest: int
    sampled: int


def lines(config: Trained) -> Iterator[str]:
    """The plan, a line at a time.

    Raises:
        TablemendError: the architecture of model.path is not known here.
    """
    architecture = config_of(config.model.path)
    window = architecture.get_text_config().max_position_embeddings
    if config.model.context_length > window:
        raise TablemendError(
            f"model.context_length={config.model.context_length} is longer than the window of "
            f"{config.model.path}, {window} tokens: lower it"
        )
    train, plans = config.train, Plans(architecture)
    counts = plans.counts(config)
    adapters = f" (r {train.lora.r})" if train.lora else ""
    kept = "with" if train.gradient_checkpointing else "without"
    yield (
        f"plan: {train.method}{adapters} of {config.model.path}, {train.micro_batch} x "
        f"{config.longest_row} tokens a GPU and pass, {kept} gradient checkpointing, "
        f"{train.precision}"
    )
    yield (
        f"weights: {counts.total:,}, of which {counts.trained:,} train "
        f"({counts.trained / counts.total:.2%})"
    )
    yield from _data_lines(config)
    yield "memory in GiB on each GPU, for rows of the greatest length:"
    yield (
        f"{'launch':<14}{'GPUs':>5}{'weights':>9}{'gradients':>11}{'optimizer':>11}{'buffers':>9}"
        f"{'activations':>13}{'logits':>8}{'total':>8}  fits on"
    )
    found = {each: _memory(config, plans, each) for each in STRATEGIES}
    for strategy, memory in found.items():
        yield _row(config, strategy, memory)
    yield from _other_checkpointing(config, plans)
    yield from _advice(config, plans, found)


def _memory(config: Trained, plans: Plans, strategy: Strategy) -> Memory | None:
    """``None`` for a launch that is refused."""
    if config.train.method == "qlora" and "weights" in strategy.shards:
        return None
    return plans.memory(config, strategy)


def _row(config: Trained, strategy: Strategy, memory: Memory | None) -> str:
    name = f"{strategy.config:<14}{strategy.gpus:>5}"
    if memory is None:
        return f"{name}  refused: train.method=qlora keeps whole weights on every GPU"
    parts = (memory.weights, memory.gradients, memory.optimizer, memory.buffers)
    numbers = [f"{part / GIB:.2f}" for part in (*parts, memory.activations, memory.logits)]
    widths = (9, 11, 11, 9, 13, 8)
    cells = "".join(f"{number:>{width}}" for number, width in zip(numbers, widths, strict=True))
    where = f"{memory.card} GB" if memory.card else f"none up to {max(CARDS)} GB"
    host = f"; and {memory.host / GIB:.0f} GiB of the machine's memory" if memory.host else ""
    at_once = config.train.micro_batch * strategy.gpus
    uneven = config.train.global_batch % at_once
    batch = f"; train.global_batch is no multiple of {at_once}" if uneven else ""
    return f"{name}{cells}{memory.total / GIB:>8.2f}  {where}{host}{batch}"


def _other_checkpointing(config: Trained, plans: Plans) -> Iterator[str]:
    other = not config.train.gradient_checkpointing
    train = config.train.model_copy(update={"gradient_checkpointing": other})
    memory = _memory(config.model_copy(update={"train": train}), plans, STRATEGIES[0])
    assert memory is not None
    yield (
        f"with train.gradient_checkpointing={str(other).lower()}: activations "
        f"{memory.activations / GIB:.2f}, total {memory.total / GIB:.2f} ({STRATEGIES[0].config})"
    )


def _advice(config: Trained, plans: Plans, found: dict[Strategy, Memory | None]) -> Iterator[str]:
    """For each card that one GPU of is too small: what else fits on it."""
    single = found[STRATEGIES[0]]
    assert single is not None
    smaller: list[tuple[str, Memory]] = []
    steps = planner.changes(config)
    for card in sorted(CARDS, reverse=True):
        if single.fits(card):
            continue
        while not (smaller and smaller[-1][1].fits(card)):
            change = next(steps, None)
            if change is None:
                break
            memory = _memory(change.config, plans, STRATEGIES[0])
            assert memory is not None
            smaller.append((shlex.join(change.overrides), memory))
        ways = [
            f"{strategy.gpus} GPUs with {strategy.config}"
            for strategy, memory in found.items()
            if memory is not None and strategy.gpus > 1 and memory.fits(card)
        ]
        one = next((each for each in smaller if each[1].fits(card)), None)
        if one is not None:
            ways.insert(0, f"one GPU with {one[0]} ({one[1].total / GIB:.1f})")
        yield f"{card} GB: " + ("; or ".join(ways) if ways else "not with anything above")


def _data_lines(config: Trained) -> Iterator[str]:
    train = config.train
    formula = (
        f"{train.max_steps} steps"
        if train.max_steps
        else f"rows x {train.epochs:g} / {train.global_batch} steps"
    )
    until = f", at most {train.minutes:g} minutes" if train.minutes else ""
    try:
        amount = amount_of(config)
    except TablemendError as error:
        yield f"data: {formula}, tokens a row x {train.global_batch} a step{until}"
        yield f"data: not counted: {error}"
        return
    if train.max_steps:
        steps = train.max_steps
    else:
        assert train.epochs is not None
        steps = math.ceil(math.ceil(amount.rows / train.global_batch) * train.epochs)
    about = "about " if amount.sampled < amount.rows + amount.dropped else ""
    yield (
        f"data: {about}{amount.rows} rows ({amount.dropped} too long) of {amount.tokens:.0f} "
        f"tokens on average, {amount.supervised:.0f} with loss, the longest {amount.longest} "
        f"({amount.sampled} looked at)"
    )
    tokens = steps * train.global_batch * amount.tokens
    yield f"steps: {steps} of {train.global_batch} rows, {about}{tokens / 1e6:.2f} M tokens{until}"


def amount_of(config: Trained) -> Amount:
    """Count rows and tokens, from a sample; nothing is fetched.

    Raises:
        TablemendError: tokenizer or data are not on this machine, or the stage makes its own rows.
    """
    if not isinstance(config, Experiment):
        raise TablemendError(f"a training of kind {config.kind} makes its rows as it runs")
    if local_folder(config.model.path) is None:
        raise TablemendError(f"the tokenizer of {config.model.path} is not fetched for a plan")
    for source in config.data.training_sources:
        if source.source.startswith(HUB):
            raise TablemendError(f"{source.source} is not fetched for a plan")
    check_local(*config.data.training_sources)
    tokenizer = checkpoints.load_tokenizer(config.model)
    train = config.data.train
    if isinstance(train, dict):
        mixed, _ = build_mixture(tokenizer, read_training(train), config)
        return _amount(mixed.rows, len(mixed.rows), sum(mixed.dropped.values()), len(mixed.rows))
    if train.source == SMALL_WORLD:
        assert train.n is not None  # refused by the configuration
        total = train.n
        chosen = read_examples(train.model_copy(update={"n": min(total, SAMPLE)}))
    else:
        examples = read_examples(train)
        total = len(examples)
        chosen = examples[:: max(1, total // SAMPLE)]
    built = build_rows(tokenizer, chosen, config)
    looked_at = len(chosen) * len(contexts(config))
    times = total * len(contexts(config))
    rows = round(times * len(built.rows) / looked_at)
    return _amount(built.rows, rows, times - rows, looked_at)


def _amount(looked_at: Sequence[Row], rows: int, dropped: int, sampled: int) -> Amount:
    return Amount(
        rows=rows,
        dropped=dropped,
        tokens=sum(map(len, looked_at)) / len(looked_at),
        supervised=sum(len(row.target) for row in looked_at) / len(looked_at),
        longest=max(map(len, looked_at)),
        sampled=sampled,
    )


def print_plan(config: Trained) -> None:
    """Print it as comments, so that what ``--check`` prints is still a recipe.

    A plan that cannot be made is said in its place: the configuration is valid all the same.
    """
    try:
        for line in lines(config):
            print(f"# {line}", flush=True)
    except TablemendError as error:
        print(f"# no plan: {error}")
