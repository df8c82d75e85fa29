"""Train a checkpoint on preference pairs (DPO).

python data_gen/preference.py recipe=tiny-dpo
accelerate launch train/dpo.py recipe=tiny-dpo [dpo.beta=0.2 ...]
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.recipe.experiment import DpoCommand
from tablemend.script import run_script
from tablemend.training.plan import plan_of, preflight


def main() -> None:
    """Pairs, start, training, verified checkpoint; the same command continues where it stopped."""
    config = load(DpoCommand, plan=plan_of)
    preflight(config)
    from tablemend.training import dpo, stage  # torch, only once the recipe is valid

    stage.train(config, dpo.METHOD)


if __name__ == "__main__":
    run_script(main)
