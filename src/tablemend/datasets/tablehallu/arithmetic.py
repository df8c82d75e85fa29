"""The arithmetic subset: queries for one more column, worked out of two others (TableHallu, D.3).

An example without blanks becomes five: as it is, and with each operation on the same two columns,
so that what the calculation costs is measured on the same rows and the same context (Figure 7).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from random import Random

import yaml

from tablemend.datasets.tablehallu.columns import Column, read_number, type_columns, words_of
from tablemend.datasets.tablehallu.kernel import Rejected
from tablemend.datasets.tablehallu.query import list_columns
from tablemend.programs.program import (
    Difference,
    Expression,
    Product,
    Program,
    Ratio,
    Rows,
    Sum,
    Value,
)
from tablemend.records import Computed, Example
from tablemend.tables.table import Table
from tablemend.values.units import ONE, header_unit

PROGRAMS: dict[str, Callable[[Expression, Expression], Program]] = {
    "addition": Sum,
    "subtraction": Difference,
    "multiplication": Product,
    "division": Ratio,
}
QUERIES = 1 + len(PROGRAMS)
"""Queries that one kernel gives: the first without a calculation."""
MOST_DECIMALS = 2
_LARGEST = 10**9
_TIE = 1e-6
_WORDS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_NO_MEASURES = frozenset(_WORDS["no_measures"])


def with_computed_column(example: Example, rng: Random) -> list[Example]:
    """The example, and the same with each operation on two of its columns.

    The larger column comes first. Both are plain numbers in one unit, no result is zero, above a
    billion, or exactly between two numbers of the decimals that the query states.

    Returns:
        In the order of :data:`PROGRAMS`.

    Raises:
        Rejected: no two columns allow all operations.
    """
    table = example.gold_table
    columns, _ = type_columns(table.columns, table.rows)
    measures = [
        place
        for place, column in enumerate(columns)
        if is_measure(column) and all(plain_number(row[place]) is not None for row in table.rows)
    ]
    pairs = list(combinations(measures, 2))
    rng.shuffle(pairs)
    units = {place: header_unit(table.columns[place]) for place in measures}
    pairs = [
        (one, other)
        for one, other in pairs  # "5" of (USD million) and "7" of another unit: added to 7 million?
        if units[one] == units[other] or units[one].scale == units[other].scale == ONE
    ]
    pairs.sort(key=lambda pair: units[pair[0]] != units[pair[1]])
    for pair in pairs:
        found = [_compute(example, operation, pair, rng) for operation in PROGRAMS]
        if None not in found:
            return [example, *(one for one in found if one)]
    raise Rejected("no two columns to calculate with")


def is_measure(column: Column) -> bool:
    """Whether one may calculate with a column: numbers that do not rank, and are no percent."""
    words = words_of(column.name).split()
    plain = column.kind == "number" and column.unit == ("", "") and not column.serial
    plain = plain and header_unit(column.name).symbol != "%"
    return plain and _NO_MEASURES.isdisjoint(words)


def plain_number(cell: str | None) -> Decimal | None:
    """A number without currency, unit or sign of percent."""
    number = read_number(cell) if cell else None
    return Decimal(str(number[0])) if number and number[1:] == ("", "") else None


def _compute(
    example: Example, operation: str, pair: tuple[int, int], rng: Random
) -> Example | None:
    """The example with one operation; ``None`` where it is not allowed."""
    gold, name = example.gold_table, _WORDS["column"]
    totals = {
        place: sum(abs(plain_number(row[place]) or Decimal(0)) for row in gold.rows)
        for place in pair
    }
    one, other = sorted(pair, key=totals.__getitem__, reverse=True)
    left, right = gold.columns[one], gold.columns[other]
    cells = [row[place] or "" for row in gold.rows for place in pair]
    stated = [len(cell.partition(".")[2]) for cell in cells]
    exact = {"multiplication": 2 * max(stated), "division": MOST_DECIMALS}
    decimals = min(MOST_DECIMALS, exact.get(operation, max(stated)))
    results = [
        _round(_run(operation, row[one], row[other]), decimals, any("," in cell for cell in cells))
        for row in gold.rows
    ]
    if None in results:
        return None
    how = rng.choice(_WORDS["operations"][operation]).format(left=left, right=right)
    sentence = rng.choice(_WORDS["sentences"]).format(
        column=name, how=how, precision=_WORDS["precisions"][decimals]
    )
    computed = Computed(name, operation, left, right, decimals)
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


def _run(operation: str, left: str | None, right: str | None) -> float | None:
    """What a table program makes of the two cells of a row."""
    from tablemend.programs.execute import execute  # with the verifier's reader of tables
    from tablemend.programs.table import TypedTable

    table = TypedTable.of(Table.of(("Name", "Left", "Right"), [("row", left, right)]))
    result = execute(PROGRAMS[operation](Value(Rows(), 1), Value(Rows(), 2)), table)
    return result.value if isinstance(result.value, float) else None


def _round(value: float | None, decimals: int, grouped: bool) -> str | None:
    """A result as it is written; ``None`` where it is not allowed."""
    if value is None or abs(value) > _LARGEST:
        return None
    text = f"{value:{',' if grouped else ''}.{decimals}f}"
    is_tie = abs(abs(value) * 10**decimals % 1 - 0.5) < _TIE
    return None if is_tie or not text.strip("-0.,") else text
