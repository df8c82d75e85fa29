"""Does the verifier agree with people? Precision, recall, correlations on sets with human labels.

python eval/validate.py [sets=[tabfact,quintd] half=rules n=300 errors=errors.jsonl]
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.runs import sole_writer
from tablemend.script import run_script
from tablemend.validation.command import ValidateCommand


def main() -> None:
    """Read the sets, verify, count, write results, then the page."""
    command = load(ValidateCommand)
    from tablemend.validation.run import validate, write_pages
    from tablemend.validation.tables import terminal

    with sole_writer(command.folder.path):
        results = validate(command)
        pages = write_pages(results, command)
    print(terminal(results))
    print(f"\n{pages}")


if __name__ == "__main__":
    run_script(main)
