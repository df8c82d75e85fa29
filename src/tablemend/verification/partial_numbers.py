"""Numbers that are no value of a whole: shares of a count, what is counted over."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tablemend.evidence.grid import Grid
from tablemend.values.number_words import ONE_TO_TEN
from tablemend.verification.findings import Finding

_NUMBER = rf"(?:an?|{ONE_TO_TEN}|zero|no|\d[\d,.]*)(?: [a-z-]+){{0,2}}?"
# "scored three goals, two from Sella", "with a goal in the 12th minute", "0 in the second period"
_SHARE = re.compile(
    rf"{_NUMBER} (?:(?:coming |came )?from (?=[A-Z])|of (?:which|whom|them)\b|by (?=[A-Z])"
    r"|(?:in|at|during|on) (?:the )?\d+(?:\+\d+)?(?:st|nd|rd|th|')"
    r"|in (?:stoppage|injury|added|extra)[ -]time)"
)
# "0 in the second": a share of all goals, where the table has no column for the part
_IN_PART = re.compile(
    rf"{_NUMBER} in the (?:first|second|third|opening|final)(?: (?:period|half))?(?=[,.;]| and\b)"
)
_PARTED = re.compile(r"\b(?:half|halves|periods?|quarters?|sets?|innings?|[hqp][1-4]|\d)\b", re.I)
# "a 7-day average", "per 1,000 people"
_BASE = re.compile(
    r"\d+-(?:day|week|month|year|hour|minute)s?\b|\d[\d,]* (?:people|inhabitants|residents)\b"
)


def is_partial(text: str, start: int, *, in_part: bool = True) -> bool:
    """Whether the number at a place is a share of a whole, or what a value is counted over.

    Args:
        text: the text.
        start: where the number begins.
        in_part: whether what is said of a part of a match is a share too; not where the number
            was compared with the column of that part.
    """
    if _SHARE.match(text, start) or (in_part and _IN_PART.match(text, start)):
        return True
    return _BASE.match(text, start) is not None and (
        "-" in text[start : start + 8] or text[max(0, start - 4) : start].lower() == "per "
    )


def withhold(findings: list[Finding], text: str, grids: Sequence[Grid]) -> list[Finding]:
    """Take back what was called wrong of numbers that were compared with a whole.

    Args:
        findings: of a sentence.
        text: the text.
        grids: the tables; one whose headers name parts of a match may have been asked for one.
    """

    def parted(finding: Finding) -> bool:
        numbers = {evidence.table for evidence in finding.evidence}
        return any(
            _PARTED.search(column.header)
            for grid in grids
            if grid.number in numbers
            for column in grid.columns
        )

    return [
        replace(
            finding,
            verdict="unscored",
            error=None,
            span=None,
            expected=(),
            reason="the number is a part of what the table counts",
        )
        if finding.kind == "number"
        and finding.verdict == "contradicted"
        and is_partial(text, finding.start, in_part=not parted(finding))
        else finding
        for finding in findings
    ]
