"""Limits of the minute by a clock that is turned by hand, and the caps."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.backends.limits import (
    LOOK,
    WINDOW,
    Budget,
    BudgetSpent,
    RateLimit,
    Spent,
    estimate_prompt,
)
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.config.backend import BackendOptions


class _Instant(selectors.SelectSelector):
    """Waits for nothing: it turns the clock on instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


def on_fake_time(main: Callable[[Callable[[], float]], Coroutine[Any, Any, None]]) -> float:
    """Run with a clock that jumps to whatever is waited for; returns its end."""
    selector = _Instant()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]
    try:
        loop.run_until_complete(main(loop.time))
    finally:
        loop.close()
    return selector.now


def most_in_a_window(times: list[float], weights: list[int]) -> int:
    """The largest sum of weights within any 60 seconds, the end left out."""
    return max(
        sum(w for t, w in zip(times, weights, strict=True) if start <= t < start + WINDOW)
        for start in times
    )


async def gather(*waiting: Awaitable[Any]) -> None:
    await asyncio.gather(*waiting)


def test_no_minute_holds_more_requests_and_none_is_wasted() -> None:
    times: list[float] = []

    async def main(clock: Callable[[], float]) -> None:
        limit = RateLimit(10, None, clock)

        async def one() -> None:
            await limit.wait()
            times.append(clock())

        await gather(*(one() for _ in range(35)))

    on_fake_time(main)
    assert most_in_a_window(times, [1] * 35) == 10
    assert times == pytest.approx([60.0 * (number // 10) for number in range(35)])


def test_tokens_are_counted_as_estimated_until_the_server_has_counted_them() -> None:
    starts: list[float] = []

    async def main(clock: Callable[[], float]) -> None:
        limit = RateLimit(None, 100, clock)
        for _ in range(3):
            charge = await limit.wait(50)
            starts.append(clock())
            await asyncio.sleep(1)
            charge.tokens = 20

    on_fake_time(main)
    # each is 20 after all: three fit, where by the estimate only two would have
    assert starts == pytest.approx([0, 1, 2])


def test_a_correction_makes_room_for_whoever_waits() -> None:
    started: list[float] = []

    async def main(clock: Callable[[], float]) -> None:
        limit = RateLimit(None, 100, clock)
        first = await limit.wait(90)

        async def second() -> None:
            await limit.wait(60)
            started.append(clock())

        async def server() -> None:
            await asyncio.sleep(5)
            first.tokens = 30

        await gather(second(), server())

    on_fake_time(main)
    assert started == pytest.approx([5], abs=LOOK)


def test_first_come_first_served_even_where_a_small_one_would_fit() -> None:
    order: list[str] = []

    async def main(clock: Callable[[], float]) -> None:
        limit = RateLimit(None, 100, clock)

        async def one(name: str, tokens: int) -> None:
            await limit.wait(tokens)
            order.append(name)

        await gather(one("a", 80), one("large", 90), *(one(f"small{i}", 1) for i in range(3)))

    on_fake_time(main)
    assert order == ["a", "large", "small0", "small1", "small2"]


def test_a_request_larger_than_a_minute_goes_alone() -> None:
    times: list[float] = []

    async def main(clock: Callable[[], float]) -> None:
        limit = RateLimit(None, 100, clock)
        for tokens in (10, 500, 10):
            await limit.wait(tokens)
            times.append(clock())

    on_fake_time(main)
    assert times == pytest.approx([0, 60, 120])


def test_who_gives_up_waiting_takes_nothing_and_holds_nobody_up() -> None:
    times: list[float] = []

    async def main(clock: Callable[[], float]) -> None:
        limit = RateLimit(1, None, clock)
        await limit.wait()
        tasks = [asyncio.ensure_future(limit.wait()) for _ in range(3)]
        await asyncio.sleep(1)
        tasks[0].cancel()  # the one whose turn it is
        tasks[1].cancel()  # one in the line
        await tasks[2]
        times.append(clock())
        await limit.wait()
        times.append(clock())

    on_fake_time(main)
    assert times == pytest.approx([60, 120])


@settings(max_examples=60, deadline=None)
@given(
    requests=st.one_of(st.none(), st.integers(1, 6)),
    tokens=st.one_of(st.none(), st.integers(20, 80)),
    arrivals=st.lists(st.tuples(st.floats(0, 90), st.integers(0, 20)), min_size=1, max_size=25),
)
def test_whatever_comes_no_minute_holds_more(
    requests: int | None, tokens: int | None, arrivals: list[tuple[float, int]]
) -> None:
    times: list[float] = []
    weights: list[int] = []

    async def main(clock: Callable[[], float]) -> None:
        limit = RateLimit(requests, tokens, clock)
        now = 0.0
        waiting = []
        for pause, weight in arrivals:

            async def one(weight: int = weight) -> None:
                await limit.wait(weight)
                times.append(clock())
                weights.append(weight)

            await asyncio.sleep(pause / len(arrivals))
            now += pause
            waiting.append(asyncio.ensure_future(one()))
        await gather(*waiting)

    on_fake_time(main)
    assert weights == [weight for _, weight in arrivals]  # in the order of coming
    assert all(a <= b for a, b in pairwise(times))
    slack = [time + 1e-6 * place for place, time in enumerate(times)]  # rounding of the clock
    if requests is not None:
        assert most_in_a_window(slack, [1] * len(times)) <= requests
    if tokens is not None:
        assert most_in_a_window(slack, weights) <= tokens


def request(words: int = 10) -> Request:
    return Request("r", ({"role": "user", "content": "word " * words},), Sampling(100))


def capped(**options: Any) -> Budget:
    return Budget(BackendOptions(**options))


def completion(prompt: int, answer: int, finish: str = "stop") -> Completion:
    return Completion("r", "", prompt, answer, finish)  # type: ignore[arg-type]


def test_a_cap_on_tokens_is_never_surpassed_by_what_was_expected() -> None:
    budget = capped(max_tokens_total=1000)
    prompt = estimate_prompt(request())
    done = 0
    with pytest.raises(BudgetSpent, match=r"max_tokens_total=1000 is used up: \d+ tokens"):
        while True:
            ticket = budget.begin(request())
            budget.end(ticket, completion(prompt, 50))
            done += 1
    spent = budget.spent
    assert spent == Spent(done, 0, 0, done * prompt, done * 50)
    assert 1000 - (prompt + 50) < spent.prompt_tokens + spent.completion_tokens <= 1000


def test_what_is_in_flight_counts_as_long_as_the_answers_before_it() -> None:
    budget = capped(max_tokens_total=1000)
    budget.end(budget.begin(request()), completion(18, 80))
    in_flight = 0
    with pytest.raises(BudgetSpent):
        while True:
            budget.begin(request())
            in_flight += 1
    assert in_flight == (1000 - 98) // (80 + estimate_prompt(request()))


def test_a_cap_on_costs() -> None:
    budget = capped(max_cost=2.0, price_in=1.0, price_out=10.0)
    budget.end(budget.begin(request()), completion(500_000, 100_000))
    assert budget.spent.cost == pytest.approx(1.5)
    with pytest.raises(BudgetSpent, match=r"max_cost=2 is used up: 1\.5 is spent"):
        budget.begin(request())


def test_failures_and_cached_answers_cost_nothing() -> None:
    budget = capped(max_tokens_total=100, price_in=1.0, price_out=1.0)
    budget.end(budget.begin(request()), completion(0, 0, "error"))
    budget.count_cached()
    assert budget.spent == Spent(requests=0, cached=1, failed=1, cost=0.0)
