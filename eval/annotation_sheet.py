"""Let people annotate pairs in a spreadsheet: write the sheet, read the filled copies.

python eval/annotation_sheet.py data=data/logic n=25
python eval/annotation_sheet.py run=people answers='handed-in/*.csv'
python eval/annotation_report.py run=people

Columns and guidelines are described in docs/logic.md.
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.script import run_script
from tablemend.tasks.logic.annotating import SheetCommand, read_answers, write_sheet


def main() -> None:
    """Write the sheet, or read the answers; print what came of it."""
    command = load(SheetCommand)
    for line in read_answers(command) if command.answers else write_sheet(command):
        print(line)


if __name__ == "__main__":
    run_script(main)
