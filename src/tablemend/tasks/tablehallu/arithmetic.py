"""The arithmetic subset: queries for one more column, worked out of two others (TableHallu, D.3).

An example without blanks becomes five: as it is, and with each operation on the same two columns,
so that what the calculation costs is measured on the same rows and the same context (Figure 7).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random

import yaml

from tablemend.datasets.source_tables.columns import Column, type_columns, words_of
from tablemend.programs.program import (
    Aggregate,
    Condition,
    Difference,
    Program,
    Ratio,
    Rows,
    Value,
)
from tablemend.records import Computed, Example
from tablemend.tables.table import Cell, Table
from tablemend.tasks.tablehallu.groups import Rejected
from tablemend.tasks.tablehallu.query import list_columns
from tablemend.values.units import ONE, header_unit

_LEFT, _RIGHT = (Value(Rows((Condition(0, "=", name),)), 1) for name in ("left", "right"))
PROGRAMS: dict[str, Program] = {
    "addition": Aggregate("sum", Rows(), 1),
    "subtraction": Difference(_LEFT, _RIGHT),
    "multiplication": Aggregate("product", Rows(), 1),
    "division": Ratio(_LEFT, _RIGHT),
}
"""By operation, over a table of two rows: the numbers that it is worked out of."""
MOST_DECIMALS = 2
_LARGEST = 10**9
_TIE = 1e-6
_WORDS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_NO_MEASURES = frozenset(_WORDS["no_measures"])


def with_computed_column(example: Example, rng: Random) -> list[Example]:
    """The example, and the same with each operation on two of its columns.

    The larger column comes first. No result is zero, above a billion, or exactly between two
    numbers of the decimals that the query states.

    Returns:
        In the order of :data:`PROGRAMS`.

    Raises:
        Rejected: no two columns allow all operations.
    """
    table = example.gold_table
    columns, values = type_columns(table.columns, table.rows)
    measures = [p for p, own in enumerate(columns) if is_measure(own) and None not in values[p]]
    measures.sort(key=lambda place: -sum(abs(value or 0) for value in values[place]))
    units = {place: header_unit(table.columns[place]) for place in measures}
    pairs = [
        (one, other)
        for one, other in combinations(measures, 2)
        # "5" of (USD million) and "7" (km): is it 7 million?
        if units[one] == units[other] or units[one].scale == units[other].scale == ONE
    ]
    rng.shuffle(pairs)
    for pair in sorted(pairs, key=lambda pair: units[pair[0]] != units[pair[1]]):
        found = [_compute(example, operation, *pair, rng) for operation in PROGRAMS]
        if None not in found:
            return [example, *(one for one in found if one)]
    raise Rejected("no two columns to calculate with")


def is_measure(column: Column) -> bool:
    """Whether one may calculate with a column: numbers that do not rank, and are no percent."""
    plain = column.kind == "number" and column.unit == ("", "") and not column.serial
    plain = plain and header_unit(column.name).symbol != "%"
    return plain and _NO_MEASURES.isdisjoint(words_of(column.name).split())


def _compute(
    example: Example, operation: str, left: int, right: int, rng: Random
) -> Example | None:
    """The example with one operation; ``None`` where it is not allowed."""
    gold, name = example.gold_table, _WORDS["column"]
    cells = [row[place] or "" for row in gold.rows for place in (left, right)]
    most = max(len(cell.partition(".")[2]) for cell in cells)
    needed = {"multiplication": 2 * most, "division": MOST_DECIMALS}.get(operation, most)
    computed = Computed(
        name, operation, gold.columns[left], gold.columns[right], min(MOST_DECIMALS, needed)
    )
    form = f"{',' * any(',' in cell for cell in cells)}.{computed.decimals}f"
    results = [_run(computed, row[left], row[right], form) for row in gold.rows]
    if None in results:
        return None
    how = rng.choice(_WORDS["operations"][operation])
    how = how.format(left=computed.left, right=computed.right)
    precision = _WORDS["precisions"][computed.decimals]
    sentence = rng.choice(_WORDS["sentences"]).format(column=name, how=how, precision=precision)
    rows = [(*row, result) for row, result in zip(gold.rows, results, strict=True)]
    return replace(
        example,
        query=f"{_with_column(example.query, gold.columns, name)} {sentence}",
        constraints=replace(example.constraints, computed=computed),
        gold_table=Table.of((*gold.columns, name), rows, gold.title),
        id="",
    )


def _with_column(query: str, columns: Sequence[str], name: str) -> str:
    """A query whose list of columns, which are quoted, has one more."""
    between = r'"[^"]{1,20}"'.join(map(re.escape, columns))
    return re.sub(f'"{between}"', lambda _: list_columns([*columns, name]), query, count=1)


def _run(computed: Computed, left: Cell, right: Cell, form: str) -> str | None:
    """What the table program makes of two cells, as it is written; ``None``: not allowed."""
    from tablemend.programs.execute import execute  # with the verifier's reader of tables
    from tablemend.programs.table import TypedTable

    table = TypedTable.of(Table.of(("Name", "Value"), [("left", left), ("right", right)]))
    value = execute(PROGRAMS[computed.operation], table).value
    if not isinstance(value, float) or abs(value) > _LARGEST:
        return None
    is_tie = abs(abs(value) * 10**computed.decimals % 1 - 0.5) < _TIE
    text = f"{value:{form}}"
    return None if is_tie or not text.strip("-0.,") else text
