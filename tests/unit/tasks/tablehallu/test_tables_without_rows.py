"""Queries that no row of the context meets: target, thoughts, reward, corruptions, mitigations."""

from __future__ import annotations

from random import Random

import pytest

from tablemend.detector.errors import ERROR_TYPES
from tablemend.evidence.source import Source
from tablemend.mitigations.constrained import keeps_query
from tablemend.mitigations.edits import Draft
from tablemend.mitigations.mend import mend
from tablemend.mitigations.repair_scorer import RepairScorer
from tablemend.mitigations.repair_table import repair_answer
from tablemend.recipe.training import Reward
from tablemend.records import CONTEXT_KINDS, Example, SampleView
from tablemend.tables.extract import extract_table
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import prompts
from tablemend.tasks.tablehallu.injected_errors import INJECTED_ERRORS
from tablemend.tasks.tablehallu.scoring import IMPURE, Quote, Rules, score_answer
from tablemend.tasks.tablehallu.task import TableGeneration
from tablemend.tasks.tablehallu.verification import verify
from tablemend.tasks.task import Submission, TaskOptions
from tests.support.empty_gold import COLUMNS, CONTEXT, NONE, ONE, TWO

FORMATS: tuple[prompts.OutputFormat, ...] = ("markdown", "json", "latex")
RULES = Rules(Reward().model_dump())
HEADER = Table.of(COLUMNS, [])


def task(format: prompts.OutputFormat = "markdown") -> TableGeneration:
    return TableGeneration(TaskOptions(format=format))


def judge(example: Example, text: str, format: prompts.OutputFormat = "markdown"):
    own = task(format)
    with own.scorer() as scorer:
        (said,) = scorer.score([Submission(example, "adversarial", text)])
    return said, own.second_opinion(Submission(example, "adversarial", text))


def test_the_hand_made_examples_are_valid() -> None:
    assert [verify(one) for one in (TWO, ONE, NONE)] == [None] * 3
    assert Example.from_json(NONE.to_json()) == NONE


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("view", CONTEXT_KINDS)
@pytest.mark.parametrize("thinking", ["off", "empty", "quote", "quote-then-sort", "list"])
def test_a_target_reads_back_as_gold(
    format: prompts.OutputFormat, view: str, thinking: str
) -> None:
    text = task(format).target(NONE, view, thinking)
    found = extract_table(text, format, COLUMNS).table
    assert found is not None and (found.columns, found.rows) == (COLUMNS, ())
    assert task(format).is_flawless(judge(NONE, text, format)[0])
    second = judge(NONE, text, format)[1]
    assert (second.findings, second.unscored, second.share("row_recall")) == ((), "", None)


def test_thoughts_say_that_nothing_is_left() -> None:
    own = task()
    assert own.target(NONE, "adversarial", "list").split("\n")[1:4] == [
        "Year: 1990 Alder | 1990 Birch | 2001 Cedar",
        "1950: none",
        "Wheels, ascending: none",
    ]
    # nothing to quote, and nothing to sort
    for thinking in ("quote", "quote-then-sort"):
        assert own.target(NONE, "adversarial", thinking).startswith("<think>\n\n</think>\n\n####")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("thinking", ["off", "quote", "list"])
def test_gold_earns_all_and_rows_nothing(format: prompts.OutputFormat, thinking: str) -> None:
    reward = task(format).reward(Reward().model_dump(), thinking, "base")
    gold = reward.gold(NONE, "adversarial")
    assert reward.score(NONE, "adversarial", gold).reward == 1.0
    thought = gold.partition("####")[0]
    for rows in ([["Alder", "Oslo", "5"]], [["Froxwick", None, None]], [[None, None, None]]):
        text = thought + prompts.answer(Table.of(COLUMNS, rows), format)
        assert reward.score(NONE, "adversarial", text).reward == 0.0
    for text in ("", "####", f"{thought}There are no such mills."):
        assert reward.score(NONE, "adversarial", text).reward == 0.0
    # and the header alone nothing where there are rows
    assert reward.score(ONE, "adversarial", gold).reward == 0.0


def test_what_stands_beside_an_empty_table_costs() -> None:
    gold = prompts.answer(HEADER)
    for text in (
        f"No mill is of 1950.\n\n{gold}",
        f"{gold}\nok",
        gold.removeprefix("####\n"),
        f"{prompts.answer(Table.of(COLUMNS, [['Alder', 'Oslo', '5']]))}\n\n{gold}",
        prompts.answer(Table.of((*COLUMNS, "Year"), [])),
        prompts.answer(Table.of(COLUMNS[:2], [])),
        prompts.answer(Table.of(COLUMNS[::-1], [])),
        gold.replace("Mill", "mill"),
    ):
        assert 0.0 < score_answer(text, HEADER, None, RULES).reward < 1.0, text
    assert score_answer(prompts.answer(Table.of(["x"], [])), HEADER, None, RULES).reward == 0.0


