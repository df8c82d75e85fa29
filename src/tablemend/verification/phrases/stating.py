"""What is said of one row in a phrase that names the column: "plays for", "a high of 23"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.values.cells import equal_values, read_value
from tablemend.values.inclusion import includes
from tablemend.verification.findings import Finding
from tablemend.verification.lexicon import header_terms, terms
from tablemend.verification.negation import DENIED
from tablemend.verification.phrases.attributes import judge_attributes
from tablemend.verification.phrases.features import judge_features
from tablemend.verification.phrases.shape import Cell, Part, Shape

_FOR = re.compile(
    r"\b(?:plays?|played|playing|drives?|drove|driving|rides?|runs?|ran|running|works?|worked"
    r"|scored|grabbed|C\d+|N\d+ \w+) for (?:the )?(?P<value>[RV]\d+)"
)
_PAIRED = re.compile(r"\b(?P<number>N\d+)(?: C\d+)? (?:for|with|in|at) (?:the )?(?P<other>R\d+)")
_COMPARED = re.compile(
    r"\b(?:compared (?:with|to)|versus|vs\.?|against|and) (?:just |only )?(?P<number>N\d+)"
    r" (?:for|in|with|at) (?:the )?(?P<other>[RP]\d+)"
)
_BY = re.compile(r"\b(?P<column>C\d+) by (?:the )?(?P<value>[RV]\d+)")
_ON = re.compile(r"(?P<value>V\d+) (?:on|in) (?P<rows>[RP]\d+(?:(?:,|,? and) [RP]\d+)*)")
_OF = re.compile(r"\b(?:an?|its|the) (?P<column>C\d+) of (?P<number>N\d+)")
_NONE = re.compile(
    r"^(?P<number>N\d+) (?P<column>C\d+) (?P<word>fell|was recorded|was seen) (?:on|in) "
)
_OWN_OF = re.compile(r"N\d+ (?:out )?of (?:its|their|his|her) (?P<number>N\d+) (?P<noun>\w+)")
_PLAYED = frozenset(t for word in ("played", "games", "matches", "gp") for t in terms(word))


def judge_statements(shape: Shape) -> Iterator[Finding]:
    """Findings on what the sentence says of its one row in a phrase that names the column."""
    yield from judge_features(shape)
    if DENIED.search(shape.text):
        return
    yield from _values(shape)
    yield from judge_attributes(shape)
    if shape.grid.transposed:
        return
    yield from _belonging(shape)


def _belonging(shape: Shape) -> Iterator[Finding]:
    """As "plays for the Reds", "directed by Ann Lee"."""
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


def _values(shape: Shape) -> Iterator[Finding]:
    """Values that a preposition joins with their row: "sunny on Monday", "a high of 23"."""
    if not shape.grid.transposed:
        yield from _states_of_days(shape)
    named = [part for part in shape.parts if part.mark in "RP"]
    yield from _named_values(shape, named)
    yield from _paired_values(shape, named)
    yield from _own_totals(shape, named)


def _states_of_days(shape: Shape) -> Iterator[Finding]:
    """As "sunny on Monday and Friday"."""
    for match in _ON.finditer(shape.text):
        value = shape.part(match["value"])
        columns = {column for _, column in value.places}
        days = [shape.part(mark) for mark in re.findall(r"[RP]\d+", match["rows"])]
        if len(columns) != 1 or not all(len(day.rows or ()) == 1 for day in days):
            continue
        for day in days:
            yield from _compare(shape, value, next(iter(day.rows or ())), next(iter(columns)))


def _named_values(shape: Shape, named: list[Part]) -> Iterator[Finding]:
    """As "a high of 23", "no rain fell on": the word that names the column is right."""
    for pattern in (_OF, _NONE):
        for match in pattern.finditer(shape.text):
            column, amount = shape.part(match["column"]), shape.part(match["number"]).amount
            cell = shape.only([column, *named])
            if (
                cell is None
                or amount is None
                or shape.agreement(amount, cell.value, cell) != "same"
            ):
                continue
            where = shape.span(*match.span("word" if pattern is _NONE else "column"))
            reason = shape.grid.evidence(cell.row, cell.column).text
            yield shape.finding(where, True, "REL", reason, (cell,))


def _paired_values(shape: Shape, named: list[Part]) -> Iterator[Finding]:
    """As "compared with 12 for the Elm", "12 for the Elm and 9 for the Oak"."""
    measured = [part for part in shape.parts if part.mark == "C"]
    paired = list(_PAIRED.finditer(shape.text))
    for match in (*_COMPARED.finditer(shape.text), *(paired if len(paired) > 1 else ())):
        other = shape.part(match["other"])
        shared = [p for p in named if p.mark != other.mark]
        cell = shape.only([other, *shared, *measured]) if len(measured) == 1 else None
        yield from _compare_number(shape, match, cell)


def _own_totals(shape: Shape, named: list[Part]) -> Iterator[Finding]:
    """As "won 12 of their 38 games": all that were played."""
    for match in _OWN_OF.finditer(shape.text):
        played = [
            Part("C", -1, -1, columns=frozenset({column.index}))
            for column in shape.grid.columns
            if frozenset(header_terms(column.header)) & _PLAYED and column.index in shape.numeric
        ]
        if len(played) == 1 and _PLAYED & frozenset(terms(match["noun"])):
            yield from _compare_number(shape, match, shape.only([*named, *played]))


def _compare_number(shape: Shape, match: re.Match[str], cell: Cell | None) -> Iterator[Finding]:
    """The number of a phrase against its cell; nothing where they cannot be compared."""
    amount = shape.part(match["number"]).amount
    agreement = shape.agreement(amount, cell.value, cell) if cell and amount else "apart"
    if cell is None or agreement not in ("same", "different"):
        return
    where = shape.span(*match.span("number"))
    right = shape.grid.cell(cell.row, cell.column)
    reason = shape.grid.evidence(cell.row, cell.column).text
    yield shape.finding(
        where, agreement == "same", "NUM", reason, (cell,), kind="number", expected=(right,)
    )


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
    after = shape.linking.reading.text[value.end : value.end + 2]
    if own.blank or (after[:1] == " " and after[1:].isupper()):
        return  # "Jimmy" of "Jimmy Black"
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
