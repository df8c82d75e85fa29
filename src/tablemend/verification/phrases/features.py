"""What things have or are, in cells of yes and no: "is not waterproof", "four have Wi-Fi"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.verification.findings import Finding
from tablemend.verification.phrases.shape import Shape

_COUNTED = re.compile(
    r"(?P<number>N\d+) (?:of (?:the|all) N\d+ )?(?:[RC]\d+|\w+)(?: (?:include|have|has|had|offer"
    r"|support|provide)s?(?: an?)?)? (?P<column>C\d+)"
)
_AT = re.compile(r"(?P<other>C\d+) (?:at|in|with|on|for) (?:the )?(?P<one>R\d+)(?=[.,]|$)")
_OFFERED = re.compile(
    r"(?P<other>[RC]\d+) (?P<word>(?:is|are|was|were)(?P<no> not|n't)? (?:included|available"
    r"|offered|provided|supported))(?P<lacks>) (?:at|in|with|on|for) (?:the )?(?P<one>[RC]\d+)"
)
_HAS = re.compile(
    r"(?P<one>[RC]\d+) (?P<word>(?:is|are|was|were|has|have|had|supports?|includes?|offers?"
    r"|comes? with)(?P<no> not| no|n't)?(?: a| an| the)?|(?P<lacks>lacks?|lacked))"
    r" (?P<other>[RC]\d+)"
)
_TRUTHS = {
    "yes": True,
    "true": True,
    "\u2713": True,
    "\u2714": True,
    "no": False,
    "false": False,
    "\u2717": False,
}


def judge_features(shape: Shape) -> Iterator[Finding]:
    """Findings on features: how many things have one, where it is, whether a thing has it."""
    yield from _counts(shape)
    yield from _offers(shape)
    yield from _features(shape)


def _counts(shape: Shape) -> Iterator[Finding]:
    """As "four of the rooms have a balcony"."""
    for match in _COUNTED.finditer(shape.text):
        part, columns = shape.part(match["number"]), shape.part(match["column"]).columns
        if part.amount is None or part.amount.hedge or len(columns or ()) != 1:
            continue
        column = next(iter(columns or ()))
        kept = [_TRUTHS.get(shape.grid.cell(row, column).casefold()) for row in shape.rows]
        if None in kept:
            continue
        count = sum(map(bool, kept))
        yield shape.finding(
            shape.span(*match.span("number")),
            part.amount.value == count,
            "NUM",
            f"{count} rows with {shape.grid.columns[column].header}",
            kind="number",
            expected=(str(count),),
        )


def _offers(shape: Shape) -> Iterator[Finding]:
    """As "where breakfast is included, at the Elm"."""
    for match in _AT.finditer(shape.text):
        said = shape.name(shape.part(match["other"])).casefold()
        if re.search(r"\b(?:is|are|was|were)\b(?! not)", said):
            part = shape.part(match["one"])
            columns = shape.part(match["other"]).columns or frozenset()
            cells = [(r, c) for r in part.rows or () for c in columns]
            told = _TRUTHS.get(shape.grid.cell(*cells[0]).casefold()) if len(cells) == 1 else None
            if told is not None:
                reason = shape.grid.evidence(*cells[0]).text
                for mark in ("one", "other"):
                    where = shape.span(*match.span(mark))
                    yield shape.finding(where, told, "ATT", reason)


def _features(shape: Shape) -> Iterator[Finding]:
    """As "the Elm has no lift", "a lift is offered at the Elm"."""
    for match in (*_HAS.finditer(shape.text), *_OFFERED.finditer(shape.text)):
        rows, columns = shape.meet([shape.part(match["one"]), shape.part(match["other"])])
        if len(rows) != 1 or len(columns) != 1:
            continue
        row, column = next(iter(rows)), next(iter(columns))
        told = _TRUTHS.get(shape.grid.cell(row, column).strip().casefold())
        if told is None:
            continue
        denied = bool(match["no"] or match["lacks"])
        reason = shape.grid.evidence(row, column).text
        for span in (shape.span(*match.span("word")), shape.span(*match.span("other"))):
            yield shape.finding(span, told != denied, "ATT", reason)
        one = shape.span(*match.span("one"))
        yield shape.finding(one, told != denied, "ATT", reason)
