"""Time and memory of the main job after the installs: the figures behind `make demo`.

    python benchmarks/demo.py [folder=runs/demo-benchmark]

Runs `make demo` in a fresh run folder and prints the wall time and the peak memory of the whole
family of processes, read twice a second.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from pydantic import Field

from tablemend.config import Section, load
from tablemend.errors import TablemendError
from tablemend.script import run_script


class Demo(Section):
    """Where the measured run writes."""

    folder: str = "runs/demo-benchmark"
    """Run folder; deleted first."""
    every: float = Field(default=0.5, gt=0)
    """Seconds between two readings of the memory."""


def resident(group: int) -> int:
    """Bytes that the processes of a process group hold, shared pages counted once each."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[2]) != group:
                continue
            rollup = (status.parent / "smaps_rollup").read_text()
        except OSError:  # the process ended meanwhile
            continue
        total += sum(
            int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")
        )
    return total * 1024


def main() -> None:
    """Run, watch, print."""
    settings = load(Demo)
    if not sys.platform.startswith("linux"):
        raise TablemendError("memory is read from /proc: this benchmark needs Linux")
    for folder in (settings.folder, f"{settings.folder}-data"):
        shutil.rmtree(folder, ignore_errors=True)
    command = ["make", "demo", f"RUN={settings.folder}", f"DATA={settings.folder}-data"]
    start, peak = time.monotonic(), 0
    with subprocess.Popen(command, start_new_session=True) as process:
        while process.poll() is None:
            peak = max(peak, resident(os.getpgid(process.pid)))
            time.sleep(settings.every)
    seconds = time.monotonic() - start
    if process.returncode:
        raise TablemendError(f"make demo ended with status {process.returncode}")
    print(f"{seconds / 60:.1f} min on {os.cpu_count()} CPUs, peak {peak / 2**30:.2f} GiB")


if __name__ == "__main__":
    run_script(main)
