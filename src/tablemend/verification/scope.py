"""The scope of a query, read from its wording: conditions, columns in order, computed columns.

What is not plain is left out: a condition that was not read lets every row pass
(TableHallu, A.2.1: entity scope, numerical range, sort rule).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from tablemend.detector.keys import primary_key
from tablemend.detector.query import columns_from_query
from tablemend.tables.table import Table
from tablemend.values.cells import Value, read_value, year_of
from tablemend.values.numbers import Number
from tablemend.values.places import Places, singular
from tablemend.values.sentences import Span
from tablemend.values.text import tokens_of
from tablemend.values.units import MEASURES, ONE, PLAIN, Unit
from tablemend.values.words import LITTLE_WORDS, akin, content_words

_QUOTE = re.compile(r"[\"\u201c]([^\"\u201c\u201d]+)[\"\u201d]|(?<!\w)'([^']+)'(?!\w)")
_SORTING = re.compile(
    r"\b(?:sort|order|arrang|rank)(?:e?d|ing|e|s)?\b[^.;\n]{0,80}?"
    r"\b(?:by|according to|based on|on|in terms of)\b|\b(?:ascending|descending) order of\b",
    re.I,
)
_SENTENCE_END = re.compile(r"[.;!?](?=\s|$)|\n")

_JOINED = re.compile(
    r"^\s*(?:[a-z]{1,6}\s+)??(?:,?\s*(?:both )?included,?\s*)?(?:to|until|till|through|and|-|\u2013"
    r"|and (?:at most|no more than|up to|not more than))\s*$"
)
_OPENS = re.compile(
    r"(?:\bfrom|\bbetween|\bat least|\bin the range(?: of)?|\branging from|\bspanning)\s*$"
)
_BOUNDS: tuple[tuple[str, bool, re.Pattern[str]], ...] = (
    ("low", True, re.compile(r"\b(?:at least|no (?:less|fewer) than|a minimum of|since)\s*$")),
    (
        "low",
        False,
        re.compile(
            r"\b(?:after|(?:more|greater|later|higher|larger|newer) than|over|above|exceeding"
            r"|in excess of|beyond)\s*$"
        ),
    ),
    (
        "high",
        True,
        re.compile(
            r"\b(?:at most|no (?:more|later) than|not (?:more|later) than|up to|until|through"
            r"|a maximum of)\s*$"
        ),
    ),
    (
        "high",
        False,
        re.compile(
            r"\b(?:before|prior to|under|below|(?:less|fewer|earlier|lower|smaller) than)\s*$"
        ),
    ),
)
_TAILS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("low", re.compile(r"^\s*(?:or|and) (?:later|more|higher|above|after|over|newer|greater)\b")),
    ("low", re.compile(r"^\s*(?:onwards?|and onwards?|upwards?)\b")),
    ("high", re.compile(r"^\s*(?:or|and) (?:earlier|less|lower|below|before|fewer|under)\b")),
)
_AT = re.compile(r"\b(?:in|during)\s+(?:the (?:year|season) )?$")
# "in the 2014 season" and "for 2014 Games" name an event; "in 2014" is a time
_NOT_A_TITLE = re.compile(
    r"^\s*(?:$|[.,;:\0)]|(?:with|as|by|that|which|who|were|was|from|based|using|sorted|into|in|and"
    r"|on|for)\b)"
)
_VALUES_AFTER = re.compile(
    r"^[\"\u201d]\s+(?:is|are|was|equals?|at(?! least| most))\s+(?:either\s+|one of\s+)?"
)
_VALUES_BEFORE = re.compile(r"\b(?:with|having)\s+([^\"\u201c\u201d]{1,200}?)\s+as\s+(?:the\s+)?$")
_VALUES_END = re.compile(
    r",?\s+(?:based on|drawn from|as described|from the|using|into a table|in a table)\b"
    r"|\s+and\s+(?:whose|where|with|that|which|have|has)\b|[.;](?=\s|$)|$"
)
_TAIL_WORDS = re.compile(
    r"\b(?:or|and) (?:less|more|earlier|later|fewer|higher|lower|above|below|over|under)$"
)
_VALUES = re.compile(r"\s*,\s*(?:or\s+|and\s+)?|\s+or\s+")
_COMPARES = re.compile(
    r"(?:from|between|at|above|below|over|under|more|less|before|after|not|no|in)\b"
)
_GENERIC_TIME = frozenset("year date season time period when day month quarter".split())
_COMPUTED = re.compile(
    r"\b(?:(?:calculated|computed|derived|obtained) (?:as|by|from)|(?:is|be|as|of|with|the) the "
    r"(?:sum|difference|product|ratio|quotient|average) (?:of|between)|(?:divided|multiplied) by"
    r"|subtracting|adding)\b",
    re.I,
)
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_NO_LABEL = LITTLE_WORDS | frozenset(
    "all any between both case cover covering entries entry every least most more than ones only "
    "provided that their them there these they this those which who whose when where while based "
    "context table create make list lists please summarize summarise period range spanning values "
    "been be being did do does one two three year years".split()
)
_REACH = 4  # words before a bound in which its attribute stands


class Moment(NamedTuple):
    """The first and the last day that a date can mean, as (year, month, day)."""

    first: tuple[int, int, int]
    last: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Condition:
    """What a query demands of every row.

    Attributes:
        label: the attribute, as a column is called or in the query's word; empty where the query
            speaks of time and no more ("in 2019").
        said: the query's words.
        is_time: the ends are years or dates.
        low, high: the ends; ``None`` is open.
        low_included, high_included: whether an end itself is in scope.
        values: the admitted categories; empty for a range.
    """

    label: str
    said: str
    is_time: bool = False
    low: Value | None = None
    high: Value | None = None
    low_included: bool = True
    high_included: bool = True
    values: tuple[str, ...] = ()

    @property
    def is_generic(self) -> bool:
        """Whether any time that is said of an entity counts: "in 2019", the column "Year"."""
        return self.is_time and _is_generic_time(self.label)

    def meets(self, value: Value, header: Unit = PLAIN) -> bool | None:
        """Whether a value is in scope; ``None`` where that cannot be told."""
        if value.blank:
            return None
        if self.values:
            return self._is_among(value)
        if self.is_time:
            return self._meets_time(value)
        if value.number is None:
            return None
        answers = [
            _compare(value.number, end, header, sign, included)
            for end, sign, included in (
                (self.low, 1, self.low_included),
                (self.high, -1, self.high_included),
            )
            if end is not None
        ]
        return _all(answers)

    def _is_among(self, value: Value) -> bool | None:
        """Whether a text is an admitted one; not told of a part of one, or of one and more."""
        if value.number is not None or value.dates:
            return None  # the 2 of "Leg 2"
        said = tokens_of(value.text).words
        admitted = [tokens_of(read_value(one).text).words for one in self.values]
        if said in admitted:
            return True
        return None if any(_holds(one, said) or _holds(said, one) for one in admitted) else False

    def _meets_time(self, value: Value) -> bool | None:
        moments = moments_of(value)
        if not moments:
            return None
        answers: list[bool | None] = []
        for moment in moments:
            if self.low is not None:
                for end in moments_of(self.low):
                    edge = end.first if self.low_included else _after(end.last)
                    answers.append(
                        True if moment.first >= edge else False if moment.last < edge else None
                    )
            if self.high is not None:
                for end in moments_of(self.high):
                    edge = end.last if self.high_included else _before(end.first)
                    answers.append(
                        True if moment.last <= edge else False if moment.first > edge else None
                    )
        if len(moments) > 1 and len(set(answers)) > 1:
            return None
        return _all(answers)


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
    attributes = _Attributes(
        tuple(name for name in listed or table.columns if name != table.columns[key]),
        frozenset(name for index, name in enumerate(table.columns) if _holds_times(table, index)),
    )
    return QueryScope(
        tuple(_read_conditions(query, masked, attributes)),
        _read_entities(masked, [row[key] or "" for row in table.rows]),
        listed,
        frozenset(_read_computed(query, listed or table.columns)),
    )


class _Attributes(NamedTuple):
    """The columns that a condition may be on, and those of them that hold years or dates."""

    names: tuple[str, ...]
    times: frozenset[str]


def _holds_times(table: Table, column: int) -> bool:
    values = [value for row in table.rows if not (value := read_value(row[column])).blank]
    return bool(values) and 2 * sum(map(_is_time, values)) > len(values)


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + "\0" * (end - start) + text[end:]


def _mask_columns(query: str, columns: Sequence[str]) -> str:
    """The query without its list of columns, which holds no condition."""
    between = r"[^\w\"]{0,8}\"?\W{0,8}(?:(?:and|then|finally|lastly|plus)\W{1,4})*\W{0,8}?"
    listed = re.search(between.join(map(re.escape, columns)), query)
    return _blank(query, *listed.span()) if listed and len(columns) > 1 else query


def _mask_sorting(query: str) -> str:
    while match := _SORTING.search(query):
        stop = _SENTENCE_END.search(query, match.end())
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
        stops = [stop.end() for stop in _SENTENCE_END.finditer(query, 0, match.start())]
        said = query[stops[-1] if stops else 0 : match.start()].lower()
        named = [(place, name) for name in columns if (place := said.rfind(name.lower())) >= 0]
        if named:
            yield max(named)[1]


def _read_conditions(query: str, masked: str, attributes: _Attributes) -> Iterator[Condition]:
    quoted = [
        (match, match[1] or match[2])
        for match in _QUOTE.finditer(masked)
        if "\0" not in (match[1] or match[2])
    ]
    closed = [match.span() for match, _ in quoted]  # no bound stands in these places
    for condition, span in _read_values(masked, quoted):
        closed.append(span)
        yield condition
    places = Places(masked)
    amounts = sorted(
        span
        for span in {Span(stated.start, stated.end) for stated in places.numbers}
        | {Span(date.start, date.end) for date in places.dates}
        if not any(start <= span.start < end for start, end in closed)
    )
    position, index = 0, 0
    while index < len(amounts):
        span = amounts[index]
        before = masked[position : span.start].lower()
        following = amounts[index + 1] if index + 1 < len(amounts) else None
        between = masked[span.end : following.start].lower() if following else ""
        value = read_value(masked[slice(*span)])
        if following and _JOINED.match(between) and (opening := _OPENS.search(before)):
            other = read_value(masked[slice(*following)])
            is_time = _is_time(value) and _is_time(other)
            start = position + opening.start()
            label = _attribute(masked, Span(start, following.end), quoted, attributes, is_time)
            said = query[start : following.end]
            yield from _range(said, value, other, label)
            index, position = index + 2, following.end
            continue
        if (bound := _bound(masked, span, before)) is not None:
            side, included, size = bound
            place = Span(span.start - size, span.end)
            label = _attribute(masked, place, quoted, attributes, _is_time(value))
            low, high = (value, None) if side == "low" else (None, value)
            if side == "at":
                low = high = value
            yield from _condition(query[slice(*place)], low, high, included, label)
        index, position = index + 1, span.end


def _bound(masked: str, span: Span, before: str) -> tuple[str, bool, int] | None:
    """Which end an amount is, whether it is in scope itself, and how long the words before are."""
    tail = masked[span.end : span.end + 24].lower()
    for side, pattern in _TAILS:
        if pattern.match(tail):
            return side, True, 0
    for side, included, pattern in _BOUNDS:
        if match := pattern.search(before):
            return side, included, len(before) - match.start()
    is_year = _is_year(read_value(masked[slice(*span)]))
    if is_year and (match := _AT.search(before)) and _NOT_A_TITLE.match(tail):
        return "at", True, len(before) - match.start()
    return None


def _range(said: str, low: Value, high: Value, label: str | None) -> Iterator[Condition]:
    is_time = _is_time(low) and _is_time(high)
    if label is None or (not is_time and not label):
        return
    if not is_time and (low.number is None or high.number is None):
        return
    if low.number and high.number and low.number.unit.scale == ONE != high.number.unit.scale:
        return  # "from 5 to 10 million": five what?
    yield Condition(label, said, is_time, low, high)


def _condition(
    said: str, low: Value | None, high: Value | None, included: bool, label: str | None
) -> Iterator[Condition]:
    end = low or high
    if label is None or end is None:
        return
    is_time = _is_time(end)
    if not is_time and (end.number is None or not label):
        return
    yield Condition(label, said, is_time, low, high, included, included)


def _attribute(
    masked: str,
    span: Span,
    quoted: Sequence[tuple[re.Match[str], str]],
    attributes: _Attributes,
    is_time: bool,
) -> str | None:
    """The attribute that a bound is set on; ``None`` where that is not plain.

    A quoted name directly before; else a column whose name shares a word with those around: of a
    time, one that holds times. Else, of a time, the verb before it, as the context may use it, or
    nothing: "in 2019".
    """
    for match, name in reversed(quoted):
        if match.end() <= span.start:
            gap = masked[match.end() : span.start]
            if len(gap) <= 24 and not _SENTENCE_END.search(gap):
                return name
            break
    head = re.split(r"[.;:,\"\0]", masked[max(0, span.start - 60) : span.start])[-1]
    words = [word for word in _WORD.findall(head.lower()) if word not in _NO_LABEL]
    before = [singular(word) for word in words[-_REACH:]][::-1]
    tail = re.split(r"[.;:,\"\0]", masked[span.end : span.end + 40])[0]
    behind = [singular(w) for w in _WORD.findall(tail.lower()) if w not in _NO_LABEL][:2]
    near = before if is_time else [*behind, *before[:2]]
    for word in near:
        for column in attributes.names:
            if is_time and column not in attributes.times:
                continue
            if any(akin(word, wanted) for wanted in content_words(column)):
                return column
    if not is_time:
        return None
    generic = [name for name in attributes.times if _is_generic_time(name)]
    if generic:
        return generic[0] if len(generic) == 1 else None
    verb = next((word for word in before if word.endswith("ed")), None)
    return verb if verb or attributes.times else ""


def _read_values(
    masked: str, quoted: Sequence[tuple[re.Match[str], str]]
) -> Iterator[tuple[Condition, Span]]:
    """``whose "Team" is Norvik or Lund``, ``with Norvik as "Team"``, and where the values stand."""
    for match, name in quoted:
        after = match.end() - 1
        before = max(0, match.start() - 220)
        if link := _VALUES_AFTER.match(masked[after:]):
            start = after + link.end()
            stop = _VALUES_END.search(masked, start)
            end = stop.start() if stop else len(masked)
        elif found := _VALUES_BEFORE.search(masked[before : match.start()]):
            start, end = before + found.start(1), before + found.end(1)
        else:
            continue
        said = masked[start:end].strip(" ,")
        if not said or "\0" in said or len(said) > 200 or _COMPARES.match(said.lower()):
            continue
        if _TAIL_WORDS.search(said):
            continue
        value = read_value(said)
        if value.number is not None or value.dates:
            yield Condition(name, said, _is_time(value), value, value), Span(start, end)
        else:
            values = tuple(part for part in _VALUES.split(said) if part)
            yield Condition(name, said, values=values), Span(start, end)


def _is_generic_time(label: str) -> bool:
    return set(map(singular, tokens_of(label).words)) <= _GENERIC_TIME


def _is_year(value: Value) -> bool:
    return year_of(value) is not None


def _is_time(value: Value) -> bool:
    return bool(value.dates) or _is_year(value)


def moments_of(value: Value) -> list[Moment]:
    """What days a date or year can mean; one for each of its readings."""
    readings = value.dates
    if not readings and (year := year_of(value)):
        readings = (year,)
    return [moment for reading in readings if (moment := _moment(reading))]


def _moment(reading: str) -> Moment | None:
    if match := re.fullmatch(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?", reading):
        year, month, day = (int(part) if part else 0 for part in match.groups())
        return Moment((year, month or 1, day or 1), (year, month or 12, day or 31))
    if match := re.fullmatch(r"(\d{4})-q([1-4])", reading):
        year, quarter = int(match[1]), int(match[2])
        return Moment((year, 3 * quarter - 2, 1), (year, 3 * quarter, 31))
    if match := re.fullmatch(r"(\d{4})/(\d{4})", reading):
        return Moment((int(match[1]), 1, 1), (int(match[2]), 12, 31))
    return None


def _after(day: tuple[int, int, int]) -> tuple[int, int, int]:
    return (day[0], day[1], day[2] + 1)


def _before(day: tuple[int, int, int]) -> tuple[int, int, int]:
    return (day[0], day[1], day[2] - 1)


def _compare(value: Number, end: Value, header: Unit, sign: int, included: bool) -> bool | None:
    """Whether a number is on the right side of an end; 1: not below it, -1: not above."""
    if end.number is None:
        return None
    pair = _same_scale(value, end.number, header)
    if pair is None:
        return None
    one, other = pair
    return True if sign * one > sign * other else included if one == other else False


def _same_scale(one: Number, other: Number, header: Unit) -> tuple[Decimal, Decimal] | None:
    """Both numbers in one unit; what one side does not state, the header or the other supplies."""
    left, right = one.value, other.value
    if header.scale != ONE and (one.unit.scale != ONE) != (other.unit.scale != ONE):
        left = left if one.unit.scale != ONE else left * header.scale
        right = right if other.unit.scale != ONE else right * header.scale
    symbols = one.unit.symbol or header.symbol, other.unit.symbol or header.symbol
    if symbols[0] and symbols[1] and symbols[0] != symbols[1]:
        (measure, factor, _), (other_measure, other_factor, _) = (MEASURES[s] for s in symbols)
        if measure != other_measure:
            return None
        return left * factor, right * other_factor
    return left, right


def _holds(whole: Sequence[str], part: Sequence[str]) -> bool:
    """Whether words stand one after the other among others."""
    size = len(part)
    return any(whole[start : start + size] == part for start in range(len(whole) - size + 1))


def _all(answers: Sequence[bool | None]) -> bool | None:
    """All of three-valued answers."""
    if not answers or (None in answers and False not in answers):
        return None
    return False not in answers
