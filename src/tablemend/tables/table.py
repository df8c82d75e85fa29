"""The table that everything else reads and writes, and what its formats share."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
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


CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f"
"""All ASCII control characters but tab, newline and carriage return, for a character class."""
SURROGATES = r"\ud800-\udfff"
"""Lone surrogates: Python strings hold them, no encoded file does."""

MAX_CELLS = 4_000_000
"""Cells of one table, counting those that a reader adds (spans, short rows, missing keys)."""


def outermost(tags: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """Spans of the outermost elements in ``text``, and of the first tag that is never closed.

    Args:
        tags: finds opening and closing tags; the group ``close`` matches in the latter alone.
        text: where they stand.
    """
    spans: list[tuple[int, int]] = []
    opened: list[tuple[int, int]] = []
    for tag in tags.finditer(text):
        if not tag["close"]:
            opened.append(tag.span())
        elif opened:
            start, _ = opened.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, tag.end()))
    return sorted([*spans, *opened[:1]])


def only_table(text: str, spans: Sequence[tuple[int, int]], form: str, looks: str) -> str:
    """The one table of a text.

    Raises:
        TableError: there is none, which says how one ``looks``, or there are several.
    """
    if not spans:
        raise TableError(f"no {form} table ({looks})")
    if len(spans) > 1:
        raise TableError(f"{len(spans)} {form} tables where one is expected")
    return text[slice(*spans[0])]


def refuse_size(rows: int, columns: int) -> None:
    """Refuse a table of more than :data:`MAX_CELLS` cells before it is built.

    Raises:
        TableError: names the size and the limit.
    """
    if rows * columns > MAX_CELLS:
        raise TableError(
            f"a table of {rows:,} rows and {columns:,} columns; the limit is {MAX_CELLS:,} cells"
        )


def refuse_characters(table: Table, refused: re.Pattern[str], form: str, *, title: bool) -> None:
    """Refuse a table whose names or cells (and title, where it is written) match ``refused``.

    Raises:
        TableError: names the character, the place and the format.
    """
    names = ((f"the name of column {at}", name) for at, name in enumerate(table.columns, 1))
    cells = (
        (f"row {number}, column {at}", cell)
        for number, row in enumerate(table.rows, 1)
        for at, cell in enumerate(row, 1)
        if cell
    )
    for place, text in chain([("the title", table.title)] if title else [], names, cells):
        match = refused.search(text)
        if match is not None:
            raise TableError(
                f"{place} holds the character U+{ord(match[0]):04X}, which {form} cannot carry"
            )
