"""How much data a training reads, for a plan: counted from a sample, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from huggingface_hub import try_to_load_from_cache
from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend.backends.checkpoints import local_folder
from tablemend.config import HUB, SMALL_WORLD, Source
from tablemend.errors import NoTarget, TablemendError
from tablemend.recipe.experiment import DpoExperiment, GrpoExperiment, Model, Trained
from tablemend.tasks.chats import Chat
from tablemend.tasks.sources import check_local, mixed, read_training
from tablemend.tasks.task import Sample
from tablemend.training import checkpoints
from tablemend.training.data import Row, render, render_chat
from tablemend.training.pairs import FILE, Pair, read_pairs, render_pair

SAMPLE = 200
"""Examples, or pairs, that are rendered to find the length of rows."""


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
        assumed: what was taken for something that is not there yet.
    """

    rows: int
    dropped: int = 0
    tokens: float = 0
    supervised: float = 0
    sampled: int = 0
    assumed: str = ""


class Item(NamedTuple):
    """What one row, or one pair of rows, is made of."""

    sample: Sample | Chat
    view: str = ""
    pair: Pair | None = None


def amount_of(config: Trained) -> Amount:
    """Count rows, and tokens of a sample where the tokenizer is here too.

    Raises:
        TablemendError: the data is not on this machine, or none of it fits.
    """
    for source in config.data.training_sources:
        if source.source.startswith(HUB):
            raise TablemendError(f"{source.source} is not fetched for a plan")
    check_local(*config.data.training_sources, command=config.task_of().makes)
    items, total, assumed = _items(config)
    try:
        tokenizer = _tokenizer(config.model)
    except TablemendError as error:
        return Amount(total, assumed=f"tokens are not counted: {error}")
    looked_at = items[:: max(1, len(items) // SAMPLE)]
    rendered = [rows for item in looked_at if (rows := _rows(config, tokenizer, item))]
    fitting = [rows for rows in rendered if _length(config, rows) <= config.longest_row]
    if not fitting:
        raise TablemendError(
            f"none of {len(looked_at)} rows looked at fits {config.longest_row} tokens"
        )
    count = round(total * len(fitting) / len(looked_at))
    supervised = fmean(sum(len(row.target) for row in each) for each in fitting)
    tokens = fmean(sum(map(len, each)) for each in fitting)
    if isinstance(config, GrpoExperiment):
        tokens -= supervised
    return Amount(count, total - count, tokens, supervised, len(looked_at), assumed)


def _tokenizer(model: Model) -> Tokenizer:
    """The model's, from its folder or from the cache that the Hub's downloads are kept in."""
    name, revision = model.path, model.revision
    if local_folder(name) is None and not isinstance(
        try_to_load_from_cache(name, "tokenizer_config.json", revision=revision), str
    ):
        raise TablemendError(
            f"the tokenizer of {name} is not on this machine, and a plan fetches nothing"
        )
    return checkpoints.load_tokenizer(model, local_files_only=True)


def _items(config: Trained) -> tuple[list[Item], int, str]:
    """What rows are made of, how many there are in all, and what was assumed of them."""
    train, task, assumed = config.data.train, config.task_of(), ""
    if isinstance(config, DpoExperiment):
        folder = Path(config.dpo.pairs.path)
        if (folder / FILE).is_file():
            known = {sample.id: sample for sample in task.samples(config.data.train)}
            items = [
                Item(known[pair.example_id], pair.context, pair)
                for pair in read_pairs(folder)
                if pair.split == "train" and pair.example_id in known
            ]
            return items, len(items), ""
        assumed = (
            f"no pairs in {folder} yet, so a pair for each prompt is taken, with two answers as "
            "long as gold"
        )
    count = None
    if isinstance(train, Source) and train.source == SMALL_WORLD:  # not made whole for a plan
        assert train.n is not None  # refused by the configuration
        count, train = train.n, train.model_copy(update={"n": min(train.n, SAMPLE)})
    items = []
    for _, one in mixed(read_training(train, task.samples), train):
        items += [Item(one)] if isinstance(one, Chat) else [Item(one, v) for v in config.shown]
    return items, len(items) if count is None else count * len(config.shown), assumed


def _rows(config: Trained, tokenizer: Tokenizer, item: Item) -> Sequence[Row]:
    """The rows of an item: the gold answer's, twice for a pair that is not made yet."""
    if isinstance(item.sample, Chat):
        return (render_chat(tokenizer, item.sample),)
    if item.pair is not None:
        return render_pair(tokenizer, item.sample, item.pair, config)
    if isinstance(config, GrpoExperiment) and config.thinking == "on":  # which no gold answer has
        config = config.model_copy(update={"thinking": "empty"})
    with suppress(NoTarget):
        row = render(tokenizer, item.sample, item.view, config)
        return (row, row) if isinstance(config, DpoExperiment) else (row,)
    return ()


def _length(config: Trained, rows: Sequence[Row]) -> int:
    """Tokens of the longest sequence that a training makes of an item."""
    if isinstance(config, GrpoExperiment):
        return len(rows[0].prompt) + config.grpo.max_new_tokens
    return max(map(len, rows))
