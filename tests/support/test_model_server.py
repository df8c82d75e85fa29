"""The model server: its protocol, its faults, its answers to the prompts of a data set."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import openai
import pytest

from tablemend.backends.backend import open_backend
from tablemend.backends.requests import Sampling
from tablemend.config.backend import BackendOptions
from tablemend.datasets.tablehallu_llm.asking import Asked
from tablemend.datasets.tablehallu_llm.prompting import STAGES, render, with_problems
from tablemend.datasets.tablehallu_llm.rows import Row
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import Models, make_row
from tablemend.datasets.tablehallu_llm.topics import open_topics
from tablemend.errors import TablemendError
from tablemend.prompting.replies import Problem
from tests.support.model_server import scripted
from tests.support.model_server.chat import Chat, read_chat
from tests.support.model_server.faults import CONTENT, KINDS, MISTAKES, Faults
from tests.support.model_server.local import ROOT, LocalServer
from tests.support.prompts import openings

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
    names = [*BROKEN, *sorted(CONTENT)]
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
            if reply.choices[0].message.content == JSON_TEXT:
                found["whole"] += 1
            else:
                found[reply.choices[0].finish_reason] += 1
    assert {kind.__name__ for kind in BROKEN.values()} <= found.keys()
    assert {"whole", "stop", "length"} <= found.keys()


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
        "import sys, tests.support.model_server.scripted, tests.support.model_server.__main__\n"
        "sys.exit(', '.join({'torch', 'transformers', 'matplotlib'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_page_names_every_fault() -> None:
    page = (ROOT / "tests" / "support" / "model_server" / "README.md").read_text(encoding="utf-8")
    assert {name for name in (*KINDS, "die-after") if f"`{name}" not in page} == set()


# answers to our prompts

KERNEL = {"topic": "ferries", "category": "Ships", "columns": "4 to 7", "rows": "5 to 8"}


def test_the_same_request_has_the_same_answer_and_a_rejected_one_another() -> None:
    server, messages = scripted.PromptAnswers(), render("kernel", **KERNEL)

    def say(turns: Any, seed: int = 0, mistake: str | None = None) -> str:
        chat = Chat("m", tuple((turn["role"], turn["content"]) for turn in turns), seed)
        return server.answer(chat, mistake, 0).content

    first = say(messages)
    assert say(messages) == first != say(messages, seed=1)
    wrong = say(messages, mistake="mistake")
    assert json.loads(wrong)["rows"] != json.loads(first)["rows"]
    assert say(with_problems(messages, wrong, [Problem("unsorted", "They are not sorted.")]))


@pytest.mark.parametrize("switch", ["", " /no_think", " /think"])
def test_thinking_is_switched_by_the_template_and_by_the_prompt(switch: str) -> None:
    (system, user) = render("kernel", **KERNEL)
    turns = [system, {**user, "content": user["content"] + switch}]
    for given in (True, False):
        body = {"messages": turns, "chat_template_kwargs": {"enable_thinking": given}}
        reply = scripted.PromptAnswers().answer(read_chat(json.dumps(body).encode()), None, 0)
        assert bool(reply.thought) == (switch == " /think" if switch else given)


def test_every_prompt_is_answered_and_every_mistake_belongs_to_one() -> None:
    known = [prompt.name for prompt in openings()]
    assert len(known) == len(set(known)) and set(scripted.STAGES) == set(known)
    made = {name for stage in scripted.STAGES.values() for name in stage.mistakes}
    assert made == MISTAKES - {"mistake"}


@pytest.mark.parametrize(
    "faults", ["", "429:0.15+500:0.1+cut:0.1+reset:0.05+mistake:0.1+prose:0.1"]
)
def test_whole_rows_are_made_through_the_server(
    faults: str, model_server: Callable[..., str]
) -> None:
    """The chain, its client and the server as a process."""
    settings, topics = LlmSynthesis(generator="hf:a/b", retries=6, restarts=3), open_topics(None, 1)
    options = BackendOptions(cache=None, backoff=0.01, retries=8)
    with open_backend(model_server("--seed=2", f"--faults={faults}"), options) as backend:
        asked = Asked("scripted", backend, Sampling(30_000, 0.6))

        async def rows() -> list[Row]:
            models = Models(asked, asked)
            numbers = range(4)
            made = await asyncio.gather(
                *(make_row(n, topics.topic(n), settings, models) for n in numbers)
            )
            await backend.leave()
            return made

        made = asyncio.run(rows())
    assert all(row.example is not None for row in made)
    assert {call.stage for row in made for call in row.calls} == set(STAGES)
    assert any(row.rejections for row in made) == bool(faults)
