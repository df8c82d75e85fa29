"""A training script that stops at a point of its second save, to be killed there.

python tests/support/halted.py POINT FILE train/sft.py recipe=...; FILE appears once it halted.
"""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path
from typing import Any

from accelerate import PartialState

from tablemend.script import run_script
from tablemend.training import checkpoints
from tablemend.training.sft import Trainer


def main() -> None:
    """Put a stop into the code that the script runs."""
    point, file, script, *rest = sys.argv[1:]
    sys.argv = [script, *rest]

    def halt() -> None:
        Path(file).touch()
        time.sleep(600)

    def second(process: int) -> bool:
        return bool(saves) and PartialState().process_index == process

    saves: list[Path] = []
    shard, random = Trainer._save_optimizer_and_scheduler, Trainer._save_rng_state
    mark = checkpoints.mark_complete

    def save_shard(self: Any, folder: str) -> None:
        if point == "optimizer" and second(process=1):
            halt()
        shard(self, folder)

    def save_random(self: Any, folder: str) -> None:
        if point == "random" and second(process=1):
            halt()
        random(self, folder)
        saves.append(Path(folder))

    def mark_complete(folder: Path) -> None:
        if point == "marker" and len(saves) == 2:
            halt()
        mark(folder)

    def put_in_place(folder: Path, new: Path) -> None:
        assert point == "model" and checkpoints.is_complete(new), folder
        halt()

    Trainer._save_optimizer_and_scheduler, Trainer._save_rng_state = save_shard, save_random
    checkpoints.mark_complete = mark_complete
    checkpoints.put_in_place = put_in_place
    run_script(runpy.run_path(script)["main"])


if __name__ == "__main__":
    main()
