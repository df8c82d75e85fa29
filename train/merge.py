"""Merge a run's adapter into the unquantised base that it was trained on.

python train/merge.py run=NAME [out=FOLDER]
"""

from __future__ import annotations

from tablemend.config import load
from tablemend.publishing.hub import MergeCommand
from tablemend.script import run_script


def main() -> None:
    """Base, adapter, merged weights; logits before and after; a checkpoint that was verified."""
    command = load(MergeCommand)
    from tablemend.publishing import checkpoint  # torch, only once the command is valid

    merged = checkpoint.merge_run(command)
    if merged is None:
        print("finished: the merged checkpoint is there, and whole")
        return
    print(merged)


if __name__ == "__main__":
    run_script(main)
