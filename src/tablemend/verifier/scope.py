"""The scope of a query, read from its wording: conditions, columns in order, computed columns.

What reads like a condition and is not plain is named (:attr:`QueryScope.unread`), never guessed
(TableHallu, A.2.1: entity scope, numerical range, sort rule).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tablemend.detector.keys import primary_key
from tablemend.detector.query import columns_from_query
from tablemend.tables.table import Table
from tablemend.values.cells import Value, read_value
from tablemend.values.places import Places
from tablemend.values.sentences import Span
from tablemend.verifier.scope_bounds import SENTENCE_END, Attributes, read_bounds
from tablemend.verifier.scope_conditions import ScopeCondition, is_generic_time, states_time
from tablemend.verifier.scope_names import read_names
from tablemend.verifier.scope_unread import READ, TITLE, find_unread
from tablemend.verifier.scope_values import GONE, find_mentions, read_values

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
_NO_LISTING = re.compile(
    r"\b(?:such as|like|e\.?\s?g\b|for (?:example|instance)|includ(?:ing|es?)|especially"
    r"|all|every|each|mark(?:ing)?|put(?:ting)?|highlight(?:ing)?|place|move|print"
    r"|bold|also|besides|apart from|in addition to)\b",
    re.I,
)
"""Before names: examples, parts of a whole, or an order of layout; no list of what is wanted."""
_PUT_THERE = re.compile(
    r"\W{0,3}(?:should (?:be|come|stand)|(?:come|go|stand)s?|(?:at|to) the (?:top|end|bottom)|first"
    r"|last|in (?:bold|italics))\b",
    re.I,
)
_AFTER_SORTING = re.compile(
    r"\b(?:where|whose|(?:and|but)\s+(?:only|keep|include|restrict|limit|exclude|leave|drop)|keep|only"
    r"|restricted|limited|excluding|except|including)\b",
    re.I,
)
_OR = re.compile(
    r"\s*,?\s*or\s+(?:else\s+)?(?:where|whose|with|that|the|which|who|in|from|have|has|are|is)?\s*"
)


@dataclass(frozen=True, slots=True)
class QueryScope:
    """What the wording of a query fixes.

    Attributes:
        conditions: of the rows.
        entities: the names that it lists, where it lists those that are wanted; else empty.
        columns: the columns that it lists, in order; empty where it lists none.
        computed: columns that are to be worked out, not found.
        unread: its words that read like a condition and were not understood.
        topics: names that it gives to no column: a condition, or what the whole text is about.
    """

    conditions: tuple[ScopeCondition, ...] = ()
    entities: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    computed: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """One line for a reader on what was not read; empty where all was."""
        said = [repr(one) for one in (*self.unread, *self.topics)]
        return f"not read as a condition of the query: {', '.join(said)}" if said else ""


class _Placed(NamedTuple):
    """A condition and where the query states it."""

    span: Span
    condition: ScopeCondition


def read_scope(query: str, table: Table) -> QueryScope:
    """Read a query.

    Args:
        query: its text.
        table: the answer, by whose columns and names the query's words are understood.
    """
    listed = columns_from_query(query) or ()
    masked = _mask_sorting(_mask_columns(query, listed))
    key = primary_key(table)
    columns = tuple(dict.fromkeys((*listed, *table.columns)))
    times = _holding(table, states_time)
    numbers = _holding(table, lambda value: value.number is not None) - times
    attributes = Attributes(
        tuple(name for name in columns if name != table.columns[key] or name in times),
        times,
        numbers,
    )
    found: list[_Placed] = []
    topics: list[str] = []
    titles: list[Span] = []
    read: list[Span] = []
    entities = _read_entities(masked, [row[key] or "" for row in table.rows])
    read += entities.values()
    free = _cover(masked, read, GONE)
    named = columns if any(map(is_generic_time, columns)) else (*columns, "Year")
    mentions = find_mentions(free, named)
    for condition, span in read_values(query, free, mentions):
        found.append(_Placed(span, condition))
    free = _cover(free, [one.span for one in found], GONE)
    mentions = [one for one in mentions if GONE not in free[one.start : one.end]]
    for condition, span in read_bounds(query, free, attributes, mentions):
        found.append(_Placed(span, condition))
    free = _cover(free, [one.span for one in found], GONE)
    for plain, span in read_names(query, free, table, key, mentions):
        if plain is not None:
            found.append(_Placed(span, plain))
        else:
            topics.append(query[slice(*span)])
            titles.append(span)
    found.sort(key=lambda one: one.span)
    read += [one.span for one in found]
    found, unread = _without_alternatives(query, found)
    unread += find_unread(query, _cover(_cover(masked, titles, TITLE), read, READ))
    return QueryScope(
        tuple(one.condition for one in found),
        tuple(entities),
        listed,
        frozenset(_read_computed(query, listed or table.columns)),
        tuple(dict.fromkeys(unread)),
        tuple(dict.fromkeys(one for one in topics if not any(one in said for said in unread))),
    )


def _cover(text: str, spans: Sequence[Span], mark: str) -> str:
    for start, end in spans:
        text = text[:start] + mark * (end - start) + text[end:]
    return text


def _without_alternatives(query: str, found: Sequence[_Placed]) -> tuple[list[_Placed], list[str]]:
    """The conditions without those that are joined by *or*, and the words of these."""
    loose: set[int] = set()
    said: list[str] = []
    for number, (one, other) in enumerate(pairwise(found)):
        if _OR.fullmatch(query[one.span.end : other.span.start]):
            loose |= {number, number + 1}
            said.append(query[one.span.start : other.span.end])
    return [one for number, one in enumerate(found) if number not in loose], said


def _holding(table: Table, is_one: Callable[[Value], bool]) -> frozenset[str]:
    """The columns of which most filled cells are of a kind."""
    found = set()
    for index, name in enumerate(table.columns):
        cells = (read_value(row[index]) for row in table.rows)
        values = [value for value in cells if not value.blank]
        if values and 2 * sum(map(is_one, values)) > len(values):
            found.add(name)
    return frozenset(found)


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + "\0" * (end - start) + text[end:]


def _mask_columns(query: str, columns: Sequence[str]) -> str:
    """The query without its list of columns, which holds no condition."""
    between = r"[^\w\"]{0,8}\"?\W{0,8}(?:(?:and|then|finally|lastly|plus)\W{1,4})*\W{0,8}?"
    listed = re.search(between.join(map(re.escape, columns)), query)
    return _blank(query, *listed.span()) if listed and len(columns) > 1 else query


def _mask_sorting(query: str) -> str:
    while match := _SORTING.search(query):
        stops = [pattern.search(query, match.end()) for pattern in (SENTENCE_END, _AFTER_SORTING)]
        ends = [stop.start() for stop in stops if stop]
        query = _blank(query, match.start(), min(ends, default=len(query)))
    return query


def _read_entities(masked: str, keys: Sequence[str]) -> dict[str, Span]:
    """Names of rows that the query lists, with their places; two at least, each beside the next.

    Names that are examples, or of which something else is asked than to be listed, list nothing.
    """
    places = Places(masked)
    found = []
    for key in dict.fromkeys(keys):
        if read_value(key).number is None:
            spans = places.find(key)
            if len(key) < 3:  # "a total row" names no shop A
                spans = [span for span in spans if masked[slice(*span)] == key]
            found += [(span, key) for span in spans]
    found.sort()
    if len({key for _, key in found}) < 2:
        return {}
    for (one, _), (other, _) in pairwise(found):
        if not re.fullmatch(r"[\s,]*(?:and|or|&)?\s*(?:the\s+)?", masked[one.end : other.start]):
            return {}
    first, last = found[0][0].start, found[-1][0].end
    starts = [stop.end() for stop in SENTENCE_END.finditer(masked, 0, first)]
    before = masked[starts[-1] if starts else 0 : first]
    near = masked[max(0, first - 8) : first]  # "e.g." is taken for a sentence's end
    if _NO_LISTING.search(before) or _NO_LISTING.search(near) or _PUT_THERE.match(masked, last):
        return {}
    return {key: span for span, key in found}


def _read_computed(query: str, columns: Sequence[str]) -> Iterator[str]:
    """Columns that a sentence says how to work out: the one named last before it says so."""
    for match in _COMPUTED.finditer(query):
        stops = [stop.end() for stop in SENTENCE_END.finditer(query, 0, match.start())]
        said = query[stops[-1] if stops else 0 : match.start()].lower()
        named = [(place, name) for name in columns if (place := said.rfind(name.lower())) >= 0]
        if named:
            yield max(named)[1]
