"""Sources from files and texts: tables of all formats, JSON documents, attribute lists, prose."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

from tablemend.evidence.json_document import document_tables
from tablemend.evidence.labels import caption_unit
from tablemend.evidence.source import Source
from tablemend.foreign import load_json
from tablemend.tables.csvtable import XLSX, read_xlsx
from tablemend.tables.html import locate_html
from tablemend.tables.jsontable import read_json
from tablemend.tables.latex import locate_latex
from tablemend.tables.markdown import locate_markdown
from tablemend.tables.read import READERS, SUFFIXES, Format, detect_format, load_text
from tablemend.tables.table import EmptyTableError, Table, TableError
from tablemend.values.units import PLAIN

PROSE = (".txt", ".text", ".rst")
MAX_TABLES = 200
"""Tables of one file; a file with more is refused, not cut."""

_LOCATE = {"markdown": locate_markdown, "html": locate_html, "latex": locate_latex}
_COMMENT = re.compile(r"#+\s*(?P<key>[\w ]{1,40}?)\s*[:=]\s*(?P<value>.*)")
_ATTRIBUTE = re.compile(r"\s*[-*\u2022]\s+(?P<name>[^:\n]{1,80}):\s+(?P<value>\S.*)")
_TAG = re.compile(r"<[^>]*>")
_LINES_ABOVE = 3
_STATED = re.compile(
    r"\([^()]{1,120}\)|^\W*(?:all |the )?(?:(?:dollar )?amounts|figures|values|numbers|dollars|in"
    r"|usd|us\$|eur|[$€£]).{1,100}",
    re.IGNORECASE,
)
_RULE = re.compile(r"\s*[-=*_]{3,}\s*")


def load_source(path: str | Path) -> Source:
    """What a file holds to verify against.

    CSV and TSV (comment lines ``# unit: people`` above the header are read), JSON tables and any
    other JSON document, JSON lines, all tables of a Markdown, LaTeX or HTML file with the prose
    around them, the sheets of a workbook, lists of ``- attribute: value``; ``.txt`` without a table
    is prose.

    Raises:
        TableError: starts with the path: no file, empty, binary, or no table where one should be.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == XLSX:
        return Source(tuple(read_xlsx(path)))
    text = load_text(path)
    try:
        if suffix in (".jsonl", ".ndjson"):
            return Source(
                document_tables([_parse(line) for line in text.splitlines() if line.strip()])
            )
        return read_source(text, SUFFIXES.get(suffix), prose=suffix in PROSE)
    except TableError as error:
        raise TableError(f"{path}: {error}") from error


def read_source(text: str, format: Format | None = None, *, prose: bool = False) -> Source:
    """What a text holds to verify against; :func:`load_source` of a file's content.

    Args:
        text: tables in any format, a JSON document, an attribute list, or prose.
        format: the tables' format; by the content where it is ``None``.
        prose: whether a text without any table is a context; else it is refused, as a table that
            cannot be read is.

    Raises:
        TableError: what hinders, in one line.
    """
    if not text.strip():
        raise TableError("the text is empty")
    if format is None and (listed := _read_attributes(text)) is not None:
        return Source((listed,))
    found = format or detect_format(text)
    if found == "json":
        return Source(_read_json(text))
    if found in _LOCATE:
        return _read_mixed(text, found, prose=prose or format == "markdown")
    if prose:
        return Source(text=text)
    return Source((_read_csv(text),))


def _read_mixed(text: str, format: Format, *, prose: bool) -> Source:
    """All tables of one format, and the prose around them."""
    spans = _LOCATE[format](text)
    if len(spans) > MAX_TABLES:
        raise TableError(f"{len(spans)} tables; the limit is {MAX_TABLES}")
    if not spans:
        if prose:
            return Source(text=text)
        READERS[format](text)  # says why there is none
    tables, rest, position = [], [], 0
    for start, end in spans:
        tables.append(_with_scale(READERS[format](text[start:end]), text[position:start]))
        rest.append(text[position:start])
        position = end
    rest.append(text[position:])
    # Markup around HTML and LaTeX tables is no prose.
    around = "".join(rest).strip() if format == "markdown" else ""
    return Source(tuple(tables), around)


def _with_scale(table: Table, above: str) -> Table:
    """A table with what the lines above it state of its cells ("(In thousands)") in its title."""
    lines = [line for line in _TAG.sub("\n", above).splitlines() if line.strip()]
    for line in map(unescape, reversed(lines[-_LINES_ABOVE:])):
        stated = " ".join(match[0] for match in _STATED.finditer(" ".join(line.split())))
        if caption_unit(stated) != PLAIN:
            title = table.title if caption_unit(table.title) != PLAIN else f"{table.title} {stated}"
            return replace(table, title=title.strip())
    return table


def _read_json(text: str) -> tuple[Table, ...]:
    data = _parse(text)
    try:
        return (read_json(text, loose=isinstance(data, list)),)
    except EmptyTableError:
        raise
    except TableError:
        rows = data if isinstance(data, list) else []
        if rows and all(isinstance(row, list) for row in rows) and len({*map(len, rows)}) > 1:
            raise  # a row lacks cells, or has too many
        return document_tables(data)


def _parse(text: str) -> Any:
    """JSON with numbers as they are written."""
    try:
        return load_json(text.removeprefix("\ufeff"), parse_float=str, parse_int=str)
    except ValueError as error:
        raise TableError(f"the JSON cannot be read: {error}") from error


def _read_csv(text: str) -> Table:
    """A CSV table; ``# key: value`` lines above it give its title and the unit of its values."""
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    stated: dict[str, str] = {}
    first = 0
    while first < len(lines) and (not lines[first].strip() or lines[first].startswith("#")):
        if match := _COMMENT.match(lines[first]):
            stated[match["key"].lower()] = match["value"].strip()
        first += 1
    if not stated:
        return READERS["csv"](text)
    table = READERS["csv"]("".join(lines[first:]))
    unit = stated.pop("unit", "") or stated.pop("units", "")
    title = stated.pop("title", "")
    about = [f"{key}: {value}" for key, value in stated.items() if value]
    columns = list(table.columns)
    generic = [place for place, name in enumerate(columns) if name.strip().lower() == "value"]
    for place in generic:
        # "value" names nothing; the title does, and the unit says what it counts.
        columns[place] = f"{title or 'value'} ({unit})" if unit else title or "value"
    if unit and not generic:
        about.append(f"unit: {unit}")
    return Table.of(columns, table.rows, ". ".join(filter(None, (title, *about))))


def _read_attributes(text: str) -> Table | None:
    """A list of ``- attribute: value`` lines below a title (WikiData as Quintd prints it)."""
    rows: list[tuple[str, str]] = []
    title = ""
    for line in text.splitlines():
        if not line.strip() or _RULE.fullmatch(line):
            continue
        if match := _ATTRIBUTE.fullmatch(line):
            rows.append((match["name"].strip(), match["value"].strip()))
        elif not rows and not title:
            title = line.strip("# \t")
        else:
            return None
    return Table.of(("attribute", "value"), rows, title) if rows else None
