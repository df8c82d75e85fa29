"""What a training says while it runs: one line, true after an interruption too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tablemend.training.trainer import PAUSE, Progress


class Training:
    """Steps of a second and of 100 tokens each, without a model."""

    def __init__(self, step: int = 0, saved: dict[str, Any] | None = None) -> None:
        self.now = 0.0
        self.progress = Progress(lambda: self.now)
        self.args: Any = SimpleNamespace(disable_tqdm=False)
        self.state: Any = SimpleNamespace(
            global_step=step,
            max_steps=100,
            num_input_tokens_seen=100 * step,
            stateful_callbacks={"Progress": saved} if saved else {},
            is_world_process_zero=True,
            compute_steps=lambda args, most: None,
        )
        self.progress.on_train_begin(self.args, self.state, Any)

    def steps(self, number: int, **logs: float) -> None:
        """Take steps, each logged."""
        for _ in range(number):
            self.now += 1
            self.state.global_step += 1
            self.state.num_input_tokens_seen += 100
            self.progress.on_step_end(self.args, self.state, Any)
            self.progress.on_log(self.args, self.state, Any, logs=logs)


def test_there_is_a_line_now_and_then_and_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    training = Training()
    training.steps(40, loss=0.5)
    begun, first, *others = capsys.readouterr().err.splitlines()
    assert begun == "training: 100 steps" and len(others) == 40 / PAUSE - 1
    assert first == "step 1 of 100, loss 0.5, 100 tokens/s, 0:01:39 left"
    training.steps(60, loss=0.25)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("step 100 of 100, loss 0.25, 100 tokens/s")


def test_after_an_interruption_the_steps_before_count_for_no_speed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = Training()
    before.steps(60)
    capsys.readouterr()
    training = Training(step=60, saved=before.progress.state())
    training.steps(1, eval_loss=1.0)
    assert capsys.readouterr().err.splitlines() == [
        "training: 100 steps, 60 of them done",
        "step 61 of 100, held-out loss 1, 100 tokens/s, 0:00:39 left",
    ]
    assert training.progress.elapsed == 61
