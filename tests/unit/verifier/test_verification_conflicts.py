"""A table that contradicts itself supports nothing that it also denies."""

from __future__ import annotations

import pytest

from tablemend.evidence.source import Source
from tablemend.faithfulness.staf import verify_text
from tablemend.records import Verdict
from tablemend.tables.table import Table


def verdict(columns: str, *rows: str, text: str = "Alba won 41 points.") -> Verdict:
    table = Table.of(columns.split(), [row.split() for row in rows])
    (found,) = verify_text(text, Source((table,))).verdicts
    return found


def test_a_value_that_another_row_of_the_name_denies_is_unscored() -> None:
    assert verdict("Team Points", "Alba 41", "Sella 37", "Alba 52").verdict == "unscored"


@pytest.mark.parametrize(
    "table",
    [
        ("Team Points", "Alba 41", "Sella 52"),
        ("Team Points", "Alba 41", "Alba 41.0"),
        ("Team Points City", "Alba 41 Oslo", "Sella 52 Oslo"),
        ("Game Team Points", "1 Alba 41", "2 Sella 41"),
    ],
)
def test_rows_that_agree_or_differ_in_name_do_not_conflict(table: tuple[str, ...]) -> None:
    assert verdict(*table).verdict == "supported"


def test_what_neither_row_says_is_contradicted_but_not_mended() -> None:
    found = verdict("Team Points", "Alba 41", "Alba 52", text="Alba won 60 points.")
    assert found.verdict in ("contradicted", "unscored") and found.expected != ("41",)
