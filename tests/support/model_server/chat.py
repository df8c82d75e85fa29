"""A chat request as the protocol writes it, read and checked, and the reply to it."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from random import Random
from time import time
from typing import Any, Literal, Protocol

from tablemend.values.qwen_tokens import count_tokens

Finish = Literal["stop", "length", "content_filter"]


class Unfit(Exception):
    """A body that is no chat request."""


@dataclass(frozen=True, slots=True)
class Chat:
    """What is asked.

    Attributes:
        model: the name that was asked for; any will do.
        turns: role and text of every turn.
        seed: of the answer; it counts only with a temperature above 0, as on a real server.
        max_tokens: longest answer; ``None`` is unlimited.
        thinking: whether thinking was asked for in ``chat_template_kwargs``.
    """

    model: str
    turns: tuple[tuple[str, str], ...]
    seed: int = 0
    temperature: float = 1.0
    max_tokens: int | None = None
    thinking: bool = False

    @property
    def system(self) -> str:
        """The first turn where it is a system turn; else empty."""
        role, text = self.turns[0]
        return text if role in ("system", "developer") else ""

    @property
    def users(self) -> tuple[str, ...]:
        """The user turns: the task, and then what was wrong with the answers to it."""
        return tuple(text for role, text in self.turns if role == "user")

    def prompt_tokens(self) -> int:
        """About the length of the prompt; four more a turn for its frame."""
        return sum(count_tokens(text) + 4 for _, text in self.turns)

    def rng(self, seed: int) -> Random:
        """The chance that an answer is drawn by: of the server's seed, the turns, the seed."""
        content = json.dumps([seed, self.turns, self.seed if self.temperature > 0 else None])
        return Random(blake2b(content.encode()).digest())


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered.

    Attributes:
        content: the text after the thinking.
        thought: the thinking; none where it is empty.
        finish: why it ends.
        refusal: ``message.refusal``.
    """

    content: str
    thought: str = ""
    finish: Finish = "stop"
    refusal: str | None = None


class Answerer(Protocol):
    """What answers behind the server."""

    def answer(self, chat: Chat, mistake: str | None, seed: int) -> Reply:
        """Answer; with a mistake of :data:`faults.MISTAKES` where the stage can make it."""
        ...


class FixedAnswer:
    """The same answer to everything."""

    def __init__(self, text: str) -> None:
        self._reply = Reply(text)

    def answer(self, chat: Chat, mistake: str | None, seed: int) -> Reply:
        """The text."""
        return self._reply


def read_chat(body: bytes) -> Chat:
    """Read the body of a request.

    Raises:
        Unfit: it is no JSON object, or a field is missing or of the wrong type.
    """
    try:
        data = json.loads(body)
        limit = data.get("max_completion_tokens") or data.get("max_tokens")
        template = data.get("chat_template_kwargs") or {}
        turns = tuple((turn["role"], turn["content"]) for turn in data["messages"])
        seed, temperature = data.get("seed") or 0, data.get("temperature", 1.0)
        thinking = template.get("enable_thinking") is True
        return Chat(data.get("model", ""), turns, seed, temperature, limit, thinking)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unfit(f"no chat request: {error!r}") from error


def joined(reply: Reply) -> Reply:
    """The reply with its thinking in the content, as a server without a parser for it gives it."""
    if not reply.thought:
        return reply
    text = f"<think>\n{reply.thought}\n</think>\n\n{reply.content}"
    return replace(reply, content=text, thought="")


def within(reply: Reply, most: int | None) -> Reply:
    """The reply, cut where it is longer than asked; the end of turn is a token too."""
    if most is None or count_tokens(reply.content) + 1 <= most:
        return reply
    text = reply.content
    end = bisect_right(range(len(text) + 1), most, key=lambda end: count_tokens(text[:end])) - 1
    return replace(reply, content=text[:end], finish="length")


def completion(chat: Chat, reply: Reply, usage: Mapping[str, Any], number: str) -> bytes:
    """The body of a ``chat.completion``."""
    message = {
        "role": "assistant",
        "content": None if reply.refusal is not None else reply.content,
        "refusal": reply.refusal,
    }
    body = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time()),
        "model": chat.model,
        "choices": [
            {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish}
        ],
        "usage": usage,
    }
    return json.dumps(body).encode()


def usage_of(chat: Chat, reply: Reply) -> dict[str, Any]:
    """Token counts, as estimated; the end of turn is counted where the answer has one."""
    prompt = chat.prompt_tokens()
    answer = count_tokens(reply.refusal or reply.content) + (reply.finish == "stop")
    return {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "total_tokens": prompt + answer,
    }
