"""Periods and names of comparisons and exceptions, and scales that stand over the labels."""

from __future__ import annotations

from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_text
from tablemend.mitigations.mend import mend_text
from tablemend.tables.table import Table

BOOKS = Table.of(
    ("Metric (USD thousands)", "Q1 2024", "Q2 2024", "Q3 2024", "Q4 2024"),
    [
        ("Sales", "8,410", "8,975", "8,620", "9,530"),
        ("Gross profit", "3,390", "3,665", "3,375", "3,930"),
        ("Net income", "780", "965", "485", "1,185"),
        ("Headcount", "212", "220", "219", "231"),
    ],
)


QUARTERS = Table.of(
    ("Quarter", "Sales ($m)", "Net income ($m)"),
    [
        ("Q1 2023", "210.4", "18.2"),
        ("Q2 2023", "198.7", "11.9"),
        ("Q3 2023", "225.0", "-4.3"),
        ("Q4 2023", "241.6", "22.7"),
    ],
)


def test_a_number_of_rows_supports_nothing_that_is_not_read() -> None:
    source = Source(tables=(QUARTERS,))
    verdicts = verify_text("The company was profitable in all four quarters.", source).verdicts
    assert all(verdict.verdict != "supported" for verdict in verdicts)


def test_swapped_numbers_are_no_wrong_years() -> None:
    medals = Table.of(
        ("Club", "Year", "Gold", "Silver"),
        [("Astle", "2016", "8", "6"), ("Astle", "2020", "7", "9"), ("Brook", "2016", "3", "5")],
    )
    text = "Astle won nine silvers in 2016 and six in 2020."
    mended = mend_text(text, Source(tables=(medals,))).text
    assert "2016" in mended
    assert "2020" in mended
    assert mended.index("2016") < mended.index("2020")


def test_a_value_is_mended_in_the_scale_of_the_text() -> None:
    text = "Sales were highest in Q4, at $9.13 million."
    mended = mend_text(text, Source(tables=(BOOKS,))).text
    assert mended == "Sales were highest in Q4, at $9.53 million."
