"""Make the tables and figures of the papers again, beside the published figures.

python eval/reproduce.py paper=tablehallu table=4 recipe=tiny [--check]
python eval/reproduce.py paper=faith recipe=faith-eval model.path=openai:MODEL@URL
python eval/reproduce.py page=results/reproduced.md

Data, training, comparison and scoring are done where they are missing; --check prints the plan
alone; the same command continues (docs/reproduce.md).
"""

from __future__ import annotations

from pathlib import Path

import yaml

from tablemend.reports.rendering import fill_page
from tablemend.reproduction.command import read_command
from tablemend.script import run_script

MEASURED = Path("results/reproduced.yaml")


def main() -> None:
    """The plan, the steps that are not done, the tables."""
    command, given, check = read_command()
    if command.page:
        from tablemend.reproduction.writing import tables_of_page

        made = tables_of_page(yaml.safe_load(MEASURED.read_text(encoding="utf-8")))
        fill_page(Path(command.page), made, made)
        return
    from tablemend.reproduction.reproduce import plan, reproduce

    for line in plan(command, given) if check else ():
        print(line)
    for path in () if check else reproduce(command, given):
        print(f"{path.read_text(encoding='utf-8')}\n{path}\n")


if __name__ == "__main__":
    run_script(main)
