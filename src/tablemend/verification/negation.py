"""Denials: what "did not score 15 goals" says of the words behind it."""

from __future__ import annotations

import re
from dataclasses import replace

from tablemend.records import ClaimError
from tablemend.values.number_words import ONE_TO_TWELVE
from tablemend.values.sentences import Span
from tablemend.verification.findings import Finding
from tablemend.verification.linking import Linking

_AUXILIARY = r"(?:do|does|did|is|are|was|were|be|has|have|had|can|could|will|would|may|might)"
# "not only 12", "no more than 12" and "not until 2004" deny nothing that stands behind them
_DENIAL = re.compile(
    rf"(?:\b{_AUXILIARY}(?: not|n['\u2019]t)|\bcannot|\bnever|\bfail(?:ed|s|ing)? to"
    r"|\bwithout|\bneither|(?<=, )(?:and )?not)\b"
    r"(?! (?:only|just|merely|simply|solely|even|more|less|fewer|higher|lower|until|since|before"
    r"|unlike|again|yet|far|nearly)\b)"
)
# "failed to recoup its $80 million budget" denies no budget
_GIVEN = re.compile(r"\b(?:its|their|his|her|the|this|these)\s+$")
# "did not play for the Reds" denies the very thing that the row says of its name
_BELONGS = re.compile(
    r"\s*(?:play|played|drive|driven|ride|ridden|run|race|raced|work|worked|compete|competed|swim"
    r"|fight|row|skate)\s+(?:for|with)\s+(?:the\s+)?$"
)
# "not more than 70" denies a bound; "not more than Beta's 80" and "not 12 rather than 15" end there
_BOUND = rf" [$\u20ac\u00a3]?(?:\d|{ONE_TO_TWELVE})"
_BORDER = re.compile(
    r"[;:()]|,(?!\d)|\b(?:but|while|whereas|although|though|because|since|until|when|who|which|that"
    rf"|before|after|(?:(?<=rather )|(?<=other ))than|than(?!{_BOUND})"
    r"|and (?=\w+ed\b|had|has|was|were|is|are))\b"
)


def denied(linking: Linking, number: int) -> list[Span]:
    """What stands in the reach of a denial, to the end of its clause; none where a name denies.

    Args:
        linking: the text and its tables.
        number: index of the sentence.
    """
    plain = linking.reading.plain
    start, end = linking.reading.sentences[number]
    found = []
    named: list[tuple[int, int]] = []
    for links in linking.sentence_links[number].values():
        named += [(row.start, row.end) for row in links.rows]
        named += [(cell.start, cell.end) for cell in links.cells]
        named += [(column.start, column.end) for column in links.columns]
    for match in _DENIAL.finditer(plain, start, end):
        if any(first < match.end() and match.start() < last for first, last in named):
            continue  # "Never Let Me Go sold 12"
        border = _BORDER.search(plain, match.end(), end)
        found.append(Span(match.end(), border.start() if border else end))
    return found


def deny(findings: list[Finding], linking: Linking, number: int) -> list[Finding]:
    """Turn what was looked up behind a denial round.

    One number that was clear is now wrong where it was right, and right where it was wrong. Of
    several things nobody can say which one is denied: they are left open. A name that no table
    has stays one.

    Args:
        findings: of the sentence.
        linking: the text and its tables.
        number: index of the sentence.
    """
    for reach in denied(linking, number):
        inside = [
            f
            for f in findings
            if reach.start <= f.start < reach.end
            and not (
                f.kind != "name"
                and _GIVEN.search(linking.reading.plain, max(0, f.start - 8), f.start)
            )
            and not (f.kind == "name" and f.verdict == "not_in_source")
        ]
        stated = [f for f in inside if f.firm or f.verdict != "supported"]
        each = linking.reading.plain.endswith("neither", 0, reach.start)  # of two: who is meant?
        clear = not each and len(stated) == 1 and stated[0].firm and stated[0].kind == "number"
        belongs = [
            f
            for f in inside
            if f.firm
            and f.kind == "name"
            and f.verdict == "supported"
            and not each
            and _BELONGS.fullmatch(linking.reading.plain, reach.start, f.start)
        ]
        findings = [
            f
            if f not in inside
            else _turned(f)
            if (clear and f is stated[0]) or f in belongs
            else _left_open(f)
            for f in findings
        ]
    return findings


def _turned(finding: Finding) -> Finding:
    reason = f"{finding.reason}, and the text denies it"
    if finding.verdict == "supported":
        span = Span(finding.start, finding.end)
        error: ClaimError = "ATT" if finding.kind == "name" else "NUM"
        return replace(finding, verdict="contradicted", error=error, span=span, reason=reason)
    if finding.verdict == "contradicted":
        return replace(
            finding, verdict="supported", error=None, span=None, expected=(), reason=reason
        )
    return finding


def _left_open(finding: Finding) -> Finding:
    reason = "the text denies something of it"
    return replace(
        finding, verdict="unscored", error=None, span=None, expected=(), reason=reason, firm=False
    )
