"""The columns of an answer put into the order in which the query lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tablemend.detector.keys import primary_key
from tablemend.detector.query import columns_from_query
from tablemend.mitigations.edits import Edit
from tablemend.tables.table import Table
from tablemend.values.text import header_key
from tablemend.values.words import akin, content_words


@dataclass(frozen=True, slots=True)
class Shape:
    """An answer with the query's columns in its order.

    Attributes:
        table: the table.
        names: the name of each of its columns in the original.
        edits: what was changed.
        added: columns that the original lacks; they are empty.
    """

    table: Table
    names: tuple[str, ...]
    edits: tuple[Edit, ...] = ()
    added: tuple[str, ...] = ()


VERSION = "repair-columns/1"


def in_order(table: Table, query: str) -> Shape:
    """An answer with those of its columns that a query lists, named and ordered as there.

    No column is added; a table with two columns of one name stays as it is.
    """
    wanted = columns_from_query(query) or ()
    if table.duplicate_columns():
        return Shape(table, table.columns)
    key = primary_key(table)
    shape = put_columns_in_order(table, wanted, key, VERSION)
    if not shape.added:
        return shape
    return put_columns_in_order(
        table, [name for name in wanted if name not in shape.added], key, VERSION
    )


def put_columns_in_order(table: Table, wanted: Sequence[str], key: int, method: str) -> Shape:
    """Name, order, drop and add columns as the query lists them.

    The table stays as it is where it is not plain which of its columns is which: half of the
    list must be there, an unknown column is renamed only where it shares words with one that is
    missing and no other pair does, and a column is added only where none is left over.

    Args:
        table: the answer.
        wanted: the query's columns; none where it lists none.
        key: index of the column that names the rows; it is never added.
        method: for the edits.
    """
    as_it_is = Shape(table, table.columns)
    known = {header_key(name): index for index, name in enumerate(table.columns)}
    found = {name: known[header_key(name)] for name in wanted if header_key(name) in known}
    if 2 * len(found) < len(wanted) or len(found) < 2:
        return as_it_is
    extra = [index for index in range(len(table.columns)) if index not in found.values()]
    missing = [name for name in wanted if name not in found]
    edits = []
    if (pair := _only_pair(table, extra, missing)) is not None:
        unnamed, name = pair
        found[name] = unnamed
        extra.remove(unnamed)
        missing.remove(name)
        old, reason = table.columns[unnamed], f"the query calls this column {name!r}"
        edits.append(Edit(old, name, reason, method, column=old))
    if missing and (extra or key not in found.values()):
        return as_it_is
    for name in missing:
        edits.append(Edit("", name, "the query lists this column", method, column=name))
    for unknown in extra:
        old = table.columns[unknown]
        edits.append(Edit(old, None, "the query lists no such column", method, column=old))
    order = [found[name] for name in wanted if name in found]
    if sorted(order) != order:
        old = " | ".join(table.columns[place] for place in sorted(order))
        new = " | ".join(table.columns[place] for place in order)
        edits.append(Edit(old, new, "the query lists the columns in this order", method))
    if not edits:
        return as_it_is
    places = [found.get(name) for name in wanted]
    rows = [[None if place is None else row[place] for place in places] for row in table.rows]
    # A name that differs in print alone stays as the answer writes it.
    same = {header_key(name) for name in wanted} & known.keys()
    columns, names = [], []
    for name, place in zip(wanted, places, strict=True):
        old = name if place is None else table.columns[place]
        names.append(old)
        columns.append(old if header_key(old) in same else name)
    shaped = Table.of(columns, rows, table.title)
    return Shape(shaped, tuple(names), tuple(edits), tuple(missing))


def _only_pair(
    table: Table, extra: Sequence[int], missing: Sequence[str]
) -> tuple[int, str] | None:
    """The one unknown column and the one missing that share words; ``None`` where not just one."""
    pairs = [(i, name) for i in extra for name in missing if _share_words(table.columns[i], name)]
    return pairs[0] if len(pairs) == 1 else None


def _share_words(one: str, other: str) -> bool:
    """Whether two names of columns share a word of meaning, or one begins with the other."""
    left, right = header_key(one), header_key(other)
    if left.startswith(right) or right.startswith(left):
        return True
    return any(akin(a, b) for a in content_words(one) for b in content_words(other))
