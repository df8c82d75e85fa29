"""Where a model's answer begins and its thinking ends, however the model writes that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

PROMPT_END = 16
"""Tokens at the end of a prompt among which a template opens a thought."""

_NAME = (
    r"(?:[a-z0-9]+[:_.-])*(?:think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad"
    r"|monologue)(?:[:_.-][a-z0-9]+)*"
)
# <think>, <seed:think>, <|START_THINKING|>, <|begin_of_thought|>, [THINK]; the channels of gpt-oss,
# also as they are left where special tokens are dropped, and of Gemma.
_OPENED = re.compile(
    rf"<\|?\s?(?!end[_-]){_NAME}(?:\s[^<>|]*)?\|?>|\[think\]|\u25c1think\u25b7|<unused94>"
    r"|<\|channel\|>\s*(?:analysis|commentary)|<\|channel>\s*thought"
    r"|\A\s*analysis(?=(?-i:[A-Z]))",
    re.IGNORECASE,
)
_CLOSED = re.compile(
    rf"<\|?\s?(?:/\s?|(?=end[_-])){_NAME}\s?\|?>|\[/think\]|\u25c1/think\u25b7|<unused95>"
    r"|<\|channel\|>\s*final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>|<channel\|>"
    r"|(?-i:assistantfinal)",
    re.IGNORECASE,
)


def end_of_thinking(text: str) -> int:
    """Where an answer goes on behind the last thought that is closed; 0 where none is."""
    return max((match.end() for match in _CLOSED.finditer(text)), default=0)


def open_thought(text: str) -> int:
    """Where a thought is opened that is never closed; -1 where none is."""
    match = _OPENED.search(text, end_of_thinking(text))
    return match.start() if match else -1


def behind_thinking(text: str) -> str:
    """What of an answer is not thinking; empty where the thinking never ends."""
    return "" if open_thought(text) >= 0 else text[end_of_thinking(text) :]


def opened_at_end(prompt: str) -> str:
    """The tag that opens a thought at the very end of a prompt, with the space behind it."""
    opened = list(_OPENED.finditer(prompt))
    is_last = opened and not prompt[opened[-1].end() :].strip()
    return prompt[opened[-1].start() :] if is_last else ""


def opened_thought(tokenizer: Any, prompt: Sequence[int]) -> str:
    """:func:`opened_at_end` of token ids."""
    return opened_at_end(tokenizer.decode(list(prompt[-PROMPT_END:])))


def continued(opened: str, answer: str) -> str:
    """What of an answer is still to be written after a prompt.

    Args:
        opened: what :func:`opened_thought` says of the prompt.
        answer: whole, with its own ``<think>``.
    """
    if not opened or answer.startswith(opened):
        return answer.removeprefix(opened)
    thought = answer.removeprefix("<think>")
    return answer if thought == answer else thought.lstrip()


def with_open_thought(text: str, tag: str) -> str:
    """An answer behind a thought that its prompt opened: with the tag, where nothing closes it."""
    if _CLOSED.search(text) or _OPENED.match(text.lstrip()):
        return text
    return f"{tag}\n{text}"


def without_tags(thought: str) -> str:
    """A thought without the tags around it."""
    return _CLOSED.sub("", _OPENED.sub("", thought))
