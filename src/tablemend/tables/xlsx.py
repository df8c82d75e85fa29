"""Excel workbooks (.xlsx): read, one table a sheet; needs the extra xlsx."""

from __future__ import annotations

from datetime import datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from tablemend.tables.filings import join_signs
from tablemend.tables.limits import refuse_size
from tablemend.tables.table import Cell, Table, TableError

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
            sheet.title: [row for row in map(_read_row, sheet.iter_rows()) if any(row)]
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


def _read_row(cells: Any) -> list[Cell]:
    return [_read(cell.value, cell.number_format) for cell in cells]


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
