"""HTML tables: find, read, write; and tables of SEC filings.

EDGAR's HTML gives the currency sign, the number and the closing bracket a column each; the ASCII
tables of older filings mark the label column by ``<S>`` and each further one by ``<C>``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import pairwise

import lxml.etree
import lxml.html

from tablemend.tables.table import (
    CONTROLS,
    SURROGATES,
    Cell,
    Table,
    TableError,
    only_table,
    outermost,
    refuse_characters,
    refuse_size,
)

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
    columns = [" ".join(dict.fromkeys(filter(None, names))) for names in zip(*header, strict=True)]
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
    # &#150; is a dash on every real page (HTML standard, 13.2.5.80)
    text = _C1.sub(
        lambda match: match[0].encode("latin-1").decode("cp1252", errors="replace"), text or ""
    )
    if _REFUSED.search(text):
        raise TableError("the HTML table holds a control character")
    return text


def _write_text(text: str) -> str:
    written = escape(text, quote=False).replace("\n", "<br>").replace("\r", "&#13;")
    return f"<pre>{written}</pre>" if _PRESERVED.search(text) else written


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
    names, *body = (list(map(_plain, row)) for row in (table.columns, *table.rows))
    grid = zip(names, *filter(any, body), strict=True)
    columns = [list(column) for column in grid if any(column)]

    def glue(left: str, right: str) -> str:  # a heading that spans both stands in both
        return left if left == right else left + right

    def either(left: str, right: str) -> str:
        return left or right

    columns = _join(columns, lambda left, right: _are_signs(left, right, _BEFORE), glue)
    columns = _join(columns, lambda left, right: _are_signs(right, left, _BEHIND), glue)
    columns = _join(
        columns, lambda left, right: left[0] != "" and _is_same(left, right, True), either
    )
    columns = columns[:1] + _join(columns[1:], _is_same, either)
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

    def covers(column: Sequence[Cell], other: Sequence[Cell]) -> bool:
        return all(not b or a == b for a, b in zip(column, other, strict=True))

    kept: list[tuple[Cell, ...]] = []
    for column in zip(table.columns, *table.rows, strict=True):
        while kept and covers(column, kept[-1]):
            kept.pop()
        if not (kept and covers(kept[-1], column)):
            kept.append(column)
    columns, *rows = zip(*kept, strict=True)
    return Table.of([name or "" for name in columns], rows, table.title)


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
    cut = [_cut(line) for line in lines if not _RULE.fullmatch(line)]
    cut = [["", *cells] if len(cells) == width - 1 else cells for cells in cut]
    found = [cells for cells in cut if len(cells) == width]
    return [" ".join(filter(None, names)) for names in zip(*found, strict=True)] or None


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
