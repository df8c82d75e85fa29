"""Values against the reference ranges and flags of their rows: "low", "within normal limits"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Literal

from tablemend.records import Evidence
from tablemend.values.numbers import parse_number
from tablemend.values.sentences import Span
from tablemend.verification.findings import Finding
from tablemend.verification.lexicon import header_terms, terms
from tablemend.verification.negation import denial
from tablemend.verification.phrases.shape import Shape

Side = Literal["low", "high", "normal"]

_RANGE = (
    r"(?:the |its |their |of |normal |reference )*"
    r"(?:C\d+|(?:normal|reference|ref\w*) (?:range|interval|limits?|values?))"
)
_LINK = (
    r"(?:was|were|is|are|be|remain\w*|flagged(?: as)?|came back|tested|appear\w*|measured|came out)"
    r" (?:\w+ly |also |still |too |a bit |a little )?"
)
_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "low",
        re.compile(
            rf"\b(?:below|under)(?= {_RANGE})|\b{_LINK}(?P<word>low|decreased|reduced|depressed)"
            r"\b(?! (?:than|by|from|as))"
        ),
    ),
    (
        "high",
        re.compile(
            rf"\b(?:above|over|exceed\w*)(?= {_RANGE})"
            rf"|\b{_LINK}(?P<word>high|elevated|increased|raised)\b(?! (?:than|by|from|as))"
        ),
    ),
    (
        "normal",
        re.compile(
            rf"\b(?:within|inside|in)(?= {_RANGE})|\b{_LINK}(?P<word>normal|unremarkable)\b"
        ),
    ),
    (
        "abnormal",
        re.compile(rf"\b(?:outside|out of)(?= {_RANGE})|\b{_LINK}(?P<word>abnormal)\b"),
    ),
)
_CARRIED = re.compile(r"(?:it|this|that|which|the (?:value|result|level|test|measurement))\b")
_DENIED = denial("none", "all", "every", "each", "both", "only")
_COUNTED = re.compile(
    r"(?:^| and )(?:just |exactly )?(?P<number>N\d+)(?: of (?:the |all )?N\d+)?(?: (?:\w+|C\d+))?"
    r" ?(?:were|was|are|is|fell|lay)? ?$"
)
_CALLED = tuple(frozenset(terms(word)) for word in ("range", "interval", "limits"))
_REFERRED = frozenset(t for word in ("reference", "normal", "ref") for t in terms(word))
_STATE = re.compile(
    r"\b(?:low|lower|high|higher|elevated|raised|reduced|decreased|increased|depressed|normal|abnormal"
    r"|unremarkable|above|below|over|under|within|inside|outside|out of|exceed\w*)\b"
)
_BOUNDS = re.compile(r"^\s*([\d.,]+)\s*(?:-|\u2013|to)\s*([\d.,]+)")
_BELOW = re.compile(r"^\s*(?:<=?|\u2264|up to|less than)\s*([\d.,]+)")
_ABOVE = re.compile(r"^\s*(?:>=?|\u2265|at least|more than)\s*([\d.,]+)")


def judge_ranges(shape: Shape) -> Iterator[Finding]:
    """Findings on what is called low, high or normal, in a table with ranges of reference."""
    column = _range_column(shape)
    if column is None:
        return
    for said, pattern in _WORDS:
        for match in pattern.finditer(shape.text):
            before = shape.text[: match.start()]
            clause = re.split(r"[;,] (?:and|but|while) |;| while | but ", before)[-1]
            if _DENIED.search(clause) or _DENIED.search(match[0]):
                continue
            if counted := _COUNTED.search(before):
                yield from _count(shape, counted, match, said, column)
                continue
            row = _row(shape, match.start())
            if row is None:
                continue
            own = _side(shape, row, column, _told_columns(shape, row))
            if own is None:
                continue
            truth = own != "normal" if said == "abnormal" else own == said
            group = "word" if match["word"] else 0
            span = shape.span(*match.span(group))
            name = next(line.name for line in shape.grid.lines if line.index == row)
            reason = f"{name} is {own}: reference {shape.grid.cell(row, column)}"
            yield Finding(
                span.start,
                span.end,
                "name",
                "supported" if truth else "contradicted",
                None if truth else "CMP",
                (Evidence(reason, shape.grid.number), shape.grid.evidence(row, column)),
                reason,
                None if truth else span,
                firm=True,
            )


def _count(
    shape: Shape, counted: re.Match[str], match: re.Match[str], said: str, column: int
) -> Iterator[Finding]:
    """As "three of the five tests were abnormal": so many rows are on that side."""
    amount = shape.part(counted["number"]).amount
    sides = [_side(shape, row, column) for row in sorted(shape.rows)]
    if amount is None or amount.hedge or amount.number.decimals or None in sides:
        return
    count = sum(side != "normal" if said == "abnormal" else side == said for side in sides)
    truth = amount.value == count
    where = Span(amount.start, amount.digits_end)
    expected = (str(count),)
    reason = f"{said}: {count} of {len(sides)}"
    yield shape.finding(where, truth, "NUM", reason, kind="number", expected=expected)
    if truth:
        yield shape.finding(shape.span(*match.span()), True, "CMP", reason)


def _range_column(shape: Shape) -> int | None:
    """The column of reference ranges."""
    for column in shape.grid.columns:
        said = frozenset(header_terms(column.header))
        if said & _REFERRED and any(called <= said for called in _CALLED):
            return column.index
    return None


def _row(shape: Shape, end: int) -> int | None:
    """The row that a phrase is said of: the nearest name before it, or the carried subject."""
    for part in reversed(shape.parts_in(0, end)):
        if part.mark == "R":
            return next(iter(part.rows or ())) if len(part.rows or ()) == 1 else None
    after = [part for part in shape.parts_in(end, len(shape.text)) if part.mark == "R"]
    if after:
        rows = after[0].rows or frozenset()
        return next(iter(rows)) if len(rows) == 1 and len(after) == 1 else None
    subject = shape.links.subject
    if not _CARRIED.match(shape.text):
        return None
    return subject[0] if len(subject) == 1 else None


def _told_columns(shape: Shape, row: int) -> frozenset[int]:
    """The columns that a sentence with one word of state names, or whose value it states.

    "Normal at 1.4 on day 3" in a table of several days; empty where it tells of several states.
    """
    if len(_STATE.findall(shape.text)) != 1:
        return frozenset()
    named = [p.columns for p in shape.parts if p.mark in "CP" and p.columns]
    columns = frozenset[int]().union(*named) & shape.numeric
    if columns:
        return columns
    amounts = [part.amount for part in shape.parts if part.amount is not None]
    return frozenset(
        index
        for index in shape.numeric
        if (cell := shape.cell(row, index)) is not None
        and any(shape.agreement(amount, cell.value, cell) == "same" for amount in amounts)
    )


def _side(shape: Shape, row: int, column: int, told: frozenset[int] = frozenset()) -> Side | None:
    """On which side of its range the value of a row lies; ``None`` where either is not read."""
    values = [
        number.value
        for index in sorted((told or shape.numeric) - {column})
        if not frozenset(header_terms(shape.grid.columns[index].header)) & _REFERRED
        and (number := shape.grounder.number(shape.grid.number, row, index)) is not None
    ]
    if len(values) != 1:
        return None
    value, text = values[0], shape.grid.cell(row, column)
    low: Decimal | None = None
    high: Decimal | None = None
    if match := _BOUNDS.match(text):
        low, high = _number(match[1]), _number(match[2])
    elif match := _BELOW.match(text):
        high = _number(match[1])
    elif match := _ABOVE.match(text):
        low = _number(match[1])
    else:
        return None
    if low is not None and value < low:
        return "low"
    return "high" if high is not None and value > high else "normal"


def _number(text: str) -> Decimal | None:
    number = parse_number(text.rstrip("."))
    return number.value if number else None
