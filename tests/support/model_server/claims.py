"""Claims by program: the facts of a summary, and a verdict on one by the evidence shown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from random import Random

from tablemend.claims.extract import extract_claims
from tablemend.evidence.source import Source
from tablemend.faithfulness.premise import CELLS
from tablemend.faithfulness.prompting import NO_CLAIM
from tablemend.records import Verification
from tablemend.tables.table import Cell, Table
from tablemend.verification.program import VERSION, verify_document

EXTRACT_MISTAKES = ("lost-claim", "changed-claim", "added-claim")
VERIFY_MISTAKES = ("wrong-verdict", "one-word", "no-verdict")
OPPOSITE = {
    "supported": "contradicted",
    "contradicted": "supported",
    "not_in_source": "supported",
}
_CELL = re.compile(r'Row "(.*?)", Column "(.*?)": (.*?)(?=\. Row "|\.?$)')
_DIGIT = re.compile(r"\d")
ROW = "Row"
"""What the column of the row headers is called in the table that is made of single cells."""


def extract(slots: Mapping[str, str], mistake: str | None, rng: Random) -> tuple[str, bool]:
    """The claims of a summary, one a line; whether they have the mistake."""
    claims = [claim.statement for claim in extract_claims(slots["summary"]).claims]
    claims = [" ".join(claim.split()) for claim in claims]
    made = False
    numbered = [place for place, claim in enumerate(claims) if _DIGIT.search(claim)]
    if mistake == "lost-claim" and claims:
        del claims[rng.randrange(len(claims))]
        made = True
    elif mistake == "changed-claim" and numbered:
        place = rng.choice(numbered)
        claims[place] = _DIGIT.sub(lambda digit: str(9 - int(digit[0])), claims[place])
        made = True
    elif mistake == "added-claim":
        claims.append("The whole thing began in 1066 with 77 horses.")
        made = True
    return "\n".join(claims) or NO_CLAIM, made


def verify(slots: Mapping[str, str], mistake: str | None, rng: Random) -> tuple[str, bool]:
    """A verdict on a statement by its evidence; whether it has the mistake."""
    verdict, reason = judge(slots["statement"], read_evidence(slots["evidence"]))
    if mistake == "one-word":
        return f"{verdict.replace('_', ' ').capitalize()}.", True
    if mistake == "no-verdict":
        return "Hard to say: it may well be so.", True
    if mistake == "wrong-verdict":
        verdict, reason = OPPOSITE[verdict], "It looks so."
    return json.dumps({"reason": reason, "verdict": verdict}), mistake == "wrong-verdict"


def judge(statement: str, source: Source) -> tuple[str, str]:
    """Verdict and reason of the program; what it cannot judge is not in the evidence."""
    verdicts = verify_document(extract_claims(statement), source)
    found = Verification(verdicts, VERSION).verdict
    reasons = [one.reason for one in verdicts if one.verdict == found and one.reason]
    if found == "unscored":
        return "not_in_source", "The evidence does not tell."
    return found, reasons[0] if reasons else "The evidence says so."


def read_evidence(shown: str) -> Source:
    """Cells as a small table, with a column for the row headers, and sentences as a text."""
    lines = shown.split("\n")
    cells: dict[str, dict[str, str]] = {}
    columns: dict[str, None] = {}
    if lines[0].startswith(CELLS):
        for row, column, value in _CELL.findall(lines.pop(0)):
            cells.setdefault(row, {})[column] = value
            columns[column] = None
    names = [column for column in columns if column != ROW]
    rows: list[list[Cell]] = [
        [row, *(own.get(column) for column in names)] for row, own in cells.items()
    ]
    tables = (Table.of([ROW, *names], rows),) if rows else ()
    return Source(tables, "\n".join(lines))
