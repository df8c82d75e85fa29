"""Statements about a table, scored."""

from __future__ import annotations

from tablemend.evidence.source import Source
from tablemend.records import Verdict
from tablemend.tables.table import Table
from tablemend.verifier.extraction import extract_claims
from tablemend.verifier.program import verify_document

PLAYERS = Table.of(
    ["Player", "Country", "Position", "Goals", "Assists", "Born"],
    [
        ["Anna Berg", "Sweden", "forward", "12", "4", "1990"],
        ["Maria Costa", "Spain", "forward", "15", "7", "1994"],
        ["Lucia Vega", "Spain", "midfielder", "6", "11", "1988"],
        ["Eva Novak", "Croatia", "defender", "2", "3", "1996"],
        ["Carla Ruiz", "Spain", "goalkeeper", "0", "1", "1992"],
        ["Ida Holm", "Sweden", "defender", "1", "2", "1999"],
        ["Total", None, None, "36", "28", None],
    ],
    "Squad",
)
SEASON = Table.of(
    ["Week", "Date", "Opponent", "Result", "Attendance"],
    [
        ["1", "September 7, 2003", "Dolphins", "W 21-20", "73,010"],
        ["2", "September 14, 2003", "Saints", "L 10-31", "68,390"],
        ["3", "October 5, 2003", "Chiefs", "L 14-42", "70,487"],
        ["4", "October 12, 2003", "Jaguars", "W 24-20", "70,041"],
        ["5", "November 2, 2003", "Titans", "W 38-17", "68,809"],
    ],
    "Games",
)
QUARTERS = Table.of(
    ["Metric", "Q1 2023", "Q2 2023", "Q3 2023", "Q4 2023"],
    [
        ["Revenue", "$200 million", "$220 million", "$242 million", "$230 million"],
        ["Net income", "$20 million", "$25 million", "$21 million", "$27 million"],
    ],
    "Results",
)


def verdicts(table: Table, text: str) -> tuple[Verdict, ...]:
    """The verdicts on the claims of a text."""
    return verify_document(extract_claims(text), Source((table,)))


def verdict(table: Table, text: str) -> str:
    """The worst verdict on a text; what is left open does not count where anything is not."""
    said = {one.verdict for one in verdicts(table, text)}
    return next((name for name in ("contradicted", "supported") if name in said), "unscored")


def fault(table: Table, text: str) -> tuple[str, tuple[str, ...]]:
    """The words at fault and what belongs there, of a contradicted text."""
    wrong = next(one for one in verdicts(table, text) if one.wrong)
    (span,) = wrong.spans
    return text[span.start : span.end], wrong.expected
