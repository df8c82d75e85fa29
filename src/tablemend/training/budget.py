"""How far the training is, in steps or in minutes, and the learning rate that follows."""

from __future__ import annotations

import math
import time
from typing import Any

import torch
from accelerate.utils import broadcast
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import ExportableState

from tablemend.errors import TablemendError
from tablemend.recipe.training import Train

LEAST = 0.1
"""Share of the planned steps that makes a training."""


class Budget(TrainerCallback, ExportableState):  # type: ignore[misc]
    """Ends the training when its minutes are spent, over all interruptions together.

    Attributes:
        minutes: the time budget; ``None`` is without limit.
        elapsed: seconds trained, the same number on every process, as of the last step.
    """

    def __init__(self, minutes: float | None = None) -> None:
        self.minutes = minutes
        self.elapsed = 0.0
        self._since = 0.0

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, in the form that the Trainer asks for."""
        return {"args": {"minutes": self.minutes}, "attributes": {"elapsed": self.elapsed}}

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Start the clock where the checkpoint stopped it."""
        saved = state.stateful_callbacks.get(type(self).__name__)
        if isinstance(saved, dict) and state.global_step > 0:
            self.elapsed = saved["attributes"]["elapsed"]
        self._since = time.monotonic() - self.elapsed

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Read the clock of the first process; stop, and save, when the time is over."""
        self.elapsed = time.monotonic() - self._since
        if self.minutes is not None and args.world_size > 1:
            # Or the processes would disagree on when to stop, and on the learning rate.
            self.elapsed = float(broadcast(torch.tensor(self.elapsed, device=args.device)))
        if self.is_spent:
            control.should_training_stop = True
            control.should_save = True

    @property
    def is_spent(self) -> bool:
        """Whether the minutes are over."""
        return self.minutes is not None and self.elapsed >= 60 * self.minutes

    def ended_early(self, steps: int, planned: int) -> str | None:
        """A line where the minutes were over before the planned steps; else ``None``.

        Raises:
            TablemendError: before a tenth of them: the model has hardly been trained.
        """
        if not self.is_spent or steps >= planned:
            return None
        line = (
            f"train.minutes={self.minutes:g} ended the training after {steps} of {planned} steps "
            f"({steps / planned:.0%})"
        )
        if steps < LEAST * planned:
            raise TablemendError(
                f"{line}: too few for a checkpoint. Give it more minutes, or fewer steps "
                "(train.max_steps), with overwrite=true"
            )
        return line

    def progress(self, step: int, max_steps: int) -> float:
        """Share of the training that is done, 0 to 1: by steps or by time, whichever is more."""
        by_time = self.elapsed / (60 * self.minutes) if self.minutes is not None else 0.0
        return min(1.0, max(step / max_steps, by_time))


def rate_factor(progress: float, train: Train) -> float:
    """Factor on the peak learning rate at a share of the training, 0 to 1."""
    if progress < train.warmup:
        # Not 0 at the first step: the clock has not moved before it.
        return max(progress, 1e-3) / train.warmup
    if train.scheduler == "constant":
        return 1.0
    done = (progress - train.warmup) / (1 - train.warmup)
    return 1 - done if train.scheduler == "linear" else (1 + math.cos(math.pi * done)) / 2
