"""The table that everything else reads and writes."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tablemend.errors import TablemendError
from tablemend.foreign import FromJson

Cell = str | None
Row = tuple[Cell, ...]


class TableError(TablemendError):
    """A text that holds no readable table, or a table that cannot be built."""


class EmptyTableError(TableError):
    """A table without a row in a form that does not name its columns then (JSON records)."""


@dataclass(frozen=True, slots=True)
class Table(FromJson):
    """An immutable table of text cells.

    Attributes:
        columns: the header, one name a column, in order; duplicates are allowed here
            (a model may write them) and refused where a name must be unique.
        rows: the body; every row is as long as the header. ``None`` is the empty cell:
            an empty string becomes ``None``.
        title: the caption, or an empty string.

    Raises:
        TableError: no column, or a row whose length differs from the header's.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    title: str = ""

    def __post_init__(self) -> None:
        if not self.columns:
            raise TableError("a table needs at least one column")
        width = len(self.columns)
        for number, row in enumerate(self.rows, 1):
            if len(row) != width:
                raise TableError(f"row {number} has {len(row)} cells, the header has {width}")
        if any(cell == "" for row in self.rows for cell in row):
            rows = tuple(tuple(cell or None for cell in row) for row in self.rows)
            object.__setattr__(self, "rows", rows)

    @classmethod
    def of(cls, columns: Sequence[str], rows: Iterable[Sequence[Cell]], title: str = "") -> Table:
        """Build a table from any sequences."""
        return cls(tuple(columns), tuple(tuple(row) for row in rows), title)

    def column(self, name: str) -> tuple[Cell, ...]:
        """The cells of the first column called ``name``, top to bottom."""
        index = self.columns.index(name)
        return tuple(row[index] for row in self.rows)

    def duplicate_columns(self) -> list[str]:
        """Names that stand more than once in the header, in order of first appearance."""
        return [name for name, count in Counter(self.columns).items() if count > 1]

    def content_hash(self) -> str:
        """SHA-256 (first 16 hex digits) of header and body; the title does not count."""
        content = json.dumps([self.columns, self.rows], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """A JSON-serialisable dict that :meth:`from_json` reads back."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
        }

    def filled(self, text: str) -> Table:
        """The same table with ``text`` in every empty cell."""
        rows = tuple(tuple(text if cell is None else cell for cell in row) for row in self.rows)
        return Table(self.columns, rows, self.title)
