"""Rows made by a stand-in: whatever happens on the way, the files are those of one quiet run."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import resource
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random

import pytest
from datasets import load_dataset

from tablemend.backends.limits import BudgetSpent
from tablemend.backends.requests import Completion, Request, Sampling
from tablemend.config import parse
from tablemend.datasets.splits import SPLITS
from tablemend.datasets.tablehallu import small_world
from tablemend.datasets.tablehallu_llm import dataset, join, preview, row_files
from tablemend.datasets.tablehallu_llm.dataset import make_llm_dataset
from tablemend.datasets.tablehallu_llm.failures import HeldBack
from tablemend.datasets.tablehallu_llm.origin import Origin, open_origin
from tablemend.datasets.tablehallu_llm.row_files import (
    FOLDER,
    RowWriter,
    locked_shard,
    read_index,
    shard_path,
)
from tablemend.datasets.tablehallu_llm.rows import Rejection, Row
from tablemend.datasets.tablehallu_llm.run import Gate, make_rows
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.topics import split_key
from tablemend.errors import TablemendError
from tablemend.records import Call, Example
from tests.support.files import file_size_limit

N = 60
GIVEN_UP = {7, 23}
TWIN = (12, 40)  # the same kernel
PRICES = [
    f"{role}_options.{name}={price}"
    for role in ("generator",)
    for name, price in (("price_in", 2), ("price_out", 8))
]
EXAMPLES = list(small_world.examples(seed=5, n=N))


def settings(out: Path, *tokens: str) -> LlmSynthesis:
    return parse(
        LlmSynthesis, ["generator=hf:a/b", f"n={N}", f"out={out}", "concurrency=8", *tokens]
    )


def noted(asked: LlmSynthesis) -> dict[str, object]:
    return dataset.noted_of(asked, open_origin(asked))


def row_of(number: int) -> Row:
    calls = [
        Call("kernel", 0, "kernel/1", "hf:a/b", 100 + number, 50, "stop", "accepted"),
        Call("verify_kernel", 0, "verify_kernel/1", "hf:a/b", 200, 5, "stop", "accepted"),
    ]
    if number in GIVEN_UP:
        calls[1] = calls[1]._replace(verdict="rejected")
        rejections = (Rejection("verify_kernel", "verify_kernel: INCORRECT", f"no {number}", 0),)
        return Row(number, None, rejections, tuple(calls))
    kernel = EXAMPLES[TWIN[0] if number == TWIN[1] else number % N]
    example = dataclasses.replace(kernel, topic=f"topic {number}", calls=tuple(calls), id="")
    rejections = (Rejection("kernel", "no null", "no cell is null", 0),) if number % 9 == 0 else ()
    return Row(number, example, rejections, tuple(calls))


class NoModels:
    """Nothing that rows of a stand-in would ask; notes whether it was opened."""

    opened = 0

    def __init__(self, _: LlmSynthesis) -> None: ...

    def open(self) -> None:
        NoModels.opened += 1

    def __enter__(self) -> NoModels:
        return self

    def __exit__(self, *_: object) -> None: ...


class Fake:
    """Makes rows in a random order; notes which; does what a test wants of some."""

    def __init__(self, seed: int = 0) -> None:
        self.made: list[int] = []
        self.at_once = self.most = 0
        self.before: Callable[[int], Awaitable[None]] | None = None
        self.row_of = row_of
        self._rng = Random(seed)

    @asynccontextmanager
    async def open(
        self, _: LlmSynthesis, origin: Origin, gate: Gate, backends: NoModels
    ) -> AsyncIterator[object]:
        self.gate = gate

        async def make(number: int) -> Row:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            try:
                if self.before is not None:
                    await self.before(number)
                for _ in range(self._rng.randrange(6)):
                    await asyncio.sleep(0)
                self.made.append(number)
                return self.row_of(number)
            finally:
                self.at_once -= 1

        yield make


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    found = Fake()
    for module in (dataset, preview):
        monkeypatch.setattr(module, "open_maker", found.open)
    monkeypatch.setattr(dataset, "Backends", NoModels)
    monkeypatch.setattr(NoModels, "opened", 0)
    return found


def files(out: Path) -> dict[str, bytes]:
    """The data set, without the rows that it was joined from."""
    return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("whole") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset, "open_maker", Fake().open)
        patch.setattr(dataset, "Backends", NoModels)
        make_llm_dataset(settings(out, *PRICES))
    return files(out)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_datasets_loads_what_is_made(
    form: str, fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    out = tmp_path / "out"
    make_llm_dataset(settings(out, f"format={form}"))
    loaded = load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    examples = [Example.from_json(record) for split in loaded for record in loaded[split]]
    counts = json.loads((out / "counts.json").read_text())
    dropped = {*GIVEN_UP, TWIN[1]}
    numbers = sorted(int(example.topic.split()[1]) for example in examples)
    assert numbers == sorted(set(range(N)) - dropped)
    assert counts["examples"] == {
        "asked": N, "made": N - 3, "given_up": 2, "requests_failed": 0, "near_duplicates": 1,
    }  # fmt: skip
    assert counts["splits"] == {split: len(loaded[split]) for split in SPLITS if split in loaded}
    for example in examples:
        assert example.calls == row_of(int(example.topic.split()[1])).calls
    for split in loaded:
        order = [int(record["topic"].split()[1]) for record in loaded[split]]
        assert order == sorted(order)


def test_everything_is_counted_and_can_be_read(whole: dict[str, bytes]) -> None:
    counts = json.loads(whole["counts.json"])
    assert counts["rejected"] == {
        "join": {"near-duplicate kernel": 1},
        "kernel": {"no null": 7},
        "verify_kernel": {"verify_kernel: INCORRECT": 2},
    }
    assert counts["verdicts"]["verify_kernel"] == {
        "accepted": N - 2, "rejected": 2, "unverified": 0, "unreadable": 0,
    }  # fmt: skip
    asked = sum(100 + number for number in range(N))
    assert counts["calls"]["kernel"] == {
        "calls": N, "prompt_tokens": asked, "completion_tokens": 50 * N,
    }  # fmt: skip
    assert counts["cost"] == {
        "generator": round((asked * 2 + 50 * N * 8) / 1e6, 4),
        "verifier": round((200 * N * 2 + 5 * N * 8) / 1e6, 4),
    }
    rejected = [json.loads(line) for line in whole["rejected.jsonl"].splitlines()]
    assert [entry["row"] for entry in rejected] == sorted(entry["row"] for entry in rejected)
    assert {"row": 7, **row_of(7).rejections[0]._asdict()} in rejected
    twin = {"row": 40, "stage": "join", "kind": "near-duplicate kernel", "attempt": 0}
    assert twin | {"text": "as the kernel of row 12"} in rejected
    card = whole["README.md"].decode()
    for words in ("kernel/1", "hf:a/b", "| verify_kernel | 58 | 2 | 0 | 0 | 96.7% |", "engine=llm"):
        assert words in card


@pytest.mark.parametrize("concurrency", [1, 3, 64])
def test_any_order_of_ending_gives_the_same_bytes(
    concurrency: int, fake: Fake, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    make_llm_dataset(settings(tmp_path / "out", *PRICES, f"concurrency={concurrency}"))
    assert files(tmp_path / "out") == whole
    assert fake.most <= concurrency
    assert fake.most == concurrency or concurrency > N
    if concurrency > 1:
        assert fake.made != sorted(fake.made)


@pytest.mark.parametrize("shards", [2, 7])
def test_shards_in_one_folder_give_what_one_process_gives(
    shards: int, fake: Fake, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    for part in range(shards, 0, -1):
        assert not (out / "README.md").exists()
        make_llm_dataset(settings(out, *PRICES, f"shard={part}/{shards}"))
    assert files(out) == whole
    assert sorted(fake.made) == list(range(N))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_a_join_opens_few_files_at_a_time(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_files, "OPEN_FILES", 2)
    out = tmp_path / "out"
    for part in (1, 2, 3, 4):
        make_llm_dataset(settings(out, "n=12", f"shard={part}/4"))
    with closing(read_index(out, 12, noted(settings(out)))) as index:
        opened = len(list(Path("/proc/self/fd").iterdir()))
        for number in (*range(12), 3, 2, 3, 2):
            assert index.read(number) == row_of(number)
            assert len(list(Path("/proc/self/fd").iterdir())) <= opened + 2
    assert len(list(Path("/proc/self/fd").iterdir())) <= opened


def test_shards_of_several_machines_are_joined_by_any_command(
    fake: Fake, tmp_path: Path, whole: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "joined"
    for part in (1, 2, 3):
        folder = tmp_path / f"machine-{part}"
        make_llm_dataset(settings(folder, *PRICES, f"shard={part}/3"))
        assert "shard" in capsys.readouterr().out and not (folder / "counts.json").exists()
        (out / FOLDER).mkdir(parents=True, exist_ok=True)
        name = shard_path(folder, part - 1, 3).name
        shutil.copy(folder / FOLDER / name, out / FOLDER / name)
    fake.made.clear()
    make_llm_dataset(settings(out, *PRICES, "shard=2/3"))
    assert files(out) == whole
    assert not fake.made


@pytest.mark.parametrize("stop_at", [0, 1, 20, N - 1])
def test_a_spent_budget_keeps_what_is_in_flight_and_continues(
    stop_at: int, fake: Fake, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out = tmp_path / "out"

    async def spend(number: int) -> None:
        if number == stop_at:
            raise BudgetSpent("max_cost is reached")

    fake.before = spend
    with pytest.raises(BudgetSpent):
        make_llm_dataset(settings(out, *PRICES))
    index = read_index(out, N, noted(settings(out)))
    first = list(fake.made)
    assert index.present == len(first) and all(index.has(number) for number in first)
    assert stop_at not in first and len(first) <= stop_at + 8
    assert set(range(stop_at)) <= set(first)  # in flight, so stored
    fake.before = None
    make_llm_dataset(settings(out, *PRICES))
    assert files(out) == whole
    assert sorted(fake.made) == list(range(N))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_answers_arrive_and_sends_nothing_further(
    number: signal.Signals, fake: Fake, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    arrived: list[str] = []

    class Slow:
        async def answer(self, request: Request) -> Completion:
            if request.id == "20.0":
                os.kill(os.getpid(), number)
            await asyncio.sleep(0.01)
            arrived.append(request.id)
            return Completion(request.id, "", 1, 1, "stop")

    async def ask_twice(row: int) -> None:
        model = fake.gate.guard(Slow())
        for turn in range(2):
            await model.answer(Request(f"{row}.{turn}", (), Sampling(1)))

    fake.before = ask_twice
    with pytest.raises(KeyboardInterrupt):
        make_llm_dataset(settings(out, *PRICES))
    assert "20.0" in arrived and "20.1" not in arrived and 20 not in fake.made
    made = set(fake.made)
    assert {name.partition(".")[0] for name in arrived if name.endswith(".1")} == set(
        map(str, made)
    )
    fake.before = None
    make_llm_dataset(settings(out, *PRICES))
    assert files(out) == whole and sorted(fake.made) == list(range(N))


def test_what_fails_after_a_signal_is_not_held_against_its_row(
    fake: Fake, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    """Ctrl-C in a terminal reaches a server that was started from there as well."""
    out = tmp_path / "out"

    async def die(number: int) -> None:
        if number == 20:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.01)

    fake.before = die
    fake.row_of = lambda number: _failed(number) if fake.gate.interrupted else row_of(number)
    with pytest.raises(KeyboardInterrupt):
        make_llm_dataset(settings(out, *PRICES))
    assert 20 in fake.made
    fake.before, fake.row_of = None, row_of
    make_llm_dataset(settings(out, *PRICES))
    assert files(out) == whole


def test_a_server_that_is_gone_is_not_asked_for_every_row(
    fake: Fake, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    fake.row_of = lambda number: _failed(number) if number > 9 else row_of(number)
    message = r"^requests of 20 rows in a row failed for good, the last because 503: mend that"
    for asked in (40, 70):  # the second time nobody answers at all
        with pytest.raises(TablemendError, match=message):
            make_llm_dataset(settings(out, *PRICES))
        assert len(fake.made) < asked
    assert read_index(out, N, noted(settings(out))).present == 10
    fake.row_of = row_of
    make_llm_dataset(settings(out, *PRICES))
    assert files(out) == whole


def test_a_small_data_set_of_a_server_that_never_answered_is_made_by_the_same_command(
    fake: Fake, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    fake.row_of = _failed
    with pytest.raises(TablemendError, match=r"^requests of 5 rows in a row failed for good"):
        make_llm_dataset(settings(out, "n=5"))
    fake.row_of = lambda number: _failed(number) if number == 4 else row_of(number)
    make_llm_dataset(settings(out, "n=5"))
    examples = json.loads((out / "counts.json").read_text())["examples"]
    assert (examples["made"], examples["requests_failed"]) == (4, 1)


@pytest.mark.parametrize("mended", [True, False])
def test_a_server_that_dies_at_the_end_leaves_rows_that_are_asked_for_once_more(
    mended: bool, fake: Fake, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    fake.row_of = lambda number: _failed(number) if number >= N - 5 else row_of(number)
    with pytest.raises(TablemendError, match=r"^requests of \d+ rows in a row .*same command"):
        make_llm_dataset(settings(out, *PRICES, "concurrency=1"))
    fake.row_of = row_of if mended else fake.row_of
    fake.made.clear()
    make_llm_dataset(settings(out, *PRICES))
    assert sorted(fake.made) == list(range(N - 5, N))
    examples = json.loads((out / "counts.json").read_text())["examples"]
    assert examples["requests_failed"] == (0 if mended else 5)
    assert (files(out) == whole) is mended


def _held_back() -> tuple[Callable[[Row], None], Callable[[Row], None], HeldBack, list[int]]:
    """What begins a row, what ends it, and what is let through."""
    let: list[int] = []
    held = HeldBack(lambda row, _: let.append(row.number))

    def begin(row: Row) -> None:
        async def make(_: int) -> Row:
            return row

        assert asyncio.run(held.watched(make)(row.number)) is row

    return begin, lambda row: held.take(row, 0.0), held, let


def test_a_failed_row_waits_for_one_that_was_begun_after_it_ended() -> None:
    begin, end, held, let = _held_back()
    for row in (_failed(1), row_of(2)):
        begin(row)
    end(_failed(1))
    begin(row_of(4))
    end(row_of(2))
    assert let == [2]
    begin(_failed(3))
    end(_failed(3))
    end(row_of(4))
    assert let == [2, 4, 1]
    held.end(answered_before=False)  # a row since then has not failed
    assert let == [2, 4, 1, 3]


def test_what_a_server_left_behind_is_not_let_through_once_it_is_gone() -> None:
    begin, end, _, let = _held_back()
    for number in range(19):
        begin(_failed(number))
        end(_failed(number))
    begin(_failed(19))
    begin(row_of(20))  # its answers are in the cache
    with pytest.raises(TablemendError, match="20 rows in a row"):
        end(_failed(19))
    end(row_of(20))
    assert let == [20]


def _failed(number: int) -> Row:
    """A row whose first request failed for good."""
    call = row_of(number).calls[0]._replace(finish_reason="error", verdict="unreadable")
    return Row(number, None, (Rejection("kernel", "request failed", "503", 0),), (call,))


def test_a_second_signal_leaves_at_once(fake: Fake, tmp_path: Path) -> None:
    async def hang(row: int) -> None:
        if row == 3:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0)
            os.kill(os.getpid(), signal.SIGINT)
        if row >= 3:
            await asyncio.sleep(60)

    fake.before = hang
    with pytest.raises(KeyboardInterrupt):
        make_llm_dataset(settings(tmp_path / "out"))
    assert sorted(fake.made) == [0, 1, 2]


def test_a_defect_in_one_row_loses_no_other(fake: Fake, tmp_path: Path) -> None:
    out = tmp_path / "out"

    async def fail(number: int) -> None:
        if number == 10:
            raise ZeroDivisionError

    fake.before = fail
    with pytest.raises(ZeroDivisionError):
        make_llm_dataset(settings(out))
    assert read_index(out, N, noted(settings(out))).present == len(fake.made) >= 10


def test_a_finished_data_set_is_found_finished(
    fake: Fake, tmp_path: Path, whole: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    make_llm_dataset(settings(out, *PRICES))
    fake.made.clear()
    make_llm_dataset(settings(out, *PRICES))
    assert NoModels.opened == 2  # before the folder was there, and before the estimate
    shutil.rmtree(out / FOLDER)  # not needed any more
    make_llm_dataset(settings(out, *PRICES))
    assert not fake.made and files(out) == whole and NoModels.opened == 2
    assert f"57 of {N} rows are examples" in capsys.readouterr().out


def test_a_run_that_ended_while_joining_continues(
    fake: Fake, tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    for name in ("write_card", "write_json"):

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(join, name, fail)
            with pytest.raises(OSError, match="space"):
                make_llm_dataset(settings(out, *PRICES))
        assert not (out / "counts.json").exists()
        assert not list(out.glob(".*"))
    make_llm_dataset(settings(out, *PRICES))
    assert files(out) == whole and sorted(fake.made) == list(range(N))


def test_more_rows_continue_a_data_set_and_fewer_are_refused(
    fake: Fake, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    make_llm_dataset(settings(out, *PRICES, "n=25"))
    fake.made.clear()
    make_llm_dataset(settings(out, *PRICES))
    assert files(out) == whole and sorted(fake.made) == list(range(25, N))
    with pytest.raises(TablemendError, match=f"holds a data set of n={N}, which n=25 would make"):
        make_llm_dataset(settings(out, *PRICES, "n=25"))
    assert files(out) == whole


def test_rows_whose_requests_failed_are_made_anew_where_that_is_asked_for(
    fake: Fake, tmp_path: Path, whole: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"

    fake.row_of = lambda number: _failed(number) if number % 10 == 3 else row_of(number)
    make_llm_dataset(settings(out, *PRICES))
    assert json.loads((out / "counts.json").read_text())["examples"]["requests_failed"] == 6
    assert "retry_failed=true" in capsys.readouterr().out
    fake.made.clear()
    fake.row_of = row_of
    make_llm_dataset(settings(out, *PRICES))
    assert not fake.made
    make_llm_dataset(settings(out, *PRICES, "retry_failed=true"))
    assert sorted(fake.made) == [3, 13, 23, 33, 43, 53]
    assert files(out) == whole


def test_no_topic_stands_in_two_splits(fake: Fake, tmp_path: Path) -> None:
    def same_topics(number: int) -> Row:
        row = row_of(number)
        topic = f"exports of land {number % 10} from {1980 + number // 10} to 1999"
        example = row.example and dataclasses.replace(row.example, topic=topic, id="")
        return dataclasses.replace(row, example=example)

    fake.row_of = same_topics
    shares = ("shares.train=0.4", "shares.validation=0.3", "shares.test=0.3")
    make_llm_dataset(settings(tmp_path / "out", *shares))
    split_of: dict[str, str] = {}
    for split in SPLITS:
        for line in (tmp_path / "out" / f"{split}.jsonl").read_text().splitlines():
            key = split_key(json.loads(line)["topic"])
            assert split_of.setdefault(key, split) == split
    assert len(split_of) == 10 and set(split_of.values()) == set(SPLITS)


def _ships(path: Path, count: int) -> None:
    rows = "".join(
        f"Ship {name},{i},{i * i},{3 * i}\n" for i, name in enumerate("abcdefghijkl"[:count])
    )
    path.write_text("Ship,Guns,Crew,Sails\n" + rows)


def test_kernels_of_the_program_are_split_by_their_table_and_all_kept(
    fake: Fake, tmp_path: Path
) -> None:
    source = tmp_path / "ships.csv"
    _ships(source, 12)
    tokens = ("kernel=program", f"program.source={source}")
    make_llm_dataset(settings(tmp_path / "out", *tokens))
    counts = json.loads((tmp_path / "out" / "counts.json").read_text())
    assert counts["examples"]["made"] == N - 2 and not counts["examples"]["near_duplicates"]
    halves: dict[str, set[str]] = {}
    for split in counts["splits"]:
        for line in (tmp_path / "out" / f"{split}.jsonl").read_text().splitlines():
            halves.setdefault(json.loads(line)["source_hash"], set()).add(split)
    assert all(len(splits) == 1 for splits in halves.values())


def test_tables_that_changed_are_refused(fake: Fake, tmp_path: Path) -> None:
    source = tmp_path / "ships.csv"
    tokens = ("kernel=program", f"program.source={source}", "shard=1/2")
    _ships(source, 12)
    make_llm_dataset(settings(tmp_path / "out", *tokens))
    _ships(source, 11)
    with pytest.raises(TablemendError, match=r"tables was '\w+', is '\w+'"):
        make_llm_dataset(settings(tmp_path / "out", *tokens))
    source.write_text("Ship,Guns\na,1\n")
    with pytest.raises(TablemendError, match="none of 1 tables is usable"):
        make_llm_dataset(settings(tmp_path / "new", *tokens))
    assert not (tmp_path / "new").exists()


def test_no_row_at_all_is_an_error_with_the_reasons(fake: Fake, tmp_path: Path) -> None:
    fake.row_of = lambda number: Row(number, None, row_of(7).rejections, row_of(7).calls)
    for _ in range(2):
        with pytest.raises(TablemendError, match=r"none of 60 rows .*60 x verify_kernel: INCORR"):
            make_llm_dataset(settings(tmp_path / "out"))
    assert len((tmp_path / "out" / "rejected.jsonl").read_text().splitlines()) == N
    assert len(fake.made) == N


# what stands in the folder


def test_one_shard_is_made_by_one_process(fake: Fake, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with locked_shard(shard_path(out, 1, 4)):
        with pytest.raises(TablemendError, match=rf"02-of-04.jsonl is being .*{os.getpid()} on"):
            make_llm_dataset(settings(out, "shard=2/4"))
        with pytest.raises(TablemendError, match=r"makes 02-of-04\.jsonl, so rows would be made"):
            make_llm_dataset(settings(out))
        assert not fake.made
        make_llm_dataset(settings(out, "shard=3/4"))
    make_llm_dataset(settings(out, "shard=2/4"))
    assert sorted(fake.made) == sorted([*range(2, N, 4), *range(1, N, 4)])


def test_other_settings_are_refused_and_named(fake: Fake, tmp_path: Path) -> None:
    out = tmp_path / "out"
    fake.before = None
    make_llm_dataset(settings(out, "shard=1/2"))
    before = (out / "settings.json").read_bytes()
    with pytest.raises(TablemendError, match=r"01-of-02.*temperature was 0\.6, is 0\.2"):
        make_llm_dataset(settings(out, "shard=2/2", "temperature=0.2"))
    assert (out / "settings.json").read_bytes() == before
    make_llm_dataset(settings(out, "shard=2/2"))
    with pytest.raises(TablemendError, match=r"retries was 2, is 5"):
        make_llm_dataset(settings(out, "retries=5"))
    assert len(fake.made) == N


def test_rows_that_were_brought_with_an_old_time_are_joined(
    fake: Fake, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    fake.row_of = lambda number: _failed(number) if number % 10 == 3 else row_of(number)
    make_llm_dataset(settings(out, *PRICES))
    fake.row_of = row_of
    make_llm_dataset(settings(other, *PRICES, "shard=4/10"))
    brought = out / FOLDER / shard_path(other, 3, 10).name
    shutil.copy(shard_path(other, 3, 10), brought)
    os.utime(brought, (0, 0))
    fake.made.clear()
    make_llm_dataset(settings(out, *PRICES))
    assert not fake.made and files(out) == whole


@pytest.mark.parametrize("name", ["settings.json", "counts.json", f"{FOLDER}/.joined.json"])
@pytest.mark.parametrize("text", ["{", "[1]", "\x00"])
def test_a_damaged_file_is_one_line_and_the_rows_can_be_joined_elsewhere(
    name: str, text: str, fake: Fake, tmp_path: Path
) -> None:
    out, new = tmp_path / "out", tmp_path / "new"
    make_llm_dataset(settings(out, "n=4"))
    (out / name).write_text(text)
    with pytest.raises(
        TablemendError, match=r"(holds no|is not) JSON.*: copy rows/ into"
    ) as caught:
        make_llm_dataset(settings(out, "n=4"))
    assert str(caught.value).startswith(f"{out / name} ") and "\n" not in str(caught.value)
    fake.made.clear()
    shutil.copytree(out / FOLDER, new / FOLDER)
    make_llm_dataset(settings(new, "n=4"))
    assert not fake.made and (new / "counts.json").exists()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("scripted:{}/none.jsonl", "No such file"),
        ("hf:{}/none", "no checkpoint folder"),
        ("openai:gpt@https://api.invalid/v1", "NO_SUCH_KEY"),
    ],
)
@pytest.mark.parametrize("preview", ["null", "1"])
def test_a_model_that_cannot_be_had_is_said_before_the_estimate(
    model: str, message: str, preview: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ("generator_options.key_variable=NO_SUCH_KEY", "generator_options.cache=null")
    asked = settings(out, f"generator={model.format(tmp_path)}", f"preview={preview}", *options)
    with pytest.raises(TablemendError, match=message):
        make_llm_dataset(asked)
    assert not out.exists() and capsys.readouterr().out == ""


def test_settings_without_a_row_bind_nobody(fake: Fake, tmp_path: Path) -> None:
    out = tmp_path / "out"

    async def fail(number: int) -> None:
        raise TablemendError("no such model")

    fake.before = fail
    with pytest.raises(TablemendError, match="no such model"):
        make_llm_dataset(settings(out))
    fake.before = None
    make_llm_dataset(settings(out, "generator=hf:a/c"))
    assert json.loads((out / "settings.json").read_text())["generator"] == "hf:a/c"


def test_folders_of_something_else_are_refused(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(TablemendError, match="holds something else"):
        make_llm_dataset(settings(tmp_path / "notes"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "settings.json").write_text('{"engine": "program"}')
    with pytest.raises(TablemendError, match="holds a data set of engine=program"):
        make_llm_dataset(settings(tmp_path / "data"))
    assert not fake.made


def test_a_line_that_was_cut_is_made_again(
    fake: Fake, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    make_llm_dataset(settings(out, *PRICES))
    path = shard_path(out, 0, 1)
    lines = path.read_bytes().splitlines(keepends=True)
    for kept in (0, 1, 2, 30):
        for cut in (b"", lines[kept][:1], lines[kept][:-1]):
            path.write_bytes(b"".join(lines[:kept]) + cut)
            for name in whole:
                (out / name).unlink(missing_ok=True)
            fake.made.clear()
            make_llm_dataset(settings(out, *PRICES))
            assert files(out) == whole
            assert len(fake.made) == N - max(0, kept - 1)


@pytest.mark.parametrize(
    "broken", [b"\n", b"{}\n", b'{"number": 4', b"\xff\xfe\n", b'{"number": -1}\n', b"[1]\n"]
)
def test_a_corrupt_line_is_named(broken: bytes, fake: Fake, tmp_path: Path) -> None:
    out = tmp_path / "out"
    make_llm_dataset(settings(out))
    path = shard_path(out, 0, 1)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[17] = broken if broken.endswith(b"\n") else broken + b"\n"
    path.write_bytes(b"".join(lines))
    (out / "counts.json").unlink()
    with pytest.raises(TablemendError, match=r"01-of-01\.jsonl:18 holds no row") as caught:
        make_llm_dataset(settings(out))
    assert "\n" not in str(caught.value)
    path.write_bytes(b"".join(lines[:17] + lines[18:]))  # as the line says
    fake.made.clear()
    make_llm_dataset(settings(out))
    assert len(fake.made) == 1


def test_an_example_that_is_none_is_found_by_the_join(fake: Fake, tmp_path: Path) -> None:
    out = tmp_path / "out"
    make_llm_dataset(settings(out))
    path = shard_path(out, 0, 1)
    text = path.read_text().replace('"gold_context"', '"silver_context"', 1)
    path.write_text(text)
    (out / "counts.json").unlink()
    with pytest.raises(TablemendError, match=r"01-of-01\.jsonl: row \d+ holds no row"):
        make_llm_dataset(settings(out))


def test_a_file_that_is_none_of_ours_is_refused(fake: Fake, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / FOLDER).mkdir(parents=True)
    (out / FOLDER / "01-of-02.jsonl").write_text('{"a": 1}\n{"b": 2}\n')
    with pytest.raises(TablemendError, match=r"01-of-02\.jsonl:1 does not say"):
        make_llm_dataset(settings(out))
    (out / FOLDER / "01-of-02.jsonl").rename(out / FOLDER / "mine.jsonl")
    with pytest.raises(TablemendError, match=r"mine\.jsonl is no file of rows"):
        make_llm_dataset(settings(out))


def test_a_full_disk_loses_no_row(fake: Fake, tmp_path: Path, whole: dict[str, bytes]) -> None:
    out = tmp_path / "out"
    make_llm_dataset(settings(out, *PRICES, "shard=1/3"))
    path = shard_path(out, 1, 3)
    with file_size_limit(40_000), pytest.raises(OSError, match="too large") as caught:
        make_llm_dataset(settings(out, *PRICES, "shard=2/3"))
    assert str(caught.value.filename) == str(path)
    data = path.read_bytes()
    assert data.endswith(b"\n") and 1 < data.count(b"\n") < 21
    kept = read_index(out, N, noted(settings(out)))
    assert kept.present == 20 + data.count(b"\n") - 1
    for part in (1, 2, 3):
        make_llm_dataset(settings(out, *PRICES, f"shard={part}/3"))
    assert files(out) == whole


def test_half_a_surrogate_pair_is_no_end_of_the_run(fake: Fake, tmp_path: Path) -> None:
    bad = (Rejection("kernel", "no JSON", "it wrote \ud83d", 0),)
    fake.row_of = lambda number: dataclasses.replace(row_of(number), rejections=bad)
    make_llm_dataset(settings(tmp_path / "out", "n=3"))
    assert (tmp_path / "out" / "rejected.jsonl").read_text("utf-8").count("it wrote ?") == 3


def _resident() -> int:
    """Bytes of memory that the process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class NoIndex:
    """The index of kernels is on the disk and has tests of its own."""

    def __init__(self, _: Path) -> None: ...

    def __enter__(self) -> NoIndex:
        return self

    def __exit__(self, *_: object) -> None: ...

    def add_or_find(self, *_: object) -> None:
        return None


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads memory from /proc")
def test_memory_does_not_grow_with_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(join, "KernelIndex", NoIndex)
    rows, out = 10_000, tmp_path / "out"
    short = EXAMPLES[0]
    short = dataclasses.replace(short, facts=short.facts[:1], adversarial_context="x", id="")
    calls = row_of(1).calls
    held: list[int] = []

    async def make(number: int) -> Row:
        await asyncio.sleep(0)
        if number % 1_000 == 0:
            held.append(_resident())
        return Row(number, dataclasses.replace(short, topic=str(number), id=str(number)), (), calls)

    (out / FOLDER).mkdir(parents=True)
    writer = RowWriter(shard_path(out, 0, 1), {})
    index = read_index(out, rows, {})
    asyncio.run(make_rows(index.missing(), make, writer.write, concurrency=64, gate=Gate()))
    writer.close()
    held.append(_resident())
    index = read_index(out, rows, {})
    held.append(_resident())
    join.join_rows(settings(out, f"n={rows}"), index)
    index.close()
    held.append(_resident())
    assert len((out / "train.jsonl").read_bytes().splitlines()) > 0.7 * rows
    # the rows are 14 million bytes; eleven bytes a row and the buffers of files are allowed
    assert shard_path(out, 0, 1).stat().st_size > 13_000_000
    assert max(held) - held[1] < 5_000_000


