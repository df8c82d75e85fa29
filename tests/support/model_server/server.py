"""The model server's side of the OpenAI protocol: answers, faults, counts."""

from __future__ import annotations

import asyncio
import json
import os
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from hashlib import blake2b
from typing import Any, NoReturn

from tests.support.model_server.chat import (
    Answerer,
    Chat,
    Reply,
    Unfit,
    completion,
    joined,
    read_chat,
    usage_of,
    within,
)
from tests.support.model_server.faults import (
    MISTAKES,
    REFUSALS,
    TRANSPORT,
    Fault,
    Faults,
    spoil_json,
    wrong_usage,
)
from tests.support.model_server.http import Connection, HttpRequest

MODEL = "scripted"
DIED = 70
"""Exit status after ``die-after``."""
RETRY_AFTER = 1  # seconds: the protocol's smallest

STATUS = {
    "400": (400, "this request is refused"),
    "429": (429, "too many requests"),
    "429-retry-after": (429, "too many requests: come back later"),
    "429-retry-date": (429, "too many requests: come back later"),
    "500": (500, "internal error"),
    "503": (503, "overloaded"),
}


class Counts:
    """What happened so far; ``GET /counts`` gives it."""

    def __init__(self) -> None:
        self.requests = 0
        self.repeated = 0
        self.defects = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.stages: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict."""
        return {
            "requests": self.requests,
            "repeated": self.repeated,
            "defects": self.defects,
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "stages": dict(sorted(self.stages.items())),
            "faults": dict(sorted(self.faults.items())),
        }


class Server:
    """Answers requests of the protocol, each after ``latency`` seconds.

    Args:
        answerer: what stands behind it.
        faults: what goes wrong.
        latency: seconds from a request to its answer; the time that making the answer takes
            is part of them.
    """

    def __init__(self, answerer: Answerer, faults: Faults, latency: float = 0.0) -> None:
        self._answerer = answerer
        self._faults = faults
        self._latency = latency
        self._asked: Counter[bytes] = Counter()
        self.counts = Counts()

    async def start(self, port: int = 0) -> tuple[asyncio.Server, str]:
        """Listen on this machine; the server and its base URL.

        Raises:
            OSError: the port is taken.
        """
        loop = asyncio.get_running_loop()
        self._loop = loop
        listening = await loop.create_server(
            lambda: Connection(self.handle), "127.0.0.1", port, backlog=1024
        )
        return listening, f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"

    def handle(self, request: HttpRequest, connection: Connection) -> None:
        """Answer one request, now or later."""
        match request.method, request.path:
            case "POST", "/v1/chat/completions":
                self._chat(request.body, connection)
            case "GET", "/v1/models":
                model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "tablemend"}
                _send_json(connection, {"object": "list", "data": [model]})
            case "GET", "/counts":
                _send_json(connection, self.counts.to_json())
            case _, "/v1/chat/completions" | "/v1/models" | "/counts":
                connection.send(405, _error(f"{request.path} takes no {request.method}"))
            case _:
                connection.send(404, _error(f"there is no {request.path}"))

    def _chat(self, body: bytes, connection: Connection) -> None:
        start = self._loop.time()
        try:
            chat = read_chat(body)
        except Unfit as error:
            connection.send(400, _error(str(error)))
            return
        counts = self.counts
        if counts.requests == self._faults.die_after:
            _die()
        counts.requests += 1
        counts.stages[self._answerer.stage(chat)] += 1
        content = blake2b(body, digest_size=16).digest()
        attempt = self._asked[content]
        self._asked[content] += 1
        counts.repeated += attempt > 0
        counts.in_flight += 1
        counts.most_in_flight = max(counts.most_in_flight, counts.in_flight)
        connection.on_lost = self._ended
        fault = self._faults.draw(content, attempt)
        try:
            end = self._ending(chat, fault, connection, f"{content.hex()}-{attempt}")
        except Exception as error:  # a defect of ours must not look like a dead server
            counts.defects += 1
            if counts.defects == 1:  # nobody may be reading: a pipe that is full would block
                traceback.print_exc()
            end = partial(connection.send, 500, _error(f"defect: {error!r}", "defect"))
        if end is not None:
            wait = start + self._latency - self._loop.time()
            self._loop.call_later(max(0.0, wait), self._end, connection, end)

    def _ended(self) -> None:
        self.counts.in_flight -= 1

    def _end(self, connection: Connection, end: Callable[[], None]) -> None:
        """Send what was made; a request is over before the client can have its answer."""
        if connection.on_lost is not None:  # else the client has gone
            connection.on_lost = None
            self._ended()
            end()

    def _ending(
        self, chat: Chat, fault: Fault | None, connection: Connection, number: str
    ) -> Callable[[], None] | None:
        """How a request ends; ``None`` for one that stays open until the client gives up."""
        name = "" if fault is None else fault.name
        if name in TRANSPORT:
            self.counts.faults[name] += 1
        if name == "timeout":
            return None
        if name == "reset":
            return connection.reset
        if name in STATUS:
            status, message = STATUS[name]
            return partial(
                connection.send, status, _error(message, name), headers=self._retry_after(name)
            )
        if name == "bad-body":
            return partial(connection.send, 200, b"<html>bad gateway</html>", "text/html")
        reply = self._reply(chat, fault)
        usage: dict[str, Any] | None = usage_of(chat, reply)
        if name == "wrong-usage":
            assert fault is not None and usage is not None
            usage = wrong_usage(fault.rng, usage["prompt_tokens"], usage["completion_tokens"])
        body = completion(chat, reply, None if name == "no-usage" else usage, number)
        if name == "empty-choices":
            body = json.dumps({**json.loads(body), "choices": []}).encode()
        return partial(connection.send_half if name == "cut" else connection.send, 200, body)

    def _reply(self, chat: Chat, fault: Fault | None) -> Reply:
        """The answer, with the mistake or the spoilt content that the fault is."""
        mistake = fault.name if fault is not None and fault.name in MISTAKES else None
        reply = self._answerer.answer(chat, mistake, self._faults.seed)
        dealt = reply.mistaken
        if fault is not None and (spoilt := _spoil(reply, fault)) is not None:
            reply, dealt = spoilt, True
        if fault is not None and dealt:
            self.counts.faults[fault.name] += 1
        return within(joined(reply), chat.max_tokens)

    def _retry_after(self, name: str) -> dict[str, str]:
        if name == "429-retry-after":
            return {"Retry-After": str(RETRY_AFTER)}
        if name == "429-retry-date":
            back = datetime.now(UTC) + timedelta(seconds=RETRY_AFTER + self._latency)
            return {"Retry-After": format_datetime(back, usegmt=True)}
        return {}


def _spoil(reply: Reply, fault: Fault) -> Reply | None:
    """The reply with a fault in its content; ``None`` where the fault does not concern it."""
    match fault.name:
        case "truncated-json" | "bad-json" | "prose":
            text = spoil_json(reply.content, fault.name, fault.rng)
            return None if text is None else replace(reply, content=text)
        case "refusal":
            return replace(reply, content="", thought="", refusal=fault.rng.choice(REFUSALS))
        case "refusal-text":
            return replace(reply, content=fault.rng.choice(REFUSALS))
        case "content-filter":
            return replace(reply, content="", thought="", finish="content_filter")
        case "empty":
            return replace(reply, content="")
        case "length":
            whole = joined(reply)
            half = whole.content[: len(whole.content) // 2]
            return replace(whole, content=half, finish="length")
        case _:
            return None


def _send_json(connection: Connection, data: dict[str, Any]) -> None:
    connection.send(200, json.dumps(data).encode())


def _error(message: str, kind: str = "invalid_request_error") -> bytes:
    return json.dumps({"error": {"message": message, "type": kind, "code": None}}).encode()


def _die() -> NoReturn:
    """End at once, as a process does that is killed: nothing is flushed, nobody is told."""
    os._exit(DIED)
