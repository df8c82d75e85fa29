"""The run folder of a training: opened, continued, replaced, or refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from accelerate import PartialState

from tablemend.backends.checkpoints import Checkpoint, local_folder
from tablemend.backends.loading import read_config
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import STAGES, Trained
from tablemend.runs import Run, sole_writer
from tablemend.training import checkpoints, launch
from tablemend.training.architectures import check_window
from tablemend.training.requirements import refuse_kernel, refuse_recipe, refuse_start

C = TypeVar("C", bound=Trained)
FIXED = tuple("seed task model data.train format thinking train dpo grpo distil".split())
"""What must not change between an interruption and the resumption."""
FREE = frozenset(
    """train.micro_batch train.gradient_checkpointing train.compile train.log_every train.save_every
    dpo.precompute_reference train.trl.activation_offloading train.trl.dataloader_num_workers
    train.trl.dataloader_pin_memory train.trl.dataloader_persistent_workers
    train.trl.dataloader_prefetch_factor train.trl.disable_tqdm train.trl.log_level
    train.trl.logging_first_step train.trl.report_to train.trl.run_name
    train.trl.save_total_limit train.trl.torch_empty_cache_steps""".split()
)
"""What may change all the same: it decides what a step takes, not what it does."""
CHANGED = "went_on_with"
"""In the manifest: the changes of :data:`FREE` with which a training went on."""
REPLACED = ".replaced"
"""Folder of the run folder for what ``overwrite=true`` replaces, until the new training begins."""


def checkpoints_of(run: Run, stage: str) -> Path:
    """Folder of the checkpoints between the first step and the last."""
    return run.path / stage


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
    if local_folder(config.model.path) is not None:
        _refuse_start(config)
    launch.once(lambda: _open(config, run, overwrite))
    finished = checkpoints.is_complete(run.model)
    if finished and PartialState().is_main_process:
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
    changes = run.begin(stage, config, FIXED, free=FREE)
    if changes and checkpoints.last_complete(checkpoints_of(run, stage)) is not None:
        print(f"goes on with other settings, which do not change the result: {'; '.join(changes)}")
        noted = run.recorded(stage)
        run.record(stage, {**noted, CHANGED: [*noted.get(CHANGED, ()), *changes]})
    if not overwrite and local_folder(config.model.path):
        revision = checkpoints.revision_of(config.model.path)
        run.refuse_changes(stage, {"model_revision": revision})
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
    revision = noted or launch.once(lambda: checkpoints.commit_of(config.model))
    model = config.model.model_copy(update={"revision": revision})
    config = config.model_copy(update={"model": model})
    _refuse_start(config)
    return config


def _refuse_start(config: Trained) -> None:
    refuse_start(config.model)
    architecture = read_config(Checkpoint(config.model.path, config.model.revision))
    refuse_recipe(config, architecture)
    check_window(config.model, architecture)


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


def record(run: Run, stage: str, facts: dict[str, Any]) -> None:
    """Write the manifest, once for all processes.

    Raises:
        TablemendError: a checkpoint waits to be continued that saw other training rows, or that
            began with other weights.
    """
    if PartialState().is_main_process:
        if checkpoints.last_complete(checkpoints_of(run, stage)) is not None:
            begun = {"rows_hash", "model_revision", "evaluated_hash"} & facts.keys()
            run.refuse_changes(stage, {name: facts[name] for name in begun})
            noted = run.recorded(stage)
            if CHANGED in noted:
                facts = {CHANGED: noted[CHANGED], **facts}
        run.record(stage, facts)
        shutil.rmtree(run.path / REPLACED, ignore_errors=True)
