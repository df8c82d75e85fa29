"""The phases that every training goes through, whatever its loss."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from accelerate import PartialState
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.utils import logging as transformers_logging

from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Trained
from tablemend.recipe.training import Train
from tablemend.runs import Run, disk_errors, say
from tablemend.training import checkpoints, launch, precision, rates
from tablemend.training.models import trained_shapes
from tablemend.training.quiet import silence
from tablemend.training.run_folder import checkpoints_of

C = TypeVar("C", bound=Trained)


def set_up(config: C) -> C:
    """Join the other processes, and settle what the recipe leaves to the device.

    Returns:
        the recipe with a type of numbers in place of each ``auto`` that the device decides.

    Raises:
        TablemendError: a launch that could not be trained or saved.
    """
    silence()
    launch.join()
    transformers_logging.disable_progress_bar()
    state = PartialState()
    threads = launch.share_cores() if state.device.type == "cpu" else None
    settled = precision.settle(config, state.device.type)
    if state.is_main_process:
        for line in precision.lines(config, settled, state.device.type, threads):
            say(line)
    return settled


def train(trainer: Any, config: Trained, run: Run) -> dict[str, Any]:
    """Train from the last whole checkpoint on; return what the manifest says of it.

    Raises:
        TablemendError: the device ran out of memory.
        OSError: the disk is full.
    """
    last = checkpoints.last_complete(checkpoints_of(run, config.stage))
    if last is not None:
        launch.check_checkpoint(last)
        if trainer.accelerator.is_main_process:
            print(f"resuming from {last}")
    start = time.monotonic()
    with checkpoints.own_names(trainer.model), refusals(config.train, run):
        trainer.add_callback(_MarkComplete(trained_shapes(trainer.model, config)))
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    seconds = time.monotonic() - start
    state = trainer.state
    tokens = int(state.num_input_tokens_seen)
    losses = [
        entry[key] for entry in state.log_history for key in ("loss", "train_loss") if key in entry
    ]
    return {
        "device": precision.device_name(),
        **precision.facts(config, trainer.args.device.type),
        "strategy": launch.from_environment(os.environ).strategy,
        "steps": state.global_step,
        "epochs": state.epoch,
        "seconds_of_last_call": round(seconds, 1),
        "seconds": round(trainer.progress.elapsed, 1),
        "tokens": tokens,
        "tokens_per_second": round(tokens / max(trainer.progress.elapsed, 1e-9), 1),
        "train_loss": losses[-1],
        "last_loss": losses[-2] if len(losses) > 1 else losses[-1],  # the last is the mean
        "resumed_from": str(last) if last else None,
        **rates.summary(trainer),
        "log": state.log_history,
    }


class _MarkComplete(TrainerCallback):  # type: ignore[misc]
    """Marks a checkpoint once everything of it is written and its weights are whole.

    An adapter may be zero as long as no step had a gradient: in GRPO while all answers earn the
    same. Under FSDP2 weights are in torch's own format, which has no tensor by name.
    """

    def __init__(self, expected: checkpoints.Shapes) -> None:
        self.expected = expected

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        PartialState().wait_for_everyone()
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        trained = any(entry.get("grad_norm") for entry in state.log_history)
        launch.once(lambda: self._mark(folder, trained))  # a disk may be slower than NCCL waits

    def _mark(self, folder: Path, trained: bool) -> None:
        if any(folder.glob("*.safetensors")):
            checkpoints.check_shapes(folder, self.expected)
            if trained:
                checkpoints.check_adapter(folder)
        launch.note(folder)
        checkpoints.mark_complete(folder)


@contextmanager
def refusals(train: Train, run: Run) -> Iterator[None]:
    """Turn what a library raises for a full memory or disk into what a user can act on."""
    with disk_errors(run.path):
        try:
            yield
        except torch.OutOfMemoryError as error:
            raise TablemendError(
                f"the device is out of memory: lower train.micro_batch={train.micro_batch} (the "
                "result stays the same), set train.gradient_checkpointing=true, then "
                "train.trl.activation_offloading=true (SFT, DPO), or train.method=lora; --check "
                "says what fits on which card"
            ) from error


def report(run: Run, facts: dict[str, Any], more: Iterable[str] = ()) -> None:
    """The last lines on the screen, once for all processes."""
    if PartialState().is_main_process:
        dropped = sum(facts["dropped"].values())
        print(
            f"{run.model}: {facts['steps']} steps, {facts['tokens']} tokens in "
            f"{facts['seconds']} s, last loss {facts['last_loss']}, {dropped} examples dropped"
        )
        if "best_step" in facts:
            print(f"best of {facts['evaluations']} evaluations: step {facts['best_step']}")
        for line in more:
            print(line)
