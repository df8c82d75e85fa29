"""The shape of a sentence: its words with what names cells of a table replaced by marks.

"Curry outscored Jokic by 3 points." is ``R0 outscored R1 by N2 C3.``: patterns over a shape say
how a sentence is built, whatever the table is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Literal

from tablemend.records import ClaimError, Evidence
from tablemend.values.numbers import Number
from tablemend.values.sentences import Span
from tablemend.values.units import Unit
from tablemend.verification.agreement import Agreement, compare
from tablemend.verification.findings import Finding
from tablemend.verification.grounding import Grounder
from tablemend.verification.indexing import Heading
from tablemend.verification.reading import Amount

Mark = Literal["R", "C", "P", "V", "N", "S"]
"""Rows by name, columns by header, periods, other cells, numbers, strangers."""

_ORDER = "PRCVNS"
_TERM_PARTS = re.compile(r"[RCPVNS]\d+")
LINKED = r"[RCP]\d+"
"""What names a row or a column."""


@dataclass(frozen=True, slots=True)
class Part:
    """Words that name something in the table.

    Attributes:
        mark: what they name.
        start, end: their place in the text.
        rows, columns: what they restrict the cells to; ``None`` where they leave it open.
        places: row and column of the cells that say it.
        amount: of ``N``.
    """

    mark: Mark
    start: int
    end: int
    rows: frozenset[int] | None = None
    columns: frozenset[int] | None = None
    places: tuple[tuple[int, int], ...] = ()
    amount: Amount | None = None

    @property
    def by_row(self) -> bool:
        """Whether it is one row or several, and no column."""
        return self.rows is not None and self.columns is None

    @property
    def by_column(self) -> bool:
        """Whether it is one column or several, and no row."""
        return self.columns is not None and self.rows is None


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of the table."""

    row: int
    column: int
    number: Number
    unit: Unit

    @property
    def value(self) -> Decimal:
        """Its value, without the scale that a header states."""
        return self.number.value


