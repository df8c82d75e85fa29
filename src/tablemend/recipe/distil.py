"""The schema of on-policy self-distillation: the teacher, and how the student is pulled to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from tablemend.recipe.drawing import Drawing
from tablemend.recipe.training import Train


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

    def conflicts_with(self, train: Train) -> Iterator[tuple[str, str]]:
        """Settings that contradict those of the training; paths are the recipe's."""
        yield from super().conflicts_with(train)
        if self.teacher == "ema" and train.method != "full":
            yield "distil.teacher", "ema needs train.method: full"