# before and after


def test_a_preview_shows_rows_and_writes_no_data_set(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_llm_dataset(settings(tmp_path / "out", "preview=9", *PRICES))
    assert sorted(fake.made) == list(range(9)) and not (tmp_path / "out").exists()
    page = capsys.readouterr().out
    example = EXAMPLES[0]
    for words in (
        f"query: {example.query}",
        f"sorted by {example.constraints.sort_column}",
        example.gold_context[:200],
        example.adversarial_context[:200],
        "rejected: kernel 0: no cell is null",
        "call: verify_kernel/1 0 by hf:a/b: rejected, stop, 200 + 5 tokens",
        "given up",
        "9 rows took",
        f"estimate for {N} rows:",
        "from the means of 9 rows",
    ):
        assert words in page, words
    assert page.index("estimate for 9 rows") < page.index("--- row 0") < page.index("--- row 8")


def test_an_estimate_alone_makes_and_writes_nothing(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_llm_dataset(settings(tmp_path / "out", "estimate_only=true", *PRICES))
    assert not fake.made and not (tmp_path / "out").exists()
    page = capsys.readouterr().out
    for stage in ("kernel", "query", "constraints", "verify_kernel", "perturb", "verify_preserved"):
        assert f"  {stage} " in page
    assert "guessed" in page and "cost: " in page and "time: about" in page


def test_an_estimate_rests_on_the_rows_that_are_there(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    make_llm_dataset(settings(out, "n=30"))
    capsys.readouterr()
    make_llm_dataset(settings(out, "n=50", "estimate_only=true"))
    page = capsys.readouterr().out
    assert "estimate for 20 rows" in page and "from the means of 30 rows" in page
    line = next(line for line in page.splitlines() if line.startswith("  kernel"))
    assert line.split() == ["kernel", "20", "2,290", "1,000"]  # 100 and the mean of 0 to 29
    assert "not known without generator_options.price_in" in page


def test_limits_of_a_model_stretch_the_estimate(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_llm_dataset(
        settings(
            tmp_path, "estimate_only=true", "n=1000", "generator_options.requests_per_minute=10"
        )
    )
    calls = 1.3 * 7 * 1000
    hours, minutes = divmod(round(calls / 10), 60)
    assert f"time: about {hours} h {minutes} min" in capsys.readouterr().out


def test_an_estimate_beyond_a_cap_says_so(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cap = "generator_options.max_cost=3.5"
    for n, noted in ((5, False), (500, True)):
        make_llm_dataset(settings(tmp_path, "estimate_only=true", f"n={n}", cap, *PRICES))
        page = capsys.readouterr().out
        assert ("note: that is more than generator_options.max_cost=3.5" in page) == noted


class Hub:
    """Stands for the Hub's client."""

    calls: list[tuple[str, dict[str, object]]]
    error: Exception | None = None

    def __init__(self, token: str) -> None:
        assert token == "hf_secret"

    def create_repo(self, name: str, **options: object) -> None:
        if Hub.error is not None:
            raise Hub.error
        Hub.calls.append((name, options))

    def upload_folder(self, **options: object) -> object:
        Hub.calls.append(("upload", options))

        class Commit:
            repo_url = "https://hub/owner/name"

        return Commit


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> type[Hub]:
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    Hub.calls, Hub.error = [], None
    return Hub


def test_a_data_set_is_pushed_where_that_is_asked_for(
    hub: type[Hub], fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    make_llm_dataset(settings(out))
    assert not hub.calls
    make_llm_dataset(settings(out, "push_to_hub=owner/name"))  # finished before
    (name, made), (_, sent) = hub.calls
    assert name == "owner/name" and made["private"] is True and made["repo_type"] == "dataset"
    names = {path.name for path in out.iterdir() if path.is_file()}
    patterns = sent["allow_patterns"]
    assert isinstance(patterns, list) and names <= set(patterns)
    assert not [pattern for pattern in patterns if FOLDER in pattern or "*" in pattern]
    assert "pushed to https://hub/owner/name" in capsys.readouterr().out


def test_a_refusal_of_the_hub_is_one_line_without_the_token(
    hub: type[Hub], fake: Fake, tmp_path: Path
) -> None:
    hub.error = RuntimeError("403 for hf_secret\nand more")
    with pytest.raises(TablemendError, match=r"403 for \*\*\*; the data set is whole") as caught:
        make_llm_dataset(settings(tmp_path / "out", "push_to_hub=owner/name"))
    assert "hf_secret" not in str(caught.value) and "\n" not in str(caught.value)
    assert (tmp_path / "out" / "counts.json").exists()


def test_without_a_token_nothing_is_begun(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with pytest.raises(TablemendError, match="set HF_TOKEN"):
        make_llm_dataset(settings(tmp_path / "out", "push_to_hub=owner/name"))
    assert not fake.made and not (tmp_path / "out").exists()
