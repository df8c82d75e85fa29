"""Packed rows for attention kernels that keep examples apart by a mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from tablemend.training import on_cpu

MASKED = ("sdpa", "eager", on_cpu.NAME)
"""Kernels that keep packed examples apart by a mask; the others take where each begins."""


@dataclass
class PackedRows(DataCollatorForLanguageModeling):  # type: ignore[misc]
    """Packed rows side by side, for kernels that take a mask.

    TRL's collator (1.16; by design) lays a batch out as one row, of which a mask has the square.
    transformers makes the mask that keeps examples apart from their positions, where no other mask
    is given.
    """

    return_position_ids: bool = True

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        """The batch without an attention mask: padding has positions of its own."""
        batch: dict[str, Any] = super().torch_call(examples)
        del batch["attention_mask"]
        return batch
