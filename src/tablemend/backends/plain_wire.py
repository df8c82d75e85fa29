"""HTTP/1.1 without TLS over connections that stay open, for servers of one's own.

The ``openai`` client needs about a millisecond of CPU a request, its own code a quarter and
HTTP/1.1 in Python the rest: a core for 900 requests a second (benchmarks/backends.py). Here it is
a few hundredths of that: bytes out, httptools on what comes back, and no more.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

import httptools

from tablemend.backends.wire import CONNECT_SECONDS, PATH, Broken, Reply, too_long

IDLE_SECONDS = 3.0
"""Longest time that a connection waits to be used again; servers close theirs after 5."""


class PlainWire:
    """Connections to http servers, all used in one event loop.

    Args:
        keys: what each server is sent as the bearer token, by its base URL.
        most: bytes of a reply.
    """

    def __init__(self, keys: Mapping[str, str], most: int) -> None:
        self._hosts = {url: _Host(url, key, most) for url, key in keys.items()}

    async def post(self, url: str, body: bytes) -> Reply:
        """See :class:`Wire`."""
        return await self._hosts[url].post(body)

    async def close(self) -> None:
        """See :class:`Wire`."""
        for host in self._hosts.values():
            host.close()


class _Host:
    """One server's connections; the one used last is used first."""

    def __init__(self, url: str, key: str, most: int) -> None:
        parts = urlsplit(url)
        self._most = most
        self._host = parts.hostname or ""
        self._port = parts.port or 80
        self._idle: list[_Connection] = []
        self._head = (
            f"POST {parts.path}{PATH} HTTP/1.1\r\n"
            f"Host: {parts.netloc}\r\n"
            f"Authorization: Bearer {key}\r\n"
            "Accept: application/json\r\n"
            "Accept-Encoding: identity\r\n"
            "Content-Type: application/json\r\n"
            "Content-Length: "
        ).encode("ascii")

    async def post(self, body: bytes) -> Reply:
        connection = self._reused() or await self._connect()
        try:
            reply = await connection.exchange(b"%s%d\r\n\r\n%s" % (self._head, len(body), body))
        except BaseException:  # a timeout too: what comes late must not answer another request
            connection.abort()
            raise
        if connection.usable:
            connection.since = time.monotonic()
            self._idle.append(connection)
        return reply

    def _reused(self) -> _Connection | None:
        oldest = time.monotonic() - IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and connection.since > oldest:
                return connection
            connection.abort()
        return None

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await loop.create_connection(
                    lambda: _Connection(self._most), self._host, self._port
                )
        except OSError as error:  # TimeoutError is one
            reason = error.strerror or "no connection in time"
            raise Broken(f"no connection to the server ({reason})", unreachable=True) from None
        return connection

    def close(self) -> None:
        while self._idle:
            self._idle.pop().abort()


class _Connection(asyncio.Protocol):
    """One connection: one request, then its reply, then the next.

    Attributes:
        usable: open, and the last reply came whole.
        since: when it was used last.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.usable = True
        self.since = 0.0
        self._reply: asyncio.Future[Reply] | None = None
        self._headers_done = False

    async def exchange(self, data: bytes) -> Reply:
        """Send a request and wait for its reply.

        Raises:
            Broken: no whole reply came.
        """
        self._reply = asyncio.get_running_loop().create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._headers_done = False
        self._body: list[bytes] = []
        self._size = 0  # of the head too: it could go on for ever
        self._transport.write(data)
        return await self._reply

    def abort(self) -> None:
        """Close it now."""
        self.usable = False
        self._reply = None
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Of asyncio."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Of asyncio."""
        if self._reply is None:  # more than the reply: nobody asked for it
            self.abort()
            return
        self._size += len(data)
        if self._size > self._most:
            self._fail(too_long(self._most))
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail(Broken("a reply that is no HTTP"))

    def connection_lost(self, error: Exception | None) -> None:
        """Of asyncio."""
        self.usable = False
        if self._headers_done and not {"content-length", "transfer-encoding"} & set(self._headers):
            self._finish()  # such a body ends with the connection
        self._fail(Broken("the connection broke off"))

    def _fail(self, broken: Broken) -> None:
        self.usable = False
        reply, self._reply = self._reply, None
        if reply is not None and not reply.done():
            reply.set_exception(broken)
        self._transport.abort()

    def _finish(self) -> None:
        reply, self._reply = self._reply, None
        if reply is not None and not reply.done():
            content = b"".join(self._body)
            reply.set_result(Reply(self._parser.get_status_code(), self._headers, content))

    # what follows is called by httptools

    def on_message_begin(self) -> None:
        """Of httptools."""
        self._headers_done = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Of httptools."""
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Of httptools."""
        self._headers_done = True

    def on_body(self, data: bytes) -> None:
        """Of httptools."""
        self._body.append(data)

    def on_message_complete(self) -> None:
        """Of httptools."""
        if self._parser.get_status_code() < 200:  # 100 Continue: the reply is still to come
            self._headers.clear()
            return
        self.usable = self.usable and self._parser.should_keep_alive()
        self._finish()
