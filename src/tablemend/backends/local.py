"""What engines in this process share: prompts are rendered here, by the renderer of training."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.engine import Engine
from tablemend.backends.loading import load_tokenizer, read_window
from tablemend.backends.requests import Prompt, Request
from tablemend.config.section import BackendOptions
from tablemend.renderer import prompt_ids


class LocalEngine(Engine):
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

    def too_long(self, requests: Sequence[Request]) -> dict[str, str]:
        """See :class:`Engine`; loads the tokenizer alone."""
        found = {request.id: self._misfit(self._render(request), request) for request in requests}
        return {name: why for name, why in found.items() if why}

    def _misfit(self, prompt: Prompt, request: Request) -> str:
        """Why a prompt leaves no room for a whole answer; empty where it leaves some."""
        longest = request.sampling.max_new_tokens
        if len(prompt.ids) + longest <= self._window:
            return ""
        return (
            f"a prompt of {len(prompt.ids)} tokens and an answer of up to {longest} do not fit "
            f"into a window of {self._window} tokens"
        )

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
