"""The two models of a data set, opened for as long as rows are made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from types import TracebackType
from typing import NamedTuple, Self

from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.names import ModelName
from tablemend.backends.requests import Sampling
from tablemend.datasets.tablehallu_llm.asking import Asked, Model
from tablemend.datasets.tablehallu_llm.origin import Origin
from tablemend.datasets.tablehallu_llm.program_rows import make_program_row
from tablemend.datasets.tablehallu_llm.rows import Row
from tablemend.datasets.tablehallu_llm.run import Gate, MakeRow
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import Models, make_row

THINKS = {None: None, "on": True, "off": False}


class Pair(NamedTuple):
    """The backends of the two models; one and the same where one does for both."""

    generator: Backend
    verifier: Backend


class Backends:
    """Opens the models when they are first needed, and closes them at the end.

    Weights are loaded with the first request, so that opening is a quick check.
    """

    def __init__(self, settings: LlmSynthesis) -> None:
        self._settings = settings
        self._stack = ExitStack()
        self._pair: Pair | None = None

    def open(self) -> Pair:
        """Open both; a second call gives the same.

        Raises:
            TablemendError: a model cannot be had.
        """
        if self._pair is None:
            settings, enter = self._settings, self._stack.enter_context
            generator = enter(open_backend(settings.generator, settings.generator_options))
            verifier = generator
            if not settings.one_model:
                verifier = enter(open_backend(settings.verifier_model, settings.asked_of_verifier))
            self._pair = Pair(generator, verifier)
        return self._pair

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()


@asynccontextmanager
async def open_maker(
    settings: LlmSynthesis, origin: Origin, gate: Gate, backends: Backends
) -> AsyncIterator[MakeRow]:
    """What makes the row of a number; at the end the models leave the event loop.

    Raises:
        TablemendError: a model cannot be had.
    """
    async with AsyncExitStack() as stack:
        pair = backends.open()
        for backend in {id(backend): backend for backend in pair}.values():
            stack.push_async_callback(backend.leave)
        sampling = Sampling(settings.max_new_tokens, settings.temperature)

        def asked(model: str, backend: Model, thinks: str | None) -> Asked:
            return Asked(recorded(model), gate.guard(backend), sampling, THINKS[thinks])

        models = Models(
            asked(settings.generator, pair.generator, settings.generator_thinking),
            asked(settings.verifier_model, pair.verifier, settings.verifier_thinking),
        )

        async def make(number: int) -> Row:
            if origin.program is not None:
                example = origin.program.make(number)
                return await make_program_row(number, example, settings, models)
            assert origin.topics is not None
            return await make_row(number, origin.topics.topic(number), settings, models)

        yield make


def recorded(model: str) -> str:
    """A model string as it is recorded with rows: without the address of its server."""
    name = ModelName.parse(model)
    return f"{name.engine}:{name.model}"
