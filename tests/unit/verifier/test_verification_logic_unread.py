"""What no reading explains is no condition, and a number of other things is no count of rows."""

from __future__ import annotations

import pytest

from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_text
from tablemend.mitigations.mend import mend_text
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
LEAGUE = Table.of(
    ["Pos", "Team", "Played", "Won", "Drawn", "Lost", "Points"],
    [
        ["1", "Ambleford", "10", "8", "2", "0", "26"],
        ["2", "Brackwell", "10", "5", "2", "3", "17"],
        ["3", "Cotterham", "10", "3", "1", "6", "10"],
        ["4", "Dunsley", "10", "0", "3", "7", "3"],
    ],
)
TABLES = {"hospitals": HOSPITALS, "league": LEAGUE}


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
