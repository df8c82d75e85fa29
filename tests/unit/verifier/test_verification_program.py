"""Stated numbers, periods and names against the cells that the sentence names."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tablemend.claims.extract import extract_claims
from tablemend.evidence.source import Source
from tablemend.records import Claim, Document
from tablemend.tables.table import Table
from tablemend.values.sentences import Span
from tablemend.verifier.linking import Linking
from tablemend.verifier.program import TextVerifier, verify_document
from tablemend.verifier.reading import Reading
from tests.support.growth import growth

BOX = Table.of(
    ["Player", "Team", "PTS", "REB", "AST", "STL", "BLK", "FGM", "FGA"],
    [
        ["Mara Venn", "Hawks", "28", "11", "4", "0", "2", "10", "19"],
        ["Tim Holt", "Hawks", "16", "3", "9", "2", "0", "6", "14"],
        ["Ana Reyes", "Bucks", "22", "8", "5", "1", "1", "8", "17"],
        ["Lou Park", "Bucks", "9", "6", "1", "3", "0", "4", "11"],
    ],
)
LINE = Table.of(
    [
        "City",
        "Team",
        "Points",
        "Points in the first quarter",
        "Points in the second quarter",
        "Points in the third quarter",
        "Points in the fourth quarter",
        "Wins",
        "Losses",
        "Date",
    ],
    [
        ["Atlanta", "Hawks", "104", "30", "21", "25", "28", "12", "8", "2021-03-05"],
        ["Milwaukee", "Bucks", "98", "20", "29", "24", "25", "15", "4", "2021-03-05"],
    ],
)
EARNINGS = Table.of(
    ["Metric", "Q1 2023", "Q2 2023", "Q3 2023"],
    [
        ["Revenue ($ millions)", "812.4", "845.0", "790.1"],
        ["Net income ($ millions)", "52.0", "-4.1", "61.3"],
        ["Operating margin (%)", "11.2", "9.8", "12.6"],
    ],
)
CITIES = Table.of(
    ["City", "Country", "Mayor", "Population", "Founded"],
    [
        ["Corran", "Norland", "Ida Moss", "412,300", "1204"],
        ["Velm", "Sudria", "Jon Birk", "98,450", "1881"],
        ["Port Ashe", "Norland", "Lena Orr", "1,250,900", "1650"],
    ],
)
PHONE = Table.of(
    ["attribute", "value"],
    [
        ["Name", "Zed 5"],
        ["Announced", "2014, October"],
        ["Weight", "152 g"],
        ["Display size", '5.2"'],
        ["Manufacturer", "Norvik"],
    ],
    "Zed 5",
)

TICKETS = Table.of(["Team", "Tickets", "Price"], [["Reds", "20", "$5"], ["Blues", "10", "$4"]])

Found = tuple[str, str | None, tuple[str, ...], tuple[str, ...]]


def judge(text: str, *tables: Table) -> dict[str, Found]:
    """Focus -> verdict, error type, words at fault and what should stand there."""
    document = extract_claims(text)
    verdicts = verify_document(document, Source(tables))
    assert len(verdicts) == len(document.claims)
    return {
        text[slice(*(v.claim.focus or (v.claim.start, v.claim.end)))]: (
            v.verdict,
            v.error_type,
            tuple(text[slice(*span)] for span in v.spans),
            v.expected,
        )
        for v in verdicts
    }


def test_a_price_before_what_is_counted_is_not_its_number() -> None:
    assert judge("The Reds sold 20 $5 tickets.", TICKETS)["$5"][0] == "supported"
    assert judge("The Reds sold 20 $4 tickets.", TICKETS)["$4"][0] != "contradicted"


def test_a_bound_far_off_is_not_wrong() -> None:
    found = judge("Corran has more than 200,000 inhabitants.", CITIES)
    assert found["200,000"][0] != "contradicted"
    assert (
        judge("Corran has more than 500,000 inhabitants.", CITIES)["500,000"][0] == "contradicted"
    )


def test_a_value_of_another_table_does_not_contradict() -> None:
    text = "The Hawks were led by Mara Venn, who had 28 points."
    assert judge(text, LINE, BOX)["28"][0] == "supported"


def test_evidence_is_the_cell() -> None:
    (verdict,) = verify_document(extract_claims("Venn had 35 points."), Source((BOX,)))
    (cell,) = (one for one in verdict.evidence if (one.row, one.column) == (0, 2))
    assert cell.text == 'Row "Mara Venn", Column "PTS": 28'
    assert verdict.verifier.startswith("program/")


def test_links_have_places_and_carry_the_subject() -> None:
    text = "Reyes had 22 points. She had five assists."
    linking = Linking(Reading(text), Source((BOX,)))
    first, second = (linking.links(span, 0) for span in linking.reading.sentences)
    assert [(text[r.start : r.end], r.rows) for r in first.rows] == [("Reyes", (2,))]
    assert [(text[c.start : c.end], c.columns) for c in first.columns] == [("points", (2,))]
    assert second.subject == (2,)
    assert second.rows == ()
    part = linking.links(Span(0, 5), 0)
    assert [r.rows for r in part.rows] == [(2,)]
    assert part.columns == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\n ",
        "Revenue",
        "収益は2023年に845百万ドルに達した。",
        "हमारी कंपनी ने 2023 में 845 जहाज बेचे।",
        "🙂 \u202e 12 \x00 34",
        "((((((((((((" * 50,
        "a " * 4000,
        "1 " * 2000,
        "9" * 5000,
        "Venn had " + "28 points, " * 300,
    ],
)
def test_no_text_breaks_it(text: str) -> None:
    start = time.process_time()
    document = extract_claims(text)
    verdicts = verify_document(document, Source((BOX, EARNINGS)))
    assert [verdict.claim for verdict in verdicts] == list(document.claims)
    assert all(0 <= s.start < s.end <= len(text) for verdict in verdicts for s in verdict.spans)
    assert time.process_time() - start < 8


def test_another_script_is_never_contradicted() -> None:
    text = "ハークスは三得点を挙げた。ベンは35点。"
    assert not any(v.wrong for v in verify_document(extract_claims(text), Source((BOX,))))


@pytest.mark.parametrize(
    "table",
    [
        Table.of(["Only"], [["a"], ["b"]]),
        Table.of(["A", "B"], []),
        Table.of(["A", "B"], [[None, None]]),
        Table.of(["A", "B"], [["x" * 10_000, "<b>5</b>"]]),
        Table.of(["", ""], [["1", "2"]]),
        Table.of(["A", "A"], [["x", "2"], ["x", "3"]]),
    ],
)
def test_no_table_breaks_it(table: Table) -> None:
    text = "The A of x was 2 in 2020, and Bob had 17.5% of b on Friday."
    assert len(verify_document(extract_claims(text), Source((table,)))) > 0


def test_claims_without_a_place_or_a_table_are_unscored() -> None:
    claim = Claim("x", None, None, "numeric", "x")
    assert verify_document(Document("", (claim,)), Source((BOX,)))[0].verdict == "unscored"
    document = extract_claims("Venn had 28 points.")
    assert {v.verdict for v in verify_document(document, Source())} == {"unscored"}


def test_time_is_linear_in_cells() -> None:
    def judging(rows: int) -> Callable[[], object]:
        table = Table.of(
            ["Name", "Group", "Score", "Year"],
            [
                [f"Person {n}", f"Group {n % 7}", str(n * 3), str(1900 + n % 100)]
                for n in range(rows)
            ],
        )
        document = extract_claims("Person 5 had a score of 15. Person 7 had a score of 20.")
        return lambda: TextVerifier(document, Source((table,))).verify(document.claims[0])

    assert growth(judging, 1000, 8000) < 32  # linear is 8, squared 64
