"""The decision tree: every relation has one way to it, and a way asks as the paper does."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tablemend.records import RELATIONS, Relation, relation
from tablemend.tasks.logic import pair as tree
from tablemend.tasks.logic.pair import (
    DOMAINS,
    TREES,
    Domain,
    Question,
    leaves,
    path_to,
    paths,
    walk,
)

HARMLESS = {"well_matched_harmless", "too_weak_harmless"}


def questions_to(domain: Domain, goal: Relation, added: bool = True) -> list[str]:
    """The questions that come up for an annotator who knows the goal."""
    wanted = {**path_to(domain, goal), "ambiguous": False}
    answers: dict[str, bool] = {}
    while isinstance(asked := walk(domain, answers, added), Question):
        answers[asked.id] = wanted[asked.id]
    assert asked == goal
    return list(answers)


def test_each_domain_reaches_its_relations_by_ways_of_their_own() -> None:
    assert set(leaves("logic")) == set(RELATIONS) - HARMLESS
    assert set(leaves("hotel")) == set(RELATIONS) - {"not_well_formed"}
    for domain in DOMAINS:
        ways = [tuple(way.items()) for way, _ in paths(TREES[domain])]
        assert len(ways) == len(set(ways))
        for goal in leaves(domain):
            assert questions_to(domain, goal)


def test_the_papers_tree_has_six_and_eight_outcomes_and_asks_nothing_of_ours() -> None:
    for domain, count in (("logic", 6), ("hotel", 8)):
        found = set()
        for way, goal in paths(TREES[domain]):
            if goal == "not_well_formed":
                continue
            own = {k: v for k, v in way.items() if k not in ("well_formed", "tautology")}
            leaf = walk(domain, own, added=False)
            assert not isinstance(leaf, Question)
            found.add(leaf)
        assert len(found) == count


@pytest.mark.parametrize(
    ("domain", "goal", "asked"),
    [
        ("hotel", "output_contradictory", "self_contradiction"),
        ("hotel", "too_strong", "self_contradiction follows wrong implies"),  # Table 10
        ("hotel", "well_matched_harmless", "self_contradiction follows wrong implies"),
        ("hotel", "contradictory", "self_contradiction follows wrong implies contradiction"),
        ("logic", "well_matched", "ambiguous self_contradiction follows implies"),
        ("logic", "independent", "ambiguous self_contradiction follows implies contradiction"),
    ],
)
def test_the_order_is_the_papers(domain: Domain, goal: Relation, asked: str) -> None:
    assert questions_to(domain, goal, added=False) == asked.split()


def test_well_formedness_and_ambiguity_come_first_in_the_logic_domain_alone() -> None:
    assert questions_to("logic", "too_weak")[:2] == ["well_formed", "ambiguous"]
    assert questions_to("logic", "not_well_formed") == ["well_formed"]
    assert questions_to("hotel", "too_weak")[0] == "self_contradiction"


def test_the_hotel_domain_speaks_of_inclusion() -> None:
    asked = {
        domain: walk(domain, {"well_formed": True, "ambiguous": False, "self_contradiction": False})
        for domain in DOMAINS
    }
    hotel, logic = asked["hotel"], asked["logic"]
    assert isinstance(hotel, Question) and isinstance(logic, Question)
    assert hotel.ask == "Does Input include Output?" and "follow" in logic.ask


@pytest.mark.parametrize("goal", leaves("logic"))
def test_the_tree_agrees_with_table_3(goal: Relation) -> None:
    way = path_to("logic", goal)
    if {"follows", "implies"} <= way.keys() and goal != "tautologous":
        contradicts = way.get("contradiction", False)
        assert relation(way["follows"], way["implies"], contradicts=contradicts) == goal


def data() -> dict[str, Any]:
    text = Path(tree.__file__).with_name("tree.yaml").read_text("utf-8")
    return copy.deepcopy(dict(yaml.safe_load(text)))


def _dead_end(given: dict[str, Any]) -> None:
    del given["hotel"][True]


def _unknown_leaf(given: dict[str, Any]) -> None:
    given["hotel"][True] = "fine"


def _asked_twice(given: dict[str, Any]) -> None:
    given["hotel"][False][True]["ask"] = "follows"


def _two_ways(given: dict[str, Any]) -> None:
    given["hotel"][True] = "too_strong"


def _unknown_question(given: dict[str, Any]) -> None:
    given["logic"]["ask"] = "really"


def _unused(given: dict[str, Any]) -> None:
    given["questions"]["more"] = {"ask": "More?", "means": "More."}


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (_dead_end, "needs ask, yes and no"),
        (_unknown_leaf, "no relation fine"),
        (_asked_twice, "asked twice"),
        (_two_ways, "two ways lead to one"),
        (_unknown_question, "is no question"),
        (_unused, "no tree asks: more"),
    ],
)
def test_a_spoilt_tree_is_refused(spoil: Any, why: str) -> None:
    given = data()
    tree.read_tree(given)
    spoil(given)
    with pytest.raises(ValueError, match=why):
        tree.read_tree(given)
