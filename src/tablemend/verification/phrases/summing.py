"""Sums and equal values: "across both games", "for the four quarters", "tied with 14 each"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.values.numbers import plain_digits
from tablemend.verification.findings import Finding
from tablemend.verification.phrases.comparing import clauses
from tablemend.verification.phrases.shape import Part, Shape

_PERIOD = r"(?:games|years|seasons|quarters|months|days|weeks|editions|periods)"
_ACROSS = re.compile(
    rf"\b(?:across|over|for|in|during) (?:(?:the|all|both)(?: of)?(?: the)? )+"
    rf"(?:(?P<number>N\d+) )?(?P<noun>{_PERIOD}|[RC]\d+)\b"
)
_TOTAL = re.compile(
    r"\b(?:total(?:l?ed|s)?|combined|cumulative(?:ly)?|altogether|in all|overall)\b"
)
_AVERAGE = re.compile(r"\b(?:average[ds]?|mean|per|each|every|most|highest|lowest|only|no|not)\b")
_TIED = re.compile(r"\b(?P<word>tied|were level|drew level|shared (?:the )?(?:lead|top spot))\b")
_EACH = re.compile(r"\b(?P<number>N\d+)(?: [RC]\d+)?(?: \w+)? (?P<word>each|apiece)\b")


def judge_sums(shape: Shape) -> Iterator[Finding]:
    """Findings on what is summed over the periods of a table."""
    text = shape.text
    for match in _ACROSS.finditer(text):
        parts = shape.parts
        if any(part.mark == "P" for part in parts) or _AVERAGE.search(text):
            continue
        named = [
            p for p in parts if p.mark in "RC" and f"{p.mark}{parts.index(p)}" != match["noun"]
        ]
        periods = _periods(shape, named)
        if periods < 2:
            continue
        said = shape.part(match["number"]).amount if match["number"] else None
        if match["number"] and said is not None:
            span = shape.span(*match.span("number"))
            right = str(periods)
            yield shape.finding(
                span,
                said.value == periods,
                "NUM",
                f"{periods} of them",
                kind="number",
                expected=(right,),
            )
        if match["noun"][0] in "RC" and not _TOTAL.search(text):
            continue
        told = [p for p in parts if p.mark == "N" and p.amount is not None and p.amount is not said]
        cells = shape.numbers(named)
        if len(told) != 1 or len(cells) != periods or len({cell.unit for cell in cells}) != 1:
            continue
        amount = told[0].amount
        assert amount is not None
        total = sum(cell.value for cell in cells) + 0 * cells[0].value
        agreement = shape.agreement(amount, total, cells[0])
        if agreement in ("same", "different"):
            right = plain_digits(total)
            finding = shape.finding(
                shape.span(*_place(shape, told[0])),
                agreement == "same",
                "NUM",
                f"the sum is {right}",
                cells,
                kind="number",
                expected=(right,),
            )
            yield finding


_OF_ALL = re.compile(r"\bof (?:the|all) (?P<number>N\d+)(?: (?P<noun>C\d+)|(?= ?(?:$|[.,;])))")


def judge_counts(shape: Shape) -> Iterator[Finding]:
    """Findings on how many rows have a name: "Eva Lind directed two of the four films"."""
    text = shape.text
    rows = str(len(shape.rows))
    for match in _OF_ALL.finditer(text):
        amount = shape.part(match["number"]).amount
        if match["noun"] and shape.part(match["noun"]).columns != frozenset({shape.grid.key}):
            continue
        if amount is not None and not amount.hedge and str(amount.value) == rows:
            where = shape.span(*match.span("number"))
            yield shape.finding(where, True, "NUM", f"{rows} rows", kind="number")
    for match in re.finditer(r"([RV]\d+) (C\d+) (?:only |just )?(N\d+)\b(?! times)", text):
        name, column, part = (shape.part(mark) for mark in match.groups())
        places = {place for place in name.places if place[0] in shape.rows}
        amount = part.amount
        if amount is None or amount.hedge or amount.number.decimals or not places:
            continue
        columns = frozenset(c for _, c in places)
        if column.columns != columns or columns <= shape.numeric:
            continue
        truth = amount.value == len(places)
        yield shape.finding(
            shape.span(*match.span(3)),
            truth,
            "NUM",
            f"{len(places)} rows with {shape.name(name)}",
            kind="number",
            expected=(str(len(places)),),
        )


def _periods(shape: Shape, named: list[Part]) -> int:
    """How many periods the table has: its columns, or those of the one row name."""
    grid = shape.grid
    if grid.transposed:
        dated = {column for number, column in _headed(shape) if number == grid.number}
        rows = [part for part in named if part.by_row and len(part.rows or ()) == 1]
        return len(dated & shape.numeric) if len(rows) == 1 == len(named) else 0
    measured = [part for part in named if part.by_column and len(part.columns or ()) == 1]
    rows = [part for part in named if part.by_row]
    dated_columns = [c.index for c in grid.columns if c.kind == "date" and c.index != grid.key]
    if len(measured) != 1 or len(rows) != 1 or len(dated_columns) != 1:
        return 0
    own = rows[0].rows or frozenset()
    return len({grid.cell(row, dated_columns[0]) for row in own}) if len(own) > 1 else 0


def _headed(shape: Shape) -> set[tuple[int, int]]:
    return {place for places in shape.linking.index.header_dates.values() for place in places}


def _place(shape: Shape, part: Part) -> tuple[int, int]:
    match = re.search(rf"\b{part.mark}{shape.parts.index(part)}\b", shape.text)
    assert match is not None
    return match.span()


def judge_ties(shape: Shape) -> Iterator[Finding]:
    """Findings on "tied": the values of those that are named before are one."""
    for start, end in clauses(shape.text):
        match = _TIED.search(shape.text, start, end)
        if match is None or re.search(r"\b(?:not|n't)\b", shape.text[start:end]):
            continue
        named = [part for part in shape.parts_in(start, match.start()) if part.mark == "R"]
        if len(named) == 1:
            named += [part for part in shape.parts_in(match.end(), end) if part.mark == "R"]
        shared = [part for part in shape.parts_in(start, end) if part.mark in "CP"]
        cells = [shape.only([part, *shared]) for part in named]
        found = [cell for cell in cells if cell is not None]
        if len(found) < 2 or len(found) != len(cells):
            continue
        values = {cell.value for cell in found}
        said = ", ".join(shape.grid.cell(cell.row, cell.column) for cell in found)
        truth = len(values) == 1
        for words in (match, _EACH.search(shape.text, match.end(), end)):
            if words is not None:
                where = shape.span(*words.span("word"))
                yield shape.finding(where, truth, "CMP", f"the values are {said}", found)
        each = _EACH.search(shape.text, match.end(), end)
        if each is None or not truth:
            continue
        part = shape.part(each["number"])
        if part.amount is None:
            continue
        agreement = shape.agreement(part.amount, found[0].value, found[0])
        if agreement in ("same", "different"):
            where = shape.span(*each.span("number"))
            right = shape.grid.cell(found[0].row, found[0].column)
            yield shape.finding(
                where, agreement == "same", "NUM", said, found, kind="number", expected=(right,)
            )
