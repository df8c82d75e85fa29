"""How much data a training reads, for a plan: counted from a sample, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from huggingface_hub import try_to_load_from_cache
from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend.backends.checkpoints import local_folder
from tablemend.config import HUB, SMALL_WORLD, Source
from tablemend.errors import NoTarget, TablemendError
from tablemend.recipe.experiment import DpoExperiment, Experiment, GrpoExperiment, Model, Trained
from tablemend.renderer import prompt_ids, target_ids
from tablemend.tasks.sources import check_local, mix, read_training
from tablemend.tasks.task import Sample
from tablemend.training import checkpoints
from tablemend.training.data import Row, build_mixture, build_rows
from tablemend.training.pairs import FILE, Pair, read_pairs

SAMPLE = 200
"""Examples, or pairs, that are rendered to find the length of rows."""
LONGEST = 20
"""Those with the most characters that are rendered to find the longest row."""


@dataclass(frozen=True, slots=True)
class Amount:
    """How much data a training reads.

    Attributes:
        rows: that fit, of all: examples, pairs or prompts.
        dropped: that do not.
        tokens: of a row on average; of a pair's two sequences together, of a prompt alone.
        supervised: of these with loss; beside a prompt, of its gold answer.
        longest: sequence of the rows that fit and were looked at.
        sampled: rows that were looked at; 0 where there is no tokenizer: rows alone are counted
            then, and all are taken to fit.
        assumed: what was taken for something that is not there yet.
        per_sequence: rows in a sequence of a batch; more than one where they are packed.
        most: tokens of a sequence of a step, at the most, where the data says less than the recipe.
    """

    rows: int
    dropped: int
    tokens: float
    supervised: float
    longest: int
    sampled: int
    assumed: str = ""
    per_sequence: float = 1.0
    most: int | None = None


def amount_of(config: Trained) -> Amount:
    """Count rows, and tokens of a sample where the tokenizer is here too; nothing is fetched.

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
        return Amount(_rows(config), 0, 0, 0, 0, 0, f"tokens are not counted: {error}")
    if isinstance(config, DpoExperiment):
        return _pairs(config, tokenizer)
    if isinstance(config, GrpoExperiment):
        return _prompts(config, tokenizer)
    assert isinstance(config, Experiment)
    train = config.data.train
    if isinstance(train, dict):
        items = read_training(train, config.task_of().samples)
        mixed, _ = build_mixture(tokenizer, items, config)
        rows, dropped = len(mixed.rows), sum(mixed.dropped.values())
        found = _amount(mixed.rows, rows, dropped, rows + dropped)
        most = None if config.train.packing else found.longest
        return replace(found, per_sequence=_per_sequence(mixed.rows, config), most=most)
    return _examples(config, train, tokenizer)


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
    if isinstance(config, DpoExperiment) and (made := _made(config)) is not None:
        return len(made)
    drawn = train.n if train.source == SMALL_WORLD else None  # for the training alone
    return times * (drawn or len(task.samples(train)))


def _made(config: DpoExperiment) -> list[Pair] | None:
    """The pairs to train on; ``None`` where they are not made yet."""
    folder = Path(config.dpo.pairs.path)
    if not (folder / FILE).is_file():
        return None
    return [pair for pair in read_pairs(folder) if pair.split == "train"]


