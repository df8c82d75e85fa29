"""Units, currencies, signs, bounds, scales and periods in texts, as labelled.

``tests/data/amounts_in_texts.jsonl``: ``supported``: something is and nothing is contradicted;
``open``: nothing is supported or contradicted. ``known_miss``: the label is true, and the verifier
does not get there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablemend.evidence.source import Source
from tablemend.mitigations.edits import Draft
from tablemend.mitigations.mend import mend
from tablemend.tables.table import Table
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.program import verify_document

FILE = Path(__file__).parents[2] / "data" / "amounts_in_texts.jsonl"
MISSED = pytest.mark.xfail(strict=True, raises=AssertionError, reason="the verifier errs")


def cases() -> Iterator[Any]:
    for line in FILE.read_text("utf-8").splitlines():
        record = json.loads(line)
        table = Table.of(record["columns"], record["rows"])
        for claim in record["claims"]:
            marks = [MISSED] if "known_miss" in claim else []
            yield pytest.param(table, claim, id=claim["text"], marks=marks)


@pytest.mark.parametrize(("table", "claim"), list(cases()))
def test_an_amount_is_judged_as_labelled(table: Table, claim: dict[str, Any]) -> None:
    verdicts = verify_document(extract_claims(claim["text"]), Source((table,)))
    said = {one.verdict for one in verdicts}
    found = next((one for one in ("contradicted", "supported") if one in said), "open")
    assert found == claim["verdict"], verdicts


def test_a_blank_cell_is_said_to_be_one() -> None:
    table = Table.of(["Team", "Points"], [["Reds", "50"], ["Blues", None]])
    (verdict,) = verify_document(extract_claims("The Blues had 40 points."), Source((table,)))
    assert (verdict.verdict, verdict.reason) == ("unscored", "the table gives no value")


@pytest.mark.parametrize(
    ("text", "said", "share"),
    [
        ("Nausea occurred in 24% of patients on drug A.", "24%", "24%"),
        ("Nausea occurred in 34% of patients on drug A.", "34%", "24%"),
        ("Nausea occurred in 46% of patients on drug B.", "46%", "36%"),
        ("Drug A was given to 14.0% of patients.", "14.0%", "24%"),
    ],
)
def test_a_share_is_not_mended_to_a_count(text: str, said: str, share: str) -> None:
    rows = [["A", "12 (24.0)", "0.03"], ["B", "18 (36.0)", "0.20"]]
    source = Source((Table.of(["Drug", "Patients n (%)", "p-value"], rows),))
    (mended,) = mend([Draft(text, source)])
    assert mended.text in (text, text.replace(said, share))
