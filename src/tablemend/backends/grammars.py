"""Holding transformers to a grammar: which tokens may come next, by llguidance."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from tablemend.errors import TablemendError

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
