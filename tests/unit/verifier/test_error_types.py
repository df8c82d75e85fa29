"""The type of an error where only a model says that a claim is wrong."""

from __future__ import annotations

import pytest

from tablemend.evidence.source import Source
from tablemend.records import Claim
from tablemend.tables.table import Table
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.verifiers import name_error

TABLE = Table.of(
    ("Company", "Revenue", "Employees", "Founded"),
    [
        ("Acme", "512", "40", "1991"),
        ("Bolt", "734", "77", "2004"),
        ("Cora", "96", "12", "2013"),
    ],
)


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("The revenue of Acme was 598.", "NUM"),
        ("The revenue of Acme was 734.", "REL"),
        ("The revenue of Acme was 40.", "NUM"),
        ("Cora had the highest revenue.", "CMP"),
        ("Acme had a higher revenue than Bolt.", "CMP"),
        ("Acme was founded in 1987.", "TMP"),
    ],
)
def test_plain_cases(text: str, type: str) -> None:
    claim = extract_claims(text).claims[0]
    assert name_error(claim, Source((TABLE,))) == type


def test_a_row_that_does_not_belong_is_relational_and_without_tables_the_kind_decides() -> None:
    claim = Claim("Acme is one of the rows.", None, None, "presence", "Acme is one of the rows.")
    assert name_error(claim, Source((TABLE,))) == "REL"
    numeric = extract_claims("The revenue of Acme was 598.").claims[0]
    assert name_error(numeric, Source(text="Acme earned 512.")) == "NUM"
    assert name_error(Claim("", None, None, "attribute", ""), Source((TABLE,))) == "ATT"
