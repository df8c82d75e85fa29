"""Muon for the hidden matrices and AdamW for the rest, as one optimizer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import nn


class MuonAdamW(torch.optim.Optimizer):
    """Two optimizers behind one interface, for schedulers, accelerate and the Trainer.

    Muon orthogonalises the update of a matrix (Jordan et al. 2024); embeddings, the head and
    everything that is no matrix takes AdamW.

    Args:
        named: name and weight of everything that is trained.
        muon_rate, adam_rate: peak learning rates.
        weight_decay: decoupled, of the matrices.
        embeddings: input embedding and head of the model at hand; what has ``embed`` or
            ``lm_head`` in its name is taken for one too.
    """

    def __init__(
        self,
        named: Sequence[tuple[str, nn.Parameter]],
        *,
        muon_rate: float,
        adam_rate: float,
        weight_decay: float,
        embeddings: Collection[nn.Parameter] = (),
    ) -> None:
        # by identity: == of tensors compares their values
        apart = {id(weight) for weight in embeddings} | {
            id(weight) for name, weight in named if "embed" in name or "lm_head" in name
        }
        matrices = [weight for _, weight in named if weight.ndim == 2 and id(weight) not in apart]
        rest = [weight for _, weight in named if weight.ndim != 2 or id(weight) in apart]
        super().__init__([{"params": matrices}, {"params": rest}], {})
        self.parts: tuple[torch.optim.Optimizer, ...] = (
            torch.optim.Muon(matrices, lr=muon_rate, weight_decay=weight_decay),
            torch.optim.AdamW(rest, lr=adam_rate, betas=(0.9, 0.98), weight_decay=0.0),
        )
        self._share_groups()

    def _share_groups(self) -> None:
        """One list of the parts' own groups, so that a scheduler sets their rates."""
        self.param_groups = [group for part in self.parts for group in part.param_groups]

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step of both; ``closure`` is evaluated once."""
        loss = closure() if closure is not None else None
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The parts' states, in order."""
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The inverse of :meth:`state_dict`."""
        for part, state in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        self._share_groups()
