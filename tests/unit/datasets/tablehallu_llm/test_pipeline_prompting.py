"""The prompt files, and chats made from them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablemend.datasets.tablehallu_llm import prompting
from tablemend.datasets.tablehallu_llm.prompting import FOLDER, RETRY, STAGES, prompt, render
from tablemend.prompting.replies import Problem
from tablemend.records import Condition, Constraints
from tablemend.tables.table import Table
from tablemend.tables.write import write_table
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


def chat(name: str) -> tuple[dict[str, str], ...]:
    return render(name, **{slot: f"<{slot}>" for slot in SLOTS[name]})


def test_every_file_is_a_prompt_and_every_prompt_has_a_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} == {*STAGES, RETRY} == set(SLOTS)


@pytest.mark.parametrize("name", SLOTS)
def test_a_prompt_has_its_slots_and_no_stray_braces(name: str) -> None:
    found = prompt(name)
    assert set(found.slots) == SLOTS[name]
    assert found.version >= 1 and found.purpose and prompting.version(name).startswith(f"{name}/")
    filled = found.fill(dict.fromkeys(SLOTS[name], "x"))
    assert "{{" not in filled + found.system and "\n# " not in filled
    assert bool(found.system) == (name != RETRY)


def test_slots_must_be_given_exactly() -> None:
    with pytest.raises(TypeError, match="kernel takes the slots topic, category, columns, rows"):
        render("kernel", topic="x")
    with pytest.raises(TypeError, match="query"):
        render("query", table="", context="", sort_column="", sort_order="", topic="")


def test_what_is_filled_in_is_never_read_again() -> None:
    messages = render("constraints", query="{{table}} {x} \\1 \\g<0>", table="{{query}}")
    assert "{{table}} {x} \\1 \\g<0>" in messages[1]["content"]
    assert "{{query}}" in messages[1]["content"]


@pytest.mark.parametrize("name", STAGES)
def test_a_chat_tells_its_stage_and_slots(name: str) -> None:
    slots = {slot: f"first {slot}\n\nand {{{slot}}} more." for slot in SLOTS[name]}
    messages = render(name, **slots)
    assert recognise(messages) == (name, slots)
    longer = prompting.with_problems(messages, "no", [Problem("kind", "why")])
    assert recognise(longer) == (name, slots)


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_comes_back_out_of_its_slot(query: str, table: str) -> None:
    assert recognise(render("constraints", query=query, table=table)) == (
        "constraints",
        {"query": query, "table": table},
    )


def test_other_chats_are_not_recognised() -> None:
    kernel, query = chat("kernel"), chat("query")
    assert recognise((kernel[0], query[1])) is None
    assert recognise(kernel[:1]) is None
    assert recognise(({"role": "user", "content": "a"}, {"role": "user", "content": "b"})) is None


def test_only_the_two_steps_of_verifier_2_share_a_system_text_and_a_beginning() -> None:
    shared = {"verify_preserved", "verify_distractors"}
    apart = [prompt(name).system for name in STAGES if name != "verify_distractors"]
    assert len(set(apart)) == len(apart)
    one, other = (prompt(name).user.partition("\nRequest:")[0] for name in sorted(shared))
    head = "Long text:\n{{adversarial}}\n\n---\n\nOriginal text:\n{{context}}\n"
    assert one.startswith(head) and other.startswith(head)
    assert prompt("verify_preserved").system == prompt("verify_distractors").system


@pytest.mark.parametrize("name", ["verify_kernel", "perturb"])
def test_the_context_comes_first_where_it_is_given(name: str) -> None:
    assert prompt(name).slots[0] == "context"


def test_a_rejected_answer_and_its_reasons_become_two_turns() -> None:
    problems = [Problem("a", "The first reason."), Problem("b", "The {{second}} one.")]
    messages = prompting.with_problems(chat("query"), " Make a table. ", problems)
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2]["content"] == "Make a table."
    assert "- The first reason.\n- The {{second}} one.\n" in messages[3]["content"]
    assert prompting.with_problems(chat("query"), "", problems)[2]["content"] == "(no answer)"


def test_the_hash_changes_with_the_words() -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", prompting.prompts_hash())


def test_verdicts_are_asked_for_in_the_form_that_is_read() -> None:
    words = {
        "verify_kernel": ("CORRECT", "INCORRECT"),
        "verify_preserved": ("YES", "NO"),
        "verify_distractors": ("VALID", "INVALID"),
    }
    for name, pair in words.items():
        said = re.findall(r"^VERDICT: (\w+)$", prompt(name).user, re.MULTILINE)
        assert tuple(said) == pair


def test_what_is_shown_of_a_draft() -> None:
    table = Table.of(["Year", "Ferry", "Port"], [["1998", "Alba", None], ["2004", "Sella", "Vey"]])
    shown = prompting.show_table(table)
    assert shown.splitlines()[2].replace(" ", "") == "|1998|Alba|-|"
    assert (
        shown
        == write_table(
            Table.of(table.columns, [["1998", "Alba", "-"], ["2004", "Sella", "Vey"]]), "markdown"
        ).strip()
    )
    assert prompting.show_blanks(table) == "- Port of Alba"
    assert prompting.show_blanks(Table.of(["A"], [["x"]])) == "none"
    constraints = Constraints(("ferries",), None, "Year", "ascending", (Condition("Year", "1990"),))
    assert '"conditions": [{"column": "Year", "low": "1990"' in prompting.show_constraints(
        constraints
    )
