"""Rewards for TRL, verifiers and verl; what cannot be scored is None."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tablemend.errors import TablemendError
from tablemend.rewards import (
    compute_score,
    summary_reward,
    table_reward,
    table_reward_partial,
)
from tablemend.tables.read import read_table, write_table
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.prompts import messages

ROOT = Path(__file__).parents[3]
GOLD = 'Team,Points\nAlba,"1,041"\nSella,37\n'
RIGHT = "| Team | Points |\n|---|---|\n| Alba | 1,041 |\n| Sella | 37 |"
WRONG = RIGHT.replace("37", "39")
ARTICLE = "Alba won 41 points in 2019. Sella won 37 points in 2019."
QUERY = "List the teams and their points."
RIGHTS = (
    RIGHT,
    f"<think>Is it 39?\n{WRONG}</think>\n{RIGHT}",
    f"Here it is:\n\n```\n{RIGHT}\n```\nDone.",
    [{"role": "user", "content": "?"}, {"role": "assistant", "content": RIGHT}],
    [{"role": "assistant", "content": [{"type": "text", "text": RIGHT}]}],
    RIGHT.replace("1,041", "1041").replace("Alba", "ALBA"),  # values written otherwise
    '[{"Team": "Alba", "Points": 1041}, {"Team": "Sella", "Points": 37}]',
)
WRONGS = (
    WRONG,
    "I do not know.",
    "",
    f"<think>{RIGHT}",
    f"{RIGHT}\n| Vey | 12 |",
    RIGHT.replace("| Sella | 37 |", ""),
    RIGHT.replace("37", "37 or 39"),  # the detector accepts what includes the right value
    RIGHT.replace("| Points |", "| Points | Year |"),
    f"{RIGHT}\n| Sella | 39 |",
    [{"role": "assistant", "content": None, "tool_calls": []}],
)


def test_one_for_what_is_all_right_and_zero_for_all_else() -> None:
    answers = (*RIGHTS, *WRONGS)
    found = table_reward(completions=answers, prompts=["?"] * len(answers), gold=[GOLD] * 17)
    assert found == [1.0] * len(RIGHTS) + [0.0] * len(WRONGS)


def test_partial_credit_is_between_and_pays_the_table_alone() -> None:
    alone, wrong, prose, none = table_reward_partial(
        [RIGHT, WRONG, f"Here it is:\n{RIGHT}", "No."], gold=[GOLD] * 4
    )
    assert alone == 1.0 and none == 0.0
    assert none < wrong < 1 and none < prose < 1  # type: ignore[operator]


@pytest.mark.parametrize("format", ["markdown", "json", "latex"])
def test_the_querys_order_is_checked_and_gold_earns_all_of_both(format: Any) -> None:
    for example in small_world.examples(3, 6):
        gold = write_table(example.gold_table, "markdown")
        answer = write_table(example.gold_table, format)
        columns: Any = {"gold": [gold] * 2, "query": [example.query] * 2}
        table = read_table(gold)
        turned = write_table(type(table)(table.columns, table.rows[::-1]), "markdown")
        assert table_reward([answer, turned], **columns) == [1.0, float(len(table.rows) < 2)]
        assert table_reward_partial([answer, f"####\n{answer}"], **columns) == [1.0, 1.0]


def test_without_gold_the_context_decides_and_an_open_claim_is_no_verdict() -> None:
    right = RIGHT.replace("1,041", "41")
    computed = "| Team | Points | Share |\n|---|---|---|\n| Sella | 37 | 47.4 % |"
    answers = [right, right.replace("37", "39"), "No table.", computed]
    columns: Any = {"context": [ARTICLE] * 4, "query": [QUERY] * 4}
    with pytest.warns(UserWarning, match=r"row 3 could not be scored \(None\): no verdict"):
        assert table_reward(answers, **columns) == [1.0, 0.0, 0.0, None]
    one, other, none, _ = table_reward_partial(answers, **columns)
    assert (one, none) == (1.0, 0.0) and 0.5 < other < 1  # type: ignore[operator]
    mixed = table_reward([RIGHT, right], gold=[GOLD, None], context=[None, ARTICLE])
    assert mixed == [1.0, 1.0]


def test_a_summary_earns_its_supported_claims() -> None:
    texts = [
        "Alba won 1,041 points. Sella won 39 points.",
        "Alba won 1,041 points.",
        "Alba won 1,041 points. Alba won 1,041 points.",
        "",
        "Alba was founded in 1904.",
    ]
    with pytest.warns(UserWarning, match="row 4 could not be scored"):
        assert summary_reward(texts, [GOLD] * 5) == [0.5, 1.0, 0.5, 0.0, None]
    assert summary_reward(texts[:2], [GOLD] * 2, claims=[2, 2]) == [0.25, 0.5]


@pytest.mark.parametrize(
    ("gold", "reason"),
    [
        ("", "the text is empty"),
        ("no table", "no table found"),
        (None, "neither a gold table nor a context"),
        (7, "gold: wanted a table as text, not int"),
        ("|Team|Team|\n|-|-|\n|a|b|\n", "column"),
    ],
)
def test_a_row_whose_gold_cannot_be_used_is_none_and_the_others_go_on(
    gold: Any, reason: str
) -> None:
    for reward in (table_reward, table_reward_partial):
        with pytest.warns(UserWarning, match=f"table_reward: row 1 .*{reason}"):
            assert reward([RIGHT] * 3, gold=[GOLD, gold, GOLD]) == [1.0, None, 1.0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: table_reward([RIGHT], label=["x"]), "needs a column gold"),
        (lambda: summary_reward([RIGHT], gold=[GOLD]), "needs a column table"),
        (lambda: table_reward([RIGHT] * 2, gold=[GOLD]), "gold has 1 values for 2 completions"),
        (lambda: table_reward(RIGHT, gold=GOLD), "completions: wanted a list of texts"),
        (lambda: table_reward([7], gold=[GOLD]), "a completion is a text, or a list of messages"),
        (lambda: table_reward([[{"role": "x"}]], gold=[GOLD]), "a completion is a text"),
    ],
)
def test_what_no_row_could_be_scored_by_is_refused(call: Any, said: str) -> None:
    with pytest.raises(TablemendError, match=said) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_verl_finds_the_function_and_gets_a_number_or_an_error() -> None:
    """As ``NaiveRewardManager`` (verl 0.9.1) loads and calls it, with ``pkg://``."""
    found = importlib.import_module("tablemend.rewards").compute_score
    extra = {"query": QUERY, "num_turns": None, "rollout_reward_scores": {}}
    given = {"data_source": "mine", "solution_str": WRONG, "extra_info": extra}
    assert found(**given, ground_truth=GOLD) == 0.0
    assert 0 < found(**given, ground_truth=GOLD, partial=True, reward_router_address="x") < 1
    assert compute_score("mine", RIGHT, "", {"context": "Alba won 7 points."}) == 0.0
    with pytest.raises(TablemendError, match=r"mine: .*no table found in any format"):
        found(**given, ground_truth="no table")


