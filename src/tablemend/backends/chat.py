"""The OpenAI-compatible chat protocol: what is sent for a request, and what an answer says."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from tablemend.backends.limits import estimate_prompt
from tablemend.backends.requests import END_OF_THINKING, Completion, Request
from tablemend.config.backend import BackendOptions
from tablemend.foreign import shown
from tablemend.records import FinishReason
from tablemend.thinking import with_open_thought
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
MOST_TOKENS = 100_000_000
"""More than any window has: a larger count is a server's mistake."""
LONGEST_WORDS = 240
"""Characters of a server's own words that are repeated in an error."""


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
        last = next((turn for turn in reversed(messages) if turn["role"] == "user"), {})
        last["content"] += " /think" if request.thinking else " /no_think"
    if request.schema is not None and options.structured == "json_object":
        body["response_format"] = {"type": "json_object"}
    if request.schema is not None and options.structured == "json_schema":
        schema = {"name": "answer", "schema": request.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.grammar is not None:
        body["structured_outputs"] = {"grammar": request.grammar}
    for name, value in options.body.items():
        own = body.get(name)
        if isinstance(own, dict) and isinstance(value, dict):  # such as chat_template_kwargs
            value = {**own, **value}
        body[name] = value
    return {name: value for name, value in body.items() if value is not None}


def read_reply(content: bytes, request: Request, seconds: float = 0.0) -> Completion:
    """The answer that the body of a reply with status 200 holds.

    Args:
        content: the body.
        request: what was asked.
        seconds: that it took.

    Raises:
        UnusableReply: no JSON, no choice, no message, or an end that is none.
    """
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        raise UnusableReply(f"a body that is no JSON, of {len(content)} bytes") from None
    try:
        choice = reply["choices"][0]
        message, end = choice["message"], str(choice.get("finish_reason"))
        text, reasoning = _text(message.get("content")), _reasoning(message)
    except (KeyError, IndexError, TypeError, AttributeError):
        raise UnusableReply("no choice with a message") from None
    if end not in FINISHED:
        raise UnusableReply(f"an answer that ended with {shown(end)[:LONGEST_WORDS]!r}")
    finish = FINISHED[end]
    if refusal := message.get("refusal"):
        finish, text = "refusal", str(refusal)
    if reasoning and END_OF_THINKING not in text:
        cut = finish == "length" and not text
        ending = "" if cut else f"\n{END_OF_THINKING}\n\n"
        text = f"{START_OF_THINKING}\n{reasoning}{ending}{text}"
    elif finish == "length" and request.thinking:  # the template may have opened the thought
        text = with_open_thought(text, START_OF_THINKING)
    usage = reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    prompt = _count(usage.get("prompt_tokens"))
    answer = _count(usage.get("completion_tokens"))
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    prompt_tokens = estimate_prompt(request) if prompt is None else prompt
    return Completion(
        id=request.id,
        text=text,
        prompt_tokens=prompt_tokens,
        completion_tokens=count_tokens(text) if answer is None else answer,
        finish_reason=finish,
        seconds=seconds,
        cached_tokens=min(cached or 0, prompt_tokens),
        estimated=prompt is None or answer is None,
    )


def _text(content: Any) -> str:
    """The text of a message: a string, parts of text, or null."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part["text"] for part in content)


def _reasoning(message: dict[str, Any]) -> str:
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    return reasoning if isinstance(reasoning, str) else ""


def _count(value: object) -> int | None:
    """A count of tokens that is possible, or ``None``."""
    possible = type(value) is int and 0 < value < MOST_TOKENS
    return value if possible and isinstance(value, int) else None


def error_of(content: bytes) -> tuple[str, str]:
    """What a server says of an error, in one short line, and its code; either may be empty."""
    words: Any = content.decode("utf-8", "replace")
    code = ""
    with suppress(ValueError, RecursionError):
        words = json.loads(content)
    while not isinstance(words, str):
        if isinstance(words, dict):
            code = str(words.get("code") or code)
            found = [words[name] for name in ("error", "message", "detail", "msg") if name in words]
        else:
            found = words if isinstance(words, list) else []
        words = found[0] if found else ""
    line = shown(words[: 16 * LONGEST_WORDS])
    if line.startswith("<"):  # a proxy's page of HTML
        return "", code
    return line if len(line) <= LONGEST_WORDS else line[:LONGEST_WORDS] + "...", code
