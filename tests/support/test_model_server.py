"""The model server: its protocol, its faults, its answers to the prompts of a data set."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tablemend.backends.backend import open_backend
from tablemend.backends.requests import Sampling
from tablemend.config.backend import BackendOptions
from tablemend.datasets.tablehallu_llm.asking import Asked, Row
from tablemend.datasets.tablehallu_llm.prompting import STAGES as PIPELINE
from tablemend.datasets.tablehallu_llm.prompting import render, with_problems
from tablemend.datasets.tablehallu_llm.settings import LlmSynthesis
from tablemend.datasets.tablehallu_llm.stages import Models, make_row
from tablemend.datasets.tablehallu_llm.topics import open_topics
from tablemend.prompting.replies import Problem
from tests.support.model_server.faults import KINDS, MISTAKES, Faults
from tests.support.model_server.scripted import STAGES, Chat, answer_prompt
from tests.support.prompts import openings


def test_a_fault_passes_when_tried_again_and_does_not_depend_on_the_order() -> None:
    faults = Faults.parse("429:0.2+500:0.2", seed=5)
    contents = [b"%d" % number for number in range(200)]

    def names(attempt: int) -> list[str]:
        drawn = [faults.draw(content, attempt) for content in contents]
        return [fault.name if fault else "" for fault in drawn]

    assert names(0) == names(0) != names(1)
    assert 20 <= names(0).count("429") <= 60


def test_the_page_names_every_fault() -> None:
    page = Path(__file__).with_name("model_server") / "README.md"
    text = page.read_text(encoding="utf-8")
    assert {name for name in (*KINDS, "die-after") if f"`{name}" not in text} == set()


# answers to our prompts

KERNEL = {"topic": "ferries", "category": "Ships", "columns": "4 to 7", "rows": "5 to 8"}


def test_the_same_request_has_the_same_answer_and_a_rejected_one_another() -> None:
    messages = render("kernel", **KERNEL)

    def say(turns: Any, seed: int = 0, mistake: str = "") -> str:
        chat = Chat(tuple((turn["role"], turn["content"]) for turn in turns), seed)
        return answer_prompt(chat, mistake, 0)

    first = say(messages)
    assert say(messages) == first != say(messages, seed=1)
    wrong = say(messages, mistake="mistake")
    assert json.loads(wrong)["rows"] != json.loads(first)["rows"]
    assert say(with_problems(messages, wrong, [Problem("unsorted", "They are not sorted.")]))


def test_every_prompt_is_answered_and_every_mistake_belongs_to_one() -> None:
    known = [prompt.name for prompt in openings()]
    assert len(known) == len(set(known)) and set(STAGES) == set(known)
    made = {name for stage in STAGES.values() for name in stage.mistakes}
    assert made == MISTAKES - {"mistake"}


@pytest.mark.parametrize("faults", ["", "429:0.15+500:0.1+cut:0.15+mistake:0.1+prose:0.1"])
def test_whole_rows_are_made_through_the_server(
    faults: str, model_server: Callable[..., str]
) -> None:
    """The chain, its client and the server as a process."""
    settings, topics = LlmSynthesis(generator="hf:a/b", retries=9), open_topics(None, 1)
    options = BackendOptions(cache=None, backoff=0.01, retries=8)
    with open_backend(model_server(faults, seed=2), options) as backend:
        asked = Asked("scripted", backend, Sampling(30_000, 0.6))

        async def rows() -> list[Row]:
            models = Models(asked, asked)
            numbers = range(8)
            made = await asyncio.gather(
                *(make_row(n, topics.topic(n), settings, models) for n in numbers)
            )
            await backend.leave()
            return made

        made = asyncio.run(rows())
    assert all(row.example is not None for row in made)
    assert {call.stage for row in made for call in row.calls} == set(PIPELINE)
    assert any(row.rejections for row in made) == bool(faults)
