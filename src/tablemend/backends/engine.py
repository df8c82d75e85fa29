"""What every engine gives, and how an engine that works in batches answers one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import closing
from importlib.util import find_spec
from typing import Any

from tablemend.backends.requests import Completion, Request
from tablemend.errors import TablemendError, install

SETTLE = 0.02
"""Seconds without a further request after which a batch begins."""


class Engine:
    """Something that answers requests; cache and caps are around it, not in it.

    A request that fails for good is a completion with ``finish_reason="error"``; an exception
    means that the engine as a whole cannot go on.

    Attributes:
        ahead: requests of a stream that are best put to it before their answers are handed out.
    """

    ahead = 1

    @property
    def identity(self) -> dict[str, Any]:
        """All that an answer depends on beside the request; JSON-serialisable, without keys."""
        raise NotImplementedError

    async def answer(self, request: Request) -> Completion:
        """Answer one; any number may be waited for at once."""
        raise NotImplementedError

    async def leave(self) -> None:
        """Let go of what belongs to the running event loop, which is about to end."""

    def too_long(self, requests: Sequence[Request]) -> dict[str, str]:
        """Why requests leave no room for an answer, by id; a server's window is not known."""
        return {}

    def load(self) -> None:
        """Load the weights or start what the first request needs.

        The first request does it otherwise, and its seconds then hold the loading.
        """

    def close(self) -> None:
        """Let go of memory, connections and processes; a second call does nothing."""


class BatchEngine(Engine):
    """An engine that answers many requests at once, in a thread.

    :meth:`answer` collects what is asked at the same time and generates it together: while a
    batch runs, the next one fills.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Request, asyncio.Future[Completion]]] = []
        self._running: asyncio.Task[None] | None = None

    def generate(self, requests: Sequence[Request]) -> Generator[Completion]:
        """Answer all, in the order in which the answers end; closing it drops the rest."""
        raise NotImplementedError

    async def answer(self, request: Request) -> Completion:
        """Answer one; requests of the same moment are generated together."""
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await future

    async def leave(self) -> None:
        """Wait for the batch that is running."""
        if self._running is not None:
            await self._running

    async def _run(self) -> None:
        try:
            while self._waiting:
                count = 0
                while count < len(self._waiting):
                    count = len(self._waiting)
                    await asyncio.sleep(SETTLE)
                batch, self._waiting = self._waiting, []
                await asyncio.to_thread(self._generate_into, batch, asyncio.get_running_loop())
        finally:
            self._running = None

    def _generate_into(
        self,
        batch: Sequence[tuple[Request, asyncio.Future[Completion]]],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Generate a batch, in a thread, and hand every answer out as it ends.

        What nobody waits for any more is not begun; where nobody waits at all, the batch ends
        with the next answer.
        """
        wanted = [(request, future) for request, future in batch if not future.done()]
        futures = {request.id: future for request, future in wanted}
        assert len(futures) == len(wanted), "two requests of one id at the same time"
        if not futures:
            return
        try:
            with closing(self.generate([request for request, _ in wanted])) as answers:
                for completion in answers:
                    # the future itself belongs to the loop: it is set, or found cancelled, there
                    loop.call_soon_threadsafe(_resolve, futures.pop(completion.id), completion)
                    if futures and all(future.done() for future in futures.values()):
                        return
        except Exception as error:  # whoever waits gets it
            for future in futures.values():
                loop.call_soon_threadsafe(_fail, future, error)


def _resolve(future: asyncio.Future[Completion], completion: Completion) -> None:
    if not future.done():
        future.set_result(completion)


def _fail(future: asyncio.Future[Completion], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def require_vllm() -> None:
    """Refuse, before anything is read or loaded, to go on without vLLM.

    Raises:
        TablemendError: it is not installed.
    """
    if find_spec("vllm") is None:
        raise TablemendError(
            f"vllm is not installed in this environment: {install('train', 'vllm')} "
            "on a machine with GPUs; on a CPU, make vllm-env and run with "
            ".venv-vllm/bin/python; or answer with transformers (backend=hf, or hf: before the "
            "model's name)"
        )
