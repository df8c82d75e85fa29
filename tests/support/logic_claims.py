"""One sentence scored against one table by logic alone."""

from __future__ import annotations

from collections.abc import Sequence

from tablemend.evidence.source import Source
from tablemend.records import Claim, ClaimKind, Verdict
from tablemend.tables.table import Table
from tablemend.values.sentences import Span
from tablemend.verifier.linking import Linking
from tablemend.verifier.logic.families import verify_logic
from tablemend.verifier.reading import Reading

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


def judge(
    table: Table,
    text: str,
    focus: str = "",
    kind: ClaimKind = "comparative",
    tables: Sequence[Table] = (),
) -> Verdict | None:
    """The verdict on a text that is one sentence and one claim."""
    at = text.index(focus) if focus else 0
    span = Span(at, at + len(focus)) if focus else None
    claim = Claim(text, 0, len(text), kind, text, span, Span(0, len(text)))
    linking = Linking(Reading(text), Source((table, *tables)))
    return verify_logic(claim, linking, 0)


def verdict(table: Table, text: str, focus: str = "") -> str:
    """The verdict's name; ``none`` where the claim is of no logical sort."""
    scored = judge(table, text, focus)
    return scored.verdict if scored else "none"


def fault(table: Table, text: str) -> tuple[str, tuple[str, ...]]:
    """The words at fault and what belongs there, of a contradicted text."""
    scored = judge(table, text)
    assert scored is not None and scored.verdict == "contradicted", scored
    (span,) = scored.spans
    return text[span.start : span.end], scored.expected
