"""Read a table from a text or a file in any of the five formats, and write it."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from tablemend.errors import TablemendError
from tablemend.foreign import read_whole
from tablemend.tables.csvtable import XLSX, read_csv, read_xlsx, write_csv
from tablemend.tables.html import join_signs, join_spans, locate_html, read_html, write_html
from tablemend.tables.jsontable import locate_json, read_json, write_json
from tablemend.tables.latex import locate_latex, read_latex, write_latex
from tablemend.tables.markdown import locate_markdown, read_markdown, write_markdown
from tablemend.tables.table import Table, TableError

Format = Literal["markdown", "json", "latex", "csv", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)


def guarded(form: str, read: Callable[[Any], Table], text: Any) -> Table:
    """What a reader makes of a text; any fault of it, or of its parser, is no readable table.

    Signs in columns of their own, as filings have them, stand with their numbers.
    """
    try:
        return join_signs(read(text))
    except (TablemendError, MemoryError):
        raise
    except Exception as error:  # of parsers that are not ours: no common class
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise TableError(f"no readable {form} table ({why})") from error


READERS: dict[Format, Callable[[str], Table]] = {
    "markdown": partial(guarded, "Markdown", read_markdown),
    "json": partial(guarded, "JSON", read_json),
    "latex": partial(guarded, "LaTeX", read_latex),
    "csv": partial(guarded, "CSV", read_csv),
    "html": partial(guarded, "HTML", partial(read_html, unmarked=join_spans)),
}
ANSWER_READERS = READERS | {"json": partial(guarded, "JSON", partial(read_json, loose=True))}
"""Of tables in answers, whose JSON is not always a list of records."""
LOCATORS: dict[Format, Callable[[str], list[tuple[int, int]]]] = {
    "markdown": locate_markdown,
    "json": locate_json,
    "latex": locate_latex,
    "html": locate_html,
}
"""Of CSV there is none: any prose with commas resembles it."""
WRITERS: dict[Format, Callable[[Table], str]] = {
    "markdown": write_markdown,
    "json": write_json,
    "latex": write_latex,
    "csv": write_csv,
    "html": write_html,
}
SUFFIXES: dict[str, Format] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".tex": "latex",
    ".latex": "latex",
    ".csv": "csv",
    ".tsv": "csv",
    ".html": "html",
    ".htm": "html",
}


def read_table(text: str, format: Format | Literal["auto"] = "auto") -> Table:
    """Read the one table that ``text`` holds.

    ``"auto"`` goes by content: JSON where the text starts with a bracket, else LaTeX, HTML or
    Markdown where such a table stands in it, else CSV with at least two columns and one row.

    Raises:
        TableError: what hinders, in one line.
    """
    if not text.strip():
        raise TableError("the text is empty")
    if format != "auto":
        return READERS[format](text)
    found = detect_format(text)
    if found is not None:
        return READERS[found](text)
    try:
        table = READERS["csv"](text)
    except TableError:
        table = None
    if table is None or len(table.columns) < 2 or not table.rows:
        raise TableError(f"no table found in any format ({', '.join(FORMATS)})")
    return table


def detect_format(text: str) -> Format | None:
    """The format of the table in ``text`` by its content; CSV has no mark and gives ``None``."""
    if re.match(r"\ufeff?\s*+[\[{]\s*+[\"{\[\]}]", text):
        return "json"
    forms: tuple[Format, ...] = ("latex", "html", "markdown")
    return next((form for form in forms if LOCATORS[form](text)), None)


def load_table(path: str | Path, format: Format | Literal["auto"] = "auto") -> Table:
    """Read a text file or a workbook; ``"auto"`` goes by the suffix, else by the content.

    Raises:
        TableError: starts with the path. No file, unreadable, binary, not UTF-8, empty, larger
            than :data:`~tablemend.foreign.MAX_BYTES`, or not one table.
    """
    path = Path(path)
    if path.suffix.lower() == XLSX:
        table, *others = read_xlsx(path)
        if others:
            raise TableError(f"{path}: {1 + len(others)} sheets with rows where one is expected")
        return table
    text = load_text(path)
    try:
        return read_table(
            text, SUFFIXES.get(path.suffix.lower(), "auto") if format == "auto" else format
        )
    except TableError as error:
        raise TableError(f"{path}: {error}") from error


def answer_format(path: str | Path, asked: Format | Literal["auto"]) -> Format | Literal["auto"]:
    """The format to read an answer file in: the one asked for, else what the suffix names.

    ``.md`` decides nothing: a raw answer is often saved so, whatever table it holds.
    """
    named = SUFFIXES.get(Path(path).suffix.lower(), "markdown")
    return asked if asked != "auto" or named == "markdown" else named


def load_text(path: str | Path, *, may_be_empty: bool = False) -> str:
    """The text of a UTF-8 file, or UTF-16 with a byte-order mark; newlines as they are.

    Raises:
        TableError: as :func:`load_table`; no content is a fault unless it ``may_be_empty``.
    """
    path = Path(path)
    try:
        data = read_whole(path)
    except FileNotFoundError as error:
        raise TableError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise TableError(f"{path}: is a folder, not a file") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise TableError(f"{path!s}: cannot be read ({why})") from error
    if not data.strip() and not may_be_empty:
        raise TableError(f"{path}: the file is empty")
    return decoded(data, str(path))


def decoded(data: bytes, name: str) -> str:
    """A text in UTF-8, or in UTF-16 where a byte-order mark says so.

    Raises:
        TableError: starts with the name: another encoding, or no text.
    """
    encoding = "utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise TableError(
            f"{name}: not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from error
    if "\x00" in text:
        raise TableError(f"{name}: a binary file, or UTF-16, not UTF-8 text; save a text as UTF-8")
    return text


def write_table(table: Table, format: Format) -> str:
    """Write ``table`` so that reading it gives the same table back.

    JSON, LaTeX and HTML carry the title, Markdown and CSV do not.

    Raises:
        TableError: a cell holds a character that the format cannot carry.
    """
    return WRITERS[format](table)
