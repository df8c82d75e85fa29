"""Answers by program: what a model would say to a prompt, worked out from the prompt alone."""

from __future__ import annotations

from pathlib import Path

from tablemend.scripted.chat import Chat, Reply


class Oracle:
    """Tells the stages of the pipeline apart by their system text and answers each.

    Args:
        examples: file or folder of examples whose tables are known.
    """

    def __init__(self, examples: Path | None = None) -> None:
        self._examples = examples

    def stage(self, chat: Chat) -> str:
        """The name of the prompt; ``other`` for a text that is none of ours."""
        return "other"

    def answer(self, chat: Chat, mistake: str | None, seed: int) -> Reply:
        """What the stage asks for."""
        return Reply("I have read your message.")
