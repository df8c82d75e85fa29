"""The schema of training on rewards (GRPO): the group, the sampling and the parts of the reward."""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm
from typing import ClassVar

from pydantic import Field

from tablemend.config.section import Section
from tablemend.recipe.drawing import Drawing
from tablemend.recipe.training import Train


class Reward(Section):
    """Weights of the parts of the reward; each part is between 0 and 1 (docs/training.md)."""

    format: float = Field(default=1.0, ge=0)
    """One table in the asked format and nothing else."""
    columns: float = Field(default=1.0, ge=0)
    """The columns of the query, in order."""
    scope: float = Field(default=2.0, ge=0)
    """Rows that belong into the answer, against rows that do not and rows said twice (F1)."""
    cells: float = Field(default=2.0, ge=0)
    """Cells that are right, of all filled gold cells."""
    blanks: float = Field(default=1.0, ge=0)
    """Cells left blank, of all that the context leaves open."""
    order: float = Field(default=1.0, ge=0)
    """Pairs of rows in the asked order, of all that have one."""
    coverage: float = Field(default=2.0, ge=0)
    """Gold rows that the answer has, of all."""
    quote: float = Field(default=1.0, ge=0)
    """Sentences of the context that state gold rows, against others that are quoted and those
    quoted twice (F1); with thinking: quote alone."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A reward that pays for nothing, or for short answers."""
        weights = self.model_dump().values()
        if not any(weights):
            yield "format", "every weight is 0: nothing would be rewarded"
        elif not (self.coverage or self.cells):
            yield "coverage", "with cells and coverage both 0, one row would pay as well as all"


class Grpo(Drawing):
    """Group-relative policy optimisation (Shao et al., 2024) on the detector's findings."""

    section: ClassVar[str] = "grpo"

    group: int = Field(default=8, ge=2)
    """Answers drawn for each prompt, whose rewards are compared."""
    max_new_tokens: int = Field(ge=1)
    """Longest answer; one that is cut earns nothing."""
    reward: Reward = Reward()
    """What an answer earns."""
    beta: float = Field(default=0.0, ge=0)
    """Weight of the KL term against the model that training started from."""
    iterations: int = Field(default=1, ge=1)
    """Optimizer steps on the same answers."""
    equal_groups: float = Field(default=0.5, ge=0, le=1)
    """Warn when more than this share of the groups have equal rewards: they teach nothing."""

    def conflicts_with(self, train: Train) -> Iterator[tuple[str, str]]:
        """Settings that contradict those of the training; paths are the recipe's."""
        yield from super().conflicts_with(train)
        batch = train.global_batch
        if batch % self.group:
            whole = lcm(self.group, train.micro_batch)
            near = sorted({max(1, batch // whole) * whole, -(-batch // whole) * whole})
            yield (
                "train.global_batch",
                f"counts completions: grpo.group: {self.group} does not divide {batch}; the "
                f"nearest that it and train.micro_batch divide: {' or '.join(map(str, near))}",
            )
        if train.save_every % self.iterations:
            yield (
                "train.save_every",
                f"is no multiple of grpo.iterations: {self.iterations}; a resumed training would "
                "draw other answers",
            )
