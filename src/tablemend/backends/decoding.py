"""What the transformers backend decodes with: key-value cache, attention on a CPU, grammars.

Rows of the key-value cache are right-aligned: the newest token of every row stands in the last
column, what a row does not fill on its left is masked. transformers' caches grow by concatenation,
which copies everything at every token; here a layer grows into spare room.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from transformers import AttentionInterface, PreTrainedTokenizerFast
from transformers.cache_utils import Cache, DynamicLayer
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from tablemend.errors import TablemendError

SPARE = 64  # columns; the copy is paid once for so many tokens


class RoomyLayer(DynamicLayer):  # type: ignore[misc]  # transformers is untyped
    """A layer that grows into spare columns; ``keys`` and ``values`` are views of its room."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Append along the columns: (rows, heads, new columns, head size) -> all columns."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self.keys, self.values = key_states, value_states
            self._rooms: tuple[Tensor, Tensor] | None = None
            return self.keys, self.values
        start, new = self.keys.shape[-2], key_states.shape[-2]
        if self._rooms is None or self._rooms[0].shape[-2] < start + new:
            self._rooms = (
                pad(self.keys, (0, 0, 0, new + SPARE)),
                pad(self.values, (0, 0, 0, new + SPARE)),
            )
        for room, states in zip(self._rooms, (key_states, value_states), strict=True):
            room[..., start : start + new, :] = states
        self.keys, self.values = (room[..., : start + new, :] for room in self._rooms)
        return self.keys, self.values

    def replace(self, keys: Tensor, values: Tensor) -> None:
        """Put other states in place of all."""
        self.keys, self.values, self._rooms = keys, values, None


def new_cache() -> Cache:
    """An empty cache whose layers keep every column (sliding windows act by the mask alone)."""
    return Cache(layer_class_to_replicate=RoomyLayer)


def keep_rows(cache: Cache, rows: list[int], first_column: int) -> None:
    """Drop all rows but ``rows`` and the columns left of ``first_column``, in place."""
    for layer in cache.layers:
        layer.replace(layer.keys[rows, :, first_column:], layer.values[rows, :, first_column:])


def join_rows(cache: Cache, other: Cache) -> None:
    """Put the rows of ``other`` below those of ``cache``, in place, right-aligned."""
    for layer, more in zip(cache.layers, other.layers, strict=True):
        width = max(layer.keys.shape[-2], more.keys.shape[-2])
        layer.replace(
            torch.cat([_widen(layer.keys, width), _widen(more.keys, width)]),
            torch.cat([_widen(layer.values, width), _widen(more.values, width)]),
        )


def _widen(states: Tensor, width: int) -> Tensor:
    return pad(states, (0, 0, width - states.shape[-2], 0))


def use_cpu_attention() -> None:
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


KEPT = 64
"""Compiled grammars that are kept; the systems of one example follow each other."""


class Grammars:
    """The grammars of one tokenizer.

    Args:
        tokenizer: a fast transformers tokenizer.
        stop_ids: tokens that end an answer: allowed where the grammar is fulfilled.

    Raises:
        ModuleNotFoundError: no llguidance.
        TablemendError: a tokenizer that llguidance cannot read.
    """

    def __init__(self, tokenizer: Any, stop_ids: Collection[int]) -> None:
        from llguidance.hf import from_tokenizer

        if not isinstance(tokenizer, PreTrainedTokenizerFast):
            raise TablemendError(
                f"{tokenizer.name_or_path}: constrained decoding needs a fast tokenizer (a "
                "tokenizer.json), or vLLM: evaluation.backend=vllm"
            )
        self._tokenizer = from_tokenizer(tokenizer, eos_token=sorted(stop_ids))
        self._compiled = lru_cache(maxsize=KEPT)(self._compile)

    def matcher(self, grammar: str) -> Matcher:
        """A fresh answer under a grammar in GBNF.

        Raises:
            TablemendError: it cannot be read.
        """
        return Matcher(self._compiled(grammar).deep_copy())

    def _compile(self, grammar: str) -> Any:
        from llguidance import LLMatcher, grammar_from

        try:
            matcher = LLMatcher(self._tokenizer, grammar_from("gbnf", grammar), log_level=0)
        except ValueError as error:
            raise TablemendError(f"a grammar that cannot be read: {error}") from error
        _refuse(matcher)
        return matcher


class Matcher:
    """One answer in the making, and what its grammar lets follow."""

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def forbid(self, logits: Tensor) -> None:
        """Set the logits (vocabulary,) of every other token to minus infinity, in place."""
        packed = torch.frombuffer(bytearray(self._matcher.compute_bitmask()), dtype=torch.uint8)
        bits = (packed[:, None] >> torch.arange(8, dtype=torch.uint8)) & 1
        allowed = bits.flatten().bool()[: logits.shape[0]]
        if allowed.shape[0] < logits.shape[0]:  # rows of the embedding beyond the vocabulary
            rest = logits.shape[0] - allowed.shape[0]
            allowed = torch.cat([allowed, torch.zeros(rest, dtype=torch.bool)])
        logits.masked_fill_(~allowed.to(logits.device), float("-inf"))

    def take(self, token: int) -> None:
        """Go on with a token that was allowed."""
        if not self._matcher.is_stopped():
            self._matcher.consume_token(token)
            _refuse(self._matcher)


def _refuse(matcher: Any) -> None:
    if error := matcher.get_error():
        raise TablemendError(f"the grammar cannot be followed: {error.splitlines()[0]}")
