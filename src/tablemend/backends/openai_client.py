"""Any OpenAI-compatible server, through ``openai``: what is sent, retries, what failures mean."""

from __future__ import annotations

import asyncio
import json
import random
import re
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import httpx2
import openai

from tablemend.backends.engine import Engine, estimate_prompt
from tablemend.backends.names import CONNECT_SECONDS, NO_KEY, ModelName, key_of, mask, no_server
from tablemend.backends.requests import END_OF_THINKING, Completion, Request
from tablemend.config.section import BackendOptions
from tablemend.errors import TablemendError
from tablemend.foreign import shown
from tablemend.records import FinishReason
from tablemend.thinking import with_open_thought
from tablemend.values.text import count_tokens

AHEAD = 4
"""Requests that are taken for one that may be in flight: others are being stored or handed out."""
LONGEST_BACKOFF = 60.0
"""Longest back-off, in seconds, before jitter."""
LONGEST_RETRY_AFTER = 300.0
"""Longest wait, in seconds, that a server's Retry-After is honoured for."""
FIRST_TRIES = 2
"""Tries before a server that nobody has reached is given up."""
IDLE_SECONDS = 3.0
"""Longest time that a connection waits to be used again; servers close theirs after 5."""
AGAIN = (408, 409, 425, 429)
"""Statuses, beside those from 500 on, after which the same request may well succeed."""
OF_THE_REQUEST = (400, 413, 422)
"""Statuses that speak of one request; any other means that nobody gets an answer there."""
HINTS = {
    "max_completion_tokens": "set limit_field=max_completion_tokens",
    "max_tokens": "set limit_field=max_completion_tokens, or max_tokens where it is that already",
    "temperature": "set body.temperature=null to leave it out",
    "seed": "set body.seed=null to leave it out",
    "response_format": "set body.response_format=null to leave it out",
    "json_schema": "set body.response_format=null to leave it out",
    "chat_template_kwargs": "set thinking_switch=no_think, or thinking_switch=none",
}
"""Field that a server does not take -> what to set."""
UNKNOWN = re.compile(
    r"unsupported|not support|unknown|unexpected|unrecogni[sz]ed|extra|not (?:permitted|allowed)"
    r"|unavailable",
    re.IGNORECASE,
)
"""How servers say that they do not know a field; a value that is too large is another matter."""
MIB = 2**20


@dataclass(eq=False)
class Fault(Exception):
    """Why one try gave no answer.

    Attributes:
        reason: in a few words.
        again: whether another try at the same server may do better.
        after: seconds that the server asked to wait.
        stops: why nobody gets an answer there; empty where others may.
    """

    reason: str
    again: bool = True
    after: float = 0.0
    stops: str = ""


class _Connections:
    """What belongs to one event loop: a client, and as many slots as may be in flight."""

    def __init__(self, url: str, key: str, most: int) -> None:
        self.loop = asyncio.get_running_loop()
        self.slots = asyncio.Semaphore(most)
        self.stopped = ""  # why nobody gets an answer
        timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
        limits = httpx2.Limits(max_connections=most, keepalive_expiry=IDLE_SECONDS)
        self.http = openai.DefaultAioHttpClient(
            follow_redirects=False, limits=limits, timeout=timeout
        )
        self.url, _, query = url.partition("?")
        self.url += f"/chat/completions{'?' if query else ''}{query}"
        self.headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}


