"""The HTTP/1.1 that the model server needs, on asyncio's own transport.

Kept alive, one request of a connection at a time (a pipelined one waits), bodies by
``Content-Length`` alone. What a server must not do (half a body, a reset, silence) is here too,
because clients are tested with it.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple

MAX_HEAD = 64 * 1024
MAX_BODY = 64 * 1024 * 1024
_END_OF_HEAD = b"\r\n\r\n"


class HttpRequest(NamedTuple):
    """A request whose body has arrived; header names are in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class BadRequest(Exception):
    """A request that is refused before anybody sees it; the connection ends after the answer."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Connection(asyncio.Protocol):
    """One client. For each request ``handler`` is called, and owes one call of a method here.

    Attributes:
        on_lost: called when the client goes while it is owed an answer.
    """

    def __init__(self, handler: Callable[[HttpRequest, Connection], None]) -> None:
        self._handler = handler
        self._buffer = bytearray()
        self._busy = False
        self._serving = False
        self._keep = True
        self._continued = False
        self.on_lost: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever works on an answer."""
        if self.on_lost is not None:
            self.on_lost()
            self.on_lost = None

    def data_received(self, data: bytes) -> None:
        """Collect until a request is whole."""
        self._buffer += data
        if not self._busy:
            self._serve()
        elif len(self._buffer) > MAX_BODY:
            self._transport.pause_reading()

    def _serve(self) -> None:
        """Hand over the requests that are whole, each after the one before is answered."""
        if self._serving:  # answered at once: the loop below goes on
            return
        self._serving = True
        while not self._busy and not self._transport.is_closing():
            try:
                request = self._take()
            except BadRequest as error:
                self._busy, self._keep = True, False
                self.send(error.status, str(error).encode(), "text/plain")
                break
            if request is None:
                break
            self._busy = True
            self._handler(request, self)
        self._serving = False

    def _take(self) -> HttpRequest | None:
        """Cut the next request off the buffer; ``None`` where it is not whole yet."""
        end = self._buffer.find(_END_OF_HEAD)
        if end < 0:
            if len(self._buffer) > MAX_HEAD:
                raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "head too long")
            return None
        method, path, version, headers = _read_head(bytes(self._buffer[:end]))
        length = _body_length(headers)
        start = end + len(_END_OF_HEAD)
        if len(self._buffer) < start + length:
            if headers.get("expect", "").lower() == "100-continue" and not self._continued:
                self._continued = True
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return None
        body = bytes(self._buffer[start : start + length])
        del self._buffer[: start + length]
        self._continued = False
        asked = headers.get("connection", "").lower()
        self._keep = asked != "close" if version == "HTTP/1.1" else asked == "keep-alive"
        return HttpRequest(method, path, headers, body)

    def send(
        self,
        status: int,
        body: bytes,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Answer, and go on to the next request."""
        if self._transport.is_closing():
            return
        self._transport.write(_head(status, len(body), content_type, self._keep, headers) + body)
        self.on_lost = None
        if not self._keep:
            self._transport.close()
            return
        self._busy = False
        self._transport.resume_reading()
        if self._buffer:
            self._serve()

    def send_half(self, status: int, body: bytes) -> None:
        """Promise the whole body, send half of it, and end the connection."""
        if self._transport.is_closing():
            return
        head = _head(status, len(body), "application/json", True, None)
        self._transport.write(head + body[: len(body) // 2])
        self.on_lost = None
        self._transport.close()

    def reset(self) -> None:
        """End the connection without a word (TCP reset)."""
        self.on_lost = None
        link = self._transport.get_extra_info("socket")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()


def _read_head(head: bytes) -> tuple[str, str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or parts[2] not in ("HTTP/1.0", "HTTP/1.1"):
        raise BadRequest(HTTPStatus.BAD_REQUEST, "no HTTP/1.1 request line")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip():
            raise BadRequest(HTTPStatus.BAD_REQUEST, "a header line that is none")
        headers[name.lower()] = value.strip()
    return parts[0], parts[1].partition("?")[0], parts[2], headers


def _body_length(headers: Mapping[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise BadRequest(HTTPStatus.LENGTH_REQUIRED, "send the body with Content-Length")
    text = headers.get("content-length", "0")
    if not text.isascii() or not text.isdigit():
        raise BadRequest(HTTPStatus.BAD_REQUEST, "a Content-Length that is no number")
    if len(text) > 15 or int(text) > MAX_BODY:
        raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body of over {MAX_BODY} bytes")
    return int(text)


def _head(
    status: int, length: int, content_type: str, keep: bool, headers: Mapping[str, str] | None
) -> bytes:
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"Content-Type: {content_type}",
        f"Content-Length: {length}",
        f"Connection: {'keep-alive' if keep else 'close'}",
        *(f"{name}: {value}" for name, value in (headers or {}).items()),
    ]
    return "\r\n".join((*lines, "", "")).encode("latin-1")