class Shape:
    """One sentence, over one table.

    Args:
        grounder: reads and compares cells.
        number: index of the sentence.
        grid: number of the table.
    """

    def __init__(self, grounder: Grounder, number: int, grid: int) -> None:
        self.grounder = grounder
        self.linking = grounder.linking
        self.grid = grounder.grids[grid]
        self.links = self.linking.sentence_links[number][grid]
        self.start, self.end = self.linking.reading.sentences[number]
        self._offsets: list[tuple[int, int]] = []

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What the sentence names, in its order; of words that name two things the longer run."""
        found = sorted(
            self._named(),
            key=lambda part: (part.start - part.end, _ORDER.index(part.mark), part.start),
        )
        kept: list[Part] = []
        for part in found:
            if not any(part.start < other.end and other.start < part.end for other in kept):
                kept.append(part)
        return tuple(sorted(kept, key=lambda part: part.start))

    def _named(self) -> Iterator[Part]:
        links = self.links
        for moment in links.moments:
            start, end = moment.start, moment.end
            rows = frozenset(row for row, _ in moment.places)
            if moment.moment.kind == "weekday" and any(row.start == start for row in links.rows):
                continue  # the name of a row
            if moment.columns:
                yield Part("P", start, end, None, frozenset(moment.columns), moment.places)
            elif rows:
                yield Part("P", start, end, rows, None, moment.places)
            else:
                yield Part("S", start, end)
        said = {(cell.start, cell.end): cell.places for cell in links.cells}
        for row in links.rows:
            places = said.get((row.start, row.end), ())
            yield Part("R", row.start, row.end, frozenset(row.rows), None, places)
        for column in links.columns:
            yield Part("C", column.start, column.end, columns=frozenset(column.columns))
        for cell in links.cells:
            yield Part("V", cell.start, cell.end, places=cell.places)
        for amount in links.amounts:
            if amount.role == "value" and not amount.pair:
                yield Part("N", amount.start, amount.end, amount=amount)
        for name in links.strangers:
            yield Part("S", name.start, name.end)

    @cached_property
    def text(self) -> str:
        """The shape."""
        plain = self.linking.reading.plain
        shape, place = "", self.start
        for number, part in enumerate(self.parts):
            self._add(shape, place)
            shape += plain[place : part.start]
            self._add(shape, part.start)
            shape += f"{part.mark}{number}"
            place = part.end
            if plain[place : place + 1].isdigit():  # no digit of the mark
                self._add(shape, place)
                shape += " "
        self._add(shape, place)
        return shape + plain[place : self.end]

    def _add(self, shape: str, place: int) -> None:
        self._offsets.append((len(shape), place))

    def span(self, start: int, end: int) -> Span:
        """The place in the text of some characters of the shape."""
        assert self.text
        return Span(self._place(start), self._place(end))

    def _place(self, offset: int) -> int:
        shape, place = max(pair for pair in self._offsets if pair[0] <= offset)
        return place + offset - shape

    def part(self, mark: str) -> Part:
        """The part that a mark of the shape stands for."""
        return self.parts[int(mark[1:])]

    def parts_in(self, start: int, end: int) -> list[Part]:
        """The parts within some characters of the shape."""
        return [self.part(m[0]) for m in _TERM_PARTS.finditer(self.text, start, end)]

    # ---- cells

    @cached_property
    def rows(self) -> frozenset[int]:
        """The rows that are no totals."""
        return frozenset(line.index for line in self.grid.lines if not line.total)

    @cached_property
    def numeric(self) -> frozenset[int]:
        """Columns of numbers that are no years."""
        years = {column for grid, column in self.linking.index.years if grid == self.grid.number}
        return frozenset(
            column.index
            for column in self.grid.columns
            if column.kind == "number" and column.index not in years
        )

    def cell(self, row: int, column: int) -> Cell | None:
        """A cell, where it is a number."""
        number = self.grounder.number(self.grid.number, row, column)
        if number is None:
            return None
        return Cell(row, column, number, self.grid.unit(row, column))

    def meet(self, parts: Iterable[Part]) -> tuple[frozenset[int], frozenset[int]]:
        """The rows and the columns that all parts leave together."""
        rows = frozenset(line.index for line in self.grid.lines)
        columns = frozenset(column.index for column in self.grid.columns)
        open_rows = open_columns = True
        for part in parts:
            if part.rows is not None:
                rows &= part.rows
                open_rows = False
            if part.columns is not None and part.columns != {self.grid.key}:
                columns &= part.columns
                open_columns = False
        if open_rows:
            rows &= self.rows
        if open_columns or len(columns) > 1:
            columns &= self.numeric
        return rows, columns

    def only(self, parts: Iterable[Part]) -> Cell | None:
        """The one number that all parts name together."""
        rows, columns = self.meet(parts)
        if len(rows) != 1 or len(columns) != 1:
            return None
        return self.cell(next(iter(rows)), next(iter(columns)))

    def numbers(self, parts: Iterable[Part]) -> list[Cell]:
        """All numbers where the rows and columns of the parts meet."""
        rows, columns = self.meet(parts)
        found = (self.cell(row, column) for row in sorted(rows) for column in sorted(columns))
        return [cell for cell in found if cell is not None]

    def terms(self, cell: Cell) -> frozenset[str]:
        """The words that the cell's column, or its row where that is the attribute, is called."""
        terms = self.linking.index.terms
        own = terms.get(Heading(self.grid.number, -1, cell.column), frozenset())
        return own | terms.get(Heading(self.grid.number, cell.row, -1), frozenset())

    def name(self, part: Part) -> str:
        """The words of a part as written."""
        return self.linking.reading.text[part.start : part.end]

    def agreement(self, amount: Amount, value: Decimal, like: Cell) -> Agreement:
        """How a stated amount fits a value that counts as a cell does."""
        return compare(amount, Number(value, like.number.unit), like.unit)

    # ---- findings

    def finding(
        self,
        span: Span,
        truth: bool,
        error: ClaimError,
        reason: str,
        cells: Iterable[Cell] = (),
        *,
        kind: Literal["number", "moment", "name"] = "name",
        expected: tuple[str, ...] = (),
        firm: bool = True,
    ) -> Finding:
        """What is found of some words."""
        evidence = tuple(self.grid.evidence(cell.row, cell.column) for cell in list(cells)[:3])
        return Finding(
            span.start,
            span.end,
            kind,
            "supported" if truth else "contradicted",
            None if truth else error,
            (Evidence(reason, self.grid.number), *evidence),
            reason,
            None if truth else span,
            () if truth else expected,
            firm=firm,
        )
