"""The phases that every training goes through, whatever its loss."""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import torch
from accelerate import PartialState
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.utils import logging as transformers_logging

from tablemend.backends.checkpoints import local_folder
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import STAGES, Trained
from tablemend.recipe.training import Train
from tablemend.runs import Run, disk_errors, say, sole_writer
from tablemend.training import checkpoints, launch, precision, universal
from tablemend.training.attention import refuse_kernel
from tablemend.training.models import trained_shapes
from tablemend.training.quiet import silence
from tablemend.training.start import refuse_adapter, refuse_quantised

C = TypeVar("C", bound=Trained)
T = TypeVar("T")
FIXED = ("seed", "task", "model", "data.train", "format", "thinking", "train", "dpo", "grpo")
"""What must not change between an interruption and the resumption."""
KEPT = {
    "sft": "the same rows, other rounding",
    "dpo": "the same pairs, other rounding",
    "grpo": "the same prompts, other answers",  # each process draws with a generator of its own
}
"""What another number of processes keeps of a training, by stage, and what not."""
HANDED_OVER = ".prepared.pickle"
"""File of the run folder through which the main process hands the data over."""
REPLACED = ".replaced"
"""Folder of the run folder for what ``overwrite=true`` replaces, until the new training begins."""


def checkpoints_of(run: Run, stage: str) -> Path:
    """Folder of the checkpoints between the first step and the last."""
    return run.path / stage


