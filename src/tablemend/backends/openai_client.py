"""Any OpenAI-compatible server, through the ``openai`` client: retries, and what failures mean."""

from __future__ import annotations

import asyncio
import json
import random
import re
import ssl
import time
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import httpx2
import openai

from tablemend.backends import chat
from tablemend.backends.engine import Engine
from tablemend.backends.keys import NO_KEY, key_of, mask
from tablemend.backends.names import CONNECT_SECONDS, ModelName, no_server
from tablemend.backends.requests import Completion, Request
from tablemend.config.section import BackendOptions
from tablemend.errors import TablemendError

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
        """The model as its server knows it, and the options that change what is sent."""
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
        body = json.dumps(chat.body_of(request, self._name.model, self._options)).encode()
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
                raise self._refused(reply, content)
            answer = chat.read_reply(content, request, time.monotonic() - began)
        except TimeoutError:
            raise Fault(f"no whole answer within {self._options.timeout:g} s") from None
        except (httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            raise self._not_reached(error) from None
        except chat.ErrorReply as error:
            raise self._error(error.status, error.words, error.code) from None
        except chat.UnusableReply as error:
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

    def _refused(self, reply: httpx2.Response, content: bytes) -> Fault:
        """What a reply of another status than 200 means."""
        text = content.decode("utf-8", "replace")
        fault = self._error(reply.status_code, *chat.error_of(content), text)
        return replace(fault, after=_retry_after(reply) if fault.again else 0.0)

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
            if hint := _hint(text or words):
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
        """Close the connections of the running loop."""
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


def _hint(words: str) -> str | None:
    """What to set where a server says that it does not know one of our fields."""
    if not UNKNOWN.search(words):
        return None
    return next((hint for name, hint in HINTS.items() if name in words), None)
