"""Logical annotation in one answer: what is shown, taught, scored and paid, and a comparison."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tablemend.config import parse
from tablemend.errors import NoTarget
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.compare import compare
from tablemend.runs import write_jsonl
from tablemend.tasks.logic.pair import DOMAINS, RELATION_WORDS, Pair, leaves
from tablemend.tasks.logic.task import VIEW, Logic, judge, read_relation
from tests.support.answering import AnsweringServer

TASK = Logic()
PAIRS = [
    Pair(domain, f"input {number}", "output", "made", (label,))
    for domain in DOMAINS
    for number, label in enumerate(leaves(domain))
]
HOTEL = Pair("hotel", "Name: A", "A.", "made", ("too_weak_harmless", "independent"))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda one: f"{one.domain}-{one.labels[0]}")
@pytest.mark.parametrize("thinking", ["off", "empty", "rationale"])
def test_gold_is_right_and_earns_everything(pair: Pair, thinking: str) -> None:
    gold = TASK.target(pair, VIEW, thinking)
    found = judge(pair, gold)
    assert not found.findings and TASK.is_flawless(found)
    assert TASK.reward({}, thinking, "base").score(pair, VIEW, gold).reward == 1.0
    assert TASK.sample(json.loads(json.dumps(pair.to_json()))) == pair


def test_the_prompt_has_the_guidelines_the_pair_and_the_names_of_its_domain() -> None:
    system, user = TASK.messages(HOTEL, VIEW, "base")
    assert "Divergent information" in system["content"]
    assert "Name: A\n\nOutput:\nA." in user["content"]
    names = [RELATION_WORDS[one][0] for one in leaves("hotel")]
    assert [name for name in names if f"\n{name}: " in user["content"]] == names
    assert "well-formed" not in user["content"]
    logic = TASK.messages(replace(HOTEL, domain="logic"), VIEW, "base")
    assert "harmless" not in str(logic) and "Predicates" in logic[0]["content"]


def test_a_rationale_is_the_path() -> None:
    assert TASK.target(HOTEL, VIEW, "rationale").splitlines()[1:-3] == [
        "Does Output contradict itself? No.",
        "Does Input include Output? No.",
        "Is any of the divergent information in Output factually wrong? No.",
        "Does Output include Input? No.",
    ]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Well-matched", "well_matched"),
        ("**well-matched (harmless)**.", "well_matched_harmless"),
        ("<think>O too weak</think>\n\nO too strong\n", "too_strong"),
        ("I and O independent", "independent"),
        ("The answer is: O too weak", None),
        ("O too weak or O too strong", None),
        ("Well-matched (harmless", None),
        ("", None),
    ],
)
def test_an_answer_is_one_name_and_nothing_else(text: str, label: str | None) -> None:
    assert read_relation(text) == label


@pytest.mark.parametrize(
    ("said", "shares"),
    [
        ("O too weak (harmless)", (1.0, 1.0, 1.0)),
        ("I and O independent", (1.0, 1.0, 1.0)),
        ("O too weak", (0.0, 0.0, 1.0)),
        ("O too strong", (0.0, 1.0, 0.0)),
        ("O contradictory", (0.0, None, None)),
    ],
)
def test_any_reference_is_right_and_steps_are_compared(
    said: str, shares: tuple[float | None, ...]
) -> None:
    found = judge(HOTEL, said)
    assert tuple(found.share(one) for one in ("accuracy", "follows", "implies")) == shares
    assert bool(found.findings) == (shares[0] == 0.0)


def test_what_cannot_be_judged_is_unscored_and_earns_nothing() -> None:
    unknown = replace(HOTEL, labels=())
    assert judge(HOTEL, "Perhaps too weak").unscored == "no answer: not one of the names"
    assert judge(unknown, "O too weak").unscored == "the relation of the pair is not known"
    assert TASK.reward({}, "off", "base").score(HOTEL, VIEW, "Perhaps").reward == 0.0
    with pytest.raises(NoTarget):
        TASK.target(unknown, VIEW, "off")


def test_models_are_compared_on_pairs(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write_jsonl(data / "test.jsonl", [one.to_json() for one in [*PAIRS, HOTEL]])

    def always(body: dict[str, Any]) -> str:
        return "O too weak" if "input 1" in str(body["messages"]) else "I and O independent"

    with AnsweringServer(always) as server:
        tokens = [
            "recipe=logic-eval", f"model.path={server.model}", f"data.test.source={data}",
            f"run={tmp_path / 'run'}", "evaluation.options.cache=null",
        ]  # fmt: skip
        compare(parse(CompareCommand, tokens))
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    rates = results["systems"]["base"][VIEW]
    expected = [
        one.labels[0] == ("too_weak" if "input 1" in one.input else "independent") for one in PAIRS
    ]
    assert rates["accuracy"]["n"] == len(PAIRS) + 1
    assert rates["accuracy"]["rate"] == pytest.approx((sum(expected) + 1) / (len(PAIRS) + 1))
