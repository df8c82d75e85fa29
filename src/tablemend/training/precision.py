"""What a training computes in: the recipe's choice, or the device's where it says ``auto``."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Any, Literal, TypeVar

import torch

from tablemend.backends.precision import emulation, has_bfloat16, loaded_dtype
from tablemend.config.section import Precision
from tablemend.recipe.experiment import Trained

C = TypeVar("C", bound=Trained)


def chosen(precision: Precision, device: str) -> Literal["float32", "bfloat16"]:
    """The type for a type of device: bfloat16 where it has instructions for it, else float32."""
    if precision != "auto":
        return precision
    return "bfloat16" if has_bfloat16(device) else "float32"


def settle(config: C, device: str) -> C:
    """The recipe with the types that a type of device leads to.

    It is what the run folder notes: a training does not go on in another type elsewhere.
    """
    kind = chosen(config.train.precision, device)
    if config.train.method == "qlora":  # computes in it on every GPU
        kind = "bfloat16"
    return with_types(config, kind, loaded_dtype(config.weights_dtype, device))


def with_types(config: C, precision: Precision, dtype: str) -> C:
    """The recipe with other types of numbers."""
    train = config.train.model_copy(update={"precision": precision})
    model = config.model.model_copy(update={"dtype": dtype})
    return config.model_copy(update={"train": train, "model": model})


def facts(config: Trained, device: str) -> dict[str, Any]:
    """What the manifest says of it."""
    return {
        "precision": config.train.precision,
        "weights_dtype": config.model.dtype,
        "bfloat16_instructions": has_bfloat16(device),
        **({"threads": torch.get_num_threads()} if device == "cpu" else {}),
    }


def lines(config: Trained, settled: Trained, device: str, threads: int | None) -> Iterator[str]:
    """What the log says of it: type, why, and threads.

    Args:
        config: the recipe.
        settled: the same as :func:`settle` returned it.
        device: its type.
        threads: a process that the user has set.
    """
    why = "train.precision"
    if config.train.precision == "auto":
        has = "has" if has_bfloat16(device) else "has no"
        why = f"train.precision=auto, and this {device.upper()} {has} instructions for bfloat16"
    used = ""
    if device == "cpu":
        of = "OMP_NUM_THREADS" if threads else "OMP_NUM_THREADS sets another number"
        used = f"; threads a process: {torch.get_num_threads()} ({of})"
    yield f"computing in {settled.train.precision} ({why}){used}"
    for setting, dtype in (
        ("train.precision", config.train.precision),
        ("model.dtype", config.model.dtype),
    ):
        if warning := emulation(setting, dtype, device):
            yield warning


def device_name() -> str:
    """What this process trains on: the GPU by its maker's name, else the type of processor."""
    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else platform.machine()
