"""The request cache: whole keys, shared files, damage, full disks."""

from __future__ import annotations

import asyncio
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

from tablemend.backends.cache import APPLICATION, RequestCache
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.errors import FULL_DISK, TablemendError
from tablemend.script import run_script
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
    cache.put([(key, DONE)])
    assert cache.get(key, "b") == replace(DONE, id="b")
    cache.close()
    again = RequestCache(path, dict(reversed(IDENTITY.items())))
    assert again.get(again.key(REQUEST), "a") == DONE


@pytest.mark.parametrize("earlier", [False, True])
def test_the_files_are_readable_for_their_owner_alone(earlier: bool, path: Path) -> None:
    with closing(RequestCache(path, IDENTITY)) as cache:
        cache.put([numbered(1)])
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    if earlier:
        path.chmod(0o644)
        path.parent.chmod(0o755)
    with closing(RequestCache(path, IDENTITY)) as cache:
        cache.put([numbered(2)])
        modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}
        assert set(modes.values()) == {0o600} and len(modes) == 3
    assert stat.S_IMODE(path.parent.stat().st_mode) == (0o755 if earlier else 0o700)


def test_half_a_surrogate_pair_that_was_stored_comes_back_as_a_replacement(path: Path) -> None:
    with closing(RequestCache(path, IDENTITY)) as cache:
        stored = replace(DONE)
        object.__setattr__(stored, "text", "Gr\udc80")  # as it was stored once
        cache.put([(b"key", stored)])
        found = cache.get(b"key", "a")
    assert found is not None and found.text == "Gr\ufffd"


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
    {"seed": 8},
]


def test_the_key_holds_everything_that_matters_and_nothing_else(path: Path) -> None:
    cache = RequestCache(path, IDENTITY)
    keys = [cache.key(REQUEST), *(cache.key(replace(REQUEST, **change)) for change in CHANGES)]
    other = RequestCache(path.with_name("other"), {**IDENTITY, "model": "n"})
    keys.append(other.key(REQUEST))
    assert len(set(keys)) == len(keys)
    assert {len(key) for key in keys} == {32}
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
    cache.put([(b"1" * 32, one)])
    asyncio.run(cache.store(b"2" * 32, one))
    for key in (b"1" * 32, b"2" * 32):
        assert cache.get(key, "a") == (one if kept else None)


def test_answers_of_one_moment_are_committed_together(path: Path) -> None:
    cache = RequestCache(path, IDENTITY)
    commits: list[int] = []
    put = cache.put
    cache.put = lambda answers: (commits.append(len(answers)), put(answers))[1]  # type: ignore[method-assign]

    async def main() -> None:
        await asyncio.gather(*(cache.store(*numbered(n)) for n in range(100)))

    asyncio.run(main())
    assert commits == [100]
    other = RequestCache(path, IDENTITY)  # as another process sees it
    assert all(other.get(numbered(n)[0], f"r{n}") == numbered(n)[1] for n in range(100))


def test_what_a_cancelled_loop_leaves_is_stored(path: Path) -> None:
    cache = RequestCache(path, IDENTITY)

    async def main() -> None:
        left = asyncio.ensure_future(cache.store(*numbered(1)))
        await asyncio.sleep(0.001)
        assert not left.done()

    asyncio.run(main())
    cache.close()
    assert RequestCache(path, IDENTITY).get(numbered(1)[0], "r1") == numbered(1)[1]


