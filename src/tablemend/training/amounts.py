"""How much data a training reads, for a plan: counted from a sample, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from huggingface_hub import try_to_load_from_cache
from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend.backends.checkpoints import local_folder
from tablemend.config import HUB, SMALL_WORLD
from tablemend.errors import NoTarget, TablemendError
from tablemend.recipe.experiment import DpoExperiment, Experiment, GrpoExperiment, Model, Trained
from tablemend.renderer import prompt_ids, target_ids
from tablemend.tasks.sources import check_local, mix, read_training
from tablemend.training import checkpoints
from tablemend.training.data import Row, render
from tablemend.training.mixtures import build_mixture
from tablemend.training.pairs import FILE, Pair, read_pairs

SAMPLE = 200
"""Examples, or pairs, that are rendered to find the length of rows."""
LONGEST = 20
"""Those with the most characters that are rendered to find the longest row."""

Item = tuple[Any, Any]
"""A sample and how it is shown, or a sample and a pair of answers to it."""


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
        per_sequence: rows in a sequence of a batch; more than one where they are packed.
        most: tokens of a sequence of a step, at the most, where the data says less than the recipe.
    """

    rows: int
    dropped: int = 0
    tokens: float = 0
    supervised: float = 0
    sampled: int = 0
    assumed: str = ""
    per_sequence: float = 1.0
    most: int | None = None


def amount_of(config: Trained) -> Amount:
    """Count rows, and tokens of a sample where the tokenizer is here too.

    Raises:
        TablemendError: the data is not on this machine, or none of it fits.
    """
    for source in config.data.training_sources:
        if source.source.startswith(HUB):
            raise TablemendError(f"{source.source} is not fetched for a plan")
    check_local(*config.data.training_sources, command=config.task_of().makes)
    try:
        tokenizer = _tokenizer(config.model)
    except TablemendError as error:
        return Amount(_rows(config), assumed=f"tokens are not counted: {error}")
    train, task, shown = config.data.train, config.task_of(), config.shown
    if isinstance(train, dict):
        assert isinstance(config, Experiment)
        mixed, _ = build_mixture(tokenizer, read_training(train, task.samples), config)
        rows = [(row,) for row in mixed.rows]
        total = len(rows) + sum(mixed.dropped.values())
        return _summary(config, rows, total, total, max(len(row) for (row,) in rows))
    pairs = _made(config)
    if pairs is not None:
        known = {one.id: one for one in task.samples(train)}
        items: list[Item] = [(known[p.example_id], p) for p in pairs if p.example_id in known]
        return _sampled(config, items, len(items), lambda item: _both(config, tokenizer, *item))
    generated = train.source == SMALL_WORLD  # and not read whole for a plan
    if generated:
        assert train.n is not None  # refused by the configuration
        count = train.n
        train = train.model_copy(update={"n": min(count, SAMPLE)})
    samples = task.samples(train)
    items = [(sample, view) for sample in samples for view in shown]
    total = count * len(shown) if generated else len(items)
    return _sampled(config, items, total, lambda item: _gold(config, tokenizer, *item))


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


def _rows(config: Trained) -> int:
    """How many rows there are, long ones too."""
    train, times, task = config.data.train, len(config.shown), config.task_of()
    if isinstance(train, dict):
        read = read_training(train, task.samples)
        sizes = {name: len(items) for name, items in read.items()}
        order = mix({name: part.share for name, part in train.items()}, sizes)
        return sum(1 if train[name].content == "messages" else times for name in order)
    if (made := _made(config)) is not None:
        return len(made)
    drawn = train.n if train.source == SMALL_WORLD else None  # for the training alone
    return times * (drawn or len(task.samples(train)))


def _made(config: Trained) -> list[Pair] | None:
    """The pairs to train on; ``None`` where they are not made yet, or no pairs are trained on."""
    if not isinstance(config, DpoExperiment):
        return None
    folder = Path(config.dpo.pairs.path)
    if not (folder / FILE).is_file():
        return None
    return [pair for pair in read_pairs(folder) if pair.split == "train"]


