"""What may be asked in a minute, and what may be spent at all."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tablemend.backends.requests import Completion, Request
from tablemend.datasets.tablehallu.tokens import count_tokens
from tablemend.errors import TablemendError

WINDOW = 60.0
"""Seconds of a minute."""
MILLION = 1_000_000
TURN_TOKENS = 8
"""Tokens of a chat template around one turn, about."""


class BudgetSpent(TablemendError):
    """A cap is reached: nothing further was sent, and everything answered is kept."""


def estimate_prompt(request: Request) -> int:
    """About the number of tokens of a request's prompt."""
    return sum(count_tokens(turn["content"]) + TURN_TOKENS for turn in request.messages)


class AnswerLength:
    """Tokens that the next answer is expected to have: the mean of those before it."""

    def __init__(self) -> None:
        self._tokens = 0
        self._answers = 0

    def add(self, tokens: int) -> None:
        """Learn from an answer."""
        self._tokens += tokens
        self._answers += 1

    def expect(self, unknown: int) -> int:
        """The mean so far; ``unknown`` before the first answer."""
        return round(self._tokens / self._answers) if self._answers else unknown


@dataclass(slots=True)
class Charge:
    """One request's share of a minute."""

    time: float
    tokens: int


class RateLimit:
    """At most so many requests and tokens in any 60 seconds, first come, first served.

    A window that slides, not a bucket that fills: no minute, wherever it begins, holds more.
    Tokens are an estimate until the server has counted them; from then on the true number
    counts, for the minute in which the request was sent.
    """

    def __init__(
        self,
        requests: int | None,
        tokens: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most_requests = requests
        self._most_tokens = tokens
        self._clock = clock
        self._charges: deque[Charge] = deque()
        self._tokens = 0
        self._line = asyncio.Lock()  # serves in the order of coming
        self._changed: asyncio.Event | None = None

    @property
    def counts_tokens(self) -> bool:
        """Whether anybody needs an estimate of tokens."""
        return self._most_tokens is not None

    async def wait(self, tokens: int = 0) -> Charge:
        """Wait for one's turn and for room, and take it.

        A request that no minute has room for is sent when nothing else counts.

        Args:
            tokens: estimate of prompt and answer.
        """
        if self._most_requests is None and self._most_tokens is None:
            return Charge(0.0, 0)
        async with self._line:
            while (delay := self._delay(tokens)) > 0:
                await self._sleep(delay)
            charge = Charge(self._clock(), tokens)
            self._charges.append(charge)
            self._tokens += tokens
            return charge

    def renew(self) -> None:
        """Forget who stood in line in an event loop that has ended; the minute still counts."""
        self._line = asyncio.Lock()
        self._changed = None

    def correct(self, charge: Charge, tokens: int) -> None:
        """Put the true number of tokens in place of the estimate."""
        if self._charges and charge.time >= self._charges[0].time:
            self._tokens += tokens - charge.tokens
            charge.tokens = tokens
            if self._changed is not None:
                self._changed.set()

    def _delay(self, tokens: int) -> float:
        """Seconds until there is room; 0 where there is."""
        now = self._clock()
        while self._charges and self._charges[0].time + WINDOW <= now:
            self._tokens -= self._charges.popleft().tokens
        over_requests = over_tokens = 0
        if self._most_requests is not None:
            over_requests = len(self._charges) + 1 - self._most_requests
        if self._most_tokens is not None:
            over_tokens = min(self._tokens + tokens - self._most_tokens, self._tokens)
        leaves = now - WINDOW
        for charge in self._charges:
            if over_requests <= 0 and over_tokens <= 0:
                break
            over_requests -= 1
            over_tokens -= charge.tokens
            leaves = charge.time
        return max(0.0, leaves + WINDOW - now)

    async def _sleep(self, delay: float) -> None:
        """Sleep until there should be room, or until a correction may have made some."""
        self._changed = asyncio.Event()
        try:
            async with asyncio.timeout(delay):
                await self._changed.wait()
        except TimeoutError:
            pass
        finally:
            self._changed = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What one backend has used so far.

    Attributes:
        requests: requests that the engine answered.
        cached: requests that the cache answered; they cost nothing.
        failed: requests that failed for good.
        prompt_tokens: tokens of the engine's prompts, those of lost tries as estimated.
        completion_tokens: tokens of the engine's answers.
        cost: in the currency of the prices; ``None`` without prices.
    """

    requests: int = 0
    cached: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


class Budget:
    """Counts what is spent, and says when a cap is reached.

    A request is let through while what is spent, and what the requests in flight and this one
    are expected to spend, stays within the caps. They are surpassed at the most by as much as
    the answers in flight are longer than the mean of those before them.
    """

    def __init__(
        self,
        max_tokens: int | None,
        max_cost: float | None,
        price_in: float | None,
        price_out: float | None,
    ) -> None:
        self._max_tokens = max_tokens
        self._max_cost = max_cost
        self._priced = price_in is not None or price_out is not None
        self._price_in = price_in or 0.0
        self._price_out = price_out or 0.0
        self._length = AnswerLength()
        self._prompts_in_flight = 0
        self._in_flight = 0
        self._requests = self._cached = self._failed = 0
        self._prompt_tokens = self._completion_tokens = 0

    @property
    def spent(self) -> Spent:
        """What is spent so far."""
        cost = self._cost(self._prompt_tokens, self._completion_tokens) if self._priced else None
        return Spent(
            self._requests,
            self._cached,
            self._failed,
            self._prompt_tokens,
            self._completion_tokens,
            cost,
        )

    @property
    def capped(self) -> bool:
        """Whether there is any cap."""
        return self._max_tokens is not None or self._max_cost is not None

    def begin(self, request: Request) -> int:
        """Let a request through; returns the estimate of its prompt, for :meth:`end`.

        Raises:
            BudgetSpent: it would surpass a cap.
        """
        if not self.capped:
            return 0
        prompt = estimate_prompt(request)
        answers = (self._in_flight + 1) * self._length.expect(0)
        prompts = self._prompts_in_flight + prompt
        tokens = self._prompt_tokens + prompts + self._completion_tokens + answers
        cost = self._cost(self._prompt_tokens + prompts, self._completion_tokens + answers)
        if self._max_tokens is not None and tokens > self._max_tokens:
            spent = self._prompt_tokens + self._completion_tokens
            waited = self._prompts_in_flight + self._in_flight * self._length.expect(0)
            raise BudgetSpent(
                f"max_tokens_total={self._max_tokens} is used up: {spent} tokens are spent, about "
                f"{waited:.0f} are on their way, and the next request would surpass it; {_KEPT}"
            )
        if self._max_cost is not None and cost > self._max_cost:
            now = self._cost(self._prompt_tokens, self._completion_tokens)
            raise BudgetSpent(
                f"max_cost={self._max_cost:g} is used up: {now:.4g} is spent and the next request "
                f"would surpass it; {_KEPT}"
            )
        self._prompts_in_flight += prompt
        self._in_flight += 1
        return prompt

    def check(self) -> None:
        """Stop engines that were given many requests at once.

        Raises:
            BudgetSpent: a cap is reached.
        """
        tokens = self._prompt_tokens + self._completion_tokens
        if self._max_tokens is not None and tokens >= self._max_tokens:
            raise BudgetSpent(
                f"max_tokens_total={self._max_tokens} is used up: {tokens} are spent; {_KEPT}"
            )
        cost = self._cost(self._prompt_tokens, self._completion_tokens)
        if self._max_cost is not None and cost >= self._max_cost:
            raise BudgetSpent(f"max_cost={self._max_cost:g} is used up; {_KEPT}")

    def drop(self, prompt: int) -> None:
        """A request that was let through ended without an answer."""
        if self.capped:
            self._prompts_in_flight -= prompt
            self._in_flight -= 1

    def end(self, prompt: int, completion: Completion) -> None:
        """Count an answer of the engine, and the tries that were lost before it."""
        self.drop(prompt)
        if completion.finish_reason == "error":
            self._failed += 1
        else:
            self._requests += 1
            self._length.add(completion.completion_tokens)
        self._prompt_tokens += completion.prompt_tokens + completion.lost_tokens
        self._completion_tokens += completion.completion_tokens

    def count_cached(self) -> None:
        """Count an answer of the cache."""
        self._cached += 1

    def _cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens * self._price_in + completion_tokens * self._price_out) / MILLION


_KEPT = "what was answered is kept, and the same command goes on, the cap counted anew"
