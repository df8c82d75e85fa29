"""What claims are verified against: tables, a running text, or both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tablemend.evidence.grid import Grid
from tablemend.evidence.retrieval import CellIndex, SentenceIndex
from tablemend.tables.table import Table


@dataclass(frozen=True)
class Source:
    """The truth for a document.

    Attributes:
        tables: one or more tables; a JSON document becomes several.
        text: a context in prose; empty where the tables are all there is.
    """

    tables: tuple[Table, ...] = ()
    text: str = ""

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        """The tables, read for verification."""
        return tuple(Grid(table, number) for number, table in enumerate(self.tables))

    @cached_property
    def cell_index(self) -> CellIndex:
        """All cells, for retrieval."""
        return CellIndex(self.grids)

    @cached_property
    def sentence_index(self) -> SentenceIndex:
        """All sentences of the text, for retrieval."""
        return SentenceIndex(self.text)
