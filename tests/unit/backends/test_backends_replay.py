"""Answers from a file: which line answers what, what is recorded, what is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tablemend.backends.backend import Backend, open_backend
from tablemend.backends.requests import Request, Sampling
from tablemend.config.section import BackendOptions
from tablemend.errors import TablemendError


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "answers.jsonl"


def opened(path: Path, *lines: dict[str, Any], cache: str | None = None) -> Backend:
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n", encoding="utf-8")
    return open_backend(f"scripted:{path}", BackendOptions(cache=cache))


def request(text: str, system: str = "") -> Request:
    turns = ({"role": "system", "content": system}, {"role": "user", "content": text})
    return Request(text, turns, Sampling(50))


def test_the_first_line_whose_text_is_in_the_messages_answers(path: Path) -> None:
    with opened(
        path,
        {"text": "a table", "contains": "rows of Oslo"},
        {"text": "a half", "contains": "rows", "finish_reason": "length"},
        {"text": "no luck", "contains": "broken", "finish_reason": "error"},
        {"text": "a judge", "contains": "You judge"},
    ) as backend:
        asked = [request("The rows of Oslo?"), request("All rows?"), request("So?", "You judge.")]
        found = list(backend.generate([*asked, request("Who?"), request("It is broken.")]))
        awaited = asyncio.run(backend.answer(request("All rows?")))
    assert [(one.text, one.finish_reason) for one in found] == [
        ("a table", "stop"), ("a half", "length"), ("a judge", "stop"), *[("", "error")] * 2,
    ]  # fmt: skip
    assert awaited.text == "a half"
    assert [one.error for one in found[3:]] == [
        f"no line of {path} answers this request", "no luck",
    ]  # fmt: skip
    assert all(one.estimated and one.prompt_tokens > 10 for one in found[:3])
    assert backend.spent.requests == 4 and backend.spent.failed == 2
    assert backend.spent.completion_tokens == 2 + sum(one.completion_tokens for one in found)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file or directory: name a file"),
        ("", "the file is empty"),
        ("yes", "1: line: Invalid JSON"),
        ('{"text": "yes"}\n{"contains": "x"}', "2: text: Field required"),
        ('{"text": 1}', "1: text: Input should be a valid string"),
        ('{"text": "yes", "contain": "x"}', "1: contain: Extra inputs are not permitted"),
        ('{"text": "yes", "finish_reason": "end"}', "1: finish_reason: Input should be 'stop'"),
    ],
)
def test_a_file_that_holds_no_answers_is_one_line(
    content: str | None, message: str, path: Path
) -> None:
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(TablemendError) as refused:
        open_backend(f"scripted:{path}", BackendOptions())
    assert message in str(refused.value) and str(path) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (path.parent / "runs").exists()
