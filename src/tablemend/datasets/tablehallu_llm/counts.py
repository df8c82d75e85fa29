"""What came of a data set and what it took, added up from its rows as they are stored."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Literal, get_args

from tablemend.datasets.build import ranked
from tablemend.datasets.card import table_of
from tablemend.datasets.splits import SPLITS
from tablemend.datasets.tablehallu_llm.prompting import STAGES
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.records import CallVerdict

Role = Literal["generator", "verifier"]
VERDICTS: tuple[CallVerdict, ...] = get_args(CallVerdict)
MILLION = 1_000_000
USAGE = ("calls", "prompt_tokens", "completion_tokens")
ENOUGH = 3  # rows from which on their means are taken for an estimate


def role_of(stage: str) -> Role:
    """Which model a stage asks."""
    return "verifier" if stage.startswith("verify") else "generator"


class Counts:
    """What came of the rows so far; usage, rejections and verdicts by stage."""

    def __init__(self) -> None:
        self.rows = 0
        self.examples, self.splits, self.sizes = Counter[str](), Counter[str](), Counter[str]()
        self.usage: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.rejected: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.verdicts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.models: defaultdict[Role, set[str]] = defaultdict(set)
        self.prompts: set[str] = set()

    def add(self, row: Mapping[str, Any]) -> None:
        """Count what a stored row cost and what was rejected."""
        self.rows += 1
        for rejection in row["rejections"]:
            self.rejected[rejection["stage"]][rejection["kind"]] += 1
        for call in row["calls"]:
            stage = call["stage"]
            self.usage[stage].update({"calls": 1, **{name: call[name] for name in USAGE[1:]}})
            self.verdicts[stage][call["verdict"]] += 1
            self.prompts.add(call["prompt"])
            self.models[role_of(stage)].add(call["model"])
        self.examples["given_up"] += not row["examples"]
        self.examples["requests_failed"] += has_failed(row)

    def to_json(self, settings: LlmSynthesis) -> dict[str, Any]:
        """The counts as in ``counts.json``; the same rows give the same bytes."""
        cost = cost_of(self.usage, settings)
        kinds = ("made", "given_up", "requests_failed", "repeated")
        # in the order of the chain, whatever came first; joining and drawing are no stages of it
        stages = [stage for stage in STAGES if stage in self.usage]
        rejected = [stage for stage in ("join", "draw", *STAGES) if stage in self.rejected]
        return {
            "examples": {"asked": settings.n} | {kind: self.examples[kind] for kind in kinds},
            "splits": {split: self.splits[split] for split in SPLITS if self.splits[split]},
            "rejected": {stage: ranked(self.rejected[stage]) for stage in rejected},
            "verdicts": {stage: {v: self.verdicts[stage][v] for v in VERDICTS} for stage in stages},
            "calls": {stage: dict(self.usage[stage]) for stage in stages},
            "models": {role: sorted(names) for role, names in sorted(self.models.items())},
            "prompts": sorted(self.prompts),
            "cost": cost and {role: round(amount, 4) for role, amount in cost.items()},
            "sizes": dict(sorted(self.sizes.items())),
        }


def has_failed(row: Mapping[str, Any]) -> bool:
    """Given up because a request failed for good: nothing speaks against the row."""
    calls = row["calls"]
    return not row["examples"] and bool(calls) and calls[-1]["finish_reason"] == "error"


def cost_of(usage: Mapping[str, Counter[str]], settings: LlmSynthesis) -> dict[str, float] | None:
    """Cost by model in the currency of the prices; ``None`` where a price is not known."""
    found = {}
    asked = {"generator": settings.generator_options, "verifier": settings.asked_of_verifier}
    for role, options in asked.items():
        if options.price_in is None or options.price_out is None:
            return None
        own = sum((spent for stage, spent in usage.items() if role_of(stage) == role), Counter())
        tokens_in, tokens_out = own["prompt_tokens"], own["completion_tokens"]
        found[role] = (tokens_in * options.price_in + tokens_out * options.price_out) / MILLION
    return found


def estimate(settings: LlmSynthesis, rows: int, made: Counts) -> str:
    """What ``rows`` more rows take in tokens and money by those that are there, for a person."""
    if made.rows < ENOUGH:
        return f"no estimate for {rows:,} rows yet: it is made from {ENOUGH} rows or more (n=5)"
    usage = {
        stage: Counter({name: round(n * rows / made.rows) for name, n in spent.items()})
        for stage, spent in made.usage.items()
    }
    table = say_usage({**usage, "all": sum(usage.values(), Counter())})
    cost = cost_of(usage, settings)
    price = "not known without generator_options.price_in and price_out (and the verifier's)"
    return (
        f"estimate for {rows:,} rows from the means of {made.rows:,}:\n"
        + table_of("stage | calls | tokens in | tokens out", table)
        + f"\ncost: {price if cost is None else say_cost(cost)}"
    )


def say_usage(usage: Mapping[str, Mapping[str, int]]) -> dict[str, tuple[str, ...]]:
    """Calls, tokens in and tokens out by stage, for a table."""
    return {stage: tuple(f"{spent[name]:,}" for name in USAGE) for stage, spent in usage.items()}


def say_cost(cost: Mapping[str, float]) -> str:
    """The sum, and what each model costs."""
    roles = ", ".join(f"{role} {amount:,.2f}" for role, amount in cost.items())
    return f"{sum(cost.values()):,.2f} ({roles})"
