"""How a number follows from the tables: formulas, scenarios, and what is no derivation."""

from __future__ import annotations

import pytest

from tablemend.tables.table import Table
from tablemend.tasks.faith.derivations import Evidence

INCOME = Table.of(
    ["(in millions)", "2023", "2022"],
    [
        ["Automotive sales revenue", "$78,509", "$67,210"],
        ["Services and other revenue", "8,319", "6,091"],
        ["Total revenue", "86,828", "73,301"],
        ["Gross margin", "18.2%", "25.6%"],
        ["Diluted earnings per share", "$4.30", "$3.62"],
    ],
    "The following table disaggregates our revenue.",
)
EVIDENCE = Evidence([INCOME])


@pytest.mark.parametrize(
    ("span", "masked", "formula", "scenario", "cells"),
    [
        ("$78.5 billion", "Automotive sales revenue was in 2023.", "value", "A", ["$78,509"]),
        ("$8,319 million", "Services revenue rose to in 2023.", "value", "A", ["8,319"]),
        ("$4.30", "Diluted earnings per share were in 2023.", "value", "A", ["$4.30"]),
        ("18.2%", "Gross margin fell to in 2023.", "value", "A", ["18.2%"]),
        (
            "$11.30 billion",
            "Automotive sales revenue increased in 2023.",
            "difference",
            "B",
            ["$78,509", "$67,210"],
        ),
        (
            "17%",
            "Automotive sales revenue increased , in 2023.",
            "change",
            "B",
            ["$78,509", "$67,210"],
        ),
        (
            "10%",
            "Services and other revenue was of total revenue in 2023.",
            "share",
            "C",
            ["8,319", "86,828"],
        ),
    ],
)
def test_a_number_is_derived_from_the_cells_that_its_sentence_names(
    span: str, masked: str, formula: str, scenario: str, cells: list[str]
) -> None:
    found = EVIDENCE.derive(masked, span)
    assert found is not None
    assert (found.formula, found.scenario) == (formula, scenario)
    assert [one.text for one in found.operands] == cells
    assert cells[0] in found.explanation


@pytest.mark.parametrize(
    ("span", "masked"),
    [
        ("$5.3 billion", "Automotive sales revenue was in 2023."),
        ("$78.5 billion", "Lawsuits cost us nothing but this."),
        ("several", "Automotive sales revenue was in 2023."),
        ("18.2%", "Automotive sales revenue was in 2023."),
    ],
)
def test_a_number_that_the_tables_do_not_give_has_no_derivation(span: str, masked: str) -> None:
    assert EVIDENCE.derive(masked, span) is None


def test_two_cells_that_say_the_same_are_counted() -> None:
    twice = Evidence([INCOME, INCOME])
    found = twice.derive("Automotive sales revenue was in 2023.", "$78.5 billion")
    assert found is not None and found.alternatives == 1


def test_a_table_without_a_scale_may_be_in_any() -> None:
    bare = Evidence([Table.of(["", "2023"], [["Net income", "4,512"]])])
    found = bare.derive("Net income was in 2023.", "$4.5 million")
    assert found is not None and found.value == 4_512_000


def test_the_nearest_table_is_the_one_whose_rows_the_sentence_names() -> None:
    other = Table.of(["", "2023"], [["Employees", "140,473"]])
    evidence = Evidence([other, INCOME, other])
    assert evidence.nearest("Automotive sales revenue was in 2023.", "", 1) == [1]


def test_candidates_use_nothing_of_the_masked_number() -> None:
    (first, *_) = EVIDENCE.candidates("Automotive sales revenue increased by [MASK].", "", 3)
    assert "2023 $78,509; 2022 $67,210" in first
    assert "11299, 16.8 %" in first
