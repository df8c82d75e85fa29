"""The model server's side of the OpenAI protocol: answers, faults, counts."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections import Counter
from dataclasses import replace
from hashlib import blake2b

from aiohttp import web

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
    REFUSALS,
    Fault,
    Faults,
    spoil_json,
)

DIED = 70
"""Exit status after ``die-after``."""


class Server:
    """Answers requests of the protocol, each after ``latency`` seconds.

    Args:
        answerer: makes the answers.
        faults: what goes wrong.
        latency: seconds from a request to its answer; the time that making the answer takes
            is part of them.
    """

    def __init__(self, answerer: Answerer, faults: Faults, latency: float = 0.0) -> None:
        self._answerer = answerer
        self._faults = faults
        self._latency = latency
        self._asked: Counter[bytes] = Counter()

    def app(self) -> web.Application:
        """What answers at ``/v1/chat/completions``."""
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/v1/chat/completions", self._chat)
        return app

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        begun = asyncio.get_running_loop().time()
        body = await request.read()
        try:
            chat = read_chat(body)
        except Unfit as error:
            return _refused(400, str(error))
        if self._asked.total() == self._faults.die_after:
            os._exit(DIED)  # as a process that is killed
        content = blake2b(body, digest_size=16).digest()
        attempt = self._asked[content]
        self._asked[content] += 1
        fault = self._faults.draw(content, attempt)
        name = "" if fault is None else fault.name
        reply = self._reply(chat, fault)
        usage = usage_of(chat, reply)
        text = completion(chat, reply, usage, f"{content.hex()}-{attempt}")
        await asyncio.sleep(begun + self._latency - asyncio.get_running_loop().time())
        match name:
            case "400" | "429" | "500":
                return _refused(int(name), "this request is refused")
            case "reset" | "cut":
                return await _break_off(request, text if name == "cut" else b"")
        return web.Response(body=text, content_type="application/json")

    def _reply(self, chat: Chat, fault: Fault | None) -> Reply:
        """The answer, with the mistake or the spoilt content that the fault is."""
        reply = self._answerer.answer(chat, fault.name if fault else None, self._faults.seed)
        if fault is not None:
            reply = _spoil(reply, fault) or reply
        return within(joined(reply), chat.max_tokens)


def _refused(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message}}, status=status)


async def _break_off(request: web.Request, body: bytes) -> web.StreamResponse:
    """Send half of a body, if any, and end the connection."""
    response = web.StreamResponse(headers={"Content-Length": str(len(body))})
    assert request.transport is not None
    if body:
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
        request.transport.close()
    else:
        link = request.transport.get_extra_info("socket")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
    return response


def _spoil(reply: Reply, fault: Fault) -> Reply | None:
    """The reply with a fault in its content; ``None`` where the fault does not concern it."""
    match fault.name:
        case "bad-json" | "prose":
            text = spoil_json(reply.content, fault.name, fault.rng)
            return None if text is None else replace(reply, content=text)
        case "refusal":
            return replace(reply, content="", thought="", refusal=fault.rng.choice(REFUSALS))
        case "length":
            whole = joined(reply)
            half = whole.content[: len(whole.content) // 2]
            return replace(whole, content=half, finish="length")
        case _:
            return None
