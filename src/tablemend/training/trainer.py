"""TRL's SFTTrainer with our order of rows, our schedule, and a head that skips the prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from datasets import Dataset, concatenate_datasets
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from transformers import PrinterCallback, TrainerCallback
from transformers.trainer import DEFAULT_PROGRESS_CALLBACK
from trl import SFTTrainer
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling
from trl.trainer.utils import RepeatSampler

from tablemend.recipe.training import Train
from tablemend.training import attention
from tablemend.training.budget import Budget, rate_factor
from tablemend.training.data import IGNORED, length_groups
from tablemend.training.progress import Progress

SHORT = 1024
"""Longest row in tokens for which attention as bfloat16 matrix products pays on a CPU."""
MASKED = ("sdpa", "eager")
"""Kernels that keep packed examples apart by a mask; the others take where each begins."""


class LengthGrouped(torch.utils.data.Sampler[int]):
    """Rows in the order of :func:`length_groups`; each epoch has its own.

    Args:
        lengths: tokens of each row.
        batch: rows per optimizer step, over all devices.
        seed: of the run.
        fillers: how many rows without loss stand behind the others, and end every epoch.
    """

    def __init__(self, lengths: Sequence[int], batch: int, seed: int, fillers: int = 0) -> None:
        self.lengths = lengths
        self.batch = batch
        self.seed = seed
        self.fillers = fillers
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by accelerate before each pass."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths) + self.fillers

    def __iter__(self) -> Iterator[int]:
        yield from length_groups(self.lengths, self.batch, self.seed, self.epoch)
        yield from range(len(self.lengths), len(self))


class PromptOrder(RepeatSampler):  # type: ignore[misc]
    """TRL's order of prompts, of which each pass has its own wherever it begins.

    TRL's (1.16) is the first pass's again in whatever pass a training is resumed.
    """

    def set_epoch(self, epoch: int) -> None:
        """Called before each pass."""
        if self.shuffle:
            self.generator.manual_seed(self.seed + epoch)


class Passes(TrainerCallback):  # type: ignore[misc]
    """Tells the order of rows which pass it is.

    In several processes accelerate (1.15) does not reach it through the sampler that skips what a
    resumed pass has done: that pass would go on in the order of the first.
    """

    def on_epoch_begin(
        self, args: Any, state: Any, control: Any, *, train_dataloader: Any, **_: Any
    ) -> None:
        """Set the epoch on the loader that skips nothing yet."""
        train_dataloader.set_epoch(int(state.epoch))


class Paced:
    """What every trainer of this house does alike, put before TRL's class.

    Differs from transformers' Trainer in the schedule.
    """

    model: Any
    args: Any
    accelerator: Any
    train_dataset: Any
    state: Any
    control: Any

    def __init__(self, *, recipe: Train, budget: Budget, **options: Any) -> None:
        self.recipe = recipe
        self.budget = budget
        self.optimizer: torch.optim.Optimizer | None = None
        self.lr_scheduler: LambdaLR | None = None
        own = [budget, Passes(), Progress(budget)]
        super().__init__(**options, callbacks=own)  # type: ignore[call-arg]
        for theirs in (PrinterCallback, DEFAULT_PROGRESS_CALLBACK):
            self.remove_callback(theirs)  # type: ignore[attr-defined]

    def _run_epoch(self, **options: Any) -> None:
        """One pass; none after the last step, which the parent would follow by one more.

        It takes a step before it asks whether to stop, and a training that was killed after its
        last checkpoint is resumed there.
        """
        if self.budget.is_spent or self.state.global_step >= self.state.max_steps:
            self.control.should_training_stop = True
            return
        super()._run_epoch(**options)  # type: ignore[misc]

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None
    ) -> LambdaLR:
        """A schedule over steps and minutes, whichever is further."""

        def factor(step: int) -> float:
            return rate_factor(self.budget.progress(step, num_training_steps), self.recipe)

        chosen = optimizer or self.optimizer
        assert chosen is not None  # the Trainer makes it first
        self.lr_scheduler = LambdaLR(chosen, factor)
        self._created_lr_scheduler = True
        return self.lr_scheduler

    def fill(self, row: Mapping[str, Any]) -> None:
        """Put copies of a row that bears no loss behind the others, till every process has as many.

        Without them accelerate (1.15) would give rows of the pass a second time.
        """
        rows = self.train_dataset
        processes = self.accelerator.num_processes
        at_once = self.recipe.micro_batch * processes if processes > 1 else 1
        self.fillers = -len(rows) % at_once
        if self.fillers:
            filler = {name: row[name] for name in rows.column_names}
            added = Dataset.from_list([filler] * self.fillers, features=rows.features)
            self.train_dataset = concatenate_datasets([rows, added])

    def grouped(self, lengths: Sequence[int]) -> LengthGrouped:
        """The order of the rows, by the lengths of all but the fillers."""
        rows = lengths[: len(lengths) - self.fillers]
        return LengthGrouped(rows, self.recipe.global_batch, self.args.seed, self.fillers)

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """No card beside each checkpoint: TRL's asks the Hub about the base model."""


@dataclass
class PackedRows(DataCollatorForLanguageModeling):  # type: ignore[misc]
    """Packed rows side by side, for kernels that take a mask.

    TRL's collator lays a batch out as one row, of which a mask has the square. transformers makes
    the mask that keeps examples apart from their positions, where no other mask is given.
    """

    return_position_ids: bool = True

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        """The batch without an attention mask: padding has positions of its own."""
        batch: dict[str, Any] = super().torch_call(examples)
        del batch["attention_mask"]
        return batch


class Trainer(Paced, SFTTrainer):  # type: ignore[misc]
    """SFTTrainer on rows that are tokenised already (``input_ids``, ``labels``).

    Differs from its parent in the order of rows, and in the loss where TRL's fused head would
    score the prompt too.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        nothing = {"input_ids": [self.processing_class.pad_token_id], "labels": [IGNORED]}
        self.fill({**nothing, "seq_lengths": [1]})
        fits = self.args.device.type == "cpu" and self.args.bf16 and self._longest() <= SHORT
        if self.recipe.packing:
            if self.model.config._attn_implementation in MASKED:
                self.data_collator = PackedRows(self.processing_class.pad_token_id)
        elif fits and attention.is_plain(self.model.config):
            self.model.set_attn_implementation(attention.register())

    def _longest(self) -> int:
        return max(len(ids) for ids in self.train_dataset["input_ids"])

    def _get_train_sampler(self, *_: Any) -> LengthGrouped:
        return self.grouped([len(ids) for ids in self.train_dataset["input_ids"]])

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
