"""Columns of two header levels, and rows named by ranges: which one cell a sentence means."""

from __future__ import annotations

import pytest

from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_text
from tablemend.mitigations.repair_text import repair_text
from tablemend.tables.table import Table

SIZES = Table.of(
    ["size", "2008", "", "2014", "", "change"],
    [
        [None, "number", "share", "number", "share", None],
        ["1 to 4", "662,589", "64.4", "707,075", "64.9", "6.7"],
        ["5 to 11", "183,979", "17.9", "187,773", "17.2", "2.1"],
        ["12 and above", "97,574", "9.5", "102,493", "9.4", "5.0"],
    ],
    "firms by size",
)
PLAYERS = Table.of(
    ["player", "rushing", "", "regular season", ""],
    [
        [None, "att", "yards", "w", "yards"],
        ["Ann Lee", "10", "55", "20", "210"],
        ["Bo Dahl", "12", "61", "22", "190"],
    ],
    "players",
)


@pytest.mark.parametrize(
    ("table", "said", "right"),
    [
        (SIZES, "The share (2014) of 5 to 11 stood at 11.5.", "17.2"),
        (SIZES, "The 2014 share of 5 to 11 was 11.5.", "17.2"),
        (SIZES, "The share in 2014 of 12 and above was 8.4.", "9.4"),
        (SIZES, "In 2014, the share of 12 and above was 8.4.", "9.4"),
        (SIZES, "The share of 12 and above was 8.4 in 2014.", "9.4"),
        (SIZES, "1 to 4 had a share of 62.4 in 2008.", "64.4"),
        (PLAYERS, "Ann Lee had 65 rushing yards.", "55"),
        (PLAYERS, "The yards (rushing) of Bo Dahl were 65.", "61"),
        (PLAYERS, "Bo Dahl had a w (regular season) of 62.", "22"),
        (PLAYERS, "Ann Lee had a yards (regular season) of 160.", "210"),
    ],
)
def test_a_column_of_two_levels_is_one(table: Table, said: str, right: str) -> None:
    source = Source((table,))
    mended = repair_text(said, source)
    assert [edit.new for edit in mended.edits] == [right], mended.text
    assert not any(verdict.wrong for verdict in verify_text(mended.text, source).verdicts)


def test_a_range_beside_a_table_without_it_names_nobody() -> None:
    source = Source((PLAYERS,))
    assert repair_text("Ann Lee needed 3 to 5 tries.", source).edits == ()


PANEL = Table.of(
    ["Test", "Result", "Reference", "Flag"],
    [
        ["Sodium", "142 mmol/L", "135-145", None],
        ["Chloride", "96 mmol/L", "98-107", "L"],
        ["Anion Gap", "22 mmol/L", "8-16", "H"],
        ["Calcium", "9.5 mg/dL", "8.6-10.3", None],
    ],
)
REACH = Table.of(
    ["", "population of vessa"],
    [["vessa", "35,700"], ["torra", "9,600"], ["k - post office box", "1,240"], ["lund", "810"]],
)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (PANEL, "The test also had a result of 22 mmol/L."),  # no "L" of Chloride
        (PANEL, "Anion Gap was flagged H. The test also had a result of 22 mmol/L."),
        (REACH, "Torra posted a population of Vessa of 9,600."),  # no post office, nor Vessa
        (REACH, "The population of Vessa was 35,700."),
    ],
)
def test_a_part_of_other_words_names_no_row(table: Table, said: str) -> None:
    source = Source((table,))
    assert repair_text(said, source).edits == ()
    assert not any(verdict.wrong for verdict in verify_text(said, source).verdicts)
