"""The pace of requests and tokens, and the caps."""

from __future__ import annotations

from typing import Any

import pytest

from tablemend.backends.engine import Budget, BudgetSpent, Spent
from tablemend.backends.requests import Completion
from tablemend.config.section import BackendOptions


def capped(**options: Any) -> Budget:
    return Budget(BackendOptions(**options))


def completion(prompt: int, answer: int, finish: str = "stop") -> Completion:
    return Completion("r", "", prompt, answer, finish)  # type: ignore[arg-type]


def test_what_is_in_flight_is_expected_to_be_as_long_as_what_came_before() -> None:
    budget = capped(max_tokens_total=1000)
    budget.begin()
    budget.end(completion(20, 80))
    in_flight = 0
    with pytest.raises(BudgetSpent, match="max_tokens_total=1000 is used up: 100 tokens"):
        while True:
            budget.begin()
            in_flight += 1
    assert in_flight == 9
    for _ in range(in_flight):
        budget.end(completion(20, 80))
    assert budget.spent == Spent(10, 0, 0, 200, 800)


def test_failures_and_cached_answers_cost_nothing() -> None:
    budget = capped(max_tokens_total=100, price_in=1.0, price_out=1.0)
    budget.begin()
    budget.end(completion(0, 0, "error"))
    budget.begin()
    budget.end(None)
    budget.count_cached()
    assert budget.spent == Spent(requests=0, cached=1, failed=1, cost=0.0)


def test_what_earlier_commands_spent_counts_towards_the_caps() -> None:
    budget = capped(max_cost=0.001, price_in=1.0, price_out=4.0)
    budget.before = Spent(requests=3, prompt_tokens=300, completion_tokens=150, cost=0.0009)
    with pytest.raises(BudgetSpent, match=r"0\.0009 is spent.*higher cap goes on"):
        budget.begin()
    assert budget.spent == Spent(cost=0.0)
    assert Spent(1, 2, 3, 4, 5) + Spent(1, 0, 0, 1, 1, 0.5) == Spent(2, 2, 3, 5, 6, 0.5)
