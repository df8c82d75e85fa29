"""How a number follows from the tables: formulas, scenarios, and what is no derivation."""

from __future__ import annotations

import re

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


# the sentence with its number in brackets; formula and scenario; cells
DERIVED = [
    ("Automotive sales revenue was [$78.5 billion] in 2023.", "value A", "$78,509"),
    ("Services revenue rose to [$8,319 million] in 2023.", "value A", "8,319"),
    ("Diluted earnings per share were [$4.30] in 2023.", "value A", "$4.30"),
    ("Gross margin fell to [18.2%] in 2023.", "value A", "18.2%"),
    (
        "Automotive sales revenue increased by [$11.30 billion] in 2023.",
        *("difference B", "$78,509 $67,210"),
    ),
    ("Automotive sales revenue increased [17%], in 2023.", "change B", "$78,509 $67,210"),
    (
        "Services and other revenue was [10%] of total revenue in 2023.",
        *("share C", "8,319 86,828"),
    ),
    ("The decrease in gross margin was [7.4 percentage points].", "difference B", "18.2% 25.6%"),
    (
        "The [17%] increase in automotive sales revenue was driven by services.",
        *("change B", "$78,509 $67,210"),
    ),
    (
        "We saw a rise of $11 billion in automotive sales revenue and an increase of "
        "[$2,228 million] in services and other revenue.",
        *("difference B", "8,319 6,091"),
    ),
    (
        "Automotive sales revenue and services and other revenue together came to "
        "[$86,828 million] in 2023.",
        *("sum C", "$78,509 8,319"),
    ),
    (
        "The ratio of automotive sales revenue to services and other revenue was [9.4 times] in "
        "2023.",
        *("ratio C", "$78,509 8,319"),
    ),
]


@pytest.mark.parametrize(("sentence", "how", "cells"), DERIVED)
def test_a_number_is_derived_from_the_cells_that_its_sentence_names(
    sentence: str, how: str, cells: str
) -> None:
    before, span, after = re.split(r"[\[\]]", sentence)
    found = EVIDENCE.derive(f"{before}[MASK]{after}", span)
    assert found is not None and f"{found.formula} {found.scenario}" == how
    assert [one.text for one in found.operands] == cells.split()
    assert found.operands[0].text in found.explanation


@pytest.mark.parametrize(
    ("span", "masked"),
    [
        ("$5.3 billion", "Automotive sales revenue was [MASK] in 2023."),
        ("$78.5 billion", "Lawsuits cost us nothing but [MASK]."),
        ("several", "Automotive sales revenue was [MASK] in 2023."),
        ("18.2%", "Automotive sales revenue was [MASK] in 2023."),
        # a formula over rows that are not named, or that is not worded: coincidences
        ("10%", "Services and other revenue was taxed at [MASK] in 2023."),
        ("10%", "About [MASK] of our staff work in services and other revenue."),
        ("17%", "The increase in automotive prices was [MASK] in 2023."),
        ("17%", "Automotive sales revenue increased from 2022 to 2023, at a tax rate of [MASK]."),
        ("17%", "Automotive sales revenue decreased [MASK] in 2023."),
        ("17%", "A rise in automotive sales revenue of [MASK] would cost us customers."),
        ("$11.30 billion", "Automotive sales revenue increased to [MASK] in 2023."),
        ("$8.5 billion", "Automotive sales revenue came to [MASK] in 2023."),
        ("$86,828 million", "Automotive sales revenue rose to [MASK] in 2023."),
        # another year than the sentence says, and a level where it words a change
        ("$6,091 million", "Services and other revenue was [MASK] in 2023."),
        ("$6,091 million", "Services and other revenue grew by [MASK] in 2023."),
        ("$6,091 million", "Services and other revenue was [MASK]."),
    ],
)
def test_a_number_that_the_tables_do_not_give_has_no_derivation(span: str, masked: str) -> None:
    assert EVIDENCE.derive(masked, span) is None


def test_periods_in_lists_take_their_years_in_order() -> None:
    masked = "Services and other revenue was $8,319 million and [MASK] in {}, respectively."
    assert EVIDENCE.derive(masked.format("2023 and 2022"), "$6,091 million") is not None
    assert EVIDENCE.derive(masked.format("2022 and 2023"), "$6,091 million") is None


