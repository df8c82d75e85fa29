"""Which engine a command line means, what it asks for, and the topics of rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tablemend.config import ConfigError, parse
from tablemend.datasets.tablehallu.settings import Synthesis
from tablemend.datasets.tablehallu.topics import SUB_CATEGORIES
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis, read_settings
from tablemend.datasets.tablehallu_llm.topics import open_topics, split_key
from tablemend.errors import TablemendError

ROOT = Path(__file__).parents[4]
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
    ],
)
def test_what_cannot_be_meant_is_refused(
    tokens: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(ConfigError, match=message):
        read_settings(tokens)


def test_where_a_model_is_served_and_how_fast_is_not_noted() -> None:
    one = settings("n=5", "generator_options.concurrency=3", "concurrency=7")
    two = settings("generator=openai:some/model@http://b:2/v1")
    assert one.noted() == two.noted()
    others = (
        "generator=openai:other@http://a:1/v1", "verifier=openai:other@http://a:1/v1", "seed=1",
        "temperature=0.7", "generator_options.revision=abc", "retries=3",
        "generator_options.vllm.reasoning_parser=qwen3",
    )  # fmt: skip
    assert all(settings(other).noted() != one.noted() for other in others)


def test_weights_of_a_folder_are_noted(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    with pytest.raises(TablemendError, match="no checkpoint folder"):
        settings(f"generator=hf:{folder}").noted()
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"one")
    asked = settings(f"generator=hf:{folder}", f"verifier=vllm:{folder}")
    first = asked.noted()
    assert first["generator_weights"] == first["verifier_weights"] and asked.noted() == first
    (folder / "model.safetensors").write_bytes(b"two")
    assert asked.noted()["generator_weights"] != first["generator_weights"]
    assert "generator_weights" not in settings("generator=hf:owner/name").noted()


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
