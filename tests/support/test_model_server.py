"""The model server: its protocol, each fault of transport and content, its life and death."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import Any

import openai
import pytest

from tablemend.errors import TablemendError
from tests.support.model_server.faults import CONTENT, KINDS, Faults
from tests.support.model_server.local import ROOT, LocalServer

JSON_TEXT = json.dumps({"table": {"columns": ["A", "B"], "rows": [["1", None]]}, "context": "So."})
BROKEN: dict[str, type[openai.OpenAIError]] = {
    "400": openai.BadRequestError,
    "429": openai.RateLimitError,
    "500": openai.InternalServerError,
    "cut": openai.APIConnectionError,
    "reset": openai.APIConnectionError,
}


@pytest.fixture(scope="module")
def server() -> Any:
    """A server with one answer, and faults of every kind that passes when it is tried again."""
    names = [*BROKEN, "bad-body", "empty-choices", "wrong-usage", *sorted(CONTENT)]
    faults = "+".join(f"{name}:0.05" for name in names)
    started = LocalServer([f"--answer={JSON_TEXT}", f"--faults={faults}", "--seed=1"])
    yield started
    started.close()


def ask(client: openai.OpenAI, text: str, **more: Any) -> Any:
    turns: Any = [{"role": "user", "content": text}]
    return client.chat.completions.create(model="m", messages=turns, **more)


def test_it_fails_as_it_was_asked_to_and_otherwise_answers(server: LocalServer) -> None:
    found: Counter[str] = Counter()
    with openai.OpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
        for number in range(300):
            try:
                reply = ask(client, f"question {number}")
            except openai.OpenAIError as error:
                found[type(error).__name__] += 1
                continue
            if isinstance(reply, str):
                found["bad body"] += 1
            elif not reply.choices:
                found["no choices"] += 1
            elif reply.choices[0].message.content == JSON_TEXT:
                found["whole"] += 1
            else:
                found[reply.choices[0].finish_reason] += 1
        counts = client.get("/../counts", cast_to=dict[str, Any])
    assert {kind.__name__ for kind in BROKEN.values()} <= found.keys()
    assert {"bad body", "no choices", "whole", "stop", "length"} <= found.keys()
    assert counts["requests"] == 300 and counts["stages"] == {"fixed": 300}
    assert counts["faults"].keys() == {
        *BROKEN,
        "bad-body",
        "empty-choices",
        "wrong-usage",
        *CONTENT,
    }


def test_a_fault_passes_when_tried_again_and_does_not_depend_on_the_order() -> None:
    faults = Faults.parse("429:0.2+500:0.2", seed=5)
    contents = [b"%d" % number for number in range(200)]

    def names(attempt: int) -> list[str]:
        drawn = [faults.draw(content, attempt) for content in contents]
        return [fault.name if fault else "" for fault in drawn]

    assert names(0) == names(0) != names(1)
    assert 20 <= names(0).count("429") <= 60


def test_a_long_answer_is_cut_at_max_tokens_and_says_so() -> None:
    server = LocalServer(["--answer=one two three four five six seven"])
    with openai.OpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
        cut = ask(client, "x", max_tokens=3)
        whole = ask(client, "x", max_completion_tokens=100)
        server.close()
        with pytest.raises(openai.APIConnectionError):
            ask(client, "x")
    server.close()
    assert (cut.choices[0].message.content.split(), cut.choices[0].finish_reason) == (
        ["one", "two", "three"],
        "length",
    )
    assert whole.choices[0].finish_reason == "stop" and cut.usage.completion_tokens == 3


def test_a_server_dies_when_asked_to_and_comes_back_at_its_address() -> None:
    server = LocalServer(["--answer=x", "--faults=die-after:2"])
    with openai.OpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
        for _ in range(2):
            ask(client, "x")
        with pytest.raises(openai.APIConnectionError):
            ask(client, "x")
        server.restart()
        assert ask(client, "x").choices[0].message.content == "x"
    server.close()


def test_a_server_that_does_not_start_says_why() -> None:
    with pytest.raises(TablemendError, match="did not start: error: no fault 'x'"):
        LocalServer(["--faults=x:1"])


def test_it_starts_without_torch() -> None:
    code = (
        "import sys, tests.support.model_server.oracle, tests.support.model_server.__main__\n"
        "sys.exit(', '.join({'torch', 'transformers', 'matplotlib'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_page_names_every_fault() -> None:
    page = (ROOT / "tests" / "support" / "model_server" / "README.md").read_text(encoding="utf-8")
    assert {name for name in (*KINDS, "die-after") if f"`{name}" not in page} == set()
