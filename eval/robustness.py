"""Performance and robustness of the systems of a finished comparison over its contexts.

python eval/robustness.py run=torr
python eval/robustness.py run=torr wanted=0.95

For the task torr a context is a serialisation with a perturbation; any other task's contexts will
do as well. Writes robustness.html, robustness.md and robustness.json into the run folder
(docs/torr.md).
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.evaluation.command import RobustnessCommand, run_folder
from tablemend.script import run_script


def main() -> None:
    """Read the judgements of a run folder, print P and R and the rest."""
    command = load(RobustnessCommand)
    folder = run_folder(command)
    from tablemend.reports.robustness_report import write_robustness  # scipy

    print(write_robustness(folder, command.wanted))
    print(f"\n{folder / 'robustness.html'} (with pictures; this text: robustness.md)")


if __name__ == "__main__":
    run_script(main)
