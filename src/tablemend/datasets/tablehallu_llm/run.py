"""Rows in the making: a bounded number at a time, each handed out as it ends."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from tablemend.backends.requests import Completion, Request
from tablemend.datasets.tablehallu_llm.asking import Model
from tablemend.datasets.tablehallu_llm.rows import Row, has_failed

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping(Exception):
    """No further request is sent: the run is about to end."""


class Gate:
    """The door to the models: closed, it lets answers on their way arrive and nothing new out.

    An answer that arrives is in the request cache, so the row that asked for it is soon where it
    was when the same command continues.
    """

    def __init__(self) -> None:
        self.closed = False
        self.interrupted = False
        self._rows: asyncio.Task[None] | None = None

    def guard(self, model: Model) -> Model:
        """The model behind this gate."""
        return _Guarded(model, self)

    def close(self) -> None:
        """Let no further request out."""
        self.closed = True

    @contextmanager
    def closed_by_signals(self) -> Iterator[None]:
        """The first Ctrl-C (or SIGTERM) closes the gate, the second leaves at once."""
        loop = asyncio.get_running_loop()
        self._rows = asyncio.current_task()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._on_signal)
        try:
            yield
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    def _on_signal(self) -> None:
        if self.interrupted and self._rows is not None:
            self._rows.cancel()
            return
        self.interrupted = True
        self.close()
        print(
            "\nstopping: answers on their way are waited for; again to leave at once",
            file=sys.stderr,
        )


class _Guarded:
    """A model behind a gate."""

    def __init__(self, model: Model, gate: Gate) -> None:
        self._model, self._gate = model, gate

    async def answer(self, request: Request) -> Completion:
        """Answer one request, while the gate is open."""
        if self._gate.closed:
            raise Stopping
        return await self._model.answer(request)


MakeRow = Callable[[int], Awaitable[Row]]
Done = Callable[[Row, float], None]


async def make_rows(
    numbers: Iterator[int], make: MakeRow, done: Done, concurrency: int, gate: Gate
) -> None:
    """Make rows, at most ``concurrency`` at a time.

    Whatever goes wrong in one row ends the run: no further row is begun, those in the making end
    with the answer that they wait for, and what is whole by then is handed out.

    Args:
        numbers: taken as there is room; may be endless.
        make: makes the row of a number.
        done: takes a row and the seconds that it took, in the order in which rows end.
        concurrency: rows in the making.
        gate: the door that ``make`` asks its models through.

    Raises:
        KeyboardInterrupt: a signal stopped the run.
        Exception: the first error of a row or of ``done``.
    """
    making: set[asyncio.Task[tuple[Row, float]]] = set()
    error: Exception | None = None
    try:
        while True:
            while not gate.closed and len(making) < concurrency:
                if (number := next(numbers, None)) is None:
                    break
                making.add(asyncio.create_task(_timed(make, number)))
            if not making:
                break
            ended, making = await asyncio.wait(making, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                try:
                    row, seconds = task.result()
                    if not (gate.interrupted and has_failed(row)):  # Ctrl-C reaches servers too
                        done(row, seconds)
                except Stopping:
                    continue
                except Exception as found:  # told when everything whole is handed out
                    error = error or found
                    gate.close()
    except asyncio.CancelledError:
        if not gate.interrupted:
            raise
    finally:
        for task in making:
            task.cancel()
        await asyncio.gather(*making, return_exceptions=True)
    if gate.interrupted:
        raise KeyboardInterrupt from error
    if error is not None:
        raise error


async def _timed(make: MakeRow, number: int) -> tuple[Row, float]:
    start = time.monotonic()
    row = await make(number)
    return row, time.monotonic() - start
