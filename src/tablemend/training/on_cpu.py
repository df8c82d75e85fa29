"""What makes training on a CPU fast: attention as matrix products, and memory that is kept."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

import torch
from accelerate import PartialState
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
from transformers.masking_utils import sdpa_mask

from tablemend.backends import cpu_attention

NAME = "blocks_of_queries"
BLOCK = 256
"""Queries that attend at a time; scores of later keys are never computed."""
LONGEST = 2048
"""Tokens of a row; longer ones take torch's kernel: what is kept for the backward pass grows with
their square."""
TRIMMED = 20
"""Forward and backward passes after which free memory goes back to the system: rows of many
lengths leave gaps in it."""
_MMAP_MAX, _TRIM_THRESHOLD, _TOP_PAD = -4, -1, -2
"""Parameters of glibc's ``mallopt`` (malloc.h)."""


def prepare(model: PreTrainedModel, precision: str) -> None:
    """Make training on a CPU faster; no effect where it is on another device.

    glibc keeps what is freed, unless the user has set ``MALLOC_...``: given back, each large tensor
    costs page faults anew. A model that attends by ``sdpa`` does so by :func:`attend` in bfloat16:
    torch 2.13's fused attention for CPUs computes it at the speed of float32. Either can go when
    benchmarks/sft_throughput.py is as fast without it. New tokens: :mod:`.cpu_attention`.

    Args:
        model: to be trained.
        precision: what its products are computed in.
    """
    if libc := _glibc():
        libc.mallopt(_MMAP_MAX, 0)
        libc.mallopt(_TRIM_THRESHOLD, -1)
        libc.mallopt(_TOP_PAD, 2**28)
    if PartialState().device.type != "cpu":
        return
    cpu_attention.use()
    if precision == "bfloat16" and model.config._attn_implementation == "sdpa":
        AttentionInterface.register(NAME, attend)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        model.set_attn_implementation(NAME)


def _glibc() -> ctypes.CDLL | None:
    """The C library whose memory is kept; ``None`` on other devices, systems and by wish."""
    chosen = any(name.startswith("MALLOC_") for name in os.environ)
    if PartialState().device.type != "cpu" or sys.platform != "linux" or chosen:
        return None
    found = ctypes.CDLL(None)
    return found if hasattr(found, "mallopt") else None


class Trim(TrainerCallback):  # type: ignore[misc]
    """Gives free memory back every :data:`TRIMMED` passes: the gaps in it would add up."""

    passes = 0

    def on_substep_end(
        self, _: TrainingArguments, state: TrainerState, control: TrainerControl, **__: Any
    ) -> None:
        """Count a pass."""
        self.passes += 1
        if self.passes % TRIMMED == 0 and (libc := _glibc()):
            libc.malloc_trim(0)

    on_step_end = on_substep_end


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """As :func:`.cpu_attention.attend`; all of a row without a mask by :func:`products`.

    Args:
        module: the attention layer.
        query: (batch, heads, tokens, head width).
        key: (batch, key heads, tokens, head width).
        value: (batch, key heads, tokens, value width).
        attention_mask: ``None`` where every token attends to all before it.
        **options: of ``sdpa``.

    Returns:
        (batch, tokens, heads, value width), and no attention weights.
    """
    causal = options.get("is_causal")
    if causal is None:  # sdpa_attention_forward decides it so
        causal = getattr(module, "is_causal", True)
    alone = attention_mask is None and options.get("position_bias") is None
    more = not alone or options.get("dropout")
    whole = query.shape[2] == key.shape[2] <= LONGEST
    if more or not causal or not whole or query.device.type != "cpu":
        return cpu_attention.attend(module, query, key, value, attention_mask, **options)
    scaling = options.get("scaling") or query.shape[-1] ** -0.5
    return products(query, key, value, scaling), None


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
        blocks.append(mixed.view(batch, heads, end - start, value.shape[-1]))
    return torch.cat(blocks, dim=2).transpose(1, 2).contiguous()
