"""What a query demands of every row, as it words it: 'where "Team" is Norvik', "at least 5".

A column is meant by its name, in quotation marks or not. Where an amount stands says which end of
a range it is; the words around it, which attribute it is set on. An answer is open (``None``) where
it cannot be decided: a part of an admitted name, a season that the end of a range falls into, two
measures that cannot be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from tablemend.values.cells import Value, read_value, year_of
from tablemend.values.places import Places
from tablemend.values.text import (
    FUNCTION_WORDS,
    Span,
    akin,
    content_words,
    header_key,
    singular,
    tokens_of,
)
from tablemend.values.units import ONE, PLAIN, Unit, header_unit
from tablemend.verifier.lexicon import any_of, words_of

_GENERIC_TIME = words_of("time")
_LATER = "~"  # behind a day: any later one is greater


class Moment(NamedTuple):
    """The first and the last day that a date can mean, in ISO."""

    first: str
    last: str


@dataclass(frozen=True, slots=True)
class ScopeCondition:
    """What a query demands of every row.

    Attributes:
        label: the attribute, as a column is called or in the query's word; empty where the query
            speaks of time and no more ("in 2019").
        said: the query's words.
        is_time: the ends are years or dates.
        low, high: the ends; ``None`` is open.
        included: whether the ends themselves are in scope.
        values: the admitted categories; empty for a range.
        excluded: what is described is what the query does not want.
    """

    label: str
    said: str
    is_time: bool = False
    low: Value | None = None
    high: Value | None = None
    included: bool = True
    values: tuple[str, ...] = ()
    excluded: bool = False

    @property
    def is_generic(self) -> bool:
        """Whether any time that is said of an entity counts: "in 2019", the column "Year"."""
        return self.is_time and is_generic_time(self.label)

    def meets(self, value: Value, header: Unit = PLAIN) -> bool | None:
        """Whether a value is in scope; ``None`` where that cannot be decided."""
        met = None if value.blank else self._describes(value, header)
        return met if met is None else met != self.excluded

    def _describes(self, value: Value, header: Unit) -> bool | None:
        if self.values:
            return self._is_among(value)
        if self.is_time:
            return self._meets_time(value)
        ends = ((end, sign) for end, sign in ((self.low, 1), (self.high, -1)) if end is not None)
        return _all(_compare(value, *end, header, self.included) for end in ends)

    def _is_among(self, value: Value) -> bool | None:
        """Whether a text is an admitted one; open of a part of one, or of one and more."""
        ends = [read_value(one) for one in self.values]
        if all(end.number is not None or end.dates for end in ends):  # "2020 or 2022"
            single = (replace(self, values=(), is_time=states_time(e), low=e, high=e) for e in ends)
            answers = {one._describes(value, PLAIN) for one in single}
            return True if True in answers else None if None in answers else False
        if value.number is not None or value.dates:
            return None  # the 2 of "Leg 2"
        said = _spaced(value.text)
        admitted = [_spaced(end.text) for end in ends]
        if said in admitted:
            return True
        return None if any(said in one or one in said for one in admitted) else False

    def _meets_time(self, value: Value) -> bool | None:
        """Whether all days that a value can mean are in the range; open where some are."""
        answers: set[bool | None] = set()
        for first, last in moments_of(value):
            for low in moments_of(self.low):
                edge = low.first if self.included else low.last + _LATER
                answers.add(True if first >= edge else False if last < edge else None)
            for high in moments_of(self.high):
                edge = high.last + _LATER if self.included else high.first
                answers.add(True if last < edge else False if first >= edge else None)
        ambiguous = len(value.dates) > 1 and len(answers) > 1
        return None if ambiguous else _all(answers)


def is_generic_time(label: str) -> bool:
    """Whether a label says no more than that it is a time: "Year"."""
    return set(map(singular, tokens_of(label).words)) <= _GENERIC_TIME


def states_time(value: Value) -> bool:
    """Whether a value is a date or a year."""
    return bool(value.dates) or year_of(value) is not None


def moments_of(value: Value | None) -> list[Moment]:
    """What days a date or year can mean; one for each of its readings, none without a year."""
    if value is None:
        return []
    year = year_of(value)
    readings = value.dates or ((year,) if year else ())
    return [_moment(reading) for reading in readings if reading[0].isdigit()]


def _moment(reading: str) -> Moment:
    first, _, last = reading.partition("/")  # "2019/2020"
    if "q" in reading:
        quarter = int(reading[-1])
        first, last = (f"{reading[:5]}{month:02d}" for month in (3 * quarter - 2, 3 * quarter))
    last = last or first
    return Moment(first + "-01-01"[len(first) - 4 :], last + "-12-31"[len(last) - 4 :])


def _compare(value: Value, end: Value, sign: int, header: Unit, included: bool) -> bool | None:
    """Whether a number is on the right side of an end; 1: not below it, -1: not above."""
    if value.number is None or end.number is None:
        return None
    numbers = (value.number, end.number)
    symbols = {one.unit.symbol for one in numbers}
    if symbols - {"", header.symbol} and len(symbols) > 1:
        return None
    unscaled = [one.unit.scale == ONE for one in numbers]
    scale = header.scale if unscaled.count(True) == 1 else ONE  # what one side leaves out
    sizes = (n.value * (scale if u else ONE) for n, u in zip(numbers, unscaled, strict=True))
    one, other = (sign * size for size in sizes)
    return True if one > other else included if one == other else False


def _spaced(text: str) -> str:
    """The words of a text, so that one text stands in another only in whole words."""
    return f" {' '.join(tokens_of(text).words)} "


def _all(answers: Iterable[bool | None]) -> bool | None:
    """All of three-valued answers; ``None`` of none at all."""
    found = set(answers)
    return False if False in found else None if not found or None in found else True


# ---- how queries word conditions

GONE = "\0"
"""Stands in a masked query for every character that is understood already."""

QUOTED = re.compile(
    r"[\"\u201c]([^\"\u201c\u201d]+)[\"\u201d]|(?<!\w)['`\u2018]([^'`\u2019]+)['`\u2019](?!\w)"
)
SENTENCE_END = re.compile(r"[.;!?](?=\s|$)|\n")
_LONGEST = 200  # characters of a list of values
_REACH = 60  # characters before an amount in which its attribute stands

# ---- equality: what stands between a column and its values, and where these end ----

_LINK = re.compile(
    rf"\s*(?P<link>(?:{any_of('is')}\b|=+|:)(?:\s+(?P<no>{any_of('not')}))?|(?P<no2>{any_of('not')})"
    rf"|in(?=\s*[(\[]))(?:\s+(?:in(?=\s*[(\[])|{any_of('before_values')}))*\s*",
    re.I,
)
_OPENED = re.compile(rf"\b{any_of('before_column')}\s+(?:an?\s+|the\s+)?$", re.I)
_AS = re.compile(
    r"\b(?P<no>not\s+)?(?:with|having|has|have)\s+([^\"\u201c\u201d\0]{1,200}?)\s+as\s+(?:the\s+)?$",
    re.I,
)
# attributes that are no columns: "with Energy as the sector", "whose sector is Energy"
_ATTRIBUTE = re.compile(
    r"(?:(?<!,)\sas the ([a-z]+(?: [a-z]+){0,2}?)(?=[.,;]|\s(?:and|with|whose|in|from)\b|$)"
    r"|\bwhose ([a-z]+(?: [a-z]+){0,2}?)(?=\s(?:is|are|was|were)\b(?!\s*[\0\"\u201c])))"
)
_IN_THE = re.compile(r"\bin the ([^\W\d_a-z][\w'&-]*(?: [^\W\d_a-z][\w'&-]*)*) +$")
_BRACKETS = re.compile(r"\s*\(.*\)$")
_ON = re.compile(r"\s+on\b")
_FIRST = re.compile(r" +([\d\"\u201c]|[^\W\d_a-z])")
_COMPARES = re.compile(rf"{any_of('comparing')}\b|[<>\u2264\u2265]", re.I)
_ENDS = re.compile(
    r"\s+[a-z]+ed\s+(?:from|in|on|between|before|after|since|by|at)\b"
    rf"|,?\s+{any_of('after_values')}\b|,?\s+(?:and|or)\s+(?:the\s+)?(?:[\"\u201c]|{any_of('next_clause')})"
    r"|[;!?\0]|\.(?=\s|$)|\n|\s[(\[]|,\s+(?:and\s+)?(?:sort|order|list|include|keep|show|put|present|arrange)|$",
    re.I,
)
_ITEMS = re.compile(r"\s*,\s*(?:or\s+|and\s+|nor\s+)?|\s+(?:or|nor)\s+", re.I)
_NEXT_ITEM = re.compile(r"\s*(?:,\s*(?:or|and|nor)?|\bor|\band|\bnor)\s*(?=[\"\u201c'])", re.I)
_NEXT_COLUMN = re.compile(r",?\s+(?:and|or|but)\s+(?:(?:the|whose|where|with)\s+)*$", re.I)

# ---- ranges: words before or behind an amount, the end that it is, and whether it is included ----

_BEFORE = [
    (end, re.compile(rf"(?<!\w){any_of(name)}\s*$"))
    for end, name in {
        ("low", True): "at_least",
        ("high", True): "at_most",
        ("low", False): "over",
        ("high", False): "under",
    }.items()
]
# "18,000 members or more", "2000 mAh or more"
_UNIT_OR_NOUN = r"\s*(?:[^\W\d_][\w/\u00b0-]*\s+){0,2}?"
_BEHIND = [
    ("low", re.compile(rf"{_UNIT_OR_NOUN}(?:{any_of('or_more')}\b(?! to\b)|\+)")),
    ("high", re.compile(rf"{_UNIT_OR_NOUN}{any_of('or_less')}\b")),
]
_BOUNDS = re.compile(rf".*?\d.*?{any_of('or_more', 'or_less')}\b")
_ENDS_TO = re.compile(r"\d[\d,.]* to \d")
_TO = re.compile(rf"\s*(?:[a-z]{{1,6}}\s+)??(?:{any_of('to')}|[-\u2013])\s*")
_BARE_TO = re.compile(rf"\s*(?:{any_of('to')}|[-\u2013])\s*")
_FROM = re.compile(rf"\b(?:{any_of('from')}|with|have|has)\s*$")
# "in lanes 2 to 7", "ranked 3 to 5"
_DIRECTLY = re.compile(r"(?:(?<=[a-z]ed)|(?<=[a-z]s))\s+$")
_CLAUSE_OPENS = re.compile(r"\b(?:and|with|have|has|whose)\b")
_DECADE = re.compile(r"((?:1[5-9]|20)\d)0s\b")
# attributes that are no columns: "with a price of 20", "with at least 12 wins"
_OF = re.compile(r"\b(?:with|and|have) (?:an? )?([a-z]+(?: [a-z]+){0,3}?)(?: (?:of|between))?\s*$")
_COUNTED = re.compile(
    r"\s+([a-z]+(?: [a-z]+){0,2}?)(?=[.,?;\0]|$|\s(?:and|with|whose|in|from|based)\b)"
)
_VERB = re.compile(r"\b[a-z]+ed\b")
_AT = re.compile(
    r"(?<!half )(?<!quarter )(?<!start )(?<!end )\b"
    rf"{any_of('in_year')}\s+(?:the (?:year|season) |year )?$"
)
# "in 2014" is a time; "the 2014 Games" are an event, and "in 2014 and 2015" names two times
_NO_NOUN_BEHIND = re.compile(
    rf"(?!(?:,|,? (?:and|or)) \d)\s*(?:$|[.,;:\0)]|{any_of('after_year')}\b)"
)
_NEGATED = re.compile(rf"(?:\b{any_of('negated')}|n't)\s+(?:\w+\s+)?$")
_OF_AMOUNT = re.compile(rf"{any_of('bounding')}\b|[<>\u2264\u2265]", re.I)
_HOLDS = re.compile(r"\s*(?:of |in |as |for )?(?:the |its )?")
_CLAUSE = re.compile(rf"[.;:,\"\0]|\b{any_of('clause')}\b")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_IDLE = FUNCTION_WORDS | words_of("idle")

Kind = Literal["time", "either", "amount"]
"""How an amount is bound: "after 2019", of a time; "2019 or less", perhaps; "at least 2019"."""


class QueryMention(NamedTuple):
    """Where a query names a column.

    Attributes:
        start, end: with its quotation marks.
        label: the column, or what stands in the marks.
        known: it is a column of the answer or of the query's list.
        quoted: it stands in quotation marks.
    """

    start: int
    end: int
    label: str
    known: bool
    quoted: bool


class Attributes(NamedTuple):
    """The columns that a condition may be on; those that hold years or dates, or other numbers."""

    names: tuple[str, ...]
    times: frozenset[str]
    numbers: frozenset[str]


def find_mentions(masked: str, columns: Sequence[str], key: str) -> list[QueryMention]:
    """Everything in quotation marks, and every name of a column without them, in order.

    A plural of a name counts, too, but not of the key: "the athletes".
    """
    known = {header_key(_BRACKETS.sub("", name)): name for name in columns}
    known |= {header_key(name): name for name in columns}
    found: list[QueryMention] = []
    for match in QUOTED.finditer(masked):
        said = match[1] or match[2]
        if GONE not in said:
            name = known.get(header_key(said))
            found.append(QueryMention(*match.span(), name or said, name is not None, True))
    for match in _ATTRIBUTE.finditer(masked):
        said = match[1] or match[2]
        if match[2] or _AS.search(masked, 0, match.start(1)):
            name = known.get(header_key(said))
            span = match.span(1 if match[1] else 2)
            found.append(QueryMention(*span, name or said, name is not None, False))
    for name in sorted(columns, key=len, reverse=True):
        spelled = r"[\s_]+".join(map(re.escape, name.lower().replace("_", " ").split()))
        plural = "" if name == key else "s?"
        if header_key(name) in ("#", "no", "no."):
            spelled = "numbered"
        for match in re.finditer(rf"(?<![\w-]){spelled}{plural}(?![\w-])", masked.lower()):
            if spelled and not any(o.start < match.end() and match.start() < o.end for o in found):
                found.append(QueryMention(*match.span(), name, True, False))
    return sorted(found)


def read_values(
    query: str, masked: str, mentions: Sequence[QueryMention]
) -> Iterator[tuple[ScopeCondition, Span]]:
    """The conditions of equality, each with its place from the column's name to the last value."""
    taken = 0
    for mention in mentions:
        if mention.start < taken:
            continue
        following = next((one.start for one in mentions if one.start >= mention.end), len(masked))
        found = _values_behind(masked, mention, following) or _values_ahead(masked, mention)
        if found is None:
            continue
        items, excluded, span = found
        taken = span.end
        said, value = query[slice(*span)].strip(" ,"), read_value(items[0])
        condition = ScopeCondition(mention.label, said, values=items, excluded=excluded)
        if len(items) == 1 and (value.number is not None or value.dates):
            is_time = states_time(value)
            condition = replace(condition, is_time=is_time, low=value, high=value, values=())
        yield condition, Span(min(mention.start, span.start), max(mention.end, span.end))


