"""Speed and memory of the program engine, on one core.

    python benchmarks/synthesis.py [source=PATH|pool] [n=2000] [stream=20000]

Prints contexts with their query a second (CPU time, verification included; with and without
writing the line) for each difficulty once the tables are warm, and the resident memory along a
stream. Places in the stream that gave no valid example cost time and do not count as examples.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from pathlib import Path
from typing import Literal

from pydantic import Field

from tablemend.config import Section, load
from tablemend.errors import TablemendError
from tablemend.runs import to_line
from tablemend.script import run_script
from tablemend.tasks.tablehallu.engine import Maker, open_maker
from tablemend.tasks.tablehallu.settings import Synthesis

REAL = Path(__file__).parents[2] / "shared" / "data" / "wikitablequestions"
CHUNK = 250
WARM = 500
DIFFICULTIES: tuple[Literal["paper", "easy", "medium", "hard"], ...] = (
    "paper",
    "easy",
    "medium",
    "hard",
)


class Benchmark(Section):
    """What to measure."""

    source: str | None = None
    """As in data_gen; null: shared/data/wikitablequestions beside the repository."""
    n: int = Field(default=2000, ge=1)
    """Contexts a difficulty, of one query each."""
    stream: int = Field(default=20_000, ge=1)
    """Examples of the stream along which memory is read."""


def measure(engine: Maker, start: int, n: int, write: bool) -> tuple[float, float]:
    """Examples a CPU second: over all, and of the best chunk (other work on the core slows)."""
    total, made, best = 0.0, 0, 0.0
    for first in range(start, start + n, CHUNK):
        numbers = range(first, min(first + CHUNK, start + n))
        good = 0
        begun = time.process_time()
        for number in numbers:
            for example in engine.make(number):
                good += 1
                if write:
                    to_line(example.to_json())
        seconds = max(time.process_time() - begun, 1e-9)  # a coarse clock may stand still
        total += seconds
        made += good
        if len(numbers) == min(CHUNK, n):  # a short rest would be the best by chance
            best = max(best, good / seconds)
        gc.collect()
    return made / total, best


def resident_mib() -> float:
    """Resident memory now, in MiB; the peak where the system does not say."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 2**20
    unit = 1 if sys.platform == "darwin" else 2**10  # macOS counts bytes, others KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def stream_examples(source: str, n: int) -> None:
    """Make ``n`` examples and let them go, and print the memory about ten times on the way."""
    engine = open_maker(Synthesis(source=source, queries=1))
    made = 0
    for number in range(n + 1):
        if number % -(-n // 10) == 0 or number == n:
            print(f"stream: {made} examples, {resident_mib():.0f} MiB resident", flush=True)
        if number < n:
            made += len(engine.make(number))
        if number % 1000 == 0:
            gc.collect()


def main() -> None:
    """Print the figures."""
    settings = load(Benchmark)
    if settings.source is None and not REAL.is_dir():
        raise TablemendError(f"no tables in {REAL}: give source=PATH, or source=pool")
    source = str(REAL) if settings.source is None else settings.source
    gc.disable()  # as the writer does
    stream_examples(source, settings.stream)
    for difficulty in DIFFICULTIES:
        engine = open_maker(Synthesis(source=source, difficulty=difficulty, queries=1))
        measure(engine, 0, WARM, write=False)
        for write in (False, True):
            rate, best = measure(engine, WARM, settings.n, write)
            what = "made, verified and encoded" if write else "made and verified"
            print(f"{difficulty}: {what}: {rate:.0f} examples/s, best chunk {best:.0f}", flush=True)


if __name__ == "__main__":
    run_script(main)
