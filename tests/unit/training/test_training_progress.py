"""What a training says while it runs: one line, true after an interruption too."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

from tablemend.training.budget import Budget
from tablemend.training.progress import PAUSE, Progress


class Training:
    """Steps of a second and of 100 tokens each, without a model."""

    def __init__(self, step: int = 0, minutes: float | None = None) -> None:
        self.now = 0.0
        self.output = io.StringIO()
        self.budget = Budget(minutes)
        self.progress = Progress(self.budget, self.output, lambda: self.now)
        self.args: Any = SimpleNamespace(disable_tqdm=False)
        self.state: Any = SimpleNamespace(
            global_step=step,
            max_steps=100,
            num_input_tokens_seen=100 * step,
            is_world_process_zero=True,
        )
        self.progress.on_train_begin(self.args, self.state, Any)

    def steps(self, number: int, **logs: float) -> list[str]:
        """Take steps, each logged; what was written since the last call."""
        self.output.seek(0)
        self.output.truncate()
        for _ in range(number):
            self.now += 1
            self.budget.elapsed += 1
            self.state.global_step += 1
            self.state.num_input_tokens_seen += 100
            self.progress.on_log(self.args, self.state, Any, logs=logs)
        return self.output.getvalue().splitlines()


def test_a_file_gets_a_line_now_and_then_and_the_last() -> None:
    training = Training()
    assert training.output.getvalue() == "training: 100 steps\n"
    lines = training.steps(40, loss=0.5)
    assert len(lines) == 40 / PAUSE
    assert lines[0] == "step 1 of 100, loss 0.5, 100 tokens/s, 0:01:39 left"
    assert training.steps(60, loss=0.25)[-1].startswith("step 100 of 100, loss 0.25, 100 tokens/s")


def test_after_an_interruption_the_steps_before_count_for_no_speed() -> None:
    training = Training(step=60, minutes=0.5)
    said = "training: 100 steps, 60 of them done, at most 0.5 minutes\n"
    assert training.output.getvalue() == said
    assert training.steps(1, eval_loss=1.0) == [
        "step 61 of 100, held-out loss 1, 100 tokens/s, 0:00:29 left"
    ]