def filled(path: Path, n: int = 300) -> None:
    cache = RequestCache(path, IDENTITY)
    cache.put([numbered(number) for number in range(n)])
    cache.close()


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def change(statement: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        base = sqlite3.connect(path)
        base.executescript(statement)
        base.close()

    return run


DAMAGE: dict[str, Callable[[Path], object]] = {
    "noise": lambda path: path.write_bytes(bytes(range(256)) * 64),
    "a text": lambda path: path.write_text("not a database at all, but a longer text\n" * 99),
    "cut in half": halve,
    "cut to its first page": lambda path: path.write_bytes(path.read_bytes()[:4096]),
    "a damaged head": lambda path: path.write_bytes(b"x" * 16 + path.read_bytes()[16:]),
    "another version": change("PRAGMA user_version = 99"),
    "other columns": change("DROP TABLE answers; CREATE TABLE answers (a)"),
    "no table": change("DROP TABLE answers; CREATE TABLE others (a)"),
}


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    path.write_text("Name,Year\nAnn,1990\n")
    with pytest.raises(TablemendError, match=r"gold\.csv is no request cache"):
        RequestCache(path, {"model": "m"})
    assert path.read_text() == "Name,Year\nAnn,1990\n"
    assert list(tmp_path.glob("gold.csv*")) == [path]


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_set_aside_said_and_begun_anew(
    kind: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(path)
    DAMAGE[kind](path)
    before = path.read_bytes()
    cache = RequestCache(path, IDENTITY)
    for number in range(300):
        cache.get(numbered(number)[0], "a")
    cache.put([numbered(7)])
    assert cache.get(numbered(7)[0], "r7") == numbered(7)[1]
    cache.close()
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"request cache {path} is damaged (")
    (aside,) = [p for p in path.parent.glob("cache.sqlite.*") if p.suffix not in (".sqlite-wal",)]
    assert str(aside) in said
    assert aside.read_bytes() == before
    RequestCache(path, IDENTITY).close()
    assert capsys.readouterr().err == ""


def test_damage_that_shows_later_is_met_then(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(path, 3000)
    pages = bytearray(path.read_bytes())
    for start in range(8192, len(pages), 4096):  # all but the head and the root
        pages[start : start + 64] = b"\xff" * 64
    path.write_bytes(bytes(pages))
    cache = RequestCache(path, IDENTITY)
    for number in range(0, 3000, 100):
        found = cache.get(numbered(number)[0], f"r{number}")
        assert found in (None, numbered(number)[1])
        cache.put([numbered(number)])
        assert cache.get(numbered(number)[0], f"r{number}") == numbered(number)[1]
    assert capsys.readouterr().err.count("set aside as") == 1


def test_a_value_that_cannot_be_read_is_asked_again(path: Path) -> None:
    filled(path)
    change("UPDATE answers SET answer = substr(answer, 1, 20)")(path)
    cache = RequestCache(path, IDENTITY)
    assert cache.get(numbered(5)[0], "r5") is None
    cache.put([numbered(5)])
    assert cache.get(numbered(5)[0], "r5") == numbered(5)[1]


def test_an_empty_file_is_a_new_cache(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.parent.mkdir()
    path.touch()
    filled(path)
    assert capsys.readouterr().err == ""


def test_somebody_elses_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    change("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)")(path)
    before = path.read_bytes()
    with pytest.raises(TablemendError, match=r"database of something else.*cache=PATH"):
        RequestCache(path, IDENTITY)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_path_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "file" / "cache.sqlite"):
        with pytest.raises(TablemendError, match=r"request cache .*cache=null") as caught:
            RequestCache(path, IDENTITY)
        assert "\n" not in str(caught.value)


def test_a_file_that_may_only_be_read_is_refused(path: Path) -> None:
    filled(path)
    cache = RequestCache(path, IDENTITY)
    cache._file.writer.execute("PRAGMA query_only = 1")
    with pytest.raises(TablemendError, match=r"readonly database.*cache=null"):
        cache.put([numbered(1)])


def test_a_full_disk_is_one_line_and_loses_nothing(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = RequestCache(path, IDENTITY)
    cache.put([numbered(number) for number in range(100)])
    stored = 100

    def fill() -> None:
        nonlocal stored
        while stored < 100_000:
            cache.put([numbered(number) for number in range(stored, stored + 100)])
            stored += 100

    with file_size_limit(400_000), pytest.raises(SystemExit) as caught:
        run_script(fill)
    assert caught.value.code == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and any(text in said for text in FULL_DISK.values())
    assert str(path.parent) in said
    assert 100 < stored < 100_000
    assert all(cache.get(numbered(n)[0], f"r{n}") == numbered(n)[1] for n in range(stored))
    cache.put([numbered(stored)])  # there is room again
    assert cache.get(numbered(stored)[0], f"r{stored}") == numbered(stored)[1]


def test_a_disk_that_is_full_from_the_start_is_one_line(path: Path) -> None:
    with file_size_limit(100), pytest.raises(OSError) as caught:
        RequestCache(path, IDENTITY)
    assert caught.value.errno in FULL_DISK


WRITER = """
import sys
from pathlib import Path
from tablemend.backends.cache import RequestCache
from tablemend.backends.requests import Completion
cache, own = RequestCache(Path(sys.argv[1]), {"a": 1}), int(sys.argv[2])
for number in range(400):
    key = number.to_bytes(32, "big")
    if number % 4 == own:
        cache.put([(key, Completion("x", f"text {number}", 1, 1, "stop"))])
    found = cache.get(key, "x")
    assert found is None or found.text == f"text {number}"
"""


def test_several_processes_share_one_file(path: Path) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(own)], stderr=subprocess.PIPE
        )
        for own in range(4)
    ]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, b"")
    cache = RequestCache(path, {"a": 1})
    found = [cache.get(number.to_bytes(32, "big"), "x") for number in range(400)]
    assert [one and one.text for one in found] == [f"text {number}" for number in range(400)]


def test_the_file_says_whose_it_is(path: Path) -> None:
    filled(path, 1)
    base = sqlite3.connect(path)
    assert base.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    assert base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    base.close()
