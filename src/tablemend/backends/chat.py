"""The OpenAI-compatible chat protocol: what is sent for a request, and what an answer says."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from tablemend.backends.limits import estimate_prompt
from tablemend.backends.requests import END_OF_THINKING, Completion, Request
from tablemend.config.backend import BackendOptions
from tablemend.records import FinishReason
from tablemend.values.foreign import shown
from tablemend.values.qwen_tokens import count_tokens

START_OF_THINKING = "<think>"
FINISHED: dict[str, FinishReason] = {
    "stop": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
}
"""What servers call the end of an answer (docs/backends.md). Any other reason is a fault of the
server, none too: an answer that may have been cut is not a whole one."""
CHARACTERS_A_TOKEN = 128
"""Most characters of one token in the vocabularies that are in use."""
TEMPLATE_TOKENS = 4096
"""Tokens that a chat template may add to a prompt, with room."""
LONGEST_RETRY_AFTER = 300.0
"""Longest wait, in seconds, that a server's Retry-After is honoured for."""
DEEPEST_WORDS = 8
"""Levels of an error's body that are looked into for words."""
READ_WORDS = 4096
"""Characters of a server's own words that are looked at."""
LONGEST_END = 40
"""Characters of an unknown end that are repeated in an error."""
LONGEST_WORDS = 240
"""Characters of a server's own words that are repeated in an error."""
KEY_PIECE = 6
"""Characters of a key that are too many to be repeated."""
SHORTEST_KEY = 8
"""Characters; what is shorter is no secret, and may stand in an answer (`none`, `EMPTY`)."""
MASK = "***"


class UnusableReply(Exception):
    """A reply with status 200 that holds no answer: the server's fault, so it is asked again."""


def body_of(request: Request, model: str, options: BackendOptions) -> dict[str, Any]:
    """The fields of the HTTP request.

    Greedy requests carry no seed. Fields of ``options.body`` come last; null takes one out.
    """
    messages = [dict(turn) for turn in request.messages]
    body: dict[str, Any] = {
        "model": model,
        "messages": messages,
        "temperature": request.sampling.temperature,
        options.limit_field: request.sampling.max_new_tokens,
    }
    if request.sampling.temperature > 0:
        body["seed"] = request.seed
    if request.thinking is not None and options.thinking_switch == "template":
        body["chat_template_kwargs"] = {"enable_thinking": request.thinking}
    if request.thinking is not None and options.thinking_switch == "no_think":
        _switch_thinking(messages, request.thinking)
    if request.schema is not None and options.structured == "json_object":
        body["response_format"] = {"type": "json_object"}
    if request.schema is not None and options.structured == "json_schema":
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": "answer",
                "schema": request.schema,
                "strict": _is_strict(request.schema),
            },
        }
    if request.grammar is not None:
        body["structured_outputs"] = {"grammar": request.grammar}
    for name, value in options.body.items():
        both = (body.get(name), value)
        if all(isinstance(one, dict) for one in both):  # such as chat_template_kwargs
            body[name] = {**body[name], **value}
        else:
            body[name] = value
    return {name: value for name, value in body.items() if value is not None}


def _switch_thinking(messages: list[dict[str, str]], thinking: bool) -> None:
    """Qwen3's soft switch: the last turn of the user ends in it."""
    for turn in reversed(messages):
        if turn["role"] == "user":
            turn["content"] += " /think" if thinking else " /no_think"
            return


def _is_strict(schema: object) -> bool:
    """Whether a schema meets what OpenAI asks of a strict one.

    Every object names all its properties as required and admits no other.
    """
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if schema.get("type") == "object" or properties is not None:
            closed = schema.get("additionalProperties") is False
            whole = set(schema.get("required", ())) == set(properties or ())
            if not (closed and whole):
                return False
        return all(_is_strict(value) for value in schema.values())
    return not isinstance(schema, list) or all(_is_strict(value) for value in schema)


