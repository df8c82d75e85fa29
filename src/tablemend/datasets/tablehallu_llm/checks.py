"""What a program checks of a kernel that a model wrote, before another model reads it.

Every check returns all problems that it finds, each in words that the writer can act on; none
means that nothing is wrong that a program can see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tablemend.datasets.tablehallu.columns import words_of
from tablemend.datasets.tablehallu.settings import Shape
from tablemend.datasets.tablehallu_llm.omissions import Omissions
from tablemend.datasets.tablehallu_llm.parsing import KernelDraft
from tablemend.datasets.tablehallu_llm.statements import Statements, overlap
from tablemend.detector.keys import primary_key
from tablemend.detector.order import is_sorted
from tablemend.prompting.replies import Problem
from tablemend.tables.table import Table
from tablemend.values.blanks import is_blank
from tablemend.values.text import fold, header_key
from tablemend.values.units import header_unit

COLUMNS = "number of columns"
ROWS = "number of rows"
HEADER = "column name empty, doubled or with quotes"
NO_NULL = "no empty cell"
BLANK_WORD = "word for an empty cell"
SEVERAL_VALUES = "several values in a cell"
EMPTY_COLUMN = "empty column"
KEY_EMPTY = "row without a name"
KEY_REPEATED = "name of two rows"
SAME_ROW = "row twice"
SORT_COLUMN = "sort column not in the table"
SORT_EMPTY = "empty cell in the sort column"
UNSORTED = "rows not sorted as declared"
NOT_STATED = "value not stated"
NO_PROSE = "context is no prose"
EXTRA = "number that the table does not have"

_LONGEST_CELL = 80
_MARKUP = ("|", "#", "- ", "* ", "1. ", "```")


def check_kernel(draft: KernelDraft, shape: Shape) -> list[Problem]:
    """Table and base context (TableHallu, A.1.2 and A.3.1).

    Args:
        draft: what the model wrote.
        shape: admitted numbers of rows and columns.
    """
    problems = [*_check_shape(draft.table, shape), *_check_header(draft.table)]
    if problems:
        return problems  # what follows needs a table that can be read
    problems = [
        *_check_cells(draft.table),
        *_check_rows(draft.table),
        *_check_order(draft),
    ]
    return [*problems, *_check_context(draft)]


def _check_shape(table: Table, shape: Shape) -> Iterator[Problem]:
    columns, rows = len(table.columns), len(table.rows)
    if not shape.min_columns <= columns <= shape.max_columns:
        yield Problem(
            COLUMNS,
            f"The table has {columns} columns; it must have {shape.min_columns} to "
            f"{shape.max_columns}.",
        )
    if not shape.min_rows <= rows <= shape.max_rows:
        yield Problem(
            ROWS,
            f"The table has {rows} rows; it must have {shape.min_rows} to {shape.max_rows}.",
        )


def _check_header(table: Table) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for name in table.columns:
        key = header_key(name)
        if not key or '"' in name:
            yield Problem(HEADER, f"The column name {name!r} must be words without quotes.")
        elif key in seen:
            yield Problem(HEADER, f"The columns {seen[key]!r} and {name!r} have one name.")
        seen[key] = name


def _check_cells(table: Table) -> Iterator[Problem]:
    if all(cell is not None for row in table.rows for cell in row):
        yield Problem(NO_NULL, "At least one cell must be null.")
    for name, cells in zip(table.columns, zip(*table.rows, strict=True), strict=True):
        if all(cell is None for cell in cells):
            yield Problem(EMPTY_COLUMN, f"The column {name!r} is empty.")
        for cell in cells:
            if cell is None:
                continue
            if is_blank(cell):
                yield Problem(BLANK_WORD, f"Write null for {cell!r} in the column {name!r}.")
            elif len(cell) > _LONGEST_CELL or ";" in cell or cell.count(", ") > 2:
                yield Problem(
                    SEVERAL_VALUES, f"The cell {cell!r} in the column {name!r} is no single value."
                )


def _check_rows(table: Table) -> Iterator[Problem]:
    key = primary_key(table)
    name = table.columns[key]
    entities = [row[key] for row in table.rows]
    if None in entities:
        yield Problem(KEY_EMPTY, f"The column {name!r} names the rows; no cell there may be null.")
    doubled = [row for row, count in Counter(table.rows).items() if count > 1]
    for row in doubled:
        yield Problem(SAME_ROW, f"The row of {row[key]!r} is in the table twice.")
    counts = Counter(fold(entity) for entity in entities if entity is not None)
    for row in table.rows:
        entity = row[key]
        # Of two rows of one name nobody could say which one a text passes over.
        if entity is not None and counts[fold(entity)] > 1 and None in row:
            yield Problem(
                KEY_REPEATED,
                f"Two rows have {entity!r} in the column {name!r}, which names the rows, and one "
                "of them has an empty cell: give each row a name of its own.",
            )


def _check_order(draft: KernelDraft) -> Iterator[Problem]:
    if draft.sort_column not in draft.table.columns:
        names = ", ".join(draft.table.columns)
        yield Problem(
            SORT_COLUMN,
            f"The table has no column {draft.sort_column!r} to be sorted by; it has {names}.",
        )
        return
    cells = draft.table.column(draft.sort_column)
    if None in cells:
        yield Problem(SORT_EMPTY, f"No cell of the sort column {draft.sort_column!r} may be null.")
    elif not is_sorted(cells, draft.sort_order):
        yield Problem(
            UNSORTED, f"The rows are not in {draft.sort_order} order of {draft.sort_column!r}."
        )


def _check_context(draft: KernelDraft) -> Iterator[Problem]:
    if any(line.startswith(_MARKUP) for line in draft.context.split("\n")):
        yield Problem(NO_PROSE, "The context must be plain prose without headings and lists.")
    table = draft.table
    statements = Statements(table, draft.context, closed=True)
    for number, row in enumerate(table.rows):
        for column, place in statements.locate(number).items():
            if place is None:
                yield Problem(
                    NOT_STATED,
                    f"The context does not state {row[column]!r} ({table.columns[column]}) in a "
                    f"sentence about {row[statements.key]!r}.",
                )
    yield from _check_numbers(statements)
    yield from Omissions(statements).find()


def _check_numbers(statements: Statements) -> Iterator[Problem]:
    """The text says no more than the table (A.3.1), as far as digits tell."""
    table, places = statements.table, statements.places
    units = [header_unit(name) for name in table.columns]
    cells = [(cell, unit) for row in table.rows for cell, unit in zip(row, units, strict=True)]
    said = [span for cell, unit in cells if cell for span in places.find(cell, unit)]
    written = words_of(
        " | ".join([table.title, *table.columns, *(cell or "" for cell, _ in cells)])
    )
    for span in places.amounts(0, len(statements.text)):
        stated = statements.text[slice(*span)]
        if (
            any(map(str.isdigit, stated))
            and words_of(stated) not in written
            and not overlap(span, said)
        ):
            yield Problem(EXTRA, f"The text says {stated!r}, which the table does not have.")
