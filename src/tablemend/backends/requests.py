"""What a backend is asked and what it gives back; no engine is imported here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tablemend.foreign import whole_characters
from tablemend.records import FinishReason
from tablemend.thinking import behind_thinking

Message = Mapping[str, str]
"""One turn of a chat: ``role`` and ``content``."""

END_OF_THINKING = "</think>"
REPEATED = (8, 64)
"""Fewest and most tokens of what an answer may repeat without end."""


def repeats(ids: Sequence[int], count: int | None) -> bool:
    """Whether an answer ends with the same tokens ``count`` times in a row; never for ``None``."""
    if count is None:
        return False
    fewest, most = REPEATED
    return any(
        ids[-1] == ids[-1 - size] and ids[-size * count : -size] == ids[size - size * count :]
        for size in range(fewest, min(most, len(ids) // count) + 1)
    )


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen.

    Attributes:
        max_new_tokens: longest answer, thinking and end of turn included.
        temperature: 0 is greedy.
        max_repeats: an answer that ends with the same :data:`REPEATED` tokens so many times in a
            row is cut there, as at ``max_new_tokens``; ``None`` cuts none. Servers do not know it.
    """

    max_new_tokens: int
    temperature: float = 0.0
    max_repeats: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One chat to be answered.

    Attributes:
        id: names the request in messages to the user and in its completion; it is no part of
            what the answer depends on.
        messages: the turns so far.
        sampling: how tokens are chosen.
        thinking: whether the model is to think first; ``None`` asks for nothing.
        schema: JSON schema of the answer, for engines that have structured output; what comes
            back is checked by whoever asked, whatever the engine promises.
        grammar: GBNF grammar of the answer, in place of a schema, for engines that can be held to
            one: transformers, vLLM, and servers that take vLLM's ``structured_outputs``.
        seed: of the request's own stream of random numbers, with a temperature above 0: an
            answer does not depend on what it was batched with, beyond rounding. Two requests
            that are to be answered independently have two seeds.
    """

    id: str
    messages: Sequence[Message]
    sampling: Sampling
    thinking: bool | None = None
    schema: Mapping[str, Any] | None = None
    grammar: str | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as an engine that decodes by itself sees it.

    Attributes:
        id: the request's.
        ids: the rendered prompt, special tokens included.
        seed: the request's.
        grammar: the request's.
    """

    id: str
    ids: tuple[int, ...]
    seed: int = 0
    grammar: str | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer, or why there is none.

    Attributes:
        id: the request's.
        text: everything generated before the end of turn, special tokens included; a server
            that returns thinking apart has it put back in ``<think>`` tags. Empty where the
            request failed.
        prompt_tokens: length of the prompt, without padding.
        completion_tokens: tokens generated, the end of turn included, without padding.
        finish_reason: ``stop`` at the end of turn, ``length`` where it was cut,
            ``refusal`` where the model or its server declined (the text is what it said),
            ``error`` where the request failed for good.
        error: why it failed, in one line; empty otherwise.
        seconds: in :meth:`Backend.generate` the time since the completion before it, elsewhere
            the time that the request took; of a cached answer, what was measured then.
        cached_tokens: tokens of the prompt that the engine had read before (prefix caching).
        estimated: the server's token counts were missing or impossible, so they are estimates.
    """

    id: str
    text: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: FinishReason
    error: str = ""
    seconds: float = 0.0
    cached_tokens: int = 0
    estimated: bool = False

    @classmethod
    def failed(cls, id: str, why: str, seconds: float = 0.0) -> Completion:
        """What is given in place of an answer that cannot be had."""
        return cls(id, "", 0, 0, "error", why, seconds)

    def __post_init__(self) -> None:
        """Half of a surrogate pair, which a server can spell and no file can hold, is U+FFFD."""
        for name in ("text", "error"):
            object.__setattr__(self, name, whole_characters(getattr(self, name)))

    @property
    def answer(self) -> str:
        """The text after the thinking; empty where the thinking never ended."""
        return behind_thinking(self.text).strip()


def stream_seed(seed: int, name: str) -> int:
    """Seed of one request's own stream, from an experiment's seed; 31 bits, as servers take."""
    digest = hashlib.sha256(f"{seed}\n{name}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
