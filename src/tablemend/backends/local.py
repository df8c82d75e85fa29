"""What engines in this process share: prompts are rendered here, by the renderer of training."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.loading import load_tokenizer, read_window
from tablemend.backends.requests import Prompt, Request, check_window
from tablemend.config.backend import BackendOptions
from tablemend.renderer import prompt_ids


class LocalEngine:
    """A checkpoint, and requests as its token ids.

    Args:
        checkpoint: folder, adapter's folder or Hub name.
        options: how it is loaded and asked.

    Attributes:
        ahead: requests that are taken at once: the longest prompts of a batch go first, and vLLM
            always has some to put beside the others.
    """

    ahead = 4096

    def __init__(self, checkpoint: Checkpoint, options: BackendOptions) -> None:
        self.checkpoint = checkpoint
        self.options = options

    def check(self, requests: Sequence[Request]) -> None:
        """Refuse prompts that do not fit; loads the tokenizer alone.

        Raises:
            TablemendError: see :func:`tablemend.backends.requests.check_window`.
        """
        by_length: dict[int, list[Prompt]] = {}
        for request in requests:
            most = request.sampling.max_new_tokens
            by_length.setdefault(most, []).append(self._render(request))
        for most, prompts in by_length.items():
            check_window(prompts, most, self._window)

    def _render(self, request: Request) -> Prompt:
        ids = prompt_ids(self._tokenizer, request.messages, request.thinking)
        return Prompt(request.id, tuple(ids), request.seed, request.grammar)

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self.checkpoint)

    @cached_property
    def _window(self) -> int:
        """Most tokens of prompt and answer together."""
        return read_window(self.checkpoint, self.options.context_length)
