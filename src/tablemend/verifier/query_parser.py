"""The scope of a query, read from its wording: conditions, columns in order, computed columns.

What reads like a condition and is not plain is named (:attr:`QueryScope.unread`), never guessed
(TableHallu, A.2.1: entity scope, numerical range, sort rule).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tablemend.detector.keys import primary_key
from tablemend.detector.query import columns_from_query
from tablemend.tables.table import Table
from tablemend.values.cells import Value, read_value
from tablemend.values.places import Places
from tablemend.values.text import Span, akin, content_words, header_key
from tablemend.verifier.lexicon import any_of, words_of
from tablemend.verifier.query_phrases import (
    GONE,
    QUOTED,
    SENTENCE_END,
    Attributes,
    ScopeCondition,
    find_mentions,
    is_generic_time,
    read_bounds,
    read_values,
    states_time,
)

_READ, _TITLE = "\1", "\2"  # in a masked query: a condition that was read; a name
_SORTING = re.compile(
    rf"\b(?!\w+ \d){any_of('sort')}\b[^.;\n]{{0,80}}?\b{any_of('sort_by')}\b"  # no "ranked 2 to 5"
    rf"|\b{any_of('in_order_of')}\b",
    re.I,
)
_AFTER_SORTING = re.compile(
    rf"\b{any_of('after_sorting')}\b|,\s+{any_of('sorted_of')}\b|[.;!?](?=\s|$)|\n|$", re.I
)
_LISTING = rf"\b{any_of('before_columns')}\s+(?:(?:all|the|of|their|its|each|one's)\s+)*"
_NEXT = r"(?:\s*,\s*|\s+)(?:and\s+)?(?:(?:the|their|its)\s+)?"
_LISTED = rf"(?=\s*(?:[.,;:?!\0]|$|{any_of('stop', 'sort')}\b))"
_COMPUTED = re.compile(
    rf"\b(?:{any_of('computed')}"
    rf"|(?:is|be|as|of|with|the) the {any_of('computation')} (?:of|between))\b",
    re.I,
)
_NO_LISTING = re.compile(rf"\b{any_of('no_listing')}\b", re.I)
_PUT_THERE = re.compile(rf"\W{{0,3}}{any_of('put_there')}\b", re.I)
_AND = re.compile(r"[\s,]*(?:and|or|&)?\s*(?:the\s+)?")
_OR = re.compile(
    r"\s*,?\s*or\s+(?:else\s+)?(?:where|whose|with|that|the|which|who|in|from|have|has|are|is)?\s*"
)

# ---- names that no word gives to a column: "athletes from China", "ferries of Lunel" ----

_NAME_WORD = r"[^\W\d_a-z](?:\w{0,2}\.(?=\s[A-Z])|[\w'\u2019&-]*)"
_NAME = re.compile(
    rf"(?<![\w\"\u201c'/-]){_NAME_WORD}"
    rf"(?:\s+(?:(?:of|the|de|da|del|van|von|and|&)\s+){{0,2}}{_NAME_WORD})*"
)
_ASKED = {
    "from": words_of("areas", "groups"),
    "in": words_of("areas") - {"birthplace", "origin", "nationality", "hometown"},
    "by": words_of("makers"),
}
"""The nouns of columns that a preposition behind the rows' noun can ask for."""
_OF_ROWS = re.compile(
    rf"\b{any_of('asks_for_rows')}\s+"
    r"(?:(?:all|only|the|every|each)\s+)*[a-z-]+(?:\s+(?!of|in|for|at|on)[a-z-]+){0,2}?\s+"
    rf"(?P<no>{any_of('except')}\s+(?:(?:those|ones)\s+)?)?(?P<how>from|in|by)\s+(?:the\s+)?$",
    re.I,
)
# "audited by Meridian", "located in Lunel"
_DONE = re.compile(r"\b(?P<verb>[a-z]+ed)\s+(?P<no>\0)?(?P<how>in|by)\s+(?:the\s+)?$")
_MORE = re.compile(r"\s*(?:,\s*(?:or|and)?|\bor\b|\band\b)\s+(?:from\s+|in\s+)?(?:the\s+)?")
# "the 2014 Polar Games", "the 2018-19 season", "elections, 2020"
_EVENT = re.compile(
    r"(?<![\w.,-])(?:1[5-9]|20)\d\d(?:\s?[-\u2013/]\s?\d\d(?:\d\d)?)?\b"
    rf"(?:(?:\s(?!{any_of('after_event')}\b)[^\W\d_](?:[\w'\u2019-]|\.(?=\w))*){{1,6}}"
    r"|(?<=\w, \d{4})|(?<=\w , \d{4}))"
)
_NO_NAMES = words_of("no_names")

