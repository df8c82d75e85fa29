"""One line that says how far a training is, in place of the Trainer's dictionaries."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import ExportableState

from tablemend.runs import say

PAUSE = 10.0
"""Least seconds between two lines."""
SHOWN = {"loss": "loss", "reward": "reward", "eval_loss": "held-out loss"}
SHOWN |= {"eval_total_hallu": "TotalHallu", "eval_row_recall": "row recall"}
"""What is shown of the log, and its name."""


class Progress(TrainerCallback, ExportableState):  # type: ignore[misc]
    """Step, loss (or reward), tokens a second and time left, from the main process alone.

    What this command has not trained itself, before an interruption, counts for no speed.

    Args:
        clock: in seconds.

    Attributes:
        elapsed: seconds trained, over all interruptions together, as of the last step.
        sums: what the Trainer adds up and no checkpoint keeps, as of the last one: of the losses
            of all steps (``loss``), of tokens (``tokens``).
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.elapsed = 0.0
        self.sums: dict[str, float] = {}
        self._resumed = False
        self._values: dict[str, float] = {}

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, in the form that the Trainer asks for."""
        return {"args": {}, "attributes": {"elapsed": self.elapsed, "sums": self.sums}}

    def keep(self, trainer: Any) -> None:
        """Note the sums for the checkpoint that is about to be saved; all processes call it."""
        pending = trainer.accelerator.gather(trainer._tr_loss.detach().reshape(1)).mean().item()
        tokens = getattr(trainer, "_total_train_tokens", 0)
        self.sums = {"loss": trainer._total_loss_scalar + pending, "tokens": tokens}

    def give_back(self, trainer: Any) -> None:
        """Add what the checkpoint had to the Trainer's sums, which begin at its resumption."""
        if self._resumed:
            trainer._total_loss_scalar += self.sums.get("loss", 0.0)
            tokens = getattr(trainer, "_total_train_tokens", 0) + self.sums.get("tokens", 0)
            trainer._total_train_tokens = tokens
            state = trainer.state  # whose log_every and save_every are the checkpoint's
            state.compute_steps(trainer.args, state.max_steps)
            self._resumed = False

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Say how many steps there are, and start the clock where the checkpoint stopped it."""
        saved = state.stateful_callbacks.get(type(self).__name__)
        if isinstance(saved, dict) and state.global_step > 0:
            self.elapsed = saved["attributes"]["elapsed"]
            self.sums, self._resumed = saved["attributes"].get("sums", {}), True
        self._begun, self._elapsed_before = self.clock(), self.elapsed
        self._last = self._begun - PAUSE
        self._steps_before, self._tokens_before = state.global_step, state.num_input_tokens_seen
        before = f", {state.global_step:,} of them done" if state.global_step else ""
        if state.is_world_process_zero and not args.disable_tqdm:
            say(f"training: {state.max_steps:,} steps{before}")

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Read the clock."""
        self.elapsed = self._elapsed_before + self.clock() - self._begun

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        **_: Any,
    ) -> None:
        """Note the loss or the reward, and write a line now and then."""
        found = {SHOWN[key]: value for key, value in (logs or {}).items() if key in SHOWN}
        self._values |= found
        if "reward" in self._values:
            self._values.pop("loss", None)  # GRPO's says nothing
        if not found or not state.is_world_process_zero or args.disable_tqdm:
            return
        now = "held-out loss" in found or state.global_step == state.max_steps
        if now or self.clock() - self._last >= PAUSE:
            self._last = self.clock()
            say(self.line(state))

    def line(self, state: TrainerState) -> str:
        """How far the training is."""
        parts = [f"step {state.global_step:,} of {state.max_steps:,}"]
        parts += [f"{name} {value:.4g}" for name, value in self._values.items()]
        steps, seconds = state.global_step - self._steps_before, self.clock() - self._begun
        if steps and seconds:
            tokens = state.num_input_tokens_seen - self._tokens_before
            left = (state.max_steps - state.global_step) * seconds / steps
            parts += [f"{tokens / seconds:,.0f} tokens/s", f"{timedelta(seconds=round(left))} left"]
        return ", ".join(parts)
