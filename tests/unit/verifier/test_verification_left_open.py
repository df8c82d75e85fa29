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
from tablemend.verifier.agreement import compare
from tablemend.verifier.program import verify_document
from tablemend.verifier.reading import Reading

PLAYERS = Table.of(
    ["Player", "Team", "Goals", "Year"],
    [
        ["Ann Lee", "Reds", "12", "2001"],
        ["Bob Ray", "Blues", "9", "2002"],
        ["Cy Dow", "Greens", "15", "2003"],
    ],
)
SHOPS = Table.of(
    ["Region", "Product", "Units Sold", "Revenue (USD)", "Year"],
    [
        ["North", "Lamp", "1,200", "960,000", "2022"],
        ["South", "Lamp", "850", "680,000", "2022"],
        ["East", "Chair", "2,400", "720,000", "2022"],
        ["West", "Desk", "3,100", "1,550,000", "2022"],
    ],
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


def test_one_short_form_is_no_weekday() -> None:
    table = Table.of(["Region", "Sun", "Rain"], [["North", "5", "9"], ["South", "8", "2"]])
    assert _of(table, "It rained on Sunday.", "Sunday").verdict != "supported"


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


def test_a_share_that_no_column_gives_stays_open() -> None:
    table = Table.of(["Club", "W", "L"], [["Lund", "30", "12"], ["Ash Town", "22", "20"]])
    assert _of(table, "Lund have won 71.4% of their games.", "71.4%").verdict == "unscored"


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
