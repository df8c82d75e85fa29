"""Answers to a stream of requests, in ordinary code: the waiting is done in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from queue import Empty, SimpleQueue

from tablemend.backends.requests import Completion, Request


def stream(
    answer: Callable[[Request], Awaitable[Completion]],
    requests: Iterable[Request],
    ahead: int,
    leave: Callable[[], Awaitable[None]],
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
    ended: SimpleQueue[Completion | BaseException] = SimpleQueue()
    tasks: set[asyncio.Task[None]] = set()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="tablemend-backend", daemon=True)
    thread.start()

    async def run(request: Request) -> None:
        try:
            ended.put(await answer(request))
        except (Exception, asyncio.CancelledError) as error:  # the caller gets it
            ended.put(error)

    def start(request: Request) -> None:
        task = loop.create_task(run(request))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def wind_up() -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await leave()
        await loop.shutdown_asyncgens()
        await loop.shutdown_default_executor()

    pending, more = 0, True
    failure: BaseException | None = None
    try:
        while pending or more:
            if more and pending < ahead:
                try:
                    loop.call_soon_threadsafe(start, next(waiting))
                    pending += 1
                except StopIteration:
                    more = False
                except Exception as error:
                    more, failure = False, error
            try:
                one = ended.get(block=pending > 0 and (pending == ahead or not more))
            except Empty:
                continue
            pending -= 1
            if isinstance(one, Completion):
                yield one
            elif failure is None:
                more, failure = False, one
        if failure is not None:
            raise failure
    finally:
        try:
            asyncio.run_coroutine_threadsafe(wind_up(), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
