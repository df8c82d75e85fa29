"""Answers to a stream of requests, in ordinary code: the waiting is done in a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from tablemend.backends.requests import Completion, Request

Answer = Callable[[Request], Awaitable[Completion]]
AHEAD = 4
"""Requests that are taken for one that may be in flight: others are being stored, or wait to be
handed out, or stand ready."""
AT_ONCE = 8
"""Requests that are begun without a look at the connections."""
TAKING = 0.002
"""Seconds for which requests are taken before those taken are sent."""
Leave = Callable[[], Awaitable[None]]


def stream(
    answer: Answer, requests: Iterable[Request], ahead: int, leave: Leave
) -> Iterator[Completion]:
    """Answer every request, in the order in which the answers end.

    At most ``ahead`` requests are taken before their answers are handed out, so that an endless
    iterator needs no more memory than a short one. It is read in the caller's thread and must
    not itself wait for an answer. A caller that is slow with one answer keeps nobody waiting:
    what was taken goes on in a thread of its own.

    What fails, an answer or the iterator, is raised after everything in flight has ended and was
    handed out. Closing the generator, Ctrl-C included, cancels what is in flight.

    Args:
        answer: answers one request.
        requests: what to answer.
        ahead: requests between taking and handing out.
        leave: called in the thread at the end, to let go of connections.
    """
    waiting = iter(requests)
    loop = _Loop(answer)
    pending, filling, ended = 0, True, False
    failure: BaseException | None = None
    try:
        while pending or not ended:
            if filling and not ended:
                batch: list[Request] = []
                began = time.monotonic()
                try:
                    while pending + len(batch) < ahead and time.monotonic() < began + TAKING:
                        batch.append(next(waiting))
                except StopIteration:
                    ended = True
                except Exception as error:
                    ended, failure = True, error
                loop.submit(batch)
                pending += len(batch)
                filling = pending < ahead
            for one in loop.take(wait=pending > 0 and (ended or not filling)):
                pending -= 1
                if isinstance(one, Completion):
                    yield one
                elif failure is None:
                    ended, failure = True, one
            # a quarter at a time: waking the other thread has its price
            filling |= pending <= ahead - ahead // 4
        if failure is not None:
            raise failure
    finally:
        loop.close(leave)


class _Loop:
    """An event loop in a thread of its own, and what ended there."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._ended: deque[Completion | BaseException] = deque()
        self._some = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self._loop = _new_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="tablemend-backend", daemon=True
        )
        self._thread.start()

    def submit(self, requests: Sequence[Request]) -> None:
        """Begin to answer."""
        if requests:
            self._loop.call_soon_threadsafe(self._start, requests)

    def take(self, wait: bool) -> Iterator[Completion | BaseException]:
        """What has ended since the last call."""
        if wait:
            self._some.wait()
        self._some.clear()  # before looking: what ends from here on sets it again
        while self._ended:
            yield self._ended.popleft()

    def _start(self, requests: Sequence[Request]) -> None:
        """Begin a few at a time: replies that have come in the meantime are read in between."""
        if self._closing:
            return
        for request in requests[:AT_ONCE]:
            task = self._loop.create_task(self._run(request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if len(requests) > AT_ONCE:
            self._loop.call_soon(self._start, requests[AT_ONCE:])

    async def _run(self, request: Request) -> None:
        one: Completion | BaseException
        try:
            one = await self._answer(request)
        except (Exception, asyncio.CancelledError) as error:  # the caller gets it
            one = error
        self._ended.append(one)
        self._some.set()

    def close(self, leave: Leave) -> None:
        """Cancel what is in flight and end the thread."""
        try:
            asyncio.run_coroutine_threadsafe(self._wind_up(leave), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _wind_up(self, leave: Leave) -> None:
        self._closing = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await leave()
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()


def _new_loop() -> asyncio.AbstractEventLoop:
    """Uvloop's where it is installed: a fifth less CPU."""
    try:
        import uvloop
    except ModuleNotFoundError:  # there is none for Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
