"""What a reader of a verified answer table must know beside the verdicts."""

from __future__ import annotations

from tablemend.detector.keys import filled_rows
from tablemend.detector.query import columns_from_query
from tablemend.evidence.grid import Grid
from tablemend.tables.table import Table
from tablemend.verifier.scope import read_scope


def answer_notes(table: Table, query: str = "") -> tuple[str, ...]:
    """One line each: no rows, columns of one name, and what of the query was not read.

    Args:
        table: the answer.
        query: the question; may be empty.
    """
    notes = []
    if not filled_rows(table):
        notes.append("the answer has no filled row: there is nothing to verify")
    for name in table.duplicate_columns():
        notes.append(f"the answer has more than one column {name!r}: their cells are not scored")
    if not query.strip() or is_info_box(table):
        return tuple(notes)
    if columns_from_query(query) is None:
        notes.append("no list of columns was read from the query: columns are taken as they are")
    if note := read_scope(query, table).note:
        notes.append(note)
    return tuple(notes)


def is_info_box(table: Table) -> bool:
    """Whether a table lists one subject's attributes and their values."""
    return len(table.columns) == 2 and Grid(table).key_value
