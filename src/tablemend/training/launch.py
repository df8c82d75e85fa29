"""How accelerate launched a training, the refusal of what cannot be trained, and waiting."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import psutil
import torch
from accelerate import PartialState
from accelerate.utils import DistributedType, parse_flag_from_env

from tablemend.errors import TablemendError
from tablemend.recipe.training import Train
from tablemend.runs import read_object, write_json

T = TypeVar("T")
SHARDED = ("zero3", "fsdp2")
"""Strategies under which no process holds a whole weight."""
NOTE = "launch.json"
"""File of a checkpoint that says which launch wrote it."""
SUPPORTED = ("single", "ddp", "zero1", "zero2", *SHARDED)
PATIENCE = timedelta(days=30)
"""How long processes wait for the main one to prepare the data: its end ends them too."""


@dataclass(frozen=True)
class Launch:
    """How a training is spread.

    Attributes:
        strategy: single, ddp, zero1, zero2, zero3 or fsdp2.
        processes: over all machines.
    """

    strategy: str
    processes: int

    def __str__(self) -> str:
        return f"{self.strategy} on {self.processes} process{'es' * (self.processes > 1)}"


def join() -> None:
    """Join the other processes; must come before anything else of accelerate.

    Raises:
        TablemendError: a launch that could not be trained or saved.
    """
    launch = from_environment(os.environ)
    _refuse_unsupported(launch, os.environ)
    on_cpu = not torch.accelerator.is_available() or parse_flag_from_env("ACCELERATE_USE_CPU")
    if on_cpu:
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
        if launch.strategy.startswith("zero"):
            _without_compiled_operators()
    # or a checkpoint of ZeRO-3 would hold no weights
    os.environ["ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL"] = "true"
    state = PartialState(cpu=on_cpu)  # the first call decides for the whole process
    if on_cpu and launch.strategy == "fsdp2":
        # accelerate 1.15 turns to FSDP from the types of accelerators alone, and trains on CPUs
        # with DDP without a word; no issue found. Remove when AcceleratorState takes MULTI_CPU.
        state.distributed_type = DistributedType.MULTI_GPU


def keeps_state() -> bool:
    """Whether TrainingArguments must take the state that :func:`join` left, not make its own."""
    return from_environment(os.environ).strategy == "fsdp2"


def from_environment(environment: Mapping[str, str]) -> Launch:
    """What the launcher asked for."""

    def says(name: str) -> bool:
        return environment.get(name, "").lower() in ("true", "1")

    processes = int(environment.get("WORLD_SIZE", "1"))
    if says("ACCELERATE_USE_DEEPSPEED"):
        return Launch(f"zero{environment.get('ACCELERATE_DEEPSPEED_ZERO_STAGE', '2')}", processes)
    if says("ACCELERATE_USE_FSDP"):
        return Launch(f"fsdp{environment.get('FSDP_VERSION', '1')}", processes)
    return Launch("ddp" if processes > 1 else "single", processes)


def share_cores() -> int | None:
    """Share this machine's cores among its processes, unless the user has set OMP_NUM_THREADS.

    Launchers set it to 1 where it is not set: their own environment tells.

    Returns:
        threads a process that the user has set; ``None`` where the cores were shared.
    """
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said == "1" and {"ACCELERATE_MIXED_PRECISION", "WORLD_SIZE"} & set(os.environ):
        said = ""
        with suppress(psutil.Error):  # of a scheduler that is another user's
            parent = psutil.Process().parent()
            said = parent.environ().get("OMP_NUM_THREADS", "") if parent is not None else ""
    if said.isdigit():
        return int(said)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    torch.set_num_threads(max(1, (cores or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
    return None


def _refuse_unsupported(launch: Launch, environment: Mapping[str, str]) -> None:
    if launch.strategy not in SUPPORTED:
        raise TablemendError(
            f"the accelerate config asks for {launch.strategy}; there are {', '.join(SUPPORTED)}: "
            "see accelerate_configs/"
        )
    if "ACCELERATE_DEEPSPEED_CONFIG_FILE" in environment:
        raise TablemendError(
            "the accelerate config names a deepspeed_config_file: write its settings into the "
            "config itself (accelerate_configs/zero3.yaml), where the launch can be checked"
        )
    if environment.get("ACCELERATE_USE_PARALLELISM_CONFIG", "").lower() == "true":
        raise TablemendError(
            "the accelerate config has a parallelism_config: under context, sequence or tensor "
            "parallelism processes share rows, and a step would take fewer than "
            "train.global_batch. Leave it out; for long rows take accelerate_configs/fsdp2.yaml "
            "and train.gradient_checkpointing=true"
        )


def _refuse_idle_gpus(launch: Launch) -> None:
    """Refuse one process that sees several GPUs: the Trainer would use torch's DataParallel.

    That copies the model to each, and a step would take so many times train.global_batch.
    """
    seen = torch.cuda.device_count()
    if launch.strategy == "single" and seen > 1 and not parse_flag_from_env("ACCELERATE_USE_CPU"):
        raise TablemendError(
            f"one process sees {seen} GPUs: launch one process for each (accelerate launch "
            f"--config_file accelerate_configs/ddp.yaml --num_processes {seen}), or take one GPU "
            "(accelerate_configs/single-gpu.yaml, or CUDA_VISIBLE_DEVICES=0)"
        )


def _without_compiled_operators() -> None:
    """Let DeepSpeed reduce through torch's gloo on a CPU.

    Its own shared-memory operator is compiled on first use, for minutes on a busy machine, and
    serves single machines alone (0.19; https://github.com/deepspeedai/DeepSpeed/issues/7108).
    Remove when an option chooses torch's operators, which issue 7625 there asks for.
    """
    from deepspeed.ops import __compatible_ops__ as compatible

    compatible["deepspeed_shm_comm"] = False


def note(folder: Path) -> None:
    """Write into a checkpoint how the training that made it was spread."""
    write_json(folder / NOTE, asdict(from_environment(os.environ)))


def check_checkpoint(folder: Path) -> None:
    """Say that a training goes on with another number of processes, or refuse it.

    Raises:
        TablemendError: this launch cannot read the optimizer's state in the checkpoint: it is of
            another strategy, or ZeRO's, which is cut into a share for each process.
    """
    saved = Launch(**read_object(folder / NOTE, "delete the checkpoint"))
    here = from_environment(os.environ)
    if saved == here:
        return
    whole = {saved.strategy, here.strategy} <= {"single", "ddp"}
    if not whole and not saved.strategy == here.strategy == "fsdp2":
        raise TablemendError(
            f"{folder} was saved by {saved} and cannot be continued by {here}: launch it as "
            "before, or give overwrite=true to start anew"
        )
    if PartialState().is_main_process:
        print(f"{folder} was saved by {saved}, {here} go on with other rounding")


def whole_weights(trainer: Any) -> dict[str, torch.Tensor] | None:
    """The weights of a sharded model, gathered; all processes call it.

    Returns:
        by name, a tied one once, on the CPU of the main process; ``None`` where every process
        holds whole weights, of which ``save_pretrained`` knows best.
    """
    if from_environment(os.environ).strategy not in SHARDED:
        return None
    whole: dict[str, torch.Tensor] = trainer.accelerator.get_state_dict(trainer.model_wrapped)
    named = {name for name, _ in trainer.model.named_parameters()}
    named |= {name for name, _ in trainer.model.named_buffers()}
    return {name: weight for name, weight in (whole or {}).items() if name in named}


def once(make: Callable[[], T]) -> T:
    """What ``make`` returns: the main process calls it, the others get it, however long it takes.

    Data is so read and tokenised once. Over gloo, since NCCL would take it through the GPU and end
    the others after ten minutes. Where the main process fails, the launcher ends the others.
    """
    state = PartialState()
    if state.num_processes == 1:
        return make()
    group = torch.distributed.new_group(backend="gloo", timeout=PATIENCE)
    made: list[Any] = [make() if state.is_main_process else None]
    torch.distributed.broadcast_object_list(made, src=0, group=group)
    torch.distributed.destroy_process_group(group)
    found: T = made[0]
    return found


def refuse(train: Train) -> None:
    """Refuse a recipe that cannot be trained as it was launched.

    Raises:
        TablemendError: GPUs that no process was launched for, or a batch that does not divide
            over the processes.
    """
    launch = from_environment(os.environ)
    _refuse_idle_gpus(launch)
    accumulation(train, launch.processes)


def accumulation(train: Train, processes: int) -> int:
    """Forward passes per optimizer step that make up the global batch.

    Raises:
        TablemendError: naming the nearest batch that divides.
    """
    at_once = train.micro_batch * processes
    if train.global_batch % at_once:
        nearest = max(1, (2 * train.global_batch + at_once) // (2 * at_once)) * at_once
        raise TablemendError(
            f"train.global_batch={train.global_batch} does not divide over {processes} processes "
            f"with train.micro_batch={train.micro_batch}: the nearest that does is "
            f"train.global_batch={nearest}"
        )
    return train.global_batch // at_once
