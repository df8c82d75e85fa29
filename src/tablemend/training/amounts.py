"""How much data a training reads, for a plan: counted from a sample, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.loading import has_tokenizer
from tablemend.config import HUB, SMALL_WORLD, Source
from tablemend.errors import NoTarget, TablemendError
from tablemend.recipe.experiment import DpoExperiment, DrawingExperiment, Model, Trained
from tablemend.tasks.chats import Chat
from tablemend.tasks.sources import check_local, mixed, read_training
from tablemend.tasks.task import Sample
from tablemend.training import checkpoints
from tablemend.training.architectures import to_fit
from tablemend.training.data import Row, render, render_chat
from tablemend.training.pairs import read_pairs, render_pair

SAMPLE = 200
"""Examples, or pairs, that are rendered to find the length of rows."""
Render = Callable[[Tokenizer], Sequence[Row]]
"""Makes the row of an example, the two of a pair, or none."""


@dataclass(frozen=True, slots=True)
class Amount:
    """How much data a training reads.

    Attributes:
        rows: that fit, of all: examples, pairs or prompts.
        dropped: that do not.
        tokens: of a row on average; of a pair's two sequences together, of a prompt alone.
        supervised: of these with loss; beside a prompt, of its gold answer.
        sampled: rows that were looked at; 0 where there is no tokenizer: rows alone are counted
            then, and all are taken to fit.
        uncounted: why there are no tokens.
    """

    rows: int
    dropped: int = 0
    tokens: float = 0
    supervised: float = 0
    sampled: int = 0
    uncounted: str = ""


def amount_of(config: Trained) -> Amount:
    """Count rows, and tokens of a sample where the tokenizer is here too.

    Raises:
        TablemendError: the data is not on this machine, or none of it fits.
    """
    for source in config.data.training_sources:
        if source.source.startswith(HUB):
            raise TablemendError(f"{source.source} is not fetched for a plan")
    check_local(*config.data.training_sources, command=config.task_of().makes)
    renders, total = _pairs(config) if isinstance(config, DpoExperiment) else _samples(config)
    try:
        tokenizer = _tokenizer(config.model)
    except TablemendError as error:
        return Amount(total, uncounted=f"tokens are not counted: {error}")
    looked_at = renders[:: max(1, len(renders) // SAMPLE)]
    rendered = [rows for render in looked_at if (rows := render(tokenizer))]
    fitting = [rows for rows in rendered if _length(config, rows) <= config.longest_row]
    if not fitting:
        shortest = min((_length(config, rows) for rows in rendered), default=0)
        raise TablemendError(
            f"none of {len(looked_at)} rows looked at fits {config.longest_row} tokens, the "
            f"shortest has {shortest}: {to_fit(config.model, shortest)}"
        )
    count = round(total * len(fitting) / len(looked_at))
    supervised = fmean(sum(len(row.target) for row in each) for each in fitting)
    tokens = fmean(sum(map(len, each)) for each in fitting)
    if isinstance(config, DrawingExperiment):
        tokens -= supervised
    return Amount(count, total - count, tokens, supervised, len(looked_at))


def _tokenizer(model: Model) -> Tokenizer:
    """The model's, from its folder or from the cache that the Hub's downloads are kept in."""
    if not has_tokenizer(Checkpoint(model.path, model.revision)):
        raise TablemendError(
            f"the tokenizer of {model.path} is not on this machine, and a plan fetches nothing"
        )
    return checkpoints.load_tokenizer(model, local_files_only=True)


def _pairs(config: DpoExperiment) -> tuple[list[Render], int]:
    """The pairs that are trained on, and how many there are."""
    known = {sample.id: sample for sample in config.task_of().samples(config.data.train)}
    renders: list[Render] = [
        partial(render_pair, sample=known[pair.example_id], pair=pair, config=config)
        for pair in read_pairs(Path(config.dpo.pairs.path))
        if pair.split == "train" and pair.example_id in known
    ]
    return renders, len(renders)


def _samples(config: Trained) -> tuple[list[Render], int]:
    """The samples, as they are shown, or some of them; and how many there are in all."""
    train, task, count = config.data.train, config.task_of(), None
    if isinstance(config, DrawingExperiment) and config.thinking == "on":  # no gold answer has it
        config = config.model_copy(update={"thinking": "empty"})
    if isinstance(train, Source) and train.source == SMALL_WORLD:  # not made whole for a plan
        assert train.n is not None  # refused by the configuration
        count, train = (
            train.n * len(config.shown),
            train.model_copy(update={"n": min(train.n, SAMPLE)}),
        )
    renders: list[Render] = []
    for _, one in mixed(read_training(train, task.samples), train):
        views = ("",) if isinstance(one, Chat) else config.shown_to(one.id)
        renders += [partial(_gold, sample=one, view=view, config=config) for view in views]
    return renders, count or len(renders)


def _gold(tokenizer: Tokenizer, sample: Sample | Chat, view: str, config: Trained) -> Sequence[Row]:
    """The row of a gold answer; none where nothing can be taught."""
    if isinstance(sample, Chat):
        return (render_chat(tokenizer, sample),)
    with suppress(NoTarget):
        return (render(tokenizer, sample, view, config),)
    return ()


def _length(config: Trained, rows: Sequence[Row]) -> int:
    """Tokens of the longest sequence that a training makes of an item."""
    if isinstance(config, DrawingExperiment):
        return len(rows[0].prompt) + config.drawing.max_new_tokens
    return max(map(len, rows))
