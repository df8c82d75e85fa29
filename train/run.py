"""From a folder of tables to a comparison, in one command: data, fine-tuning, answers.

python train/run.py recipe=own source=FOLDER [model=tiny|smollm2-135m-instruct|qwen3-8b ...]

The same command goes on. For several GPUs each step is a command of its own (docs/quickstart.md).
"""

from __future__ import annotations

import sys

from tablemend.config import to_yaml
from tablemend.reproduction.own import help_page, read_own, run
from tablemend.script import run_script


def main() -> None:
    """The settings, then every step that is not done."""
    tokens = sys.argv[1:]
    if {"--help", "-h"} & set(tokens):
        print(help_page())
        return
    if "--check" in tokens:
        own = read_own([token for token in tokens if token != "--check"])
        print(f"{to_yaml(own.data)}---\n{to_yaml(own.training)}", end="")
        return
    for line in run(tokens):
        print(line, flush=True)


if __name__ == "__main__":
    run_script(main)
