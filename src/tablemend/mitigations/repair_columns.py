"""The columns of an answer put into the order in which the query lists them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tablemend.detector.query import columns_from_query
from tablemend.mitigations.edits import Edit
from tablemend.tables.table import Table
from tablemend.values.text import akin, content_words, header_key


class Shape(NamedTuple):
    """An answer with its columns in the query's order.

    Attributes:
        table: the table.
        names: the name of each of its columns in the original.
        edits: what was changed.
    """

    table: Table
    names: tuple[str, ...]
    edits: tuple[Edit, ...] = ()


VERSION = "repair-columns/2"


def in_order(table: Table, query: str) -> Shape:
    """Name, order and drop columns as a query lists them; none is added.

    The table stays as it is where it is not plain which of its columns is which: no two of one
    name, half of the list must be there, and an unknown column is renamed only where it shares
    words with one that is missing and no other pair does; else it is dropped where none is missing.
    """
    as_it_is = Shape(table, table.columns)
    wanted = columns_from_query(query) or ()
    known = {header_key(name): index for index, name in enumerate(table.columns)}
    found = {name: known[header_key(name)] for name in wanted if header_key(name) in known}
    if table.duplicate_columns() or 2 * len(found) < len(wanted) or len(found) < 2:
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
        edits.append(Edit(old, name, reason, VERSION, column=old))
    if missing and extra:
        return as_it_is
    for unknown in extra:
        old = table.columns[unknown]
        edits.append(Edit(old, None, "the query lists no such column", VERSION, column=old))
    order = {name: found[name] for name in wanted if name in found}
    places = list(order.values())
    if sorted(places) != places:
        old, new = (
            " | ".join(table.columns[place] for place in one) for one in (sorted(places), places)
        )
        edits.append(Edit(old, new, "the query lists the columns in this order", VERSION))
    if not edits:
        return as_it_is
    # A name that differs in print alone stays as the answer writes it.
    names = tuple(table.columns[place] for place in places)
    columns = [
        old if header_key(old) == header_key(name) else name
        for name, old in zip(order, names, strict=True)
    ]
    rows = [[row[place] for place in places] for row in table.rows]
    return Shape(Table.of(columns, rows, table.title), names, tuple(edits))


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
