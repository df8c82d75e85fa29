r"""A small, strict reader of answer tables in the formats that prompts ask for.

Where the table stands: behind the last thought, and behind the last ``####`` or ``<answer>`` where
there is one: then the first table, else the last. A table that is not whole is not read.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class Unreadable(ValueError):
    """There is no whole table in the answer; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as it was written: every row has as many cells as there are columns.

    Attributes:
        columns: the header; empty for a JSON list without a record, which names none.
        rows: the body.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


_NAME = (
    r"(?:[a-z]+[:_])*(?:think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad|monologue)"
    r"(?:_[a-z]+)*"
)
_THOUGHT = re.compile(
    rf"<\|?\s?{_NAME}[^<>]*>|\[think\]|\u25c1think|<\|channel\|?>\s*(?:analysis|commentary|thought)"
    r"|<unused94>|\A\s*analysis(?=(?-i:[A-Z]))",
    re.IGNORECASE,
)
_THOUGHT_END = re.compile(
    rf"<\|?\s?(?:/\s?|end_(?:of_)?){_NAME}\s?\|?>|\[/think\]|\u25c1/think\u25b7|<unused95>"
    r"|<\|channel\|>\s*final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>|<channel\|>|assistantfinal",
    re.IGNORECASE,
)
_AROUND = re.compile(
    r"</answer>|<\|(?:return|end|im_end|eot_id)\|>|^(?:[ \t]*>)+[ \t]*(?=[|{}\[\]])", re.MULTILINE
)


def read_answer(text: str, format: str) -> Grid:
    """The table that a raw answer gives, in one of :data:`_FINDERS`' formats.

    Raises:
        Unreadable: there is none, or it is not whole.
    """
    said = _THOUGHT_END.split(text)[-1]
    if _THOUGHT.search(said):
        raise Unreadable("the thinking never ended")
    _, marker, final = _AROUND.sub("", said.replace("<answer>", "####")).rpartition("####")
    found = _FINDERS[format](final)
    if not found:
        raise Unreadable(f"no {format} table")
    first = found[0] if marker else found[-1]
    if isinstance(first, Unreadable):
        raise first
    return first


def _grid(lines: list[list[str]]) -> Grid | Unreadable:
    """Header and rows of one length; a header that is repeated is no row."""
    head = lines[0]
    rows = [line for line in lines[1:] if line != head or len(head) < 2]
    for number, row in enumerate(rows, 1):
        if len(row) != len(head):
            return Unreadable(f"row {number} has {len(row)} cells, the header {len(head)}")
    return Grid(tuple(head), tuple(map(tuple, rows)))


_DELIMITER = re.compile(r"\s*:?-+:?\s*")
_RULE_AGAIN = re.compile(r"\|(?:\s*:?(?:--+|==+):?\s*\|)+")
_LABEL = re.compile(r"\A[^|]*:[\s*_]*(?=\|.*\|$)")
_PIPE = re.compile(r"(?<!\\)(?:\\\\)*\|")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_EMPHASIS = re.compile(r"(\*\*|__|\*|_|`)(.+)\1", re.DOTALL)


Found = list[Grid | Unreadable]


def _find_markdown(text: str) -> Found:
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        stripped = _LABEL.sub("", line.strip())
        if len(blocks[-1]) > 1 and _RULE_AGAIN.fullmatch(stripped):
            continue
        if stripped.startswith("|"):
            blocks[-1].append(stripped)
        elif blocks[-1]:
            blocks.append([])
    return [_read_markdown(block) for block in blocks if block]


def _read_markdown(block: list[str]) -> Grid | Unreadable:
    lines = [_split_markdown(line) for line in block]
    if len(lines) < 2 or not all(_DELIMITER.fullmatch(cell) for cell in lines[1]):
        return Unreadable("Markdown rows without a delimiter row below the header")
    if len(lines[1]) != len(lines[0]):
        return Unreadable("the delimiter row is not as long as the header")
    return _grid([lines[0], *lines[2:]])


def _split_markdown(line: str) -> list[str]:
    cells, start = [], 1
    for match in _PIPE.finditer(line, 1):
        cells.append(line[start : match.end() - 1])
        start = match.end()
    if line[start:].strip():
        cells.append(line[start:])  # the outer pipe at the end may be left out
    return [_markdown_text(cell) for cell in cells]


def _markdown_text(cell: str) -> str:
    cell = cell.strip()
    if whole := _EMPHASIS.fullmatch(cell):
        cell = whole[2]
    cell = re.sub(r"<br\s*/?>", " ", cell)
    return html.unescape(_ESCAPE.sub(r"\1", cell))


_HALF = re.compile("[\ud800-\udfff]")
_OPENING = re.compile(r"[{\[]")
_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)
_DECODER = json.JSONDecoder(
    parse_float=str,
    parse_int=str,
    parse_constant=str,
    object_pairs_hook=lambda pairs: _Pairs(pairs),
)


class _Pairs(list[tuple[str, Any]]):
    """An object as it was written, names that stand twice included."""


