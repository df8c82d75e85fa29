"""Causal attention as two batched matrix products, for training short sequences on CPUs.

torch 2.13's fused attention for CPUs spends six times as long in its backward pass as these
products do at 170 tokens in bfloat16 (measured on two cores; no issue found: remove when
benchmarks/sft_throughput.py is as fast without it). Memory grows with the
square of the length, so it is for short sequences only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PretrainedConfig
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

NAME = "short_causal"
PLAIN = ("qwen3",)
"""Model types whose attention is causal and nothing else, unless their configuration says so."""
MASKED = ("sdpa", "eager")
"""Kernels that keep packed examples apart by a mask; the others take where each begins."""


def short_causal_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attend to the past alone, in models that :func:`is_plain` knows, without a cache.

    Args:
        module: the attention layer (unused; transformers passes it).
        query: (batch, heads, tokens, head width).
        key: (batch, key heads, tokens, head width).
        value: as ``key``.
        attention_mask: unused: padding stands on the right, where the past never sees it.
        scaling: factor on the scores.

    Returns:
        (batch, tokens, heads, head width), and no attention weights.
    """
    assert query.shape[2] == key.shape[2], "no cache in training"
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


@dataclass
class PackedRows(DataCollatorForLanguageModeling):  # type: ignore[misc]
    """Packed rows side by side, for kernels that take a mask.

    TRL's collator (1.16; by design) lays a batch out as one row, of which a mask has the square.
    transformers makes the mask that keeps examples apart from their positions, where no other mask
    is given.
    """

    return_position_ids: bool = True

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        """The batch without an attention mask: padding has positions of its own."""
        batch: dict[str, Any] = super().torch_call(examples)
        del batch["attention_mask"]
        return batch
