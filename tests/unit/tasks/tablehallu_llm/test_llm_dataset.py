"""Settings and topics of the LLM engine, and its rows: whatever happens, the files are the same."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest
from datasets import load_dataset

from tablemend.config import ConfigError, parse
from tablemend.datasets.source_tables.sources import SUB_CATEGORIES
from tablemend.datasets.splits import SPLITS
from tablemend.errors import TablemendError
from tablemend.records import Call, Example
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.tablehallu_llm.dataset import ROWS, make_llm_dataset
from tablemend.tasks.tablehallu_llm.settings import (
    LlmSynthesis,
    Topics,
    open_topics,
    read_settings,
    split_key,
)
from tablemend.tasks.tablehallu_llm.stages import Rejection, Row, RowMaker

ROOT = Path(__file__).parents[4]
LLM = ["engine=llm", "generator=hf:a/b"]
LAST = [*LLM, "order=query-last"]
SERVED = "openai:some/model@http://a:1/v1"


def given(*tokens: str) -> LlmSynthesis:
    return parse(LlmSynthesis, [f"generator={SERVED}", *tokens])


@pytest.mark.parametrize(
    ("tokens", "kind"),
    [
        ([], Synthesis),
        (["engine=program", "n=5"], Synthesis),
        (["engine=llm", "generator=scripted:a.jsonl"], LlmSynthesis),
        (["engine=program", "engine=llm", "generator=hf:a/b"], LlmSynthesis),
        (["recipe=tablehallu-data"], Synthesis),
        (["recipe=tablehallu-llm", "n=5"], LlmSynthesis),
        (["recipe=tablehallu-llm", "engine=llm"], LlmSynthesis),
    ],
)
def test_the_engine_or_the_recipe_chooses(
    tokens: list[str], kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert type(read_settings(tokens)) is kind


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["engine=lmm"], r"engine: 'program' or 'llm', not 'lmm'; did you mean llm\?"),
        (["engine=llm"], r"generator: missing"),
        (["recipe=tablehallu-llm", "engine=program"], r"engine: input should be 'llm'"),
        (["recipe=tablehallu-data", "engine=llm"], r"engine: input should be 'program'"),
        (["recipe=tablehalu-llm", "engine=llm"], r"did you mean tablehallu-llm\?"),
        (["engine=llm", "generator=gpt"], r"generator: 'gpt' names no engine"),
        (["engine=llm", "generator=hf:a/b", "verifier=oai:x"], r"verifier: .*no engine 'oai'"),
        (
            [*LLM, "queries=2"],
            r"queries: order=kernel-first has no such setting, only order=query-l",
        ),
        ([*LLM, "difficulty=paper"], r"difficulty: only order=query-last has 'paper'"),
        ([*LAST, "verifier=hf:c/d"], r"verifier: order=query-last has no such setting"),
        ([*LAST, "min_expansion=0.3"], r"min_expansion: order=query-last has no such setting"),
        ([*LAST, "source=small-world"], r"source: the small world has words of its own"),
        ([*LAST, "source=pool", "dataset_config=x"], r"dataset_config: only a `hub:` source has"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    tokens: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(ConfigError, match=message):
        read_settings(tokens)


def test_rows_depend_on_the_models_and_not_on_where_they_are_served(tmp_path: Path) -> None:
    topics = open_topics(None, 0)

    def identity(*tokens: str) -> dict[str, Any]:
        with ExitStack() as stack:
            return RowMaker(given("generator_options.cache=null", *tokens), topics, stack).identity

    first = identity()
    assert first == identity("generator=openai:some/model@http://b:2/v1", "temperature=0.7")
    for other in (
        "generator=openai:other@http://a:1/v1",
        "verifier=openai:other@http://a:1/v1",
        "generator_options.revision=abc",
    ):
        assert identity(other) != first
    with pytest.raises(TablemendError, match="no checkpoint folder"):
        identity(f"generator=hf:{tmp_path / 'model'}")


def test_topics_are_not_repeated_while_they_last() -> None:
    topics = open_topics(None, seed=0)
    count = 100 * len(SUB_CATEGORIES)
    drawn = [topics.topic(number) for number in range(count)]
    assert len({split_key(topic.text) for topic in drawn}) == count < topics.count
    assert not [topic for topic in drawn if "{" in topic.text]
    assert set(Counter((t.category, t.domain) for t in drawn)) == {
        (sub.category, sub.domain) for sub in SUB_CATEGORIES
    }


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"holds no topic"),
        (b"a\n\na\n", r"line 3 has an earlier topic again"),
        (b"caf\xe9", r"not UTF-8 text .byte 3"),
        (None, r"no such file"),
    ],
)
def test_topics_that_cannot_be_read_are_refused(
    data: bytes | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "topics.txt"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(TablemendError, match=message) as caught:
        open_topics(str(path), seed=0)
    assert "\n" not in str(caught.value)


N = 60
GIVEN_UP = {7, 23}
TWIN = (12, 40)  # the same kernel
PRICES = ["generator_options.price_in=2", "generator_options.price_out=8"]
EXAMPLES = list(small_world.examples(seed=5, n=N))


def settings(out: Path, *tokens: str) -> LlmSynthesis:
    return parse(
        LlmSynthesis, ["generator=hf:a/b", f"n={N}", f"out={out}", "concurrency=8", *tokens]
    )


def row_of(number: int) -> Row:
    calls = [
        Call("kernel", 0, "kernel/1", "hf:a/b", 100 + number, 50, "stop", "accepted"),
        Call("verify_kernel", 0, "verify_kernel/1", "hf:a/b", 200, 5, "stop", "accepted"),
    ]
    if number in GIVEN_UP:
        calls[1] = calls[1]._replace(verdict="rejected")
        rejections = (Rejection("verify_kernel", "verify_kernel: INCORRECT", f"no {number}", 0),)
        return Row(number, (), rejections, tuple(calls))
    kernel = EXAMPLES[TWIN[0] if number == TWIN[1] else number % N]
    example = dataclasses.replace(kernel, topic=f"topic {number}", calls=tuple(calls), id="")
    rejections = (Rejection("kernel", "no null", "no cell is null", 0),) if number % 9 == 0 else ()
    return Row(number, (example,), rejections, tuple(calls))


def _failed(number: int) -> Row:
    """A row whose first request failed for good."""
    call = row_of(number).calls[0]._replace(finish_reason="error", verdict="unreadable")
    return Row(number, (), (Rejection("kernel", "request failed", "503", 0),), (call,))


class Fake:
    """Makes rows in a random order; notes which; does what a test wants of some."""

    identity: ClassVar = {"generator": {"engine": "hf"}, "verifier": {"engine": "hf"}}

    def __init__(self, seed: int = 0) -> None:
        self.made: list[int] = []
        self.at_once = self.most = 0
        self.before: Callable[[int], Awaitable[None]] | None = None
        self.row_of = row_of
        self._rng = Random(seed)

    def __call__(self, settings: LlmSynthesis, topics: Topics, stack: ExitStack) -> Any:
        return self

    async def make(self, number: int) -> Row:
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

    async def leave(self) -> None:
        pass


@pytest.fixture
def fake() -> Fake:
    return Fake()


def files(out: Path) -> dict[str, bytes]:
    """The data set, without the rows that it was joined from."""
    return {path.name: path.read_bytes() for path in out.iterdir() if path.name != ROWS}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("whole") / "out"
    make_llm_dataset(settings(out, *PRICES), Fake())
    return files(out)


def test_datasets_loads_what_is_made(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    out = tmp_path / "out"
    make_llm_dataset(settings(out), fake)
    loaded = load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    examples = [Example.from_json(record) for split in loaded for record in loaded[split]]
    counts = json.loads((out / "counts.json").read_text())
    dropped = {*GIVEN_UP, TWIN[1]}
    numbers = sorted(int(example.topic.split()[1]) for example in examples)
    assert numbers == sorted(set(range(N)) - dropped)
    assert counts["examples"] == {
        "asked": N, "made": N - 3, "given_up": 2, "requests_failed": 0, "repeated": 1,
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
        "join": {"repeated table": 1},
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
    twin = {"row": 40, "stage": "join", "kind": "repeated table", "attempt": 0}
    assert twin | {"text": "as in row 12"} in rejected
    card = whole["README.md"].decode()
    for words in ("kernel/1", "hf:a/b", "| 58 | 2 | 0 | 0 | 96.7% |", "engine=llm"):
        assert words in card


@pytest.mark.parametrize("concurrency", [1, 3, 64])
def test_any_order_of_ending_gives_the_same_bytes(
    concurrency: int, fake: Fake, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    make_llm_dataset(settings(tmp_path / "out", *PRICES, f"concurrency={concurrency}"), fake)
    assert files(tmp_path / "out") == whole
    assert fake.most <= concurrency
    assert fake.most == concurrency or concurrency > N
    if concurrency > 1:
        assert fake.made != sorted(fake.made)


def test_a_server_that_is_gone_is_not_asked_for_every_row(
    fake: Fake, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    fake.row_of = lambda number: _failed(number) if number > 9 else row_of(number)
    message = r"^requests of 20 rows in a row failed for good, the last because 503: mend that"
    with pytest.raises(TablemendError, match=message):
        make_llm_dataset(settings(out, *PRICES), fake)
    assert len(fake.made) < 40 and not (out / "counts.json").exists()
    fake.row_of = row_of
    make_llm_dataset(settings(out, *PRICES), fake)
    assert files(out) == whole


def test_rows_whose_requests_failed_are_asked_for_again(
    fake: Fake, tmp_path: Path, whole: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    fake.row_of = lambda number: _failed(number) if number % 10 == 3 else row_of(number)
    for _ in range(2):  # what no server will ever answer keeps no data set from its end
        make_llm_dataset(settings(out, *PRICES), fake)
        assert json.loads((out / "counts.json").read_text())["examples"]["requests_failed"] == 6
    assert "note: 6 of them because a request failed for good" in capsys.readouterr().out
    fake.row_of = row_of
    fake.made.clear()
    make_llm_dataset(settings(out, *PRICES), fake)
    assert sorted(fake.made) == [3, 13, 23, 33, 43, 53]
    assert files(out) == whole


def test_more_rows_continue_a_data_set(fake: Fake, tmp_path: Path, whole: dict[str, bytes]) -> None:
    out = tmp_path / "out"
    make_llm_dataset(settings(out, *PRICES, "n=25"), fake)
    fake.made.clear()
    make_llm_dataset(settings(out, *PRICES), fake)
    assert files(out) == whole and sorted(fake.made) == list(range(25, N))
    make_llm_dataset(settings(out, *PRICES, "n=25"), fake)  # rows are kept
    make_llm_dataset(settings(out, *PRICES), fake)
    assert files(out) == whole and len(fake.made) == N - 25


def test_an_estimate_rests_on_the_rows_that_are_there(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    make_llm_dataset(settings(out, "n=30"), fake)
    capsys.readouterr()
    make_llm_dataset(settings(out, "n=50", "estimate_only=true"), fake)
    page = capsys.readouterr().out
    assert "estimate for 20 rows from the means of 30:" in page
    assert "| kernel | 20 | 2,290 | 1,000 |" in page  # 100 and the mean of 0 to 29
    assert "not known without generator_options.price_in" in page
