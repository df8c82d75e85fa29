"""Engines: what each gives, how one answers in batches, what it may spend, answers of a file."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tablemend.backends.requests import Completion, Request
from tablemend.config.section import BackendOptions
from tablemend.errors import Stopped, TablemendError, install
from tablemend.foreign import read_whole
from tablemend.records import FinishReason
from tablemend.values.text import count_tokens

SETTLE = 0.02
"""Seconds without a further request after which a batch begins."""


class Engine:
    """Something that answers requests; cache and caps are around it, not in it.

    A request that fails for good is a completion with ``finish_reason="error"``; an exception
    means that the engine as a whole cannot go on.

    Attributes:
        ahead: requests of a stream that are best put to it before their answers are handed out.
    """

    ahead = 1

    @property
    def identity(self) -> dict[str, Any]:
        """All that an answer depends on beside the request; JSON-serialisable, without keys."""
        raise NotImplementedError

    async def answer(self, request: Request) -> Completion:
        """Answer one; any number may be waited for at once."""
        raise NotImplementedError

    async def leave(self) -> None:
        """Let go of what belongs to the running event loop, which is about to end."""

    def too_long(self, requests: Sequence[Request]) -> dict[str, str]:
        """Why requests leave no room for an answer, by id; a server's window is not known."""
        return {}

    def load(self) -> None:
        """Load the weights or start what the first request needs.

        The first request does it otherwise, and its seconds then hold the loading.
        """

    def close(self) -> None:
        """Let go of memory, connections and processes; a second call does nothing."""


class BatchEngine(Engine):
    """An engine that answers many requests at once, in a thread.

    :meth:`answer` collects what is asked at the same time and generates it together: while a
    batch runs, the next one fills.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Request, asyncio.Future[Completion]]] = []
        self._running: asyncio.Task[None] | None = None

    def generate(self, requests: Sequence[Request]) -> Generator[Completion]:
        """Answer all, in the order in which the answers end; closing it drops the rest."""
        raise NotImplementedError

    async def answer(self, request: Request) -> Completion:
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await future

    async def leave(self) -> None:
        if self._running is not None:
            await self._running

    async def _run(self) -> None:
        try:
            while self._waiting:
                count = 0
                while count < len(self._waiting):
                    count = len(self._waiting)
                    await asyncio.sleep(SETTLE)
                batch, self._waiting = self._waiting, []
                await asyncio.to_thread(self._generate_into, batch, asyncio.get_running_loop())
        finally:
            self._running = None

    def _generate_into(
        self,
        batch: Sequence[tuple[Request, asyncio.Future[Completion]]],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Generate a batch, in a thread, and hand every answer out as it ends.

        What nobody waits for any more is not begun; where nobody waits at all, the batch ends
        with the next answer.
        """
        wanted = [(request, future) for request, future in batch if not future.done()]
        futures = {request.id: future for request, future in wanted}
        assert len(futures) == len(wanted), "two requests of one id at the same time"
        if not futures:
            return
        try:
            with closing(self.generate([request for request, _ in wanted])) as answers:
                for completion in answers:
                    # the future itself belongs to the loop: it is set, or found cancelled, there
                    loop.call_soon_threadsafe(_settle, futures.pop(completion.id), completion)
                    if futures and all(future.done() for future in futures.values()):
                        return
        except Exception as error:  # whoever waits gets it
            for future in futures.values():
                loop.call_soon_threadsafe(_settle, future, error)


def _settle(future: asyncio.Future[Completion], found: Completion | Exception) -> None:
    if future.done():
        return
    if isinstance(found, Completion):
        future.set_result(found)
    else:
        future.set_exception(found)


def require_vllm() -> None:
    """Refuse, before anything is read or loaded, to go on without vLLM.

    Raises:
        TablemendError: it is not installed.
    """
    if find_spec("vllm") is None:
        raise TablemendError(
            f"vllm is not installed in this environment: {install('train', 'vllm')} "
            "on a machine with GPUs; on a CPU, make vllm-env and run with "
            ".venv-vllm/bin/python; or answer with transformers (backend=hf, or hf: before the "
            "model's name)"
        )


MILLION = 1_000_000
TURN_TOKENS = 8
"""Tokens of a chat template around one turn, about."""


class BudgetSpent(Stopped):
    """A cap is reached: nothing further was sent, and everything answered is kept."""


