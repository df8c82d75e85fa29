"""CSV tables (RFC 4180): read, write; and Excel workbooks, which need the extra xlsx."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, time
from decimal import Decimal
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from tablemend.tables.html import join_signs
from tablemend.tables.table import (
    SURROGATES,
    Cell,
    Table,
    TableError,
    refuse_characters,
    refuse_size,
)

# The module's own limit, 131,072 characters a cell, would refuse what write_csv wrote.
# 2**31 - 1 is the largest that every platform takes.
csv.field_size_limit(2**31 - 1)

_SEPARATORS = (",", ";", "\t", "|")
_FRONT = 20
"""Records among which titles above the header are looked for."""
_QUOTED = re.compile(r"[,;\t|\"\r\n\ufeff]|^\s|\s$")
_NAMED_SEPARATOR = re.compile(r"sep=([,;\t|])\r?\n", re.IGNORECASE)  # of Excel
_LINE_END = re.compile(r"\r\n?|\n")
_AMOUNT = re.compile(r"(?!(?:1[5-9]|20)\d\d\Z)[-+(]?[$€£]?\d[\d.,]*%?\)?")
_REFUSED = re.compile(rf"[\x00{SURROGATES}]")


def read_csv(text: str) -> Table:
    """Read a table separated by commas, semicolons, tabs or bars; the first record is the header.

    The separator is the one that a first line names (``sep=;``), else the one that gives the widest
    header and a table without ragged rows. Quoted cells may hold newlines. A byte-order mark and
    empty lines are passed over, and so are spaces after a separator and empty cells beyond the
    header's width. A record of one cell and empty ones above a header of several is the title.

    Raises:
        TableError: no record, a stray quote, or a row of another length than the header
            (named by its line).
    """
    text = text.removeprefix("\ufeff")
    separators: Sequence[str] = _SEPARATORS
    if named := _NAMED_SEPARATOR.match(text):
        separators, text = [named[1]], text[named.end() :]
    elif text.lstrip().startswith("|"):
        separators = _SEPARATORS[:3]  # rows of Markdown
    fronts = {separator: _front(text, separator) for separator in separators}
    problems: list[TableError] = []
    for separator in sorted(separators, key=lambda separator: -fronts[separator][1]):
        titles, width = fronts[separator]
        if problems and width < 2:
            break
        try:
            return _read_separated(text, separator, titles)
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
    quoted = any(not name or _QUOTED.search(name) for name in table.columns)
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


def _front(text: str, separator: str) -> tuple[list[str], int]:
    """The titles above the header, one a record, empty for a blank one; and the header's width."""
    records: list[tuple[list[str], int]] = []
    with suppress(TableError):
        records.extend(islice(_records(text, separator), _FRONT))
    lines = _LINE_END.split(text[: 1 << 16])

    def leads(record: tuple[list[str], int]) -> bool:
        cells, line = record  # write_csv quotes an empty name
        bare = lines[:line][-1].rstrip(" ").endswith(separator)
        return bare and not any(cell.strip() for cell in cells[1:])

    titles = [cells[0].strip() for cells, _ in takewhile(leads, records)]
    below = records[len(titles)][0] if len(titles) < len(records) else []
    if len(below) < 2 or any(_AMOUNT.fullmatch(cell.strip()) for cell in below):
        titles, below = [], records[0][0] if records else []
    return titles, len(below)


def _read_separated(text: str, separator: str, titles: Sequence[str]) -> Table:
    records = islice(_records(text, separator), len(titles), None)
    header, _ = next(records, ([], 0))
    if not header:
        raise TableError("the CSV text is empty")
    rows = []
    for record, line in records:
        if not any(record[len(header) :]):
            record = record[: len(header)]
        if len(record) != len(header):
            raise TableError(
                f"CSV line {line} has {len(record)} cells, the header has {len(header)}"
            )
        rows.append(record)
    return Table.of(header, rows, " ".join(filter(None, titles)))


def _write_record(cells: Sequence[Cell]) -> str:
    # A lone empty cell is quoted: an empty line is no record.
    if len(cells) == 1 and not cells[0]:
        return '""\n'
    written = (_quote(cell) if cell and _QUOTED.search(cell) else cell or "" for cell in cells)
    return ",".join(written) + "\n"


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


XLSX = ".xlsx"


def read_xlsx(path: Path) -> list[Table]:
    """The tables of a workbook: of each sheet the rows that are not empty, the first its header.

    Values are those that Excel stored; a percentage is written as one ("12.4%"), a date as
    2024-05-31. A formula that no program has computed yet is an empty cell. The name of a sheet
    is its table's title where there are several.

    Raises:
        TableError: starts with the path. No workbook, or none of its sheets has a row.
        ModuleNotFoundError: openpyxl is not installed.
    """
    from openpyxl import load_workbook

    try:
        book = load_workbook(path, read_only=True, data_only=True)
        sheets = {
            sheet.title: [
                row
                for cells in sheet.iter_rows()
                if any(row := [_read(cell.value, cell.number_format) for cell in cells])
            ]
            for sheet in book.worksheets
        }
        book.close()
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or error}") from error
    except Exception as error:  # of openpyxl and its parsers: no common class
        why = " ".join(f"{error}".split())
        raise TableError(f"{path}: not a workbook that can be read ({why})") from error
    tables = []
    for name, rows in sheets.items():
        if rows:
            width = max(index + 1 for row in rows for index, cell in enumerate(row) if cell)
            refuse_size(len(rows), width)
            filled = [(row + [None] * width)[:width] for row in rows]
            header = [cell or "" for cell in filled[0]]
            table = Table.of(header, filled[1:], name if len(sheets) > 1 else "")
            tables.append(join_signs(table))
    if not tables:
        raise TableError(f"{path}: no sheet has a row")
    return tables


def _read(value: Any, number_format: str | None) -> Cell:
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return str(value.date() if value.time() == time() else value)
    if isinstance(value, int | float):
        number = Decimal(repr(value))
        if "%" in (number_format or ""):
            return f"{(number * 100).normalize():f}%"
        return f"{number:f}".removesuffix(".0")
    return str(value).strip() or None
