"""Calls, tokens and money by stage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

from tablemend.config.backend import BackendOptions
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.records import Call

Role = Literal["generator", "verifier"]
ROLES: tuple[Role, ...] = get_args(Role)
MILLION = 1_000_000


def role_of(stage: str) -> Role:
    """Which model a stage asks."""
    return "verifier" if stage.startswith("verify") else "generator"


class Spent(NamedTuple):
    """Calls and tokens."""

    calls: float = 0
    prompt_tokens: float = 0
    completion_tokens: float = 0

    def plus(self, other: Spent) -> Spent:
        """Both together."""
        return Spent(*(one + two for one, two in zip(self, other, strict=True)))

    def times(self, factor: float) -> Spent:
        """So many times as much."""
        return Spent(*(figure * factor for figure in self))

    def cost(self, options: BackendOptions) -> float | None:
        """Cost at the prices of a backend; ``None`` where one is not known."""
        if options.price_in is None or options.price_out is None:
            return None
        tokens = self.prompt_tokens * options.price_in + self.completion_tokens * options.price_out
        return tokens / MILLION


class Usage(dict[str, Spent]):
    """What was spent by stage, in the order in which stages first came."""

    def add(self, calls: Iterable[Call]) -> None:
        """Count calls."""
        for call in calls:
            one = Spent(1, call.prompt_tokens, call.completion_tokens)
            self[call.stage] = self.get(call.stage, Spent()).plus(one)

    def times(self, factor: float) -> Usage:
        """So many times as much, in whole calls and tokens."""
        return Usage({stage: Spent(*map(round, one.times(factor))) for stage, one in self.items()})

    def total(self, role: Role | None = None) -> Spent:
        """All stages together, or those of one model."""
        total = Spent()
        for stage, spent in self.items():
            if role is None or role_of(stage) == role:
                total = total.plus(spent)
        return total

    def cost(self, settings: LlmSynthesis) -> dict[Role, float] | None:
        """Cost by model in the currency of the prices; ``None`` where a price is not known."""
        options = {"generator": settings.generator_options, "verifier": settings.asked_of_verifier}
        found: dict[Role, float] = {}
        for role in ROLES:
            if (cost := self.total(role).cost(options[role])) is None:
                return None
            found[role] = cost
        return found