def read_reply(
    content: bytes, request: Request, seconds: float = 0.0, key: str | None = None
) -> Completion:
    """The answer that the body of a reply with status 200 holds.

    Args:
        content: the body.
        request: what was asked.
        seconds: that it took.
        key: what was sent with it; :data:`MASK` stands in its place wherever it is echoed.

    Raises:
        UnusableReply: no JSON, no choice, no message, or an end that is none.
    """
    try:
        reply = _masked(_parse(content), key or "")
    except (ValueError, RecursionError) as error:
        raise UnusableReply(f"a body that is no JSON, of {len(content)} bytes") from error
    choices = reply.get("choices") if isinstance(reply, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        failed = isinstance(reply, dict) and reply.get("error")
        raise UnusableReply("an error instead of an answer" if failed else "no choices")
    message, end = choices[0].get("message"), choices[0].get("finish_reason")
    if not isinstance(message, dict):
        raise UnusableReply("a choice without a message")
    if end is None:
        raise UnusableReply("an answer without a finish_reason")
    if not isinstance(end, str) or end not in FINISHED:
        words = _words_shown(str(end), key, LONGEST_END)
        raise UnusableReply(f"an answer that ended with {words!r}" if words else "no known end")
    finish = FINISHED[end]
    text = _text(message.get("content"))
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        finish, text = "refusal", refusal
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(reasoning, str) and reasoning and END_OF_THINKING not in text:
        cut = finish == "length" and not text
        ending = "" if cut else f"\n{END_OF_THINKING}\n\n"
        text = f"{START_OF_THINKING}\n{reasoning}{ending}{text}"
    usage = _usage(reply.get("usage"), request, text)
    return Completion(
        id=request.id,
        text=text,
        prompt_tokens=usage.prompt,
        completion_tokens=usage.completion,
        finish_reason=finish,
        seconds=seconds,
        cached_tokens=usage.cached,
        estimated=usage.estimated,
    )


def _parse(content: bytes) -> Any:
    """JSON of a server.

    Raises:
        ValueError: it is none, no UTF-8, or nested deeper than anything that is meant.
    """
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("too deep") from error


def _masked(value: Any, key: str) -> Any:
    """A server's JSON without the key, in whatever field it is echoed."""
    if len(key) < SHORTEST_KEY:
        return value
    if isinstance(value, str):
        return value.replace(key, MASK)
    if isinstance(value, dict):
        return {name: _masked(inner, key) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner, key) for inner in value]
    return value


def _words_shown(text: str, key: str | None, longest: int) -> str:
    """A server's words, cut, as they may be shown: none where they hold a piece of the key."""
    words = shown(text[:READ_WORDS])
    if key and _shares(words, key, min(KEY_PIECE, len(key))):
        return ""
    return words if len(words) <= longest else words[:longest] + "..."


def _text(content: object) -> str:
    """The text of a message: a string, parts of text, or null.

    Raises:
        UnusableReply: anything else.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(
        isinstance(part, dict) and isinstance(part.get("text"), str) for part in content
    ):
        return "".join(part["text"] for part in content)
    raise UnusableReply("a message whose content is no text")


@dataclass(frozen=True, slots=True)
class _Usage:
    prompt: int
    completion: int
    cached: int
    estimated: bool


def _usage(usage: object, request: Request, text: str) -> _Usage:
    """The server's token counts where they are possible, else estimates."""
    said = usage if isinstance(usage, dict) else {}
    size = sum(len(turn["content"]) for turn in request.messages)
    most = 4 * size + TEMPLATE_TOKENS  # a token is a byte at least, a character four at most
    prompt = _count(said.get("prompt_tokens"), max(1, size // CHARACTERS_A_TOKEN), most)
    # hidden thinking is counted too, and a server may ignore the limit
    longest = max(request.sampling.max_new_tokens, 4 * len(text)) + 64
    least = -(-len(text) // CHARACTERS_A_TOKEN)
    completion = _count(said.get("completion_tokens"), least, longest)
    details = said.get("prompt_tokens_details")
    cached = _count(
        details.get("cached_tokens") if isinstance(details, dict) else None, 0, most=1 << 40
    )
    estimated = prompt is None or completion is None
    if prompt is None:
        prompt = estimate_prompt(request)
    if completion is None:
        completion = count_tokens(text)
    return _Usage(prompt, completion, min(cached or 0, prompt), estimated)


def _count(value: object, least: int, most: int) -> int | None:
    """A count of tokens that is possible, or ``None``."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if least <= value <= most else None


def error_words(content: bytes, key: str | None) -> str:
    """What a server says of an error, in one short line; nothing that holds a piece of the key."""
    try:
        data = _parse(content)
    except ValueError:
        data = content.decode("utf-8", "replace")
    words = _words_shown(_words(data), key, LONGEST_WORDS)
    return "" if words.startswith("<") else words  # a proxy's page of HTML


def _words(data: object, deepest: int = DEEPEST_WORDS) -> str:
    if isinstance(data, str):
        return data
    if deepest and isinstance(data, dict):
        for name in ("error", "message", "detail", "msg"):
            if data.get(name):
                return _words(data[name], deepest - 1)
    if deepest and isinstance(data, list) and data:
        return _words(data[0], deepest - 1)
    return ""


def _shares(text: str, other: str, length: int) -> bool:
    """Whether two texts share a run of so many characters."""
    return any(text[i : i + length] in other for i in range(len(text) - length + 1))


def error_code(content: bytes) -> tuple[str, str]:
    """The machine-readable code and field of an error's body, or empty strings."""
    try:
        data = _parse(content)
    except ValueError:
        return "", ""
    error = data.get("error", data) if isinstance(data, dict) else None
    if not isinstance(error, dict):
        return "", ""
    return str(error.get("code") or ""), str(error.get("param") or "")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait, at the most :data:`LONGEST_RETRY_AFTER`."""
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):  # a time zone of many digits
            return None
    if not seconds >= 0:  # also NaN, and a date that is past
        return 0.0
    return min(seconds, LONGEST_RETRY_AFTER)
