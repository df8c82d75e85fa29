"""Rows in the making: the two models, and a bounded number of rows at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import ExitStack

from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.names import ModelName
from tablemend.backends.requests import Sampling
from tablemend.datasets.tablehallu_llm.asking import Asked
from tablemend.datasets.tablehallu_llm.rows import Row
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import Models, make_row
from tablemend.datasets.tablehallu_llm.topics import Topics

THINKS = {None: None, "on": True, "off": False}


class RowMaker:
    """Makes the row of a number with the models of the settings.

    Args:
        settings: what to make.
        topics: of the rows.
        stack: closes the models; weights are loaded with the first request.

    Raises:
        TablemendError: a model cannot be had.
    """

    def __init__(self, settings: LlmSynthesis, topics: Topics, stack: ExitStack) -> None:
        self._settings, self._topics = settings, topics
        sampling = Sampling(settings.max_new_tokens, settings.temperature)

        def asked(model: str, backend: Backend, thinks: str | None) -> Asked:
            name = ModelName.parse(model)  # rows record it without the address of a server
            return Asked(f"{name.engine}:{name.model}", backend, sampling, THINKS[thinks])

        generator = stack.enter_context(
            open_backend(settings.generator, settings.generator_options)
        )
        verifier = generator
        if not settings.one_model:
            verifier = stack.enter_context(
                open_backend(settings.verifier_model, settings.asked_of_verifier)
            )
        self._backends = {id(backend): backend for backend in (generator, verifier)}
        self._models = Models(
            asked(settings.generator, generator, settings.generator_thinking),
            asked(settings.verifier_model, verifier, settings.verifier_thinking),
        )

    async def make(self, number: int) -> Row:
        """The row of a number."""
        return await make_row(number, self._topics.topic(number), self._settings, self._models)

    async def leave(self) -> None:
        """Take the models out of the event loop, at its end."""
        for backend in self._backends.values():
            await backend.leave()


OpenMaker = Callable[[LlmSynthesis, Topics, ExitStack], RowMaker]
Done = Callable[[Row], None]


def make_rows(maker: RowMaker, numbers: Iterable[int], done: Done, concurrency: int) -> None:
    """Make rows in an event loop of their own, at most ``concurrency`` at a time.

    Whatever goes wrong in one row, no further row is begun; those in the making end, and what is
    whole by then is handed out.

    Args:
        maker: of a row.
        numbers: taken as there is room.
        done: takes a row, in the order in which rows end.
        concurrency: rows in the making.

    Raises:
        Exception: the first error of a row or of ``done``.
    """
    waiting = iter(numbers)
    errors: list[Exception] = []

    async def work() -> None:
        while not errors and (number := next(waiting, None)) is not None:
            try:
                done(await maker.make(number))
            except Exception as error:
                errors.append(error)

    async def make_all() -> None:
        try:
            await asyncio.gather(*(work() for _ in range(concurrency)))
        finally:
            await maker.leave()

    asyncio.run(make_all())
    if errors:
        raise errors[0]
