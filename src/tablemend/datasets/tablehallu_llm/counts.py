"""What came of a data set and what it took, added up from its rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from tablemend.config.backend import BackendOptions
from tablemend.datasets.splits import SPLITS
from tablemend.datasets.tablehallu.card import sizes_of
from tablemend.datasets.tablehallu_llm.prompting import STAGES
from tablemend.datasets.tablehallu_llm.rows import Rejection, Row
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.records import Call, CallVerdict, Example

T = TypeVar("T")
Role = Literal["generator", "verifier"]
ROLES: tuple[Role, ...] = get_args(Role)
VERDICTS: tuple[CallVerdict, ...] = get_args(CallVerdict)
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


@dataclass
class Counts:
    """What came of the rows so far."""

    examples: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    rejected: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    verdicts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    prompts: set[str] = field(default_factory=set)
    models: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    splits: Counter[str] = field(default_factory=Counter)
    sizes: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> None:
        """Count what a row cost and what was rejected; its example is counted by :meth:`take`."""
        self.usage.add(row.calls)
        for rejection in row.rejections:
            self.reject(rejection)
        for call in row.calls:
            self.verdicts[call.stage][call.verdict] += 1
            self.prompts.add(call.prompt)
            self.models[role_of(call.stage)].add(call.model)
        self.examples["given_up"] += row.example is None
        self.examples["requests_failed"] += row.failed

    def reject(self, rejection: Rejection) -> None:
        """Count a rejection."""
        self.rejected[rejection.stage][rejection.kind] += 1

    def take(self, example: Example, split: str) -> None:
        """Count an example of the data set."""
        self.examples["made"] += 1
        self.splits[split] += 1
        self.sizes.update(sizes_of(example))

    def to_json(self, settings: LlmSynthesis) -> dict[str, Any]:
        """The counts as in ``counts.json``; the same rows give the same bytes."""
        cost = self.usage.cost(settings)
        kinds = ("made", "given_up", "requests_failed", "near_duplicates")
        return {
            "examples": {"asked": settings.n} | {kind: self.examples[kind] for kind in kinds},
            "splits": {split: self.splits[split] for split in SPLITS if self.splits[split]},
            "rejected": {stage: _ranked(own) for stage, own in _ordered(self.rejected)},
            "verdicts": {
                stage: {verdict: own[verdict] for verdict in VERDICTS}
                for stage, own in _ordered(self.verdicts)
            },
            "calls": {stage: own._asdict() for stage, own in _ordered(self.usage)},
            "models": {role: sorted(self.models[role]) for role in sorted(self.models)},
            "prompts": sorted(self.prompts),
            "cost": None if cost is None else {role: round(cost[role], 4) for role in ROLES},
            "sizes": dict(sorted(self.sizes.items())),
        }


def _ordered(by_stage: Mapping[str, T]) -> list[tuple[str, T]]:
    """Stages in the order of the chain, whatever came first."""
    order = {stage: place for place, stage in enumerate(STAGES)}
    return sorted(by_stage.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))


def _ranked(counter: Counter[str]) -> dict[str, int]:
    """The most frequent first; the order of equals does not depend on that of the rows."""
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
