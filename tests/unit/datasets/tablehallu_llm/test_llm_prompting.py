"""The prompt files, and chats made from them."""

from __future__ import annotations

import pytest

from tablemend.datasets.tablehallu_llm import prompting
from tablemend.datasets.tablehallu_llm.prompting import RETRY, STAGES, prompt, render
from tablemend.prompting.replies import Problem
from tests.support.prompts import recognise

SLOTS = {
    "kernel": {"topic", "category", "columns", "rows"},
    "query": {"table", "context", "sort_column", "sort_order"},
    "constraints": {"query", "table"},
    "perturb": {"context", "query", "constraints", "table", "nulls", "factor", "words"},
    "verify_kernel": {"context", "query", "table"},
    "verify_preserved": {"adversarial", "context"},
    "verify_distractors": {"adversarial", "context", "query", "constraints", "table"},
    "retry": {"problems"},
}


@pytest.mark.parametrize("name", SLOTS)
def test_a_prompt_has_its_slots_and_no_stray_braces(name: str) -> None:
    found = prompt(name)
    assert set(found.slots) == SLOTS[name]
    assert found.version >= 1 and prompting.version(name).startswith(f"{name}/")
    filled = found.fill(dict.fromkeys(SLOTS[name], "x"))
    assert "{{" not in filled + found.system and "\n# " not in filled
    assert bool(found.system) == (name != RETRY)


@pytest.mark.parametrize("name", STAGES)
def test_a_chat_tells_its_stage_and_slots(name: str) -> None:
    slots = {slot: f"first {slot}\n\nand {{{slot}}} more." for slot in SLOTS[name]}
    messages = render(name, **slots)
    assert recognise(messages) == (name, slots)
    longer = prompting.with_problems(messages, "no", [Problem("kind", "why")])
    assert recognise(longer) == (name, slots)
