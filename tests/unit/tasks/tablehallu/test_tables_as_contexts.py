"""TableHallu with the facts in tables: every configuration states what the text states."""

from __future__ import annotations

import pytest

from tablemend.errors import TablemendError
from tablemend.mitigations.repair_table import repair_answer
from tablemend.tables.serialisations import CONFIGURATIONS
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.task import TableGeneration
from tablemend.tasks.task import Submission

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
