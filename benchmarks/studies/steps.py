"""The steps of a study: our own commands, one after another. Each continues by itself, so a study
that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tablemend.errors import TablemendError

LAUNCH = ("launch", "--quiet", "--config_file", "accelerate_configs/cpu.yaml")


def train(script: str, overrides: Iterable[str]) -> None:
    """A training in one process on the CPU; a finished one is left as it is."""
    step(str(Path(sys.executable).with_name("accelerate")), *LAUNCH, script, *overrides)


def script(path: str, overrides: Iterable[str]) -> None:
    """Any other of our scripts."""
    step(sys.executable, path, *overrides)


def step(*command: str) -> None:
    """One command, its output passed through.

    Raises:
        TablemendError: it failed.
    """
    if subprocess.run(command, check=False).returncode:
        raise TablemendError(f"this step failed: {' '.join(command)}")
