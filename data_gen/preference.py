"""Make preference pairs for train/dpo.py: a faithful answer beside one with findings.

python data_gen/preference.py recipe=tiny-dpo [dpo.pairs.samples=8 ...]

Rejected answers are the model's own that the detector finds fault with, and gold tables with an
injected error (docs/training.md). The same command continues after an interruption.
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.recipe.experiment import PairsCommand
from tablemend.script import run_script
from tablemend.tasks.sources import check_local
from tablemend.training.pair_generation import describe, make_pairs


def main() -> None:
    """Read the examples, draw and score answers, write the pairs, say what came of it."""
    config = load(PairsCommand)
    check_local(config.data.train, config.data.validation)
    facts = make_pairs(config)
    for line in describe(facts, config):
        print(line)


if __name__ == "__main__":
    run_script(main)