def test_an_empty_json_list_earns_all_alone() -> None:
    rules = RULES._replace(format="json")

    def earned(text: str) -> float:
        return score_answer(text, HEADER, None, rules).reward

    for text in ('####\n{"Mills": []}', "####\n[]", '####\n{ "table" : [ ] }\n'):
        assert earned(text) == 1.0
    for text in (
        'Nothing.\n\n####\n{"Mills": []}',
        '{"Mills": []}',
        f'####\n{{"{"x" * 200}": []}}',
    ):
        assert 0.0 < earned(text) < 1.0
    assert score_answer("####\n[]", ONE.gold_table, None, rules).reward == 0.0


def test_quoting_costs_where_there_is_nothing_to_quote() -> None:
    rules = RULES._replace(thinks=True, quotes=True)
    table = prompts.answer(HEADER)
    said = CONTEXT.partition(". ")[0] + "."
    empty, quoted = (
        score_answer(
            f"<think>\n{thought}\n</think>\n\n{table}", HEADER, None, rules, Quote(CONTEXT, ())
        )
        for thought in ("", said)
    )
    assert empty.reward == 1.0
    assert (quoted.parts["quote"], quoted.parts["format"]) == (0.0, 1.0)


def test_impure_means_less_format_and_scope() -> None:
    said = score_answer(f"Here:\n{prompts.answer(HEADER)}", HEADER, None, RULES)
    assert (said.parts["format"], said.parts["scope"]) == (IMPURE, IMPURE)


@pytest.mark.parametrize("format", FORMATS)
def test_each_injected_error_is_found_as_its_own(format: prompts.OutputFormat) -> None:
    gold, found = task(format).target(NONE, "adversarial", "off"), {}
    for seed in range(5):
        rng = Random(seed)
        for one in task(format).corruptions(NONE, "adversarial", gold, ERROR_TYPES, rng):
            said, second = judge(NONE, one.text, format)
            assert {finding.type for finding in said.findings} == {one.type}, one
            assert second.findings
            found[one.name] = one.type
    assert found == {
        "row out of scope": "out_of_range",
        "row invented": "entity_fabrication",
        "columns swapped": "format_error",
    }


def test_no_injection_fails_where_there_is_nothing_to_inject() -> None:
    bare = Example.from_json({**NONE.to_json(), "facts": [], "id": ""})
    made = [one.make(bare, Random(0)) for one in INJECTED_ERRORS.values()]
    assert sum(table is not None for table in made) == 1  # columns swapped


def draft(example: Example, table: Table, format: prompts.OutputFormat = "markdown") -> Draft:
    return Draft(prompts.answer(table, format), evidence(example), format)


def evidence(example: Example, view: str = "adversarial") -> Source:
    return task().evidence(example, view)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("view", CONTEXT_KINDS)
def test_repair_leaves_an_empty_table(format: prompts.OutputFormat, view: str) -> None:
    text = prompts.answer(HEADER, format)
    mended = repair_answer(text, NONE.context(view), NONE.query, format)
    assert (mended.text, mended.edits) == (text, ())


@pytest.mark.parametrize("format", FORMATS)
def test_repair_drops_the_only_row_where_it_is_out_of_scope(
    format: prompts.OutputFormat,
) -> None:
    wrong = prompts.answer(Table.of(COLUMNS, [["Cedar", "Kyoto", "12"]]), format)
    mended = repair_answer(wrong, CONTEXT, NONE.query, format)
    assert judge(NONE, mended.text, format)[0].findings == ()


def test_cave_asks_nothing_of_an_empty_table(model_server) -> None:
    (mended,) = mend([draft(NONE, HEADER)], "cave", model_server())
    assert (mended.text, mended.edits, mended.usage.calls) == (prompts.answer(HEADER), (), 0)


@pytest.mark.parametrize("format", FORMATS)
def test_constraints_admit_an_empty_table(format: prompts.OutputFormat) -> None:
    for view in CONTEXT_KINDS:
        assert keeps_query(prompts.answer(HEADER, format), evidence(NONE, view), format)


def test_without_gold_a_header_alone_is_an_abstention() -> None:
    text = prompts.answer(HEADER)
    (said,) = RepairScorer(task()).score([Submission(NONE, "adversarial", text)])
    assert said.abstained


def test_a_view_of_it_can_be_stored() -> None:
    view = task().show(NONE, "adversarial")
    assert SampleView.from_json(view.to_json()) == view
    assert view.gold == HEADER
