"""The two models of a data set, opened for as long as rows are made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.names import ModelName
from tablemend.backends.requests import Sampling
from tablemend.config.backend import BackendOptions
from tablemend.pipeline.asking import Asked, Model
from tablemend.pipeline.origin import Origin
from tablemend.pipeline.program_rows import make_program_row
from tablemend.pipeline.rows import Row
from tablemend.pipeline.run import Gate, MakeRow
from tablemend.pipeline.settings import LlmSynthesis
from tablemend.pipeline.stages import Models, make_row

THINKS = {None: None, "on": True, "off": False}


@asynccontextmanager
async def open_maker(settings: LlmSynthesis, origin: Origin, gate: Gate) -> AsyncIterator[MakeRow]:
    """What makes the row of a number; its models are closed at the end.

    Raises:
        TablemendError: a model cannot be had.
    """
    async with AsyncExitStack() as stack:

        def opened(model: str, options: BackendOptions) -> Backend:
            backend = stack.enter_context(open_backend(model, options))
            stack.push_async_callback(backend.leave)
            return backend

        verifier = generator = opened(settings.generator, settings.asked_of_generator)
        if not settings.one_model:
            verifier = opened(settings.verifier_model, settings.asked_of_verifier)
        sampling = Sampling(settings.max_new_tokens, settings.temperature)

        def asked(model: str, backend: Model, thinks: str | None) -> Asked:
            return Asked(recorded(model), gate.guard(backend), sampling, THINKS[thinks])

        models = Models(
            asked(settings.generator, generator, settings.generator_thinking),
            asked(settings.verifier_model, verifier, settings.verifier_thinking),
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
