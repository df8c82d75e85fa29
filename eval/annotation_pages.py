"""Let people annotate pairs by the decision tree: a page for each, and the import of the answers.

python eval/annotation_pages.py data=data/logic domain=hotel n=25 annotators=10
python eval/annotation_pages.py run=people answers='handed-in/*.json'
python eval/annotation_report.py run=people

Annotators rotate through systems by inputs in a Latin square (docs/logic.md).
"""

from __future__ import annotations

from tablemend.annotation.pair_command import PagesCommand, import_answers, make_pages
from tablemend.config import load
from tablemend.script import run_script


def main() -> None:
    """Write the pages, or read the answers; print what came of it."""
    command = load(PagesCommand)
    for line in import_answers(command) if command.answers else make_pages(command):
        print(line)


if __name__ == "__main__":
    run_script(main)
