r"""LaTeX tables: find, read, write.

Parsed with pylatexenc. What its database of symbols and accents lacks for tables is added here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pylatexenc import latex2text, latexwalker
from pylatexenc.latexwalker import (
    LatexCharsNode,
    LatexCommentNode,
    LatexEnvironmentNode,
    LatexGroupNode,
    LatexMacroNode,
    LatexSpecialsNode,
)
from pylatexenc.macrospec import std_environment, std_macro

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

MAX_CHARACTERS = 500_000
"""Longest LaTeX table that is parsed (pylatexenc reads some 150,000 characters a second)."""
MAX_SPAN = 1000
MAX_HEADER_ROWS = 3

_DATA: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_TABULARS: dict[str, str] = _DATA["tabulars"]
_ENVIRONMENT = re.compile(
    r"\\(?:begin|(?P<close>end))[ \t]*+\{(?:table\*?|tabular[*xy]?|longtable)\}"
)
_ROW_ENDS = frozenset(("\\", "tabularnewline", "cr"))
_RULES = frozenset(_DATA["rules"].split())
_LONGTABLE_PARTS = frozenset(("endfirsthead", "endhead", "endfoot", "endlastfoot"))
# Control characters, refused in the input, stand in for white space that must not collapse:
# what LaTeX writes by macros, and Unicode's spaces, which pylatexenc takes for plain ones.
_MACRO_SPACES = {"\x00": " ", "\x01": "\n", "\x02": "\t", "\x03": "\r"}
_UNICODE_SPACES = [chr(code) for code in range(0x80, 0x3001) if chr(code).isspace()]
_STAND_INS = "\x04\x05\x06\x07\x08\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b"
_HIDE = str.maketrans(dict(zip(_UNICODE_SPACES, _STAND_INS, strict=True)))
_SHOW = str.maketrans(_MACRO_SPACES | dict(zip(_STAND_INS, _UNICODE_SPACES, strict=True)))
_NEWLINE = re.compile(" ?\x01 ?")
_SPACES = re.compile(r"[ \t\r\n]+")
_CMIDRULE_TRIM = re.compile(r"(\\cmidrule[ \t]*+)\([lr]*\)")
_REFUSED = re.compile(rf"[{CONTROLS}{SURROGATES}]")

Row = list[list[Any]]
_LIGATURES = re.compile(r"(['<>,-])(?=\1)")
_KEPT_SPACE = re.compile(r"^ | $|(?<=\s) | (?=\s)")
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "`": r"\textasciigrave{}",
        "\x00": "\\ ",
        "\n": r"\newline{}",
        "\t": r"\symbol{9}",
        "\r": r"\symbol{13}",
        **{character: "\\" + character for character in "{}$&#_%"},
    }
)


def locate_latex(text: str) -> list[tuple[int, int]]:
    r"""Spans of the outermost ``table`` or tabular environments, and of the first open one."""
    return outermost(_ENVIRONMENT, text)


def read_latex(text: str) -> Table:
    r"""Read the one tabular (``tabular*``, ``tabularx``, ``tabulary``, ``longtable``) in ``text``.

    The header is the first row, or the up to three rows above the first ``\midrule``, joined
    with a space. ``\multicolumn`` and ``\multirow`` are repeated in every place they span. Rules,
    comments and formatting are dropped, escapes, accents and simple mathematics become text,
    ``\caption`` becomes the title. A short row is filled with empty cells, as LaTeX sets it.

    Raises:
        TableError: no tabular, several, malformed LaTeX, a row with more cells than the header,
            or more than :data:`MAX_CHARACTERS` characters.
    """
    looks = r"\begin{tabular} ... \end{tabular}"
    span = only_table(text, locate_latex(text), "LaTeX", looks)
    if len(span) > MAX_CHARACTERS:
        raise TableError(
            f"the LaTeX table has {len(span):,} characters; the limit is {MAX_CHARACTERS:,}"
        )
    if not list(_ENVIRONMENT.finditer(span))[-1]["close"]:
        raise TableError(r"the LaTeX table is cut off (no \end{tabular})")
    if _REFUSED.search(span):
        raise TableError("the LaTeX table holds a control character")
    try:
        text = _CMIDRULE_TRIM.sub(r"\1", span).translate(_HIDE)
        walker = latexwalker.LatexWalker(text, latex_context=_WALKER_DB, tolerant_parsing=False)
        return _read_nodes(walker.get_latex_nodes()[0])
    except latexwalker.LatexWalkerError as error:
        last = str(error).strip().splitlines()[0]
        raise TableError(f"malformed LaTeX table: {last}") from error
    except RecursionError as error:
        raise TableError("malformed LaTeX table: nested too deeply") from error


def write_latex(table: Table) -> str:
    r"""Write a ``tabular`` ruled by ``\hline``; a title makes it a ``table`` with ``\caption``.

    Raises:
        TableError: a cell holds a control character (tab, newline and carriage return are
            carried) or a lone surrogate.
    """
    refuse_characters(table, _REFUSED, "LaTeX", title=True)
    lines = [
        f"\\begin{{tabular}}{{{'l' * len(table.columns)}}}",
        "\\hline",
        _write_row(table.columns),
        "\\hline",
        *map(_write_row, table.rows),
        *(["\\hline"] if table.rows else []),
        "\\end{tabular}",
    ]
    if table.title:
        caption = f"\\caption{{{_escape(table.title)}}}"
        lines = ["\\begin{table}", caption, *lines, "\\end{table}"]
    return "\n".join(lines)


def _read_unknown(node: Any, l2tobj: Any) -> str:
    r"""The last argument of a macro such as ``\texttt``, which pylatexenc would drop."""
    arguments = node.nodeargd.argnlist if node.nodeargd else None
    last = arguments[-1] if arguments else None
    return str(l2tobj.nodelist_to_text([last])) if last is not None else ""


def _read_symbol(node: Any, l2tobj: Any) -> str:
    code = l2tobj.nodelist_to_text(node.nodeargd.argnlist).strip()
    return {"9": "\x02", "13": "\x03"}.get(code, "\ufffd")


_WALKER_DB = latexwalker.get_default_latex_context_db()
_WALKER_DB.add_context_category(
    "tables",
    macros=[std_macro(name, arguments) for name, arguments in _DATA["arguments"].items()],
    environments=[std_environment(name, arguments) for name, arguments in _TABULARS.items()],
    prepend=True,
)
_macro = latex2text.MacroTextSpec
_TEXT_DB = latex2text.get_default_latex_context_db()
_TEXT_DB.add_context_category(
    "tables",
    macros=[
        *(_macro(name, simplify_repl=text) for name, text in _DATA["texts"].items()),
        _macro("symbol", simplify_repl=_read_symbol),
    ],
    specials=[latex2text.SpecialsTextSpec("~", simplify_repl=" ")],
    prepend=True,
)
_TEXT_DB.set_unknown_macro_spec(_macro("", simplify_repl=_read_unknown))
_to_text = latex2text.LatexNodes2Text(latex_context=_TEXT_DB, math_mode="text", keep_comments=False)


def _read_nodes(nodes: Sequence[Any]) -> Table:
    found = list(_descend(nodes))
    tabulars = [node for node in found if _is_tabular(node)]
    captions = [node for node in found if not _is_tabular(node)]
    if len(tabulars) != 1:
        raise TableError(f"{len(tabulars)} LaTeX tabulars where one is expected")
    header, rows, inside = _read_rows(tabulars[0].nodelist)
    captions += inside
    title = _read_text([captions[0].nodeargd.argnlist[-1]]) if captions else ""
    return _build(header, rows, title)


def _descend(nodes: Sequence[Any]) -> Iterator[Any]:
    """Tabulars and captions, outside of tabulars, in order."""
    for node in nodes:
        if _is_tabular(node) or _name(node) == "caption":
            yield node
        elif isinstance(node, LatexEnvironmentNode | LatexGroupNode):
            yield from _descend(node.nodelist)


def _is_tabular(node: Any) -> bool:
    return isinstance(node, LatexEnvironmentNode) and node.environmentname in _TABULARS


def _name(node: Any) -> str:
    """The macro's name, or an empty string for any other node."""
    return str(node.macroname) if isinstance(node, LatexMacroNode) else ""