def _values_behind(
    masked: str, mention: QueryMention, following: int
) -> tuple[tuple[str, ...], bool, Span] | None:
    """The values behind a column: "Year" is 2021, "Year" 2021; ``following``: the next column."""
    link = _LINK.match(masked, mention.end)
    opened = _OPENED.search(masked[max(0, mention.start - 20) : mention.start])
    if link is None:
        if not opened:
            return None
        found = _FIRST.match(masked, mention.end)
        first = found[1] if found else ""
        is_name = first.isupper() and not mention.quoted and masked[mention.start].isupper()
        if found is None or is_name or (first.isupper() and not mention.known):
            return None  # "for Team Norvik" is a name
        start = found.start(1)
    elif not mention.quoted and not opened and link["link"].strip()[:1] != "=":
        return None  # "the country is to stand first"
    else:
        start = link.end()
    items, end = _read_items(masked, start, following)
    excluded = link is not None and bool(link["no"] or link["no2"])
    return (items, excluded, Span(start, end)) if items else None


def _values_ahead(masked: str, mention: QueryMention) -> tuple[tuple[str, ...], bool, Span] | None:
    """The values before a column: with Norvik as "Team", in the Energy sector."""
    start = max(0, mention.start - _LONGEST)
    if mention.known and (found := _IN_THE.search(masked, start, mention.start)):
        return (found[1],), False, Span(*found.span(1))
    found = _AS.search(masked, start, mention.start)
    if found is None or _COMPARES.match(found[2]):
        return None
    return tuple(_ITEMS.split(found[2])), bool(found["no"]), Span(*found.span(2))


