"""Work in other processes that Ctrl-C ends at once, in one line."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from typing import Any, Literal, TypeVar

from tablemend.cluster import map_on_ray
from tablemend.errors import TablemendError

S = TypeVar("S")
T = TypeVar("T")
Engine = Literal["local", "ray"]


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


def map_in_workers(
    start: Callable[..., Callable[[S], T]],
    arguments: tuple[Any, ...],
    numbers: Sequence[S],
    workers: int,
    engine: Engine = "local",
) -> Iterator[T]:
    """What a function makes of numbers, in their order; in this process where one is enough.

    Args:
        start: of a module; called once in each process, gives the function.
        arguments: what it is called with.
        numbers: what the function is called with: numbers, or other small values.
        workers: how many processes.
        engine: ``ray`` does it on a cluster instead, see :mod:`tablemend.cluster`.

    Raises:
        TablemendError: a process died.
    """
    if engine == "ray":
        yield from map_on_ray(start, arguments, numbers)
        return
    if workers == 1 or len(numbers) < 2:
        yield from map(start(*arguments), numbers)
        return
    # spawn: a forked worker would inherit locks of threads that it does not have.
    with ProcessPoolExecutor(
        min(workers, len(numbers)),
        mp_context=get_context("spawn"),
        initializer=_start,
        initargs=(start, arguments),
    ) as pool:
        try:
            yield from map_in(pool, _call, numbers, chunksize=4)
        except BrokenProcessPool as error:
            raise TablemendError(
                "a worker died, most likely for want of memory; the same command continues, "
                "with fewer workers= if it happens again"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


_FUNCTIONS: list[Callable[[Any], Any]] = []  # one in each worker process


def _start(start: Callable[..., Callable[[Any], Any]], arguments: tuple[Any, ...]) -> None:
    _FUNCTIONS.append(start(*arguments))


def _call(number: Any) -> Any:
    return _FUNCTIONS[0](number)
