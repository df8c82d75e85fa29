"""The command with a model server: killed, cut short by a cap or a person."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tablemend.datasets.splits import SPLITS
from tablemend.records import Example
from tablemend.tasks.tablehallu.verification import verify
from tablemend.tasks.tablehallu_llm.dataset import ROWS
from tests.support.model_server.server import ModelServer
from tests.support.scripts import ROOT, run_captured

N = 16
FAULTS = "mistake:0.1+prose:0.05+bad-json:0.05+429:0.05+cut:0.03+wrong-verdict:0.03+length:0.02"


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    """It counts how often it is asked the same, so it is started anew for each command."""
    started = ModelServer(FAULTS, seed=3, latency=0.02)
    yield started
    started.stop()


def command(server: ModelServer, folder: Path, *more: str) -> list[str]:
    options = {"cache": folder / "out.sqlite", "backoff": 0.01, "price_in": 2, "price_out": 8}
    return [
        "data_gen/tablehallu.py",
        "engine=llm",
        f"generator={server.model}",
        f"n={N}",
        f"out={folder / 'out'}",
        "concurrency=4",
        *(f"generator_options.{key}={value}" for key, value in options.items()),
        *more,
    ]


def run(server: ModelServer, folder: Path, *tokens: str) -> subprocess.CompletedProcess[str]:
    server.restart()
    return run_captured(*command(server, folder, *tokens))


def files(out: Path) -> dict[str, bytes]:
    """The data set, without the rows that it was joined from."""
    return {path.name: path.read_bytes() for path in out.glob("[!.]*") if path.name != ROWS}


def numbers(out: Path) -> list[int]:
    """Numbers of the rows that are whole, in the order of their lines."""
    path = out / ROWS
    lines = path.read_bytes().splitlines(keepends=True)[1:] if path.exists() else []
    return [json.loads(line)["number"] for line in lines if line.endswith(b"\n")]


@pytest.fixture(scope="module")
def whole(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What an uninterrupted run leaves."""
    folder = tmp_path_factory.mktemp("whole")
    done = run(server, folder)
    assert done.returncode == 0, done.stderr
    assert "estimate for 16 rows" in done.stdout
    return files(folder / "out")


def test_the_command_makes_verified_examples_and_says_what_was_rejected(
    whole: dict[str, bytes],
) -> None:
    counts = json.loads(whole["counts.json"])
    lines = [line for split in SPLITS for line in whole.get(f"{split}.jsonl", b"").splitlines()]
    assert len(lines) == counts["examples"]["made"] >= N // 2
    for line in lines:
        example = Example.from_json(json.loads(line))
        stages = [call.stage for call in example.calls]
        assert stages[0] == "kernel" and stages[-1] == "verify_distractors"
        assert {call.prompt.partition("/")[0] for call in example.calls} == set(stages)
        assert all(call.prompt_tokens > 0 and call.model == "openai:scripted" for call in
                   example.calls)  # fmt: skip
        gold = [cell for row in example.gold_table.rows for cell in row if cell is not None]
        assert len(example.facts) >= len(gold) >= 15
        for fact in example.facts:
            place = fact.adversarial
            assert example.adversarial_context[place.start : place.end] == fact.value
    rejected = [json.loads(line) for line in whole["rejected.jsonl"].splitlines()]
    total = sum(count for kinds in counts["rejected"].values() for count in kinds.values())
    assert len(rejected) == total > 5
    assert len(counts["rejected"]) >= 3


@pytest.mark.slow
def test_killed_or_interrupted_again_and_again_nothing_is_lost_or_twice(
    server: ModelServer, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    rng = Random(20)
    out = tmp_path / "out"
    before: list[int] = []
    for stop in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGKILL, signal.SIGKILL):
        server.restart()
        process = subprocess.Popen(
            [sys.executable, *command(server, tmp_path)],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        more = rng.randrange(2) if stop == signal.SIGKILL else 1  # by then it is well begun
        _wait_for_rows(process, out, len(before) + more)
        time.sleep(rng.random() * 0.1)
        os.killpg(process.pid, stop)  # as a terminal does: whatever it started gets it too
        _, errors = process.communicate(timeout=600)
        if stop == signal.SIGINT:
            assert process.returncode == 130 and "Traceback" not in errors
            assert errors.strip().splitlines()[-1] == "interrupted; the same command continues"
        after = numbers(out)
        assert after[: len(before)] == before
        before = after
    done = run(server, tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(numbers(out)) == list(range(N))
    assert numbers(out)[: len(before)] == before
    assert files(out) == whole


LAST = "order=query-last n=6 queries=2 difficulty=paper batch=4 concurrency=2 retries=6".split()


def test_the_query_is_drawn_last_and_a_kill_changes_nothing(
    server: ModelServer, tmp_path: Path
) -> None:
    done = run(server, tmp_path / "quiet", *LAST)
    assert done.returncode == 0, done.stderr
    quiet = files(tmp_path / "quiet" / "out")
    counts = json.loads(quiet["counts.json"])
    assert set(counts["calls"]) == set(counts["rejected"]) == {"word"}
    lines = [line for split in SPLITS for line in quiet.get(f"{split}.jsonl", b"").splitlines()]
    assert len(lines) == counts["examples"]["made"] == 2 * counts["sizes"]["contexts"] >= 8
    contexts: dict[str, set[str]] = {}
    for line in lines:
        example = Example.from_json(json.loads(line))
        assert verify(example) is None
        assert {call.stage for call in example.calls} == {"word"}
        contexts.setdefault(example.adversarial_context, set()).add(example.query)
    assert {len(queries) for queries in contexts.values()} == {2}
    assert b"`order=query-last`" in quiet["README.md"]
    server.restart()
    last = [sys.executable, *command(server, tmp_path, *LAST)]
    process = subprocess.Popen(last, cwd=ROOT, start_new_session=True)
    _wait_for_rows(process, tmp_path / "out", 1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=600)
    assert 0 < len(numbers(tmp_path / "out")) < 6
    done = run(server, tmp_path, *LAST)
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "out") == quiet


def _wait_for_rows(process: subprocess.Popen[str], out: Path, count: int) -> None:
    """Wait until so many rows are there; an ended run has them all."""
    cache = out.with_suffix(".sqlite-wal")
    while process.poll() is None:
        if count == 0 and cache.exists() and cache.stat().st_size:
            return  # the first answers
        if count and len(numbers(out)) >= count:
            return
        time.sleep(0.01)


def test_a_cap_stops_with_one_line_and_the_same_command_continues(
    server: ModelServer, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    done = run(server, tmp_path, "generator_options.max_tokens_total=100000")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("stopped: max_tokens_total=100000 is used up")
    assert done.stderr.count("\n") == 1
    made = numbers(tmp_path / "out")
    assert 0 < len(made) < N
    done = run(server, tmp_path)
    assert done.returncode == 0, done.stderr
    assert numbers(tmp_path / "out")[: len(made)] == made
    assert files(tmp_path / "out") == whole
