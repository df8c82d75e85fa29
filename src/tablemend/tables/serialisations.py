"""The table serialisations and perturbations of ToRR (The Mighty ToRR, appendix A.5).

Serialisations have two modes. ``unitxt`` is what the package unitxt writes, which runs the
benchmark: it escapes nothing, so a cell with a pipe or two columns of one name make it ambiguous.
``lossless`` is the same text wherever the table can be read back from that, and the smallest change
elsewhere (each form says which). Neither mode writes the title, and white space at the edges of a
cell is not counted as content: unitxt's transposed tables have a column called ``" "``.

Perturbations change where a cell is, never what it says or which name and row it belongs to. unitxt
is followed to the draw: the same table is always perturbed in the same way. Only for the empty rows
it draws from the global state, which nobody can repeat; here they are seeded by the table too.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Literal, NamedTuple

from tablemend.tables.csvtable import read_csv, write_csv
from tablemend.tables.html import read_html, write_html
from tablemend.tables.markdown import read_markdown, write_markdown
from tablemend.tables.table import Row, Table, TableError

Mode = Literal["lossless", "unitxt"]
Value = str | int | float

_ROW_MARK = re.compile(r"(\\*)(\||row \d+ :)")
_QUOTED = re.compile(r'[\s"]|^$')


class Number(str):
    """A cell that is a number in the data set's JSON: ``Number(26)``, ``Number(1.5)``.

    unitxt writes such a cell without quotes in ``json`` and ``df``, and draws another order for
    it. Everywhere else it is its text, which it equals. JSON loses it: a table that
    :meth:`Table.from_json` reads back holds texts.
    """

    __slots__ = ()

    @property
    def value(self) -> int | float:
        """The number, as Python's JSON reader gave it."""
        return int(self) if self.removeprefix("-").isdigit() else float(self)


class Serialisation(NamedTuple):
    """How a table with at least one row is written in each mode."""

    unitxt: Callable[[Table], str]
    lossless: Callable[[Table], str]


def serialise(table: Table, name: str, mode: Mode = "lossless") -> str:
    """Write ``table`` in the serialisation called ``name`` in :data:`SERIALISATIONS`.

    An empty cell is an empty string, as unitxt writes ``""`` (it writes ``None`` for JSON's null,
    which a :class:`Table` does not know).

    Raises:
        KeyError: no serialisation has this name.
        TableError: the table has no row and the form is not ``csv`` (unitxt refuses it too), or
            ``lossless`` meets a character that the form cannot carry.
    """
    writers = SERIALISATIONS[name]
    if not table.rows and name != "csv":
        raise TableError(f"the table has no row: it has no serialisation as {name}")
    return writers.unitxt(table) if mode == "unitxt" else writers.lossless(table)


def unitxt_form(table: Table) -> dict[str, list[str] | list[list[Value]]]:
    """The table as unitxt holds it: ``{"header": [...], "rows": [[...], ...]}``."""
    return {"header": list(table.columns), "rows": [_values(row) for row in table.rows]}


def _values(row: Row) -> list[Value]:
    return [cell.value if isinstance(cell, Number) else cell or "" for cell in row]


def _grid(table: Table) -> list[list[str]]:
    """The header and the rows as texts."""
    return [list(table.columns), *([cell or "" for cell in row] for row in table.rows)]


def _readable(
    form: Callable[[Table], str],
    read: Callable[[str], Table],
    write: Callable[[Table], str],
    table: Table,
) -> str:
    """The form of unitxt where ``read`` gives the table back, else what ``write`` writes."""
    table = replace(table, title="")
    text = form(table)
    try:
        kept = _trimmed(read(text)) == _trimmed(table)
    except TableError:
        kept = False
    return text if kept else write(table).removesuffix("\n")


def _trimmed(table: Table) -> Table:
    columns, *rows = ([cell.strip() for cell in row] for row in _grid(table))
    return Table.of(columns, rows)


def _html(table: Table) -> str:
    """Nothing is escaped; lossless: :func:`write_html` where :func:`read_html` would err."""
    header, *rows = _grid(table)
    names = "".join(f"<th>{name}</th>" for name in header)
    body = "".join(
        "\n    <tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<table>\n  <thead>\n    <tr>{names}</tr>\n  </thead>\n  <tbody>{body}\n  </tbody>\n"
        "</table>"
    )


def _markdown(table: Table) -> str:
    """Nothing is escaped; lossless: :func:`write_markdown` where :func:`read_markdown` would err.

    A cell with a pipe, a newline or active markup sets the whole table in that writer's style.
    """
    header, *rows = _grid(table)
    return "\n".join("|" + "|".join(row) + "|" for row in [header, ["---"] * len(header), *rows])


