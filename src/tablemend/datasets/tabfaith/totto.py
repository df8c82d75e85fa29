"""ToTTo in its official format: merged cells, highlights, sub-tables (Parikh et al., 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tablemend.tables.limits import refuse_size
from tablemend.tables.table import Table, TableError

HEADER_ROWS = 3
"""Most leading rows that are taken for the header."""


@dataclass(frozen=True, slots=True)
class TottoExample:
    """One example.

    Attributes:
        id: ``example_id``.
        table: the whole table; merged cells stand in every place they span. Its title is page and
            section.
        highlighted: row and column of each highlighted body cell.
        sentences: the reference texts (``final_sentence``); none in the hidden test set.
    """

    id: str
    table: Table
    highlighted: tuple[tuple[int, int], ...]
    sentences: tuple[str, ...]

    @property
    def sub_table(self) -> Table | None:
        """The highlighted cells with their headers and the first cell of their rows, if any."""
        if not self.highlighted:
            return None
        rows = sorted({row for row, _ in self.highlighted})
        columns = sorted({0, *(column for _, column in self.highlighted)})
        body = [
            [
                self.table.rows[row][column]
                if column == 0 or (row, column) in self.highlighted
                else None
                for column in columns
            ]
            for row in rows
        ]
        return Table.of([self.table.columns[i] for i in columns], body, self.table.title)


def is_totto(record: Any) -> bool:
    """Whether a record has a table of cells with spans, as ToTTo has."""
    table = record.get("table") if isinstance(record, dict) else None
    return (
        isinstance(table, list)
        and bool(table)
        and all(isinstance(row, list) for row in table)
        and any(isinstance(cell, dict) and "value" in cell for row in table for cell in row)
    )


def read_totto(record: Any) -> TottoExample:
    """One record of the official JSONL, or of the data set on the Hub, which has the same fields.

    Raises:
        TableError: the record is none, or its table cannot be laid out.
    """
    if not is_totto(record):
        raise TableError("no ToTTo record: `table` must be rows of cells with `value`")
    grid, places, heads = _lay_out(record["table"])
    columns = [
        " ".join(dict.fromkeys(filter(None, names))) for names in zip(*grid[:heads], strict=True)
    ]
    title = " - ".join(
        text
        for name in ("table_page_title", "table_section_title")
        if isinstance(text := record.get(name), str) and text
    )
    table = Table.of(columns, grid[heads:], title)
    highlighted = []
    for pair in record.get("highlighted_cells") or ():
        row, cell = _pair(pair)
        column = places.get((row, cell))
        if column is None:
            raise TableError(f"highlighted cell {row}, {cell} is not in the table")
        if row >= heads:
            highlighted.append((row - heads, column))
    return TottoExample(
        str(record.get("example_id", "")),
        table,
        tuple(dict.fromkeys(highlighted)),
        tuple(_sentences(record.get("sentence_annotations"))),
    )


def _pair(pair: Any) -> tuple[int, int]:
    try:
        row, cell = pair
        return int(row), int(cell)
    except (TypeError, ValueError):
        raise TableError("highlighted_cells must be pairs of row and cell number") from None


def _sentences(annotations: Any) -> Iterator[str]:
    """Reference texts; the Hub's copy has a dict of lists where the files have a list of dicts."""
    if isinstance(annotations, dict):
        found = annotations.get("final_sentence") or []
    else:
        found = [one.get("final_sentence") for one in annotations or () if isinstance(one, dict)]
    yield from (text for text in found if isinstance(text, str) and text)


def _lay_out(
    rows: list[list[dict[str, Any]]],
) -> tuple[list[list[str]], dict[tuple[int, int], int], int]:
    """The rectangular grid, the column of each ToTTo cell (row, number), and the header's rows."""
    grid: list[dict[int, str]] = [{} for _ in rows]
    heads_only: list[bool] = []
    places: dict[tuple[int, int], int] = {}
    for number, row in enumerate(rows):
        column = 0
        heads_only.append(bool(row) and all(_flag(cell) for cell in row))
        for index, cell in enumerate(row):
            while column in grid[number]:
                column += 1
            places[number, index] = column
            wide, high = _span(cell, "column_span"), _span(cell, "row_span")
            refuse_size(1, column + wide)
            for below in range(number, min(number + high, len(rows))):
                for beside in range(column, column + wide):
                    grid[below].setdefault(beside, _text(cell))
            column += wide
    width = max((max(row, default=-1) + 1 for row in grid), default=0)
    refuse_size(len(grid), width)
    heads = 0
    while heads < min(len(rows) - 1, HEADER_ROWS) and heads_only[heads]:
        heads += 1
    if not width:
        raise TableError("the table has no cell")
    filled = [[row.get(column, "") for column in range(width)] for row in grid]
    return filled, places, max(1, heads)


def _flag(cell: Any) -> bool:
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
