"""Write report.md and report.html of a finished comparison again.

python eval/report.py run=demo
python eval/report.py run=demo page=PAGE.md

The second puts a table of all systems for each context into a page as well, between its lines
<!-- figures: CONTEXT --> and <!-- end -->.
"""

from __future__ import annotations

from pathlib import Path

from tablemend.config import load
from tablemend.evaluation.command import ReportCommand, run_folder
from tablemend.script import run_script


def main() -> None:
    """Read the results of a run folder, write its reports."""
    command = load(ReportCommand)
    folder = run_folder(command)
    from tablemend.reports.report import (
        fill_results_page,
        terminal_table,
        write_reports,  # matplotlib
    )

    results = write_reports(folder)
    if command.page:
        fill_results_page(Path(command.page), results)
    print(terminal_table(results))
    print(f"\n{folder / 'report.html'}")


if __name__ == "__main__":
    run_script(main)
