"""Fine-tune a model on a recipe's examples.

accelerate launch train/sft.py recipe=tiny [train.learning_rate=2e-5 ...]
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.recipe.experiment import SftCommand
from tablemend.script import run_script
from tablemend.training.plan import plan_of, preflight


def main() -> None:
    """Data, model, training, verified checkpoint; the same command continues where it stopped."""
    config = load(SftCommand, plan=plan_of)
    preflight(config)
    from tablemend.training import sft, stage  # torch, only once the recipe is valid

    stage.train(config, sft.METHOD)


if __name__ == "__main__":
    run_script(main)
