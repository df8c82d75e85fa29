"""Raw answers that hold a table: taken out, and put back with nothing around it changed."""

from __future__ import annotations

from collections.abc import Sequence

from tablemend.tables.extract import Extraction
from tablemend.tables.read import READERS
from tablemend.tables.table import Cell, Table, TableError
from tablemend.tables.write import write_table

BLANK = "-"


def rows_left(cells: Sequence[Sequence[Cell] | None]) -> list[int]:
    """Numbers of an answer's rows that are left; those that were dropped are ``None``."""
    return [number for number, row in enumerate(cells) if row is not None]


def table_left(original: Table, cells: Sequence[Sequence[Cell] | None]) -> Table:
    """An answer's table with its cells as they are now, without the rows that were dropped."""
    rows = [row for row in cells if row is not None]
    return Table.of(original.columns, rows, original.title)


def put_back(text: str, found: Extraction, table: Table) -> str:
    """A raw answer with another table in the place of its own, in the same format.

    Args:
        text: the answer.
        found: the place of its table.
        table: the new one; a blank is written as ``-``, in JSON as null.

    Raises:
        TableError: the format cannot carry the table.
    """
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
