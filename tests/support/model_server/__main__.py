"""``python -m tests.support.model_server``: a model server for tests, on this machine alone."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from tablemend.errors import TablemendError
from tablemend.script import run_script

if TYPE_CHECKING:
    from tests.support.model_server.chat import Answerer
    from tests.support.model_server.server import Server

PARENT = os.getppid()  # before the slow imports: who starts us may be killed meanwhile
PARENT_EVERY = 0.5  # seconds


def main() -> None:
    """Serve until SIGTERM, Ctrl-C or the end of the process that started this one."""
    from tests.support.model_server.faults import Faults
    from tests.support.model_server.server import Server

    options = _parser().parse_args()
    if options.latency < 0:
        raise TablemendError(f"--latency {options.latency:g}: seconds from 0")
    if options.answer is not None and options.examples is not None:
        raise TablemendError("--answer is the answer to everything: leave --examples out")
    if options.examples is not None and not options.examples.exists():
        raise TablemendError(f"--examples: no file or folder {options.examples}")
    faults = Faults.parse(options.faults, options.seed)
    answerer = _answerer(options.answer, options.examples)
    asyncio.run(_serve(Server(answerer, faults, options.latency), options.port))


def _answerer(answer: str | None, examples: Path | None) -> Answerer:
    """What answers; the oracle's imports are slow, and a fixed answer does without."""
    if answer is not None:
        from tests.support.model_server.chat import FixedAnswer

        return FixedAnswer(answer)
    from tests.support.model_server.oracle import Oracle

    return Oracle(examples)


def _parser() -> argparse.ArgumentParser:
    from tests.support.model_server.faults import CONTENT, MISTAKES, SPEC, TRANSPORT

    listing = "\n".join(
        f"  {name:<18}{meaning}"
        for group in (TRANSPORT, CONTENT, MISTAKES)
        for name, meaning in group.items()
    )
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.model_server",
        description="A local server that speaks the OpenAI chat protocol and answers by program. "
        "It prints its base URL first.",
        epilog=f"faults: {SPEC}\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one (default)")
    parser.add_argument(
        "--latency", type=float, default=0.0, metavar="S", help="seconds from request to answer"
    )
    parser.add_argument("--faults", default="", metavar="SPEC", help="what goes wrong; see below")
    parser.add_argument("--seed", type=int, default=0, help="of faults and answers")
    parser.add_argument(
        "--examples",
        type=Path,
        metavar="PATH",
        help="file or folder of examples whose tables are answered with their gold tables",
    )
    parser.add_argument("--answer", metavar="TEXT", help="the same answer to everything")
    return parser


async def _serve(server: Server, port: int) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        listening, url = await server.start(port)
    except (OSError, OverflowError) as error:
        raise TablemendError(f"--port {port} cannot be listened on: {error}") from error
    print(url, flush=True)
    watch = asyncio.create_task(_watch_parent(stop))
    await stop.wait()
    watch.cancel()
    listening.close()  # open connections end with the process


async def _watch_parent(stop: asyncio.Event) -> None:
    """An orphan has another parent."""
    while os.getppid() == PARENT:
        await asyncio.sleep(PARENT_EVERY)
    stop.set()


if __name__ == "__main__":
    run_script(main)
