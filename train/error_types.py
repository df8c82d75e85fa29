"""Fine-tune an encoder on the five error types of injected errors; measured on other tables.

python train/error_types.py recipe=error-types-encoder encoder.path=FOLDER
"""

from __future__ import annotations

import json

from tablemend.config import load
from tablemend.config.error_types import ErrorTypesCommand
from tablemend.runs import Run, sole_writer
from tablemend.script import run_script


def main() -> None:
    """Inject, train, measure; the same command continues."""
    config = load(ErrorTypesCommand)
    from tablemend.training.error_encoder import train_and_measure  # torch, for a valid recipe

    run = Run.of(config)
    with sole_writer(run.path):
        print(json.dumps(train_and_measure(config, run), indent=1))


if __name__ == "__main__":
    run_script(main)
