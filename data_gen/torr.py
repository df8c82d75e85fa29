"""Make examples of the ten data sets of ToRR, with demonstrations (The Mighty ToRR, section 2).

python data_gen/torr.py data=FOLDER
python data_gen/torr.py data=FOLDER sets=[wikitq,tabfact] n=50 demonstrations=0 train=500
python data_gen/torr.py files={qtsumm: hub:yale-nlp/QTSumm}

A set that is not there is skipped with a line (docs/torr.md).
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.script import run_script
from tablemend.tasks.torr.data import TorrSet, describe, make_dataset


def main() -> None:
    """Read the settings, make the set, print what came of it."""
    settings = load(TorrSet)
    for line in describe(make_dataset(settings), settings):
        print(line)


if __name__ == "__main__":
    run_script(main)
