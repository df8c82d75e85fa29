"""The decision tree: one way to every relation, asked as in the paper; annotations on file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tablemend.errors import TablemendError
from tablemend.records import RELATIONS, Relation, relation
from tablemend.runs import write_jsonl
from tablemend.tasks.logic import pair as tree
from tablemend.tasks.logic.pair import (
    AMBIGUITIES,
    DOMAINS,
    TREES,
    Annotation,
    Domain,
    Question,
    follow,
    leaves,
    path_to,
    paths,
    read_annotations,
)

HARMLESS = {"well_matched_harmless", "too_weak_harmless"}


def questions_to(domain: Domain, goal: Relation, added: bool = True) -> list[str]:
    """The questions that come up for an annotator who knows the goal."""
    wanted = {**path_to(domain, goal), "ambiguous": False}
    answers: dict[str, bool] = {}
    while isinstance(asked := follow(domain, answers, added)[1], Question):
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
            leaf = follow(domain, own, added=False)[1]
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
        domain: follow(
            domain, {"well_formed": True, "ambiguous": False, "self_contradiction": False}
        )[1]
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


def test_the_file_has_every_relation_and_kind_in_order_and_asks_all_of_its_questions() -> None:
    text = Path(tree.__file__).with_name("tree.yaml").read_text("utf-8")
    data = yaml.safe_load(text)
    assert tuple(data["relations"]) == RELATIONS and tuple(data["ambiguities"]) == AMBIGUITIES
    assert set(data["questions"]) == set().union(*tree.QUESTIONS.values())
    for domain in DOMAINS:  # ambiguity leads on alike, and no other question to one relation twice
        ways = {
            (*way.items(), leaf) for way, leaf in paths(TREES[domain]) if not way.get("ambiguous")
        }
        assert len(ways) == len({leaf for *_, leaf in ways})
        assert all(len(way) == len(set(way)) for *way, _ in ways)


# ---- annotations on file ----

ONE = Annotation(
    "ann",
    "abc",
    {"self_contradiction": False, "follows": False},
    "too_strong",
    divergent_output=((3, 9),),
    wrong=(),
    slider=5,
    passed_check=True,
)


def test_annotations_are_read_back(tmp_path: Path) -> None:
    refused = Annotation("ann", "abd", unscored="neither yes nor no: perhaps")
    write_jsonl(tmp_path / "a.jsonl", [ONE.to_json(), refused.to_json()])
    assert read_annotations(tmp_path / "a.jsonl") == [ONE, refused]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"relation": None}, "the reason why there is none"),
        ({"unscored": "cut"}, "the reason why there is none"),
        ({"relation": "wrong"}, "relation: "),
        ({"slider": 8}, "8 is not 1 to 7"),
        ({"path": {"follows": "maybe"}}, "path.follows: "),
    ],
)
def test_what_is_no_annotation_is_refused_with_its_line(
    tmp_path: Path, change: dict[str, object], why: str
) -> None:
    write_jsonl(tmp_path / "a.jsonl", [ONE.to_json(), ONE.to_json() | change])
    with pytest.raises(TablemendError, match=rf"a\.jsonl:2 is no annotation: .*{why}"):
        read_annotations(tmp_path / "a.jsonl")


def test_a_missing_file_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(TablemendError, match=r"eval/annotate\.py"):
        read_annotations(tmp_path / "a.jsonl")
