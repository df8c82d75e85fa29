"""Any OpenAI-compatible server: limits, retries, and what is done about each failure."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx2

from tablemend.backends import chat
from tablemend.backends.keys import NO_KEY, is_meant_for, read_key
from tablemend.backends.limits import AnswerLength, RateLimit, estimate_prompt
from tablemend.backends.names import ModelName
from tablemend.backends.requests import Completion, Request
from tablemend.backends.transport import MIB, Fault, Transport
from tablemend.config.backend import BackendOptions
from tablemend.errors import TablemendError

AHEAD = 4
"""Requests that are taken for one that may be in flight."""
LONGEST_BACKOFF = 60.0
"""Longest back-off, in seconds, before jitter."""
AGAIN = (408, 409, 425, 429)
"""Statuses, beside those from 500 on, after which the same request may well succeed."""
OF_THE_REQUEST = (400, 413, 422)
"""Statuses that speak of one request; any other means that nobody gets an answer there."""
HINTS = {
    "max_completion_tokens": "set limit_field=max_completion_tokens",
    "max_tokens": "set limit_field=max_completion_tokens, or max_tokens where it is that already",
    "temperature": "set body.temperature=null to leave it out",
    "seed": "set body.seed=null to leave it out",
    "response_format": "set structured=json_object, or structured=none",
    "json_schema": "set structured=json_object, or structured=none",
    "chat_template_kwargs": "set thinking_switch=no_think, or thinking_switch=none",
}
"""Field that a server does not take -> what to set."""
UNKNOWN = re.compile(
    r"unsupported|not support|unknown|unexpected|unrecogni[sz]ed|extra|not (?:permitted|allowed)"
    r"|unavailable",
    re.IGNORECASE,
)
"""How servers say that they do not know a field; a value that is too large is another matter."""


@dataclass(slots=True, eq=False)
class _Server:
    """One base URL.

    Attributes:
        url: which.
        answered: whether it has ever given an answer.
        stops: why nobody gets an answer there; empty as long as that is not so.
    """

    url: str
    answered: bool = False
    stops: str = ""


@dataclass(slots=True)
class _Asked:
    """A request on its way.

    Attributes:
        request: what is asked.
        body: of the HTTP request.
        begun: when it was sent first.
        tries: times that it was sent.
        lost: tokens of prompts that were sent without an answer, as estimated.
    """

    request: Request
    body: bytes
    begun: float = 0.0
    tries: int = 0
    lost: int = 0


@dataclass(slots=True)
class _Place:
    """What belongs to one event loop.

    Attributes:
        loop: which.
        transport: its connections.
        slots: as many as requests may be in flight.
        stopped: why nobody gets an answer; empty as long as that is not so.
    """

    loop: asyncio.AbstractEventLoop
    transport: Transport
    slots: asyncio.Semaphore
    stopped: str = ""


class OpenAIEngine:
    """A model behind one or more OpenAI-compatible servers.

    Args:
        name: model and base URLs, which are asked in turn.
        options: how it is asked.

    Raises:
        TablemendError: an https server without a key in the environment.
    """

    def __init__(self, name: ModelName, options: BackendOptions) -> None:
        self._name = name
        self._options = options
        self._key = read_key(name, options)
        self._limit = RateLimit(options.requests_per_minute, options.tokens_per_minute)
        self._length = AnswerLength()
        self._servers = deque(_Server(url) for url in name.urls)
        self._here: _Place | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """The model as its server knows it, and the options that change what is sent.

        The first URL stands for all: further ones serve the same model.
        """
        options = self._options
        return {
            "engine": "openai",
            "model": self._name.model,
            "server": self._name.urls[0],
            "revision": options.revision,
            "thinking_switch": options.thinking_switch,
            "structured": options.structured,
            "limit_field": options.limit_field,
            "body": options.body,
        }

    @property
    def ahead(self) -> int:
        """More than may be in flight: others are being stored, or wait to be handed out."""
        return AHEAD * self._options.concurrency

    def check(self, requests: Sequence[Request]) -> None:
        """Nothing is known of a server's window before it is asked."""

    def load(self) -> None:
        """The server has its weights."""

    async def answer(self, request: Request) -> Completion:
        """Answer one; any number may be waited for at once.

        Raises:
            TablemendError: nobody gets an answer there: a wrong key, no such model, nothing
                listening, a field that the server does not know.
        """
        place = self._place()
        try:
            return await self._answer(place, request)
        except TablemendError as error:  # what waits for a slot need not find out for itself
            place.stopped = str(error)
            raise

    async def _answer(self, place: _Place, request: Request) -> Completion:
        """Ask each server in turn; only when all have failed is there a wait, then a retry."""
        body = json.dumps(chat.body_of(request, self._name.model, self._options)).encode()
        asked = _Asked(request, body)
        servers = list(self._servers)
        self._servers.rotate(-1)
        for retries in range(self._options.retries + 1):
            async with place.slots:
                if place.stopped:
                    raise TablemendError(place.stopped)
                asked.begun = asked.begun or time.monotonic()
                faults = []
                for server in list(servers):
                    try:
                        answer = await self._try(place.transport, server, asked)
                        return replace(answer, lost_tokens=asked.lost)
                    except Fault as fault:
                        faults.append(fault)
                        if not fault.again:
                            servers.remove(server)
                if not servers or retries == self._options.retries:
                    return self._give_up(asked, faults[-1])
                waits = [fault.after for fault in faults if fault.again]
                if None not in waits:
                    # asked to wait: the slot stays taken, so that fewer are sent
                    await asyncio.sleep(self._delay(retries, min(wait or 0.0 for wait in waits)))
                    continue
            await asyncio.sleep(self._delay(retries))
        raise AssertionError("retries do not end")

    def _give_up(self, asked: _Asked, fault: Fault) -> Completion:
        """Record a request that failed for good.

        Raises:
            TablemendError: no server has ever answered.
        """
        said = f"{asked.tries} {'try' if asked.tries == 1 else 'tries'}"
        if fault.unreachable and not any(server.answered for server in self._servers):
            for server in self._servers:
                if server.stops:  # says more than those that say nothing
                    raise TablemendError(server.stops)
            raise TablemendError(
                f"no server answers at {', '.join(self._name.urls)} ({said}): start it, or "
                "mend the base URL"
            )
        seconds = time.monotonic() - asked.begun
        why = f"{fault.reason} ({said})"
        return Completion.failed(asked.request.id, why, seconds, asked.lost)

    def _delay(self, retries: int, after: float = 0.0) -> float:
        """Seconds before the next retry: doubling, with jitter, never before the server says."""
        backoff = min(self._options.backoff * 2.0**retries, LONGEST_BACKOFF)
        return after + random.uniform(0.5, 1.0) * backoff

    async def _try(self, transport: Transport, server: _Server, asked: _Asked) -> Completion:
        """Ask once, within the limits of the minute.

        Raises:
            Fault: no answer.
            TablemendError: every server says that nobody gets an answer there.
        """
        estimate = 0
        if self._options.tokens_per_minute is not None:
            longest = asked.request.sampling.max_new_tokens
            estimate = estimate_prompt(asked.request) + min(self._length.expect(longest), longest)
        charge = await self._limit.wait(estimate)
        asked.tries += 1
        try:
            answer = await self._exchange(transport, server, asked)
        except Fault as fault:
            if fault.billed:
                asked.lost += estimate_prompt(asked.request)
            else:
                charge.tokens = 0
            server.stops = fault.stops or server.stops
            if all(one.stops for one in self._servers):
                raise TablemendError(server.stops) from None
            raise
        server.answered, server.stops = True, ""
        charge.tokens = answer.prompt_tokens + answer.completion_tokens
        self._length.add(answer.completion_tokens)
        return answer

    async def _exchange(self, transport: Transport, server: _Server, asked: _Asked) -> Completion:
        try:
            async with asyncio.timeout(self._options.timeout):
                reply = await transport.post(server.url, asked.body)
        except TimeoutError:
            why = f"no whole answer within {self._options.timeout:g} s"
            raise Fault(why, billed=True) from None
        if reply.status_code != 200:
            raise self._fault_of(server, reply)
        try:
            seconds = time.monotonic() - asked.begun
            return chat.read_reply(reply.content, asked.request, seconds, self._key)
        except chat.UnusableReply as error:
            raise Fault(f"the server sent {error}", billed=True) from None

    def _fault_of(self, server: _Server, reply: httpx2.Response) -> Fault:
        """What a reply of another status means."""
        status = reply.status_code
        words = chat.error_words(reply.content, self._key)
        code, field = chat.error_code(reply.content)
        said = f"status {status}" + (f": {words}" if words else "")
        if status == 402 or code == "insufficient_quota":
            return _stop(
                said,
                f"{server.url} answers nothing more, the account's credit is used up ({said}); "
                "what was answered is kept",
            )
        if status in AGAIN or status >= 500:
            return Fault(said, after=chat.retry_after(reply.headers))
        if status == 401:
            variable = self._options.key_variable
            have = "refuses the key in" if self._key else "wants a key, and none is in"
            if self._key and not is_meant_for(server.url, self._options):
                return _stop(
                    said,
                    f"{server.url} wants a key (status 401), and that of {variable} is not sent "
                    "over plain http to another machine unless it is meant: set "
                    f"key_variable={variable}",
                )
            return _stop(
                said,
                f"{server.url} {have} the environment variable {variable} (status 401): set it "
                "to a valid key, or key_variable to another variable",
            )
        of_request = status in OF_THE_REQUEST
        if not server.answered:
            hint = _hint(words, code, field)
            if of_request and hint is not None:
                return _stop(said, f"{server.url} does not take what it is asked ({said}): {hint}")
            if not of_request:
                return _stop(
                    said,
                    f"{server.url} does not answer for the model {self._name.model!r} ({said}): "
                    "mend the model's name, the base URL (it ends in /v1 with most servers), or "
                    "the key's rights",
                )
        return Fault(said, again=False)

    def _place(self) -> _Place:
        """Connections and slots of the running loop; those of an earlier one are forgotten."""
        loop = asyncio.get_running_loop()
        if self._here is None or self._here.loop is not loop:
            assert self._here is None or self._here.loop.is_closed(), "used in two event loops"
            options, key = self._options, self._key or NO_KEY
            keys = {url: key if is_meant_for(url, options) else NO_KEY for url in self._name.urls}
            most = int(options.max_reply_mib * MIB)
            transport = Transport(keys, options.concurrency, most)
            self._here = _Place(loop, transport, asyncio.Semaphore(options.concurrency))
            self._limit.renew()
        return self._here

    async def leave(self) -> None:
        """Close the connections of the running loop."""
        if self._here is not None:
            here, self._here = self._here, None
            await here.transport.close()

    def close(self) -> None:
        """Nothing is held beyond an event loop."""


def _stop(said: str, why: str) -> Fault:
    """A server says that nobody gets an answer there."""
    return Fault(said, again=False, stops=why)


def _hint(words: str, code: str, field: str) -> str | None:
    """What to set where a server says that it does not know one of our fields."""
    if not UNKNOWN.search(f"{code} {words}"):
        return None
    named = [name for name in HINTS if name == field] or [name for name in HINTS if name in words]
    return HINTS[named[0]] if named else None
