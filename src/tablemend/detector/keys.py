"""The gold table made ready: which column names its rows, what its cells count in."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tablemend.tables.table import Cell, Row, Table
from tablemend.values.cells import is_blank, read_value, writes_dots
from tablemend.values.text import header_key, names_attributes, names_values
from tablemend.values.units import Unit, header_unit

# What is often counted in percent though its name has no such sign.
_RATE = re.compile(
    r"\b(?:pct|rates?|share|growth|change|margin|ratio|turnout|yield|return|inflation"
    r"|unemployment|proportion|accuracy|efficiency|increase|decrease)\b",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Gold:
    """A usable gold table.

    Attributes:
        table: the table itself.
        headers: :func:`~tablemend.values.text.header_key` of each column.
        units: what the numbers of each column count in.
        key: index of the primary-key column; 0 where there is no row to find it by.
        is_info_box: whether the keys are names of attributes, and their values beside them.
        rows: the rows with at least one filled cell, top to bottom; none where the right answer is
            the header alone.
        filled: for each of these rows, which cells are no blanks.
        cells: how many cells are filled.
    """

    table: Table
    headers: tuple[str, ...]
    units: tuple[Unit, ...]
    key: int
    is_info_box: bool
    rows: tuple[Row, ...]
    filled: tuple[tuple[bool, ...], ...]
    cells: int


def filled_rows(table: Table) -> list[int]:
    """Indices of the rows that say something; rows of blanks alone are no rows."""
    return [
        index for index, row in enumerate(table.rows) if any(not is_blank(cell) for cell in row)
    ]


def primary_key(table: Table) -> int:
    """Index of the column that names the rows (TableHallu, C.1).

    The first column from the left that is not numeric, else the first. A column is numeric
    where most of its filled cells are. Dates and everything else without a letter (``3-1``,
    ``1:23``, ``2019-2021``) count with the numbers, as the paper's own Nobel case treats Year:
    they place a row in time, they do not name an entity. A column of dates is the key only
    where no column has names.
    """
    dates = None
    for index in range(len(table.columns)):
        kind = column_kind([row[index] for row in table.rows])
        if kind == "name":
            return index
        if kind == "date" and dates is None:
            dates = index
    return dates or 0


def column_kind(cells: Sequence[Cell]) -> str:
    """``name``, ``date`` or ``number``: what most filled cells of a column are."""
    values = [(cell, value) for cell in cells if cell and not (value := read_value(cell)).blank]
    names = sum(
        (value.number is None or value.number.bound not in ("", "about"))  # "12 and above"
        and not value.dates
        and _LETTER.search(cell if value.number else value.text) is not None
        for cell, value in values
    )
    if 2 * names >= len(values) > 0:
        return "name"
    dates = sum(bool(value.dates) for _, value in values)
    return "date" if 2 * dates >= len(values) > 0 else "number"


def names_of_rows(table: Table) -> str:
    """Hash of the set of keys of a table: equal for two tables that list the same rows."""
    key = primary_key(table)
    names = {read_value(table.rows[index][key]).text for index in filled_rows(table)}
    return hashlib.sha256(json.dumps(sorted(names)).encode()).hexdigest()[:16]


@lru_cache(maxsize=512)
def prepare_gold(table: Table) -> Gold | str:
    """Read a gold table once; a text says why no answer can be scored against it."""
    headers = tuple(header_key(name) for name in table.columns)
    if len(set(headers)) < len(headers):
        name = next(c for c, h in zip(table.columns, headers, strict=True) if headers.count(h) > 1)
        return f"the gold table has the column {name!r} more than once"
    rows = tuple(table.rows[index] for index in filled_rows(table))
    if table.rows and not rows:
        return "the gold table has rows, and all of them are blank"
    filled = tuple(tuple(not is_blank(cell) for cell in row) for row in rows)
    columns = ([row[index] for row in rows] for index in range(len(headers)))
    units = tuple(map(_unit_of, table.columns, columns))
    key, cells = primary_key(table), sum(map(sum, filled))
    is_info_box = (
        len(headers) == 2 and names_attributes(headers[key]) and names_values(headers[1 - key])
    )
    return Gold(table, headers, units, key, is_info_box, rows, filled, cells)


def _unit_of(name: str, cells: Sequence[Cell]) -> Unit:
    """The header's; it, a name such as "rate" or the column's cells say what can be percent."""
    unit = header_unit(name)
    stated = any((number := read_value(cell).number) and number.percent for cell in cells)
    rate = stated or unit.symbol == "%" or _RATE.search(name) is not None
    return unit._replace(never_percent=not rate, dots=writes_dots(cells))
