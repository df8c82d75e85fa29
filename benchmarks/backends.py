"""What asking a server costs: rate, CPU and memory of the client of OpenAI-compatible servers.

    python -m benchmarks.backends [concurrency=256] [latency=0.05] [n=5000] [stream=20000]

Starts the server of the tests, which answers every request after `latency` seconds, and asks it
in several ways; the ideal rate is concurrency / latency. CPU is that of this process, all threads
together, in microseconds a request and in cores; the server's is given beside it, since a server
that fills its own core is the ceiling. The last lines are the resident memory along a stream of
requests that all go through the request cache. Other work on the machine lowers the rates and
hardly touches the microseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field

from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.requests import Request, Sampling
from tablemend.config import Section, load
from tablemend.config.section import BackendOptions
from tablemend.errors import TablemendError
from tablemend.script import run_script
from tests.support.chat_server import serve

MODEL = "scripted"
ANSWER = "The table has four rows and three columns. " * 10
POINTS = 10
"""Readings of the memory."""


class Benchmark(Section):
    """What to measure."""

    concurrency: int = Field(default=256, ge=1)
    """Requests in flight."""
    latency: float = Field(default=0.05, gt=0)
    """Seconds that the server takes for an answer."""
    n: int = Field(default=5_000, ge=1)
    """Requests of each way of asking."""
    stream: int = Field(default=20_000, ge=0)
    """Requests of the stream along which memory is read; 0: none."""
    words: int = Field(default=200, ge=1)
    """Words of a prompt."""


@dataclass(frozen=True)
class Measured:
    """One way of asking.

    Attributes:
        name: which.
        n: requests answered.
        seconds: wall time.
        cpu: seconds of CPU of this process.
        server_cpu: seconds of CPU of the server; 0 where none was asked.
    """

    name: str
    n: int
    seconds: float
    cpu: float
    server_cpu: float

    def row(self, ideal: float) -> str:
        """A row of the table."""
        rate = self.n / self.seconds
        server = f"{self.server_cpu / self.seconds:.2f}" if self.server_cpu else "-"
        return (
            f"| {self.name} | {self.n} | {rate:.0f} | {rate / ideal:.0%} | "
            f"{self.cpu / self.n * 1e6:.0f} | {self.cpu / self.seconds:.2f} | {server} |"
        )

    def less(self, start: Measured) -> Measured:
        """Without the CPU that the server took to start."""
        return replace(self, server_cpu=max(0.0, self.server_cpu - start.server_cpu))


HEAD = (
    "| asked through | requests | requests/s | of the ideal | CPU, us/request | cores | server |\n"
    "|---|---|---|---|---|---|---|"
)


def requests(settings: Benchmark, n: int, first: int = 0) -> Iterator[Request]:
    """Different prompts of the same length."""
    text = " ".join(["word"] * settings.words)
    for number in range(first, first + n):
        turn = {"role": "user", "content": f"{number} {text}"}
        yield Request(f"r{number}", (turn,), Sampling(512, 0.6), seed=number)


@contextmanager
def served(settings: Benchmark) -> Iterator[str]:
    """The URL of a server in a process of its own, which has ended afterwards."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=serve, args=(ANSWER, settings.latency, there))
    process.start()
    try:
        yield here.recv()
    finally:
        here.send(None)
        process.join()


def measure(name: str, settings: Benchmark, ask: Callable[[str], int]) -> Measured:
    """Start a server, ask it by ``ask(url)``, which says how many answers came, and end it."""
    before = _cpu(resource.RUSAGE_CHILDREN)
    with served(settings) as url:
        wall, cpu = time.monotonic(), _cpu(resource.RUSAGE_SELF)
        n = ask(url)
        wall, cpu = time.monotonic() - wall, _cpu(resource.RUSAGE_SELF) - cpu
    return Measured(name, n, wall, cpu, _cpu(resource.RUSAGE_CHILDREN) - before)


def _cpu(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def open_for(url: str, settings: Benchmark, **more: object) -> Backend:
    """A backend for the server."""
    options = BackendOptions.model_validate(
        {"concurrency": settings.concurrency, "cache": None, "key_variable": "", **more}
    )
    return open_backend(f"openai:{MODEL}@{url}", options)


def generate(backend: Backend, settings: Benchmark, n: int) -> int:
    """Answer ``n`` requests; fails where one does not come back well."""
    done = 0
    with backend:
        for one in backend.generate(requests(settings, n)):
            if one.finish_reason != "stop":
                raise TablemendError(f"{one.id}: {one.error or one.finish_reason}")
            done += 1
    return done


def ways(settings: Benchmark, folder: Path) -> Iterator[Measured]:
    """Every way of asking, one after the other."""
    cache = str(folder / "requests.sqlite")
    for name, more in (("backend", {}), ("backend with request cache", {"cache": cache})):
        yield measure(
            name,
            settings,
            lambda url, more=more: generate(open_for(url, settings, **more), settings, settings.n),
        )


def resident_mib() -> float:
    """Resident memory now, in MiB; the peak where the system does not say."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 2**20
    unit = 1 if sys.platform == "darwin" else 2**10  # macOS counts bytes, others KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def read_memory(settings: Benchmark, url: str, folder: Path) -> Iterator[tuple[int, float]]:
    """Answer a stream with the cache; answers so far and resident MiB, about ten times."""
    step = -(-settings.stream // POINTS)
    backend = open_for(url, settings, cache=str(folder / "stream.sqlite"))
    with backend:
        answers = backend.generate(requests(settings, settings.stream))
        for done, _ in enumerate(answers, 1):
            if done % step == 0 or done == settings.stream:
                yield done, resident_mib()


def main() -> None:
    """Print the figures."""
    settings = load(Benchmark)
    ideal = settings.concurrency / settings.latency
    cores = os.cpu_count()
    print(
        f"{settings.concurrency} requests in flight, {settings.latency * 1e3:g} ms an answer: "
        f"{ideal:.0f} requests/s at the most; {cores} cores, load {os.getloadavg()[0]:.1f}\n"
    )
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as name:
        start = measure("nothing", settings, lambda url: 0)
        for measured in ways(settings, Path(name)):
            print(measured.less(start).row(ideal), flush=True)
        if settings.stream:
            print()
            with served(settings) as url:
                for done, mib in read_memory(settings, url, Path(name)):
                    print(f"stream: {done} answers, {mib:.0f} MiB resident", flush=True)


if __name__ == "__main__":
    run_script(main)
