"""HTTP through the ``openai`` client: TLS, proxies, and whatever else a hosted server needs."""

from __future__ import annotations

from collections.abc import Mapping

import httpx2
import openai

from tablemend.backends.wire import CONNECT_SECONDS, PATH, Broken, Reply


class OpenAIWire:
    """Through ``openai.AsyncOpenAI``, without its retries.

    Args:
        keys: what each server is sent as the bearer token, by its base URL; one client each, over
            one pool of connections.
        connections: connections that are kept open.
    """

    def __init__(self, keys: Mapping[str, str], connections: int) -> None:
        self._http = httpx2.AsyncClient(
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

    async def close(self) -> None:
        """See :class:`Wire`."""
        await self._http.aclose()


def _broken(error: Exception) -> Broken:
    cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
    if isinstance(cause, (httpx2.ConnectError, httpx2.ConnectTimeout)):
        return Broken("no connection to the server", unreachable=True)
    return Broken(f"the connection broke off ({type(cause).__name__})")
