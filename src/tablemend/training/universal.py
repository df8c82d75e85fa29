"""ZeRO's checkpoints on another number of processes, through DeepSpeed's universal format."""

from __future__ import annotations

import shutil
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from transformers import TrainerCallback

from tablemend.errors import TablemendError
from tablemend.training import launch

CONVERTER = "deepspeed.checkpoint.ds_to_universal"


def prepare(trainer: Any, checkpoint: Path) -> None:
    """Have a trainer read a checkpoint that another number of processes wrote.

    Its shares of weights and optimizer are put together, a file each, beside them, and deleted
    once they are read: the disk must hold them twice.

    Raises:
        TablemendError: they cannot be put together; raised in the main process alone.
    """
    launch.once(lambda: convert(checkpoint))
    plugin = trainer.accelerator.state.deepspeed_plugin
    plugin.hf_ds_config.config["checkpoint"] = {"load_universal": True}
    trainer.add_callback(_Loaded(trainer, checkpoint))


def convert(checkpoint: Path) -> None:
    """Write the shares of a checkpoint anew, whole, into a folder in it.

    Raises:
        TablemendError: DeepSpeed's converter failed.
    """
    remove(checkpoint)
    shares = checkpoint / (checkpoint / "latest").read_text("utf-8").strip()
    whole = shares.with_name(f"{shares.name}_universal")
    done = subprocess.run(
        [
            *(sys.executable, "-m", CONVERTER, "--inject_missing_state"),
            *("--input_folder", str(shares), "--output_folder", str(whole)),
        ],
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        remove(checkpoint)
        said = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise TablemendError(
            f"{checkpoint} cannot be read by another number of processes: {said[-1]}. Launch it "
            "as before, or give overwrite=true to start anew"
        )
    if any(shares.glob("zero_pp_rank_*_model_states.pt")):  # ZeRO-3
        _keep_own_decay(whole / "zero" / "optimizer_state.pt")


def remove(checkpoint: Path) -> None:
    """Delete what was converted, whole or half."""
    for path in checkpoint.glob("*_universal"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _keep_own_decay(path: Path) -> None:
    """ZeRO-3 (DeepSpeed 0.19) would give every group of weights the settings of the first.

    They differ in weight decay alone, which each has from the recipe already. Remove when what
    https://github.com/deepspeedai/DeepSpeed/pull/7585 did for weights is done for settings too.
    """
    state = torch.load(path, map_location="cpu", weights_only=False)
    for group in state["optimizer_state_dict"]["param_groups"]:
        group.pop("weight_decay", None)
    torch.save(state, path)


def own_steps(optimizer: torch.optim.Optimizer) -> None:
    """Give every group of weights a step counter of its own, where a fused kernel reads it.

    DeepSpeed 0.19 loads ZeRO-3 with one for all groups, which each would count up, and all
    counters onto the CPU. Remove with :func:`_keep_own_decay`.
    """
    for known in optimizer.state.values():
        known["step"] = step = deepcopy(known["step"])
        if optimizer.defaults.get("fused") and isinstance(step, torch.Tensor):
            known["step"] = step.to(known["exp_avg"].device, torch.float32)


class _Loaded(TrainerCallback):  # type: ignore[misc]
    """Deletes what was converted as soon as every process has read it."""

    def __init__(self, trainer: Any, checkpoint: Path) -> None:
        self.trainer = trainer
        self.checkpoint = checkpoint

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Called after a checkpoint is loaded."""
        own_steps(self.trainer.model_wrapped.optimizer.optimizer)
        state = PartialState()
        state.wait_for_everyone()
        if state.is_main_process:
            remove(self.checkpoint)
