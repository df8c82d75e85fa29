"""A process that generates is killed, or interrupted: nothing that was handed out is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from tablemend.backends.backend import open_backend
from tablemend.backends.openai_client import AHEAD
from tablemend.backends.requests import Request, Sampling
from tablemend.config.backend import BackendOptions
from tests.support.chat_server import ChatServer, Reply, Seen, answer


def echo(seen: Seen) -> Reply:
    return answer(seen.prompt)


CHILD = """
import signal
import sys
from tablemend.backends.backend import open_backend
from tablemend.backends.requests import Request, Sampling
from tablemend.config.backend import BackendOptions

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run behind a &
url, cache, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = BackendOptions(cache=cache, concurrency=8, backoff=0.01)
requests = (
    Request(f"r{i}", ({"role": "user", "content": f"prompt {i}"},), Sampling(50, 0.6))
    for i in range(n)
)
with open_backend(f"openai:m@{url}", options) as backend:
    for one in backend.generate(requests):
        print(one.id, one.text, flush=True)
"""


def test_kill_9_loses_nothing_that_was_handed_out(tmp_path: Path) -> None:
    total, rounds, rng = 200, 3, random.Random(3)
    path = str(tmp_path / "c.sqlite")
    out: dict[str, str] = {}
    asked: Counter[str] = Counter()
    with ChatServer(lambda seen: replace(echo(seen), seconds=0.005)) as server:
        for number in range(rounds + 1):
            before = set(out)
            child = subprocess.Popen(
                [sys.executable, "-c", CHILD, server.url, path, str(total)],
                stdout=subprocess.PIPE,
                text=True,
            )
            assert child.stdout is not None
            most = len(before) + rng.randint(1, 20) if number < rounds else total
            for lines, line in enumerate(child.stdout, 1):
                id, _, text = line.strip().partition(" ")
                out[id] = text
                if lines >= most and number < rounds:
                    child.kill()
                    break
            child.communicate()
            again = {f"r{seen.prompt[7:]}" for seen in server.seen}
            server.seen.clear()
            assert again & before == set()  # what was handed out is never asked again
            asked.update(again)
    assert out == {f"r{n}": f"prompt {n}" for n in range(total)}
    # asked twice is only what was in flight at a kill
    assert set(asked) == set(out) and sum(asked.values()) <= total + rounds * AHEAD * 8


def test_ctrl_c_ends_cleanly_with_what_is_done_stored(tmp_path: Path) -> None:
    path = str(tmp_path / "c.sqlite")

    def respond(seen: Seen) -> Reply:
        return replace(echo(seen), seconds=60 if seen.number > 20 else 0)

    with ChatServer(respond) as server:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, server.url, path, "100"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        seen = [child.stdout.readline() for _ in range(20)]
        began = time.monotonic()
        os.kill(child.pid, signal.SIGINT)
        _, errors = child.communicate(timeout=30)
        assert time.monotonic() - began < 10
        assert errors.strip().endswith("KeyboardInterrupt") and len(seen) == 20
        assert "Task" not in errors and "never" not in errors
        server.respond = echo
        server.seen.clear()
        asked = [
            Request(f"r{n}", ({"role": "user", "content": f"prompt {n}"},), Sampling(50, 0.6))
            for n in range(100)
        ]
        with open_backend(f"openai:m@{server.url}", BackendOptions(cache=path)) as backend:
            assert len(list(backend.generate(asked))) == 100
        assert len(server.seen) <= 80
