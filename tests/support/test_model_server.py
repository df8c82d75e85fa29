"""The model server knows every fault that its page names and every prompt of ours."""

from __future__ import annotations

from pathlib import Path

from tests.support.model_server.faults import KINDS, MISTAKES
from tests.support.model_server.scripted import STAGES
from tests.support.prompts import openings


def test_the_page_names_every_fault() -> None:
    page = Path(__file__).with_name("model_server") / "README.md"
    text = page.read_text(encoding="utf-8")
    assert {name for name in KINDS if f"`{name}" not in text} == set()


def test_every_prompt_is_answered_and_every_mistake_belongs_to_one() -> None:
    known = [prompt.name for prompt in openings()]
    assert len(known) == len(set(known)) and set(STAGES) == set(known)
    made = {name for stage in STAGES.values() for name in stage.mistakes}
    assert made == MISTAKES - {"mistake"}
