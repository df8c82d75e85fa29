"""Measures of annotations against references, and between annotators, beside the paper's figures.

python eval/annotation_report.py run=annotation
python eval/annotation_report.py run=hotel annotations=[people.jsonl] passed=true
python eval/annotation_report.py run=paper source=hallucination-framework  # the authors' release

Writes annotations.md and annotations.json into the run folder (docs/logic.md).
"""

from __future__ import annotations

from pathlib import Path

from tablemend.config import load
from tablemend.runs import folder_of
from tablemend.script import run_script
from tablemend.tasks.logic.report import (
    AnnotationReportCommand,
    write_annotation_report,
    write_release_report,
)


def main() -> None:
    """Read pairs and annotations of a run folder, print all tables."""
    command = load(AnnotationReportCommand)
    folder = folder_of(command.run)
    if command.source:
        print(write_release_report(folder, Path(command.source), command.strategy))
    else:
        print(write_annotation_report(folder, command.annotations, command.passed))
    print(f"\n{folder / 'annotations.md'}")


if __name__ == "__main__":
    run_script(main)
