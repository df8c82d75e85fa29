"""Periods and names of comparisons and exceptions, and scales that stand over the labels."""

from __future__ import annotations

import pytest

from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_text
from tablemend.mitigations.mend import mend_text
from tablemend.tables.table import Table

ROOMS = Table.of(
    ("Site", "2021", "2022", "2023"),
    [("Alder", "120", "132", "150"), ("Birch", "95", "90", "99"), ("Cedar", "60", "63", "54")],
)
YEARS = Table.of(
    ("Year", "Riders (m)", "Crew"),
    [
        ("2019", "4.1", "310"),
        ("2020", "1.2", "290"),
        ("2021", "1.9", "255"),
        ("2022", "3.8", "301"),
    ],
)
BOOKS = Table.of(
    ("Metric (USD thousands)", "Q1 2024", "Q2 2024", "Q3 2024", "Q4 2024"),
    [
        ("Sales", "8,410", "8,975", "8,620", "9,530"),
        ("Gross profit", "3,390", "3,665", "3,375", "3,930"),
        ("Net income", "780", "965", "485", "1,185"),
        ("Headcount", "212", "220", "219", "231"),
    ],
)


def wrong(table: Table, text: str) -> bool:
    verdicts = verify_text(text, Source(tables=(table,))).verdicts
    return any(verdict.wrong for verdict in verdicts)


LEAGUE = Table.of(
    ("Pos", "Club", "Won", "GF", "GA", "Points"),
    [
        ("1", "Astle", "15", "48", "19", "49"),
        ("2", "Brook", "13", "40", "22", "45"),
        ("3", "Colby", "12", "39", "30", "39"),
        ("4", "Denby", "2", "14", "51", "10"),
    ],
)
LABS = Table.of(
    ("Analyte", "Day 1", "Day 3", "Reference interval"),
    [
        ("Kalium", "5.6", "4.4", "3.5-5.1"),
        ("Urate", "2.1", "1.4", "0.6-1.2"),
        ("Glucose", "92", "101", "70-99"),
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
STAFF = Table.of(
    ("Name", "Start date", "Salary"),
    [
        ("Mara Lund", "2015-03-02", "$142,000"),
        ("Gina Obe", "2012-09-24", "$131,000"),
        ("Piet Nowak", "2019-01-14", "$76,000"),
    ],
)
TRUE = [
    (BOOKS, "Net income more than doubled between Q3 and Q4."),
    (LEAGUE, "Denby conceded more than twice as many goals as Brook."),
    (LEAGUE, "Denby allowed more goals than Colby."),
    (LEAGUE, "Brook scored more than twice as many goals as Denby."),
    (LEAGUE, "The top two were separated by four points."),
    (LEAGUE, "Astle won the league with 49 points."),
    (LABS, "Glucose was normal at 92 on day 1."),
    (LABS, "Kalium was high at 5.6 on day 1."),
    (STAFF, "Gina Obe has been with the company the longest."),
    (ROOMS, "Alder climbed to 150, 25% above its 2021 level."),
    (ROOMS, "Alder climbed to 150, from 120 in 2021."),
    (ROOMS, "Alder finished at 150, compared with 120 in 2021."),
    (ROOMS, "Birch closed the period at 99, up from 95 in 2021."),
    (BOOKS, "Headcount ended the year at 231, 19 higher than in the first quarter."),
    (YEARS, "Crew recovered to 301, 46 more than in 2021."),
    (BOOKS, "Net income was below $1 million in every quarter except Q4."),
    (YEARS, "Crew was above 300 in every year except 2020 and 2021."),
    (ROOMS, "Alder was above 125 in all years but 2021."),
    (ROOMS, "Except in 2021, Alder was above 125."),
    (ROOMS, "Apart from 2021, Alder was above 125."),
    (BOOKS, "Sales peaked at $9.53 million in Q4 2024."),
    (BOOKS, "Sales were highest in Q4, at $9.53 million."),
    (BOOKS, "Total sales for the year were $35.5 million."),
    (BOOKS, "Sales exceeded $9 million only in Q4."),
    (BOOKS, "Sales were above $8.5 million in three quarters."),
    (BOOKS, "Gross profit never fell below $3.3 million."),
]
FALSE = [
    (BOOKS, "Sales more than doubled between Q3 and Q4."),
    (BOOKS, "Net income more than tripled between Q3 and Q4."),
    (LEAGUE, "Colby conceded more than twice as many goals as Brook."),
    (LEAGUE, "Brook won the league with 45 points."),
    (LABS, "Urate was normal at 1.4 on day 3."),
    (LABS, "Kalium was high at 4.4 on day 3."),
    (QUARTERS, "Sales rose in all four quarters."),
    (ROOMS, "Alder climbed to 140 in 2023, from 120 in 2021."),
    (ROOMS, "Alder finished at 150, compared with 130 in 2021."),
    (BOOKS, "Net income was below $1 million in every quarter except Q3."),
    (YEARS, "Crew was above 300 in every year except 2020."),
    (BOOKS, "Sales were highest in Q4, at $9.13 million."),
    (BOOKS, "Sales never exceeded $9 million."),
]


@pytest.mark.parametrize(("table", "text"), TRUE)
def test_a_true_sentence_stays_as_it_is(table: Table, text: str) -> None:
    assert not wrong(table, text)
    assert mend_text(text, Source(tables=(table,))).text == text


@pytest.mark.parametrize(("table", "text"), FALSE)
def test_a_false_sentence_is_found(table: Table, text: str) -> None:
    assert wrong(table, text)


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
