"""Engine, cache and caps together: streams, interruptions, kills, budgets."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tablemend.backends.backend import Backend, Spent, open_backend
from tablemend.backends.engine import BatchEngine
from tablemend.backends.openai_client import AHEAD
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.config.section import BackendOptions
from tablemend.errors import TablemendError
from tests.support.chat_server import ChatServer, Reply, Seen, answer


def options(**more: Any) -> BackendOptions:
    return BackendOptions(
        **{"cache": None, "backoff": 0.01, "retries": 3, "timeout": 10, "concurrency": 8, **more}
    )


def request(number: int, **more: Any) -> Request:
    return Request(
        f"r{number}", ({"role": "user", "content": f"prompt {number}"},), Sampling(50, 0.6), **more
    )


def requests(n: int) -> list[Request]:
    return [request(number) for number in range(n)]


def echo(seen: Seen) -> Reply:
    return answer(seen.prompt)


def opened(server: ChatServer, **more: Any) -> Backend:
    return open_backend(f"openai:m@{server.url}", options(**more))


class Batches(BatchEngine):
    """Answers in batches, each answer in its turn, and notes what it was given."""

    ahead = 100

    def __init__(self, tokens: int = 10, turn: threading.Semaphore | None = None) -> None:
        super().__init__()
        self.batches: list[int] = []
        self.closed = self.made = self.dropped = 0
        self.tokens = tokens
        self.turn = turn or threading.Semaphore(10**9)

    @property
    def identity(self) -> dict[str, Any]:
        return {"engine": "batches"}

    def generate(self, requests: Sequence[Request]) -> Generator[Completion]:
        self.batches.append(len(requests))
        try:
            yield from self._answers(requests)
        except GeneratorExit:
            self.dropped += 1
            raise

    def _answers(self, requests: Sequence[Request]) -> Iterator[Completion]:
        for one in reversed(requests):
            if "bad" in one.id:
                raise TablemendError("out of memory")
            self.turn.acquire()
            self.made += 1
            yield Completion(one.id, str(one.messages[0]["content"]), 5, self.tokens, "stop")

    def close(self) -> None:
        self.closed += 1


def test_what_is_cancelled_is_not_computed_by_an_engine_of_batches() -> None:
    async def main() -> tuple[Batches, list[Any]]:
        engine = Batches(turn=threading.Semaphore(0))
        running = [asyncio.create_task(engine.answer(request(n))) for n in range(6)]
        while not engine.batches:
            await asyncio.sleep(0.001)
        waiting = [asyncio.create_task(engine.answer(request(n))) for n in range(6, 12)]
        await asyncio.sleep(0)
        engine.turn.release()
        while not running[5].done():
            await asyncio.sleep(0.001)
        for task in [*running, *waiting[1:]]:
            task.cancel()
        await asyncio.sleep(0)
        engine.turn.release(2)  # the answer that is being made, and the one that is still wanted
        ended = await asyncio.gather(*running, *waiting, return_exceptions=True)
        await engine.leave()
        return engine, ended

    engine, ended = asyncio.run(main())
    assert (engine.batches, engine.made, engine.dropped) == ([6, 1], 3, 1)
    answered = [one.id for one in ended if isinstance(one, Completion)]
    assert answered == ["r5", "r6"]
    assert sum(isinstance(one, asyncio.CancelledError) for one in ended) == 10


@pytest.mark.parametrize("engine", ["hf", "vllm"])
@pytest.mark.parametrize(
    "more",
    [
        {"body": {"top_p": 0.9}},
        {"thinking_switch": "none"},
        {"limit_field": "max_completion_tokens"},
    ],
)
def test_options_that_an_engine_does_not_read_are_refused(
    engine: str, more: dict[str, Any]
) -> None:
    with pytest.raises(TablemendError, match=f"^{engine}:nowhere: {min(more)} is for servers"):
        open_backend(f"{engine}:nowhere", options(**more))


def test_arguments_of_vllm_that_another_key_decides_are_refused() -> None:
    with pytest.raises(ValueError, match=r"dtype.*is set by options\.dtype"):
        options(vllm={"engine": {"dtype": "float32", "block_size": 16}})


# the cache


def test_what_was_answered_once_is_not_asked_again(tmp_path: Path) -> None:
    path = str(tmp_path / "c.sqlite")
    with ChatServer(echo) as server:
        with opened(server, cache=path) as backend:
            first = {one.id: one for one in backend.generate(requests(40))}
            assert backend.spent == Spent(40, 0, 0, 200, 80)
        with opened(server, cache=path) as backend:
            again = {one.id: one for one in backend.generate(requests(60))}
            assert backend.spent == Spent(20, 40, 0, 100, 40)
            assert asyncio.run(backend.answer(request(3))) == first["r3"]
        assert Counter(seen.prompt for seen in server.seen) == Counter(
            f"prompt {n}" for n in range(60)
        )
    assert len(again) == 60 and all(again[id] == one for id, one in first.items())
    assert sum(one.seconds for one in first.values()) < 300


# streams


def test_an_endless_iterator_is_taken_as_needed() -> None:
    taken = itertools.count()
    with ChatServer(echo) as server, opened(server) as backend:
        answers = backend.generate(request(next(taken)) for _ in itertools.count())
        got = [next(answers) for _ in range(100)]
        answers.close()
    assert len({one.id for one in got}) == 100
    assert next(taken) <= 100 + AHEAD * 8


def test_a_generator_that_is_closed_cancels_what_is_in_flight() -> None:
    before = threading.active_count()
    with (
        ChatServer(
            lambda seen: replace(echo(seen), seconds=0 if seen.number == 0 else 60)
        ) as server,
        opened(server) as backend,
    ):
        answers = backend.generate(requests(50))
        next(answers)
        began = time.monotonic()
        answers.close()
        assert time.monotonic() - began < 50  # the replies would take 60
    assert threading.active_count() == before
