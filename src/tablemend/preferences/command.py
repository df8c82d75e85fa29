"""What data_gen/preference.py and train/dpo.py take on their command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from tablemend.backends.names import ModelName
from tablemend.errors import TablemendError
from tablemend.recipe.experiment import DpoExperiment
from tablemend.recipe.training import Planned


class PairsCommand(DpoExperiment):
    """What data_gen/preference.py takes beside the recipe."""

    backend: Literal["hf", "vllm"] | None = None
    """Comes before evaluation.backend."""
    overwrite: bool = Field(default=False, exclude=True)
    """Delete the pairs and the answers in dpo.pairs.path, and start anew."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A model string that cannot be read."""
        yield from super().conflicts()
        text = self.dpo.pairs.model
        if text != "base":
            try:
                ModelName.parse(text, self.default_engine)
            except TablemendError as error:
                yield "dpo.pairs.model", str(error)

    @property
    def default_engine(self) -> Literal["hf", "vllm"]:
        """Engine of the models that name none."""
        return self.backend or self.evaluation.backend


class DpoCommand(Planned, DpoExperiment):
    """What train/dpo.py takes beside the recipe."""

    overwrite: bool = Field(default=False, exclude=True)
    """Delete what the run folder holds of this training, and start anew."""
    show: int = Field(default=0, ge=0, exclude=True)
    """Print this many pairs with their loss masks, and stop."""

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Settings of the other trainings that a preference loss cannot have."""
        yield from super().conflicts()
        train = self.train
        if train.packing:
            yield "train.packing", "the two answers of a pair stand in rows of their own"
        dropout = train.lora.dropout if train.lora is not None else 0
        if dropout and train.trl.get("disable_dropout", True):
            yield (
                "train.lora.dropout",
                "TRL switches dropout off for preferences, so that the reference is the start: "
                "set 0",
            )