def _read_rows(nodes: Sequence[Any]) -> tuple[list[Row], list[Row], list[Any]]:
    """Header rows, body rows and captions of a tabular; a cell is a list of nodes."""
    rows: list[Row] = []
    row: Row = [[]]
    parts: dict[str, list[Row]] = {}
    captions: list[Any] = []
    header_rows = 0
    for node in [*nodes, None]:
        name = _name(node)
        if node is None or name in _ROW_ENDS:
            # A row without "&" and without a cell is vertical space, or the end of the tabular.
            is_empty = all(
                isinstance(own, LatexCharsNode) and not own.chars.strip(" \t\r\n") for own in row[0]
            )
            rows += [] if is_empty and len(row) == 1 else [row]
            row = [[]]
        elif isinstance(node, LatexSpecialsNode) and node.specials_chars == "&":
            row.append([])
        elif name in _RULES:
            if name == "midrule" and not header_rows:
                header_rows = len(rows)
        elif name in _LONGTABLE_PARTS:
            parts[name], rows = rows, []
        elif name == "caption":
            captions.append(node)
        elif name != "label" and not isinstance(node, LatexCommentNode):
            row[-1].append(node)
    if head := parts.get("endfirsthead") or parts.get("endhead"):
        return head, rows, captions
    if not rows:
        raise TableError("the LaTeX tabular has no row")
    # A \midrule far down divides the body, not the header from it.
    count = header_rows if 0 < header_rows <= MAX_HEADER_ROWS else 1
    return rows[:count], rows[count:], captions


