"""Each pair of ``tests/data/cell_pairs.jsonl`` is the same to the detector, or is not, as labelled.

A record: the column's header, gold's cell, the answer's, ``same``, and ``why`` (the class of the
pair). ``key``: the cells name their rows. ``known_miss``: the label is true, and the detector
does not get there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tablemend.detector.algorithm import detect_errors
from tablemend.tables.table import Table

FILE = Path(__file__).parents[2] / "data" / "cell_pairs.jsonl"
PAIRS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
MISSED = pytest.mark.xfail(strict=True, reason="the detector errs")


def table(pair: dict[str, Any], cell: str | None) -> Table:
    """A row that the cell names, or a named row with the cell in it."""
    if "key" in pair:
        return Table.of([pair["header"], "Count"], [[cell, "7"]])
    return Table.of(["Entity", pair["header"]], [["Norvik", cell]])


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(
            pair,
            id=f"{pair['why']}: {pair['gold']} ~ {pair['answer']}",
            marks=[MISSED] if "known_miss" in pair else [],
        )
        for pair in PAIRS
    ],
)
def test_a_pair_is_as_labelled(pair: dict[str, Any]) -> None:
    judgement = detect_errors(table(pair, pair["answer"]), table(pair, pair["gold"]), "")
    assert judgement.hallucinated != pair["same"]


def test_there_are_enough_pairs_of_both_labels() -> None:
    assert len(PAIRS) >= 400
    assert 150 <= sum(pair["same"] for pair in PAIRS) <= len(PAIRS) - 150
