"""Each labelled claim over a small table has its verdict.

``tests/data/claims.jsonl``, and for units, currencies, signs, bounds, scales and periods
``amounts_in_texts.jsonl``: there ``supported`` is that something is and nothing is contradicted,
``open`` that neither is. ``known_miss``: the label is true, and the verifier does not get there.
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
from tablemend.records import Verdict
from tablemend.tables.table import Table
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.program import verify_document

DATA = Path(__file__).parents[2] / "data"
WRONG = {"contradicted", "not_in_source"}
_MISS = "the verifier leaves it open or errs"
MISSED = pytest.mark.xfail(strict=True, raises=AssertionError, reason=_MISS)


def cases(name: str) -> Iterator[Any]:
    """Each claim of a file with its table. ``focus``: the words of the one claim that is meant."""
    for line in (DATA / name).read_text("utf-8").splitlines():
        record = json.loads(line)
        table = Table.of(record["columns"], record["rows"], record.get("title"))
        for claim in record["claims"]:
            marks = [MISSED] if claim.get("known_miss") else []
            yield pytest.param(table, claim, id=f"{claim['verdict']}: {claim['text']}", marks=marks)


def judge(table: Table, text: str, focus: str | None = None) -> list[Verdict]:
    verdicts = verify_document(extract_claims(text), Source((table,)))
    if focus is None:
        return list(verdicts)
    return [v for v in verdicts if v.claim.focus and text[slice(*v.claim.focus)] == focus]


@pytest.mark.parametrize(("table", "claim"), list(cases("claims.jsonl")))
def test_each_claim_is_scored_as_it_is_labelled(table: Table, claim: dict[str, Any]) -> None:
    verdicts = judge(table, claim["text"], claim.get("focus"))
    said = {one.verdict for one in verdicts}
    assert said
    if claim["verdict"] == "wrong":
        assert said & WRONG
        wrong = next(one for one in verdicts if one.wrong)
        if "expected" in claim:
            assert list(wrong.expected) == claim["expected"]
        if "error" in claim:
            faults = [claim["text"][slice(*span)] for span in wrong.spans]
            assert (wrong.error_type, faults) == (claim["error"], [claim["fault"]])
    elif claim["verdict"] == "not wrong":
        assert not said & WRONG
    elif claim["verdict"] == "not contradicted":
        assert "contradicted" not in said
    elif claim["verdict"] == "not supported":
        assert said != {"supported"}
    else:
        assert said == {claim["verdict"]}


@pytest.mark.parametrize(("table", "claim"), list(cases("amounts_in_texts.jsonl")))
def test_an_amount_is_judged_as_labelled(table: Table, claim: dict[str, Any]) -> None:
    verdicts = judge(table, claim["text"])
    said = {one.verdict for one in verdicts}
    found = next((one for one in ("contradicted", "supported") if one in said), "open")
    assert found == claim["verdict"], verdicts


def test_a_blank_cell_is_said_to_be_one() -> None:
    table = Table.of(["Team", "Points"], [["Reds", "50"], ["Blues", None]])
    (verdict,) = judge(table, "The Blues had 40 points.")
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
