"""Attention of a single new token on a CPU, as two matrix products."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward


def use() -> None:
    """Let every model of this process that attends by ``sdpa`` do so by :func:`attend`.

    torch's fused attention (2.13) is slow on CPUs where there is one query: of 8 rows of 900 tokens
    a new token took 1.7 to 3.5 times as long (LAB_LOG.md, 2026-11-26). Remove this when it is not.
    The name stays ``sdpa``: code of models in transformers compares it.
    """
    AttentionInterface.register("sdpa", attend)


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
    """What ``sdpa`` does in transformers; one query on a CPU by two products.

    Their scores are rounded to the type of the products, as by ``eager``.

    Args:
        module: the attention layer.
        query: (batch, heads, tokens, head width).
        key: (batch, key heads, all tokens, head width).
        value: (batch, key heads, all tokens, value width).
        attention_mask: (batch, 1, tokens, all tokens), true where a token is seen, and every query
            sees one; ``None``: all.
        dropout: of the attention weights.
        scaling: factor on the scores; ``None``: by the head width.
        **options: of ``sdpa``.

    Returns:
        (batch, tokens, heads, value width), and no attention weights.
    """
    batch, heads, tokens, width = query.shape
    mask = attention_mask
    plain = mask is None or (mask.dtype == torch.bool and mask.shape[1] == 1)
    other = not plain or options.get("position_bias") is not None or dropout
    if other or tokens > 1 or query.device.type != "cpu":
        given = (module, query, key, value, mask, dropout, scaling)
        fused: tuple[Tensor, None] = sdpa_attention_forward(*given, **options)
        return fused
    # the heads that share a key head are rows of one product
    asked = (query * (scaling or width**-0.5)).reshape(batch, key.shape[1], -1, width)
    scores = asked @ key.transpose(2, 3)
    if mask is not None:
        scores.masked_fill_(~mask, -torch.inf)
    return (scores.softmax(-1) @ value).view(batch, 1, heads, -1), None
