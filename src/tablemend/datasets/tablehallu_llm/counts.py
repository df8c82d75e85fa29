"""What a data set cost and what came of it, added up from its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tablemend.config.backend import BackendOptions
from tablemend.datasets.tablehallu_llm.prompting import STAGES
from tablemend.datasets.tablehallu_llm.rows import Row, has_failed
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.records import Call, CallVerdict, Example

Role = Literal["generator", "verifier"]
ROLES: tuple[Role, ...] = get_args(Role)
VERDICTS: tuple[CallVerdict, ...] = get_args(CallVerdict)
ORDER = ("paraphrase", *(stage for stage in STAGES if stage != "paraphrase"))
MILLION = 1_000_000


def role_of(stage: str) -> Role:
    """Which model a stage asks."""
    return "verifier" if stage.startswith("verify") else "generator"


@dataclass(slots=True)
class Spent:
    """Calls and tokens of one stage."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(slots=True)
class Usage:
    """Calls and tokens by stage, in the order in which stages first came."""

    stages: dict[str, Spent] = field(default_factory=dict)

    def add(self, calls: Iterable[Call]) -> None:
        """Count calls."""
        for call in calls:
            self.note(call.stage, 1, call.prompt_tokens, call.completion_tokens)

    def note(self, stage: str, calls: int, prompt_tokens: int, completion_tokens: int) -> None:
        """Count calls of a stage and their tokens."""
        spent = self.stages.setdefault(stage, Spent())
        spent.calls += calls
        spent.prompt_tokens += prompt_tokens
        spent.completion_tokens += completion_tokens

    def total(self, role: Role | None = None) -> Spent:
        """All stages together, or those of one model."""
        chosen = [s for name, s in self.stages.items() if role is None or role_of(name) == role]
        return Spent(
            sum(spent.calls for spent in chosen),
            sum(spent.prompt_tokens for spent in chosen),
            sum(spent.completion_tokens for spent in chosen),
        )

    def cost(self, settings: LlmSynthesis) -> dict[Role, float] | None:
        """Cost by model in the currency of the prices; ``None`` where a price is not known."""
        options = {"generator": settings.generator_options, "verifier": settings.asked_of_verifier}
        found: dict[Role, float] = {}
        for role in ROLES:
            cost = cost_of(self.total(role), options[role])
            if cost is None:
                return None
            found[role] = cost
        return found


def cost_of(spent: Spent, options: BackendOptions) -> float | None:
    """Cost at the prices of a backend; ``None`` where one is not known."""
    if options.price_in is None or options.price_out is None:
        return None
    return (
        spent.prompt_tokens * options.price_in + spent.completion_tokens * options.price_out
    ) / MILLION


@dataclass
class Counts:
    """What came of the rows so far."""

    made: int = 0
    given_up: int = 0
    failed: int = 0
    near_duplicates: int = 0
    usage: Usage = field(default_factory=Usage)
    rejected: dict[str, Counter[str]] = field(default_factory=dict)
    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    finish_reasons: Counter[str] = field(default_factory=Counter)
    prompts: set[str] = field(default_factory=set)
    models: dict[str, set[str]] = field(default_factory=dict)
    splits: Counter[str] = field(default_factory=Counter)
    sizes: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> None:
        """Count what a row cost and what was rejected; its example is counted by :meth:`take`."""
        self.usage.add(row.calls)
        for rejection in row.rejections:
            self.reject(rejection.stage, rejection.kind)
        for call in row.calls:
            self.verdicts.setdefault(call.stage, Counter())[call.verdict] += 1
            self.finish_reasons[call.finish_reason] += 1
            self.prompts.add(call.prompt)
            self.models.setdefault(role_of(call.stage), set()).add(call.model)
        if row.example is None:
            self.given_up += 1
            self.failed += has_failed(row)

    def reject(self, stage: str, kind: str) -> None:
        """Count a rejection."""
        self.rejected.setdefault(stage, Counter())[kind] += 1

    def take(self, example: Example, split: str) -> None:
        """Count an example that stands in a file."""
        self.made += 1
        self.splits[split] += 1
        self.sizes.update(
            {
                "gold_characters": len(example.gold_context),
                "adversarial_characters": len(example.adversarial_context),
                "rows": len(example.gold_table.rows),
                "columns": len(example.gold_table.columns),
                "facts": len(example.facts),
                f"difficulty {example.difficulty}": 1,
                f"domain {example.domain}": 1,
            }
        )

    def to_json(self, settings: LlmSynthesis, splits: Iterable[str]) -> dict[str, Any]:
        """The counts as in ``counts.json``; the same rows give the same bytes."""
        cost = self.usage.cost(settings)
        return {
            "examples": {
                "asked": settings.n,
                "made": self.made,
                "given_up": self.given_up,
                "requests_failed": self.failed,
                "near_duplicates": self.near_duplicates,
            },
            "splits": {split: self.splits[split] for split in splits if self.splits[split]},
            "rejected": {stage: _ranked(self.rejected[stage]) for stage in _ordered(self.rejected)},
            "verdicts": {
                stage: {verdict: self.verdicts[stage][verdict] for verdict in VERDICTS}
                for stage in _ordered(self.verdicts)
            },
            "calls": {
                stage: {
                    "calls": self.usage.stages[stage].calls,
                    "prompt_tokens": self.usage.stages[stage].prompt_tokens,
                    "completion_tokens": self.usage.stages[stage].completion_tokens,
                }
                for stage in _ordered(self.usage.stages)
            },
            "finish_reasons": _ranked(self.finish_reasons),
            "models": {role: sorted(self.models[role]) for role in sorted(self.models)},
            "prompts": sorted(self.prompts),
            "cost": None if cost is None else {role: round(cost[role], 4) for role in ROLES},
            "sizes": dict(sorted(self.sizes.items())),
        }


def _ordered(stages: Iterable[str]) -> list[str]:
    """Stages in the order of the chain, whatever came first."""
    found = set(stages)
    return [stage for stage in ORDER if stage in found] + sorted(found - set(ORDER))


def _ranked(counter: Counter[str]) -> dict[str, int]:
    """The most frequent first; the order of equals does not depend on that of the rows."""
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
