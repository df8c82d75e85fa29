"""What the rest of tablemend generates with: an engine, the request cache and the caps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from tablemend.backends.cache import RequestCache
from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.engine import Engine
from tablemend.backends.limits import Budget, BudgetSpent, Spent
from tablemend.backends.names import EngineKind, ModelName
from tablemend.backends.requests import Completion, Request
from tablemend.backends.stream import stream
from tablemend.config.section import BackendOptions
from tablemend.errors import TablemendError

__all__ = ["Backend", "BudgetSpent", "Spent", "open_backend"]


class Backend:
    """Answers requests; what was answered once is not asked, nor paid for, again.

    Attributes:
        name: the model string; it never holds a key.
    """

    def __init__(self, name: str, engine: Engine, options: BackendOptions) -> None:
        self.name = name
        self._engine = engine
        self._budget = Budget(options)
        self._ahead = engine.ahead
        if options.max_tokens_total is not None or options.max_cost is not None:
            self._ahead = min(engine.ahead, options.concurrency)  # what is in flight is answered
        self._cache = None
        if options.cache is not None:
            self._cache = RequestCache(Path(options.cache).expanduser(), engine.identity)

    @property
    def identity(self) -> dict[str, Any]:
        """All that an answer depends on beside the request; see :class:`Engine`."""
        return self._engine.identity

    @property
    def spent(self) -> Spent:
        """What was used since the backend was opened."""
        return self._budget.spent

    def go_on(self, before: Spent) -> None:
        """Count what earlier commands spent towards the caps."""
        self._budget.before = before

    def too_long(self, requests: Sequence[Request]) -> dict[str, str]:
        """Why requests leave no room for an answer, by id, before anything is loaded or sent."""
        return self._engine.too_long(requests)

    def load(self) -> None:
        """Load the weights, or start what the first request needs."""
        self._engine.load()

    async def answer(self, request: Request) -> Completion:
        """Answer one; any number may be waited for at once, in one event loop.

        A request that fails for good is a completion with ``finish_reason="error"``.

        Raises:
            BudgetSpent: a cap is reached; requests in flight are answered all the same.
            TablemendError: the engine cannot go on.
        """
        return await self._answer(request, None)

    async def _answer(self, request: Request, lap: Callable[[], float] | None) -> Completion:
        key = b""
        if self._cache is not None:
            key = self._cache.key(request)
            found = self._cache.get(key, request.id)
            if found is not None:
                self._budget.count_cached()
                return found
        self._budget.begin()
        completion = None
        try:
            completion = await self._engine.answer(request)
        finally:
            self._budget.end(completion)
        if lap is not None:
            completion = replace(completion, seconds=lap())
        if self._cache is not None:
            self._cache.put(key, completion)
        return completion

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Answer all, in the order in which the answers end.

        Requests are taken as they are needed, so that a stream without an end keeps its memory;
        see :func:`tablemend.backends.stream.stream`.

        Raises:
            BudgetSpent: a cap is reached; every answer before it was handed out.
            TablemendError: the engine cannot go on; likewise.
        """
        last = time.monotonic()

        def lap() -> float:
            nonlocal last
            before, last = last, time.monotonic()
            return last - before

        async def answer(request: Request) -> Completion:
            return await self._answer(request, lap)

        yield from stream(answer, requests, self._ahead, self.leave)

    async def leave(self) -> None:
        """Let go of what belongs to the running event loop, which is about to end."""
        await self._engine.leave()

    def close(self) -> None:
        """Let go of the engine and the cache; a second call does nothing."""
        self._engine.close()
        if self._cache is not None:
            self._cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def open_backend(
    name: str | ModelName,
    options: BackendOptions,
    *,
    default: EngineKind | None = None,
    attn: str = "sdpa",
) -> Backend:
    """The backend that a model string names; weights are loaded with the first request.

    Args:
        name: such as ``hf:Qwen/Qwen3-8B`` (:meth:`ModelName.parse`).
        options: how the model is asked.
        default: engine of a string that names none; ``None`` refuses such a string.
        attn: attention kernel of transformers (``hf`` alone).

    Raises:
        TablemendError: a string that names no model, no such checkpoint, an engine that is not
            installed or that does not read an option which was set, no key.
    """
    model = ModelName.parse(name, default) if isinstance(name, str) else name
    engine = _open_engine(model, options, attn)
    try:
        return Backend(str(model), engine, options)
    except BaseException:  # a cache that cannot be used
        engine.close()
        raise


def _refuse_unread(model: ModelName, options: BackendOptions) -> None:
    """Refuse options for servers that were set for an engine in this process.

    Raises:
        TablemendError: naming one.
    """
    default = BackendOptions()
    for name in ("body", "thinking_switch", "limit_field"):
        if getattr(options, name) != getattr(default, name):
            raise TablemendError(
                f"{model}: {name} is for servers (openai:), the engine {model.engine} does not "
                "read it: leave it out"
            )


def _open_engine(model: ModelName, options: BackendOptions, attn: str) -> Engine:
    """Each engine is imported where it is used: none is needed for the others."""
    if model.engine == "openai":
        from tablemend.backends.openai_client import OpenAIEngine

        return OpenAIEngine(model, options)
    _refuse_unread(model, options)
    if model.engine == "scripted":
        from tablemend.backends.replay import ReplayEngine

        return ReplayEngine(Path(model.model))
    checkpoint = Checkpoint.parse(model.model, options.revision)
    checkpoint.check()
    if model.engine == "vllm":
        from tablemend.backends.vllm_engine import VllmEngine

        return VllmEngine(checkpoint, options)
    from tablemend.backends.hf_engine import HFEngine

    # flex attention would be compiled anew for every width of the cache
    return HFEngine(checkpoint, options, "sdpa" if attn == "flex_attention" else attn)
