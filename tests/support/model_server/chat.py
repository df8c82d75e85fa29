"""A chat request as the protocol writes it, read and checked, and the reply to it."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from random import Random
from time import time
from typing import Any, Literal, Protocol, TypeVar

from tablemend.datasets.tablehallu.tokens import count_tokens

Finish = Literal["stop", "length", "content_filter"]
T = TypeVar("T")
ROLES = ("system", "developer", "user", "assistant")


class Unfit(Exception):
    """A body that is no chat request, or asks for what this server does not do."""


@dataclass(frozen=True, slots=True)
class Chat:
    """What is asked.

    Attributes:
        model: the name that was asked for; any will do.
        turns: role and text of every turn.
        seed: of the answer; it counts only with a temperature above 0, as on a real server.
        max_tokens: longest answer; ``None`` is unlimited.
        schema: JSON schema of the answer; empty where JSON alone was asked for, ``None`` where
            nothing was.
        thinking: whether thinking was asked for in ``chat_template_kwargs``.
    """

    model: str
    turns: tuple[tuple[str, str], ...]
    seed: int = 0
    temperature: float = 1.0
    max_tokens: int | None = None
    schema: Mapping[str, Any] | None = None
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
        mistaken: the mistake that was asked for has been made.
    """

    content: str
    thought: str = ""
    finish: Finish = "stop"
    refusal: str | None = None
    mistaken: bool = False


class Answerer(Protocol):
    """What stands behind the server."""

    def stage(self, chat: Chat) -> str:
        """What kind of request it is, to count by."""
        ...

    def answer(self, chat: Chat, mistake: str | None, seed: int) -> Reply:
        """Answer; with a mistake of :data:`faults.MISTAKES` where the stage can make it."""
        ...


class FixedAnswer:
    """The same answer to everything."""

    def __init__(self, text: str) -> None:
        self._reply = Reply(text)

    def stage(self, chat: Chat) -> str:
        """All the same."""
        return "fixed"

    def answer(self, chat: Chat, mistake: str | None, seed: int) -> Reply:
        """The text."""
        return self._reply


def read_chat(body: bytes) -> Chat:
    """Read the body of a request.

    Raises:
        Unfit: it is no JSON object, a field is missing or of the wrong type, or it asks for
            streaming, several choices, tools or log probabilities.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Unfit(f"the body is no JSON: {error}") from error
    if not isinstance(data, dict):
        raise Unfit("the body is no JSON object")
    for name, neutral in (("stream", False), ("n", 1), ("tools", []), ("logprobs", False)):
        if data.get(name) not in (None, neutral):
            raise Unfit(f"{name}={data[name]!r}: this server does not do that")
    turns = data.get("messages")
    if not isinstance(turns, list) or not turns:
        raise Unfit("messages: a list of at least one turn")
    template = _field(data, "chat_template_kwargs", dict, {})
    limit = data.get("max_completion_tokens")
    if limit is None:
        limit = data.get("max_tokens")
    if limit is not None and (type(limit) is not int or limit < 1):
        raise Unfit("max_tokens: a whole number from 1")
    temperature = data.get("temperature")
    if temperature is not None and not _is_number(temperature):
        raise Unfit("temperature: a number from 0")
    return Chat(
        _field(data, "model", str, ""),
        tuple(map(_read_turn, turns)),
        _field(data, "seed", int, 0),
        1.0 if temperature is None else float(temperature),
        limit,
        _read_schema(_field(data, "response_format", dict, {})),
        template.get("enable_thinking") is True,
    )


def _field(data: dict[str, Any], name: str, kind: type[T], default: T) -> T:
    value = data.get(name)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise Unfit(f"{name}: not a {kind.__name__}")
    return value


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and value >= 0


def _read_turn(turn: Any) -> tuple[str, str]:
    if not isinstance(turn, dict) or turn.get("role") not in ROLES:
        raise Unfit(f"messages: a turn has a role out of {', '.join(ROLES)}")
    content = turn.get("content")
    if isinstance(content, list):
        content = "".join(map(_read_part, content))
    if not isinstance(content, str):
        raise Unfit("messages: a turn has a text as content")
    return turn["role"], content


def _read_part(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    if not isinstance(text, str):
        raise Unfit("messages: a part that is no text")
    return text


def _read_schema(form: dict[str, Any]) -> Mapping[str, Any] | None:
    match form.get("type", "text"):
        case "text":
            return None
        case "json_object":
            return {}
        case "json_schema":
            inner = form.get("json_schema")
            schema = inner.get("schema") if isinstance(inner, dict) else None
            if not isinstance(schema, dict):
                raise Unfit("response_format: json_schema without a schema")
            return schema
        case other:
            raise Unfit(f"response_format: no type {other!r}")


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


def completion(chat: Chat, reply: Reply, usage: Mapping[str, Any] | None, number: str) -> bytes:
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
    if usage is None:
        del body["usage"]
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
