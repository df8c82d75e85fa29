"""HTML tables: find, read, write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape
from itertools import pairwise

import lxml.etree
import lxml.html

from tablemend.tables.limits import (
    CONTROLS,
    SURROGATES,
    only_table,
    outermost,
    refuse_characters,
    refuse_size,
)
from tablemend.tables.table import Table, TableError

MAX_COLSPAN, MAX_ROWSPAN = 1000, 65534
"""The limits of the HTML standard (4.9.11): larger spans count as these."""

_TABLE_TAG = re.compile(r"<(?P<close>/?)table(?=[\s/>])[^>]*+>?", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\n\r\f]+")
# Text that HTML's rules for white space would change stands in <pre>.
_PRESERVED = re.compile(r"[\t\r\f]| {2}| \n|\n |^\s|\s$")
_C1 = re.compile(r"[\x80-\x9f]")
_REFUSED = re.compile(rf"[{CONTROLS}\x80-\x9f{SURROGATES}]")
_BLOCKS = frozenset("address blockquote dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre ul".split())
# Controls, refused in the input, stand for what breaks a line always, and only between texts.
_BREAK, _BLOCK = "\x01", "\x02"
_BROKEN = re.compile(rf"[ {_BLOCK}]*{_BREAK}[ {_BLOCK}]*")
_EDGE = re.compile(rf"[ {_BLOCK}]*{_BLOCK}[ {_BLOCK}]*")
_RAISED = re.compile(r"\s*(?:[-+\u2212]?\d{1,2}|[a-z])\s*", re.IGNORECASE)
_WORD = re.compile(r"\w")
_IN_BRACKETS = re.compile(r"\(.*\)")
_AMOUNT = re.compile(r"(?!\D*(?:19|20)\d\d\D*\Z)[^\w]*\d[\d.,]*[^\w]*|[$€£%]")
_SILENT = frozenset(("script", "style", "template"))

_Hanging = dict[int, tuple[str, int]]
"""Column to text and number of rows still to fill, for cells with a rowspan."""


def locate_html(text: str) -> list[tuple[int, int]]:
    """Spans of the outermost ``<table>`` elements, and of the first tag that is never closed."""
    return outermost(_TABLE_TAG, text)


def read_html(text: str, unmarked: Callable[[Table], Table] | None = None) -> Table:
    """Read the one table in ``text``.

    Spanning cells are repeated in every place they span. The header is the ``<thead>``, else the
    leading rows of nothing but ``<th>``, else the first row; several header rows are joined with
    a space. Rows narrower than the widest are filled, as a browser shows them. ``<br>`` and block
    elements are newlines, other white space collapses (but in ``<pre>``), a cell of non-breaking
    spaces is empty, the caption is the title.

    Args:
        text: holds the table.
        unmarked: what becomes of a table whose header neither ``<thead>`` nor ``<th>`` marks, as
            in filings. Its header has several rows then where one has spanning cells and those
            below it name what they group; a row of one text above it is a title.

    Raises:
        TableError: no table, several, one inside another, one cut off, or no row.
    """
    span = only_table(text, locate_html(text), "HTML", "<table> ... </table>")
    if len(_TABLE_TAG.findall(span)) != 2:
        inner = span.lower().count("</table") > 1
        raise TableError("an HTML table inside another" if inner else "the HTML table is cut off")
    element = _parse(span)
    grid, heads = _read_grid(element)
    caption = element.find("caption")
    titles = [] if caption is None else [_read_text(caption)]
    if heads or not unmarked:
        unmarked, heads = None, heads or 1
    else:
        while len(grid) > 2 < len(grid[0]) and grid[0][0] and len(set(grid[0]) - {""}) == 1:
            titles.append(grid.pop(0)[0])
        heads = _count_heads(grid)
    header, body = grid[:heads], grid[heads:]
    columns = [_join_names(names) for names in zip(*header, strict=True)]
    if unmarked is None:
        return Table.of(columns, body, " ".join(titles))
    for place, cells in enumerate(zip(*body, strict=True)):
        if not header[-1][place] and not any(map(_WORD.search, cells)):
            columns[place] = ""  # a span's name over signs or nothing
    return unmarked(Table.of(columns, body, " ".join(titles)))


def write_html(table: Table) -> str:
    """Write ``<table>`` with a caption, ``<thead>`` and ``<tbody>``, one row a line.

    Raises:
        TableError: a cell holds a control character (tab, newline and carriage return are
            carried) or a lone surrogate.
    """
    refuse_characters(table, _REFUSED, "HTML", title=True)
    lines = ["<table>"]
    if table.title:
        lines.append(f"  <caption>{_write_text(table.title)}</caption>")
    names = "".join(f"<th>{_write_text(name)}</th>" for name in table.columns)
    lines += ["  <thead>", f"    <tr>{names}</tr>", "  </thead>", "  <tbody>"]
    for row in table.rows:
        cells = "".join(f"<td>{_write_text(cell or '')}</td>" for cell in row)
        lines.append(f"    <tr>{cells}</tr>")
    return "\n".join([*lines, "  </tbody>", "</table>"])


def _parse(text: str) -> lxml.html.HtmlElement:
    if "\x00" in text:
        raise TableError("the HTML holds a NUL character")
    parser = lxml.html.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        element = lxml.html.fragment_fromstring(text, parser=parser)
    except lxml.etree.ParserError as error:
        raise TableError(f"invalid HTML: {error}") from error
    for entry in parser.error_log:
        # After a fatal error the tree is cut without an exception.
        if entry.level == lxml.etree.ErrorLevels.FATAL:
            raise TableError(f"invalid HTML at line {entry.line}: {entry.message.strip()}")
    return element


def _read_grid(table: lxml.html.HtmlElement) -> tuple[list[list[str]], int]:
    """The rectangular grid of texts, and how many leading rows are marked as header."""
    grid: list[list[str]] = []
    hanging: _Hanging = {}
    section: lxml.html.HtmlElement | None = None
    head_rows = th_rows = width = 0
    for row in table.iter("tr"):
        cells = [cell for cell in row if cell.tag in ("td", "th")]
        parent = row.getparent()
        if parent is not section:
            section, hanging = parent, {}
        slots, hanging = _lay_out(cells, hanging)
        if not slots or not (grid or any(slots) or _in_head(row)):
            continue  # an empty row, or spacing above the header
        head_rows += _in_head(row)
        th_rows += th_rows == len(grid) and all(cell.tag == "th" for cell in cells)
        grid.append(slots)
        width = max(width, len(slots))
        refuse_size(len(grid), width)
    if not grid:
        raise TableError("the HTML table has no row (<tr> with <td> or <th>)")
    if not head_rows:
        head_rows = th_rows if th_rows < len(grid) else 1
    return [slots + [""] * (width - len(slots)) for slots in grid], head_rows


def _count_heads(grid: list[list[str]]) -> int:
    """How many leading rows of ``<td>`` are the header: those that name no row, below a span."""
    amounts = [any(map(_AMOUNT.fullmatch, row[1:])) for row in grid]
    names = [row[0] != grid[0][0] and not _IN_BRACKETS.fullmatch(row[0]) for row in grid]
    for count in range(1, len(grid) - 1):
        spans = any(a == b != "" for row in grid[:count] for a, b in pairwise(row[1:]))
        names_column = not any(row[0] for row in grid[:count]) and any(amounts[count : count + 4])
        named = names[count] and grid[count][0] and not names_column
        if named or not spans or amounts[count] or not any(grid[count][1:]):
            return count
    return max(len(grid) - 1, 1)


def _in_head(row: lxml.html.HtmlElement) -> bool:
    parent = row.getparent()
    return parent is not None and parent.tag == "thead"


def _lay_out(cells: list[lxml.html.HtmlElement], hanging: _Hanging) -> tuple[list[str], _Hanging]:
    """Place one row's cells between those that hang down into it (HTML standard, 4.9.12)."""
    slots: list[str] = []
    below: _Hanging = {}

    def place(text: str, height: int) -> None:
        if height > 1:
            below[len(slots)] = (text, height - 1)
        slots.append(text)

    for cell in cells:
        while len(slots) in hanging:
            place(*hanging[len(slots)])
        text = _read_text(cell)
        height = _span(cell, "rowspan", MAX_ROWSPAN)
        for _ in range(_span(cell, "colspan", MAX_COLSPAN)):
            place(text, height)
        refuse_size(1, len(slots))
    for column in range(len(slots), max(hanging, default=-1) + 1):
        place(*hanging.get(column, ("", 1)))
    return slots, below


