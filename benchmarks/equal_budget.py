"""Base, prompting, repair, SFT, rationales, DPO and GRPO at one budget of training tokens.

    python benchmarks/equal_budget.py [tokens=1500000 seeds=[0,1,2] n=300 page=PAGE]

Trains each seed's checkpoints on the small world, answers the same held-out examples with all of
them, alone and with repair and CAVE, has the detector and the exact scorer score every answer, and
writes results.json and table.md into `folder`, and the tables into the marked places of `page`.
What is finished is not repeated: the same command goes on, and seeds may be run one by one.
"""

from __future__ import annotations

from studies.equal_budget import EqualBudget
from studies.running import run_study
from tablemend.config import load
from tablemend.script import run_script


def main() -> None:
    """The trainings and comparisons, seed by seed, then the table."""
    print(run_study(load(EqualBudget)))


if __name__ == "__main__":
    run_script(main)
