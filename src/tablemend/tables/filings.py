"""Tables of SEC filings: HTML with spacer columns, and the ASCII blocks of older filings.

EDGAR's HTML gives the currency sign, the number and the closing bracket a column each; its ASCII
tables mark the label column by ``<S>`` and each further one by ``<C>``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from tablemend.tables.html import locate_html, read_html
from tablemend.tables.table import Cell, Table, TableError

_BEFORE = re.compile(r"(?:US)?[$€£¥(]{1,2}")
_BEHIND = re.compile(r"\)?%?\)?|\*+|\(\w\)")
_SIGN = re.compile(r"(?:US)?[$€£¥]\s?\(?|\(|\)?\s?%?\)?")
_DIGIT = re.compile(r"[$€£¥(\s]*[\d.]")
_RULE = re.compile(r"[\s\-=_.*$]*")
_GAP = re.compile(r"\s{2,}|\t")
_MARKS = re.compile(r"<(?:S|C)>", re.I)
_TAG = re.compile(r"</?(?:table|caption|page|fn|f\d)[^<>]*>", re.I)
_LONE_SIGN = re.compile(r"(?<!\S)([$(])\s+(?=[\d(.])")
_LEADER = re.compile(r"(?<!\s)\s*(?:(?:\.\s?){3,}|_{3,})\s*")


def read_filing(text: str) -> Table:
    """The one table of a filing's fragment, HTML or ASCII.

    Raises:
        TableError: no table that can be read.
    """
    if _MARKS.search(text) or not re.search(r"<t[dhr][\s>]", text, re.I):
        return read_ascii(text)
    spans = locate_html(text)
    if not spans:
        raise TableError("no HTML table (<table> ... </table>)")
    return tidy(read_html(text[slice(*spans[0])]))


def tidy(table: Table) -> Table:
    """A table without spacers: empty columns are dropped, signs and brackets joined to numbers.

    Two neighbours are one column where they have one header (or one has none) and no row fills
    both.
    """
    grid = [[_plain(cell) for cell in row] for row in (table.columns, *table.rows)]
    grid = [row for number, row in enumerate(grid) if number == 0 or any(row)]
    columns = [list(column) for column in zip(*grid, strict=True)]
    columns = [column for column in columns if any(column)]
    columns = _join(columns, lambda left, right: _are_signs(left, right, _BEFORE), _glue)
    columns = _join(columns, lambda left, right: _are_signs(right, left, _BEHIND), _glue)
    columns = _join(
        columns, lambda left, right: left[0] != "" and _is_same(left, right, True), _either
    )
    columns = columns[:1] + _join(columns[1:], _is_same, _either)
    if not columns or len(columns[0]) < 2:
        raise TableError("no row below the header")
    rows = list(zip(*columns, strict=True))
    return Table.of(rows[0], rows[1:], table.title)


def join_spans(table: Table) -> Table:
    """The table; :func:`tidy` where columns are empty, or one name spans columns of one value."""
    table = without_copies(table)
    columns = [list(map(_plain, column)) for column in zip(table.columns, *table.rows, strict=True)]
    same = any(_is_same(left, right, True) for left, right in pairwise(columns))
    return tidy(table) if table.rows and (same or not all(map(any, columns))) else table


def without_copies(table: Table) -> Table:
    """Without columns that only repeat their neighbour, where labels and headers span several."""
    kept: list[tuple[str | None, ...]] = []
    for column in zip(table.columns, *table.rows, strict=True):
        while kept and _covers(column, kept[-1]):
            kept.pop()
        if not (kept and _covers(kept[-1], column)):
            kept.append(column)
    columns, *rows = zip(*kept, strict=True)
    return Table.of([name or "" for name in columns], rows, table.title)


def _covers(column: Sequence[str | None], other: Sequence[str | None]) -> bool:
    return all(not b or a == b for a, b in zip(column, other, strict=True))


def join_signs(table: Table) -> Table:
    """The table; :func:`tidy` where signs stand in columns of their own, without a name."""
    names = [*map(_plain, table.columns)]
    columns = [[_plain(cell) for cell in cells] for cells in zip(*table.rows, strict=True)]
    for place, cells in enumerate(columns):
        beside = [other for other in (place - 1, place + 1) if 0 <= other < len(names)]
        if names[place] and all(names[place] != names[other] for other in beside):
            continue
        signs = [(sign, row) for row, sign in enumerate(cells) if sign]
        if len(signs) > 1 and all(
            _SIGN.fullmatch(sign) and any(_DIGIT.match(columns[other][row]) for other in beside)
            for sign, row in signs
        ):
            return tidy(table)
    return table


def _plain(cell: Cell) -> str:
    return " ".join((cell or "").replace("\xa0", " ").split())


def _join(
    columns: list[list[str]],
    belongs: Callable[[list[str], list[str]], bool],
    glue: Callable[[str, str], str],
) -> list[list[str]]:
    """Neighbouring columns that belong together as one; the header is the first that is given."""
    joined: list[list[str]] = []
    for column in columns:
        if joined and belongs(joined[-1], column):
            left = joined[-1]
            body = [glue(a, b) for a, b in zip(left[1:], column[1:], strict=True)]
            joined[-1] = [left[0] or column[0], *body]
        else:
            joined.append(column)
    return joined


def _glue(left: str, right: str) -> str:
    """Both in one cell; a heading that spans both stands in both."""
    return left if left == right else left + right


def _either(left: str, right: str) -> str:
    return left or right


def _are_signs(signs: list[str], numbers: list[str], form: re.Pattern[str]) -> bool:
    """Whether a column holds only signs, brackets or marks of the other's numbers."""
    pairs = [(a, b) for a, b in zip(signs[1:], numbers[1:], strict=True) if a and a != b]
    return bool(pairs) and all(form.fullmatch(sign) and number for sign, number in pairs)


