"""Evidence, words at fault, what belongs there, and when nothing is said."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tablemend.tables.table import Table
from tests.support.growth import growth
from tests.support.logic_claims import PLAYERS, QUARTERS, SEASON, fault, verdict, verdicts

FAULTS = [
    # (table, text, words at fault, expected, error type)
    (PLAYERS, "There are 4 players from Spain", "4", ("3",), "NUM"),
    (PLAYERS, "Anna Berg scored 5 more goals than Lucia Vega", "5", ("6",), "NUM"),
    (PLAYERS, "Eva Novak scored more goals than Lucia Vega", "more", ("fewer",), "CMP"),
    (PLAYERS, "Carla Ruiz had the most goals", "most", ("least",), "CMP"),
    (PLAYERS, "Lucia Vega had the most goals", "Lucia Vega", ("Maria Costa",), "CMP"),
    (PLAYERS, "The average number of goals was 9", "9", ("6",), "NUM"),
    (PLAYERS, "All but 3 players are from Spain", None, (), ""),
    (SEASON, "They lost 3 games", "3", ("2",), "NUM"),
    (SEASON, "They played the Titans before the Saints", "before", ("after",), "TMP"),
    (
        QUARTERS,
        "Revenue fell from $200 million in Q1 2023 to $220 million in Q2 2023",
        "fell",
        ("rose",),
        "CMP",
    ),
    (QUARTERS, "Revenue grew by 25% between Q2 2023 and Q3 2023", "25%", ("10%",), "NUM"),
]


@pytest.mark.parametrize(("table", "text", "words", "expected", "error"), FAULTS)
def test_fault_and_mend(
    table: Table, text: str, words: str | None, expected: tuple[str, ...], error: str
) -> None:
    if words is None:
        assert verdict(table, text) == "supported"
        return
    assert fault(table, text) == (words, expected)
    assert {one.error_type for one in verdicts(table, text) if one.wrong} == {error}


def test_evidence_names_the_deciding_cells_and_the_computation() -> None:
    scored = next(v for v in verdicts(PLAYERS, "Maria Costa scored the most goals") if v.evidence)
    assert scored.verdict == "supported"
    computed, cell = scored.evidence
    assert computed.row is None and "15" in computed.text and "Maria Costa" in computed.text
    assert (cell.table, cell.row, cell.column) == (0, 1, 3)
    assert cell.text.endswith(": 15")


def test_evidence_of_a_turned_table_has_the_place_in_the_table() -> None:
    scored = next(v for v in verdicts(QUARTERS, "Revenue peaked in Q3 2023") if v.evidence)
    places = [(e.row, e.column) for e in scored.evidence if e.row is not None]
    assert places == [(0, 3)]


@pytest.mark.parametrize(
    "text",
    [
        "Olga Blum scored the most goals",  # no such row
        "Anna Berg is the most popular player",  # no such column
        "Anna Berg is much better than Lucia Vega",  # better in what?
        "The season was more exciting than the last one",
    ],
)
def test_what_the_table_cannot_decide_is_unscored(text: str) -> None:
    assert verdict(PLAYERS, text) == "unscored"


@pytest.mark.parametrize("text", ["It rained.", "", "?!", "Спартак выиграл", "今日は良い天気です"])
def test_no_logical_claim_is_left_to_others(text: str) -> None:
    assert verdict(PLAYERS, text) == "unscored"


@pytest.mark.parametrize(("number", "expected"), [("six", "supported"), ("eight", "contradicted")])
def test_how_many_rows_there_are(number: str, expected: str) -> None:
    text = f"Four of the {number} players scored more than once"
    assert verdict(PLAYERS, text) == expected


def test_scales_and_hedges_of_amounts() -> None:
    table = Table.of(
        ["Store", "Sales ($ thousands)"],
        [["North", "2,475"], ["South", "1,310"], ["West", "885"]],
    )
    assert verdict(table, "North had the highest sales, with almost $2.48 million") == "supported"
    assert verdict(table, "North had the highest sales, with $3.1 million") == "contradicted"
    assert verdict(table, "Two of the three stores had sales of over $1.3 million") == "supported"
    assert verdict(table, "Two of the three stores had sales of over $1.4 million") == (
        "contradicted"
    )


def test_a_place_is_better_the_smaller_it_is() -> None:
    table = Table.of(
        ["Rank", "Driver", "Laps"], [["1", "Alba", "50"], ["2", "Bell", "52"], ["3", "Cole", "49"]]
    )
    assert verdict(table, "Alba had the highest rank") == "supported"
    assert verdict(table, "Cole had the highest rank") == "contradicted"
    assert verdict(table, "Alba ranked better than Bell") == "supported"
    assert verdict(table, "Bell finished third") == "contradicted"


def test_reference_ranges() -> None:
    table = Table.of(
        ["Test", "Result", "Reference Range"],
        [["Sodium", "148", "135-145"], ["Potassium", "3.0", "3.5-5.1"], ["HDL", "50", ">=40"]],
    )
    assert verdict(table, "Sodium was above the reference range") == "supported"
    assert verdict(table, "Sodium was within the reference range") == "contradicted"
    assert verdict(table, "HDL was within the reference range") == "supported"
    assert fault(table, "Potassium was above the reference range") == ("above", ("below",))


def test_ties_share_the_first_place() -> None:
    table = Table.of(["Team", "Points"], [["A City", "7"], ["B Town", "7"], ["C Rovers", "3"]])
    assert verdict(table, "A City had the most points") == "supported"
    assert verdict(table, "B Town had the most points") == "supported"
    assert verdict(table, "C Rovers had the most points") == "contradicted"


@pytest.mark.parametrize(
    "table",
    [
        Table.of(["A"], []),
        Table.of(["A"], [["x"]]),
        Table.of(["A", "A"], [["x", "1"], ["x", "2"]]),
        Table.of(["Name", "Text"], [["x" * 10_000, "<b>5</b>"], ["y", "7" * 200]]),
        Table.of(["Name", "Points"], [[None, None], ["x", "n/a"]]),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "x had the most points of all",
        "There are 3 rows and none of them is x",
        "x rose from 1 to 2 between 2001 and 2002",
        "x has more points than x",
    ],
)
def test_odd_tables_never_crash(table: Table, text: str) -> None:
    assert verdict(table, text) in ("unscored", "supported", "contradicted")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Revenue increased quarter after quarter between Q1 2023 and Q3 2023", "supported"),
        ("Revenue increased quarter after quarter between Q1 2023 and Q4 2023", "contradicted"),
        ("Revenue increased between Q1 2023 and Q4 2023", "supported"),
        ("Revenue increased in three consecutive quarters", "unscored"),
    ],
)
def test_every_step_counts_only_where_it_is_said(text: str, expected: str) -> None:
    assert verdict(QUARTERS, text) == expected


def test_a_long_sentence_is_bounded() -> None:
    text = "Anna Berg scored more goals than Lucia Vega and " * 200
    started = time.process_time()
    assert verdict(PLAYERS, text) == "unscored"
    assert time.process_time() - started < 5


def test_time_grows_no_faster_than_the_table() -> None:
    def judging(rows: int) -> Callable[[], object]:
        table = Table.of(
            ["Name", "City", "Sales"],
            [[f"Person {n}", ("Oslo", "Rome")[n % 2], str(7 * n % 9973)] for n in range(rows)],
        )
        return lambda: verdict(table, "There are 5 people in Oslo")

    assert judging(1_000)() in ("contradicted", "unscored")
    assert growth(judging, 1_000, 8_000) < 32  # linear is 8, squared 64