# ---- what reads like a condition and was not understood ----

_SENTENCE = re.compile(r"(?:[^.;!?\n]|\.(?!\s|$))+")
_ASKS_FOR_NO_ROWS = re.compile(
    rf"\s*(?:{any_of('polite')}\s*,?\s*)*{any_of('asks_for_no_rows')}\b", re.I
)
_OPENER = re.compile(
    rf"\b(?:{any_of('opening')}|(?P<and>and|or|but)(?=[^,.;\0\1]*\b{any_of('verb_of_clause')}\b))\b",
    re.I,
)
_NO_CONDITION = re.compile(
    rf"\s*(?:{any_of('of_layout')}\s+)*(?:{any_of('article')}\s+)*(?:(?:{any_of('layout')}"
    rf"|(?:\w+\s+){{0,3}}{any_of('layout_behind')})\b|\0|[,.:;]|$)",
    re.I,
)
_THAT = re.compile(rf"\b{any_of('before_that')}\s*,?\s*$", re.I)
_SUPERLATIVE = re.compile(
    r"\b(?<!at )(?:the\s+)?"
    rf"(?:{any_of('superlative')}|best(?!-)|(?:most|least) (?!of)[a-z]+)\b"
    r"(?!\s*(?:first|to\b|of all|row|column|,|\0|\.|$))"
    rf"(?:(?! {any_of('after_superlative')}\b)[^,.;:\0\1]){{0,30}}",
    re.I,
)
_STOP = re.compile(rf"[,;:](?=\s|$)|[!?\0\n]|\.(?=\s|$)|$|\b{any_of('stop')}\b", re.I)
_LEAD = re.compile(rf"(?:\b{any_of('before_amount')}\b(?:\s+[^\s,.;:\0\1]+){{0,3}}\s+)?$", re.I)
_NO_AMOUNT = re.compile(rf"\s*{any_of('no_amount')}\b", re.I)
_NOUN = re.compile(
    r"(?:\s+(?:to|and|-|\u2013)\s+[\d.,]*\d)?"
    rf"(?:[ -](?!{any_of('after_noun')}\b)[^\W\d_][\w-]*){{0,2}}"
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
    listed, masked = columns_from_query(query) or (), query
    between = r"[^\w\"]{0,8}\"?\W{0,8}(?:(?:and|then|finally|lastly|plus)\W{1,4})*\W{0,8}?"
    columns_said = re.search(between.join(map(re.escape, listed)), query)
    if columns_said and len(listed) > 1:  # they hold no condition
        masked = _cover(query, [Span(*columns_said.span())], GONE)
    while match := _SORTING.search(masked):
        stop = _AFTER_SORTING.search(masked, match.end())
        assert stop is not None  # "$" always is
        masked = _cover(masked, [Span(match.start(), stop.start())], GONE)
    if not listed and (said := _columns_in_words(masked, table)):
        listed, place = said
        masked = _cover(masked, [place], GONE)
    key = primary_key(table)
    columns = tuple(dict.fromkeys((*listed, *table.columns)))
    times = _holding(table, states_time)
    numbers = _holding(table, lambda value: value.number is not None) - times
    names = tuple(name for name in columns if name != table.columns[key] or name in times)
    entities = _read_entities(masked, [row[key] or "" for row in table.rows])
    free = _cover(masked, entities.values(), GONE)
    named = columns if any(map(is_generic_time, columns)) else (*columns, "Year")
    mentions = find_mentions(free, named, table.columns[key])
    found = [_Placed(span, one) for one, span in read_values(query, free, mentions)]
    free = _cover(free, [one.span for one in found], GONE)
    mentions = [one for one in mentions if GONE not in free[one.start : one.end]]
    # "the series from 2008 on": what the rows are called is not what is bound.
    rows = set(table.columns).difference(names)
    others = [one for one in mentions if one.quoted or one.label not in rows]
    bounds = read_bounds(query, free, Attributes(names, times, numbers), others)
    found += [_Placed(span, one) for one, span in bounds]
    free = _cover(free, [one.span for one in found], GONE)
    titles = []
    free = _cover(free, [*(Span(one.start, one.end) for one in mentions), *_quoted(free)], GONE)
    for condition, span in _read_names(query, free, table, key):
        if condition is None:
            titles.append(span)
        else:
            found.append(_Placed(span, condition))
    found.sort(key=lambda one: one.span)
    read = [*entities.values(), *(one.span for one in found)]
    found, unread = _without_alternatives(query, found)
    unread += _find_unread(query, _cover(_cover(masked, titles, _TITLE), read, _READ))
    topics = [query[slice(*span)] for span in titles]
    return QueryScope(
        tuple(one.condition for one in found),
        tuple(entities),
        listed,
        frozenset(_read_computed(query, listed or table.columns)),
        tuple(dict.fromkeys(unread)),
        tuple(dict.fromkeys(one for one in topics if not any(one in said for said in unread))),
    )


def _cover(text: str, spans: Iterable[Span], mark: str) -> str:
    for start, end in spans:
        text = text[:start] + mark * (end - start) + text[end:]
    return text


def _quoted(text: str) -> list[Span]:
    return [Span(*match.span()) for match in QUOTED.finditer(text)]


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
        if 2 * sum(map(is_one, values)) > len(values):
            found.add(name)
    return frozenset(found)


def _columns_in_words(query: str, table: Table) -> tuple[tuple[str, ...], Span] | None:
    """The columns that a query lists in plain words, and where: "with their wins and city".

    Only where the answer has them all; anything else may be a condition.
    """
    names = {header_key(name): name for name in table.columns}
    one = "|".join(re.escape(name) for name in sorted(table.columns, key=len, reverse=True) if name)
    match = re.search(rf"{_LISTING}((?:(?:{one}){_NEXT})*(?:{one})){_LISTED}", query, re.I)
    if not match or not one:
        return None
    items = [header_key(match[0]) for match in re.finditer(rf"{one}", match[1], re.I)]
    return tuple(dict.fromkeys(names[item] for item in items)), Span(*match.span())


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
    beside = (
        _AND.fullmatch(masked, one.end, other.start) for (one, _), (other, _) in pairwise(found)
    )
    if len({key for _, key in found}) < 2 or not all(beside):
        return {}
    first, last = found[0][0].start, found[-1][0].end
    starts = [stop.end() for stop in SENTENCE_END.finditer(masked, 0, first)]
    begin = min(starts[-1] if starts else 0, max(0, first - 8))  # "e.g." looks like an end
    if _NO_LISTING.search(masked, begin, first) or _PUT_THERE.match(masked, last):
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


def _read_names(
    query: str, masked: str, table: Table, key: int
) -> Iterator[tuple[ScopeCondition | None, Span]]:
    """Names without a column, each with its place; with the condition where it is plain.

    It is plain where the answer has one of the names in the one column that the preposition asks
    for: "from China" and a column Country with a row of China. Any other name may be what the
    whole text is about, or a condition: who reads the text must decide.
    """
    events = [Span(*one.span()) for one in _EVENT.finditer(masked)]
    yield from ((None, event) for event in events)
    masked = _cover(masked, events, GONE)
    columns = set(map(header_key, table.columns))
    position = 0
    for match in _NAME.finditer(masked):
        start, end = match.span()
        before = masked[:start].rstrip()
        if not before or before[-1] in ".!?:;\n":  # a sentence's first word says nothing
            rest = re.match(r"\S+\s+(?=[^\W\d_a-z])", match[0])
            start += rest.end() if rest else len(match[0])
        said = masked[start:end]
        no_name = header_key(said) in columns or _NO_NAMES.issuperset(said.lower().split())
        if start < position or no_name:
            continue
        names = [said]
        while (more := _MORE.match(masked, end)) and (name := _NAME.match(masked, more.end())):
            names.append(name[0])
            end = name.end()
        position = end
        asked = (done := _DONE.search(masked[:start])) or _OF_ROWS.search(masked[:start])
        verb = done["verb"] if done else ""
        label = asked and _only_column(asked["how"].lower(), table, key, names, verb)
        if asked is None or not label:
            yield None, Span(start, end)
            continue
        said = query[asked.start("how") : end]
        condition = ScopeCondition(label, said, values=tuple(names), excluded=bool(asked["no"]))
        yield condition, Span(start, end)


def _only_column(
    how: str, table: Table, key: int, names: Sequence[str], verb: str = ""
) -> str | None:
    """The one column that a preposition or its verb asks for and that has one of the names."""
    wanted = set(map(header_key, names))
    found = [
        name
        for index, name in enumerate(table.columns)
        if index != key
        and (
            not _ASKED[how].isdisjoint(words := content_words(name)[-1:])
            or any(verb and akin(verb, word) for word in words)
        )
        and any(header_key(row[index] or "") in wanted for row in table.rows)
    ]
    return found[0] if len(found) == 1 else None


def _find_unread(query: str, masked: str) -> Iterator[str]:
    """The pieces of a query that read like conditions and are not masked, as the query has them.

    Clauses ("that have a roof", "without a coach"), superlatives and amounts that are left over.
    Nouns and their adjectives ("electric buses") say what the text is about and are no pieces.
    """
    taken = 0
    for sentence in _SENTENCE.finditer(_cover(masked, _quoted(masked), "x")):
        text = sentence[0]
        if _ASKS_FOR_NO_ROWS.match(text) or _COMPUTED.search(text):
            continue
        superlatives = (Span(*match.span()) for match in _SUPERLATIVE.finditer(text))
        for start, end in sorted([*_clauses(text), *superlatives, *_amounts(text)]):
            start, end = sentence.start() + start, sentence.start() + end
            said = query[start:end].strip(" ,")
            if said and start >= taken:
                yield " ".join(said.split())
            taken = max(taken, end)


def _clauses(text: str) -> Iterator[Span]:
    """Clauses of a sentence that hold no condition that was read."""
    for match, following in pairwise([*_OPENER.finditer(text), None]):
        assert match is not None
        last = following.start() if following else len(text)
        end = _STOP.search(text, match.end(), last).start()  # type: ignore[union-attr]  # or "$"
        clause, before = text[match.end() : end], text[: match.start()]
        if _READ in clause or GONE in clause or not any(map(str.isalnum, clause)):
            continue
        if (match["and"] and _READ not in before) or _NO_CONDITION.match(clause):
            continue
        if match[0].lower() != "that" or not _THAT.search(before):
            yield Span(match.start(), end)


def _amounts(text: str) -> Iterator[Span]:
    """Amounts of a sentence with what leads to them and the noun behind."""
    for start, end in Places(text).amounts(0, len(text)):
        lead, noun = _LEAD.search(text, max(0, start - 200), start), _NOUN.match(text, end)
        assert lead is not None and noun is not None  # both match nothing at all
        idle = _NO_AMOUNT.match(text, end) or text[start:end].lower() in ("one", "a", "an", "no")
        if not idle and GONE not in text[lead.start() : noun.end()].strip(GONE):
            yield Span(lead.start(), noun.end())
