"""What is said to hold each time: "in every quarter", "all three museums"."""

from __future__ import annotations

import re

from tablemend.verification.phrases.shape import Part, Shape

_EACH_PERIOD = re.compile(
    r"\b(?P<word>every|each|both|all)\b(?: of)?(?: the)?(?: N\d+| \w+)?"
    r" (?:years?|quarters?|months?|days?|weeks?|seasons?|games?|periods?|editions?|[RC]\d+)\b"
)
_EACH_ROW = re.compile(r"^(?P<word>all|every|each|both)\b(?: of)?(?: the)?(?: N\d+)? (?:\w+|C\d+)")


def periods(shape: Shape) -> list[Part]:
    """The periods of a table: its columns where those are periods, else the dates of its rows."""
    grid = shape.grid
    headed = {
        column
        for places in shape.linking.index.header_dates.values()
        for number, column in places
        if number == grid.number
    } & shape.numeric
    if len(headed) > 1:
        return [Part("P", -1, -1, columns=frozenset({column})) for column in sorted(headed)]
    dated = [c.index for c in grid.columns if c.kind == "date" and c.index != grid.key]
    if len(dated) != 1 or len({line.name for line in grid.lines}) == len(grid.lines):
        return []
    groups: dict[str, set[int]] = {}
    for row in shape.rows:
        groups.setdefault(grid.cell(row, dated[0]), set()).add(row)
    return [Part("P", -1, -1, rows=frozenset(rows)) for rows in groups.values()]


def series(shape: Shape) -> bool:
    """Whether all numbers of a table count one thing, told of rows by period."""
    told = periods(shape)
    if len(told) < 2 or any(part.columns is None for part in told):
        return False
    columns = sorted(frozenset[int]().union(*(part.columns or () for part in told)))
    return len({shape.grid.unit(row, column) for row in shape.rows for column in columns}) == 1


def repetitions(shape: Shape, start: int, end: int) -> tuple[re.Match[str] | None, list[Part]]:
    """The word that repeats a statement, and the rows or periods that it repeats it over."""
    named = shape.parts_in(start, end)
    each = _EACH_PERIOD.search(shape.text, start, end)
    if each is not None and not any(part.mark == "P" for part in named):
        return (each, told) if len(told := periods(shape)) > 1 else (None, [])
    first = _EACH_ROW.match(shape.text) if start == 0 else None
    if first is not None and not any(part.mark == "R" for part in named):
        return first, [Part("R", -1, -1, rows=frozenset({row})) for row in sorted(shape.rows)]
    return None, []
