"""The gold table made ready: which column names its rows, what its cells count in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tablemend.tables.table import Cell, Row, Table
from tablemend.values.cells import read_value
from tablemend.values.text import header_key
from tablemend.values.units import Unit, header_unit

_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Gold:
    """A usable gold table.

    Attributes:
        table: the table itself.
        headers: :func:`~tablemend.values.text.header_key` of each column.
        units: the unit that each header states.
        key: index of the primary-key column.
        rows: the rows with at least one filled cell, top to bottom.
        cells: how many cells of these rows are filled.
    """

    table: Table
    headers: tuple[str, ...]
    units: tuple[Unit, ...]
    key: int
    rows: tuple[Row, ...]
    cells: int


def filled_rows(table: Table) -> list[int]:
    """Indices of the rows that say something; rows of blanks alone are no rows."""
    return [
        index
        for index, row in enumerate(table.rows)
        if any(cell is not None and not read_value(cell).blank for cell in row)
    ]


def primary_key(table: Table) -> int:
    """Index of the column that names the rows (TableHallu, C.1).

    The first column from the left that is not numeric, else the first. A column is numeric
    where most of its filled cells are. Dates and everything else without a letter (``3-1``,
    ``1:23``, ``2019-2021``) count with the numbers, as the paper's own Nobel case treats Year:
    they place a row in time, they do not name an entity. A column of dates is the key only
    where no column has names.
    """
    kinds = [_kind([row[index] for row in table.rows]) for index in range(len(table.columns))]
    for wanted in ("name", "date"):
        if wanted in kinds:
            return kinds.index(wanted)
    return 0


def _kind(cells: list[Cell]) -> str:
    """``name``, ``date`` or ``number``: what most filled cells of a column are."""
    values = [value for cell in cells if not (value := read_value(cell)).blank]
    names = sum(
        value.number is None and not value.dates and _LETTER.search(value.text) is not None
        for value in values
    )
    if 2 * names >= len(values) > 0:
        return "name"
    dates = sum(bool(value.dates) for value in values)
    return "date" if 2 * dates >= len(values) > 0 else "number"


def why_unusable(table: Table) -> str:
    """Why no answer can be judged against this gold table; empty where one can."""
    headers = [header_key(name) for name in table.columns]
    twice = next((name for name in headers if headers.count(name) > 1), None)
    if twice is not None:
        name = table.columns[headers.index(twice)]
        return f"the gold table has the column {name!r} more than once"
    if not filled_rows(table):
        return "the gold table has no filled row"
    return ""


@lru_cache(maxsize=512)
def prepare_gold(table: Table) -> Gold:
    """Read a gold table once; it must be usable (see :func:`why_unusable`)."""
    rows = tuple(table.rows[index] for index in filled_rows(table))
    return Gold(
        table,
        tuple(header_key(name) for name in table.columns),
        tuple(header_unit(name) for name in table.columns),
        primary_key(table),
        rows,
        sum(not read_value(cell).blank for row in rows for cell in row),
    )
