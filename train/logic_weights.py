"""Fit the weights by which the program verifier chooses between readings of a statement.

python train/logic_weights.py [data=../shared/data out=src/tablemend/verification/logic/weights.py]
"""

from __future__ import annotations

from pathlib import Path

from tablemend.config import load
from tablemend.script import run_script
from tablemend.validation.logic_weights import (
    WeightsCommand,
    changed,
    fit,
    held_out,
    module_of,
    read_examples,
)


def main() -> None:
    """Read the rules halves, judge tables held out, fit on all, write."""
    command = load(WeightsCommand)
    examples = read_examples(Path(command.data), command.summaries)
    for name, (coverage, accuracy) in held_out(examples).items():
        print(f"{name}: {coverage:.1%} judged, {accuracy:.1%} of them right")
    weights = fit(examples)
    print(f"{len(weights)} weights, at most {changed(weights):.2f} from the shipped ones")
    if command.out is not None:
        Path(command.out).write_text(module_of(weights), encoding="utf-8")
        print(command.out)


if __name__ == "__main__":
    run_script(main)
