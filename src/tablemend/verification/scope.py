"""The scope of a query, read from its wording: conditions, columns in order, computed columns.

What is not plain is left out: a condition that was not read lets every row pass
(TableHallu, A.2.1: entity scope, numerical range, sort rule).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tablemend.detector.keys import primary_key
from tablemend.detector.query import columns_from_query
from tablemend.tables.table import Table
from tablemend.values.cells import read_value
from tablemend.values.places import Places
from tablemend.verification.scope_bounds import SENTENCE_END, Attributes, read_conditions
from tablemend.verification.scope_conditions import Condition, states_time

_SORTING = re.compile(
    r"\b(?:sort|order|arrang|rank)(?:e?d|ing|e|s)?\b[^.;\n]{0,80}?"
    r"\b(?:by|according to|based on|on|in terms of)\b|\b(?:ascending|descending) order of\b",
    re.I,
)
_COMPUTED = re.compile(
    r"\b(?:(?:calculated|computed|derived|obtained) (?:as|by|from)|(?:is|be|as|of|with|the) the "
    r"(?:sum|difference|product|ratio|quotient|average) (?:of|between)|(?:divided|multiplied) by"
    r"|subtracting|adding)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class QueryScope:
    """What the wording of a query fixes.

    Attributes:
        conditions: of the rows.
        entities: the names that it lists, where it lists those that are wanted; else empty.
        columns: the columns that it lists, in order; empty where it lists none.
        computed: columns that are to be worked out, not found.
    """

    conditions: tuple[Condition, ...] = ()
    entities: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    computed: frozenset[str] = frozenset()


def read_scope(query: str, table: Table) -> QueryScope:
    """Read a query.

    Args:
        query: its text.
        table: the answer, by whose columns and names the query's words are understood.
    """
    listed = columns_from_query(query) or ()
    masked = _mask_sorting(_mask_columns(query, listed))
    key = primary_key(table)
    attributes = Attributes(
        tuple(name for name in listed or table.columns if name != table.columns[key]),
        frozenset(name for index, name in enumerate(table.columns) if _holds_times(table, index)),
    )
    return QueryScope(
        tuple(read_conditions(query, masked, attributes)),
        _read_entities(masked, [row[key] or "" for row in table.rows]),
        listed,
        frozenset(_read_computed(query, listed or table.columns)),
    )


def _holds_times(table: Table, column: int) -> bool:
    values = [value for row in table.rows if not (value := read_value(row[column])).blank]
    return bool(values) and 2 * sum(map(states_time, values)) > len(values)


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + "\0" * (end - start) + text[end:]


def _mask_columns(query: str, columns: Sequence[str]) -> str:
    """The query without its list of columns, which holds no condition."""
    between = r"[^\w\"]{0,8}\"?\W{0,8}(?:(?:and|then|finally|lastly|plus)\W{1,4})*\W{0,8}?"
    listed = re.search(between.join(map(re.escape, columns)), query)
    return _blank(query, *listed.span()) if listed and len(columns) > 1 else query


def _mask_sorting(query: str) -> str:
    while match := _SORTING.search(query):
        stop = SENTENCE_END.search(query, match.end())
        query = _blank(query, match.start(), stop.start() if stop else len(query))
    return query


def _read_entities(masked: str, keys: Sequence[str]) -> tuple[str, ...]:
    """Names of rows that the query lists; two at least, each beside the next."""
    places = Places(masked)
    found = []
    for key in dict.fromkeys(keys):
        if read_value(key).number is None:
            found += [(span, key) for span in places.find(key)]
    found.sort()
    if len({key for _, key in found}) < 2:
        return ()
    for (one, _), (other, _) in pairwise(found):
        if not re.fullmatch(r"[\s,]*(?:and|or|&)?\s*(?:the\s+)?", masked[one.end : other.start]):
            return ()
    return tuple(dict.fromkeys(key for _, key in found))


def _read_computed(query: str, columns: Sequence[str]) -> Iterator[str]:
    """Columns that a sentence says how to work out: the one named last before it says so."""
    for match in _COMPUTED.finditer(query):
        stops = [stop.end() for stop in SENTENCE_END.finditer(query, 0, match.start())]
        said = query[stops[-1] if stops else 0 : match.start()].lower()
        named = [(place, name) for name in columns if (place := said.rfind(name.lower())) >= 0]
        if named:
            yield max(named)[1]
