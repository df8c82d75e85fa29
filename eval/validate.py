"""Does the verifier agree with people? Precision, recall, correlations on sets with human labels.

python eval/validate.py [sets=[tabfact,quintd] split=dev n=300]
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.meta_evaluation.command import ValidateCommand
from tablemend.runs import sole_writer
from tablemend.script import run_script


def main() -> None:
    """Read the sets, verify, count, write results, then the page."""
    command = load(ValidateCommand)
    from tablemend.meta_evaluation.validate import terminal, validate

    with sole_writer(command.folder.path):
        results, page = validate(command)
    print(terminal(results))
    print(f"\n{page}")


if __name__ == "__main__":
    run_script(main)