def _read_items(masked: str, start: int, following: int) -> tuple[tuple[str, ...], int]:
    """The values that a listing names, quoted or not, and where it ends; none where it bounds."""
    while masked[start : start + 1] in ("(", "["):
        start += 1
    items, end = [], start
    while match := QUOTED.match(masked, start):
        items.append((match[1] or match[2]).strip().rstrip(".,"))
        end = match.end()
        joint = _NEXT_ITEM.match(masked, end)
        if joint is None:
            break
        start = joint.end()
    if not items:
        end = _ENDS.search(masked, start).start()  # type: ignore[union-attr]  # "$" always is
        if following < end and (joint := _NEXT_COLUMN.search(masked, start, following)):
            end = joint.start()
        said = masked[start:end].rstrip(" ,")
        end = start + len(said)
        if len(said) > _LONGEST or any(p.match(said) for p in (_COMPARES, _BOUNDS, _ENDS_TO)):
            return (), start
        items = [said] if read_value(said).dates else _ITEMS.split(said)
    if any(pattern.match(masked[end : end + 48].lower()) for _, pattern in _BEHIND):
        return (), start
    return tuple(one.strip() for one in items if one.strip()), end


def read_bounds(
    query: str, masked: str, attributes: Attributes, mentions: Sequence[QueryMention]
) -> Iterator[tuple[ScopeCondition, Span]]:
    """The ranges, ends and years that are plain, each with its place.

    Args:
        query: its text.
        masked: the same without what is understood already, at the same places.
        attributes: what a condition may be on.
        mentions: names of columns in the query.
    """
    decades = (Span(*decade.span()) for decade in _DECADE.finditer(masked))
    amounts = [
        span
        for span in sorted([*Places(masked).amounts(0, len(masked)), *decades])
        if not any(one.start <= span.start < one.end for one in mentions)
    ]
    plain = re.sub(r"[\"\u201c\u201d]", " ", masked.lower())
    position = index = 0
    while index < len(amounts):
        span = amounts[index]
        before = plain[position : span.start]
        value = read_value(masked[slice(*span)])
        low: Value | None = value
        high: Value | None = value
        included, place, is_bound = True, span, False
        following = amounts[index + 1] if index + 1 < len(amounts) else None
        opening = _FROM.search(before) or _DIRECTLY.search(before)
        index, position = index + 1, span.end
        if opening and following and _joins(plain[span.end : following.start], opening[0]):
            high = read_value(masked[slice(*following)])
            place = Span(span.start - len(before) + opening.start(), following.end)
            index, position = index + 1, following.end
        elif decade := _DECADE.match(plain, span.start):
            low, high = (read_value(decade[1] + last) for last in "09")
        elif (found := _end_of_range(plain, span, before)) is not None:
            side, included, place = found
            low, high = (value if side != "high" else None), (value if side != "low" else None)
            is_bound = side != "at"
        else:
            continue
        head = plain[span.start - len(before) : place.start]
        at_year = low is high
        negated = bool(_NEGATED.search(head)) or (
            at_year and plain.startswith(("excluding", "except", "other", "but"), place.start)
        )
        if negated and not at_year:
            continue
        is_time = all(states_time(end) for end in (low, high) if end is not None)
        said = query[slice(*place)]
        # "films up to 2014", no "seats up to 2014 people"
        until = said.startswith("up to ") and _NO_NOUN_BEHIND.match(plain, place.end)
        is_amount = is_bound and _OF_AMOUNT.match(said) and not until
        kind: Kind = "either" if is_bound and said[0].isdigit() else "time"
        kind = "amount" if not is_time or is_amount else kind
        label = _attribute(plain, masked, place, mentions, attributes, kind)
        dated = any(end.dates for end in (low, high) if end is not None)
        if is_time and label in attributes.numbers and not dated:
            is_time = False  # 1300 and 2600 are no years in a column of areas
        if label is None or not (is_time or label):
            continue
        numbers = all(end.number is not None for end in (low, high) if end is not None)
        if is_time or numbers:
            yield ScopeCondition(label, said, is_time, low, high, included, excluded=negated), place


