"""What came of a data set, added up from its rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

from tablemend.datasets.tablehallu_llm.prompting import STAGES
from tablemend.datasets.tablehallu_llm.rows import Rejection, Row
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.usage import ROLES, Usage, role_of
from tablemend.records import CallVerdict, Example

T = TypeVar("T")

VERDICTS: tuple[CallVerdict, ...] = get_args(CallVerdict)


@dataclass
class Counts:
    """What came of the rows so far."""

    examples: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    rejected: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    verdicts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    finish_reasons: Counter[str] = field(default_factory=Counter)
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
            self.finish_reasons[call.finish_reason] += 1
            self.prompts.add(call.prompt)
            self.models[role_of(call.stage)].add(call.model)
        self.examples["given_up"] += row.example is None
        self.examples["requests_failed"] += row.failed

    def reject(self, rejection: Rejection) -> None:
        """Count a rejection."""
        self.rejected[rejection.stage][rejection.kind] += 1

    def take(self, example: Example, split: str) -> None:
        """Count an example that stands in a file."""
        self.examples["made"] += 1
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
        kinds = ("made", "given_up", "requests_failed", "near_duplicates")
        return {
            "examples": {"asked": settings.n} | {kind: self.examples[kind] for kind in kinds},
            "splits": {split: self.splits[split] for split in splits if self.splits[split]},
            "rejected": {stage: _ranked(own) for stage, own in _ordered(self.rejected)},
            "verdicts": {
                stage: {verdict: own[verdict] for verdict in VERDICTS}
                for stage, own in _ordered(self.verdicts)
            },
            "calls": {stage: own._asdict() for stage, own in _ordered(self.usage)},
            "finish_reasons": _ranked(self.finish_reasons),
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
