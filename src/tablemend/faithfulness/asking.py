"""A model with one prompt, and what its answers took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tablemend.backends.asking import short_name
from tablemend.backends.backend import Backend
from tablemend.backends.requests import Completion, Sampling
from tablemend.faithfulness.prompting import PROMPTS
from tablemend.faithfulness.verifier import Usage


class Asker:
    """Any backend's model with one prompt.

    Args:
        backend: the model; it is closed with this.
        thinking: whether it is to think first; ``None`` asks for nothing.
        max_new_tokens: longest answer, thinking included; ``None`` is :attr:`LONGEST`.

    Attributes:
        name: model and version of the prompt, for the records.
    """

    PROMPT: ClassVar[str]
    LONGEST: ClassVar[int]

    def __init__(
        self, backend: Backend, thinking: bool | None = None, max_new_tokens: int | None = None
    ) -> None:
        self.name = f"llm:{short_name(backend)}, {PROMPTS.version(self.PROMPT)}"
        self._backend = backend
        self._thinking = thinking
        self._sampling = Sampling(max_new_tokens or self.LONGEST)

    def close(self) -> None:
        """Close the backend."""
        self._backend.close()


def usage_of(completions: Sequence[Completion]) -> Usage:
    """What answers took; those from the request cache count like any other."""
    return Usage(
        len(completions),
        sum(completion.prompt_tokens for completion in completions),
        sum(completion.completion_tokens for completion in completions),
        sum(completion.finish_reason == "error" for completion in completions),
    )
