"""Raw answers that hold a table: taken out, and put back with nothing around it changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tablemend.mitigations.edits import Mended
from tablemend.tables.extract import Extraction
from tablemend.tables.read import READERS, write_table
from tablemend.tables.table import Cell, Table, TableError

BLANK = "-"


def rows_left(cells: Sequence[Sequence[Cell] | None]) -> list[int]:
    """Numbers of an answer's rows that are left; those that were dropped are ``None``."""
    return [number for number, row in enumerate(cells) if row is not None]


def table_left(original: Table, cells: Sequence[Sequence[Cell] | None]) -> Table:
    """An answer's table with its cells as they are now, without the rows that were dropped."""
    rows = [row for row in cells if row is not None]
    return Table.of(original.columns, rows, original.title)


def put_back(mended: Mended, found: Extraction, table: Table) -> Mended:
    """An edited answer with its table written, in the format and at the place of the old one.

    Where the format cannot carry the table, nothing is edited.

    Args:
        mended: with the text as it was.
        found: the place of its table.
        table: the new one; a blank is written as ``-``, in JSON as null.
    """
    if not mended.edits:
        return mended
    try:
        return replace(mended, text=_written(mended.text, found, table))
    except TableError as error:
        lost = (replace(edit, reason=str(error)) for edit in mended.edits)
        return replace(mended, edits=(), undone=(*mended.undone, *lost), after=mended.before)


def _written(text: str, found: Extraction, table: Table) -> str:
    assert found.format is not None
    old = text[found.start : found.end]
    new = write_table(table, found.format)
    if READERS[found.format](new).rows != table.rows:
        raise TableError(f"the table does not read the same as {found.format}")
    end = old[len(old.rstrip()) :]
    return text[: found.start] + new.rstrip() + end + text[found.end :]


def blank_for(found: Extraction) -> str | None:
    """What a cell that is blanked holds in the answer's format."""
    return None if found.format == "json" else BLANK