def _joins(text: str, opening: str) -> bool:
    """Whether a text joins the ends of a range; "at least 3 wins and 5 to 9 losses" are two."""
    if opening.startswith("at"):
        return bool(_BARE_TO.fullmatch(text)) and not text.endswith("and ")
    return bool(_TO.fullmatch(text)) and (not text.endswith("and ") or "between" in opening)


def _is_of(word: str, one: str) -> bool:
    """Whether a word before a bound is of a column's word: "aired" of an air date."""
    deed = word.endswith("ed") and (word[:-2] == one or word[:4] == one[:4])  # "decided": decision
    return deed or akin(word, one)


def _end_of_range(plain: str, span: Span, before: str) -> tuple[str, bool, Span] | None:
    """Which end an amount is ("at" a year for both), whether it is in scope, and its place."""
    tail = plain[span.end : span.end + 48]
    for side, pattern in _BEHIND:
        if match := pattern.match(tail):
            return side, True, Span(span.start, span.end + match.end())
    if (opening := _FROM.search(before)) and (match := _ON.match(tail)):
        return "low", True, Span(span.start - len(before) + opening.start(), span.end + match.end())
    is_year = year_of(read_value(plain[slice(*span)])) is not None
    for (side, included), pattern in _BEFORE:
        if match := pattern.search(before):
            if is_year and match[0].startswith(("older", "younger")):
                return None  # the other way round than "older than 20"
            return side, included, Span(span.start - len(before) + match.start(), span.end)
    if is_year and (match := _AT.search(before)) and _NO_NOUN_BEHIND.match(tail):
        return "at", True, Span(span.start - len(before) + match.start(), span.end)
    return None


