"""``scripted:`` model strings: a server for tests is started, asked, and ended."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from threading import Timer
from typing import Any

from tablemend.backends.names import ModelName
from tablemend.backends.openai_client import OpenAIEngine
from tablemend.backends.requests import Completion, Request
from tablemend.config.backend import BackendOptions
from tablemend.config.nearest import nearest
from tablemend.errors import TablemendError

OPTIONS = ("latency", "faults", "seed", "examples", "answer")
"""What may stand in the string, as of ``python -m tablemend.scripted --help``."""
START_SECONDS = 60.0
END_SECONDS = 5.0


class LocalServer:
    """``python -m tablemend.scripted`` on a free port, for as long as this object is open.

    Args:
        arguments: of its command line.

    Raises:
        TablemendError: it did not start; its own last line says why.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        with tempfile.TemporaryFile("w+") as errors:  # a pipe that nobody reads would fill
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tablemend.scripted", "--port", "0", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # Ctrl-C is for us: it answers until it is closed
            )
            assert self._process.stdout is not None
            alarm = Timer(START_SECONDS, self._process.kill)
            alarm.start()
            self.url = self._process.stdout.readline().strip()
            alarm.cancel()
            if not self.url:
                self._process.communicate()
                errors.seek(0)
                said = errors.read().strip().splitlines() or [f"{self._process.returncode}"]
                raise TablemendError(f"the scripted server did not start: {said[-1]}")

    def close(self) -> None:
        """End it; a second call does nothing."""
        self._process.terminate()
        try:
            self._process.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


class ScriptedEngine:
    """The scripted server and a client of it.

    Args:
        name: ``scripted:``, with ``latency=0.05,faults=429:0.1+cut:0.05,seed=1,examples=PATH``
            in any choice behind it.
        options: how it is asked.

    Raises:
        TablemendError: an unknown option, or the server did not start.
    """

    def __init__(self, name: ModelName, options: BackendOptions) -> None:
        given = read_options(name.model)
        self._server = LocalServer([f"--{key}={value}" for key, value in given.items()])
        try:
            self._engine = OpenAIEngine(
                ModelName("openai", "scripted", (self._server.url,)),
                # the server needs no key, so it is not given one
                options.model_copy(update={"key_variable": ""}),
                {"engine": "scripted", "options": given},
            )
        except BaseException:
            self._server.close()
            raise

    @property
    def identity(self) -> dict[str, Any]:
        """The server's options, but not its port."""
        return self._engine.identity

    def load(self) -> None:
        """The server is running already."""

    def check(self, requests: Sequence[Request]) -> None:
        """See :class:`Engine`."""
        self._engine.check(requests)

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """See :class:`Engine`."""
        return self._engine.generate(requests)

    async def answer(self, request: Request) -> Completion:
        """See :class:`Engine`."""
        return await self._engine.answer(request)

    async def leave(self) -> None:
        """See :class:`Engine`."""
        await self._engine.leave()

    def close(self) -> None:
        """Close the connections and end the server."""
        self._engine.close()
        self._server.close()


def read_options(text: str) -> dict[str, str]:
    """The options of a ``scripted:`` string.

    Raises:
        TablemendError: an unknown one, one twice, or one without a value.
    """
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if key not in OPTIONS:
            raise TablemendError(
                f"scripted:{text}: no option {key!r}{nearest(key, OPTIONS)}; "
                f"there are {', '.join(OPTIONS)}"
            )
        if not equals or not value or key in found:
            raise TablemendError(f"scripted:{text}: write {key}=VALUE, once")
        found[key] = value
    return found
