"""The metrics of ToRR: worked by hand, hostile, and the gold answers of the real data."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import pytest

from tablemend.errors import TablemendError
from tablemend.tables.table import Table
from tablemend.tasks.torr import scoring
from tablemend.tasks.torr.scoring import METRICS, Unscored, final_answer, load_rouge

Records = Callable[[str], list[dict[str, Any]]]
TABLE = Table.of(["", "2016", "2015"], [["net revenue", "$ 5829", "5735"]])
SIZE = 100_000
GOLD: Mapping[str, str] = {
    "program_accuracy": "subtract(5829, 5735)",
    "execution_accuracy": "94.0",
    "rouge": "the cat sat",
    "final_answer_rouge": "10.6",
    "token_f1": "Samuel Sánchez",
    "label_accuracy": "entailed",
    "type_match": "people.person",
}
NEEDS_ROUGE = pytest.mark.skipif(
    find_spec("rouge_score") is None, reason="the package rouge-score is not installed"
)
NAMES = [pytest.param(name, marks=[NEEDS_ROUGE] if "rouge" in name else []) for name in GOLD]


def score(name: str, answer: str, *references: str) -> float:
    return METRICS[name](answer, references, TABLE)


@NEEDS_ROUGE
@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("the cat sat", "the cat sat", 1.0),
        ("The cat -- sat!", "the CAT sat.", 1.0),
        ("the cat", "the cat sat down", 2 * 1.0 * 0.5 / 1.5),
        ("sat cat the", "the cat sat", 1 / 3),
        ("the black cat then sat", "the cat sat", 2 * 0.6 * 1.0 / 1.6),
        ("cats", "cat", 0.0),
        ("first\nthe cat sat", "the cat sat", 2 * 0.75 * 1.0 / 1.75),
        ("", "the cat sat", 0.0),
    ],
)
def test_rouge_is_the_f_measure_of_the_longest_common_subsequence(
    answer: str, reference: str, value: float
) -> None:
    assert score("rouge", answer, reference) == pytest.approx(value)


@NEEDS_ROUGE
@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("Final Answer: 10.6", "10.6", 1.0),
        ("10.6", "10.6", 1.0),
        ("10.6\nbecause it is so", "10.6", 1.0),
        ("Let us see.\n10.5?\n**Final Answer**: the 10.6", "10.6", 1.0),
        ("final answer: 3\nFINAL ANSWER:\n10.6", "10.6", 1.0),
        ("Let us see.\n10.6", "10.6", 0.0),
        ("Final Answer:", "10.6", 0.0),
        ("10 6", "10.6", 0.0),
        ("No, an increase", "no increase", 1.0),
        ("Final Answer: Italy, France", "Italy, Spain", 0.5),
    ],
)
def test_a_final_answer_is_compared_without_punctuation_and_articles(
    answer: str, reference: str, value: float
) -> None:
    assert score("final_answer_rouge", answer, reference) == pytest.approx(value)


def test_the_last_final_answer_counts() -> None:
    assert final_answer("Final Answer: 1\nNo.\nFinal answer : 2 \n\nThat is all.") == "2"
    assert final_answer("\n  Italy \nFrance") == "Italy"
    assert final_answer(" \n") == ""


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("Italy", "italy", 1.0),
        ("Italy.", "Italy", 1.0),
        ("\n Italy\nas the table says", "Italy", 1.0),
        ("Italy and Spain", "Italy", 2 * 1 / (3 + 1)),
        ("Spain Spain", "Spain", 1.0),
        ("Haimar Zubeldia, Samuel Sánchez", "Samuel Sánchez, Haimar Zubeldia", 1.0),
        ("1,234.0", "1234", 1.0),
        ("-5", "5", 0.0),
        ("17", "71", 0.0),
        ("a b c", "b c d", 2 / 3),
        ("+", "+", 1.0),
        ("", "Italy", 0.0),
        ("東京", "東京", 1.0),
    ],
)
def test_token_f1_is_the_overlap_of_two_sets(answer: str, reference: str, value: float) -> None:
    assert score("token_f1", answer, reference) == pytest.approx(value)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("entailed", True),
        (" **Entailed.** The table says so.", True),
        ('"ENTAILED"\nrefuted', True),
        ("entailed, not refuted", True),
        ("refuted", False),
        ("not entailed", False),
        ("The statement is entailed", False),
        ("entailed refuted", False),
        ("true", False),
        ("", False),
        ("...", False),
        ("enta\u0131led", False),
    ],
)
def test_a_label_is_right_whatever_its_case_and_punctuation_and_all_else_is_wrong(
    answer: str, right: bool
) -> None:
    assert score("label_accuracy", answer, "entailed") == right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("people.person, sports.pro_athlete", True),
        ("Sports.pro_athlete,people.person,", True),
        ("['people.person', 'sports.pro_athlete']", True),
        ("people.person, sports.pro_athlete, people.person", True),
        ("people.person", False),
        ("people.person, sports.pro_athlete, tv.tv_actor", False),
        ("people.person sports.pro_athlete", False),
        ("people.person\nsports.pro_athlete", False),
        ("", False),
    ],
)
def test_types_match_in_any_order_and_only_all_together(answer: str, right: bool) -> None:
    assert score("type_match", answer, "people.person, sports.pro_athlete") == right


def test_a_program_is_scored_by_what_it_says_and_by_what_it_gives() -> None:
    program = "subtract(5829, 5735)"
    assert score("program_accuracy", f"\n{program}\nBecause.", program) == 1
    assert score("program_accuracy", "subtract(5735, 5829)", program) == 0
    assert score("program_accuracy", f"The program is {program}", program) == 0
    assert score("execution_accuracy", "table_max(net revenue), subtract(#0, 5735)", "94.0") == 1
    assert score("execution_accuracy", "table_min(net revenue), subtract(#0, 5735)", "94.0") == 0
    assert score("execution_accuracy", "94", "94.0") == 0


@pytest.mark.parametrize("name", NAMES)
def test_one_right_reference_is_enough_and_an_empty_answer_is_wrong(name: str) -> None:
    other = {
        "program_accuracy": "add(1, 2)",
        "execution_accuracy": "3",
        "label_accuracy": "refuted",
    }
    answer = GOLD["program_accuracy"] if name == "execution_accuracy" else GOLD[name]
    assert score(name, answer, other.get(name, "Zubeldia"), GOLD[name]) == 1
    assert score(name, "", GOLD[name]) == 0
    assert score(name, "\ud800\u202e\x00", GOLD[name]) == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("references", [(), ("",), ("entailed", " ")])
def test_without_a_reference_no_answer_is_scored(name: str, references: tuple[str, ...]) -> None:
    with pytest.raises(Unscored, match="no reference"):
        score(name, "entailed", *references)


@pytest.mark.parametrize(
    ("name", "reference", "says"),
    [
        ("program_accuracy", "94.0", "the reference cannot be read: no step of a program: '94.0'"),
        ("execution_accuracy", "a lot", "the reference cannot be read: no number: 'a lot'"),
        ("label_accuracy", "unknown", "the reference is none of refuted, entailed"),
        ("rouge", "東京", "the reference has no word that ROUGE counts"),
        ("final_answer_rouge", "the !", "the reference has no word that ROUGE counts"),
    ],
)
def test_a_reference_that_no_answer_can_meet_leaves_it_unscored(
    name: str, reference: str, says: str
) -> None:
    with pytest.raises(Unscored) as caught:
        score(name, reference, reference)
    assert str(caught.value) == says


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(scoring, "import_module", missing)
    load_rouge.cache_clear()
    with pytest.raises(
        TablemendError, match=r"rouge-score: pip install -e '\.\[metrics\]'"
    ) as caught:
        score("rouge", "the cat", "the cat")
    load_rouge.cache_clear()
    assert not isinstance(caught.value, Unscored)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "answer",
    ["(" * SIZE, "final answer:" * (SIZE // 13), "*" * SIZE, "1,234," * (SIZE // 6), "\n" * SIZE,
     ", " * (SIZE // 2), "é" * SIZE, "x " * (SIZE // 2)],
    ids=lambda text: f"{text[:2]!r}",
)  # fmt: skip
def test_a_hostile_answer_of_100_000_characters_is_wrong_at_once(name: str, answer: str) -> None:
    start = time.process_time()
    assert score(name, answer, GOLD[name]) < 0.01
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("name", "data", "read"),
    [
        pytest.param(
            "token_f1", "wikitablequestions",
            lambda one: [", ".join(question["answer"]) for question in one["questions"]],
        ),
        pytest.param(
            "final_answer_rouge", "tablebench", lambda one: [one["answer"]],
            marks=NEEDS_ROUGE,
        ),
        pytest.param(
            "rouge", "scigen", lambda one: [one["text"]], marks=NEEDS_ROUGE
        ),
        pytest.param(
            "rouge", "numericnlg", lambda one: [one["description"]],
            marks=NEEDS_ROUGE,
        ),
    ],
)  # fmt: skip
def test_every_gold_answer_of_the_real_data_is_right(
    shared_data: Records, name: str, data: str, read: Callable[[dict[str, Any]], list[str]]
) -> None:
    for gold in [gold for one in shared_data(data)[:150] for gold in read(one)]:
        assert score(name, gold, gold) == pytest.approx(1)
