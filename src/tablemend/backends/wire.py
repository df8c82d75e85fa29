"""One HTTP exchange with a server, through the ``openai`` client; nothing is tried again here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import httpx2
import openai

CONNECT_SECONDS = 10.0
"""Longest wait for a connection."""
PATH = "/chat/completions"


class Broken(Exception):
    """No whole reply came back.

    Attributes:
        reason: in a few words.
        unreachable: not even a connection was made.
    """

    def __init__(self, reason: str, unreachable: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.unreachable = unreachable


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole HTTP reply, whatever its status."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Wire(Protocol):
    """Connections to servers, all used in one event loop."""

    async def post(self, url: str, body: bytes) -> Reply:
        """Send one chat request to a base URL.

        Raises:
            Broken: no whole reply.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class OpenAIWire:
    """Through ``openai.AsyncOpenAI``, without its retries.

    Args:
        urls: base URLs; one client each, over one pool of connections.
        key: sent as the bearer token.
        connections: connections that are kept open.
    """

    def __init__(self, urls: tuple[str, ...], key: str, connections: int) -> None:
        self._http = httpx2.AsyncClient(
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=connections),
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        )
        self._clients = {
            url: openai.AsyncOpenAI(
                api_key=key, base_url=url, max_retries=0, timeout=None, http_client=self._http
            )
            for url in urls
        }

    async def post(self, url: str, body: bytes) -> Reply:
        """See :class:`Wire`."""
        try:
            response = await self._clients[url].post(
                PATH,
                content=body,
                cast_to=httpx2.Response,
                options={
                    "headers": {"Content-Type": "application/json"},
                    "timeout": self._http.timeout,
                },
            )
        except openai.APIStatusError as error:
            response = error.response
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            raise _broken(error) from None
        return Reply(response.status_code, response.headers, response.content)

    async def close(self) -> None:
        """See :class:`Wire`."""
        await self._http.aclose()


def _broken(error: Exception) -> Broken:
    cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
    if isinstance(cause, (httpx2.ConnectError, httpx2.ConnectTimeout)):
        return Broken("no connection to the server", unreachable=True)
    return Broken(f"the connection broke off ({type(cause).__name__})")
