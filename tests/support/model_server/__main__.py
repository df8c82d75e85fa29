"""``python -m tests.support.model_server``: a model server for tests, on this machine alone."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from typing import TYPE_CHECKING

from aiohttp import web

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

    parser = argparse.ArgumentParser(prog="python -m tests.support.model_server")
    parser.add_argument("--port", type=int, default=0, help="0: any free one (default)")
    parser.add_argument(
        "--latency", type=float, default=0.0, metavar="S", help="seconds from request to answer"
    )
    parser.add_argument("--faults", default="", metavar="SPEC", help="what goes wrong: README.md")
    parser.add_argument("--seed", type=int, default=0, help="of faults and answers")
    parser.add_argument("--answer", metavar="TEXT", help="the same answer to everything")
    options = parser.parse_args()
    faults = Faults.parse(options.faults, options.seed)
    asyncio.run(_serve(Server(_answerer(options.answer), faults, options.latency), options.port))


def _answerer(answer: str | None) -> Answerer:
    """What answers; what reads prompts imports much, and a fixed answer does without."""
    if answer is not None:
        from tests.support.model_server.chat import FixedAnswer

        return FixedAnswer(answer)
    from tests.support.model_server.scripted import PromptAnswers

    return PromptAnswers()


async def _serve(server: Server, port: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, reuse_address=True)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    while os.getppid() == PARENT and not stop.is_set():  # an orphan has another parent
        await asyncio.wait([asyncio.create_task(stop.wait())], timeout=PARENT_EVERY)
    os._exit(0)  # open connections end with the process


if __name__ == "__main__":
    run_script(main)