def _span(cell: lxml.html.HtmlElement, name: str, limit: int) -> int:
    value = (cell.get(name) or "1").strip()
    if not value.isascii() or not value.isdigit() or len(value) > 9:
        return 1
    span = int(value)
    if span == 0:
        return limit if name == "rowspan" else 1  # rowspan="0" reaches the end of the section
    return min(span, limit)


def _join_names(names: tuple[str, ...]) -> str:
    return " ".join(dict.fromkeys(name for name in names if name))


def _read_text(element: lxml.html.HtmlElement) -> str:
    """The text that a browser shows for a cell; one in ``<pre>`` alone, as written, is as it is.

    A raised 2 is ``^2``: ``1200<sup>2</sup>`` is not 12002.
    """
    content = list(element)
    around = (element.text or "") + "".join(child.tail or "" for child in content)
    if [child.tag for child in content] == ["pre"] and not around.strip():
        return "".join(_pieces(content[0])).replace(_BREAK, "\n")
    text = _SPACES.sub(" ", "".join(_pieces(element)))
    return _EDGE.sub("\n", _BROKEN.sub("\n", text)).strip()


def _pieces(element: lxml.html.HtmlElement) -> Iterator[str]:
    """The texts inside an element, :data:`_BREAK` for ``<br>`` and :data:`_BLOCK` for edges."""
    walker = lxml.etree.iterwalk(element, events=("start", "end"))
    for event, node in walker:
        if node is not element and node.tag in _BLOCKS:
            yield _BLOCK
        if event == "end":
            yield _checked(node.tail) if node is not element else ""
        elif node.tag in _SILENT:
            walker.skip_subtree()
        else:
            raised = node.tag == "sup" and _RAISED.fullmatch(node.text or "")
            yield (_BREAK if node.tag == "br" else "^" if raised else "") + _checked(node.text)


def _checked(text: str | None) -> str:
    text = _C1.sub(_read_windows_1252, text or "")
    if _REFUSED.search(text):
        raise TableError("the HTML table holds a control character")
    return text


def _read_windows_1252(match: re.Match[str]) -> str:
    # &#150; is a dash on every real page (HTML standard, 13.2.5.80).
    return match[0].encode("latin-1").decode("cp1252", errors="replace")


def _write_text(text: str) -> str:
    written = escape(text, quote=False).replace("\n", "<br>").replace("\r", "&#13;")
    return f"<pre>{written}</pre>" if _PRESERVED.search(text) else written
