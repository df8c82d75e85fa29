"""A server of the chat protocol in a thread, whose every reply a test writes itself."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Seen:
    """A request as the server saw it; ``number`` counts from 0."""

    number: int
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Reply:
    """What is sent back.

    Attributes:
        seconds: before the reply.
        cut: bytes of the body that are sent before the connection ends; ``None``: all.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    cut: int | None = None

    def cut_in_half(self) -> Reply:
        """Whose connection ends in the middle of the body."""
        return replace(self, cut=len(self.body) // 2)


def answer(
    text: str | None = "hi", finish: str | None = "stop", seconds: float = 0.0, **more: Any
) -> Reply:
    """A good reply; ``usage`` and fields of the message can be given."""
    usage = more.pop("usage", {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7})
    message = {"role": "assistant", "content": text, **more}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    body = {"object": "chat.completion", "choices": [choice], "usage": usage}
    return Reply(json.dumps(body).encode(), seconds=seconds)


def refuse(
    status: int,
    message: str = "no",
    headers: Mapping[str, str] | None = None,
    seconds: float = 0.0,
    **error: Any,
) -> Reply:
    """An error as OpenAI words it."""
    body = {"error": {"message": message, **error}}
    return Reply(json.dumps(body).encode(), status, headers or {}, seconds)


Respond = Callable[[Seen], Reply]


class ChatServer:
    """Serves while it is open.

    ``seen`` holds every request, ``most`` the most at once.
    """

    def __init__(self, respond: Respond, port: int = 0) -> None:
        self.respond = respond
        self.seen: list[Seen] = []
        self.most = 0
        self._now = 0
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", port)
        )
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.path = "/v1/chat/completions"
        self._writers: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End at once, with every connection; a second call does nothing."""
        if not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while await self._exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):  # the end
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.strip().split("\r\n")
        assert lines[0] == f"POST {self.path} HTTP/1.1", lines[0]
        headers = {name.lower(): value for name, _, value in (x.partition(": ") for x in lines[1:])}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        seen = Seen(len(self.seen), headers, body)
        self.seen.append(seen)
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            reply = self.respond(seen)
            if reply.seconds:
                await asyncio.sleep(reply.seconds)
        finally:
            self._now -= 1
        fields = {"Content-Length": str(len(reply.body)), **reply.headers}
        text = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {reply.status} Some Reason\r\n{text}\r\n".encode())
        writer.write(reply.body if reply.cut is None else reply.body[: reply.cut])
        await writer.drain()
        return reply.cut is None and fields.get("Connection") != "close"


def serve(text: str, latency: float, link: Connection) -> None:
    """In a process of its own: the same answer to everything, until the link says something."""
    with ChatServer(lambda _: answer(text, seconds=latency)) as server:
        link.send(server.url)
        link.poll(None)
