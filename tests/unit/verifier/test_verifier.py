"""What the program verifier promises of any text and table: an end, evidence, linear time."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal

import pytest

from tablemend.api import mend, verify
from tablemend.evidence.source import Source
from tablemend.records import Claim, Document, Verdict
from tablemend.tables.table import Table
from tablemend.values.numbers import Number
from tablemend.values.text import Span
from tablemend.values.units import PLAIN
from tablemend.verifier.entity_linking import Linking
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.number_agreement import compare
from tablemend.verifier.program import TextVerifier, verify_document
from tablemend.verifier.reading import Reading
from tests.support.growth import assert_growth
from tests.support.logic_claims import PLAYERS, QUARTERS, verdict, verdicts

BOX = Table.of(
    ["Player", "Team", "PTS", "REB", "AST"],
    [
        ["Mara Venn", "Hawks", "28", "11", "4"],
        ["Tim Holt", "Hawks", "16", "3", "9"],
        ["Ana Reyes", "Bucks", "22", "8", "5"],
    ],
)
GAMES = Table.of(
    ["Team", "Opponent", "Points"], [["Hawks", "Bucks", "104"], ["Bucks", "Hawks", "98"]]
)
BOOKS = Table.of(
    ("Metric (USD thousands)", "Q1 2024", "Q2 2024", "Q3 2024", "Q4 2024"),
    [("Sales", "8,410", "8,975", "8,620", "9,530"), ("Headcount", "212", "220", "219", "231")],
)


def scored(text: str, *tables: Table) -> tuple[Verdict, ...]:
    return verify_document(extract_claims(text), Source(tables))


def of(text: str, focus: str, *tables: Table) -> str:
    (found,) = [v for v in scored(text, *tables) if text[slice(*(v.claim.focus or ()))] == focus]
    return found.verdict


# ---- evidence


def test_evidence_is_the_cell_that_was_looked_up() -> None:
    (found,) = scored("Venn had 35 points.", BOX)
    (cell,) = (one for one in found.evidence if (one.row, one.column) == (0, 2))
    assert cell.text == 'Row "Mara Venn", Column "PTS": 28'
    assert found.verifier.startswith("program/")


def test_evidence_of_a_computed_claim_is_the_computation_and_its_cells() -> None:
    found = next(v for v in verdicts(PLAYERS, "Maria Costa scored the most goals") if v.evidence)
    assert found.verdict == "supported"
    computed, cell = found.evidence
    assert computed.row is None and "15" in computed.text and "Maria Costa" in computed.text
    assert (cell.table, cell.row, cell.column) == (0, 1, 3)


def test_evidence_of_a_turned_table_has_the_place_in_the_table() -> None:
    found = next(v for v in verdicts(QUARTERS, "Revenue peaked in Q3 2023") if v.evidence)
    assert [(e.row, e.column) for e in found.evidence if e.row is not None] == [(0, 3)]


def test_evidence_of_a_broken_rule_is_the_step_that_breaks_it() -> None:
    wrong = next(v for v in verdicts(QUARTERS, "Revenue rose every quarter.") if v.wrong)
    assert "242" in wrong.reason and "230" in wrong.reason
    assert [evidence.column for evidence in wrong.evidence if evidence.row is not None] == [3, 4]


def test_a_value_of_another_table_does_not_contradict() -> None:
    assert of("The Hawks were led by Mara Venn, who had 28 points.", "28", GAMES, BOX) == (
        "supported"
    )


def test_what_two_rows_of_one_name_deny_is_not_mended() -> None:
    torn = Table.of(["Team", "Points"], [["Alba", "41"], ["Alba", "52"]])
    (found,) = scored("Alba won 60 points.", torn)
    assert found.verdict in ("contradicted", "unscored") and found.expected != ("41",)


# ---- corrections


@pytest.mark.parametrize(
    ("table", "text", "mended"),
    [
        (BOOKS, "Sales were highest in Q4, at $9.13 million.", "9.53 million"),
        (BOX, "Venn had 35 points.", "28 points"),
    ],
)
def test_a_value_is_mended_in_the_scale_of_the_text(table: Table, text: str, mended: str) -> None:
    assert mended in mend(text, Source((table,))).text


def test_swapped_numbers_are_no_wrong_years() -> None:
    medals = Table.of(
        ("Club", "Year", "Gold", "Silver"),
        [("Astle", "2016", "8", "6"), ("Astle", "2020", "7", "9"), ("Brook", "2016", "3", "5")],
    )
    text = "Astle won nine silvers in 2016 and six in 2020."
    mended = mend(text, Source((medals,))).text
    assert mended.index("2016") < mended.index("2020")


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        (("W", "GF", "GA", "Pts"), "Alvik scored 41 goals and conceded 15."),
        (("Won", "F", "A", "Points"), "Alvik scored 41 goals and conceded 15."),
        (("Won", "G+", "G-", "Points"), "Alvik scored 41 goals and conceded 15."),
    ],
)
def test_what_the_table_says_is_not_mended(headers: tuple[str, ...], text: str) -> None:
    rows = [["Alvik", "14", "41", "15", "46"], ["Brenne", "13", "38", "20", "42"]]
    assert mend(text, Source((Table.of(["Team", *headers], rows),))).text == text


# ---- other languages and scripts


@pytest.mark.parametrize(
    "text",
    [
        "Bonjour, le Nord a vendu 1200 lampes.",
        "Der Norden verkaufte 1200 Lampen.",
        "El Norte vendió 1200 mesas y fue la mejor región.",
        "Het noorden verkocht 1200 lampen.",
    ],
)
def test_another_language_is_not_scored(text: str) -> None:
    found = scored(text, BOX)
    assert {v.reason for v in found} == {"the text is not in English"}
    assert {v.verdict for v in found} == {"unscored"}


@pytest.mark.parametrize(
    "text", ["Vincent van Berg sold 12 lamps.", "Los Alamos sold 12.", "Dorn et al. sold 12 lamps."]
)
def test_names_make_no_other_language(text: str) -> None:
    assert all(v.reason != "the text is not in English" for v in scored(text, BOX))


@pytest.mark.parametrize(
    "text", ["سجل آن لي ١٢ هدفا في 2005.", "安李进了13个球。", "Спартак выиграл", "ベンは35点。"]
)
def test_another_script_is_left_open(text: str) -> None:
    assert {v.verdict for v in scored(text, BOX)} <= {"unscored"}


def test_a_table_in_the_same_script_is_used() -> None:
    table = Table.of(["სახელი", "გოლი"], [["ანა", "12"], ["ლევანი", "9"]])
    reasons = {v.reason for v in scored("ანა: 12.", table)}
    assert reasons != {"the text is in another script than the tables"}


# ---- odd texts and tables


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\n ",
        "?!",
        "Revenue",
        "🙂 \u202e 12 \x00 34",
        "((((((((((((" * 50,
        "a " * 4000,
        "1 " * 2000,
        "9" * 5000,
        "Venn scored 1e999 goals, and -1e400 and 1e-999.",
        "Venn had " + "28 points, " * 300,
        "Mara Venn scored more points than Tim Holt and " * 200,
    ],
)
def test_no_text_breaks_it(text: str) -> None:
    start = time.process_time()
    document = extract_claims(text)
    found = verify_document(document, Source((BOX, QUARTERS)))
    assert [verdict.claim for verdict in found] == list(document.claims)
    assert all(0 <= s.start < s.end <= len(text) for verdict in found for s in verdict.spans)
    assert time.process_time() - start < 8


@pytest.mark.parametrize(
    "table",
    [
        Table.of(["Only"], [["a"], ["b"]]),
        Table.of(["A", "B"], []),
        Table.of(["A", "B"], [[None, None]]),
        Table.of(["A", "B"], [["x" * 10_000, "<b>5</b>"], ["y", "7" * 200]]),
        Table.of(["", ""], [["1", "2"]]),
        Table.of(["A", "A"], [["x", "2"], ["x", "3"]]),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "The A of x was 2 in 2020, and Bob had 17.5% of b on Friday.",
        "There are 3 rows and none of them is x, which had the most B of all.",
        "x rose from 1 to 2 between 2001 and 2002 and has more B than y.",
    ],
)
def test_no_table_breaks_it(table: Table, text: str) -> None:
    assert verdict(table, text) in ("unscored", "supported", "contradicted")


def test_claims_without_a_place_or_a_table_are_unscored() -> None:
    claim = Claim("x", None, None, "numeric", "x")
    assert verify_document(Document("", (claim,)), Source((BOX,)))[0].verdict == "unscored"
    assert {v.verdict for v in scored("Venn had 28 points.")} == {"unscored"}


def test_markup_in_cells_is_no_content() -> None:
    table = Table.of(["Name", "Score"], [["Ann", "<td>5</td>"], ["Bob", "<time>7</time>"]])
    assert verdict(table, "Ann has a score of 5.") == "supported"
    assert verdict(table, "Bob has a score of 5.") == "contradicted"


def test_no_cell_is_shown_twice() -> None:
    for found in scored("Venn had more points than Holt and Venn.", BOX):
        assert len(set(found.evidence)) == len(found.evidence)


@pytest.mark.parametrize(
    "text", ["Person 5 had a score of 15. Person 7 had a score of 20.", "There are 5 in Group 3."]
)
def test_time_is_linear_in_cells(text: str) -> None:
    document = extract_claims(text)

    def verifying(rows: int) -> Callable[[], object]:
        cells = [[f"Person {n}", f"Group {n % 7}", str(n * 3)] for n in range(rows)]
        source = Source((Table.of(["Name", "Group", "Score"], cells),))
        return lambda: TextVerifier(document, source).verify(document.claims[0])

    assert_growth(verifying, 1000, 8000, below=32)  # linear is 8, squared 64


# ---- linking


def test_links_have_places_and_carry_the_subject() -> None:
    text = "Reyes had 22 points. She had five assists."
    linking = Linking(Reading(text), Source((BOX,)))
    first, second = (linking.links(span, 0) for span in linking.reading.sentences)
    assert [(text[r.start : r.end], r.rows) for r in first.rows] == [("Reyes", (2,))]
    assert [(text[c.start : c.end], c.columns) for c in first.columns] == [("points", (2,))]
    assert second.subject == (2,)
    assert second.rows == ()
    assert [r.rows for r in linking.links(Span(0, 5), 0).rows] == [(2,)]


def test_a_number_in_words_rounds_nothing() -> None:
    three, digit = Reading("Three results, or 3 mg.").amounts
    assert compare(three, Number(Decimal("3.5"), decimals=1), PLAIN) == "near"
    assert compare(digit, Number(Decimal("3.1"), decimals=1), PLAIN) == "same"


def test_what_a_value_is_counted_over_is_no_value() -> None:
    weeks = [[f"2030-01-{day:02d}", str(1 + day / 100)] for day in range(1, 29)]
    rates = Table.of(["date", "Rate of reproduction"], weeks, "Velm")
    for text in ("The chart shows the 7-day rolling average of the rate.", "It is a 3-day mean."):
        assert not any(found.wrong for found in scored(text, rates))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Vey scored over 2,000 points.", 0),
        ("Two drivers scored under 2,000 points.", 0),
        ("In 2002 Alba scored under 2,000 points.", 0),
        ("Sella scored over 2,000 points.", 1),
        ("Vey scored over 2,000 points in 2002.", 1),
    ],
)
def test_a_bound_that_could_be_a_year_is_none(text: str, wrong: int) -> None:
    columns, rows = ("Driver", "Season", "Points"), (("Vey", "2001", "2350"),)
    table = Table.of(columns, [*rows, ("Alba", "2002", "1200"), ("Sella", "2003", "900")])
    found = verify(text, table)
    assert bool(found.errors) == bool(wrong) and found.coverage.scored
