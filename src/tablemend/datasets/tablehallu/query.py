"""The query: scope, columns in order, sort rule; no cell of the table (TableHallu, A.1.3)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from random import Random

from tablemend.datasets.tablehallu.columns import TypedTable, words_of, write_day
from tablemend.datasets.tablehallu.kernel import Kernel
from tablemend.datasets.tablehallu.scope import Bound
from tablemend.records import Condition, Constraints, SortOrder

OPENINGS = (
    "Please create a table of {subject} {scope}, based on the provided context.",
    "Based on the context, make a table that lists {subject} {scope}.",
    "Please summarize in a table, from the context alone, {subject} {scope}.",
    "From the text above, compile a table covering {subject} {scope}.",
    "Using only the given context, build a table of {subject} {scope}.",
    "Give me a table of {subject} {scope}, drawn from the context.",
    "Please put {subject} {scope} into a table, as described in the context.",
    "Go through the context and tabulate {subject} {scope}.",
)
SCHEMAS = (
    "The table should have the following columns in this sequence: {columns}.",
    "The columns should be, in order: {columns}.",
    "Include the columns {columns}, in that exact order.",
    "Use exactly these columns, from left to right: {columns}.",
    "Its header has to read {columns}, in this order.",
    "List these columns in the given order: {columns}.",
)
SORTS = (
    'Sort the table by "{sort}" in {order} order.',
    'Make sure to sort the rows by "{sort}" in {order} order.',
    'The rows must be in {order} order of "{sort}".',
    'Ensure that the table is sorted by "{sort}" in {order} order.',
    'Arrange the rows by "{sort}", {order}.',
    'Order the entries by "{sort}" in {order} order.',
)
PLAIN_SUBJECT = "the entries"


def write_query(
    typed: TypedTable, kernel: Kernel, subject: str, rng: Random
) -> tuple[str, Constraints]:
    """The query of a kernel, and its constraints as the paper records them (A.2.1).

    A subject that contains a cell of the gold table is replaced by a plain one.
    """
    names = typed.table.columns
    if _names_a_cell(typed, kernel, subject):
        subject = PLAIN_SUBJECT
    scope = " and ".join(phrase_bound(bound, typed, rng) for bound in kernel.scope.bounds)
    columns = [names[index] for index in kernel.columns]
    parts = (
        rng.choice(OPENINGS).replace("{scope}", scope, 1).replace("{subject}", subject, 1),
        rng.choice(SCHEMAS).replace("{columns}", list_columns(columns)),
        rng.choice(SORTS).replace("{order}", kernel.order).replace("{sort}", names[kernel.sort]),
    )
    return " ".join(parts), constraints_of(
        [bound.condition for bound in kernel.scope.bounds],
        subject,
        names[kernel.sort],
        kernel.order,
    )


def list_columns(columns: Sequence[str]) -> str:
    """Quoted names with *and* before the last one."""
    quoted = [f'"{column}"' for column in columns]
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


def constraints_of(
    conditions: Sequence[Condition], subject: str, sort: str, order: SortOrder
) -> Constraints:
    """The four fields of the paper and the machine-checkable conditions."""
    ranges = [condition for condition in conditions if not condition.values]
    return Constraints(
        entity_scope=(subject, *(v for condition in conditions for v in condition.values)),
        numerical_range="; ".join(map(_range_text, ranges)) or None,
        sort_column=sort,
        sort_order=order,
        conditions=tuple(conditions),
    )


def _range_text(condition: Condition) -> str:
    low, high = condition.low, condition.high
    if low == high:
        return str(low)
    if low is None:
        return f"up to {high}"
    return f"from {low}" if high is None else f"{low} to {high}"


def _names_a_cell(typed: TypedTable, kernel: Kernel, subject: str) -> bool:
    spoken = words_of(subject)
    return any(
        cell is not None and words_of(cell) in spoken
        for row in kernel.rows
        for cell in (typed.table.rows[row][column] for column in kernel.columns)
    )


def phrase_bound(bound: Bound, typed: TypedTable, rng: Random) -> str:
    """A condition in words; all ends are included, and said to be where that is not plain."""
    name = typed.table.columns[bound.column]
    if bound.values:
        values = sorted(bound.values)
        listing = values[0] if len(values) == 1 else f"{', '.join(values[:-1])} or {values[-1]}"
        return rng.choice(('whose "{}" is {}', 'with {1} as "{0}"', 'where "{}" is {}')).format(
            name, listing
        )
    low, high = (_spoken_end(bound, end, typed) for end in (bound.low, bound.high))
    if low is None:
        return rng.choice(('whose "{}" is {} or {}', 'with "{}" at {} or {}')).format(
            name, high, "earlier" if bound.kind in ("year", "date") else "less"
        )
    if high is None:
        return rng.choice(('whose "{}" is {} or {}', 'with "{}" at {} or {}')).format(
            name, low, "later" if bound.kind in ("year", "date") else "more"
        )
    if low == high:
        return rng.choice(('whose "{}" is {}', 'with "{}" at {}')).format(name, low)
    return rng.choice(
        (
            'whose "{}" is from {} to {} (inclusive)',
            'whose "{}" lies between {} and {}, both included',
            'with "{}" from {} to {}, ends included',
            'where "{}" is at least {} and at most {}',
        )
    ).format(name, low, high)


def _spoken_end(bound: Bound, end: float | None, typed: TypedTable) -> str | None:
    if end is None:
        return None
    if bound.kind == "date":
        return write_day(date.fromordinal(int(end)))
    if bound.kind == "year":
        return str(int(end))
    prefix, suffix = typed.columns[bound.column].unit
    digits = f"{end:,.15g}" if abs(end) >= 10_000 else f"{end:.15g}"
    joint = "" if suffix in ("", "%") else " "
    sign = "-" if end < 0 else ""
    return f"{sign}{prefix}{digits.removeprefix('-')}{joint}{suffix}"
