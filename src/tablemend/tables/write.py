"""Write a table: five formats that read back, and the seven serialisations of ToRR."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

from tablemend.tables.csvtable import write_csv
from tablemend.tables.html import write_html
from tablemend.tables.jsontable import write_json
from tablemend.tables.latex import write_latex
from tablemend.tables.markdown import write_markdown
from tablemend.tables.read import Format
from tablemend.tables.table import Table, TableError

WRITERS: dict[Format, Callable[[Table], str]] = {
    "markdown": write_markdown,
    "json": write_json,
    "latex": write_latex,
    "csv": write_csv,
    "html": write_html,
}
Serialisation = Literal["html", "json", "markdown", "indexed_row_major", "df", "concat", "csv"]
SERIALISATIONS: tuple[Serialisation, ...] = get_args(Serialisation)

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")


def write_table(table: Table, format: Format) -> str:
    """Write ``table`` so that reading it gives the same table back.

    JSON, LaTeX and HTML carry the title, Markdown and CSV do not.

    Raises:
        TableError: a cell holds a character that the format cannot carry.
    """
    return WRITERS[format](table)


def serialize(table: Table, name: Serialisation, *, bare_numbers: bool = False) -> str:
    """Write ``table`` as a prompt, character for character as ToRR does (unitxt's serialisers).

    These are for models to read, not to be read back: nothing is escaped, the title is left
    out, and ``json`` keeps only the last of two columns of one name, as ToRR does. An empty cell
    is an empty string.

    Args:
        table: the table.
        name: the serialisation.
        bare_numbers: write cells that are plain decimal numbers (``26``, ``-1.50``) without
            quotes in ``json`` and ``df``, as ToRR does where its source has numbers. Cells are
            text here, so by default they are quoted, as ToRR does where its source has text.

    Raises:
        TableError: no row (any but ``csv``; ToRR refuses such tables too).
    """
    if not table.rows and name != "csv":
        raise TableError(f"the {name} serialisation needs at least one row")
    rows = [[cell or "" for cell in row] for row in table.rows]
    return _SERIALISERS[name](table.columns, rows, _bare if bare_numbers else json.dumps)


Rows = Sequence[Sequence[str]]
Spell = Callable[[str], str]


def _bare(cell: str) -> str:
    return cell if _NUMBER.fullmatch(cell) else json.dumps(cell)


def _serialize_csv(columns: Sequence[str], rows: Rows, spell: Spell) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([columns, *rows])
    return buffer.getvalue().strip()


def _serialize_markdown(columns: Sequence[str], rows: Rows, spell: Spell) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"|{'|'.join(line)}|" for line in lines)


def _serialize_indexed(columns: Sequence[str], rows: Rows, spell: Spell) -> str:
    parts = [f"col : {' | '.join(columns)}"]
    parts += [f"row {number} : {' | '.join(row)}" for number, row in enumerate(rows, 1)]
    return " ".join(parts)


def _serialize_df(columns: Sequence[str], rows: Rows, spell: Spell) -> str:
    names = _number_repeats(columns)
    lists = (
        f"{json.dumps(name)}: [{', '.join(map(spell, cells))}]"
        for name, cells in zip(names, zip(*rows, strict=True), strict=True)
    )
    return f"pd.DataFrame({{\n{', '.join(lists)}}},\nindex={list(range(len(rows)))})"


def _number_repeats(columns: Iterable[str]) -> list[str]:
    """Names with ``_1``, ``_2``, ... on the second, third, ... of the same name."""
    seen: dict[str, int] = {}
    names = []
    for name in columns:
        count = seen.get(name, 0)
        seen[name] = count + 1
        names.append(f"{name}_{count}" if count else name)
    return names


def _serialize_json(columns: Sequence[str], rows: Rows, spell: Spell) -> str:
    records = []
    for number, row in enumerate(rows):
        record = dict(zip(columns, row, strict=True))
        fields = (f"{json.dumps(name)}: {spell(cell)}" for name, cell in record.items())
        records.append(f'"{number}": {{{", ".join(fields)}}}')
    return f"{{{', '.join(records)}}}"


def _serialize_html(columns: Sequence[str], rows: Rows, spell: Spell) -> str:
    head = "".join(f"<th>{name}</th>" for name in columns)
    lines = ["<table>", "  <thead>", f"    <tr>{head}</tr>", "  </thead>", "  <tbody>"]
    for row in rows:
        cells = "".join(f"<td>{cell}</td>" for cell in row)
        lines.append(f"    <tr>{cells}</tr>")
    return "\n".join([*lines, "  </tbody>", "</table>"])


def _serialize_concat(columns: Sequence[str], rows: Rows, spell: Spell) -> str:
    return " ".join(cell for line in [columns, *rows] for cell in line)


_SERIALISERS: dict[Serialisation, Callable[[Sequence[str], Rows, Spell], str]] = {
    "html": _serialize_html,
    "json": _serialize_json,
    "markdown": _serialize_markdown,
    "indexed_row_major": _serialize_indexed,
    "df": _serialize_df,
    "concat": _serialize_concat,
    "csv": _serialize_csv,
}
