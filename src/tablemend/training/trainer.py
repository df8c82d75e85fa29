"""TRL's SFTTrainer with our order of rows, our schedule, and a head that skips the prompt."""

from __future__ import annotations

import math
from typing import Any

import torch
from datasets import Dataset, concatenate_datasets
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from transformers import PrinterCallback
from transformers.trainer import DEFAULT_PROGRESS_CALLBACK
from trl import SFTTrainer

from tablemend.recipe.training import Train
from tablemend.training.data import IGNORED
from tablemend.training.on_cpu import Trim
from tablemend.training.order import LengthGrouped, Passes
from tablemend.training.packing import MASKED, PackedRows
from tablemend.training.progress import Progress
from tablemend.training.rates import Rated


def rate_factor(progress: float, train: Train) -> float:
    """Factor on the peak learning rate at a share of the training, 0 to 1."""
    if progress < train.warmup:
        return max(progress, 1e-3) / train.warmup  # not 0 at the first step
    if train.scheduler == "constant":
        return 1.0
    done = (progress - train.warmup) / (1 - train.warmup)
    return 1 - done if train.scheduler == "linear" else (1 + math.cos(math.pi * done)) / 2


class Paced(Rated):
    """What every trainer here does alike, put before TRL's class; the schedule is our own."""

    model: Any
    args: Any
    accelerator: Any
    train_dataset: Any
    state: Any
    control: Any

    def __init__(self, *, recipe: Train, **options: Any) -> None:
        self.recipe = recipe
        self.progress = Progress()
        self.optimizer: torch.optim.Optimizer | None = None
        self.lr_scheduler: LambdaLR | None = None
        super().__init__(**options, callbacks=[Passes(), self.progress, Trim()])  # type: ignore[call-arg]
        for theirs in (PrinterCallback, DEFAULT_PROGRESS_CALLBACK):
            self.remove_callback(theirs)  # type: ignore[attr-defined]

    def _run_epoch(self, **options: Any) -> None:
        """One pass; none after the last step or an early stop: the parent would take one more.

        It (transformers 5.17; no issue found) takes a step before it asks whether to stop, and a
        training that was killed after its last checkpoint is resumed there.
        """
        self.progress.give_back(self)
        if self.state.global_step >= self.state.max_steps or self.is_stale:
            self.control.should_training_stop = True
            return
        super()._run_epoch(**options)  # type: ignore[misc]

    def _save_checkpoint(self, *given: Any) -> None:
        self.progress.keep(self)
        super()._save_checkpoint(*given)  # type: ignore[misc]

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None
    ) -> LambdaLR:
        """The recipe's course of the learning rate."""

        def factor(step: int) -> float:
            return rate_factor(min(1.0, step / num_training_steps), self.recipe)

        chosen = optimizer or self.optimizer
        assert chosen is not None  # the Trainer makes it first
        self.lr_scheduler = LambdaLR(chosen, factor)
        self._created_lr_scheduler = True
        return self.lr_scheduler

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """No card beside each checkpoint: TRL's asks the Hub about the base model."""


class Trainer(Paced, SFTTrainer):  # type: ignore[misc]
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
