"""The schema of answers that are drawn in training, and of self-distillation on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

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
"""TRL's settings of ``generate``, which draws no answers here (training/grpo.py)."""


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


class Drawing(Section):
    """How the model that trains draws the answers that it learns from."""

    section: ClassVar[str]
    """Its name in a recipe."""

    temperature: float = Field(default=1.0, gt=0, le=2)
    """Temperature of the answers; the loss divides all logits by it too."""
    max_new_tokens: int = Field(ge=1)
    """Longest answer."""
    engine: Literal["transformers", "vllm-colocate", "vllm-server"] = "transformers"
    """What draws the answers."""
    server: str | None = None
    """Base URL of a `vllm serve` that takes weights (docs/training.md), for engine: vllm-server."""

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
        if train.packing:
            yield "train.packing", "answers that are drawn stand in rows of their own"
        for name in sorted(_OF_GENERATE & set(train.trl) if self.engine == "transformers" else ()):
            yield (
                f"train.trl.{name}",
                f"engine: transformers draws by {self.section}.temperature and "
                f"{self.section}.max_new_tokens alone: leave it out, or take vLLM",
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
                f"{self.section}.engine",
                f"{self.engine} would get the packed 4-bit weights without their new scales: set "
                "engine: transformers, or train.method: lora",
            )


class Distil(Drawing):
    """On-policy self-distillation (Shenfeld et al., 2026): the student answers what train.context
    shows; the teacher scores the same answer as one that reads the task's first view.
    """

    section: ClassVar[str] = "distil"

    teacher: Literal["base", "ema"] = "base"
    """The model that training started from, or a moving average of the student's weights
    (train.trl.teacher_update_rate)."""
    beta: float = Field(default=1.0, ge=0, le=1)
    """Divergence at each token: 0 forward KL, 1 reverse KL, between them the generalised
    Jensen-Shannon divergence (Agarwal et al., 2024)."""
    clip: float | None = Field(default=None, gt=0)
    """Most nats that one token counts for; the gradient of one above is scaled down to it."""
    top: int | None = Field(default=None, ge=1)
    """Tokens that the divergence is taken over, the teacher's most likely and one for the rest;
    null: all."""
    keep_clean: float = Field(default=0.0, ge=0)
    """Weight of the divergence of the student from the teacher where both read the first view: one
    more forward pass, so that what was right there stays right."""
    most_hallucinated: float | None = Field(default=0.1, ge=0, le=1)
    """A start with more hallucinated answers to the first view has nothing to teach and is refused;
    null: it is not asked."""

    def conflicts_with(self, train: Train) -> Iterator[tuple[str, str]]:
        """Settings that contradict those of the training; paths are the recipe's."""
        yield from super().conflicts_with(train)
        if self.teacher == "ema" and train.method != "full":
            yield "distil.teacher", "ema needs train.method: full"
        for name in ("teacher_update_rate", "teacher_sync_steps"):
            if self.teacher == "base" and name in train.trl:
                yield f"train.trl.{name}", "needs distil.teacher: ema"
