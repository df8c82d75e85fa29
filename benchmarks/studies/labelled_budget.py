"""What labelled tables buy, and what unlabelled contexts add, at about the same time.

A user has some labelled tables, any number of contexts without gold, and hours. `SFT` trains on the
labelled ones until the rates on held-out examples no longer fall. The other methods read no further
gold: self-distillation none at all, the rest go on from a fine-tuning that took half of the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field

from tablemend.config import Section
from tablemend.runs import Run

TEST = "{{source: small-world, n: {n}, seed: 3, queries: 2}}"


class Steps(Section):
    """Optimizer steps of each training, so that every method takes about as long as `sft`: what
    each took, drawing included, is in the table.
    """

    sft: int = 480
    """Fine-tuning on labelled tables alone."""
    start: int = 240
    """The fine-tuning that other methods go on from."""
    distil: int = 250
    """Self-distillation of the base."""
    own: int = 60
    """Fine-tuning on own answers."""
    dpo: int = 40
    """DPO on own answers."""


class LabelledBudget(Section):
    """The study."""

    labels: tuple[int, ...] = Field(default=(100, 300, 1000), min_length=1)
    """Labelled tables that fine-tuning has."""
    from_labels: int = 300
    """Labelled tables behind the methods that go on from a fine-tuning; one of `labels`."""
    seeds: tuple[int, ...] = Field(default=(0, 1, 2), min_length=1)
    """Of the training examples and their order; the held-out examples are the same."""
    n: int = Field(default=300, ge=1)
    """Held-out examples, two of each context."""
    unlabelled: int = Field(default=4000, ge=1)
    """Contexts without gold, at most; pairs take a tenth of them."""
    steps: Steps = Steps()
    """Optimizer steps."""
    folder: str = "runs/labelled-budget"
    """Where the runs go, a folder a seed."""
    page: str | None = None
    """Markdown file whose marked places the figures are put into."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Methods that would have nothing to be compared with."""
        if self.from_labels not in self.labels:
            yield "from_labels", f"is none of labels: {', '.join(map(str, self.labels))}"


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a method.

    Attributes:
        script: the command.
        run: its folder, by name.
        overrides: what it takes.
    """

    script: str
    run: str
    overrides: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seed:
    """The trainings and the comparison of one seed."""

    study: LabelledBudget
    seed: int

    @property
    def path(self) -> Path:
        """The folder of its runs."""
        return Path(self.study.folder) / str(self.seed)

    def run(self, name: str) -> Run:
        """The run folder of a training, of pairs, or of the comparison."""
        return Run(self.path / name)

    def methods(self) -> dict[str, tuple[Step, ...]]:
        """What is compared: name -> its commands, in order; the last one makes the model."""
        steps = self.study.steps
        own, start = self.study.from_labels, f"sft-{self.study.from_labels}-half"
        half = self._sft(start, own, steps.start)
        distil = self._training(
            *("train/distil.py", "distil", "tiny-distil", steps.distil),
            f"data.train={self._unlabelled(1)}",
        )
        pairs = self._pairs(start)
        from_start = f"model.path={self.run(start).model}"
        read_pairs = f"dpo.pairs.path={self.run('pairs').path}"
        return {
            **{f"sft-{n}": (self._sft(f"sft-{n}", n, steps.sft),) for n in self.study.labels},
            start: (half,),
            "distil": (distil,),
            "own-answers": (
                half,
                pairs,
                self._training(
                    *("train/sft.py", "own", str(self.path / "own.yaml"), steps.own),
                    *(from_start, "train.learning_rate=3e-4"),
                ),
            ),
            "dpo": (
                half,
                pairs,
                self._training(
                    *("train/dpo.py", "dpo", "tiny-dpo", steps.dpo),
                    *(from_start, read_pairs, f"data.train={self._unlabelled(10)}"),
                    "data.validation=null",
                    *("dpo.pairs.scorer=repair", "dpo.pairs.chosen=repair"),
                    *("dpo.pairs.sampled=1", "train.learning_rate=5e-5"),
                ),
            ),
        }

    def own_answers(self) -> dict[str, Any]:
        """The recipe of fine-tuning on own answers: recipes/tiny.yaml on other data."""
        recipe: dict[str, Any] = yaml.safe_load(Path("recipes/tiny.yaml").read_text("utf-8"))
        targets = str(self.run("pairs").path / "targets.jsonl")
        recipe["data"]["train"] = {"own": {"source": targets, "content": "messages", "share": 1.0}}
        return recipe

    def comparison(self) -> dict[str, Any]:
        """The recipe of the comparison: base and every method, alone and with repair."""
        systems: dict[str, dict[str, str]] = {"base": {"model": "base"}}
        for name, made in self.methods().items():
            systems[name] = {"model": str(self.run(made[-1].run).model)}
        systems |= {f"{name}+repair": {"after": name, "mitigation": "repair"} for name in systems}
        return {
            "kind": "evaluation",
            "name": "labelled-budget",
            "run": str(self.run("comparison").path),
            "model": {"path": "checkpoints/tiny-base", "context_length": 1024},
            "data": {"test": yaml.safe_load(TEST.format(n=self.study.n))},
            "format": "markdown",
            "thinking": "off",
            "evaluation": {
                "contexts": ["clean", "adversarial"],
                "options": {"batch_size": 32},
                "max_new_tokens": 256,
                "temperature": 0,
                "similarity": "lexical",
                "second_scorer": "exact",
                "systems": systems,
            },
        }

    def _sft(self, name: str, labels: int, steps: int) -> Step:
        """Labelled tables again and again; the best checkpoint by the rates on held-out ones."""
        every = max(1, steps // 8)
        rates = f"{{every: {every}, n: 64, max_new_tokens: 256}}"
        source = f"{{source: small-world, n: {labels}, seed: {1000 + self.seed}}}"
        given = (f"data.train={source}", f"train.evaluate={rates}", f"train.save_every={every}")
        return self._training("train/sft.py", name, "tiny", steps, *given)

    def _pairs(self, start: str) -> Step:
        """Four answers to each context: the first that the repair leaves alone, else a mended."""
        given = (
            *("recipe=tiny-dpo", f"seed={self.seed}", "thinking=off", "data.validation=null"),
            f"model.path={self.run(start).model}",
            f"dpo.pairs.path={self.run('pairs').path}",
            f"data.train={self._unlabelled(10)}",
            f"data.test={TEST.format(n=self.study.n)}",
            *("dpo.pairs.scorer=repair", "dpo.pairs.chosen=repair", "dpo.pairs.sampled=1"),
            "evaluation.max_new_tokens=256",
        )
        return Step("data_gen/preference.py", "pairs", given)

    def _unlabelled(self, part: int) -> str:
        n = max(16, self.study.unlabelled // part)
        return f"{{source: small-world, n: {n}, seed: {2000 + self.seed}}}"

    def _training(self, script: str, name: str, recipe: str, steps: int, *more: str) -> Step:
        given = {
            "recipe": recipe,
            "run": str(self.run(name).path),
            "seed": str(self.seed),
            "thinking": "off",
            "data.test": TEST.format(n=self.study.n),
            "train.epochs": "null",
            "train.max_steps": str(steps),
        }
        if (
            script == "train/sft.py"
        ):  # its systems think as the recipe does; this study compares by itself
            for system in ("careful", "follow", "cot", "quote", "constrained", "sft+repair"):
                given[f"evaluation.systems.{system}"] = "null"
            given["evaluation.systems.sft.thinking"] = "off"
        return Step(script, name, (*(f"{key}={value}" for key, value in given.items()), *more))
