"""From messages to token ids: the one renderer of training and evaluation.

The training prefix equals the evaluation prompt, id for id, because both are
:func:`prompt_ids`. The prompt ends where the model's turn begins; with thinking switched off
Qwen3's empty thinking block is part of the prompt and never of the loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tablemend.errors import TablemendError


class Tokenizer(Protocol):
    """What the renderer needs of a transformers tokenizer."""

    eos_token_id: int | None

    def apply_chat_template(
        self, conversation: Sequence[Mapping[str, str]], **options: object
    ) -> str:
        """Render a chat."""
        ...

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Text to ids."""
        ...

    def decode(self, token_ids: Sequence[int]) -> str:
        """Ids to text."""
        ...


def prompt_text(
    tokenizer: Tokenizer, messages: Sequence[Mapping[str, str]], thinking: bool | None
) -> str:
    """The prompt as text, up to and including the generation prompt.

    Args:
        tokenizer: with a chat template.
        messages: the chat.
        thinking: whether the model is to think first; ``None`` is the template's own default,
            and templates without such a switch ignore it.
    """
    options: dict[str, object] = {} if thinking is None else {"enable_thinking": thinking}
    return tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True, **options
    )


def prompt_ids(
    tokenizer: Tokenizer, messages: Sequence[Mapping[str, str]], thinking: bool | None
) -> list[int]:
    """The prompt as ids; special tokens come from the chat template alone."""
    return tokenizer.encode(prompt_text(tokenizer, messages, thinking), add_special_tokens=False)


def target_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """The supervised ids: the text and one end of turn.

    Raises:
        TablemendError: the tokenizer names no end-of-turn token.
    """
    if tokenizer.eos_token_id is None:
        raise TablemendError(
            "the tokenizer has no eos_token, so an answer could never end: set eos_token to the "
            "chat template's end of turn in tokenizer_config.json"
        )
    return [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
