"""ToTTo's tables in its official format, with merged cells (Parikh et al., 2020)."""

from __future__ import annotations

from html import escape
from typing import Any

from tablemend.tables.html import read_html
from tablemend.tables.table import Table, TableError


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
    """The whole table of a record (:func:`is_totto`) of the official JSONL or of the Hub's.

    Read as the HTML that it once was: a merged cell stands in every place that it spans. The
    title is page and section.

    Raises:
        TableError: its table cannot be laid out.
    """
    rows = ("".join(map(_cell, row)) for row in record["table"])
    table = read_html(f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>")
    titles = (record.get("table_page_title"), record.get("table_section_title"))
    title = " - ".join(text for text in titles if isinstance(text, str) and text)
    return Table(table.columns, table.rows, title)


def _cell(cell: Any) -> str:
    value = cell.get("value") if isinstance(cell, dict) else None
    if not isinstance(value, str):
        raise TableError("a cell without a text as its value")
    tag = "th" if cell.get("is_header") else "td"
    wide, high = (escape(str(cell.get(f"{way}_span", 1))) for way in ("column", "row"))
    return f'<{tag} colspan="{wide}" rowspan="{high}">{escape(value)}</{tag}>'
