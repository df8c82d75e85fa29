"""Compare the systems of a recipe on the same examples, with the same scorers.

python eval/compare.py recipe=tiny [evaluation.n=50 ...] [backend=vllm] [rescore=true]
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.plan import plan_of
from tablemend.runs import Run, say
from tablemend.script import run_script


def main() -> None:
    """Examples, answers, judgements, results, reports; the same command continues."""
    config = load(CompareCommand, plan=plan_of)
    say("starting torch and transformers")
    from tablemend.evaluation.compare import compare
    from tablemend.reports.report import (
        terminal_table,
        write_reports,  # matplotlib, only for a valid recipe
    )

    compare(config)
    folder = Run.of(config).path
    print(terminal_table(write_reports(folder)))
    print(f"\n{folder / 'report.html'}")


if __name__ == "__main__":
    run_script(main)
