"""The type of an error where only a model says that a claim is wrong (TabFaith, section 5, step 2).

A program that finds an error knows its type: it has looked up a value or worked out a comparison.
A model says "contradicted" and no more; the type is then that of the smallest edit that could mend
the claim. On claims with one injected error this is right for 0.68 on made-up and 0.69 on real
tables; the kind of the claim alone, for 0.38 and 0.43.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tablemend.claims.cues import find_cues
from tablemend.records import Claim, ClaimError, ClaimKind
from tablemend.values.amounts import same_amount
from tablemend.values.dates import covers_date, same_date
from tablemend.values.numbers import Number
from tablemend.values.places import Places, singular
from tablemend.values.text import tokens_of

if TYPE_CHECKING:
    from tablemend.evidence.grid import Grid
    from tablemend.evidence.source import Source

BY_KIND: dict[ClaimKind, ClaimError] = {
    "numeric": "NUM",
    "relational": "REL",
    "comparative": "CMP",
    "temporal": "TMP",
    "attribute": "ATT",
    "presence": "REL",
}
"""What is most often wrong with a claim of a kind."""

_COMPARED = frozenset(("superlative", "rank", "comparative", "change", "quantifier"))
_YEARS = range(1500, 2100)
_EMPTY = frozenset("a an the of in on at to for and by with from as its per no".split())


def name_error(claim: Claim, source: Source) -> ClaimError:
    """The type of a claim that a model calls wrong.

    A period that the tables do not have is TMP, a number that they do not have NUM, a number of a
    row or column that the claim does not name REL, a comparison CMP; else the kind decides.
    """
    said = Places(claim.statement)
    if claim.kind == "presence" or not source.tables:
        return BY_KIND[claim.kind]
    known = Places(" | ".join(_headings(source)))
    years = {int(one.number.value) for one in known.numbers if one.number.value in _YEARS}
    years |= {int(r[:4]) for date in known.dates for r in date.readings if r[:4].isdigit()}
    for date in said.dates:
        mine = date.readings
        if not any(
            same_date(mine, d.readings) or covers_date(mine, d.readings) for d in known.dates
        ):
            return "TMP"
    named = _words(claim.statement)
    elsewhere = False
    for stated in said.numbers:
        if stated.number.value in _YEARS and stated.end - stated.start == len("2020"):
            if int(stated.number.value) not in years:
                return "TMP"
            continue
        found = [belongs for grid in source.grids for belongs in _find(stated.number, grid, named)]
        if not found:
            return "NUM"
        elsewhere |= not any(found)
    if elsewhere:
        return "REL"
    if any(cue.kind in _COMPARED for cue in find_cues(claim.statement)):
        return "CMP"
    return "REL" if claim.kind == "numeric" else BY_KIND[claim.kind]  # its numbers are right


def _headings(source: Source) -> Iterator[str]:
    """All that can state a period: captions, headers, and cells of text and dates."""
    for grid in source.grids:
        yield grid.caption
        yield from (column.header for column in grid.columns)
        texts = [column.index for column in grid.columns if column.kind != "number"]
        for line in grid.lines:
            yield line.header
            yield from (grid.cell(line.index, column) for column in texts)


def _find(number: Number, grid: Grid, named: frozenset[str]) -> Iterator[bool]:
    """For each cell with a number: whether a claim of these words names its row and column."""
    columns = {column.index: _names(column.header, named) for column in grid.columns}
    for line in grid.lines:
        for column, named_column in columns.items():
            cell = grid.value(line.index, column).number
            if cell is not None and _near(cell, number):
                yield named_column and _names(line.header, named)


def _names(header: str, named: frozenset[str]) -> bool:
    """Whether half of a header's words are said."""
    words = _words(header)
    return bool(words) and 2 * len(words & named) >= len(words)


def _near(cell: Number, stated: Number) -> bool:
    """As equal as a text's rounding and scale let a number be."""
    size, wanted = abs(cell.value), abs(stated.value)
    scaled = (size, size * stated.unit.scale, size / stated.unit.scale)
    return same_amount(cell, stated) or any(200 * abs(v - wanted) <= wanted for v in scaled)


def _words(text: str) -> frozenset[str]:
    return frozenset(singular(word) for word in tokens_of(text).words) - _EMPTY
