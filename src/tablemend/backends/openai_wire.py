"""HTTP through the ``openai`` client: TLS, proxies, and whatever else a hosted server needs."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping

import httpx2
import openai

from tablemend.backends.wire import CONNECT_SECONDS, PATH, Broken, Reply, too_long


class OpenAIWire:
    """Through ``openai.AsyncOpenAI``, without its retries.

    Args:
        keys: what each server is sent as the bearer token, by its base URL; one client each, over
            one pool of connections.
        connections: connections that are kept open.
        most: bytes of a reply's body.
    """

    def __init__(self, keys: Mapping[str, str], connections: int, most: int) -> None:
        self._most = most
        self._http = httpx2.AsyncClient(
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [self._limit]},
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=connections),
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        )
        self._clients = {
            url: openai.AsyncOpenAI(
                api_key=key, base_url=url, max_retries=0, timeout=None, http_client=self._http
            )
            for url, key in keys.items()
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

    async def _limit(self, response: httpx2.Response) -> None:
        """Count the body while it is read; a compressed one could grow as it is unpacked."""
        if response.headers.get("content-encoding", "").lower() not in ("", "identity"):
            raise Broken("a compressed reply, which was not asked for", again=False)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Limited(response.stream, self._most)

    async def close(self) -> None:
        """See :class:`Wire`."""
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
                raise too_long(self._most)
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


def _broken(error: Exception) -> Broken:
    cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
    below = cause
    while below is not None:
        if isinstance(below, ssl.SSLCertVerificationError):
            return Broken(
                f"the server's certificate is not trusted ({below.verify_message})",
                unreachable=True,
                mend="name a file with the certificate of its authority in the environment "
                "variable SSL_CERT_FILE, or mend the base URL",
            )
        below = below.__cause__ or below.__context__
    if isinstance(cause, (httpx2.ConnectError, httpx2.ConnectTimeout)):
        return Broken("no connection to the server", unreachable=True)
    return Broken(f"the connection broke off ({type(cause).__name__})")
