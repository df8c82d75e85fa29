"""Make exercises in sorting and filtering, to mix into the fine-tuning of a small model.

python data_gen/exercises.py source=data/tablehallu n=8000 out=data/exercises.jsonl

A recipe reads them as instruction data (content: messages; docs/training.md).
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.datasets.exercises import Exercises, make_exercises
from tablemend.script import run_script


def main() -> None:
    """Read the settings, make the file, say where it is."""
    settings = load(Exercises)
    make_exercises(settings)
    print(f"{settings.n} exercises written to {settings.out}")


if __name__ == "__main__":
    run_script(main)
