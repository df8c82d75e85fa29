"""The structural perturbations of ToRR (The Mighty ToRR, appendix A.5.2 and table 4).

They change where a cell is, never what it says or which name and row it belongs to. The package
unitxt, which runs the benchmark, is followed to the draw: the same table is always perturbed in
the same way. Only for the empty rows unitxt draws from the global state, which nobody can repeat;
here they are seeded by the table as the shuffles are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from random import Random

from tablemend.tables.serialisations import SERIALISATIONS, Mode, serialise, unitxt_form
from tablemend.tables.table import Row, Table

EMPTY_ROWS = 2
"""What ToRR inserts."""


def perturb(table: Table, name: str) -> Table:
    """``table`` after the perturbation called ``name`` in :data:`PERTURBATIONS`.

    A shuffle may leave the order as it is. The title is kept.

    Raises:
        KeyError: no perturbation has this name.
    """
    return PERTURBATIONS[name](table, _generator(table))


def _generator(table: Table) -> Random:
    """The generator of unitxt for a table: its seed 42 and a hash of the table."""
    content = str({"table": unitxt_form(table), "seed": 0}).encode("utf-8")
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    return Random(f"42/{int(digest[:8], 16)}")


def _none(table: Table, _: Random) -> Table:
    return table


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
    "none": _none,
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
