"""Train a model on the detector's findings: answers are drawn, scored, and compared in groups.

accelerate launch train/grpo.py recipe=tiny-grpo [train.learning_rate=2e-6 ...]
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.recipe.experiment import GrpoCommand
from tablemend.script import run_script
from tablemend.training.plan import plan_of, preflight


def main() -> None:
    """Prompts, model, training, checkpoint; the same command continues where it stopped."""
    config = load(GrpoCommand, plan=plan_of)
    preflight(config)
    from tablemend.training import grpo, stage  # torch, only once the recipe is valid

    stage.train(config, grpo.METHOD)


if __name__ == "__main__":
    run_script(main)