def _build(header: list[Row], rows: list[Row], title: str) -> Table:
    names = _lay_out(header)
    width = max(map(len, names))
    columns = [
        " ".join(dict.fromkeys(filter(None, (row[i] for row in names if i < len(row)))))
        for i in range(width)
    ]
    cells = _lay_out(rows)
    refuse_size(len(rows), width)
    for number, row in enumerate(cells, 1):
        if len(row) > width:
            raise TableError(
                f"LaTeX row {number} has {len(row)} cells, the header has {width}: "
                "escape & inside a cell as \\&"
            )
    return Table.of(columns, [row + [""] * (width - len(row)) for row in cells], title)


def _lay_out(rows: list[Row]) -> list[list[str]]:
    r"""Texts of the cells, ``\multicolumn`` and ``\multirow`` repeated where they span."""
    grid: list[list[str]] = []
    hanging: dict[int, tuple[str, int]] = {}
    for row in rows:
        texts: list[str] = []
        for nodes in row:
            text = _read_text(nodes)
            for _ in range(_read_span(nodes, "multicolumn", 0)):
                column = len(texts)
                above, left = hanging.pop(column, ("", 0))
                height = _read_span(nodes, "multirow", 1) - 1
                if height > 0:
                    hanging[column] = (text, height)
                elif left > 1 and not text:
                    hanging[column] = (above, left - 1)
                texts.append(text or above)
            refuse_size(1, len(texts))
        grid.append(texts)
    return grid


def _read_span(nodes: Sequence[Any], macro: str, argument: int) -> int:
    r"""The first number of a ``\multicolumn`` or ``\multirow`` among ``nodes``, else 1."""
    for node in nodes:
        if _name(node) in ("multicolumn", "multirow"):
            arguments = node.nodeargd.argnlist
            if _name(node) == macro:
                number = _read_text([arguments[argument]])
                if not re.fullmatch(r"[0-9]{1,4}", number) or not 0 < int(number) <= MAX_SPAN:
                    raise TableError(f"malformed LaTeX table: \\{macro}{{{number[:20]}}}")
                return int(number)
            return _read_span([arguments[-1]], macro, argument)
        if isinstance(node, LatexGroupNode):
            span = _read_span(node.nodelist, macro, argument)
            if span > 1:
                return span
    return 1


def _read_text(nodes: Sequence[Any]) -> str:
    text: str = _to_text.nodelist_to_text(list(nodes))
    return _NEWLINE.sub("\x01", _SPACES.sub(" ", text)).strip(" ").translate(_SHOW)


def _write_row(cells: Sequence[Cell]) -> str:
    texts = [_escape(cell or "") for cell in cells]
    # "\\" of the row above would take "[" or "*" for its own; an empty line is no row.
    if texts[0].startswith(("[", "*")) or texts == [""]:
        texts[0] = "{}" + texts[0]
    return " & ".join(texts) + " \\\\"


def _escape(text: str) -> str:
    text = _KEPT_SPACE.sub("\x00", text).translate(_ESCAPES)
    return _LIGATURES.sub(r"\1{}", text)
