"""What a backend has spent, and what it may spend at most."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tablemend.backends.requests import Completion, Request
from tablemend.config.section import BackendOptions
from tablemend.errors import Stopped
from tablemend.values.text import count_tokens

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
