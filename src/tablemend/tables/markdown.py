"""GitHub-flavoured Markdown tables: find, read, write.

Inline markup is read by markdown-it-py's inline parser. Its block parser is not used: it drops
the cells of a row that is too long without a word, its row splitter is quadratic in escaped
pipes, and it takes seconds on long prose. The tests hold this module against it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, zip_longest

from markdown_it import MarkdownIt

from tablemend.tables.table import (
    SURROGATES,
    Cell,
    Table,
    TableError,
    only_table,
    refuse_characters,
    refuse_size,
)

MAX_CHARACTERS = 4_000_000
"""Longest Markdown table that is read."""
MAX_MARKUP = 500_000
"""Characters in cells with inline markup: what the inline parser reads in a few seconds."""
NO_DELIMITER = "Markdown rows without a delimiter row (|---|---|) under the header"

_inline = MarkdownIt("commonmark", {"html": True})
# Possessive: a run of a million dashes that ends in a letter is looked at once.
_DELIMITER = re.compile(r"^[|+:\-= \t]++\r?$", re.MULTILINE)
_RULE_CELL = r"[ \t]*+(?:-{2,}+:?+|:-++:?+|-:|:?+=++:?+)[ \t]*+"
_RULE = re.compile(rf"[ \t]*+[|+]?+(?:{_RULE_CELL}[|+])++(?:{_RULE_CELL})?+[ \t\r]*+")
_GRID_RULE = re.compile(rf"[ \t]*+\+(?:{_RULE_CELL}\+)++[ \t\r]*+")
_LABEL = re.compile(r"[^|\n]*[:\uff1a][ \t*_]*(?=\|)|[ \t]*+(?:[-*+]|\d{1,3}[.)])[ \t]+(?=\|)")
_PIPE = re.compile(r"(?<!\\)\|")
_BLANKS = " \t\r"
_DELIMITER_CELL = re.compile(r":?(?:-+|=+):?")
_MARKUP = re.compile(r"[\\`*_<\[&]")
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)[\s/>]")
_FORMATTING_TAGS = frozenset(
    "a abbr b bdi bdo big br cite code del em font i ins kbd mark p q s samp small span strike "
    "strong sub sup tt u var".split()
)
_RAISED = re.compile(r"<sup>(?=(?:[-+\u2212]?\d{1,2}|[a-z])</sup>)", re.IGNORECASE)
_PLAIN = re.compile(r"[^\\`*_<\[&|\x00-\x20](?:[^\\`*_<\[&|\x00-\x1f]*[^\\`*_<\[&|\x00-\x20])?")
_ACTIVE = re.compile(r"[\\`*_<>\[\]&|!~]")
_REFUSED = re.compile(rf"[\x00{SURROGATES}]")


def locate_markdown(text: str) -> list[tuple[int, int]]:
    """Spans of the tables in ``text``: header line, delimiter line and the rows below.

    The rows end at a blank line, at a line without a pipe (GFM would make a row of such prose)
    and at a line that starts with ``####``. A ``####`` before the header on its line is outside,
    and so are a label and a bullet (``**Answer:** | Team | Points |``). A grid table starts with
    its upper rule.
    """
    spans: list[tuple[int, int]] = []
    end = 0
    for delimiter in _DELIMITER.finditer(text):
        line, first = delimiter.group(), delimiter.start()
        if first < end or not (
            _RULE.fullmatch(line) or ("-" in line and not set(line) & set("+="))
        ):
            continue
        start = max(end, text.rfind("\n", end, max(first - 1, 0)) + 1)
        header = text[start : max(first - 1, start)]
        if _GRID_RULE.fullmatch(line) and not header.lstrip().startswith("|"):
            stop = _end_of_rows(text, delimiter.end())
            if any(map(_RULE.fullmatch, text[delimiter.end() : stop].split("\n"))):
                end = stop
                spans.append((first, end))
            continue
        marker = header.find("####")
        if marker >= 0 and "|" not in header[:marker]:
            start += marker + 4
            header = header[marker + 4 :]
        label = _LABEL.match(header)
        if label and len(_split(header)) == len(_split(line)) + 1:
            start += label.end()
        if "|" in header:
            end = _end_of_rows(text, delimiter.end())
            spans.append((start, end))
    return spans


def has_rows_without_delimiter(text: str) -> bool:
    """Whether two neighbouring lines start with a pipe: a table that lacks its second line."""
    return re.search(r"^[ \t]*+\|[^\n]*+\n[ \t]*+\|", text, re.MULTILINE) is not None


def read_markdown(text: str) -> Table:
    """Read the one table in ``text``; prose and code fences around it are passed over.

    The header decides the width. As in GFM, a short row is filled with empty cells. Unlike GFM,
    nothing is dropped: a row with more cells than the header is refused. A delimiter row of
    another width than the header's is let pass where every row has the header's width, for
    nothing is lost then. Delimiter rows further down are no rows. Grid tables (reStructuredText,
    MySQL) and psql's output are read too.

    Raises:
        TableError: no table, several, a row that is too long, or too much inline markup.
    """
    spans = locate_markdown(text)
    if not spans and has_rows_without_delimiter(text):
        raise TableError(NO_DELIMITER)
    table = only_table(text, spans, "Markdown", "a header row and a row of dashes under it")
    if len(table) > MAX_CHARACTERS:
        raise TableError(
            f"a Markdown table of {len(table):,} characters (limit {MAX_CHARACTERS:,}); use CSV"
        )
    header, delimiter, *body = table.split("\n")
    if _GRID_RULE.fullmatch(header):
        columns, *rows = _read_grid([delimiter, *body])
        _check_widths(columns, ["-"] * len(columns), rows)
    else:
        columns = _split(header)
        rows = [_split(line) for line in body if not _RULE.fullmatch(line)]
        _check_widths(columns, _split(delimiter.replace("+", "|")), rows)
    refuse_size(len(rows), len(columns))
    blanks = [""] * len(columns)
    grid = [columns, *(row + blanks[len(row) :] for row in rows)]
    if sum(len(cell) for row in grid for cell in row if _MARKUP.search(cell)) > MAX_MARKUP:
        raise TableError(f"Markdown cells with more than {MAX_MARKUP:,} characters of markup")
    names, *cells = ([_read_cell(cell) for cell in row] for row in grid)
    return Table.of(names, cells)


def write_markdown(table: Table) -> str:
    r"""Write ``table`` without its title (Markdown has no caption).

    Ordinary cells are written as they are; a cell that would read back as something else is
    escaped: ``\|``, ``\*``, ``<br>`` for a newline, ``&#32;`` for a space at its edge.

    Raises:
        TableError: a cell holds NUL or a lone surrogate.
    """
    refuse_characters(table, _REFUSED, "Markdown", title=False)
    rule = "|" + "---|" * len(table.columns)
    return "\n".join([_write_row(table.columns), rule, *map(_write_row, table.rows)])


def _end_of_rows(text: str, position: int) -> int:
    """Where the rows end that start after the newline at ``position``."""
    while position < len(text):
        stop = text.find("\n", position + 1)
        stop = len(text) if stop < 0 else stop
        line = text[position + 1 : stop]
        if "|" not in line.replace("\\|", "") and not _GRID_RULE.fullmatch(line):
            break
        if line.lstrip().startswith("####"):
            break
        position = stop
    return position


def _split(line: str) -> list[str]:
    """The trimmed cells of one row, with or without outer pipes (GFM 4.10)."""
    cells = _PIPE.split(line.strip(_BLANKS))
    if cells and cells[0] == "":
        cells = cells[1:]
    if cells and cells[-1] == "":
        cells = cells[:-1]
    return [cell.strip(_BLANKS).replace("\\|", "|") for cell in cells]


def _read_grid(lines: list[str]) -> list[list[str]]:
    """Header and rows of a grid table, whose cells may go on in the lines below."""
    parts = [
        [_split(line) for line in part]
        for is_rule, part in groupby(lines, lambda line: bool(_RULE.fullmatch(line)))
        if not is_rule
    ]
    rows: list[list[str]] = []
    for number, part in enumerate(parts):
        for place, cells in enumerate(part):
            goes_on = not cells[0] or (len(parts) > 2 and not any(cells[1:])) or not number
            if place and goes_on:
                pairs = zip_longest(rows[-1], cells, fillvalue="")
                rows[-1] = [" ".join(filter(None, pair)) for pair in pairs]
            else:
                rows.append(cells)
    return rows


def _check_widths(columns: list[str], delimiter: list[str], rows: list[list[str]]) -> None:
    width = len(columns)
    for number, row in enumerate(rows, 1):
        if len(row) > width:
            raise TableError(
                f"Markdown row {number} has {len(row)} cells, the header has {width}: "
                "escape pipes inside a cell as \\|"
            )
    if not all(_DELIMITER_CELL.fullmatch(cell) for cell in delimiter):
        raise TableError("malformed Markdown delimiter row (expected |---|---|)")
    exact = rows and all(len(row) == width for row in rows)
    if len(delimiter) != width and not exact:
        raise TableError(
            f"the Markdown delimiter row has {len(delimiter)} cells, the header has {width}"
        )


def _read_cell(cell: str) -> str:
    """The text of a cell: markup gone, entities resolved, ``<br>`` a newline, a raised 2 ``^2``."""
    if not _MARKUP.search(cell):
        return cell
    parts = []
    for token in _inline.parseInline(_RAISED.sub("^", cell))[0].children or ():
        if token.type == "html_inline":
            # "<unknown>" and "<missing>" are a model's words, not markup
            tag = _TAG.match(token.content)
            if tag is None or tag[1].lower() not in _FORMATTING_TAGS:
                parts.append(token.content)
            elif tag[1].lower() == "br":
                parts.append("\n")
        elif token.type in ("text", "code_inline", "image"):
            parts.append(token.content)
    return "".join(parts)


def _write_row(cells: Sequence[Cell]) -> str:
    line = "| " + " | ".join(_write_cell(cell or "") for cell in cells) + " |"
    return line.replace("| ", "| \\", 1) if _RULE.fullmatch(line) else line


def _write_cell(cell: str) -> str:
    if not cell or _PLAIN.fullmatch(cell):
        return cell
    is_bare = len(cell) <= 1000 and not any(mark in cell for mark in "|\n\r")
    is_bare = is_bare and cell.strip(_BLANKS) == cell and not cell.endswith("\\")
    if is_bare and _read_cell(cell) == cell:  # reads back as it is written
        return cell
    text = _ACTIVE.sub(r"\\\g<0>", cell)
    text = text.replace("\n", "<br>").replace("\t", "&#9;").replace("\r", "&#13;")
    body = text.strip(" ")
    if not body:
        return "&#32;" * len(text)
    left = len(text) - len(text.lstrip(" "))
    right = len(text) - len(text.rstrip(" "))
    return "&#32;" * left + body + "&#32;" * right
