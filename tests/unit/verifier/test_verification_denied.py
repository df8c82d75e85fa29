"""What must not be taken at its word: denials, lists, other things counted, other scripts."""

from __future__ import annotations

import pytest

from tablemend.claims.extract import extract_claims
from tablemend.evidence.files import read_source
from tablemend.evidence.source import Source
from tablemend.mitigations.repair_text import repair_text
from tablemend.records import Verdict
from tablemend.verifier.program import verify_document

PLAYERS = read_source(
    "Player,Team,Goals,Year\nAnn Lee,Reds,12,2001\nBob Ray,Blues,9,2002\nCy Dow,Greens,15,2003\n"
)
QUARTERS = read_source(
    "Quarter,Revenue ($ million),Growth (%),Margin\nQ1 2023,120.4,9.0,0.21\n"
    "Q2 2023,131.2,12.0,0.22\nQ3 2023,128.0,-2.4,0.19\nQ4 2023,140.9,10.1,0.25\n"
)


def scored(text: str, source: Source) -> tuple[Verdict, ...]:
    return verify_document(extract_claims(text), source)


def said(text: str, source: Source) -> set[str]:
    """The verdicts on a text, less those left open."""
    return {verdict.verdict for verdict in scored(text, source)} - {"unscored"}


def test_a_denial_within_a_name_denies_nothing() -> None:
    source = read_source("Answer,Share\nDid not want to tell,30\nDid not know,41\n")
    assert said("Did not want to tell had a share of 30.", source) == {"supported"}
    assert said("Did not want to tell had a share of 52.", source) == {"contradicted"}


@pytest.mark.parametrize("amount", ["9" * 5000, "1e999", "1e-999", "9" * 400, "-1e400", "1e60"])
def test_a_number_without_bounds_is_no_traceback(amount: str) -> None:
    for text in (f"Ann Lee scored {amount} goals.", f"The total is {amount}.", f"{amount} players"):
        assert all(v.verdict != "supported" for v in scored(text, PLAYERS))


@pytest.mark.parametrize(
    "text",
    ["سجل آن لي ١٢ هدفا في 2005.", "אן לי הבקיעה 13 שערים ב-2001.", "安李进了13个球。"],
)
def test_another_script_is_left_open(text: str) -> None:
    assert said(text, PLAYERS) == set()


def test_a_table_in_the_same_script_is_used() -> None:
    source = read_source("სახელი,გოლი\nანა,12\nლევანი,9\n")
    assert any(
        v.reason != "the text is in another script than the tables"
        for v in scored("ანა: 12.", source)
    )


def test_a_table_without_rows_decides_nothing() -> None:
    assert said("Ann has 12 goals.", read_source("Name,Goals\n")) == set()


def test_markup_in_cells_is_no_content() -> None:
    source = read_source("Name,Score\nAnn,<td>5</td>\nBob,<time>7</time>\n")
    assert said("Ann has a score of 5.", source) == {"supported"}
    assert said("Bob has a score of 5.", source) == {"contradicted"}


@pytest.mark.parametrize(
    ("text", "source", "mended"),
    [
        ("Two quarters had negative growth.", QUARTERS, "Two quarters had negative growth."),
        ("Cy Dow is 30 years old.", PLAYERS, "Cy Dow is 30 years old."),
        ("Growth was four percent in Q3.", QUARTERS, "Growth was -2.4 percent in Q3."),
        ("The margin was 28% in Q4 2023.", QUARTERS, "The margin was 25% in Q4 2023."),
        ("Cy Dow did not score 15 goals.", PLAYERS, "Cy Dow did not score 15 goals."),
    ],
)
def test_edits_stay_in_what_the_text_counts(text: str, source: Source, mended: str) -> None:
    assert repair_text(text, source).text == mended


def test_no_gain_is_read_into_a_count() -> None:
    found = scored("Revenue grew in three of the four quarters.", QUARTERS)
    assert all("20.5" not in verdict.expected for verdict in found)
