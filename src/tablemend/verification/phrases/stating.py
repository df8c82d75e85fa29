"""What is said of one row in words of its own: "plays for", "directed by", "was born in"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.values.cells import equal_values, read_value
from tablemend.values.inclusion import includes
from tablemend.verification.findings import Finding
from tablemend.verification.lexicon import header_terms, terms
from tablemend.verification.phrases.shape import Part, Shape

_FOR = re.compile(
    r"\b(?:plays?|played|playing|drives?|drove|driving|rides?|runs?|ran|running|works?|worked"
    r"|scored|grabbed|[RC]\d+|N\d+ \w+) for (?:the )?(?P<value>[RV]\d+)"
)
_BY = re.compile(r"\b(?P<column>C\d+) by (?:the )?(?P<value>[RV]\d+)")
_WHEN = re.compile(r"(?P<attribute>[RC]\d+) (?:in|on) (?P<value>P\d+)")
_OFFICE = re.compile(
    r"\b(?:was|is|were|are|became|an|a) (?:an? )?(?:\w+ly |\w+an |\w+ish )?"
    r"(?P<noun>[a-z]{3,}(?:ist|er|or|ian|man|woman|ess|ect|ant|eon|cian))\b"
)
_OFFICES = frozenset(t for word in ("occupation", "profession", "job", "role") for t in terms(word))
_DENIED = re.compile(r"\b(?:not|never|neither|nor|no)\b|n't\b")


def judge_statements(shape: Shape) -> Iterator[Finding]:
    """Findings on what the sentence says of its one row in a phrase that names the column."""
    if _DENIED.search(shape.text):
        return
    yield from _dates(shape)
    yield from _offices(shape)
    if shape.grid.transposed:
        return
    for match in _FOR.finditer(shape.text):
        value = shape.part(match["value"])
        columns = {column for _, column in value.places}
        if len(columns) == 1 and (row := _row(shape, value, match.start())) is not None:
            yield from _compare(shape, value, row, next(iter(columns)))
    for match in _BY.finditer(shape.text):
        value, column = shape.part(match["value"]), shape.part(match["column"])
        row = _row(shape, value, match.start())
        if row is not None and len(column.columns or ()) == 1:
            yield from _compare(shape, value, row, next(iter(column.columns or ())))


def _row(shape: Shape, value: Part, end: int) -> int | None:
    """The one row that is named before, other than by the value itself."""
    named = {part.rows for part in shape.parts_in(0, end) if part.mark == "R" and part != value}
    if len(named) != 1:
        return None
    rows = next(iter(named)) or frozenset()
    return next(iter(rows)) if len(rows) == 1 else None


def _compare(shape: Shape, value: Part, row: int, column: int) -> Iterator[Finding]:
    """A value against the cell of its row and column."""
    grid = shape.grid
    if column == grid.key or grid.columns[column].kind == "number":
        return
    own = grid.value(row, column)
    if own.blank:
        return
    said = read_value(shape.name(value))
    truth = (row, column) in value.places or equal_values(said, own) or includes(said, own)
    right = grid.cell(row, column)
    name = next(line.name for line in grid.lines if line.index == row)
    span = shape.linking.reading.text[value.start : value.end]
    reason = f"{grid.columns[column].header} of {name}: {right}"
    yield Finding(
        value.start,
        value.end,
        "name",
        "supported" if truth else "contradicted",
        None if truth else "ATT",
        (grid.evidence(row, column),),
        reason if truth else f"{reason}, not {span}",
        None if truth else shape.span(*_marked(shape, value)),
        () if truth else (right,),
        firm=True,
    )


def _marked(shape: Shape, part: Part) -> tuple[int, int]:
    mark = f"{part.mark}{shape.parts.index(part)}"
    match = re.search(rf"\b{mark}\b", shape.text)
    assert match is not None
    return match.span()


def _dates(shape: Shape) -> Iterator[Finding]:
    """As "born in 1852" in a list of attributes, where 1852 is that of another one."""
    grid = shape.grid
    if not grid.key_value and len(grid.lines) != 1:
        return
    for match in _WHEN.finditer(shape.text):
        attribute, value = shape.part(match["attribute"]), shape.part(match["value"])
        rows, columns = attribute.rows, attribute.columns
        if grid.key_value:
            columns = frozenset({column.index for column in grid.columns} - {grid.key})
        else:
            rows = frozenset(line.index for line in grid.lines)
        cells = [(row, column) for row in sorted(rows or ()) for column in sorted(columns or ())]
        dated = [cell for cell in cells if grid.value(*cell).dates]
        if not value.places or len(dated) != 1 or any(cell in value.places for cell in cells):
            continue
        cell = grid.cell(*dated[0])
        span = shape.span(*match.span("value"))
        yield Finding(
            value.start,
            value.end,
            "moment",
            "contradicted",
            "TMP",
            (grid.evidence(*dated[0]),),
            f"{shape.name(attribute)}: {cell}",
            span,
            (cell,),
            firm=True,
        )


def _offices(shape: Shape) -> Iterator[Finding]:
    """As "was a physicist" where the occupation is another one: the table does not say so."""
    grid = shape.grid
    if not grid.key_value and len(grid.lines) != 1:
        return
    places = [
        (line.index, column.index)
        for line in grid.lines
        for column in grid.columns
        if column.index != grid.key
        and _OFFICES & frozenset(header_terms(line.name if grid.key_value else column.header))
    ]
    if len(places) != 1:
        return
    known = shape.linking.index.known | shape.linking.index.caption
    for match in _OFFICE.finditer(shape.text):
        noun = match["noun"]
        if any(word.startswith(noun[:5]) or noun.startswith(word[:5]) for word in known):
            continue
        span = shape.span(*match.span("noun"))
        right = grid.cell(*places[0])
        yield Finding(
            span.start,
            span.end,
            "name",
            "not_in_source",
            "ATT",
            (grid.evidence(*places[0]),),
            f"the table has {right}, and nowhere {noun}",
            span,
            firm=True,
        )
