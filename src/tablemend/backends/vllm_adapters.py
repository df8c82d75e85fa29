"""LoRA adapters under vLLM: applied at every token, or merged into their base first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from tablemend.backends.checkpoints import ADAPTER, CONFIG, Checkpoint
from tablemend.errors import TablemendError

RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks that vLLM has room for."""
CANNOT = (
    "use_dora",
    "lora_bias",
    "modules_to_save",
    "layer_replication",
    "trainable_token_indices",
)
"""Fields of an adapter's configuration that vLLM does not apply, where they are set."""


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
    if largest_rank(adapter) > RANKS[-1]:
        lacks.append(f"a rank above {RANKS[-1]}")
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
