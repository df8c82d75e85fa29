"""Write a table: five formats that read back, and the seven serialisations of ToRR."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Literal, get_args

from tablemend.tables.csvtable import write_csv
from tablemend.tables.html import html_rows, write_html
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
    columns, rows = table.columns, [[cell or "" for cell in row] for row in table.rows]
    spell = _bare if bare_numbers else json.dumps
    match name:
        case "html":
            return html_rows(columns, rows)
        case "json":
            records = (dict(zip(columns, map(spell, row), strict=True)) for row in rows)
            fields = (
                ", ".join(f"{json.dumps(n)}: {cell}" for n, cell in r.items()) for r in records
            )
            return "{" + ", ".join(f'"{n}": {{{own}}}' for n, own in enumerate(fields)) + "}"
        case "markdown":
            lines = [columns, ["---"] * len(columns), *rows]
            return "\n".join(f"|{'|'.join(line)}|" for line in lines)
        case "indexed_row_major":
            numbered = (f"row {number} : {' | '.join(row)}" for number, row in enumerate(rows, 1))
            return " ".join([f"col : {' | '.join(columns)}", *numbered])
        case "df":
            named = zip(_number_repeats(columns), zip(*rows, strict=True), strict=True)
            lists = (f"{json.dumps(n)}: [{', '.join(map(spell, cells))}]" for n, cells in named)
            return f"pd.DataFrame({{\n{', '.join(lists)}}},\nindex={list(range(len(rows)))})"
        case "concat":
            return " ".join(cell for line in [columns, *rows] for cell in line)
        case "csv":
            buffer = io.StringIO()
            csv.writer(buffer, lineterminator="\n").writerows([columns, *rows])
            return buffer.getvalue().strip()


def _bare(cell: str) -> str:
    return cell if _NUMBER.fullmatch(cell) else json.dumps(cell)


def _number_repeats(columns: Iterable[str]) -> list[str]:
    """Names with ``_1``, ``_2``, ... on the second, third, ... of the same name."""
    seen: Counter[str] = Counter()
    names = []
    for name in columns:
        names.append(f"{name}_{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return names
