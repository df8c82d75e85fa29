"""What vLLM is started with on this machine: devices for every copy, and the way of an adapter."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

from tablemend.backends.checkpoints import ADAPTER, CONFIG, Checkpoint
from tablemend.backends.vllm_replica import LORA_RANKS
from tablemend.errors import TablemendError

CANNOT = (
    "use_dora",
    "lora_bias",
    "modules_to_save",
    "layer_replication",
    "trainable_token_indices",
)
"""Fields of an adapter's configuration that vLLM does not apply, where they are set."""


def assign_devices(tensor_parallel: int, data_parallel: int | None) -> list[dict[str, str]]:
    """Environment variables of each copy of the weights: which devices it sees.

    Args:
        tensor_parallel: devices of a copy.
        data_parallel: copies; ``None``: on GPUs as many as they hold, on a CPU one.

    Raises:
        TablemendError: this machine has fewer than are asked for.
    """
    on_gpus = torch.cuda.is_available()
    if on_gpus:
        named = os.environ.get("CUDA_VISIBLE_DEVICES")
        devices = named.split(",") if named else list(map(str, range(torch.cuda.device_count())))
    elif sys.platform == "linux":
        devices = [str(core) for core in sorted(os.sched_getaffinity(0))]
    else:  # vLLM binds no threads there
        devices = list(map(str, range(os.cpu_count() or 1)))
    if data_parallel is None:
        data_parallel = max(1, len(devices) // tensor_parallel) if on_gpus else 1
    wanted = tensor_parallel * data_parallel
    if len(devices) < wanted:
        raise TablemendError(
            f"vllm.tensor_parallel={tensor_parallel} times vllm.data_parallel={data_parallel} "
            f"needs {wanted} {'GPUs' if on_gpus else 'CPU cores'}, there are {len(devices)}: lower "
            "one of them; beyond one machine, start servers and name their URLs"
        )
    if data_parallel == 1 and (on_gpus or tensor_parallel == 1):
        return [{}]  # vLLM's own choice is right
    if on_gpus:
        starts = range(0, wanted, tensor_parallel)
        parts = [devices[start : start + tensor_parallel] for start in starts]
        return [{"CUDA_VISIBLE_DEVICES": ",".join(part)} for part in parts]
    # left alone, every copy binds its threads to the same cores
    ranks = [
        devices[len(devices) * rank // wanted :][: len(devices) // wanted] for rank in range(wanted)
    ]
    shares = [",".join(cores) for cores in ranks]
    starts = range(0, wanted, tensor_parallel)
    return [
        {"VLLM_CPU_OMP_THREADS_BIND": "|".join(shares[start : start + tensor_parallel])}
        for start in starts
    ]


def merges_adapter(checkpoint: Checkpoint, wanted: str) -> bool:
    """Whether an adapter is merged into its base before vLLM sees it.

    Raises:
        TablemendError: neither way is open, or the one that was asked for.
    """
    base = checkpoint.adapter_base
    if base is None:
        return False
    adapter = adapter_config(checkpoint)
    lacks = [name for name in CANNOT if adapter.get(name)]
    if largest_rank(adapter) > LORA_RANKS[-1]:
        lacks.append(f"a rank above {LORA_RANKS[-1]}")
    if adapter.get("peft_type") != "LORA":
        lacks.append(f"peft_type {adapter.get('peft_type')}")
    merge = wanted == "merge" or (
        wanted == "auto" and (bool(lacks) or not torch.cuda.is_available())
    )
    if not merge and lacks:
        raise TablemendError(
            f"{checkpoint.path}: vLLM does not apply adapters with {', '.join(lacks)}: set "
            "vllm.adapter=merge"
        )
    if merge and base.folder is not None:
        config = json.loads((base.folder / CONFIG).read_text(encoding="utf-8"))
        if config.get("quantization_config"):
            raise TablemendError(
                f"{checkpoint.path}: its base {base.path} is quantised, and merging would round "
                "the adapter away: set vllm.adapter=lora, or name an unquantised base"
            )
    return merge


def adapter_config(checkpoint: Checkpoint) -> dict[str, Any]:
    """What PEFT wrote of an adapter."""
    config: dict[str, Any] = json.loads(
        (Path(checkpoint.path).expanduser() / ADAPTER).read_text(encoding="utf-8")
    )
    return config


def largest_rank(adapter: dict[str, Any]) -> int:
    """The rank of the largest of an adapter's layers."""
    ranks: list[int] = list((adapter.get("rank_pattern") or {}).values())
    return max([int(adapter.get("r") or 0), *ranks])