class OpenAIEngine(Engine):
    """A model behind an OpenAI-compatible server.

    Args:
        name: model and base URL.
        options: how it is asked.

    Raises:
        TablemendError: an https server without a key in the environment.
    """

    def __init__(self, name: ModelName, options: BackendOptions) -> None:
        self._name = name
        self._options = options
        self.ahead = AHEAD * options.concurrency
        self._key = key_of(name, options)
        self._answered = False
        self._here: _Connections | None = None

    @property
    def identity(self) -> dict[str, Any]:
        options = self._options
        return {
            "engine": "openai",
            "model": self._name.model,
            "server": self._name.url,
            "revision": options.revision,
            "thinking_switch": options.thinking_switch,
            "structured": "json_schema",  # what was asked before stays in the cache
            "limit_field": options.limit_field,
            "body": options.body,
        }

    async def answer(self, request: Request) -> Completion:
        """Answer one; any number may be waited for at once.

        A request keeps its slot while it waits to be tried again, so that a server that is
        overloaded is sent less.

        Raises:
            TablemendError: nobody gets an answer there: a wrong key, no such model, nothing
                listening, a field that the server does not know.
        """
        here = self._connections()
        async with here.slots:
            if here.stopped:  # need not be found out for each request
                raise TablemendError(here.stopped)
            try:
                return await self._answer(here, request)
            except TablemendError as error:
                here.stopped = str(error)
                raise

    async def _answer(self, here: _Connections, request: Request) -> Completion:
        """Ask, and ask again after a wait as often as the options allow."""
        body = json.dumps(body_of(request, self._name.model, self._options)).encode()
        began, tries = time.monotonic(), 0
        while True:
            tries += 1
            try:
                return await self._try(here, request, body)
            except Fault as why:
                fault = why
            unreached = bool(fault.stops) and tries >= FIRST_TRIES
            if not fault.again or unreached or tries > self._options.retries:
                break
            backoff = min(self._options.backoff * 2.0 ** (tries - 1), LONGEST_BACKOFF)
            await asyncio.sleep(fault.after + random.uniform(0.5, 1.0) * backoff)
        if fault.stops:
            raise TablemendError(fault.stops)
        said = f"{tries} {'try' if tries == 1 else 'tries'}"
        seconds = time.monotonic() - began
        return Completion.failed(request.id, f"{fault.reason} ({said})", seconds)

    async def _try(self, here: _Connections, request: Request, body: bytes) -> Completion:
        """Ask once.

        Raises:
            Fault: no answer.
        """
        began = time.monotonic()
        try:
            async with (
                asyncio.timeout(self._options.timeout),
                here.http.stream("POST", here.url, content=body, headers=here.headers) as reply,
            ):
                content = await self._read(reply)
            if not reply.is_success:
                text = content.decode("utf-8", "replace")
                fault = self._error(reply.status_code, *error_of(content), text)
                raise replace(fault, after=_retry_after(reply) if fault.again else 0.0)
            answer = read_reply(content, request, time.monotonic() - began)
        except TimeoutError:
            raise Fault(f"no whole answer within {self._options.timeout:g} s") from None
        except (httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            raise self._not_reached(error) from None
        except ErrorReply as error:
            raise self._error(error.status, error.words, error.code) from None
        except UnusableReply as error:
            raise Fault(f"the server sent {mask(str(error), self._key)}") from None
        self._answered = True
        return replace(answer, text=mask(answer.text, self._key))

    async def _read(self, reply: httpx2.Response) -> bytes:
        """The body, decompressed, without the key wherever the server repeats it.

        Raises:
            Fault: it is longer than the options allow.
        """
        parts, size = [], 0
        async for part in reply.aiter_bytes():
            parts.append(part)
            size += len(part)
            if size > self._options.max_reply_mib * MIB:
                raise Fault(
                    f"a reply of more than max_reply_mib={self._options.max_reply_mib:g} MiB",
                    again=False,
                )
        return mask(b"".join(parts).decode("latin-1"), self._key).encode("latin-1")

    def _error(self, status: int, words: str, code: str, text: str = "") -> Fault:
        """What an error means, with status 0 where it has none; ``text`` is all that was sent."""
        has_key, url = self._key != NO_KEY, self._name.url
        if has_key and status in (401, 403):  # servers repeat pieces of the key
            words = ""
        words = mask(words, self._key)
        said = (f"status {status}" if status else "an error") + (f": {words}" if words else "")
        variable = self._options.key_variable
        stops = ""
        if status == 402 or code == "insufficient_quota":
            stops = (
                f"{url} answers nothing more, the account's credit is used up ({said}); "
                "what was answered is kept"
            )
        elif not status or status in AGAIN or status >= 500:
            return Fault(said)
        elif status == 401:
            stops = (
                f"{url} {'refuses the key' if has_key else 'wants a key'} (status 401): put "
                f"a valid one into the environment variable {variable}"
            )
            if not has_key:
                stops += f"; key_variable={variable} also sends it over plain http"
        elif not self._answered and status in OF_THE_REQUEST:
            sent = text or words
            hint = next((hint for name, hint in HINTS.items() if name in sent), None)
            if hint and UNKNOWN.search(sent):
                stops = f"{url} does not take what it is asked ({said}): {hint}"
        elif not self._answered:
            stops = (
                f"{url} does not answer for the model {self._name.model!r} ({said}): mend "
                "the model's name, the base URL (it ends in /v1 with most servers), or the key's "
                "rights"
            )
        return Fault(said, again=False, stops=stops)

    def _not_reached(self, error: BaseException) -> Fault:
        """What aiohttp says, below the errors that are made of it."""
        while not isinstance(error, aiohttp.ClientError) and error.__cause__ is not None:
            error = error.__cause__
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            said = error.certificate_error
            words = said.verify_message if isinstance(said, ssl.SSLCertVerificationError) else said
            why = f"the server's certificate is not trusted ({words})"
            stops = (
                f"{self._name.url}: {why}: name a file with the certificate of its authority in "
                "the environment variable SSL_CERT_FILE, or mend the base URL"
            )
            return Fault(why, again=False, stops=stops)
        if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
            stops = "" if self._answered else no_server(self._name.url)
            return Fault("no connection to the server", stops=stops)
        return Fault("the connection broke off")

    def _connections(self) -> _Connections:
        """Those of the running loop; those of an earlier one are forgotten."""
        if self._here is None or self._here.loop is not asyncio.get_running_loop():
            assert self._here is None or self._here.loop.is_closed(), "used in two event loops"
            most = self._options.concurrency
            self._here = _Connections(self._name.url, self._key, most)
        return self._here

    async def leave(self) -> None:
        if self._here is not None:
            here, self._here = self._here, None
            await here.http.aclose()


def _retry_after(reply: httpx2.Response) -> float:
    """Seconds that a server asks to wait, at the most :data:`LONGEST_RETRY_AFTER`."""
    try:
        seconds = float(reply.headers.get("retry-after", 0))
    except ValueError:  # a date
        return 0.0
    return min(seconds, LONGEST_RETRY_AFTER) if seconds > 0 else 0.0


START_OF_THINKING = "<think>"
_ENDS: dict[FinishReason, str] = {
    "stop": "stop stop_sequence end_turn eos eos_token complete completed",
    "length": "length max_tokens max_output_tokens model_length",
    "refusal": "content_filter refusal safety recitation prohibited_content blocklist spii "
    "error_toxic",
}
FINISHED = {word: reason for reason, words in _ENDS.items() for word in words.split()}
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
        reasoning = reasoning or message.get("reasoning_content") or message.get("reasoning")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise UnusableReply("no choice with a message") from None
    unsaid = end is None and bool(text)
    if not unsaid and str(end).casefold() not in FINISHED:
        raise UnusableReply(f"an answer that ended with {shown(str(end))[:LONGEST_WORDS]!r}")
    finish = "stop" if unsaid else FINISHED[str(end).casefold()]
    if refusal := message.get("refusal"):
        finish, text = "refusal", str(refusal)
    if reasoning and isinstance(reasoning, str) and END_OF_THINKING not in text:
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
    said = []
    for part in thoughts:  # the text is beside the type, or in parts of text again
        names = (part["type"], "text", "content")
        inner = next((part[name] for name in names if part.get(name)), "")
        said += [inner] if isinstance(inner, str) else [one["text"] for one in inner]
    return text, "".join(said)


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
