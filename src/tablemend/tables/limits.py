"""What all formats share: where tables stand in a text, what is refused and never cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tablemend.tables.table import Table, TableError

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
    for place, text in _texts(table, title):
        match = refused.search(text)
        if match is not None:
            raise TableError(
                f"{place} holds the character U+{ord(match[0]):04X}, which {form} cannot carry"
            )


def _texts(table: Table, title: bool) -> Iterator[tuple[str, str]]:
    if title:
        yield "the title", table.title
    for index, name in enumerate(table.columns, 1):
        yield f"the name of column {index}", name
    for number, row in enumerate(table.rows, 1):
        for index, cell in enumerate(row, 1):
            if cell:
                yield f"row {number}, column {index}", cell
