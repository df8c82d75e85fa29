"""What claims are verified against: tables, a running text, or both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tablemend.evidence.grid import Grid
from tablemend.evidence.retrieval import CellPlace, Index, index_cells, index_sentences
from tablemend.records import Evidence
from tablemend.tables.table import Table
from tablemend.values.text import Span

TOP = 3
"""Cells, and sentences, that a claim is scored by (TabFaith 4.1, step 2)."""


@dataclass(frozen=True)
class Source:
    """The truth for a document.

    Attributes:
        tables: one or more tables; a JSON document becomes several.
        text: a context in prose; empty where the tables are all there is.
        query: what an answer table, or one value, was asked for; empty for a summary.
    """

    tables: tuple[Table, ...] = ()
    text: str = ""
    query: str = ""

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        """The tables, read for verification."""
        return tuple(Grid(table, number) for number, table in enumerate(self.tables))

    def find_cells(self, statement: str, k: int = TOP) -> list[Evidence]:
        """The ``k`` cells that have most to do with a statement; see :meth:`Index.find`."""
        found = self._cells.find(statement, k)
        return [self.grids[table].evidence(row, column) for table, row, column in found]

    def find_sentences(self, statement: str, k: int = TOP) -> list[Evidence]:
        """The ``k`` sentences of the text that have most to do with a statement."""
        return [
            Evidence(self.text[start:end], start=start, end=end)
            for start, end in self._sentences.find(statement, k)
        ]

    @cached_property
    def _cells(self) -> Index[CellPlace]:
        return index_cells(self.grids)

    @cached_property
    def _sentences(self) -> Index[Span]:
        return index_sentences(self.text)
