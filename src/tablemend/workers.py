"""Work in other processes that Ctrl-C ends at once, in one line."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children
from typing import Any, TypeVar

T = TypeVar("T")


def map_in(
    pool: ProcessPoolExecutor,
    function: Callable[..., T],
    *given: Iterable[Any],
    chunksize: int = 1,
) -> Iterator[T]:
    """``pool.map`` whose workers end at Ctrl-C without seeing it; a terminal sends it to all.

    Args:
        pool: a new one, whose workers start here.
        function: of a module, so that it can be sent to a process.
        given: its arguments.
        chunksize: calls that are sent to a worker together.
    """
    before = set(active_children())
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # workers inherit it
    try:
        try:
            results = pool.map(function, *given, chunksize=chunksize)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        yield from results
    except (KeyboardInterrupt, GeneratorExit):
        for worker in set(active_children()) - before:
            worker.terminate()
        raise
