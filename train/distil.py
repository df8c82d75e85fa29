"""Train a model on its own answers, towards what it says of them when it reads the clean context.

accelerate launch train/distil.py recipe=tiny-distil [distil.beta=0.5 ...]
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.recipe.experiment import DistilCommand
from tablemend.script import run_script
from tablemend.training.plan import plan_of, preflight


def main() -> None:
    """Prompts, model, training, checkpoint; the same command continues where it stopped."""
    config = load(DistilCommand, plan=plan_of)
    preflight(config)
    from tablemend.training import distil, stage  # torch, only once the recipe is valid

    stage.train(config, distil.METHOD)


if __name__ == "__main__":
    run_script(main)
