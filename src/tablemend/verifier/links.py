"""What words of a text name in a table: records only; :mod:`.linking` makes them."""

from __future__ import annotations

from dataclasses import dataclass

from tablemend.values.sentences import Span
from tablemend.verifier.reading import Amount, Moment
from tablemend.verifier.scoped_phrases import ScopedPhrase


@dataclass(frozen=True, slots=True)
class ColumnLink:
    """Words that name columns.

    Attributes:
        start, end: place of the words.
        columns: the columns that they fit equally well.
        coverage: share of the header's terms that are said; 1 where all are.
        terms: how many terms were said.
    """

    start: int
    end: int
    columns: tuple[int, ...]
    coverage: float
    terms: int


@dataclass(frozen=True, slots=True)
class RowLink:
    """Words that name rows, by a cell of a column that tells rows apart.

    Attributes:
        start, end: place of the words.
        rows: the rows; several where a surname or a name fits several.
        column: the column in which the name stands; -1 where terms of an attribute's name are said.
        full: whether the whole name is said, and not a part of it.
    """

    start: int
    end: int
    rows: tuple[int, ...]
    column: int
    full: bool


@dataclass(frozen=True, slots=True)
class CellLink:
    """Words that stand in text cells.

    Attributes:
        start, end: place of the words.
        places: row and column of each cell.
        full: whether the whole cell is said (without its brackets).
    """

    start: int
    end: int
    places: tuple[tuple[int, int], ...]
    full: bool


@dataclass(frozen=True, slots=True)
class MomentLink:
    """A period of the text that headers or cells state.

    Attributes:
        moment: what the text says, with its place.
        columns: columns whose header states the same or a part of it.
        places: row and column of the cells that do.
    """

    moment: Moment
    columns: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.moment.start

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.moment.end


@dataclass(frozen=True, slots=True)
class Links:
    """What a part of the text names of one table.

    Attributes:
        grid: number of the table.
        span: the part of the text.
        columns, rows, cells, moments: in the order of the text.
        amounts: numbers that are no part of a name or header.
        unknown_names: names that stand in no cell, header or caption.
        subject: rows carried over from earlier sentences, for one that names none.
        scoped_phrases: comparisons and exceptions, whose periods and names are theirs alone.
    """

    grid: int
    span: Span
    columns: tuple[ColumnLink, ...] = ()
    rows: tuple[RowLink, ...] = ()
    cells: tuple[CellLink, ...] = ()
    moments: tuple[MomentLink, ...] = ()
    amounts: tuple[Amount, ...] = ()
    unknown_names: tuple[Span, ...] = ()
    subject: tuple[int, ...] = ()
    scoped_phrases: tuple[ScopedPhrase, ...] = ()

    def within(self, start: int, end: int) -> Links:
        """The part of them that stands between two places."""
        return Links(
            self.grid,
            Span(start, end),
            tuple(link for link in self.columns if start <= link.start and link.end <= end),
            tuple(link for link in self.rows if start <= link.start and link.end <= end),
            tuple(link for link in self.cells if start <= link.start and link.end <= end),
            tuple(link for link in self.moments if start <= link.start and link.end <= end),
            tuple(amount for amount in self.amounts if start <= amount.start < end),
            tuple(name for name in self.unknown_names if start <= name.start and name.end <= end),
            self.subject,
            self.scoped_phrases,
        )
