"""Which engine a command line means, what it asks for, and the topics of rows."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tablemend.config import ConfigError, parse
from tablemend.datasets.source_tables.sources import SUB_CATEGORIES
from tablemend.errors import TablemendError
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.tablehallu_llm.settings import (
    LlmSynthesis,
    open_topics,
    read_settings,
    split_key,
)
from tablemend.tasks.tablehallu_llm.stages import RowMaker

ROOT = Path(__file__).parents[4]
LLM = ["engine=llm", "generator=hf:a/b"]
LAST = [*LLM, "order=query-last"]
SERVED = "openai:some/model@http://a:1/v1"


def settings(*tokens: str) -> LlmSynthesis:
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
            return RowMaker(
                settings("generator_options.cache=null", *tokens), topics, stack
            ).identity

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
