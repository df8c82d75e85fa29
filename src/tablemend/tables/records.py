"""Find the table in a JSON record of a data set, whatever its fields are called."""

from __future__ import annotations

from typing import Any

from tablemend.tables.filings import read_filing
from tablemend.tables.table import Cell, Table, TableError
from tablemend.tables.totto import is_totto, read_totto

HEADER_FIELDS = ("header", "headers", "columns", "column_names", "table_column_names")
BODY_FIELDS = ("rows", "data", "contents", "table_content_values", "cells")
TABLE_FIELDS = ("table", "table_array", "gt_table", "data", "gold_table", "texts")
TITLE_FIELDS = ("title", "table_page_title", "caption", "table_caption", "name")
MARKUP_FIELDS = ("raw_table", "table_html", "html")


def find_table(record: Any) -> Table:
    """The table in a JSON record, whatever its fields are called.

    Understood are a header beside a body, a list of rows whose first is the header, a list of
    objects, any of these inside a field such as ``table``, ToTTo's cells with spans, and HTML or
    the ASCII of a filing as text.

    Raises:
        TableError: no table, or one whose rows and header do not fit together.
    """
    if is_totto(record):
        return read_totto(record)
    table = _find(record, depth=0)
    if table is None:
        markup = next((text for name in MARKUP_FIELDS if (text := _text_field(record, name))), "")
        if not markup:
            raise TableError("no table in the record")
        table = read_filing(markup)
    inside = record.get("table") if isinstance(record, dict) else None
    titles = (_text_field(one, name) for one in (record, inside) for name in TITLE_FIELDS)
    return Table(table.columns, table.rows, next(filter(None, titles), ""))


def _text_field(record: Any, name: str) -> str:
    value = record.get(name) if isinstance(record, dict) else None
    return value if isinstance(value, str) else ""


def _find(value: Any, depth: int) -> Table | None:
    if depth > 3:
        return None
    if isinstance(value, list):
        return _from_list(value)
    if not isinstance(value, dict):
        return None
    header = next((value[name] for name in HEADER_FIELDS if _is_header(value.get(name))), None)
    body = next((value[name] for name in BODY_FIELDS if _is_body(value.get(name))), None)
    if header is not None and body is not None:
        return _build(header, body)
    for name in TABLE_FIELDS:
        if name in value and (found := _find(value[name], depth + 1)) is not None:
            return found
    return None


def _is_header(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)


def _is_body(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, list) for v in value)


def _from_list(value: list[Any]) -> Table | None:
    if _is_body(value):
        return _build([_cell(cell) or "" for cell in value[0]], value[1:])
    if value and all(isinstance(row, dict) for row in value):
        names = list(dict.fromkeys(str(name) for row in value for name in row))
        return _build(names, [[row.get(name) for name in names] for row in value])
    return None


def _build(header: list[str], body: list[list[Any]]) -> Table:
    width = len(header)
    for number, row in enumerate(body, 1):
        if len(row) != width:
            raise TableError(f"ragged: row {number} has {len(row)} cells, the header has {width}")
    return Table.of(header, ([_cell(cell) for cell in row] for row in body))


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:.15g}" if isinstance(value, float) else str(value)
    raise TableError("a cell that is neither text nor number")
