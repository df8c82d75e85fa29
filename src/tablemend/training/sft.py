"""Supervised fine-tuning, phase by phase; ``train/sft.py`` tells them in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from accelerate import PartialState
from datasets import Dataset, Features, List, Value
from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend.config import HUB, Experiment
from tablemend.records import Example
from tablemend.renderer import prompt_ids
from tablemend.runs import Run, hash_text
from tablemend.tasks import tablehallu
from tablemend.tasks.sources import read_examples
from tablemend.training.arguments import sft_arguments
from tablemend.training.budget import Budget
from tablemend.training.data import (
    Row,
    Rows,
    build_rows,
    check_end_of_turn,
    check_rows,
    contexts,
    refuse_shared_tables,
    render,
)
from tablemend.training.models import lora_config, trainable_model
from tablemend.training.stage import checkpoints_of
from tablemend.training.trainer import Trainer

CHECKED_ROWS = 32
"""Rows whose masks and prefixes are verified before every training."""


@dataclass(frozen=True)
class Prepared:
    """The training data as ids, verified.

    Attributes:
        train, validation: rows; validation is ``None`` where the recipe has none.
        facts: what the manifest says of them.
    """

    train: Rows
    validation: Rows | None
    facts: dict[str, Any]


def prepare(config: Experiment, tokenizer: Tokenizer) -> Prepared:
    """Read, render and verify the data.

    Raises:
        TablemendError: no data, shared tables, or ids that do not say what they should.
    """
    check_end_of_turn(tokenizer)
    examples = read_examples(config.data.train)
    validation = read_examples(config.data.validation) if config.data.validation else None
    if validation is not None:
        refuse_shared_tables(examples, validation, "validation")
    if PartialState().is_main_process and not _is_remote(config):
        refuse_shared_tables(examples, read_examples(config.data.test), "test")
    _check_first(config, tokenizer, examples[:CHECKED_ROWS])
    rows = build_rows(tokenizer, examples, config)
    held_out = build_rows(tokenizer, validation, config) if validation is not None else None
    facts = {
        "examples": len(examples),
        "rows": len(rows.rows),
        "dropped": dict(rows.dropped),
        "rows_hash": rows.content_hash(),
        "template_hash": hash_text(str(tokenizer.chat_template)),
        "prompt_hash": tablehallu.prompt_hash(),
    }
    return Prepared(rows, held_out, facts)


def _is_remote(config: Experiment) -> bool:
    return config.data.test.source.startswith(HUB)


def _check_first(config: Experiment, tokenizer: Tokenizer, examples: Sequence[Example]) -> None:
    """The masks of the first rows, and their prefixes against every fine-tuned arm's prompts."""
    arms = [
        arm
        for arm in config.evaluation.arms.values()
        if arm.model == config.stage and not arm.after
    ]
    for kind in contexts(config):
        rows = [render(tokenizer, example, kind, config) for example in examples]
        targets = [
            tablehallu.target(example, kind, config.thinking, config.format) for example in examples
        ]
        check_rows(tokenizer, rows, targets)
        for example, row in zip(examples, rows, strict=True):
            for arm in arms:
                chat = tablehallu.messages(example, kind, arm.prompt, config.format)
                prompt = prompt_ids(tokenizer, chat, config.thinking_of(arm) != "off")
                assert row.input_ids[: len(prompt)] == prompt, "training prefix is not the prompt"


def build_trainer(
    config: Experiment, run: Run, tokenizer: Tokenizer, prepared: Prepared
) -> Trainer:
    """Load the model and put it, the rows and the schedule into a Trainer."""
    model = trainable_model(config)
    state = PartialState()
    folder = str(checkpoints_of(run, config.stage))
    validate = prepared.validation is not None
    arguments = sft_arguments(config, folder, state.num_processes, validate)
    return Trainer(
        recipe=config.train,
        budget=Budget(config.train.minutes),
        model=model,
        args=arguments,
        train_dataset=as_dataset(prepared.train.rows),
        eval_dataset=as_dataset(prepared.validation.rows) if prepared.validation else None,
        processing_class=tokenizer,
        peft_config=lora_config(config.train.lora) if config.train.lora else None,
    )


def as_dataset(rows: Sequence[Row]) -> Dataset:
    """The columns that SFTTrainer takes from data that is tokenised already."""
    ids = List(Value("int32"))
    return Dataset.from_dict(
        {"input_ids": [row.input_ids for row in rows], "labels": [row.labels for row in rows]},
        features=Features({"input_ids": ids, "labels": ids}),
    )
