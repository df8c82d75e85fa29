"""What a thought cites of a table, what of it is wrong, and what that costs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tablemend.config import Source
from tablemend.errors import NoTarget
from tablemend.tables.table import Table
from tablemend.tasks.all_tasks import TASKS
from tablemend.tasks.tablehallu.task import TableGeneration
from tablemend.tasks.task import Record, Score
from tablemend.tasks.trace_errors import read_trace

TABLE = Table(
    ("Team", "Points", "Coach"),
    (("Alba", "41", "Ida Vey"), ("Sella", "37", "Jo Rand"), ("Northern Vey", "12", None)),
)


@pytest.mark.parametrize(
    ("thought", "cited", "expected"),
    [
        ("Points: 41 Alba | 37 Sella | 12 Northern Vey", 3, []),
        ("Points: 41 Alba | 73 Sella | 12 Northern", 3, [("Sella", "Points", "37", "73")]),
        ("over 30: 41 Alba | 12 Sella", 2, [("Sella", None, None, "12")]),  # in no column
        ("Points: 41 Alba | 40 Nobody | 37 Sella", 3, [(None, "Points", None, "40 Nobody")]),
        ("Points, Coach: 41 Ida Vey Alba | 1 Jo Rand Sella", 2,
         [("Sella", None, None, "1 Jo Rand")]),
        ("|Team|Points|Coach|\n|---|---|---|\n|Sella|39|Jo Rand|", 2,
         [("Sella", None, None, "39")]),
        ("Alba won by 4 points and Sella lost. Yes | no | maybe", 0, []),
    ],
)  # fmt: skip
def test_citations_are_compared_with_the_table(
    thought: str, cited: int, expected: list[object]
) -> None:
    found = read_trace(f"<think>\n{thought}\n</think>\nAlba has 41.", TABLE)
    names = {None: None} | {at: row[0] for at, row in enumerate(TABLE.rows)}
    said = [(names[one.row], one.column, one.expected, one.got) for one in found.findings]
    assert (found.cited, said) == (cited, expected)
    assert read_trace(thought, TABLE) == (0, ())  # no thought
    assert TASKS["logic"]().trace_errors(Record({}), "pair", thought) is None  # no table


@pytest.mark.parametrize("thinking", ["list", "quote"])
def test_what_is_taught_has_no_error_and_a_row_less_is_seen(thinking: str) -> None:
    task, checked, shortened = TableGeneration(), 0, 0
    for one in task.samples(Source(source="small-world", n=40, seed=3)):
        try:
            target = task.target(one, "adversarial", thinking)
        except NoTarget:
            continue
        trace = task.trace_errors(one, "adversarial", target)
        assert trace.findings == (), target
        checked += bool(trace.cited)
        thought, end, rest = target.partition("\n</think>")
        if thinking == "list" and thought.splitlines()[-1].count(" | ") > 1:
            shorter = f"{thought.rpartition(' | ')[0]}{end}{rest}"
            (less,) = task.trace_errors(one, "adversarial", shorter).findings
            shortened += less.type == "omitted_row"
    assert checked > 5 and (shortened > 0) == (thinking == "list")


def test_wrong_references_lower_the_reward_and_right_ones_pay_nothing() -> None:
    grpo = pytest.importorskip("tablemend.training.grpo")
    inner = SimpleNamespace(name="", gold=None, score=lambda *_: Score({"cells": 0.5}, 0.5))
    task = SimpleNamespace(trace_errors=lambda _, __, text: read_trace(text, TABLE))
    reward = grpo.TraceReward(task, inner, 1.0)
    half = reward.score(None, "", "<think>Points: 41 Alba | 73 Sella</think>")
    assert half == Score({"cells": 0.5, "trace": 0.5}, 0.375)
    assert reward.score(None, "", "<think>Points: 41 Alba | 37 Sella</think>").reward == 0.5
    assert reward.score(None, "", "41").parts == {"cells": 0.5}
