"""What a sentence says beside its numbers: no reading that passes over it supports or denies it.

Forms that are read stand in ``tests/data/claims.jsonl``, each true and false.
"""

from __future__ import annotations

import pytest

import tablemend
from tablemend.evidence.source import Source
from tablemend.tables.csvtable import read_csv
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.program import verify_document

REGIONS = "Region,Q1,Q2,Q3\nNorth,10,12,15\nSouth,20,18,18\nEast,30,33,27\nWest,7,9,14\n"
POWER = (
    "Country,Electricity 2022 (TWh),Electricity 2023 (TWh),Population (m)\n"
    "Norway,60.2,62.1,5.4\nSweden,75.2,80.5,10.5\n"
)
PHONES = (
    "Model,Screen (in),Battery (mAh),5G,Price ($)\nAlba,6.1,4200,Yes,699\nBoreal,6.4,4500,No,349\n"
    "Cirrus,6.7,5000,Yes,899\nNimbus,6.5,5200,Yes,549\n"
)
CLIENTS = "Customer,Orders,Region\nAcme,12,North\nBolt,30,South\nCore,7,North\n"
STAFF = "Department,Employees,Budget\nOps,6,100\nSales,12,50\nHR,4,20\n"
GAMES = "Team,Points,Rebounds,Date\nBulls,104,45,2016-11-14\nHeat,98,39,2016-11-14\n"


@pytest.mark.parametrize(
    ("table", "text", "word"),
    [
        (CLIENTS, "Bolt was the top customer by revenue.", "top"),
        (CLIENTS, "Bolt was the largest customer by sales volume.", "largest"),
        (STAFF, "Ops shrank, losing six employees.", "six"),
        (STAFF, "Ops shed six employees.", "six"),
        (STAFF, "HR had to cut four employees.", "four"),
        (PHONES, "Two of the four phones support eSIM.", "Two"),
        (REGIONS, "All four regions have a manager.", "All"),
    ],
)
def test_a_reading_that_passes_over_the_sentence_supports_nothing(
    table: str, text: str, word: str
) -> None:
    document = extract_claims(text)
    verdicts = verify_document(document, Source((read_csv(table),)))
    (said,) = [v for v in verdicts if v.claim.focus and text[slice(*v.claim.focus)] == word]
    assert said.verdict != "supported"


def test_a_tie_has_no_opposite() -> None:
    (error,) = [
        one for one in tablemend.verify("South fell in Q3.", REGIONS).errors if one.word == "fell"
    ]
    assert error.expected == ()


@pytest.mark.parametrize(
    "text",
    [
        "The Bulls host the Knicks on Wednesday.",
        "Next, the Heat play the Magic on Friday.",
        "The Bulls will travel to Boston on Thursday.",
        "The Bulls scored 28 points in the first quarter.",
        "The Heat had 51 points in the second half.",
        "The Bulls grabbed 12 rebounds in the fourth quarter.",
        "The Bulls (21-25) beat the Heat (18-27).",
        "The Bulls have a record of (30-12).",
    ],
)
def test_other_games_and_parts_of_a_game_are_left_open(text: str) -> None:
    assert not tablemend.verify(text, GAMES).errors


def test_this_game_is_not() -> None:
    (error,) = tablemend.verify("The Bulls scored 28 points.", GAMES).errors
    assert (error.word, error.expected) == ("28", ("104",))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("The tower is 310 m high.", False),
        ("The tower was built in four years.", False),
        ("The tower is in more than one country.", False),
        ("The Height (m) of Arda is 313.", True),
    ],
)
def test_of_one_row_only_a_plain_contradiction_is_scored(text: str, wrong: bool) -> None:
    tower = [{"Tower": "Arda", "Height (m)": "310", "Built": "1889"}]
    found = tablemend.verify(text, tower)
    assert bool(found.errors) is wrong
    assert all(one.verdict in ("unscored", "contradicted") for one in found.claims)


@pytest.mark.parametrize(
    "other", ["East led in Q1.", "South fell in Q2.", "The table has regions."]
)
def test_a_verdict_does_not_depend_on_the_sentences_around(other: str) -> None:
    for text in (
        "North made 12 in Q2.",
        "West made 15 in Q3.",
        "Three of the four regions rose in Q2.",
    ):
        alone = [one.verdict for one in tablemend.verify(text, REGIONS).claims]
        beside = [one.verdict for one in tablemend.verify(f"{text} {other}", REGIONS).claims]
        assert beside[: len(alone)] == alone
