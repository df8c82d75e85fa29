"""What makes training fast on a CPU: attention as matrix products, and memory that is kept."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    PreTrainedModel,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "blocks_of_queries"
BLOCK = 256
"""Queries that attend at a time; scores of later keys are never computed."""
LONGEST = 2048
"""Tokens of a row: what is kept for the backward pass grows with their square."""
TRIMMED = 10
"""Steps after which kept memory is given back once: rows of many lengths leave gaps in it."""
_MMAP_MAX, _TRIM_THRESHOLD, _TOP_PAD = -4, -1, -2
"""Parameters of glibc's ``mallopt`` (malloc.h)."""


def prepare(model: PreTrainedModel, precision: str) -> None:
    """Have a model on a CPU, and this process, train faster; elsewhere it does nothing.

    glibc keeps what is freed: given back, each large tensor costs page faults anew, a third of a
    step's time on rows of 1,400 tokens. A model that attends by ``sdpa`` does so by :func:`attend`
    in bfloat16: torch 2.13's fused attention for CPUs computes it at the speed of float32. Remove
    either when benchmarks/sft_throughput.py is as fast without it.

    Args:
        model: to be trained.
        precision: what its products are computed in.
    """
    if model.device.type != "cpu":
        return
    if libc := _glibc():
        libc.mallopt(_MMAP_MAX, 0)
        libc.mallopt(_TRIM_THRESHOLD, -1)
        libc.mallopt(_TOP_PAD, 2**28)
    if precision == "bfloat16" and model.config._attn_implementation == "sdpa":
        AttentionInterface.register(NAME, attend)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        model.set_attn_implementation(NAME)


def _glibc() -> ctypes.CDLL | None:
    found = ctypes.CDLL(None) if sys.platform == "linux" else None
    return found if hasattr(found, "mallopt") else None


class Trim(TrainerCallback):  # type: ignore[misc]
    """Gives the gaps in kept memory back every :data:`TRIMMED` steps: else they add up."""

    def on_step_end(
        self, _: TrainingArguments, state: TrainerState, control: TrainerControl, **__: Any
    ) -> None:
        """Trim after a step."""
        if state.global_step % TRIMMED == 0 and (libc := _glibc()):
            libc.malloc_trim(0)


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **options: Any,
) -> tuple[Tensor, None]:
    """What ``sdpa`` does in transformers; where no mask is needed, as matrix products.

    Args:
        module: the attention layer.
        query: (batch, heads, tokens, head width).
        key: (batch, key heads, tokens, head width).
        value: as ``key``.
        attention_mask: ``None`` where every token attends to all before it.
        scaling: factor on the scores; ``None``: by the head width.
        dropout: of the attention weights.
        **options: of ``sdpa``.

    Returns:
        (batch, tokens, heads, head width), and no attention weights.
    """
    tokens, causal = query.shape[2], options.get("is_causal")
    if causal is None:  # as transformers asks
        causal = getattr(module, "is_causal", True)
    if attention_mask is not None or not causal or dropout or not tokens == key.shape[2] <= LONGEST:
        given = (module, query, key, value, attention_mask, dropout, scaling)
        fused: tuple[Tensor, None] = sdpa_attention_forward(*given, **options)
        return fused
    return products(query, key, value, scaling or query.shape[-1] ** -0.5), None


# a compiled loop would be made anew for each number of blocks
@torch.compiler.disable  # type: ignore[untyped-decorator]
def products(query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
    """Causal attention, block of queries by block; see :func:`attend`."""
    batch, heads, tokens, width = query.shape
    groups = heads // key.shape[1]
    keys, query = key.transpose(2, 3), query * scaling
    blocks = []
    for start in range(0, tokens, BLOCK):
        end = min(tokens, start + BLOCK)
        # the heads that share a key head are rows of one product
        asked = query[:, :, start:end].reshape(batch, -1, groups * (end - start), width)
        scores = asked @ keys[..., :end]
        future = torch.ones(end - start, end - start, dtype=torch.bool).triu_(1)
        last = scores.view(batch, -1, groups, end - start, end)[..., start:]
        last.masked_fill_(future, -torch.inf)
        mixed = scores.softmax(-1) @ value[:, :, :end]
        blocks.append(mixed.view(batch, heads, end - start, width))
    return torch.cat(blocks, dim=2).transpose(1, 2)