def _gold(config: Trained, tokenizer: Tokenizer, sample: Any, view: str) -> tuple[Row, ...]:
    """The row of a sample's gold answer, twice for a pair that is not made yet; none without it."""
    if isinstance(config, GrpoExperiment) and config.thinking == "on":  # which no gold answer has
        config = config.model_copy(update={"thinking": "empty"})
    with suppress(NoTarget):
        row = render(tokenizer, sample, view, config)
        return (row, row) if isinstance(config, DpoExperiment) else (row,)
    return ()


def _both(config: Trained, tokenizer: Tokenizer, sample: Any, pair: Pair) -> tuple[Row, ...]:
    """The two sequences of a pair (:func:`tablemend.training.preference.render`)."""
    messages = config.task_of().messages(sample, pair.context, config.train.prompt)
    prompt = tuple(prompt_ids(tokenizer, messages, config.thinking != "off"))
    answers = (pair.chosen, pair.rejected)
    return tuple(Row(prompt, tuple(target_ids(tokenizer, answer))) for answer in answers)


def _length(config: Trained, rows: Sequence[Row]) -> int:
    """Tokens of the longest sequence that a training makes of an item."""
    if isinstance(config, GrpoExperiment):
        return len(rows[0].prompt) + config.grpo.max_new_tokens
    return max(map(len, rows))


def _sampled(
    config: Trained,
    items: Sequence[Item],
    total: int,
    rows_of: Callable[[Item], tuple[Row, ...]],
) -> Amount:
    """What some of the items, and those with the most characters, say of all."""
    task = config.task_of()

    def characters(item: Item) -> int:
        sample, shown = item
        view = shown.context if isinstance(shown, Pair) else shown
        chat = task.messages(sample, view, config.train.prompt)
        answers = (shown.chosen, shown.rejected) if isinstance(shown, Pair) else ("",)
        return sum(len(turn["content"]) for turn in chat) + max(map(len, answers))

    chosen = items[:: max(1, len(items) // SAMPLE)]
    rendered = [rows for item in chosen if (rows := rows_of(item))]
    fitting = [rows for rows in rendered if _length(config, rows) <= config.longest_row]
    if not fitting:
        raise TablemendError(
            f"none of {len(chosen)} rows looked at fits {config.longest_row} tokens"
        )
    most = None
    not_made = isinstance(config, DpoExperiment) and not isinstance(items[0][1], Pair)
    if total == len(items) and not not_made:
        longest = [
            rows for item in sorted(items, key=characters)[-LONGEST:] if (rows := rows_of(item))
        ]
        most = max((_length(config, rows) for rows in longest), default=None)
        if most is not None and most > config.longest_row:
            most = None  # some are dropped, and so what the recipe allows is full
    return _summary(config, fitting, total, len(chosen), most)


def _summary(
    config: Trained,
    fitting: Sequence[tuple[Row, ...]],
    total: int,
    looked_at: int,
    most: int | None,
) -> Amount:
    rows = round(total * len(fitting) / looked_at)
    supervised = fmean(sum(len(row.target) for row in each) for each in fitting)
    tokens = fmean(sum(map(len, each)) for each in fitting)
    assumed = ""
    if isinstance(config, DpoExperiment) and _made(config) is None:
        assumed = (
            f"no pairs in {config.dpo.pairs.path} yet, so a pair for each prompt is taken, with "
            "two answers as long as gold"
        )
    return Amount(
        rows=rows,
        dropped=total - rows,
        tokens=tokens - supervised if isinstance(config, GrpoExperiment) else tokens,
        supervised=supervised,
        sampled=looked_at,
        assumed=assumed,
        per_sequence=_per_sequence([row for each in fitting for row in each], config),
        most=None if config.train.packing else most,
    )


def _per_sequence(rows: Sequence[Row], config: Trained) -> float:
    """Rows in a packed one, as TRL packs them for the training."""
    if not config.train.packing:
        return 1.0
    from datasets import Dataset, disable_progress_bars
    from trl import pack_dataset

    disable_progress_bars()
    ids = Dataset.from_dict({"input_ids": [[0] * len(row) for row in rows]})
    return len(rows) / len(pack_dataset(ids, config.longest_row, "bfd"))
