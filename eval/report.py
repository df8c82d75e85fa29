"""Write report.md and report.html of a finished comparison again.

python eval/report.py run=demo
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.evaluation.command import ReportCommand, run_folder
from tablemend.script import run_script


def main() -> None:
    """Read the results of a run folder, write its reports."""
    folder = run_folder(load(ReportCommand))
    from tablemend.reports.report import (
        terminal_table,
        write_reports,  # matplotlib
    )

    print(terminal_table(write_reports(folder)))
    print(f"\n{folder / 'report.html'}")


if __name__ == "__main__":
    run_script(main)