def test_what_is_compared_is_one_metric_in_two_periods() -> None:
    moved = Evidence(
        [
            Table.of(
                ["(in thousands)", "Liability 2022", "Expense 2023", "Payments 2023"],
                [["Severance", "$431", "$325", "$(112)"], ["Leases", "$90", "$80", "$(20)"]],
            )
        ]
    )
    assert moved.derive("The severance decreased by [MASK] in 2023.", "$106 thousand") is None
    due = Evidence([Table.of(["", "Payments due", "Payments due"], [["Leases", "$90", "$60"]])])
    assert due.derive("The leases decreased by [MASK].", "$30") is None
    bare = Evidence([Table.of(["", "Year ended", ""], [["Leases", "$90", "$60"]])])
    assert bare.derive("The leases increased by [MASK].", "$30") is not None


def test_a_round_number_is_no_other() -> None:
    shops = Evidence([Table.of(["", "2023"], [["Square feet of a shop", "628"]])])
    assert shops.derive("The square feet of a shop were [MASK] in 2023.", "1,000") is None


def test_rows_may_be_periods_and_periods_quarters() -> None:
    rows = [["Q1 2023", "$510", "$40"], ["Q2 2023", "$560", "$46"], ["Q3 2023", "$590", "$31"]]
    by_quarter = Evidence([Table.of(["$ million", "Revenue", "Net income"], rows)])
    masked = "Revenue rose by [MASK] from the first quarter of 2023 to the third quarter of 2023."
    found = by_quarter.derive(masked, "$80 million")
    assert found is not None and found.scenario == "B"
    assert [one.text for one in found.operands] == ["$590", "$510"]
    assert by_quarter.derive("Net income was [MASK] in Q2 2023.", "$31 million") is None


def test_a_name_within_a_longer_one_is_not_said() -> None:
    rows = [["Sales", "8,244", "7,912"], ["Sales per store", "410", "395"]]
    stores = Evidence([Table.of(["", "2023", "2022"], rows)])
    assert stores.derive("Sales per store came to [MASK] in 2023.", "8,244") is None
    assert stores.derive("Sales came to [MASK] in 2023.", "8,244") is not None


def test_shares_and_years_are_no_money() -> None:
    rows = [["Number of shares exercised", "1,384"], ["Expected life (years)", "5.2"]]
    options = Evidence([Table.of(["", "2023"], rows)])
    assert options.derive("Shares exercised brought in [MASK] in 2023.", "$1,384") is None
    assert options.derive("The expected life insurance is [MASK] in 2023.", "$5.2") is None


def test_few_digits_need_more_of_the_name() -> None:
    masked = "The pension cost was [MASK] in 2023."
    for span, cell, derived in (("$4 million", "4", False), ("$41.27 million", "41.27", True)):
        rows = [["Deferred pension liability", cell], ["Cash", "9"]]
        found = Evidence([Table.of(["$ million", "2023"], rows)]).derive(masked, span)
        assert (found is not None) == derived


def test_two_cells_that_say_the_same_are_counted() -> None:
    twice = Evidence([INCOME, INCOME])
    found = twice.derive("Automotive sales revenue was [MASK] in 2023.", "$78.5 billion")
    assert found is not None and found.alternatives == 1


def test_a_table_without_a_scale_may_be_in_any() -> None:
    bare = Evidence([Table.of(["", "2023"], [["Net income", "4,512"]])])
    found = bare.derive("Net income was [MASK] in 2023.", "$4.5 million")
    assert found is not None and found.value == 4_512_000


def test_the_nearest_table_is_the_one_whose_rows_the_sentence_names() -> None:
    other = Table.of(["", "2023"], [["Employees", "140,473"]])
    evidence = Evidence([other, INCOME, other])
    assert evidence.nearest("Automotive sales revenue was [MASK] in 2023.", "", 1) == [1]


def test_candidates_use_nothing_of_the_masked_number() -> None:
    (first, *_) = EVIDENCE.candidates("Automotive sales revenue increased by [MASK].", "", 3)
    assert "2023 $78,509; 2022 $67,210" in first
    assert "11299, 16.8 %" in first
