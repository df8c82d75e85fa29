"""The request cache: whole keys, shared files, damage, full disks."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tablemend.backends.backend import RequestCache
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.errors import FULL_DISK, TablemendError
from tests.support.files import file_size_limit

IDENTITY = {"engine": "openai", "model": "m"}
TURNS = ({"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"})
REQUEST = Request("a", TURNS, Sampling(100, 0.6), True, {"type": "object"}, 7)
DONE = Completion("a", "Grüße \U0001f600 \ud800", 10, 3, "stop", "", 1.5, 4, True)


def numbered(number: int) -> tuple[bytes, Completion]:
    return number.to_bytes(32, "big"), Completion(
        f"r{number}", f"text {number} " * 20, 9, 9, "stop"
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "below" / "cache.sqlite"


def test_an_answer_comes_back_whole_and_under_the_id_that_asks(path: Path) -> None:
    cache = RequestCache(path, IDENTITY)
    key = cache.key(REQUEST)
    assert cache.get(key, "a") is None
    cache.put(key, DONE)
    assert cache.get(key, "b") == replace(DONE, id="b")
    cache.close()
    again = RequestCache(path, dict(reversed(IDENTITY.items())))
    assert again.get(again.key(REQUEST), "a") == DONE


def test_the_files_are_readable_for_their_owner_alone(path: Path) -> None:
    with closing(RequestCache(path, IDENTITY)) as cache:
        cache.put(*numbered(2))
        modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}
        assert set(modes.values()) == {0o600} and len(modes) == 3
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


CHANGES: list[dict[str, Any]] = [
    {"messages": ({"role": "user", "content": "be brief"}, TURNS[1])},
    {"messages": (TURNS[1], TURNS[0])},
    {"messages": ({"role": "system", "content": "be brief hello"},)},
    {"sampling": Sampling(101, 0.6)},
    {"sampling": Sampling(100, 0.7)},
    {"sampling": Sampling(100)},
    {"thinking": False},
    {"thinking": None},
    {"schema": None},
    {"schema": {"type": "array"}},
    {"schema": {"type": "object", "properties": {"a": {}, "b": {}}}},
    {"schema": {"type": "object", "properties": {"b": {}, "a": {}}}},
    {"grammar": 'root ::= "a"'},
    {"seed": 8},
]


def test_the_key_holds_everything_that_matters_and_nothing_else(path: Path) -> None:
    cache = RequestCache(path, IDENTITY)
    keys = [cache.key(REQUEST), *(cache.key(replace(REQUEST, **change)) for change in CHANGES)]
    other = RequestCache(path.with_name("other"), {**IDENTITY, "model": "n"})
    keys.append(other.key(REQUEST))
    assert len(set(keys)) == len(keys)
    assert cache.key(replace(REQUEST, id="b")) == keys[0]
    assert (
        cache.key(replace(REQUEST, messages=[dict(reversed(turn.items())) for turn in TURNS]))
        == keys[0]
    )
    greedy = replace(REQUEST, sampling=Sampling(100))
    assert cache.key(greedy) == cache.key(replace(greedy, seed=99))


@pytest.mark.parametrize(
    ("finish", "kept"), [("stop", True), ("length", True), ("refusal", True), ("error", False)]
)
def test_only_what_failed_is_asked_again(finish: Any, kept: bool, path: Path) -> None:
    cache = RequestCache(path, IDENTITY)
    one = replace(DONE, finish_reason=finish)
    cache.put(b"1" * 32, one)
    assert cache.get(b"1" * 32, "a") == (one if kept else None)


def filled(path: Path, n: int = 300) -> None:
    with closing(RequestCache(path, IDENTITY)) as cache:
        for number in range(n):
            cache.put(*numbered(number))


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def change(statement: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        with closing(sqlite3.connect(path)) as base:
            base.executescript(statement)

    return run


REFUSED: dict[str, Callable[[Path], object]] = {
    "noise": lambda path: path.write_bytes(bytes(range(256)) * 64),
    "a text": lambda path: path.write_text("Name,Year\nAnn,1990\n"),
    "cut in half": halve,
    "a damaged head": lambda path: path.write_bytes(b"x" * 16 + path.read_bytes()[16:]),
    "another version": change("PRAGMA user_version = 99"),
    "other columns": change("DROP TABLE answers; CREATE TABLE answers (a)"),
    "damaged values": change("UPDATE answers SET answer = substr(answer, 1, 20)"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_that_is_damaged_or_of_something_else_is_refused_and_left_alone(
    kind: str, path: Path
) -> None:
    filled(path)
    REFUSED[kind](path)
    before = path.read_bytes()
    with pytest.raises(TablemendError, match=r"request cache .*cache=null") as caught:
        RequestCache(path, IDENTITY).get(numbered(250)[0], "a")
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_a_full_disk_is_named_and_loses_nothing(path: Path) -> None:
    cache = RequestCache(path, IDENTITY)
    stored = 0
    with file_size_limit(400_000), pytest.raises(OSError) as caught:
        while stored < 100_000:
            cache.put(*numbered(stored))
            stored += 1
    assert caught.value.errno in FULL_DISK and caught.value.filename == str(path.parent)
    assert 10 < stored < 100_000
    assert all(cache.get(numbered(n)[0], f"r{n}") == numbered(n)[1] for n in range(stored))
    cache.put(*numbered(stored))  # there is room again
    assert cache.get(numbered(stored)[0], f"r{stored}") == numbered(stored)[1]


WRITER = """
import sys
from pathlib import Path
from tablemend.backends.backend import RequestCache
from tablemend.backends.requests import Completion
cache, own = RequestCache(Path(sys.argv[1]), {"a": 1}), int(sys.argv[2])
for number in range(400):
    key = number.to_bytes(32, "big")
    if number % 2 == own:
        cache.put(key, Completion("x", f"text {number}", 1, 1, "stop"))
    found = cache.get(key, "x")
    assert found is None or found.text == f"text {number}"
"""


def test_several_processes_share_one_file(path: Path) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(own)], stderr=subprocess.PIPE
        )
        for own in range(2)
    ]
    for process in running:
        _, errors = process.communicate(timeout=600)
        assert (process.returncode, errors) == (0, b"")
    cache = RequestCache(path, {"a": 1})
    found = [cache.get(number.to_bytes(32, "big"), "x") for number in range(400)]
    assert [one and one.text for one in found] == [f"text {number}" for number in range(400)]
