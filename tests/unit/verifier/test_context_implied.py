"""What a context implies without saying it is left open, and no list is read where none is."""

from __future__ import annotations

import pytest

from tablemend.mitigations.mend import mend_answer
from tablemend.tables.table import Table
from tablemend.verifier.context_notes import (
    is_short_for,
    is_stated_relatively,
    is_sum_row,
    is_worked_out,
)
from tablemend.verifier.scope import read_scope

FRUIT = "Quinces cost 2 euros, medlars 3 euros, damsons 4 euros."
PRICES = """| Fruit | Price |
|---|---|
| Quinces | 2 euros |
| Medlars | 3 euros |
| Damsons | 4 euros |"""
TABLE = Table.of(("Fruit", "Price"), [["Quinces", "2"], ["Medlars", "3"], ["Damsons", "4"]])


@pytest.mark.parametrize(
    "query",
    [
        "List fruit such as medlars and damsons with prices.",
        "List fruit like medlars or damsons.",
        "List all fruits (e.g. medlars, damsons) with prices.",
        "List the fruits, including medlars and damsons.",
        "List the fruits and mark medlars and damsons in bold.",
        "List the fruits; put medlars and damsons at the end.",
        "List the fruits, medlars and damsons first.",
    ],
)
def test_names_that_are_examples_or_layout_drop_no_row(query: str) -> None:
    assert read_scope(query, TABLE).entities == ()
    assert "Quinces" in mend_answer(PRICES, context=FRUIT, query=query).text


def test_a_list_of_what_is_wanted_still_drops_the_others() -> None:
    query = "List the prices of medlars and damsons."
    assert set(read_scope(query, TABLE).entities) == {"Medlars", "Damsons"}
    assert "Quinces" not in mend_answer(PRICES, context=FRUIT, query=query).text


def test_an_article_is_no_row() -> None:
    shops = Table.of(("Shop", "Bikes"), [["A", "30"], ["B", "12"]])
    assert read_scope("List shops with a total row, and a b-side note.", shops).entities == ()


def test_a_row_that_sums_up_stays() -> None:
    context = "Orvo sold 30 bikes. Lund sold 12 bikes."
    answer = "| Shop | Bikes |\n|---|---|\n| Orvo | 30 |\n| Lund | 12 |\n| Total | 42 |"
    assert mend_answer(answer, context=context, query="List shops with a total row.").text == answer
    made_up = answer.replace("Total", "Brask")
    assert "Brask" not in mend_answer(made_up, context=context, query="List shops and bikes.").text


@pytest.mark.parametrize(
    ("name", "text", "short"),
    [
        ("UK", "Great Britain won seven medals.", True),
        ("U.S.", "The United States won.", True),
        ("United States", "The US team won 12 medals.", True),
        ("United States", "The team of us all won 12 medals.", False),
        ("D. Holm", "Dag Holm won in 2031.", True),
        ("D. Holm", "Eva Holm won in 2031.", False),
        ("Orvo", "Lund won.", False),
    ],
)
def test_short_names(name: str, text: str, short: bool) -> None:
    assert is_short_for(name, text) is short


def test_a_column_of_which_the_context_has_nothing_is_not_blanked() -> None:
    context = "Orvo sold 30 bikes. Lund sold 10 bikes."
    answer = "| Shop | Bikes | Weight |\n|---|---|---|\n| Orvo | 30 | 75 |\n| Lund | 10 | 25 |"
    mended = mend_answer(answer, context=context, query="List shops.")
    assert mended.text == answer
    one = answer.replace("| Lund | 10 |", "| Lund | 11 |").replace("Weight", "Points")
    assert "| 11 |" not in mend_answer(one, context=context, query="List shops.").text


@pytest.mark.parametrize(
    ("context", "kept"),
    [
        ("The Ama entered service in 1971. The Bel entered service two years later.", True),
        ("The Ama entered service in 1971. The Bel entered service in 1975.", False),
    ],
)
def test_a_year_told_by_another_is_left_open(context: str, kept: bool) -> None:
    answer = "| Ship | Year |\n|---|---|\n| Ama | 1971 |\n| Bel | 1973 |"
    mended = mend_answer(answer, context=context, query="List ships and years.")
    assert ("1973" in mended.text) is kept


def test_headers_and_words() -> None:
    assert all(map(is_worked_out, ["Share", "Win %", "Age at election", "Years in office"]))
    assert not any(map(is_worked_out, ["Price", "Years", "Population", "City"]))
    assert is_stated_relatively("twice as many") and not is_stated_relatively("in May 2031")
    assert is_sum_row("Grand total") and not is_sum_row("Sumner")
