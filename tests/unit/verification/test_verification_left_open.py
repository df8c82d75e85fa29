"""What a table does not say stays open: other nouns, other kinds, languages, short headers."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tablemend.claims.extract import extract_claims
from tablemend.evidence.source import Source
from tablemend.mitigations.mend import mend_text
from tablemend.records import Verdict
from tablemend.tables.table import Table
from tablemend.values.numbers import Number
from tablemend.values.units import PLAIN
from tablemend.verification.agreement import compare
from tablemend.verification.program import verify_document
from tablemend.verification.reading import Reading

PLAYERS = Table.of(
    ["Player", "Team", "Goals", "Year"],
    [
        ["Ann Lee", "Reds", "12", "2001"],
        ["Bob Ray", "Blues", "9", "2002"],
        ["Cy Dow", "Greens", "15", "2003"],
    ],
)
SQUAD = Table.of(["Player", "Team", "Goals"], [list(row[:3]) for row in PLAYERS.rows])
SHOPS = Table.of(
    ["Region", "Product", "Units Sold", "Revenue (USD)", "Year"],
    [
        ["North", "Lamp", "1,200", "960,000", "2022"],
        ["South", "Lamp", "850", "680,000", "2022"],
        ["East", "Chair", "2,400", "720,000", "2022"],
        ["West", "Desk", "3,100", "1,550,000", "2022"],
    ],
)
WEEK = Table.of(
    ["City", "Mon High (°C)", "Mon Low (°C)", "Tue High (°C)", "Tue Low (°C)"],
    [["Alva", "4", "-3", "6", "-1"], ["Brim", "7", "2", "8", "3"], ["Cove", "-1", "-8", "0", "-6"]],
)
MONTHS = Table.of(
    ["Shop", "Jan Sales", "Feb Sales", "Jan Visits", "Feb Visits"],
    [["Elm", "10", "12", "90", "140"], ["Oak", "20", "18", "210", "250"]],
)


def _league(*headers: str) -> Table:
    rows = [
        ["Alvik", "14", "41", "15", "46"],
        ["Brenne", "13", "38", "20", "42"],
        ["Corby", "9", "27", "29", "30"],
    ]
    return Table.of(["Team", *headers], rows)


def _verdicts(table: Table, text: str) -> list[Verdict]:
    return list(verify_document(extract_claims(text), Source((table,))))


def _of(table: Table, text: str, focus: str) -> Verdict:
    (found,) = [
        v
        for v in _verdicts(table, text)
        if v.claim.focus is not None and text[v.claim.focus.start : v.claim.focus.end] == focus
    ]
    return found


@pytest.mark.parametrize(
    ("text", "focus"),
    [
        ("Ann Lee has 12 red cards.", "12"),
        ("Ann Lee scored 12 assists.", "12"),
        ("Ann Lee scored 12 own goals.", "12"),
        ("Ann Lee scored 3 own goals.", "3"),
        ("Ann Lee was born in 2001.", "2001"),
        ("Ann Lee won the 2001 championship.", "2001"),
        ("Ann Lee led the Reds to a 12-9 win over the Blues.", "12"),
        ("Ann Lee led the Reds to a 12-9 win over the Blues.", "9"),
        ("Ann Lee did not leave the Reds.", "Reds"),
        ("Ann Lee scored 1/0 of goals.", "1"),
    ],
)
def test_what_no_column_counts_is_left_open(text: str, focus: str) -> None:
    assert _of(PLAYERS, text, focus).verdict == "unscored"


@pytest.mark.parametrize(
    ("text", "focus", "verdict"),
    [
        ("Ann Lee scored 12 goals.", "12", "supported"),
        ("Ann Lee scored 11 goals.", "11", "contradicted"),
        ("Ann Lee played in the 2001 season.", "2001", "supported"),
        ("Ann Lee did not play for the Reds.", "Reds", "contradicted"),
        ("Ann Lee never played for the Reds.", "Reds", "contradicted"),
    ],
)
def test_what_a_column_says_is_scored(text: str, focus: str, verdict: str) -> None:
    assert _of(PLAYERS, text, focus).verdict == verdict


def test_a_birth_year_is_scored_by_its_own_column() -> None:
    table = Table.of(
        ["Player", "Born", "Joined"],
        [["Ann Lee", "1980", "2001"], ["Bob Ray", "1981", "2002"], ["Cy Dow", "1979", "2003"]],
    )
    assert _of(table, "Ann Lee was born in 1980.", "1980").verdict == "supported"


@pytest.mark.parametrize(
    "text",
    [
        "Bonjour, le Nord a vendu 1200 lampes.",
        "Le Nord a vendu 1200 lampes et l'Ouest 3100.",
        "Der Norden verkaufte 1200 Lampen.",
        "El Norte vendió 1200 mesas y fue la mejor región.",
        "Het noorden verkocht 1200 lampen.",
    ],
)
def test_another_language_is_not_scored(text: str) -> None:
    verdicts = _verdicts(SHOPS, text)
    assert verdicts
    assert {v.verdict for v in verdicts} == {"unscored"}
    assert {v.reason for v in verdicts} == {"the text is not in English"}


@pytest.mark.parametrize(
    "text",
    [
        "North sold 1,200 lamps.",
        "Vincent van Berg sold 12 lamps.",
        "Los Alamos sold 12 lamps.",
        "Juan del Campo beat Rafael Dorn 6-3.",
        "Dorn et al. sold 12 lamps.",
    ],
)
def test_names_make_no_other_language(text: str) -> None:
    assert all(v.reason != "the text is not in English" for v in _verdicts(SHOPS, text))


@pytest.mark.parametrize(
    ("text", "focus", "verdict"),
    [
        ("Alva had a high of 4 °C on Monday.", "4 °C", "supported"),
        ("Alva had a high of 6 °C on Monday.", "6 °C", "contradicted"),
        ("Alva warmed from 4 °C on Monday to 6 °C on Tuesday.", "Tuesday", "supported"),
        ("Alva had a low of -3 °C on Monday.", "Monday", "supported"),
        ("It rained on Friday.", "Friday", "not_in_source"),
    ],
)
def test_weekdays_of_headers(text: str, focus: str, verdict: str) -> None:
    assert _of(WEEK, text, focus).verdict == verdict


@pytest.mark.parametrize(
    ("text", "focus", "verdict"),
    [
        ("Elm had 90 visits in January.", "90", "supported"),
        ("Elm had 140 visits in January.", "140", "contradicted"),
    ],
)
def test_months_of_headers(text: str, focus: str, verdict: str) -> None:
    assert _of(MONTHS, text, focus).verdict == verdict


def test_weekdays_in_the_plural_are_no_names() -> None:
    assert all(not v.wrong for v in _verdicts(PLAYERS, "Ann Lee trained on 4 Mondays."))


def test_one_short_form_is_no_weekday() -> None:
    table = Table.of(["Region", "Sun", "Rain"], [["North", "5", "9"], ["South", "8", "2"]])
    assert _of(table, "It rained on Sunday.", "Sunday").verdict == "not_in_source"


@pytest.mark.parametrize(
    "headers",
    [
        ("W", "GF", "GA", "Pts"),
        ("Won", "F", "A", "Points"),
        ("Won", "For", "Against", "Pts"),
        ("Won", "G+", "G-", "Points"),
    ],
)
def test_goals_are_never_mended_to_points(headers: tuple[str, ...]) -> None:
    text = "Alvik scored 41 goals and conceded 15."
    assert mend_text(text, Source((_league(*headers),))).text == text


def test_a_column_that_is_named_beside_the_number_is_meant() -> None:
    league = _league("Won", "F", "A", "Points")
    assert _of(league, "Alvik collected 41 points.", "41").verdict == "contradicted"


def test_rows_that_are_attributes_have_names_of_their_own() -> None:
    table = Table.of(
        ["Item", "Q1 2023", "Q2 2023"], [["Net income", "12.1", "15.3"], ["Revenue", "90", "95.5"]]
    )
    assert _of(table, "Net income was 15.3 in Q1 2023.", "15.3").verdict == "contradicted"


def test_goals_for_and_against_are_read() -> None:
    league = _league("W", "GF", "GA", "Pts")
    assert _of(league, "Alvik scored 41 goals.", "41").verdict == "supported"
    assert _of(league, "Alvik scored 46 goals.", "46").verdict == "contradicted"
    assert _of(league, "Corby conceded 29 goals.", "29").verdict == "supported"


def test_evidence_of_a_period_is_of_the_rows_that_are_named() -> None:
    text = "The West region sold the most units in 2022."
    assert {e.row for e in _of(SHOPS, text, "2022").evidence} == {3}


def test_money_is_no_number_of_units() -> None:
    text = "The West region sold 3,100 desks in 2022, earning $1,550,000."
    (evidence,) = _of(SHOPS, text, "$1,550,000").evidence
    assert evidence.column == 3


def test_a_number_in_words_rounds_nothing() -> None:
    three, digit = Reading("Three results, or 3 mg.").amounts
    cell = Number(Decimal("3.5"), decimals=1)
    assert compare(three, cell, PLAIN) == "near"
    assert compare(digit, Number(Decimal("3.1"), decimals=1), PLAIN) == "same"


@pytest.mark.parametrize(
    ("text", "focus", "verdict"),
    [
        ("Sella has 39 points.", "39", "unscored"),
        ("Sella is 39 years old.", "39 years", "unscored"),
        ("Bob is 4. Sella is aged 39.", "39", "unscored"),
        ("Bob is 39 years old.", "39 years", "contradicted"),
        ("The age is 39.", "39", "contradicted"),
    ],
)
def test_another_name_is_not_that_of_the_only_row(text: str, focus: str, verdict: str) -> None:
    table = Table.of(["Name", "Age"], [["Bob", "4"]])
    assert _of(table, text, focus).verdict == verdict
    assert verdict == "contradicted" or mend_text(text, Source((table,))).text == text


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Bea Moss added two steals and two blocks.", "supported"),
        ("Ann Lee added one steal and one block.", "contradicted"),
    ],
)
def test_the_next_number_of_a_list_counts_its_own_column(text: str, verdict: str) -> None:
    table = Table.of(
        ["Player", "Points", "Steals", "Blocks"],
        [["Ann Lee", "24", "2", "1"], ["Bea Moss", "31", "2", "2"], ["Cy Dow", "12", "0", "3"]],
    )
    assert _verdicts(table, text)[0].verdict == verdict


STANDINGS = Table.of(
    ["Club", "W", "L", "PCT", "Points"],
    [["Lund", "30", "12", ".714", "42"], ["Ash Town", "22", "20", ".524", "35"]],
)


@pytest.mark.parametrize(
    ("text", "focus", "verdict", "expected"),
    [
        ("Lund have won 71.4% of their games.", "71.4%", "supported", ()),
        ("Lund have won 75.4% of their games.", "75.4%", "contradicted", ("71.4",)),
        ("Lund had 30 wins.", "30", "supported", ()),
        ("Lund finished 41 points ahead.", "finished 41", "unscored", ()),
        ("Ash Town are 36 points adrift of the leaders.", "36", "unscored", ()),
        ("Lund finished 7 points clear of Ash Town.", "finished 7", "supported", ()),
        ("Lund finished with 41 points, ahead of Ash Town.", "41", "contradicted", ("42",)),
    ],
)
def test_shares_and_margins_are_no_values(
    text: str, focus: str, verdict: str, expected: tuple[str, ...]
) -> None:
    found = _of(STANDINGS, text, focus)
    assert (found.verdict, found.expected) == (verdict, expected)


def test_a_share_that_no_column_gives_stays_open() -> None:
    table = Table.of(["Club", "W", "L"], [["Lund", "30", "12"], ["Ash Town", "22", "20"]])
    assert _of(table, "Lund have won 71.4% of their games.", "71.4%").verdict == "unscored"


@pytest.mark.parametrize("text", ["The Reds lost 12 games.", "The Reds won 1 game."])
def test_games_are_not_counted_by_rows_of_players(text: str) -> None:
    assert {v.verdict for v in _verdicts(SQUAD, text)} == {"unscored"}


def test_a_wrong_cell_is_not_a_wrong_period_too() -> None:
    table = Table.of(
        ["Plant", "Jan", "Feb", "Mar"], [["Elm", "10", "12", "9"], ["Oak", "7", "12", "8"]]
    )
    wrong = [v for v in _verdicts(table, "Elm sold 12 in January.") if v.wrong]
    assert [v.expected for v in wrong] == [("10",)]


@pytest.mark.parametrize(
    "text",
    [
        "North grew 10% in 2022 and 13.6% in 2023.",
        "In 2023, South was up 10%.",
        "West fell 14% in 2023.",
        "North sold 57% of all units.",
    ],
)
def test_a_change_in_percent_is_no_level(text: str) -> None:
    table = Table.of(
        ["Region", "2021", "2022", "2023"],
        [["North", "120", "132", "150"], ["South", "95", "90", "99"], ["West", "60", "63", "54"]],
    )
    assert mend_text(text, Source((table,))).text == text
