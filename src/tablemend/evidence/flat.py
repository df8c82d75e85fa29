"""A table of several levels as a plain one: one header row, and rows that are entities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tablemend.evidence.grid import Column, Grid
from tablemend.evidence.labels import is_unit_label
from tablemend.tables.table import Table
from tablemend.values.cells import is_blank

SECTION = "Section"
"""Header of the column that says below which heading a row stood."""
UNNAMED = "Item"
"""Header of a first column that has none, the unit of all others, or the table's title."""
LONGEST = 60
"""Characters of a name beyond which only its last level is kept."""
_BRACKETS = re.compile(r"\s*\([^()]*\)\s*")


def flatten(table: Table) -> Table:
    """A table with one header row, without headings, totals, units, notes and spacer columns.

    The levels of a header become one name; headings of rows become a column where they are what
    tells rows of one name apart, or group most rows. Of columns with one name, each takes the name
    of the column that it follows ("Gold, Time, Silver, Time"); the second of two that cannot be
    told apart so is left out, and so is one without a name behind the first.
    """
    grid = Grid(table)
    lines = [line for line in grid.lines if not line.total]
    rows = [grid.named_row(line.index) for line in lines]
    used = [
        column for column in grid.columns if any(not is_blank(row[column.index]) for row in rows)
    ]
    if not used:
        return table
    names = _names(used)
    cells = [tuple(row[column.index] for row in rows) for column in used]
    kept: dict[str, tuple[str, ...]] = {}
    for name, column in zip(names, cells, strict=True):
        if name and name.casefold() not in map(str.casefold, kept):
            kept[name] = column
    above = [
        ", ".join(part.strip(" :") for part in line.path if part not in row)
        for line, row in zip(lines, rows, strict=True)
    ]
    filled = sum(map(bool, above))
    if len(set(above) - {""}) > 1 and 5 * filled >= 4 * len(rows) and SECTION not in kept:
        kept[SECTION] = tuple(above)
    return Table.of([*kept], zip(*kept.values(), strict=True), table.title)


def _names(columns: Sequence[Column]) -> list[str]:
    """One name for each column; the same twice, or none, where there is no other."""
    inner = Counter(column.name.casefold() for column in columns)
    names = []
    for column in columns:
        name = " ".join(column.path)
        # What stands above words ("Club performance" over "Season") says nothing of them.
        is_apart = column.kind != "number" or len(name) > LONGEST
        names.append(
            (column.name if is_apart and inner[column.name.casefold()] == 1 else name).strip(" :")
        )
    if is_unit_label(names[0]) or not 0 < len(_BRACKETS.sub("", names[0])) <= LONGEST:
        names[0] = UNNAMED
    counts = Counter(map(str.casefold, names))
    leader = ""
    led = list(names)
    for place, name in enumerate(names):
        if counts[name.casefold()] == 1:
            leader = name
        elif leader and name:
            led[place] = f"{leader} {columns[place].name}"
    counts = Counter(map(str.casefold, led))
    return [
        own if counts[own.casefold()] == 1 else name for own, name in zip(led, names, strict=True)
    ]
