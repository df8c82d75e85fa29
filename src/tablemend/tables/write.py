"""Write a table in any of the five formats that read back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tablemend.tables.csvtable import write_csv
from tablemend.tables.html import write_html
from tablemend.tables.jsontable import write_json
from tablemend.tables.latex import write_latex
from tablemend.tables.markdown import write_markdown
from tablemend.tables.table import Table

if TYPE_CHECKING:
    from tablemend.tables.read import Format

WRITERS: dict[Format, Callable[[Table], str]] = {
    "markdown": write_markdown,
    "json": write_json,
    "latex": write_latex,
    "csv": write_csv,
    "html": write_html,
}


def write_table(table: Table, format: Format) -> str:
    """Write ``table`` so that reading it gives the same table back.

    JSON, LaTeX and HTML carry the title, Markdown and CSV do not.

    Raises:
        TableError: a cell holds a character that the format cannot carry.
    """
    return WRITERS[format](table)