def _csv(table: Table) -> str:
    """Python's CSV, stripped; lossless: :func:`write_csv` where :func:`read_csv` would err."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(_grid(table))
    return text.getvalue().strip()


def _json(table: Table) -> str:
    """Records by number; of columns with the same name only the last is kept."""
    records = (dict(zip(table.columns, _values(row), strict=True)) for row in table.rows)
    return json.dumps(dict(enumerate(records)))


def _json_lossless(table: Table) -> str:
    """A name that repeats is a key that repeats: valid JSON, and nothing else changes."""
    records = (_object(zip(table.columns, _values(row), strict=True)) for row in table.rows)
    return "{" + ", ".join(f'"{number}": {record}' for number, record in enumerate(records)) + "}"


def _object(pairs: Iterable[tuple[str, object]]) -> str:
    return "{" + ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in pairs) + "}"


def _df(table: Table) -> str:
    """A pandas constructor; a name that repeats gets the suffix ``_1``, ``_2``, ...

    Where the suffix makes the name of another column, only the last of the two is kept. As in
    pandas, a column of integers and fractions is one of fractions.
    """
    seen = [table.columns[:index].count(name) for index, name in enumerate(table.columns)]
    names = [f"{name}_{n}" if n else name for name, n in zip(table.columns, seen, strict=True)]
    columns = [
        list(map(float, column)) if set(map(type, column)) == {int, float} else list(column)
        for column in zip(*map(_values, table.rows), strict=True)
    ]
    frame = dict(zip(names, columns, strict=True))
    return _constructor(_object(frame.items()), len(table.rows))


def _df_lossless(table: Table) -> str:
    """A name that repeats is a key that repeats: with a suffix it could be another column's."""
    columns = zip(*map(_values, table.rows), strict=True)
    return _constructor(_object(zip(table.columns, columns, strict=True)), len(table.rows))


def _constructor(columns: str, rows: int) -> str:
    return f"pd.DataFrame({{\n{columns[1:-1]}}},\nindex={list(range(rows))})"


def _indexed_row_major(grid: Iterable[Sequence[str]]) -> str:
    """``col : a | b row 1 : x | y``, in one line."""
    rows = (" | ".join(row) for row in grid)
    return " ".join(
        f"row {number} : {row}" if number else f"col : {row}" for number, row in enumerate(rows)
    ).strip()


def _indexed_row_major_lossless(table: Table) -> str:
    r"""A pipe and a ``row 2 :`` inside a cell get a backslash: ``\|``, ``\row 2 :``.

    Backslashes before them are doubled.
    """
    return _indexed_row_major([_ROW_MARK.sub(r"\1\1\\\2", c) for c in row] for row in _grid(table))


def _concat(table: Table) -> str:
    """All names and cells between single spaces: where a cell or a row ends is lost."""
    return " ".join(" ".join(row) for row in _grid(table)).strip()


def _concat_lossless(table: Table) -> str:
    """One row a line; a cell with white space or quotes, or an empty one, is quoted as in CSV.

    It always differs from unitxt's form, which does not say how many columns there are.
    """

    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"' if _QUOTED.search(cell) else cell

    return "\n".join(" ".join(map(quoted, row)) for row in _grid(table))


SERIALISATIONS = {
    "html": Serialisation(_html, partial(_readable, _html, read_html, write_html)),
    "json": Serialisation(_json, _json_lossless),
    "markdown": Serialisation(
        _markdown, partial(_readable, _markdown, read_markdown, write_markdown)
    ),
    "indexed_row_major": Serialisation(
        lambda table: _indexed_row_major(_grid(table)), _indexed_row_major_lossless
    ),
    "df": Serialisation(_df, _df_lossless),
    "concat": Serialisation(_concat, _concat_lossless),
    "csv": Serialisation(_csv, partial(_readable, _csv, read_csv, write_csv)),
}


EMPTY_ROWS = 2
"""What ToRR inserts."""


def perturb(table: Table, name: str) -> Table:
    """``table`` after the perturbation called ``name`` in :data:`PERTURBATIONS`.

    A shuffle may leave the order as it is. The title is kept.

    Raises:
        KeyError: no perturbation has this name.
    """
    # unitxt's generator for a table: its seed 42 and a hash of the table
    content = str({"table": unitxt_form(table), "seed": 0}).encode("utf-8")
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    return PERTURBATIONS[name](table, Random(f"42/{int(digest[:8], 16)}"))


def _shuffle_rows(table: Table, random: Random) -> Table:
    rows = list(table.rows)
    random.shuffle(rows)
    return replace(table, rows=tuple(rows))


def _shuffle_cols(table: Table, random: Random) -> Table:
    order = list(range(len(table.columns)))
    random.shuffle(order)
    rows = ([row[index] for index in order] for row in table.rows)
    return Table.of([table.columns[index] for index in order], rows, table.title)


def _transpose(table: Table, _: Random) -> Table:
    """Each column is a row that starts with its name; the new names are numbers from 0."""
    header = [" ", *map(str, range(len(table.rows)))]
    return Table.of(header, zip(table.columns, *table.rows, strict=True), table.title)


def _insert_empty_rows(table: Table, random: Random) -> Table:
    rows: list[Row] = list(table.rows)
    for _ in range(EMPTY_ROWS):
        rows.insert(random.randint(0, len(rows)), (None,) * len(table.columns))
    return replace(table, rows=tuple(rows))


PERTURBATIONS: dict[str, Callable[[Table, Random], Table]] = {
    "none": lambda table, _: table,
    "shuffle_rows": _shuffle_rows,
    "shuffle_cols": _shuffle_cols,
    "transpose": _transpose,
    "insert_empty_rows": _insert_empty_rows,
}
CONFIGURATIONS = tuple(f"{form}+{change}" for form in SERIALISATIONS for change in PERTURBATIONS)
"""Serialisation and perturbation: the 35 of section 2.1."""


def write_configuration(table: Table, configuration: str, mode: Mode = "lossless") -> str:
    """``table`` perturbed and serialised as one of :data:`CONFIGURATIONS` says.

    Raises:
        KeyError: there is no such configuration.
    """
    form, _, change = configuration.partition("+")
    return serialise(perturb(table, change), form, mode)
