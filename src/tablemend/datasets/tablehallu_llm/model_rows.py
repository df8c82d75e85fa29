"""Rows in the making: the two models, and a bounded number of rows at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from typing import NamedTuple

from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.names import ModelName
from tablemend.backends.requests import Sampling
from tablemend.datasets.tablehallu_llm.asking import Asked
from tablemend.datasets.tablehallu_llm.rows import Row
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import Models, make_row
from tablemend.datasets.tablehallu_llm.topics import Topics

THINKS = {None: None, "on": True, "off": False}

MakeRow = Callable[[int], Awaitable[Row]]
Done = Callable[[Row, float], None]


class Pair(NamedTuple):
    """The backends of the two models; one and the same where one does for both."""

    generator: Backend
    verifier: Backend


def open_models(settings: LlmSynthesis, stack: ExitStack) -> Pair:
    """Open both models; weights are loaded with the first request.

    Raises:
        TablemendError: a model cannot be had.
    """
    enter = stack.enter_context
    generator = enter(open_backend(settings.generator, settings.generator_options))
    if settings.one_model:
        return Pair(generator, generator)
    return Pair(generator, enter(open_backend(settings.verifier_model, settings.asked_of_verifier)))


@asynccontextmanager
async def open_maker(settings: LlmSynthesis, topics: Topics, pair: Pair) -> AsyncIterator[MakeRow]:
    """What makes the row of a number; at the end the models leave the event loop."""
    async with AsyncExitStack() as stack:
        for backend in {id(backend): backend for backend in pair}.values():
            stack.push_async_callback(backend.leave)
        sampling = Sampling(settings.max_new_tokens, settings.temperature)

        def asked(model: str, backend: Backend, thinks: str | None) -> Asked:
            name = ModelName.parse(model)  # rows record it without the address of a server
            return Asked(f"{name.engine}:{name.model}", backend, sampling, THINKS[thinks])

        models = Models(
            asked(settings.generator, pair.generator, settings.generator_thinking),
            asked(settings.verifier_model, pair.verifier, settings.verifier_thinking),
        )

        async def make(number: int) -> Row:
            return await make_row(number, topics.topic(number), settings, models)

        yield make


async def make_rows(numbers: Iterable[int], make: MakeRow, done: Done, concurrency: int) -> None:
    """Make rows, at most ``concurrency`` at a time.

    Whatever goes wrong in one row, no further row is begun; those in the making end, and what is
    whole by then is handed out.

    Args:
        numbers: taken as there is room.
        make: makes the row of a number.
        done: takes a row and the seconds that it took, in the order in which rows end.
        concurrency: rows in the making.

    Raises:
        Exception: the first error of a row or of ``done``.
    """
    waiting = iter(numbers)
    errors: list[Exception] = []

    async def work() -> None:
        while not errors and (number := next(waiting, None)) is not None:
            start = time.monotonic()
            try:
                done(await make(number), time.monotonic() - start)
            except Exception as error:
                errors.append(error)

    await asyncio.gather(*(work() for _ in range(concurrency)))
    if errors:
        raise errors[0]


def run(
    settings: LlmSynthesis, topics: Topics, pair: Pair, numbers: Iterable[int], done: Done
) -> None:
    """:func:`make_rows` by the models, in an event loop of its own."""

    async def make_all() -> None:
        async with open_maker(settings, topics, pair) as make:
            await make_rows(numbers, make, done, settings.concurrency)

    asyncio.run(make_all())