def _script(name: str) -> str:
    page = (ROOT / "docs" / "rewards.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"^```{name}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    lines = [one for one in block.splitlines() if one and not one.startswith("#")]
    assert len(lines) <= 15
    return str(block)


def test_trl_trains_on_it_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trl import GRPOTrainer

    monkeypatch.chdir(tmp_path)
    trainers = list[Any]()
    start = GRPOTrainer.train
    monkeypatch.setattr(GRPOTrainer, "train", lambda self: trainers.append(self) or start(self))
    code = _script("python").replace("table_reward", "table_reward_partial")
    exec(compile(code, "docs/rewards.md", "exec"), {})
    (log,) = trainers[0].state.log_history
    assert 0 < log["rewards/table_reward_partial/mean"] == log["reward"] <= 1


@pytest.mark.skipif(
    importlib.util.find_spec("verifiers") is None, reason="verifiers is not installed"
)
def test_verifiers_scores_by_it_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import json

    monkeypatch.chdir(tmp_path)
    asked = [dict(turn) for turn in messages(ARTICLE, QUERY)]
    row = {"prompt": asked, "gold": GOLD, "query": QUERY}
    Path("tables.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    names: dict[str, Any] = {"__name__": "tables_env"}
    exec(compile(_script("py"), "docs/rewards.md", "exec"), names)
    (task,) = names["Tables"].load(None)
    found = [asyncio.run(task.right(SimpleNamespace(last_reply=text))) for text in (RIGHT, WRONG)]
    assert found == [1.0, 0.0]
