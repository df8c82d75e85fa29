"""What may be asked in a minute, and what may be spent at all."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from tablemend.backends.requests import Completion, Request
from tablemend.config.backend import BackendOptions
from tablemend.errors import Stopped
from tablemend.values.qwen_tokens import count_tokens

WINDOW = 60.0
"""Seconds of a minute."""
LOOK = 0.2
"""Longest time, in seconds, between two looks at whether a minute has room."""
MILLION = 1_000_000
TURN_TOKENS = 8
"""Tokens of a chat template around one turn, about."""


class BudgetSpent(Stopped):
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
    Tokens are an estimate until the server has counted them; whoever knows the true number puts
    it into the :class:`Charge`.

    Args:
        requests: most requests; ``None``: no limit.
        tokens: most tokens of prompts and answers; ``None``: no limit.
        clock: what tells the time, in seconds.
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
        self._line = asyncio.Lock()  # serves in the order of coming

    async def wait(self, tokens: int = 0) -> Charge:
        """Wait for one's turn and for room, and take it.

        A request that no minute has room for is sent when nothing else counts.

        Args:
            tokens: estimate of prompt and answer.
        """
        charge = Charge(0.0, tokens)
        if self._most_requests is not None or self._most_tokens is not None:
            async with self._line:
                while (delay := self._delay(tokens)) > 0:
                    await asyncio.sleep(min(delay, LOOK))  # a true number may make room before
                charge.time = self._clock()
                self._charges.append(charge)
        return charge

    def renew(self) -> None:
        """Forget who stood in line in an event loop that has ended; the minute still counts."""
        self._line = asyncio.Lock()

    def _delay(self, tokens: int) -> float:
        """Seconds until the oldest request counts no more; 0 where there is room already."""
        now = self._clock()
        while self._charges and self._charges[0].time + WINDOW <= now:
            self._charges.popleft()
        full = self._most_requests is not None and len(self._charges) >= self._most_requests
        if self._most_tokens is not None and self._charges:
            counted = sum(charge.tokens for charge in self._charges)
            full = full or counted + tokens > self._most_tokens
        return self._charges[0].time + WINDOW - now if full else 0.0


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

    def __init__(self, options: BackendOptions) -> None:
        self._max_tokens = options.max_tokens_total
        self._max_cost = options.max_cost
        self._price_in = options.price_in or 0.0
        self._price_out = options.price_out or 0.0
        priced = options.price_in is not None or options.price_out is not None
        self.spent = Spent(cost=0.0 if priced else None)
        self._length = AnswerLength()
        self._prompts_in_flight = 0
        self._in_flight = 0

    def begin(self, request: Request) -> int:
        """Let a request through; returns the estimate of its prompt, for :meth:`end`.

        Raises:
            BudgetSpent: it would surpass a cap.
        """
        if self._max_tokens is None and self._max_cost is None:
            return 0
        spent, prompt = self.spent, estimate_prompt(request)
        prompts = spent.prompt_tokens + self._prompts_in_flight + prompt
        answers = spent.completion_tokens + (self._in_flight + 1) * self._length.expect(0)
        if self._max_tokens is not None and prompts + answers > self._max_tokens:
            raise BudgetSpent(
                f"max_tokens_total={self._max_tokens} is used up: "
                f"{spent.prompt_tokens + spent.completion_tokens} tokens are spent, and the next "
                f"request would surpass it; {_KEPT}"
            )
        if self._max_cost is not None and self._cost(prompts, answers) > self._max_cost:
            raise BudgetSpent(
                f"max_cost={self._max_cost:g} is used up: {spent.cost:.4g} is spent, and the next "
                f"request would surpass it; {_KEPT}"
            )
        self._prompts_in_flight += prompt
        self._in_flight += 1
        return prompt

    def drop(self, prompt: int) -> None:
        """A request that was let through ended without an answer."""
        self._prompts_in_flight -= prompt
        self._in_flight -= 1

    def end(self, prompt: int, completion: Completion) -> None:
        """Count an answer of the engine, and the tries that were lost before it."""
        self.drop(prompt)
        failed = completion.finish_reason == "error"
        if not failed:
            self._length.add(completion.completion_tokens)
        before = self.spent
        prompts = before.prompt_tokens + completion.prompt_tokens + completion.lost_tokens
        answers = before.completion_tokens + completion.completion_tokens
        self.spent = replace(
            before,
            requests=before.requests + (not failed),
            failed=before.failed + failed,
            prompt_tokens=prompts,
            completion_tokens=answers,
            cost=None if before.cost is None else self._cost(prompts, answers),
        )

    def count_cached(self) -> None:
        """Count an answer of the cache."""
        self.spent = replace(self.spent, cached=self.spent.cached + 1)

    def _cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens * self._price_in + completion_tokens * self._price_out) / MILLION


_KEPT = "what was answered is kept, and the same command goes on, the cap counted anew"
