"""Supervised fine-tuning, phase by phase; ``train/sft.py`` tells them in order."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from unicodedata import is_normalized

from datasets import Dataset, Features, List, Value
from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend.errors import NoTarget, TablemendError
from tablemend.recipe.experiment import Experiment, SftCommand
from tablemend.runs import Run, hash_text, say
from tablemend.runs.store import differences
from tablemend.tasks.chats import Chat
from tablemend.tasks.sources import read_training
from tablemend.tasks.task import Sample
from tablemend.training.adapters import PROMPTS
from tablemend.training.arguments import sft_arguments
from tablemend.training.data import (
    CHECKED,
    Row,
    build_mixture,
    build_rows,
    check_end_of_turn,
    check_prompt,
    check_row,
    content_hash,
    read_validation,
    render,
    render_chat,
    show,
)
from tablemend.training.models import trainer_parts
from tablemend.training.phases import Method, Prepared
from tablemend.training.run_folder import checkpoints_of
from tablemend.training.trainer import Trainer


def prepare(config: Experiment, run: Run, tokenizer: Tokenizer) -> Prepared:
    """Read, render and verify the data.

    Raises:
        TablemendError: no data, shared tables, other prompts, or ids that are not what they say.
    """
    check_end_of_turn(tokenizer)
    say(f"reading {', '.join(source.source for source in config.data.training_sources)}")
    task = config.task_of()
    sources = read_training(config.data.train, task.samples)
    items = [item for found in sources.values() for item in found]
    say(f"tokenising {len(items):,} rows")
    examples = [item for item in items if not isinstance(item, Chat)]
    validation = read_validation(config, items)
    _check_first(config, tokenizer, examples[:CHECKED])
    _check_chats(config, tokenizer, [item for item in items if isinstance(item, Chat)])
    built, parts = build_mixture(tokenizer, sources, config)
    held_out = build_rows(tokenizer, validation, config, "validation") if validation else None
    most = config.evaluation.max_new_tokens
    if built.longest_answer > most:
        warnings.warn(
            f"the longest training target has {built.longest_answer} tokens, "
            f"evaluation.max_new_tokens is {most}: answers like it will be cut",
            stacklevel=2,
        )
    facts = {
        "examples": sum(part["used"] for part in parts.values()),
        **({"parts": parts} if isinstance(config.data.train, dict) else {}),
        "rows": len(built.rows),
        "dropped": dict(built.dropped),
        "rows_hash": content_hash(built.rows),
        "template_hash": hash_text(str(tokenizer.chat_template)),
        **task.versions(),
    }
    prompts = [row.prompt for row in built.rows[:PROMPTS]]
    return Prepared(built.rows, held_out.rows if held_out else None, prompts, facts)


def _check_first(config: Experiment, tokenizer: Tokenizer, examples: Sequence[Sample]) -> None:
    """The masks of the first rows, and their prompts against those of every fine-tuned system."""
    for example, view in ((one, view) for one in examples for view in config.shown_to(one.id)):
        with suppress(NoTarget):  # counted when the rows are built
            row = render(tokenizer, example, view, config)
            check_row(tokenizer, row, config.task_of().target(example, view, config.thinking))
            check_prompt(tokenizer, example, view, row.prompt, config)


def _check_chats(config: Experiment, tokenizer: Tokenizer, chats: Sequence[Chat]) -> None:
    """Prompts of own answers, masks of the first chats; composed text does not come back."""
    for chat in chats:
        if chat.made_with and (found := differences(chat.made_with, config.prompt_settings)):
            raise TablemendError(
                f"data.train: answers to other prompts ({'; '.join(found)}): set what differs as "
                "it was, or make them again (data_gen/preference.py)"
            )
    for chat in chats[:CHECKED]:
        row = render_chat(tokenizer, chat)
        if is_normalized("NFC", chat.answer) and row.target.count(row.target[-1]) == 1:
            check_row(tokenizer, row, chat.answer)


def build_trainer(
    config: Experiment, run: Run, tokenizer: Tokenizer, prepared: Prepared
) -> Trainer:
    """Load the model and put it, the rows and the schedule into a Trainer."""
    validation = prepared.validation
    folder = str(checkpoints_of(run, config.stage))
    arguments = sft_arguments(config, folder, validate=validation is not None)
    return Trainer(
        train_dataset=as_dataset(prepared.train),
        eval_dataset=as_dataset(validation) if validation is not None else None,
        **trainer_parts(config, tokenizer, arguments),
    )


def as_dataset(rows: Sequence[Row]) -> Dataset:
    """The columns that SFTTrainer takes from data that is tokenised already."""
    ids = List(Value("int32"))
    return Dataset.from_dict(
        {"input_ids": [row.input_ids for row in rows], "labels": [row.labels for row in rows]},
        features=Features({"input_ids": ids, "labels": ids}),
    )


def _show(config: SftCommand, tokenizer: Tokenizer) -> Iterator[str]:
    for row in prepare(config, Run.of(config), tokenizer).train[: config.show]:
        yield show(tokenizer, row)


METHOD = Method(prepare, build_trainer, _show)
