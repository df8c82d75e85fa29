"""Speed and memory of the program engine, on one core.

python benchmarks/synthesis.py [source=PATH|pool] [n=2000] [stream=100000]

Prints examples a second (CPU time, verification included; with and without writing the line)
for each difficulty once the tables are warm, and the resident memory along a stream.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from pathlib import Path

from tablemend.config import parse
from tablemend.synthesis.engine import Engine, open_engine
from tablemend.synthesis.files import encode
from tablemend.synthesis.settings import Synthesis

REAL = Path(__file__).parents[2] / "shared" / "data" / "wikitablequestions"
CHUNK = 250


def measure(engine: Engine, start: int, n: int, write: bool) -> tuple[float, float]:
    """Examples a CPU second: over all, and of the best chunk (other work on the core slows)."""
    total, best = 0.0, 0.0
    for first in range(start, start + n, CHUNK):
        begun = time.process_time()
        for number in range(first, first + CHUNK):
            example = engine.make(number)
            if write and example is not None:
                encode(example)
        seconds = time.process_time() - begun
        total += seconds
        best = max(best, CHUNK / seconds)
        gc.collect()
    return n / total, best


def resident_mib() -> float:
    """Resident memory now, in MiB; the peak where the system does not say."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def main() -> None:
    """Print the figures."""
    given = dict(token.split("=", 1) for token in sys.argv[1:])
    source = given.get("source", str(REAL))
    n, stream = int(given.get("n", 2000)), int(given.get("stream", 100_000))
    gc.disable()  # as the writer does
    stream_examples(source, stream)
    for difficulty in ("easy", "medium", "hard"):
        settings = parse(Synthesis, [f"source={source}", f"difficulty={difficulty}"])
        engine = open_engine(settings)
        measure(engine, 0, 500, write=False)
        for write in (False, True):
            rate, best = measure(engine, 500, n, write)
            what = "made, verified and encoded" if write else "made and verified"
            print(f"{difficulty}: {what}: {rate:.0f} examples/s, best chunk {best:.0f}", flush=True)


def stream_examples(source: str, n: int) -> None:
    """Make ``n`` examples and let them go, and print the memory ten times on the way."""
    engine = open_engine(parse(Synthesis, [f"source={source}"]))
    for number in range(n + 1):
        if number % (n // 10) == 0:
            print(f"stream: {number} examples, {resident_mib():.0f} MiB resident", flush=True)
        engine.make(number)
        if number % 1000 == 0:
            gc.collect()


if __name__ == "__main__":
    main()
