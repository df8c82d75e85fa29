"""A training that is interrupted behind a step."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback


class Stop(Exception):
    """An interruption."""


class Interrupt(TrainerCallback):  # type: ignore[misc]
    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self.step:
            raise Stop
