"""Attention of a single new token on a CPU, as two matrix products."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "one_query"


def use(model: PreTrainedModel) -> None:
    """Let a model on a CPU that attends by ``sdpa`` do so by :func:`attend`.

    torch's fused attention (2.13) is slow where there is one query: of 8 rows of 900 tokens a
    token took 1.7 to 3.5 times as long (LAB_LOG.md, 2026-11-26). Can go when it does not.
    """
    if model.device.type == "cpu" and model.config._attn_implementation == "sdpa":
        AttentionInterface.register(NAME, attend)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        model.set_attn_implementation(NAME)


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """What ``sdpa`` does in transformers.

    Args:
        module: the attention layer.
        query: (batch, heads, tokens, head width).
        key: (batch, key heads, all tokens, head width).
        value: as ``key``.
        attention_mask: (batch, 1, tokens, all tokens), true where a token is seen; ``None``: all.
        dropout: of the attention weights.
        scaling: factor on the scores; ``None``: by the head width.
        **options: of ``sdpa``.

    Returns:
        (batch, tokens, heads, head width), and no attention weights.
    """
    batch, heads, tokens, width = query.shape
    told = attention_mask is None or attention_mask.dtype == torch.bool
    more = not told or options.get("position_bias") is not None or dropout
    if more or tokens > 1 or query.device.type != "cpu":
        given = (module, query, key, value, attention_mask, dropout, scaling)
        fused: tuple[Tensor, None] = sdpa_attention_forward(*given, **options)
        return fused
    # the heads that share a key head are rows of one product
    asked = (query * (scaling or width**-0.5)).reshape(batch, key.shape[1], -1, width)
    scores = asked @ key.transpose(2, 3)
    if attention_mask is not None:
        scores.masked_fill_(~attention_mask, -torch.inf)
    mixed = scores.softmax(-1) @ value
    return mixed.view(batch, 1, heads, width), None
