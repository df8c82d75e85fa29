"""Rows that differ, every period, growths as a column, and superlatives said with their column."""

from __future__ import annotations

import pytest

from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_text
from tablemend.records import Verdict
from tablemend.tables.table import Table

TORN = Table.of(["Player", "Goals"], [["Ann", "12"], ["Bob", "20"], ["Ann", "15"], ["Cy", "3"]])
QUARTERS = Table.of(
    ["Quarter", "Sales ($ million)", "Growth (%)"],
    [
        ["Q1 2023", "50.4", "3.0"],
        ["Q2 2023", "61.2", "9.0"],
        ["Q3 2023", "58.0", "-2.4"],
        ["Q4 2023", "70.9", "7.1"],
    ],
)
SHOPS = Table.of(
    ["Shop", "Units Sold", "Revenue", "Staff"],
    [
        ["Hill", "850", "$9,000", "6"],
        ["Quay", "2,400", "$7,000", "9"],
        ["Dale", "400", "$800", "3"],
    ],
)
GAMES = Table.of(
    ["Game", "Opponent", "Points", "Result"],
    [
        ["1", "Alba", "88", "W 88-80"],
        ["2", "Brine", "79", "L 79-90"],
        ["3", "Corvo", "101", "W 101-99"],
        ["4", "Alba", "95", "L 95-99"],
    ],
)


def verdicts(table: Table, text: str) -> tuple[Verdict, ...]:
    return verify_text(text, Source((table,))).verdicts


def said(table: Table, text: str) -> set[str]:
    return {verdict.verdict for verdict in verdicts(table, text)} - {"unscored"}


@pytest.mark.parametrize(
    "text",
    ["Bob has more goals than Ann.", "Ann has more goals than Bob.", "Ann has the most goals."],
)
def test_nothing_is_computed_over_rows_that_contradict_one_another(text: str) -> None:
    found = verdicts(TORN, text)
    assert {verdict.verdict for verdict in found} == {"unscored"}


@pytest.mark.parametrize(
    "text",
    ["Two games went to overtime.", "They won two home games.", "All games were sold out."],
)
def test_what_the_table_does_not_tell_is_unscored(text: str) -> None:
    assert not said(GAMES, text)


def test_the_evidence_of_a_broken_rule_is_the_step_that_breaks_it() -> None:
    wrong = next(v for v in verdicts(QUARTERS, "Sales rose every quarter.") if v.wrong)
    assert wrong.reason == "Sales ($ million): fell from 61.2 (Q2 2023) to 58 (Q3 2023)"
    assert [evidence.row for evidence in wrong.evidence if evidence.row is not None] == [1, 2]


def test_an_exception_that_is_named_breaks_no_rule() -> None:
    assert "contradicted" not in said(QUARTERS, "Sales rose in every quarter except Q3.")


def test_no_cell_is_shown_twice() -> None:
    for found in verdicts(SHOPS, "Quay sold more units than Hill and Quay."):
        assert len(set(found.evidence)) == len(found.evidence)
