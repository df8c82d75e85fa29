"""The schema of preference training (DPO): pairs of a chosen and a rejected answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from tablemend.config.section import Section


class Pairs(Section):
    """How ``data_gen/preference.py`` makes pairs from the examples of data.train."""

    path: str
    """JSONL file of the pairs: written by data_gen/preference.py, read by train/dpo.py."""
    sampled: float = Field(default=0.5, ge=0, le=1)
    """Share of the pairs whose rejected answer is the model's own, judged; the others hold a
    planted edit."""
    samples: int = Field(default=4, ge=1)
    """Answers drawn from the model for each prompt."""
    temperature: float = Field(default=1.0, gt=0, le=2)
    """Temperature of those answers."""
    chosen: Literal["gold", "best"] = "gold"
    """The chosen answer: gold, or the best judged of the model's own where one is without a
    finding (gold elsewhere)."""
    errors: tuple[str, ...] = ()
    """Error types of planted edits; all that the example allows where it is empty."""


class Dpo(Section):
    """Direct preference optimisation (Rafailov et al., 2023)."""

    pairs: Pairs
    """The pairs."""
    beta: float = Field(default=0.1, gt=0)
    """Strength of the tie to the reference model."""
    loss: Literal["sigmoid", "ipo", "hinge", "robust", "apo_zero", "apo_down"] = "sigmoid"
    """The preference loss, by TRL's name."""
    sft_weight: float = Field(default=0.0, ge=0)
    """Weight of the chosen answer's cross-entropy beside the preference loss."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=0.5)
    """Share of pairs taken to be labelled the wrong way round."""
    precompute_reference: bool = True
    """Score the pairs with the reference model once, before training: half the memory."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Options that a loss does not read."""
        if self.label_smoothing and self.loss not in ("sigmoid", "robust"):
            yield "label_smoothing", f"is not read by loss: {self.loss}"
