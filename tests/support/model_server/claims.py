"""Claims by program: the facts of a summary, and a verdict on one by the evidence shown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from random import Random

from tablemend.evidence.files import read_source
from tablemend.evidence.source import Source
from tablemend.records import Verification
from tablemend.tables.table import Cell, Table
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.llm import NO_CLAIM
from tablemend.verifier.program import VERSION, verify_document
from tablemend.verifier.verifiers import CELLS

_CELL = re.compile(r'Row "(.*?)", Column "(.*?)": (.*?)(?=\. Row "|\.?$)')
_PART = re.compile(
    r'^(\d+)\. (?:the whole statement|"(.*)"(?: \(number \d+\))?|(.*))$', re.MULTILINE
)
ROW = "Row"
"""What the column of the row headers is called in the table that is made of single cells."""


def extract(slots: Mapping[str, str], mistake: str | None, rng: Random) -> str:
    """The claims of a summary, one a line."""
    claims = [claim.statement for claim in extract_claims(slots["summary"]).claims]
    return "\n".join(" ".join(claim.split()) for claim in claims) or NO_CLAIM


def verify(slots: Mapping[str, str], mistake: str | None, rng: Random) -> str:
    """The program's verdict on each part; what it cannot decide is not in the evidence."""
    evidence, found = read_evidence(slots["evidence"]), {}
    for number, quoted, clause in _PART.findall(slots["parts"]):
        statement = clause or slots["statement"]
        verdicts = verify_document(extract_claims(statement), evidence)
        asked = [one for one in verdicts if quoted and quoted in one.claim.text] or verdicts
        verdict: str = Verification(tuple(asked), VERSION).verdict
        reasons = [one.reason for one in asked if one.verdict == verdict and one.reason]
        reason = reasons[0] if reasons else "The evidence says so."
        if verdict == "unscored":
            verdict, reason = "not_in_source", "The evidence does not tell."
        found[number] = {"reason": reason, "verdict": verdict}
    return json.dumps(found)


def write_tests(slots: Mapping[str, str], mistake: str | None, rng: Random) -> str:
    """A look-up for each part: its words, in a row that the statement names; else all rows."""
    _, *lines = slots["table"].splitlines()
    header, *rows = (line.strip("| ").split(" | ") for line in lines if line.startswith("|"))
    named = [row for row in rows if row[0] in slots["statement"]] or rows
    lines = []
    for number, quoted, _ in _PART.findall(slots["parts"]):
        places = [(row[0], header[n]) for row in named for n, c in enumerate(row) if c == quoted]
        name, column = (places or [(named[0][0], header[-1])])[0]
        test = f'value("{column}", row["{header[0]}"] == "{name}") == "{quoted}"'
        lines.append(f"{number}: {test if quoted else f'count() == {len(rows)}'}")
    return "\n".join(lines)


def read_evidence(shown: str) -> Source:
    """A whole table; else its cells, with a column for the row headers; and sentences."""
    if shown.startswith("|"):
        return read_source(shown, "markdown")
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
