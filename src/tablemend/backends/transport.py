"""One HTTP exchange with a server, through the ``openai`` client over aiohttp."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import aiohttp
import httpx2
import openai

CONNECT_SECONDS = 10.0
"""Longest wait for a connection."""
IDLE_SECONDS = 3.0
"""Longest time that a connection waits to be used again; servers close theirs after 5."""
MIB = 1 << 20


@dataclass(eq=False)
class Fault(Exception):
    """Why one try gave no answer.

    Attributes:
        reason: in a few words.
        again: whether another try at the same server may do better.
        after: seconds that the server asked to wait, if it did.
        unreachable: the server took no connection.
        billed: the server may have computed an answer, and counted its tokens.
        stops: why nobody gets an answer there; empty where others may.
    """

    reason: str
    again: bool = True
    after: float | None = None
    unreachable: bool = False
    billed: bool = False
    stops: str = ""


class Transport:
    """``openai.AsyncOpenAI``, without its retries; all used in one event loop.

    Args:
        keys: what each server is sent as the bearer token, by its base URL; one client each, over
            one pool of connections.
        connections: most connections.
        most: bytes of a reply's body.
    """

    def __init__(self, keys: Mapping[str, str], connections: int, most: int) -> None:
        self._most = most
        timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
        self._http = openai.DefaultAioHttpClient(
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [self._limit]},
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=connections, keepalive_expiry=IDLE_SECONDS),
            timeout=timeout,
        )
        self._clients = {
            url: openai.AsyncOpenAI(
                api_key=key, base_url=url, max_retries=0, timeout=timeout, http_client=self._http
            )
            for url, key in keys.items()
        }

    async def post(self, url: str, body: bytes) -> httpx2.Response:
        """Send one chat request to a base URL; any status is a reply.

        Raises:
            Fault: no whole reply.
        """
        try:
            return await self._clients[url].post(
                "/chat/completions",
                content=body,
                cast_to=httpx2.Response,
                options={"headers": {"Content-Type": "application/json"}},
            )
        except openai.APIStatusError as error:
            return error.response
        except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            raise _fault_of(error, url) from None

    async def _limit(self, response: httpx2.Response) -> None:
        """Count the body while it is read; a compressed one could grow as it is unpacked."""
        if response.headers.get("content-encoding", "").lower() not in ("", "identity"):
            raise Fault("a compressed reply, which was not asked for", again=False, billed=True)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Limited(response.stream, self._most)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


class _Limited(httpx2.AsyncByteStream):
    """A body that is given up once it has too many bytes."""

    def __init__(self, body: httpx2.AsyncByteStream, most: int) -> None:
        self._body = body
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._body:
            size += len(part)
            if size > self._most:
                raise Fault(
                    f"a reply of more than {self._most / MIB:g} MiB (max_reply_mib)",
                    again=False,
                    billed=True,
                )
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


def _fault_of(error: BaseException, url: str) -> Fault:
    """What aiohttp says, below the errors that are made of it."""
    while not isinstance(error, aiohttp.ClientError) and error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        said = error.certificate_error
        words = said.verify_message if isinstance(said, ssl.SSLCertVerificationError) else said
        why = f"the server's certificate is not trusted ({words})"
        return Fault(
            why,
            again=False,
            stops=f"{url}: {why}: name a file with the certificate of its authority in the "
            "environment variable SSL_CERT_FILE, or mend the base URL",
        )
    if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
        return Fault("no connection to the server", unreachable=True)
    if isinstance(error, aiohttp.ClientResponseError):
        return Fault("a reply whose head cannot be read", billed=True)
    return Fault("the connection broke off", billed=True)
