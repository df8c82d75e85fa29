"""Prompts, solved exercises, thoughts in lists, and contexts that are tables."""

from __future__ import annotations

import json
from typing import get_args

import pytest
import yaml

from tablemend.config import parse
from tablemend.detector.algorithm import detect_in_answer
from tablemend.errors import TablemendError
from tablemend.mitigations.repair_table import repair_answer
from tablemend.records import Example
from tablemend.tables.serialisations import CONFIGURATIONS
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import prompts, small_world
from tablemend.tasks.tablehallu.engine import examples
from tablemend.tasks.tablehallu.prompts import NOTHING, NoListing, listing, target
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.tablehallu.task import TableGeneration
from tablemend.tasks.tablehallu.verification import meets
from tablemend.tasks.task import Submission

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
    (example,) = small_world.examples(7, 1)
    plain = prompts.messages(example, "adversarial", "base")
    shown = prompts.messages(example, "adversarial", "few-shot")
    assert shown[-1:] == plain and len(shown) == 1 + 2 * len(SOLVED)


SETS = {
    "pool": ["source=pool", "n=40", "seed=8"],
    "real": ["recipe=wikipedia-data", "source=data_gen/tables", "n=80", "distractors=real"],
}


@pytest.fixture(scope="module", params=[*SETS])
def made(request: pytest.FixtureRequest) -> list[Example]:
    return list(examples(parse(Synthesis, SETS[request.param])))


def items(line: str) -> list[str]:
    listed = line.split(": ", 1)[1]
    return [] if listed == NOTHING else listed.split(" | ")


def test_a_thought_to_the_letter() -> None:
    example = small_world.example(seed=1, index=1)
    lists = [
        "Year: 2024 Rin Sem | 2024 Cem Bru | 2021 Bor Mak | 2024 Wel Rek | 2019 Cem Bru | "
        "2021 Gal Dan | 2020 Gal Dan | 2019 Wel Rek | 2019 Dor Lod | 2020 Wel Rek",
        "2024: 2024 Rin Sem | 2024 Cem Bru | 2024 Wel Rek",
        "Fans: 6 Rin Sem | 2 Cem Bru | 9 Wel Rek",
        "Fans, ascending: 2 Cem Bru | 6 Rin Sem | 9 Wel Rek",
    ]
    assert listing(example).split("\n") == lists
    lists[0] = "Year: 2024 Rin Sem | 2024 Cem Bru | 2024 Wel Rek"
    written = target(example, "clean", "list")
    assert written.startswith("\n".join(["<think>", *lists, "</think>", "", "####"]))


def test_lists_are_filtered_and_sorted(made: list[Example]) -> None:
    seen = set()
    for example in made:
        lines = listing(example).split("\n")
        column, order = example.constraints.sort_column, example.constraints.sort_order
        assert lines[-1].startswith(f"{column}, {order}: ")
        cells = example.gold_table.column(column)
        ordered = items(lines[-1])
        assert len(ordered) == len(cells) and all(map(str.startswith, ordered, cells))
        every, kept = items(lines[0]), items(lines[1])
        places = iter(every)
        assert all(one in places for one in kept)  # in the same order
        if len(example.constraints.conditions) > 1:
            continue
        (condition,) = example.constraints.conditions
        names = {fact.entity for fact in example.facts if fact.violates in (None, condition.column)}
        for one in every:
            values = [one[: -len(name) - 1] for name in names if one.endswith(f" {name}")]
            # a row by its name alone is asked for by that
            assert any(meets(value, condition) for value in values or [one]) == (one in kept), one
        seen.add((condition.low is None, condition.high is None))
    # no low end, no high end; real rows alone make no groups by category here
    open_ends = {(False, True), (True, False)}
    categories = {(True, True)} if made[0].source == "pool" else set()
    assert open_ends | categories < seen


def test_only_the_context_s_own_rows_are_listed(made: list[Example]) -> None:
    for example in made:
        every, kept = map(items, listing(example, "clean").split("\n")[:2])
        assert every == kept
        assert sorted(kept) == sorted(items(listing(example).split("\n")[1]))


@pytest.mark.parametrize("mark", ["|", "\\n"])
def test_a_value_with_a_mark_of_the_lists_has_no_thought(mark: str) -> None:
    text = json.dumps(small_world.example(seed=1, index=1).to_json())
    marked = Example.from_json(json.loads(text.replace("Rin Sem", f"Rin{mark}Sem")))
    with pytest.raises(NoListing, match=r"a value with a line break"):
        listing(marked)


TASK = TableGeneration()
SAMPLES = [small_world.example(0, number) for number in range(8)]


@pytest.mark.parametrize("view", CONFIGURATIONS)
def test_a_table_states_all_facts_of_the_text_and_gold_is_right(view: str) -> None:
    for sample in SAMPLES:
        asked = TASK.messages(sample, view, "base")[-1]["content"]
        assert sample.context(view) in asked and sample.adversarial_context not in asked
        assert all(fact.value in asked for fact in sample.facts)
        shown = TASK.show(sample, view)
        assert shown.text == sample.context(view) and shown.marks == ()
        with TASK.scorer() as scorer:
            (said,) = scorer.score([Submission(sample, view, TASK.target(sample, view, "off"))])
        assert not said.findings and not said.unscored


def test_the_table_has_a_row_for_each_entity_and_scope_columns_too() -> None:
    sample = SAMPLES[0]
    table = sample.stated_table()
    rows = {(fact.violates is None, fact.row) for fact in sample.facts}
    assert len(table.rows) == len(rows) > len(sample.gold_table.rows)
    assert set(table.columns) == {fact.column for fact in sample.facts}
    columns = sample.gold_table.columns
    places = [table.columns.index(one) for one in columns]
    stated = [[row[place] for place in places] for row in table.rows]
    assert all(list(row) in stated for row in sample.gold_table.rows)


def test_repair_leaves_gold_alone_where_it_reads_no_sentences() -> None:
    for sample in SAMPLES:
        gold = TASK.target(sample, "csv+none", "off")
        evidence = TASK.evidence(sample, "csv+none")
        assert repair_answer(gold, evidence.text, evidence.query, "markdown").text == gold


@pytest.mark.parametrize("thinking", ["quote", "list"])
def test_thoughts_about_sentences_are_refused(thinking: str) -> None:
    with pytest.raises(TablemendError, match="csv\\+none is a table"):
        TASK.target(SAMPLES[0], "csv+none", thinking)
