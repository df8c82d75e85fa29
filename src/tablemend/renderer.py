"""From messages to token ids: the one renderer of training and evaluation.

The training prefix equals the evaluation prompt, id for id, because both are
:func:`prompt_ids`. The prompt ends where the model's turn begins; with thinking switched off
Qwen3's empty thinking block is part of the prompt and never of the loss. A template that opens
``<think>`` itself has its tag in the prompt: a target continues it, and an answer gets it back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Protocol

from jinja2 import TemplateError

from tablemend.errors import TablemendError

PROBE = ({"role": "user", "content": "Question?"},)
ANSWER = "ANSWER"
DAY = date(2025, 7, 1)
"""What a template that names today (gpt-oss, SmolLM3) is told: a prompt is the same on any day."""


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
            and templates without such a switch ignore it. ``False`` adds what the template itself
            writes between its generation prompt and an answer, such as gpt-oss's final channel.
    """
    prompt = _rendered(tokenizer, messages, thinking, add_generation_prompt=True)
    if thinking is False:
        begin = _rendered(tokenizer, PROBE, thinking, add_generation_prompt=True)
        whole = whole_chat(tokenizer, PROBE, ANSWER, thinking)
        header, answer, _ = whole.removeprefix(begin).partition(ANSWER)
        # a space is the tokenizer's own at the start of an answer (SentencePiece)
        if answer and whole.startswith(begin) and header.strip(" "):
            prompt += header
    return prompt


def whole_chat(
    tokenizer: Tokenizer,
    messages: Sequence[Mapping[str, str]],
    answer: str,
    thinking: bool | None,
) -> str:
    """The chat with its answer, as the template itself writes it."""
    return _rendered(tokenizer, [*messages, {"role": "assistant", "content": answer}], thinking)


def _rendered(
    tokenizer: Tokenizer,
    messages: Sequence[Mapping[str, str]],
    thinking: bool | None,
    **options: object,
) -> str:
    switch: dict[str, object] = {} if thinking is None else {"enable_thinking": thinking}
    switch["strftime_now"] = DAY.strftime
    try:
        return tokenizer.apply_chat_template(messages, tokenize=False, **switch, **options)
    except TemplateError as error:
        roles = ", ".join(turn["role"] for turn in messages)
        raise TablemendError(
            f"the model's chat template takes no chat of text with the turns {roles} ({error}): "
            "name a model that does, or put another chat_template.jinja beside its tokenizer"
        ) from error


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
