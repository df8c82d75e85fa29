"""What claims are verified against: tables, a running text, or both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tablemend.evidence.grid import Grid
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
