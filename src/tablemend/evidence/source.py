"""What claims are verified against: tables, a running text, or both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tablemend.evidence.grid import Grid
from tablemend.evidence.retrieval import CellIndex, SentenceIndex
from tablemend.records import Evidence
from tablemend.tables.table import Table

TOP = 3
"""Cells or sentences that a model is shown beside a claim, as in TabFaith 4.1, step 2."""


@dataclass(frozen=True)
class Source:
    """The truth for a document.

    Attributes:
        tables: one or more tables; a JSON document becomes several.
        text: a context in prose; empty where the tables are all there is.
        query: what an answer table was asked for; empty for a summary.
    """

    tables: tuple[Table, ...] = ()
    text: str = ""
    query: str = ""

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


def retrieve_cells(statement: str, source: Source, k: int = TOP) -> tuple[Evidence, ...]:
    """The ``k`` cells that have most to do with a statement, the best first.

    A cell is found by its row's names, its column's header and its value; fewer come back where
    fewer share a word or number with the statement.
    """
    return tuple(source.cell_index.find(statement, k))


def retrieve_sentences(statement: str, source: Source, k: int = TOP) -> tuple[Evidence, ...]:
    """The ``k`` sentences of the source's text that have most to do with a statement."""
    return tuple(source.sentence_index.find(statement, k))
