"""Each labelled claim over a small table (``tests/data/claims.jsonl``) has its verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablemend.evidence.source import Source
from tablemend.records import Verdict
from tablemend.tables.table import Table
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.program import verify_document

FILE = Path(__file__).parents[2] / "data" / "claims.jsonl"
WRONG = {"contradicted", "not_in_source"}
_MISS = "the verifier leaves it open or errs"
MISSED = pytest.mark.xfail(strict=True, raises=AssertionError, reason=_MISS)


def cases() -> Iterator[Any]:
    """Each claim with its table. ``focus``: the words of the one claim that is meant.

    ``known_miss``: the label is true, and the verifier does not get there.
    """
    for line in FILE.read_text().splitlines():
        record = json.loads(line)
        table = Table.of(record["columns"], record["rows"], record.get("title"))
        for claim in record["claims"]:
            name = f"{claim['verdict']}: {claim['text'][:60]}"
            marks = [MISSED] if claim.get("known_miss") else []
            yield pytest.param(table, claim, id=name, marks=marks)


def judge(table: Table, text: str, focus: str | None = None) -> list[Verdict]:
    verdicts = verify_document(extract_claims(text), Source((table,)))
    if focus is None:
        return list(verdicts)
    return [v for v in verdicts if v.claim.focus and text[slice(*v.claim.focus)] == focus]


@pytest.mark.parametrize(("table", "claim"), list(cases()))
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
