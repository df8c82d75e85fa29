"""What a backend is asked and what it gives back; no engine is imported here."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from tablemend.errors import TablemendError
from tablemend.records import FinishReason


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt.

    Attributes:
        id: names the prompt in messages to the user and in its completion.
        prompt_ids: the rendered prompt, special tokens included.
    """

    id: str
    prompt_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen.

    Attributes:
        max_new_tokens: longest answer, its end of turn included.
        temperature: 0 is greedy.
        seed: with a temperature above 0, every request draws from its own stream, seeded by
            this number and its id: an answer does not depend on what it was batched with,
            beyond the rounding of the arithmetic.
    """

    max_new_tokens: int
    temperature: float = 0.0
    seed: int = 0

    def stream_seed(self, request: Request) -> int:
        """Seed of one request's own stream of random numbers."""
        digest = hashlib.sha256(f"{self.seed}\n{request.id}".encode()).digest()
        return int.from_bytes(digest[:8], "big")


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer.

    Attributes:
        id: the request's.
        text: everything generated before the end of turn, special tokens included.
        prompt_tokens: length of the prompt, without padding.
        completion_tokens: tokens generated, the end of turn included, without padding.
        finish_reason: ``stop`` at the end of turn, ``length`` at ``max_new_tokens``.
    """

    id: str
    text: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: FinishReason


def check_window(requests: Sequence[Request], max_new_tokens: int, window: int) -> None:
    """Refuse, before anything is generated, prompts that leave no room for a whole answer.

    Raises:
        TablemendError: naming the longest prompt, its length, and how many do not fit.
    """
    too_long = [r for r in requests if len(r.prompt_ids) + max_new_tokens > window]
    if too_long:
        worst = max(too_long, key=lambda request: len(request.prompt_ids))
        raise TablemendError(
            f"{worst.id}: a prompt of {len(worst.prompt_ids)} tokens and an answer of up to "
            f"{max_new_tokens} do not fit into a window of {window} tokens "
            f"({len(too_long)} of {len(requests)} prompts do not fit): raise "
            "model.context_length as far as the model allows, lower evaluation.max_new_tokens, "
            "or use examples with shorter contexts"
        )