def estimate_prompt(request: Request) -> int:
    """About the number of tokens of a request's prompt."""
    return sum(count_tokens(turn["content"]) + TURN_TOKENS for turn in request.messages)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one backend has used so far.

    Attributes:
        requests: requests that the engine answered.
        cached: requests that the cache answered; they cost nothing.
        failed: requests that failed for good.
        prompt_tokens: tokens of the engine's prompts.
        completion_tokens: tokens of the engine's answers.
        cost: in the currency of the prices; ``None`` without prices.
    """

    def __add__(self, other: Spent) -> Spent:
        """Both together."""
        costs = [one.cost for one in (self, other) if one.cost is not None]
        counts = {
            name: getattr(self, name) + getattr(other, name)
            for name in Spent.__slots__
            if name != "cost"
        }
        return Spent(**counts, cost=sum(costs) if costs else None)

    requests: int = 0
    cached: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


class Budget:
    """Counts what is spent, and says when a cap is reached.

    A request is let through while what is spent, and what the requests in flight and this one
    are expected to spend, stays within the caps. Each is expected to spend the mean of those
    answered so far, and nothing before the first answer.

    Attributes:
        spent: since the backend was opened.
        before: by earlier commands that this one goes on with.
    """

    def __init__(self, options: BackendOptions) -> None:
        self._max_tokens = options.max_tokens_total
        self._max_cost = options.max_cost
        self._price_in = options.price_in or 0.0
        self._price_out = options.price_out or 0.0
        priced = options.price_in is not None or options.price_out is not None
        self.spent = Spent(cost=0.0 if priced else None)
        self.before = Spent()
        self._in_flight = 0

    def begin(self) -> None:
        """Let a request through.

        Raises:
            BudgetSpent: it would surpass a cap.
        """
        spent = self.before + self.spent
        growth = 1 + (self._in_flight + 1) / spent.requests if spent.requests else 1
        tokens = spent.prompt_tokens + spent.completion_tokens
        if self._max_tokens is not None and tokens * growth > self._max_tokens:
            raise BudgetSpent(
                f"max_tokens_total={self._max_tokens} is used up: {tokens} tokens are spent, and "
                f"the next request would surpass it; {_KEPT}"
            )
        cost = spent.cost or 0.0
        if self._max_cost is not None and cost * growth > self._max_cost:
            raise BudgetSpent(
                f"max_cost={self._max_cost:g} is used up: {cost:.4g} is spent, and the next "
                f"request would surpass it; {_KEPT}"
            )
        self._in_flight += 1

    def end(self, completion: Completion | None) -> None:
        """A request that was let through ended, with an answer to be counted or without one."""
        self._in_flight -= 1
        if completion is None:
            return
        before, failed = self.spent, completion.finish_reason == "error"
        prompts = before.prompt_tokens + completion.prompt_tokens
        answers = before.completion_tokens + completion.completion_tokens
        cost = (prompts * self._price_in + answers * self._price_out) / MILLION
        self.spent = replace(
            before,
            requests=before.requests + (not failed),
            failed=before.failed + failed,
            prompt_tokens=prompts,
            completion_tokens=answers,
            cost=None if before.cost is None else cost,
        )

    def count_cached(self) -> None:
        """Count an answer of the cache."""
        self.spent = replace(self.spent, cached=self.spent.cached + 1)


_KEPT = "what was answered is kept, and the same command with a higher cap goes on"


class Line(BaseModel):
    """One line of the file: the answer to every request whose messages hold ``contains``."""

    model_config = ConfigDict(extra="forbid")

    text: str
    contains: str = ""
    finish_reason: FinishReason = "stop"


class ReplayEngine(Engine):
    """Answers every request with the first line that fits it; token counts are estimates.

    Args:
        path: a file of JSON lines, see :class:`Line`.

    Raises:
        TablemendError: the file cannot be read, a line is not such an object, or there is none.
    """

    def __init__(self, path: Path) -> None:
        try:
            content = read_whole(path.expanduser(), 2**30)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise TablemendError(f"scripted:{path}: {why}: name a file") from error
        lines = enumerate(content.splitlines(), 1)
        self._path = path
        self._lines = []
        for number, line in lines:
            try:
                self._lines += [Line.model_validate_json(line)] if line.strip() else []
            except ValidationError as error:
                first = error.errors()[0]
                key = ".".join(map(str, first["loc"]))
                raise TablemendError(
                    f"{path}:{number}: {key or 'line'}: {first['msg']}; write "
                    '{"text": ANSWER, "contains": TEXT OF THE PROMPT, "finish_reason": "stop"}'
                ) from error
        if not self._lines:
            raise TablemendError(f"scripted:{path}: the file is empty")
        self._hash = sha256(content).hexdigest()

    @property
    def identity(self) -> dict[str, Any]:
        return {"engine": "scripted", "file": self._hash}

    async def answer(self, request: Request) -> Completion:
        messages = "\n".join(turn["content"] for turn in request.messages)
        found = next((line for line in self._lines if line.contains in messages), None)
        if found is None or found.finish_reason == "error":
            why = found.text if found else f"no line of {self._path} answers this request"
            return Completion.failed(request.id, why)
        prompt, answer = estimate_prompt(request), count_tokens(found.text)
        reason = found.finish_reason
        return Completion(request.id, found.text, prompt, answer, reason, estimated=True)