def _attribute(
    plain: str,
    masked: str,
    place: Span,
    mentions: Sequence[QueryMention],
    attributes: Attributes,
    kind: Kind,
) -> str | None:
    """The attribute that a bound is set on; ``None`` where that is not plain.

    A column named directly before or behind; else the one whose header states the amount's unit;
    else one that shares a word with those around. Of a time, one that holds times, the verb before
    it, as the context may use it, or nothing: "in 2019".
    """
    if plain.startswith("aged ", place.start):
        return next((name for name in attributes.names if "age" in content_words(name)), None)
    ahead = next((one for one in reversed(mentions) if one.end <= place.start), None)
    if ahead is not None:
        gap = masked[ahead.end : place.start]
        timeless = kind == "time" and attributes.times and ahead.label in attributes.numbers
        # "with 3 wins and at most 2 losses", "18,000 members or more founded from 1913 on"
        opens = _CLAUSE_OPENS.search(gap) or _CLAUSE_OPENS.match(masked, place.start)
        apart = opens or _VERB.search(gap) or SENTENCE_END.search(gap) or GONE in gap
        if len(gap) <= 24 and not (timeless or apart or any(map(str.isdigit, gap))):
            return ahead.label
    behind = next((one for one in mentions if one.start >= place.end), None)
    if behind is not None and _HOLDS.fullmatch(masked, place.end, behind.start):
        return behind.label  # "at least 200 \"Points\""
    is_time = kind != "amount"
    if not is_time:
        stated = Places(masked[slice(*place)]).numbers
        units = {one.number.unit.symbol for one in stated} - {""}
        found = [name for name in attributes.names if header_unit(name).symbol in units]
        if len(found) == 1:
            return found[0]
    head = re.split(r"[.;:,](?=\s)|\0", plain[max(0, place.start - _REACH) : place.start])[-1]
    before = [singular(word) for word in _WORD.findall(head) if word not in _IDLE][-4:][::-1]
    tail = _WORD.findall(_VERB.split(_CLAUSE.split(plain[place.end : place.end + 40])[0])[0])
    inside = _WORD.findall(plain[slice(*place)])  # "25,000 students or more"
    after = [singular(word) for word in (*inside, *tail) if word not in _IDLE][:2]
    named = _OF.search(plain, 0, place.start) or _COUNTED.match(plain, place.end)
    if not is_time and named:
        wanted = content_words(named[1])
        for column in attributes.names:
            words = content_words(column)
            if all(any(akin(one, word) for word in words) for one in wanted):
                return column
        if len(wanted) > 1 and named.re is _OF:
            return named[1]
        before = before if named.re is _OF else []
    if plain.startswith("of ", place.start):  # "a price of 150 to 900 USD"
        after = [*before[:1], *after]
    for word in before if is_time else [*after, *before[:2]]:
        for column in attributes.names:
            if is_time and column not in attributes.times:
                continue
            if any(_is_of(word, one) for one in content_words(column)):
                return column
    if not is_time:
        return named[1] if named else None
    generic = [name for name in attributes.times if is_generic_time(name)]
    if generic:
        return generic[0] if len(generic) == 1 else None
    verb = next((word for word in before if word.endswith("ed")), None)
    return verb if verb or attributes.times else ""
