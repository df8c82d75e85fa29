"""ToTTo's tables in its official format, with merged cells (Parikh et al., 2020)."""

from __future__ import annotations

from typing import Any

from tablemend.tables.limits import refuse_size
from tablemend.tables.table import Table, TableError

HEADER_ROWS = 3
"""Most leading rows that are taken for the header."""


def is_totto(record: Any) -> bool:
    """Whether a record has a table of cells with spans, as ToTTo has."""
    table = record.get("table") if isinstance(record, dict) else None
    return (
        isinstance(table, list)
        and bool(table)
        and all(isinstance(row, list) for row in table)
        and any(isinstance(cell, dict) and "value" in cell for row in table for cell in row)
    )


def read_totto(record: Any) -> Table:
    """The whole table of a record of the official JSONL, or of the data set on the Hub.

    A merged cell stands in every place that it spans. The title is page and section.

    Raises:
        TableError: the record is none, or its table cannot be laid out.
    """
    if not is_totto(record):
        raise TableError("no ToTTo record: `table` must be rows of cells with `value`")
    rows = record["table"]
    grid = _lay_out(rows)
    heads = 0
    while heads < min(len(rows) - 1, HEADER_ROWS) and rows[heads] and all(map(_heads, rows[heads])):
        heads += 1
    heads = max(1, heads)
    columns = [
        " ".join(dict.fromkeys(filter(None, names))) for names in zip(*grid[:heads], strict=True)
    ]
    titles = (record.get("table_page_title"), record.get("table_section_title"))
    title = " - ".join(text for text in titles if isinstance(text, str) and text)
    return Table.of(columns, grid[heads:], title)


def _lay_out(rows: list[list[Any]]) -> list[list[str]]:
    """The rectangular grid."""
    grid: list[dict[int, str]] = [{} for _ in rows]
    for number, row in enumerate(rows):
        column = 0
        for cell in row:
            while column in grid[number]:
                column += 1
            text, wide, high = _text(cell), _span(cell, "column_span"), _span(cell, "row_span")
            refuse_size(1, column + wide)
            for below in grid[number : number + high]:
                for beside in range(column, column + wide):
                    below.setdefault(beside, text)
            column += wide
    width = max(max(row, default=-1) + 1 for row in grid)
    refuse_size(len(grid), width)
    return [[row.get(column, "") for column in range(width)] for row in grid]


def _heads(cell: Any) -> bool:
    return isinstance(cell, dict) and bool(cell.get("is_header"))


def _text(cell: Any) -> str:
    value = cell.get("value") if isinstance(cell, dict) else None
    if not isinstance(value, str):
        raise TableError("a cell without a text as its value")
    return " ".join(value.split())


def _span(cell: Any, name: str) -> int:
    try:
        return max(1, int(cell.get(name, 1)))
    except (TypeError, ValueError):
        raise TableError(f"{name} is no number") from None