def _is_same(left: list[str], right: list[str], named: bool = False) -> bool:
    """Whether no row fills both and the headers are one or, unless ``named``, one is empty."""
    same = left[0] == right[0] != "" or (not named and not (left[0] and right[0]))
    return same and not any(a and b for a, b in zip(left[1:], right[1:], strict=True))


def read_ascii(text: str) -> Table:
    """An ASCII table: columns stand two spaces or more apart, or at the marks of ``<S> <C>``.

    Raises:
        TableError: no lines that agree in their number of columns.
    """
    lines = [
        _LEADER.sub("    ", _TAG.sub("", line)).rstrip() for line in text.expandtabs().splitlines()
    ]
    marks = next((n for n, line in enumerate(lines) if _MARKS.search(line)), None)
    above = lines[:marks] if marks is not None else []
    below = lines[marks + 1 :] if marks is not None else lines
    rows = [cells for line in below if not _RULE.fullmatch(line) and (cells := _cut(line))]
    if marks is not None:
        width = len(_MARKS.findall(lines[marks]))
    else:
        widths = Counter(len(cells) for cells in rows if len(cells) > 1).most_common(1)
        width = widths[0][0] if widths else 0
    if width < 2:
        raise TableError("the ASCII table has no columns")
    header = _header(above, width)
    if header is None and rows and len(rows[0]) in (width, width - 1):
        first = rows.pop(0)
        header = ["", *first] if len(first) < width else first
    body = _body(rows, width)
    if header is None or not body:
        raise TableError("the ASCII table has no header or no rows")
    return Table.of(header, body)


def _cut(line: str) -> list[str]:
    """The cells of a line; a sign that stands apart joins its number."""
    line = _LONE_SIGN.sub(r"\1", line.strip())
    return [cell for cell in _GAP.split(line) if cell not in ("", "$", ")", "%")]


def _header(lines: list[str], width: int) -> list[str] | None:
    """The header's lines, one below the other; those of another number of cells are titles."""
    found: list[list[str]] = []
    for line in lines:
        cells = _cut(line)
        if _RULE.fullmatch(line):
            continue
        if len(cells) == width - 1:
            cells = ["", *cells]
        if len(cells) == width:
            found.append(cells)
    if not found:
        return None
    return [" ".join(filter(None, names)) for names in zip(*found, strict=True)]


def _body(rows: list[list[str]], width: int) -> list[list[Cell]]:
    """Rows of the full width; a label alone begins the next row's label."""
    body: list[list[Cell]] = []
    begun = ""
    for cells in rows:
        if len(cells) == 1 and not cells[0][:1].isdigit():
            begun = f"{begun} {cells[0]}".strip() if not cells[0].endswith(":") else ""
        elif len(cells) == width:
            label = f"{begun} {cells[0]}".strip()
            body.append([label, *cells[1:]])
            begun = ""
        else:
            begun = ""
    return body
