"""The OpenAI-compatible chat protocol: what is sent for a request, and what an answer says."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from tablemend.backends.limits import estimate_prompt
from tablemend.backends.requests import END_OF_THINKING, Completion, Request
from tablemend.config.section import BackendOptions
from tablemend.foreign import shown
from tablemend.records import FinishReason
from tablemend.thinking import with_open_thought
from tablemend.values.text import count_tokens

START_OF_THINKING = "<think>"
FINISHED: dict[str, FinishReason] = {
    "stop": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "complete": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
    "recitation": "refusal",
    "prohibited_content": "refusal",
    "blocklist": "refusal",
    "spii": "refusal",
    "error_toxic": "refusal",
}
"""What servers call the end of an answer, in any case of letters (docs/evaluation.md). Any other
reason is a fault of the server."""
UNSAID = "the server did not say how the answer ended"
"""Marks an answer without a reason that has text: some servers give none."""
THOUGHTS = ("thinking", "reasoning")
"""Types of parts of a message that are no answer."""
MOST_TOKENS = 100_000_000
"""More than any window has: a larger count is a server's mistake."""
LONGEST_WORDS = 240
"""Characters of a server's own words that are repeated in an error."""


class UnusableReply(Exception):
    """A reply with status 200 that holds no answer: the server's fault, so it is asked again."""


class ErrorReply(Exception):
    """An error in a reply with status 200, as gateways send it.

    Attributes:
        status: the error's own, as a server would have sent it; 0 where it says none.
        code: what else it is called.
        words: the server's.
    """

    def __init__(self, error: Any) -> None:
        self.words, self.code = error_of(json.dumps({"error": error}).encode())
        self.status = int(self.code) if self.code.isdigit() and len(self.code) == 3 else 0
        super().__init__(self.words)


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
    if request.schema is not None:
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
        ErrorReply: an error in place of an answer.
        UnusableReply: no JSON, no choice, no message, or an end that is none.
    """
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        raise UnusableReply(f"a body that is no JSON, of {len(content)} bytes") from None
    if isinstance(reply, dict) and reply.get("error"):
        raise ErrorReply(reply["error"])
    try:
        choice = reply["choices"][0]
        if choice.get("error"):
            raise ErrorReply(choice["error"])
        message, end = choice["message"], choice.get("finish_reason")
        text, reasoning = _parts(message.get("content"))
        reasoning = reasoning or _reasoning(message)
    except (KeyError, IndexError, TypeError, AttributeError):
        raise UnusableReply("no choice with a message") from None
    unsaid = end is None and bool(text)
    if not unsaid and str(end).casefold() not in FINISHED:
        raise UnusableReply(f"an answer that ended with {shown(str(end))[:LONGEST_WORDS]!r}")
    finish = "stop" if unsaid else FINISHED[str(end).casefold()]
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
    if unsaid and answer is not None and answer >= request.sampling.max_new_tokens:
        finish = "length"
    prompt_tokens = estimate_prompt(request) if prompt is None else prompt
    return Completion(
        id=request.id,
        text=text,
        prompt_tokens=prompt_tokens,
        completion_tokens=count_tokens(text) if answer is None else answer,
        finish_reason=finish,
        error=UNSAID if unsaid else "",
        seconds=seconds,
        cached_tokens=min(cached or 0, prompt_tokens),
        estimated=prompt is None or answer is None,
    )


def _parts(content: Any) -> tuple[str, str]:
    """The text of a message and its thinking: a string, parts of either, or null."""
    if content is None or isinstance(content, str):
        return content or "", ""
    thoughts = [part for part in content if part.get("type") in THOUGHTS]
    text = "".join(part["text"] for part in content if part not in thoughts and "text" in part)
    if not text and not thoughts and content:
        raise TypeError("no part that is a text")
    return text, "".join(map(_thought, thoughts))


def _thought(part: Any) -> str:
    """The text of a part that is thinking: beside its type, or parts of text again."""
    inner = next((part[name] for name in (part["type"], "text", "content") if part.get(name)), "")
    return inner if isinstance(inner, str) else "".join(one["text"] for one in inner)


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
            code = str(words.get("code") or words.get("status") or code)
            found = [words[name] for name in ("error", "message", "detail", "msg") if name in words]
        else:
            found = words if isinstance(words, list) else []
        words = found[0] if found else ""
    line = shown(words[: 16 * LONGEST_WORDS])
    if line.startswith("<"):  # a proxy's page of HTML
        return "", code
    return line if len(line) <= LONGEST_WORDS else line[:LONGEST_WORDS] + "...", code
