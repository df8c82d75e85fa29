"""Ways of training at one budget of tokens: what is trained, on how much, and what answers.

A budget counts the tokens of the sequences that a model is trained on, prompt and answer, without
padding: forward and backward pass alike. DPO's two answers of a pair count with a prompt each, and
GRPO's groups with a prompt an answer. DPO and GRPO start from a fine-tuning that has already
spent a share of the budget. What was drawn from a model while training (the answers of pairs and
groups) is no training token; it has its own column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from tablemend.config import Section
from tablemend.runs import Run

TRAINED = ("sft", "rationales", "start", "dpo", "grpo")
"""The checkpoints of a seed; `start` is what `dpo` and `grpo` go on from."""
PROMPTED = ("base", "careful", "follow", "cot")
"""Systems of the base, by the name of their prompt; they are the same for every seed."""


class EqualBudget(Section):
    """The study."""

    tokens: int = Field(default=1_500_000, ge=1)
    """Training tokens of every stack."""
    spent: float = Field(default=0.5, gt=0, lt=1)
    """Share of them that the start of DPO and GRPO has spent on fine-tuning."""
    seeds: tuple[int, ...] = Field(default=(0, 1, 2), min_length=1)
    """One set of trainings and one comparison a seed: its own training examples and order, the
    same held-out ones."""
    n: int = Field(default=250, ge=1)
    """Held-out examples."""
    size: Literal["default", "large"] = "large"
    """Size of the small world's examples."""
    pairs: int = Field(default=1200, ge=1)
    """Prompts that preference pairs are made for."""
    cave: tuple[str, ...] = (*PROMPTED, *TRAINED)
    """Systems that CAVE mends too; their own model rewrites, several calls an answer."""
    folder: str = "runs/equal-budget"
    """Where the runs go, a folder a seed."""
    page: str | None = None
    """Markdown file whose marked places the figures are put into."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A system that there is not."""
        for name in self.cave:
            if name not in (*PROMPTED, *TRAINED):
                yield "cave", f"{name} is no system: {', '.join((*PROMPTED, *TRAINED))}"


@dataclass(frozen=True, slots=True)
class Training:
    """One training of a seed.

    Attributes:
        name: of :data:`TRAINED`.
        script: the command.
        overrides: what it takes but for its budget.
        tokens: its budget.
    """

    name: str
    script: str
    overrides: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Seed:
    """The trainings and the comparison of one seed.

    Attributes:
        study: the settings.
        seed: of the training examples and of their order.
    """

    study: EqualBudget
    seed: int
    path: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.study.folder) / str(self.seed))

    def run(self, name: str) -> Run:
        """The run folder of a checkpoint or of the comparison."""
        return Run(self.path / name)

    def source(self, n: int, stream: int) -> str:
        """Examples of the small world, as an override."""
        return f"{{source: small-world, size: {self.study.size}, n: {n}, seed: {stream}}}"

    def fine_tuning(self, name: str) -> Training:
        """Of sft, rationales, or start."""
        study = self.study
        tokens = round(study.tokens * study.spent) if name == "start" else study.tokens
        thinking = "rationale" if name == "rationales" else "quote"
        common = self._common("tiny-rationale", name)
        return Training(name, "train/sft.py", (*common, f"thinking={thinking}"), tokens)

    def preferences(self) -> Training:
        """DPO on pairs of the start's own answers and of injected errors."""
        pairs = f"dpo.pairs.path={self.path / 'pairs'}"
        return self._second("dpo", "train/dpo.py", pairs, "dpo.pairs.samples=1")

    def rewards(self) -> Training:
        """GRPO on the detector's findings.

        The recipe's temperature is for a start that is nearly always right; at 1.5 nearly all
        answers of this one were wrong (LAB_LOG.md).
        """
        drawn = ("grpo.temperature=1.0", "train.precision=bfloat16")
        return self._second("grpo", "train/grpo.py", *drawn)

    def _second(self, name: str, script: str, *more: str) -> Training:
        common = self._common(f"tiny-{name}", name)
        start = f"model.path={self.run('start').model}"
        tokens = self.study.tokens - round(self.study.tokens * self.study.spent)
        return Training(name, script, (*common, start, *more), tokens)

    def _common(self, recipe: str, name: str) -> tuple[str, ...]:
        stream = 1000 + self.seed if name in ("sft", "rationales", "start") else 2000 + self.seed
        return (
            f"recipe={recipe}",
            f"run={self.run(name).path}",
            f"seed={self.seed}",
            f"data.train={self.source(self.study.pairs, stream)}",
            f"data.test={self.source(self.study.n, 3)}",
            "data.validation=null",
            *(("train.global_batch=8", "train.micro_batch=8") if name != "grpo" else ()),
        )

    def comparison(self) -> dict[str, Any]:
        """The recipe of the comparison: every checkpoint, alone and mended."""
        asked = {"model": "base", "thinking": "off"}
        systems: dict[str, dict[str, str]] = {name: asked | {"prompt": name} for name in PROMPTED}
        for name in TRAINED:
            thinking = "rationale" if name == "rationales" else "quote"
            systems[name] = {"model": str(self.run(name).model), "prompt": "base"}
            systems[name] |= {"thinking": thinking}
        for name in (*PROMPTED, *TRAINED):
            systems[f"{name}+repair"] = {"after": name, "mitigation": "repair"}
        for name in self.study.cave:
            systems[f"{name}+cave"] = {"after": name, "mitigation": "cave"}
        return {
            "kind": "evaluation",
            "name": "equal-budget",
            "run": str(self.run("comparison").path),
            "seed": 0,
            "model": {
                "path": "checkpoints/tiny-base",
                "dtype": "float32",
                "context_length": 1024,
            },
            "data": {
                "test": {
                    "source": "small-world",
                    "size": self.study.size,
                    "n": self.study.n,
                    "seed": 3,
                }
            },
            "format": "markdown",
            "evaluation": {
                "contexts": ["clean", "adversarial"],
                "options": {"batch_size": 32},
                "max_new_tokens": 568,  # what the longest prompt leaves of the window
                "temperature": 0,
                "similarity": "lexical",
                "second_scorer": "exact",
                "systems": systems,
            },
        }