def set_up(config: C) -> C:
    """Join the other processes, and settle what the recipe leaves to the device.

    Where no GPU is, this machine's cores are shared among its processes, unless the user has set
    OMP_NUM_THREADS.

    Returns:
        the recipe with a type of numbers in place of each ``auto`` that the device decides.

    Raises:
        TablemendError: another strategy or number of processes than accelerate was asked for.
    """
    silence()
    launch.join()
    transformers_logging.disable_progress_bar()
    state = PartialState()
    threads = None
    if state.device.type == "cpu" and (threads := launch.threads_asked_for()) is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        torch.set_num_threads(max(1, (cores or 1) // here))
    settled = precision.settle(config, state.device.type)
    if state.is_main_process:
        for line in precision.lines(config, settled, state.device.type, threads):
            say(line)
    return settled


@contextmanager
def alone(run: Run) -> Iterator[None]:
    """Be the only command that writes into the run folder.

    A launcher that is killed leaves its processes behind, and they train on. What
    ``overwrite=true`` replaces is put back where this command ends before its training begins.

    Raises:
        TablemendError: another command writes there; raised in the main process alone.
    """
    if not PartialState().is_main_process:
        yield
        return
    with sole_writer(run.path):
        try:
            yield
        except BaseException:
            _put_back(run)
            raise


def begin(config: Trained, run: Run, overwrite: bool) -> bool:
    """Open the run folder; ``False``, with a line, where this training is finished already.

    Raises:
        TablemendError: the folder holds a training with other settings or from other weights, or
            this one cannot be trained as it was launched, with its attention kernel, or from
            where it starts.
    """
    launch.refuse(config.train)
    refuse_kernel(config.model.attn)
    refuse_adapter(config)
    if local_folder(config.model.path) is not None:
        refuse_quantised(config.model)
    with launch.main_first() as is_main:
        if is_main:
            _open(config, run, overwrite)
    finished = checkpoints.is_complete(run.model)
    if finished and is_main:
        print(f"finished: {run.model} (overwrite=true starts anew)")
    return not finished


def _open(config: Trained, run: Run, overwrite: bool) -> None:
    """Put the run folder in order, or refuse it."""
    stage = config.stage
    _put_back(run)  # an earlier command was killed before its training began
    _refuse_another(run, stage)
    if overwrite:
        _set_aside(run, stage)
    elif not _is_begun(run, stage):
        (run.path / f"{stage}.yaml").unlink(missing_ok=True)  # its settings bind nothing
    run.begin(stage, config, FIXED)
    if not overwrite and local_folder(config.model.path):
        revision = checkpoints.revision_of(config.model.path)
        refuse_changes(run, stage, {"model_revision": revision}, config.model.path)
    (run.path / HANDED_OVER).unlink(missing_ok=True)
    for path in checkpoints.remove_partial(checkpoints_of(run, stage)):
        print(f"{path} is half-written: deleted")


def pinned(config: C, run: Run) -> C:
    """The recipe with the commit that its name on the Hub stands for, the same in all processes.

    A training that goes on keeps the commit that it began with, wherever the name has moved since.
    A folder stays what it is.

    Raises:
        TablemendError: neither the Hub nor the local cache knows the name, or the model is
            quantised.
    """
    if local_folder(config.model.path) is not None:
        return config
    noted = None
    if checkpoints.last_complete(checkpoints_of(run, config.stage)) is not None:
        noted = run.recorded(config.stage).get("model_revision")
    revision = noted or once(run, lambda: checkpoints.commit_of(config.model))
    model = config.model.model_copy(update={"revision": revision})
    refuse_quantised(model)
    return config.model_copy(update={"model": model})


def _is_begun(run: Run, stage: str) -> bool:
    """Whether a training has left anything but its settings, as one does whose data is refused."""
    left = (checkpoints_of(run, stage), run.model)
    return bool(run.recorded(stage)) or any(path.exists() for path in left)


def _set_aside(run: Run, stage: str) -> None:
    """Keep a training until the one that replaces it has its data and its model."""
    aside = run.path / REPLACED
    for path in (checkpoints_of(run, stage), run.model, run.path / f"{stage}.yaml"):
        if path.exists():
            aside.mkdir(exist_ok=True)
            path.replace(aside / path.name)


def _put_back(run: Run) -> None:
    aside = run.path / REPLACED
    for path in sorted(aside.iterdir()) if aside.is_dir() else ():
        new = run.path / path.name
        shutil.rmtree(new) if new.is_dir() else new.unlink(missing_ok=True)
        path.replace(new)
    if aside.is_dir():
        aside.rmdir()


def _refuse_another(run: Run, stage: str) -> None:
    """A run folder has one model: another training's would pass for this one's, or be deleted."""
    for other in STAGES.values():
        if other != stage and (run.path / f"{other}.yaml").is_file():
            raise TablemendError(
                f"{run.path} holds another training ({other}.yaml) and its model: give run=NAME "
                "for this one"
            )


def once(run: Run, prepare: Callable[[], T]) -> T:
    """The data of a training, read and tokenised by the main process alone."""
    return launch.once(run.path / HANDED_OVER, prepare)


def refuse_changes(run: Run, stage: str, facts: Mapping[str, Any], where: str) -> None:
    """Refuse to go on with, or to take for finished, what began with other weights or data.

    Raises:
        TablemendError: a fact that the manifest holds otherwise.
    """
    noted = run.recorded(stage)
    for name, value in facts.items():
        if noted.get(name, value) != value:
            raise TablemendError(
                f"{run.path} was started with another {name}: {where} has changed since. "
                "Give run=NAME for a new run, or overwrite=true to start this one anew"
            )


def train(trainer: Any, config: Trained, run: Run) -> dict[str, Any]:
    """Train from the last whole checkpoint on; return what the manifest says of it.

    Raises:
        TablemendError: the device ran out of memory, or the time was over before a tenth of the
            steps.
        OSError: the disk is full.
    """
    trainer.add_callback(launch.CheckStrategy(trainer))
    last = checkpoints.last_complete(checkpoints_of(run, config.stage))
    if last is not None:
        if launch.check_checkpoint(last, KEPT[config.stage]):
            universal.prepare(trainer, last)
        elif trainer.accelerator.is_main_process:
            universal.remove(last)  # of a launch that was killed before it had read it
        if trainer.accelerator.is_main_process:
            print(f"resuming from {last}")
    start = time.monotonic()
    with checkpoints.own_names(trainer.model), refusals(config.train, run):
        trainer.add_callback(_MarkComplete(trained_shapes(trainer.model, config)))
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    seconds = time.monotonic() - start
    state = trainer.state
    early = trainer.budget.ended_early(state.global_step, state.max_steps)
    tokens = int(state.num_input_tokens_seen)
    losses = [
        entry[key] for entry in state.log_history for key in ("loss", "train_loss") if key in entry
    ]
    return {
        "device": device_name(),
        **precision.facts(config, trainer.args.device.type),
        "strategy": launch.strategy_of(trainer.model_wrapped),
        "steps": state.global_step,
        "planned_steps": state.max_steps,
        "ended_early": early,
        "epochs": state.epoch,
        "seconds_of_last_call": round(seconds, 1),
        "seconds": round(trainer.budget.elapsed, 1),
        "tokens": tokens,
        "tokens_per_second": round(tokens / max(trainer.budget.elapsed, 1e-9), 1),
        "last_loss": losses[-2] if len(losses) > 1 else losses[-1],  # the last is the mean
        "resumed_from": str(last) if last else None,
        "log": state.log_history,
    }


def device_name() -> str:
    """What this process trains on, by its maker's name: the GPU, else the processor."""
    if torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    with suppress(OSError):  # not on every system
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        if named:
            return named[0]
    return platform.processor() or platform.machine()


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
        with launch.main_first() as is_main:  # a slow disk takes longer than NCCL waits
            if is_main:
                folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
                if any(folder.glob("*.safetensors")):
                    checkpoints.check_shapes(folder, self.expected)
                    if any(entry.get("grad_norm") for entry in state.log_history):
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


def record(run: Run, stage: str, facts: dict[str, Any]) -> None:
    """Write the manifest, once for all processes.

    Raises:
        TablemendError: a checkpoint waits to be continued that saw other training rows, or that
            began with other weights.
    """
    if PartialState().is_main_process:
        if checkpoints.last_complete(checkpoints_of(run, stage)) is not None:
            for name, where in (("rows_hash", "data.train"), ("model_revision", "model.path")):
                refuse_changes(run, stage, {name: facts[name]}, where)
        run.record(stage, facts)
        shutil.rmtree(run.path / REPLACED, ignore_errors=True)


def report(run: Run, facts: dict[str, Any], more: Iterable[str] = ()) -> None:
    """The last lines on the screen, once for all processes."""
    if PartialState().is_main_process:
        if facts["ended_early"]:
            print(f"warning: {facts['ended_early']}")
        dropped = sum(facts["dropped"].values())
        came_to = f"last loss {facts['last_loss']}"
        if rewards := facts.get("rewards"):
            mean, last = rewards["mean"], rewards["last"]
            came_to = (
                f"mean reward {mean['reward']:.3f}, last {last['reward']:.3f}, "
                f"{mean['equal_groups']:.0%} of the groups equal"
            )
        print(
            f"{run.model}: {facts['steps']} steps, {facts['tokens']} tokens in "
            f"{facts['seconds']} s, {came_to}, {dropped} examples dropped"
        )
        for line in more:
            print(line)