def _find_json(text: str) -> Found:
    found: Found = []
    values = []
    text = _LAST_COMMA.sub(lambda match: match[1] or "", text)
    position = 0
    while match := _OPENING.search(text, position):
        try:
            value, position = _DECODER.raw_decode(text, match.start())
        except json.JSONDecodeError:
            found.append(Unreadable("broken JSON"))
            position = match.end()
            continue
        except RecursionError:
            return [Unreadable("JSON that is nested too deeply")]
        values.append(value)
        found.append(_read_json(value))
    if 1 < len(values) == len(found) and all(
        isinstance(value, _Pairs) and not any(isinstance(cell, list) for _, cell in value)
        for value in values
    ):
        return [_read_json(values)]  # JSON lines
    whole: Found = [one for one in found if isinstance(one, Grid)]
    return whole or found


def _read_json(value: Any) -> Grid | Unreadable:
    for _ in range(2):  # a table may be wrapped once
        if isinstance(value, _Pairs) and {"columns", "rows"} <= {name for name, _ in value}:
            return _read_split(dict(value))
        inner = [one for _, one in value if isinstance(one, list)] if _Pairs is type(value) else []
        value = inner[0] if len(inner) == 1 else value
    if isinstance(value, _Pairs) or not isinstance(value, list):
        return Unreadable("JSON that is no list of records")
    if not value:
        return Grid((), ())
    if not all(isinstance(record, _Pairs) for record in value):
        return Unreadable("JSON that is no list of records")
    columns = tuple(name for name, _ in value[0])
    rows = []
    for number, record in enumerate(value, 1):
        if tuple(name for name, _ in record) != columns:
            return Unreadable(f"record {number} has other columns than the first")
        if any(isinstance(cell, list) for _, cell in record):
            return Unreadable(f"record {number} holds a list or an object")
        rows.append(tuple(_json_text(cell) for _, cell in record))
    if any(_HALF.search(text) for row in (columns, *rows) for text in row):
        return Unreadable("half of a surrogate pair, which is no character")
    return Grid(columns, tuple(rows))


def _read_split(value: dict[str, Any]) -> Grid | Unreadable:
    """A header and rows of cells: how JSON says the columns of a table without a row."""
    columns, rows = value["columns"], value["rows"]
    lines: list[Any] = [columns, *rows] if isinstance(rows, list) else [None]
    if not all(isinstance(line, list) and not isinstance(line, _Pairs) for line in lines):
        return Unreadable("JSON columns and rows that are no lists")
    if any(isinstance(cell, list) for line in lines for cell in line):
        return Unreadable("a JSON cell that is a list or an object")
    if any(isinstance(cell, str) and _HALF.search(cell) for line in lines for cell in line):
        return Unreadable("half of a surrogate pair, which is no character")
    return _grid([[_json_text(cell) for cell in line] for line in lines])


def _json_text(cell: Any) -> str:
    if cell is None:
        return ""
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


_TABULAR = re.compile(r"\\begin\{(tabular|longtable)\}(.*?)\\end\{\1\}", re.DOTALL)
_RULE = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|endhead|(?:cline|cmidrule)(?:\([lr]+\))?\{[^}]*\})"
)
_ROW_END = re.compile(r"\\\\(?:\[[^\]]*\])?|\\tabularnewline\b")
_AMPERSAND = re.compile(r"(?<!\\)&")
_STYLE = re.compile(r"\\(?:textbf|textit|emph|text|texttt|underline)\{([^{}]*)\}")
_NAMED = {
    "backslash": "\\",
    "asciitilde": "~",
    "asciicircum": "^",
    "asciigrave": "`",
    "endash": "\N{EN DASH}",
    "emdash": "\N{EM DASH}",
}
_TEXT = re.compile(r"\\text(" + "|".join(_NAMED) + r")(?:\{\}|(?![a-z]))")
_LATEX_ESCAPE = re.compile(r"\\([&%$#_{}])")


def _find_latex(text: str) -> Found:
    found = [_read_latex(match[2]) for match in _TABULAR.finditer(text)]
    if not found and "\\begin{tabular}" in text:
        return [Unreadable("the tabular never ends")]
    return found


def _read_latex(body: str) -> Grid | Unreadable:
    depth, rest = 0, body
    for place, character in enumerate(body):  # behind {l|r|p{3cm}}
        depth += (character == "{") - (character == "}")
        if depth == 0 and character == "}":
            rest = body[place + 1 :]
            break
    lines = [
        [_latex_text(cell) for cell in _AMPERSAND.split(line)]
        for line in _ROW_END.split(_RULE.sub(" ", rest))
        if line.strip()
    ]
    return _grid(lines) if lines else Unreadable("a tabular without a row")


def _latex_text(cell: str) -> str:
    cell = _STYLE.sub(r"\1", cell.strip())
    cell = _TEXT.sub(lambda match: _NAMED[match[1]], cell)
    cell = re.sub(r"\\newline(?:\{\})?|\\ |(?<!\\)~", " ", cell)
    if len(cell) > 2 and cell[0] == cell[-1] == "$" and "$" not in cell[1:-1]:
        cell = cell[1:-1]
    return re.sub(r"(?<!\\)\{\}", "", _LATEX_ESCAPE.sub(r"\1", cell))


_FINDERS: dict[str, Callable[[str], Found]] = {
    "markdown": _find_markdown,
    "json": _find_json,
    "latex": _find_latex,
}
