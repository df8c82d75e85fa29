"""The schema of training on rewards (GRPO): the group, the sampling and the parts of the reward."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import lcm
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tablemend.config.section import Section
from tablemend.recipe.training import Train

_OF_GENERATE = frozenset(
    """
    cache_implementation ds3_gather_for_generation generation_kwargs min_p repetition_penalty
    top_k top_p transformers_continuous_batching_config use_transformers_continuous_batching
    use_transformers_paged
    """.split()
)
"""TRL's settings of ``generate``, which draws no answers here (training/drawing.py)."""


class _Read(BaseModel):
    """TRL's settings that the plan and the engine's check read; TRL takes any value of them."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    vllm_gpu_memory_utilization: float = Field(default=0.3, gt=0, le=1)
    vllm_tensor_parallel_size: int = Field(default=1, ge=1)
    vllm_enable_sleep_mode: bool = False
    vllm_importance_sampling_correction: bool = True
    vllm_server_timeout: float = Field(default=0, ge=0)
    generation_kwargs: dict[str, Any] | None = None


_BASE_URL = re.compile(r"https?://[^/?#\s]+(?:/[^?#\s]*)?(?<!/)(?<!/v1)")


class Reward(Section):
    """Weights of the parts of the reward; each part is between 0 and 1 (docs/dpo-grpo.md)."""

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


class Grpo(Section):
    """Group-relative policy optimisation (Shao et al., 2024) on the detector's findings."""

    group: int = Field(default=8, ge=2)
    """Answers drawn for each prompt, whose rewards are compared."""
    temperature: float = Field(default=1.0, gt=0, le=2)
    """Temperature of the answers."""
    max_new_tokens: int = Field(ge=1)
    """Longest answer; one that is cut earns nothing."""
    reward: Reward = Reward()
    """What an answer earns."""
    beta: float = Field(default=0.0, ge=0)
    """Weight of the KL term against the model that training started from."""
    iterations: int = Field(default=1, ge=1)
    """Optimizer steps on the same answers."""
    engine: Literal["transformers", "vllm-colocate", "vllm-server"] = "transformers"
    """What draws the answers."""
    server: str | None = None
    """Base URL of a `vllm serve` that takes weights (docs/dpo-grpo.md), for engine: vllm-server."""
    equal_groups: float = Field(default=0.5, ge=0, le=1)
    """Warn when more than this share of the groups have equal rewards: they teach nothing."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A server without its engine, the engine without a server, or no base URL."""
        if (self.engine == "vllm-server") != (self.server is not None):
            yield "server", "goes with engine: vllm-server and only with it"
        if self.server is not None and not _BASE_URL.fullmatch(self.server):
            yield (
                "server",
                f"{self.server!r} is no base URL: give http://HOST:PORT, without /v1 or a slash "
                "at the end",
            )

    def conflicts_with(self, train: Train) -> Iterator[tuple[str, str]]:
        """Settings that contradict those of the training; paths are the recipe's."""
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
        if train.packing:
            yield "train.packing", "GRPO packs no rows"
        for name in sorted(_OF_GENERATE & set(train.trl) if self.engine == "transformers" else ()):
            yield (
                f"train.trl.{name}",
                "engine: transformers draws by grpo.temperature and grpo.max_new_tokens alone: "
                "leave it out, or take vLLM",
            )
        try:
            drawn = _Read.model_validate(train.trl).generation_kwargs or {}
        except ValidationError as error:
            for one in error.errors():
                yield f"train.trl.{one['loc'][0]}", f"{one['msg']}, not {one['input']!r}"
        else:
            if self.engine == "vllm-colocate" and drawn.get("seed") is not None:
                yield (
                    "train.trl.generation_kwargs.seed",
                    "every answer would be drawn with it: all answers to a prompt would be equal",
                )
        if train.method == "qlora" and self.engine != "transformers":
            yield (
                "grpo.engine",
                f"{self.engine} would get the packed 4-bit weights without their new scales: set "
                "engine: transformers, or train.method: lora",
            )
