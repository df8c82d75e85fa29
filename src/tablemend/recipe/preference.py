"""The schema of preference training (DPO): pairs of a chosen and a rejected answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from tablemend.config.section import Section


class Pairs(Section):
    """How ``data_gen/preference.py`` makes pairs: at most one for each prompt of data.train, and
    of data.validation where there is one.
    """

    path: str
    """Folder of the pairs: written by data_gen/preference.py, read by train/dpo.py."""
    sampled: float = Field(default=0.5, ge=0, le=1)
    """Share of the prompts that the model is asked: its first answer with a finding is rejected,
    and a prompt where none has one is dropped. Others get a gold table with an injected error."""
    samples: int = Field(default=4, ge=1)
    """Answers drawn from the model for each prompt that it is asked."""
    temperature: float = Field(default=1.0, gt=0, le=2)
    """Temperature of those answers; they are at most evaluation.max_new_tokens long."""
    model: str = "base"
    """What draws them: base (model.path, by evaluation.backend), or a model string
    (`openai:MODEL@URL` for a server of the same weights)."""
    scorer: Literal["detector", "repair"] = "detector"
    """What finds fault with answers: the task's scorer, or the rule repair, which reads query and
    context and no gold (docs/training.md)."""
    chosen: Literal["gold", "best", "repair"] = "gold"
    """The chosen answer beside one of the model's own: gold; the first of its answers that is
    whole and without a finding (else gold, where the scorer reads it); or the rejected one as the
    rule repair mends it. Injected errors always go with gold."""
    errors: tuple[str, ...] = ()
    """Error types of the task to inject; all of them where it is empty."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A file in place of the folder."""
        if Path(self.path).suffix in (".jsonl", ".json", ".parquet"):
            yield "path", "names the folder; the pairs are its pairs.jsonl"
        if self.scorer == "repair" and self.chosen == "gold":
            yield "chosen", "gold is not read with scorer: repair; set best or repair"
        if self.scorer == "repair" and self.sampled < 1:
            yield "sampled", "errors are injected into gold, not read with scorer: repair; set 1"


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
    precompute_reference: bool = True
    """Score the pairs with the reference model once, before training: half the memory."""