def _examples(
    config: Trained, train: Source, tokenizer: Tokenizer, longest_prompt: int | None = None
) -> Amount:
    """Every example with its gold target; where its prompt is not too long."""
    task = config.task_of()
    most: int | None = None
    if train.source == SMALL_WORLD:  # generated, and not read whole for a plan
        assert train.n is not None  # refused by the configuration
        total = train.n
        chosen = task.samples(train.model_copy(update={"n": min(total, SAMPLE)}))
    else:
        examples = task.samples(train)
        total = len(examples)
        chosen = examples[:: max(1, total // SAMPLE)]
        most = _most(examples, config, tokenizer)
    built = build_rows(tokenizer, chosen, config)
    rows = built.rows
    if longest_prompt is not None:
        rows = [row for row in rows if len(row.prompt) <= longest_prompt]
    if not rows:
        raise TablemendError(f"no prompt of {len(chosen)} looked at fits {longest_prompt} tokens")
    times = len(config.shown)
    found = _scaled(rows, len(chosen) * times, total * times)
    return replace(found, per_sequence=_per_sequence(rows, config), most=most)


def _most(examples: Sequence[Sample], config: Trained, tokenizer: Tokenizer) -> int | None:
    """Tokens of the longest row, which is among those with the most characters; ``None`` where
    some are dropped, and so what the recipe allows is full, or where rows are packed until it is.
    """
    by_length = sorted(
        examples,
        key=lambda each: -max(_characters(config, each, view) for view in config.shown),
    )
    longest = list(islice(_taught(by_length, config), LONGEST))
    if not longest:
        return None
    built = build_rows(tokenizer, longest, config)
    if built.dropped or config.train.packing:
        return None
    if isinstance(config, GrpoExperiment):
        most = max(len(row.prompt) for row in built.rows) + config.grpo.max_new_tokens
        return min(most, config.longest_row)
    return max(map(len, built.rows))


def _taught(samples: Iterable[Sample], config: Trained) -> Iterator[Sample]:
    """Samples that something can be taught from."""
    task = config.task_of()
    for sample in samples:
        with suppress(NoTarget):
            for view in config.shown:
                task.target(sample, view, config.thinking)
            yield sample


def _per_sequence(rows: Sequence[Row], config: Trained) -> float:
    """Rows in a packed one, as TRL packs them for the training."""
    if not config.train.packing:
        return 1.0
    from datasets import Dataset, disable_progress_bars
    from trl import pack_dataset

    disable_progress_bars()
    ids = Dataset.from_dict({"input_ids": [[0] * len(row) for row in rows]})
    return len(rows) / len(pack_dataset(ids, config.longest_row, "bfd"))


def _pairs(config: DpoExperiment, tokenizer: Tokenizer) -> Amount:
    """The pairs; where they are not made yet, gold beside an answer as long."""
    folder = Path(config.dpo.pairs.path)
    pairs = _made(config)
    if pairs is None:
        gold = _examples(config, config.data.train, tokenizer)
        return replace(
            gold,
            tokens=2 * gold.tokens,
            supervised=2 * gold.supervised,
            most=None,  # drawn answers may be as long as they are let
            assumed=f"no pairs in {folder} yet, so a pair for each prompt is taken, with two "
            "answers as long as gold",
        )
    known = {one.id: one for one in config.task_of().samples(config.data.train)}
    chosen = pairs[:: max(1, len(pairs) // SAMPLE)]
    rendered = [
        _both(config, tokenizer, known[pair.example_id], pair)
        for pair in chosen
        if pair.example_id in known
    ]
    fitting = [each for each in rendered if max(map(len, each)) <= config.longest_row]
    if not fitting:
        raise TablemendError(
            f"no pair of {len(chosen)} looked at in {folder} is of data.train and fits"
        )
    found = _scaled([row for each in fitting for row in each], 2 * len(chosen), 2 * len(pairs))
    long = sorted(
        (pair for pair in pairs if pair.example_id in known),
        key=lambda pair: (
            -(
                _characters(config, known[pair.example_id], pair.context)
                + max(len(pair.chosen), len(pair.rejected))
            )
        ),
    )
    rows = [_both(config, tokenizer, known[pair.example_id], pair) for pair in long[:LONGEST]]
    most = max(len(row) for pair in rows for row in pair)
    return replace(
        found,
        most=min(most, config.longest_row),
        rows=found.rows // 2,
        dropped=len(pairs) - found.rows // 2,
        tokens=2 * found.tokens,
        supervised=2 * found.supervised,
        sampled=len(chosen),
    )


def _characters(config: Trained, sample: Sample, view: str) -> int:
    """Length of a prompt."""
    chat = config.task_of().messages(sample, view, config.train.prompt)
    return sum(len(turn["content"]) for turn in chat)


def _both(
    config: DpoExperiment, tokenizer: Tokenizer, sample: Sample, pair: Pair
) -> tuple[Row, Row]:
    """The two sequences of a pair (:func:`tablemend.training.preference.render`)."""
    messages = config.task_of().messages(sample, pair.context, config.train.prompt)
    prompt = tuple(prompt_ids(tokenizer, messages, config.thinking != "off"))
    chosen, rejected = (
        Row(prompt, tuple(target_ids(tokenizer, answer))) for answer in (pair.chosen, pair.rejected)
    )
    return chosen, rejected


def _prompts(config: GrpoExperiment, tokenizer: Tokenizer) -> Amount:
    """The prompts that leave room for the longest answer, and their gold answers."""
    room = config.longest_row - config.grpo.max_new_tokens
    if config.thinking == "on":  # the model's own, which no gold answer has
        config = config.model_copy(update={"thinking": "empty"})
    found = _examples(config, config.data.train, tokenizer, room)
    return replace(found, tokens=found.tokens - found.supervised)


def _scaled(rows: Sequence[Row], looked_at: int, total: int) -> Amount:
    """What a sample says of all."""
    fitting = round(total * len(rows) / looked_at)
    return _amount(rows, fitting, total - fitting, looked_at)


def _amount(looked_at: Sequence[Row], rows: int, dropped: int, sampled: int) -> Amount:
    return Amount(
        rows=rows,
        dropped=dropped,
        tokens=sum(map(len, looked_at)) / len(looked_at),
        supervised=sum(len(row.target) for row in looked_at) / len(looked_at),
        longest=max(map(len, looked_at)),
        sampled=sampled,
    )
