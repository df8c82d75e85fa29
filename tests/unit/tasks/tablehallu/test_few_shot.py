"""The solved exercises of the prompting strategy few-shot are right and precede the question."""

from __future__ import annotations

from typing import get_args

import pytest
import yaml

from tablemend.detector.algorithm import detect_in_answer
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import prompts
from tablemend.tasks.tablehallu.small_world import examples

SOLVED = yaml.safe_load(prompts.DEMONSTRATIONS.read_text("utf-8"))


@pytest.mark.parametrize("one", SOLVED, ids=lambda one: one["columns"][0])
def test_every_cell_of_a_solved_exercise_is_in_its_text_and_every_column_in_its_query(one):
    assert all(cell in one["context"] for row in one["rows"] for cell in row if cell is not None)
    assert all(f'"{column}"' in one["query"] for column in one["columns"])
    assert any(None in row for row in one["rows"])  # a blank is kept


@pytest.mark.parametrize("output", get_args(prompts.OutputFormat))
def test_answers_are_in_the_format_that_is_asked_for(output):
    turns = prompts.demonstrations(output)
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * len(SOLVED)
    for one, asked, solved in zip(SOLVED, turns[::2], turns[1::2], strict=True):
        assert prompts.FORMATS[output] in asked["content"]
        gold = Table.of(one["columns"], one["rows"])
        judgement = detect_in_answer(solved["content"], gold, one["context"], format=output)
        assert not judgement.unscored and not judgement.findings


def test_the_question_stands_last_and_is_the_plain_one():
    (example,) = examples(7, 1)
    plain = prompts.messages(example, "adversarial", "base")
    shown = prompts.messages(example, "adversarial", "few-shot")
    assert shown[-1:] == plain and len(shown) == 1 + 2 * len(SOLVED)
