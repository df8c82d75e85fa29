"""Make pairs of input and output whose relation is known (Annotating Hallucinations, Table 3).

python data_gen/logic.py n=700
python data_gen/logic.py domains=[hotel] n=1000 out=data/hotel
python data_gen/logic.py domains=[hotel] n=5 models='{qwen: openai:MODEL@URL}' out=data/hotel-models
python data_gen/logic.py categories=[too_weak,too_strong] ambiguous=0 seed=1 out=data/logic-two

Labels come from how an output was made, not from a prover; what a model writes has none
(docs/logic.md).
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.script import run_script
from tablemend.tasks.logic.dataset import LogicSet, describe, make_dataset


def main() -> None:
    """Read the settings, make the set, print what came of it."""
    settings = load(LogicSet)
    for line in describe(make_dataset(settings), settings):
        print(line)


if __name__ == "__main__":
    run_script(main)
