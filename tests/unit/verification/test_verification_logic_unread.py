"""What no reading explains is no condition, and a number of other things is no count of rows."""

from __future__ import annotations

import pytest

from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_text
from tablemend.mitigations.mend import mend_text
from tablemend.records import Verdict
from tablemend.tables.table import Table

HOSPITALS = Table.of(
    ["Hospital", "City", "Beds", "Nurses"],
    [
        ["Alder House", "Oslo", "120", "340"],
        ["Birk House", "Bergen", "80", "210"],
        ["Cedar House", "Oslo", "45", "95"],
        ["Drossel House", "Skien", "9", "30"],
    ],
)
BOX = Table.of(
    ["Player", "MIN", "PTS", "FG", "3PT"],
    [
        ["Jon Falk", "35", "31", "12-20", "3-8"],
        ["Per Lund", "31", "14", "5-9", "0-1"],
        ["Ole Dahl", "28", "10", "4-15", "2-9"],
        ["Kai Moen", "22", "6", "2-7", "1-3"],
    ],
)
LEAGUE = Table.of(
    ["Pos", "Team", "Played", "Won", "Drawn", "Lost", "Points"],
    [
        ["1", "Ambleford", "10", "8", "2", "0", "26"],
        ["2", "Brackwell", "10", "5", "2", "3", "17"],
        ["3", "Cotterham", "10", "3", "1", "6", "10"],
        ["4", "Dunsley", "10", "0", "3", "7", "3"],
    ],
)
STAFF = Table.of(
    ["Department", "Headcount 2022", "Headcount 2023"],
    [["Design", "80", "72"], ["Support", "60", "66"], ["Finance", "25", "25"]],
)
TABLES = {"hospitals": HOSPITALS, "box": BOX, "league": LEAGUE, "staff": STAFF}


def said(table: str, text: str) -> set[str]:
    """The verdicts on a text, the unscored ones left out."""
    verdicts = verify_text(text, Source((TABLES[table],))).verdicts
    return {verdict.verdict for verdict in verdicts} - {"unscored"}


def claim(table: str, text: str, focus: str) -> Verdict:
    """The verdict on the claim that turns on some words."""
    for verdict in verify_text(text, Source((TABLES[table],))).verdicts:
        place = verdict.claim.focus
        if place is not None and text[place.start : place.end] == focus:
            return verdict
    raise AssertionError(f"no claim turns on {focus!r}")


@pytest.mark.parametrize(
    ("table", "text", "focus"),
    [
        ("hospitals", "Two hospitals are private.", "Two"),
        ("hospitals", "Two hospitals in Oslo have a helipad.", "Two"),
        ("hospitals", "Three hospitals were rebuilt.", "Three"),
        ("hospitals", "All hospitals in Oslo have a helipad.", "All"),
        ("hospitals", "Two of the four hospitals are private.", "Two"),
        ("league", "Three teams were relegated.", "Three"),
        ("league", "Two teams have a winning record.", "Two"),
        ("box", "Two players were injured.", "Two"),
        ("hospitals", "Three hospitals have a double-digit number of beds.", "Three"),
    ],
)
def test_a_condition_that_nobody_can_read_is_no_count_of_all_rows(
    table: str, text: str, focus: str
) -> None:
    assert claim(table, text, focus).verdict == "unscored"
    assert mend_text(text, Source((TABLES[table],))).text == text


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("box", "Jon Falk made 12 of 20 shots, including 3 of 8 from three."),
        ("box", "Ole Dahl shot 4-of-15 from the field."),
        ("box", "Ole Dahl made 2 of 9 three-pointers."),
        ("league", "Cotterham won only 3 of 10 matches."),
        ("league", "Brackwell were nine points behind."),
        ("staff", "Design lost eight people."),
        ("staff", "Support added 6 people."),
        ("staff", "Finance is the smallest department, with 25 people."),
    ],
)
def test_a_number_of_one_row_is_no_count_of_rows(table: str, text: str) -> None:
    assert said(table, text) <= {"supported"}
    assert mend_text(text, Source((TABLES[table],))).text == text


@pytest.mark.parametrize(
    ("table", "text", "expected"),
    [
        ("box", "Three players scored in double figures.", "supported"),
        ("box", "Two players scored in double digits.", "contradicted"),
        ("box", "Two players scored between 10 and 20 points.", "supported"),
        ("box", "Three players scored between 10 and 20 points.", "contradicted"),
        ("box", "Three players scored at least 10 points.", "supported"),
        ("box", "Two players scored under 15 points.", "contradicted"),
        ("box", "Jon Falk scored between 32 and 40 points.", "contradicted"),
        ("hospitals", "One hospital has a single-digit number of beds.", "supported"),
        ("league", "One team was unbeaten.", "supported"),
        ("league", "No team was unbeaten.", "contradicted"),
        ("league", "No team was winless.", "contradicted"),
        ("league", "Two teams were unbeaten.", "contradicted"),
        ("league", "Two teams won more than four matches.", "supported"),
        ("league", "Three teams won more than four matches.", "contradicted"),
        ("hospitals", "Two hospitals are based in Oslo.", "supported"),
        ("hospitals", "Three hospitals are based in Oslo.", "contradicted"),
    ],
)
def test_a_condition_in_words_is_read(table: str, text: str, expected: str) -> None:
    assert expected in said(table, text)
    assert said(table, text) <= {"supported", expected}


@pytest.mark.parametrize(
    ("table", "text", "reason"),
    [
        ("hospitals", "Two hospitals have more than 100 beds.", "1 row where Beds: more than 100"),
        ("league", "Three teams won more than four matches.", "2 rows where Won: more than four"),
    ],
)
def test_the_reason_is_in_words(table: str, text: str, reason: str) -> None:
    (wrong,) = (v for v in verify_text(text, Source((TABLES[table],))).verdicts if v.wrong)
    assert wrong.reason == reason


def test_a_count_is_mended_only_where_its_noun_can_stay() -> None:
    source = Source((HOSPITALS,))
    text = "Two hospitals have more than 100 beds."
    assert mend_text(text, source).text == text  # and not "1 hospitals"
    mended = mend_text("Four hospitals have more than 40 beds.", source).text
    assert mended == "Three hospitals have more than 40 beds."
