"""Supervised fine-tuning, phase by phase; ``train/sft.py`` tells them in order."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from unicodedata import is_normalized

from datasets import Dataset, Features, List, Value, concatenate_datasets
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase as Tokenizer
from trl import SFTConfig, SFTTrainer
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from tablemend.errors import NoTarget, TablemendError
from tablemend.recipe.experiment import Experiment, SftCommand
from tablemend.runs import Run, hash_text, say
from tablemend.runs.store import differences
from tablemend.tasks.sources import Chat, read_training
from tablemend.tasks.task import Sample
from tablemend.training.adapters import PROMPTS
from tablemend.training.data import (
    CHECKED,
    IGNORED,
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
from tablemend.training.models import MASKED, make_config, options_of, trainer_parts
from tablemend.training.stage import Method, PreparedData, checkpoints_of
from tablemend.training.trainer import LengthGrouped, TrainerMixin


def prepare(config: Experiment, run: Run, tokenizer: Tokenizer) -> PreparedData:
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
    return PreparedData(built.rows, held_out.rows if held_out else None, prompts, facts)


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
    config: Experiment, run: Run, tokenizer: Tokenizer, prepared: PreparedData
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


def sft_arguments(config: Experiment, folder: str, validate: bool) -> SFTConfig:
    """The recipe as the arguments of supervised fine-tuning.

    Raises:
        TablemendError: the batch does not divide over the devices, or TRL refuses a value.
    """
    train = config.train
    options = options_of(config, folder, validate) | {
        "packing": train.packing,
        "packing_strategy": "bfd",  # drops no token: every row fits, see build_rows
        "max_length": config.longest_row if train.packing else None,
        "dataset_kwargs": None if train.packing else {"skip_prepare_dataset": True},
        "pad_to_multiple_of": None if config.model.attn == "sdpa" else "auto",
    }
    return make_config(SFTConfig, options)


def as_dataset(rows: Sequence[Row]) -> Dataset:
    """The columns that SFTTrainer takes from data that is tokenised already."""
    ids = List(Value("int32"))
    return Dataset.from_dict(
        {"input_ids": [row.input_ids for row in rows], "labels": [row.labels for row in rows]},
        features=Features({"input_ids": ids, "labels": ids}),
    )


class Trainer(TrainerMixin, SFTTrainer):  # type: ignore[misc]
    """SFTTrainer on rows that are tokenised already (``input_ids``, ``labels``).

    Differs from its parent in the order of rows, and in the loss where TRL's fused head would
    score the prompt too.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._lengths = list(map(len, self.train_dataset["input_ids"]))
        self._fill()
        if self.recipe.packing and self.model.config._attn_implementation in MASKED:
            self.data_collator = PackedRows(self.processing_class.pad_token_id)

    def _fill(self) -> None:
        """Put rows without loss behind the others, until every process has as many.

        Without them accelerate (1.15) would give rows of the pass a second time.
        """
        rows, processes = self.train_dataset, self.accelerator.num_processes
        at_once = self.recipe.micro_batch * processes if processes > 1 else 1
        self._fillers = -len(rows) % at_once
        if self._fillers:
            nothing = {"input_ids": [self.processing_class.pad_token_id], "labels": [IGNORED]}
            row = {name: {**nothing, "seq_lengths": [1]}[name] for name in rows.column_names}
            added = Dataset.from_list([row] * self._fillers, features=rows.features)
            self.train_dataset = concatenate_datasets([rows, added])

    def _get_train_sampler(self, *_: Any) -> LengthGrouped:
        batch, seed = self.recipe.global_batch, self.args.seed
        return LengthGrouped(self._lengths, batch, seed, self._fillers)

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Cross-entropy of the supervised ids, averaged over all of the optimizer step.

        TRL's fused head (1.16) skips ignored positions only where Triton runs. On a CPU this
        asks the model for the columns that hold a target, and leaves the attention mask out:
        rows are padded on the right, where causal attention never looks. The positions stay,
        which tell packed examples apart.
        """
        if return_outputs or inputs["input_ids"].device.type != "cpu":
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        labels = inputs["labels"][:, 1:]
        columns = (labels != IGNORED).any(dim=0).nonzero().squeeze(1)
        shown = {name: inputs[name] for name in inputs if name not in ("labels", "attention_mask")}
        logits = model(**shown, logits_to_keep=columns, use_cache=False).logits
        wanted = labels[:, columns]
        total = nn.functional.cross_entropy(
            logits.flatten(0, 1).float(), wanted.flatten(), ignore_index=IGNORED, reduction="sum"
        )
        if num_items_in_batch is None:
            return total / (wanted != IGNORED).sum()
        # The count is over all processes, and DDP averages their gradients.
        return total / num_items_in_batch * self.accelerator.num_processes


@dataclass
class PackedRows(DataCollatorForLanguageModeling):  # type: ignore[misc]
    """Packed rows side by side, for kernels that take a mask.

    TRL's collator (1.16; by design) lays a batch out as one row, of which a mask has the square.
    transformers makes the mask that keeps examples apart from their positions, where no other mask
    is given.
    """

    return_position_ids: bool = True

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        """The batch without an attention mask: padding has positions of its own."""
        batch: dict[str, Any] = super().torch_call(examples)
        del batch["attention_mask"]
        return batch


def _show(config: SftCommand, tokenizer: Tokenizer) -> Iterator[str]:
    for row in prepare(config, Run.of(config), tokenizer).train[: config.show]:
        yield show(tokenizer, row)


METHOD = Method(prepare, build_trainer, _show)
