"""Causal attention as two batched matrix products, for training short sequences on CPUs.

torch 2.13's fused attention for CPUs spends six times as long in its backward pass as these
products do at 170 tokens in bfloat16 (measured on two cores). Memory grows with the
square of the length, so it is for short sequences only.
"""

from __future__ import annotations

from typing import Any

import torch
from accelerate import PartialState
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PretrainedConfig
from transformers.utils import (
    is_flash_attn_2_available,
    is_flash_attn_3_available,
    is_kernels_available,
)

from tablemend.errors import TablemendError, install

NAME = "short_causal"
PLAIN = ("qwen3",)
"""Model types whose attention is causal and nothing else, unless their configuration says so."""


def short_causal_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    position_bias: Tensor | None = None,
    is_causal: bool | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attend to the past; padding must stand on the right, where the past never sees it.

    Args:
        module: the attention layer (unused; transformers passes it).
        query: (batch, heads, tokens, head width).
        key: (batch, key heads, tokens, head width).
        value: as ``key``.
        attention_mask: unused, see above.
        scaling: factor on the scores.
        dropout: must be 0. This and what follows is asked of some models' attention, and refused
            rather than ignored.
        sliding_window: must be ``None``.
        softcap: must be ``None``.
        s_aux: attention sinks; must be ``None``.
        position_bias: must be ``None``.
        is_causal: must not be ``False``.

    Returns:
        (batch, tokens, heads, head width), and no attention weights.

    Raises:
        TablemendError: more than causal attention is asked for, or a cache is in use.
    """
    asked = {
        "dropout": dropout != 0,
        "a sliding window": sliding_window is not None,
        "soft-capped scores": softcap is not None,
        "attention sinks": s_aux is not None,
        "a position bias": position_bias is not None,
        "attention to the future": is_causal is False,
        "a cache": query.shape[2] != key.shape[2],
    }
    if any(asked.values()):
        names = ", ".join(name for name, is_asked in asked.items() if is_asked)
        raise TablemendError(f"the attention kernel {NAME} cannot do {names}: use sdpa")
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
    with torch.autocast(query.device.type, enabled=False):
        dtype = value.dtype
        scores = torch.matmul((query * scaling).to(dtype), key.to(dtype).transpose(-1, -2))
        tokens = scores.shape[-1]
        future = torch.full((tokens, tokens), -torch.inf, dtype=dtype, device=scores.device)
        weights = torch.softmax(scores + future.triu(1), dim=-1)
        mixed = torch.matmul(weights, value)
    return mixed.transpose(1, 2).contiguous(), None


def refuse_kernel(name: str) -> None:
    """Refuse an attention kernel that cannot train here, before anything is read.

    Raises:
        TablemendError: no flash attention is installed, or flex attention has no GPU.
    """
    installed = {
        "flash_attention_2": is_flash_attn_2_available,
        "flash_attention_3": is_flash_attn_3_available,
    }
    if name in installed and not (installed[name]() or is_kernels_available()):
        raise TablemendError(
            f"model.attn={name} is not installed: {install('gpu')} (kernels, which fetches it from "
            "the Hub: flash-attn has no wheel for torch 2.13), or set model.attn=sdpa or "
            "flex_attention, which keep packed examples apart as well"
        )
    if name == "flex_attention" and PartialState().device.type == "cpu":
        raise TablemendError(
            "model.attn=flex_attention has no backward pass on CPUs: set model.attn=sdpa"
        )


def is_plain(config: PretrainedConfig) -> bool:
    """Whether :func:`short_causal_attention` computes what the model's own attention would."""
    if config.model_type not in PLAIN:
        return False  # other types may lack the fields below
    return not config.use_sliding_window and not config.attention_dropout


def register() -> str:
    """Make the kernel known to transformers; returns its name for ``attn_implementation``."""
    AttentionInterface.register(NAME, short_causal_attention)
    AttentionMaskInterface.register(NAME, lambda *_, **__: None)
    return NAME
