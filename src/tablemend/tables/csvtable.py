"""CSV tables (RFC 4180): read, write."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from tablemend.tables.limits import SURROGATES, refuse_characters
from tablemend.tables.table import Cell, Table, TableError

# The module's own limit, 131,072 characters a cell, would refuse what write_csv wrote.
# 2**31 - 1 is the largest that every platform takes.
csv.field_size_limit(2**31 - 1)

_SEPARATORS = (",", ";", "\t")
_QUOTED = re.compile(r"[,;\t\"\r\n\ufeff]|^\s|\s$")
_REFUSED = re.compile(rf"[\x00{SURROGATES}]")


def read_csv(text: str) -> Table:
    """Read a table separated by commas, semicolons or tabs; the first record is the header.

    The separator is the one that gives the widest header and a table without ragged rows.
    Quoted cells may hold newlines. A byte-order mark and empty lines are passed over, and so
    are spaces after a separator.

    Raises:
        TableError: no record, a stray quote, or a row of another length than the header
            (named by its line).
    """
    text = text.removeprefix("\ufeff")
    by_width = sorted(_SEPARATORS, key=lambda separator: -_header_width(text, separator))
    problems: list[TableError] = []
    for separator in by_width:
        if problems and _header_width(text, separator) < 2:
            break
        try:
            return _read_separated(text, separator)
        except TableError as error:
            problems.append(error)
    raise problems[0]


def write_csv(table: Table) -> str:
    """Write comma-separated values, quoted where needed; the title is not written.

    Raises:
        TableError: a cell holds NUL or a lone surrogate.
    """
    refuse_characters(table, _REFUSED, "CSV", title=False)
    # A header quoted throughout cannot be taken for one with another separator.
    quoted = any(_QUOTED.search(name) for name in table.columns)
    header = ",".join(map(_quote, table.columns)) + "\n" if quoted else _write_record(table.columns)
    return header + "".join(map(_write_record, table.rows))


def _records(text: str, separator: str) -> Iterator[tuple[list[str], int]]:
    """Records with the number of their last line; empty lines are passed over."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True
    )
    try:
        for record in reader:
            if record:
                yield record, reader.line_num
    except csv.Error as error:
        raise TableError(f"CSV line {reader.line_num}: {error}") from error


def _header_width(text: str, separator: str) -> int:
    try:
        header, _ = next(_records(text, separator))
    except (StopIteration, TableError):
        return 0
    return len(header)


def _read_separated(text: str, separator: str) -> Table:
    records = _records(text, separator)
    header, _ = next(records, ([], 0))
    if not header:
        raise TableError("the CSV text is empty")
    rows = []
    for record, line in records:
        if len(record) != len(header):
            raise TableError(
                f"CSV line {line} has {len(record)} cells, the header has {len(header)}"
            )
        rows.append(record)
    return Table.of(header, rows)


def _write_record(cells: Sequence[Cell]) -> str:
    # A lone empty cell is quoted: an empty line is no record.
    if len(cells) == 1 and not cells[0]:
        return '""\n'
    return ",".join(_write_cell(cell or "") for cell in cells) + "\n"


def _write_cell(cell: str) -> str:
    return _quote(cell) if _QUOTED.search(cell) else cell


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'
