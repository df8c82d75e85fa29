"""The claims of an answer table."""

from __future__ import annotations

from tablemend.tables.table import Table
from tablemend.verifier.extraction import answer_claims


def test_one_claim_a_filled_cell_and_one_a_row() -> None:
    table = Table.of(
        ("Company", "Revenue", "Founded"),
        [("Acme", "5", "4 May 1999"), ("Bolt", None, "N/A"), (None, "", None), (None, "7", None)],
    )
    document = answer_claims(table, "Which companies?")
    assert document.text == "" and document.table is table and document.query == "Which companies?"
    assert [(c.statement, c.kind, c.row, c.column) for c in document.claims] == [
        ("Acme is one of the rows.", "presence", 0, None),
        ("The Company is Acme.", "attribute", 0, "Company"),
        ("The Revenue of Acme is 5.", "numeric", 0, "Revenue"),
        ("The Founded of Acme is 4 May 1999.", "temporal", 0, "Founded"),
        ("Bolt is one of the rows.", "presence", 1, None),
        ("The Company is Bolt.", "attribute", 1, "Company"),
        ("There is a row number 4.", "presence", 3, None),
        ("The Revenue of row 4 is 7.", "numeric", 3, "Revenue"),
    ]
    assert all(c.text == c.statement and c.start is c.end is None for c in document.claims)


def test_a_table_without_rows_claims_nothing() -> None:
    assert answer_claims(Table.of(("A", "B"), [])).claims == ()
