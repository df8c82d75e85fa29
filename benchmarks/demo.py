"""Time and memory of the main job after the installs: the figures behind `make demo`.

    python benchmarks/demo.py [folder=runs/demo-benchmark]

Runs `make install`, then `make demo` in a new run folder, and prints the wall time of the latter
and the peak memory of everything it starts, read twice a second. Linux only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from tablemend.config import Section, load
from tablemend.errors import TablemendError
from tablemend.script import run_script

ROOT = Path(__file__).parents[1]
PATIENCE = 10.0
"""Seconds that interrupted processes get to end by themselves."""


class Demo(Section):
    """Where the measured run writes, and how often memory is read."""

    folder: str = Field(default="runs/demo-benchmark", pattern=r"^runs/[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Run folder, directly below runs/; neither it nor <folder>-data may exist."""
    every: float = Field(default=0.5, gt=0)
    """Seconds between two readings of the memory."""


def family(leader: int) -> set[int]:
    """Process ids of a session's leader, its group and session, and all that descend from them.

    Descendants count too because launchers give their workers sessions of their own.
    """
    parents, found = {}, {leader}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # the process ended meanwhile
            continue
        process, parent, group, session = int(path.parent.name), *map(int, fields[1:4])
        parents[process] = parent
        if leader in (group, session):
            found.add(process)
    while new := {process for process, parent in parents.items() if parent in found} - found:
        found |= new
    return found


def resident(leader: int) -> int:
    """Bytes that a family holds, swap included; a page that several share counts once in all."""
    total = 0
    for process in family(leader):
        try:
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue
        lines = (line.split() for line in rollup.splitlines())
        total += sum(int(line[1]) for line in lines if line[0] in ("Pss:", "SwapPss:"))
    return total * 1024


def watch(command: list[str], every: float) -> tuple[float, int]:
    """Run a command from the repository root; its wall seconds and its family's peak in bytes.

    Whatever ends this function early ends the command's process group too.

    Raises:
        TablemendError: the command failed.
    """
    start, peak = time.monotonic(), 0
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        while True:
            peak = max(peak, resident(process.pid))
            with suppress(subprocess.TimeoutExpired):
                status = process.wait(every)
                break
        seconds = time.monotonic() - start
        if status:
            raise TablemendError(f"{' '.join(command)} ended with status {status}")
    except BaseException:
        end_group(process)
        raise
    return seconds, peak


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and its group: asked first, then forced."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def refuse_leftovers(folder: str) -> str:
    """The data folder that goes with a run folder.

    Raises:
        TablemendError: one of them exists; a run in it would be continued, not measured.
    """
    data = f"{folder}-data"
    found = [name for name in (folder, data) if os.path.lexists(ROOT / name)]
    if found:
        raise TablemendError(
            f"{' and '.join(found)} already there: delete {'it' if len(found) == 1 else 'them'}, "
            "or give another folder=runs/NAME"
        )
    return data


def main() -> None:
    """Install, run, watch, print."""
    settings = load(Demo)
    if not sys.platform.startswith("linux"):
        raise TablemendError("memory is read from /proc: this benchmark needs Linux")
    data = refuse_leftovers(settings.folder)
    try:
        watch(["make", "install"], settings.every)
        seconds, peak = watch(
            ["make", "demo", f"RUN={settings.folder}", f"DATA={data}"], settings.every
        )
    except KeyboardInterrupt:  # run_script would say that the same command continues
        raise TablemendError(
            f"interrupted, nothing measured: delete {settings.folder} and {data} before the next"
        ) from None
    cores = len(os.sched_getaffinity(0))
    print(f"{seconds / 60:.1f} min on {cores} CPU cores, peak {peak / 2**30:.2f} GiB")


if __name__ == "__main__":
    run_script(main)
