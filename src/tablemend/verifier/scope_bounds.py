"""Conditions as a query words them: "from 2010 to 2014", "at least 5", "with Norvik as ...".

Where an amount stands says which end of a range it is; the words around it, which attribute it is
set on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from tablemend.values.cells import Value, read_value
from tablemend.values.places import Places, singular
from tablemend.values.sentences import Span
from tablemend.values.units import ONE, header_unit
from tablemend.values.words import LITTLE_WORDS, akin, content_words
from tablemend.verifier.scope_conditions import (
    ScopeCondition,
    is_generic_time,
    states_time,
    states_year,
)
from tablemend.verifier.scope_values import GONE, QueryMention

SENTENCE_END = re.compile(r"[.;!?](?=\s|$)|\n")
_JOINED = re.compile(
    r"^\s*(?:[a-z]{1,6}\s+)??(?:,?\s*(?:both )?included,?\s*)?(?:to|until|till|through|and|-|\u2013"
    r"|and (?:at most|no more than|up to|not more than))\s*$"
)
_OPENS = re.compile(
    r"(?:\bfrom|\bbetween|\bat least|\bin the range(?: of)?|\branging from|\bspanning|\bof"
    r"|(?<=\baged))\s*$"
)
_BOUNDS: tuple[tuple[str, bool, re.Pattern[str]], ...] = (
    (
        "low",
        True,
        re.compile(
            r"(?:\b(?:at least|no (?:less|fewer|earlier|lower) than|not (?:less|fewer|earlier) than"
            r"|a minimum of|minimum(?: of)?|since|(?:on|in) (?:or|and) after|(?:on"
            r"|in) or later than"
            r"|not before|starting (?:from|in|on|with)|beginning (?:in|with)|from and including"
            r"|as of"
            r"|(?:more|greater|higher|larger|later) than or equal to|equal to or (?:more"
            r"|greater) than)"
            r"|>=|=>|\u2265)\s*$"
        ),
    ),
    (
        "high",
        True,
        re.compile(
            r"(?:\b(?:at most|(?:no|not) (?:more|later|higher|greater|larger) than|up to|until|till"
            r"|through|a maximum of|maximum(?: of)?|(?:on|in) (?:or|and) before|not after|not above"
            r"|not over|(?:less|fewer|lower|smaller|earlier) than or equal to|up to and including"
            r"|equal to or (?:less|fewer) than)|<=|=<|\u2264)\s*$"
        ),
    ),
    (
        "low",
        False,
        re.compile(
            r"(?:\b(?:(?:strictly )?after|(?:more|greater|later|higher|larger|newer|longer|older"
            r"|taller"
            r"|heavier|bigger|better) than|over|above|exceeding|exceeds?|in excess of|beyond)"
            r"|>)\s*$"
        ),
    ),
    (
        "high",
        False,
        re.compile(
            r"(?:\b(?:before|prior to|under|below|(?:less|fewer|earlier|lower|smaller|shorter"
            r"|younger"
            r"|lighter|worse) than)|<)\s*$"
        ),
    ),
)
_TAILS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "low",
        re.compile(
            r"^\s*(?:or|and) (?:later|more|higher|above|after|over|newer|greater"
            r"|larger|up|upwards?|onwards?)\b"
        ),
    ),
    ("low", re.compile(r"^\s*(?:onwards?|upwards?)\b|^\s*\+")),
    (
        "high",
        re.compile(r"^\s*(?:or|and) (?:earlier|less|lower|below|before|fewer|under|smaller)\b"),
    ),
)
_AT = re.compile(
    r"\b(?:in|during|of|for|excluding|except(?: for)?|other than|but not)\s+"
    r"(?:the (?:year|season) |year )?$"
)
_WITHOUT = ("excluding", "except", "other", "but")
_NEGATED = re.compile(
    r"(?:\b(?:not|never|excluding|except(?: for)?|other than|but|without|outside|n't|no)\s+"
    r"(?:\w+\s+)?)$"
)
# "in the 2014 season" and "for 2014 Games" name an event; "in 2014" is a time
_NOT_A_TITLE = re.compile(
    r"^\s*(?:$|[.,;:\0)]|(?:with|as|by|that|which|who|were|was|from|based|using|sorted|into|in|and"
    r"|on|for|only|alone|whose|where|but|not|ordered|ranked|according|together|including|out|at|to"
    r"|having|drawn|please)\b)"
)
_OF_AMOUNT = re.compile(
    r"^(?:at |no |not |more |less |fewer |greater |up |over|above|below|under|[<>=])"
)
_AGE = re.compile(r"\b(?:older|younger) than\s*$")
_HALF = re.compile(r"\b(?:half|quarter|part|start|end|beginning|middle|months?|weeks?) of\s+$")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_NO_LABEL = LITTLE_WORDS | frozenset(
    "all any between both case cover covering entries entry every least most more than ones only "
    "provided that their them there these they this those which who whose when where while based "
    "context table create make list lists please summarize summarise period range spanning values "
    "been be being did do does one two three year years".split()
)
# "at least 5 and" at most 9
_AND_BOUND = re.compile(
    r"\W?\s*(?:is|are|was|were|of|at|with)?\s*(?:no|not|at|more|less|fewer|greater|above|over|after"
    r"|from)?(?: least| than)?(?: (?:less|fewer|earlier) than)?\s[\d.,%$ ]*\d[^\s,;]*\s+(?:and"
    r"|but)\s+",
    re.I,
)
_HOLDS = re.compile(r"\s*(?:or (?:more|less|fewer)\s+)?(?:of |in |as |for |under )?(?:the |its )?")
_REACH = 4  # words before a bound in which its attribute stands


Wording = Literal["at", "time", "amount"]
"""How an amount is bound: "in 2019"; "after 2019", which may speak of time; "at least 2019"."""


class Attributes(NamedTuple):
    """The columns that a condition may be on; those that hold years or dates, or other numbers."""

    names: tuple[str, ...]
    times: frozenset[str]
    numbers: frozenset[str] = frozenset()


def read_bounds(
    query: str, masked: str, attributes: Attributes, quoted: Sequence[QueryMention]
) -> Iterator[tuple[ScopeCondition, Span]]:
    """The ranges, ends and years that are plain, each with its place.

    Args:
        query: its text.
        masked: the same without what is understood already, at the same places.
        attributes: what a condition may be on.
        quoted: names of columns in the query.
    """
    places = Places(masked)
    closed = [(mention.start, mention.end) for mention in quoted]  # no bound stands in a name
    amounts = sorted(
        span
        for span in {Span(stated.start, stated.end) for stated in places.numbers}
        | {Span(date.start, date.end) for date in places.dates}
        if not any(start <= span.start < end for start, end in closed)
    )
    position, index = 0, 0
    while index < len(amounts):
        span = amounts[index]
        before = _unquoted(masked[position : span.start])
        following = amounts[index + 1] if index + 1 < len(amounts) else None
        between = _unquoted(masked[span.end : following.start]) if following else ""
        value = read_value(masked[slice(*span)])
        if following and _JOINED.match(between) and (opening := _OPENS.search(before)):
            other = read_value(masked[slice(*following)])
            is_time = states_time(value) and states_time(other)
            start = position + opening.start()
            label = _attribute(masked, Span(start, following.end), quoted, attributes, is_time)
            place = Span(start, following.end)
            if not _NEGATED.search(before[: opening.start()]):
                found = _range(query[slice(*place)], value, other, label)
                yield from ((_fitting(one, attributes), place) for one in found)
            index, position = index + 2, following.end
            continue
        if (bound := _bound(masked, span, before)) is not None:
            side, included, size = bound
            tails = (pattern.match(_tail(masked, span)) for _, pattern in _TAILS)
            tail = max((match.end() for match in tails if match), default=0)
            place = Span(span.start - size, span.end + (0 if size else tail))
            is_time = states_time(value)
            plain = _OF_AMOUNT.search(before[len(before) - size :]) is not None
            wording: Wording = "at" if side == "at" else "amount" if plain else "time"
            label = _attribute(masked, place, quoted, attributes, is_time, wording)
            low, high = (value, None) if side == "low" else (None, value)
            if side == "at":
                low = high = value
            begins = before[len(before) - size :].startswith(_WITHOUT) and side == "at"
            negated = begins or _NEGATED.search(before[: len(before) - size]) is not None
            if not negated or side == "at":
                said = query[slice(*place)]
                for one in _condition(said, low, high, included, label):
                    yield _fitting(replace(one, excluded=negated), attributes), place
        index, position = index + 1, span.end


def _unquoted(text: str) -> str:
    """Text in small letters, the quotation marks around an amount left out."""
    return re.sub(r"[\"\u201c\u201d]", " ", text.lower())


def _tail(masked: str, span: Span) -> str:
    """What stands behind an amount, in small letters."""
    return re.sub(r"^[\"\u201d]", " ", masked[span.end : span.end + 24].lower())


def _of_unit(said: str, attributes: Attributes) -> str | None:
    """The one column whose header states the unit of an amount: "at least 2,400 m"."""
    units = {stated.number.unit.symbol for stated in Places(said).numbers} - {""}
    found = [name for name in attributes.names if header_unit(name).symbol in units]
    return found[0] if len(found) == 1 else None


def _fitting(condition: ScopeCondition, attributes: Attributes) -> ScopeCondition:
    """A condition as its column takes it: 1300 and 2600 are no years in a column of areas."""
    if condition.is_time and condition.label in attributes.numbers and not _has_dates(condition):
        return replace(condition, is_time=False)
    return condition


def _has_dates(condition: ScopeCondition) -> bool:
    return any(end.dates for end in (condition.low, condition.high) if end is not None)


def _bound(masked: str, span: Span, before: str) -> tuple[str, bool, int] | None:
    """Which end an amount is, whether it is in scope itself, and how long the words before are."""
    tail = _tail(masked, span)
    for side, pattern in _TAILS:
        if pattern.match(tail):
            return side, True, 0
    is_year = states_year(read_value(masked[slice(*span)]))
    for side, included, pattern in _BOUNDS:
        if match := pattern.search(before):
            if is_year and _AGE.search(before):
                return None  # "older than 2010": the other way round than "older than 20"
            return side, included, len(before) - match.start()
    if _HALF.search(before):
        return None
    if is_year and (match := _AT.search(before)) and _NOT_A_TITLE.match(tail):
        return "at", True, len(before) - match.start()
    return None


def _range(said: str, low: Value, high: Value, label: str | None) -> Iterator[ScopeCondition]:
    is_time = states_time(low) and states_time(high)
    if label is None or (not is_time and not label):
        return
    if not is_time and (low.number is None or high.number is None):
        return
    if low.number and high.number and low.number.unit.scale == ONE != high.number.unit.scale:
        return  # "from 5 to 10 million": five what?
    yield ScopeCondition(label, said, is_time, low, high)


def _condition(
    said: str, low: Value | None, high: Value | None, included: bool, label: str | None
) -> Iterator[ScopeCondition]:
    end = low or high
    if label is None or end is None:
        return
    is_time = states_time(end)
    if not is_time and (end.number is None or not label):
        return
    yield ScopeCondition(label, said, is_time, low, high, included, included)


def _attribute(
    masked: str,
    span: Span,
    quoted: Sequence[QueryMention],
    attributes: Attributes,
    is_time: bool,
    wording: Wording = "time",
) -> str | None:
    """The attribute that a bound is set on; ``None`` where that is not plain.

    A column named directly before, or in quotation marks directly behind; else one whose name
    of the amount's unit, where there is but one, or whose name shares a word with those around: of
    a time, one that holds times. Else, of a time, the verb before it, as the context may use it,
    or nothing: "in 2019". ``wording``: how the amount is bound.
    """
    for mention in reversed(quoted):
        if mention.end <= span.start:
            gap = masked[mention.end : span.start]
            timeless = is_time and attributes.times and mention.label in attributes.numbers
            timeless = timeless and (wording == "at" or (wording == "time" and not mention.quoted))
            if len(gap) > 24 or SENTENCE_END.search(gap) or GONE in gap or timeless:
                break
            joined = _AND_BOUND.fullmatch(gap)
            if joined or not any(map(str.isdigit, gap)):
                return mention.label
            break
    behind_it = next((one for one in quoted if one.start >= span.end), None)
    if behind_it and _HOLDS.fullmatch(masked[span.end : behind_it.start]):
        return behind_it.label  # "at least 200 \"Points\""
    head = re.split(r"[.;:,](?=\s)|[\"\0]", masked[max(0, span.start - 60) : span.start])[-1]
    words = [word for word in _WORD.findall(head.lower()) if word not in _NO_LABEL]
    before = [singular(word) for word in words[-_REACH:]][::-1]
    tail = re.split(
        r"[.;:,\"\0]|\b(?:that|which|who|whose|where|with|and|but|or)\b",
        masked[span.end : span.end + 40],
    )[0]
    behind = [singular(w) for w in _WORD.findall(tail.lower()) if w not in _NO_LABEL][:2]
    near = before if is_time else [*behind, *before[:2]]
    if not is_time and (unit := _of_unit(masked[slice(*span)], attributes)):
        return unit
    for word in near:
        for column in attributes.names:
            if is_time and column not in attributes.times:
                continue
            if any(akin(word, wanted) for wanted in content_words(column)):
                return column
    if not is_time:
        return None
    generic = [name for name in attributes.times if is_generic_time(name)]
    if generic:
        return generic[0] if len(generic) == 1 else None
    verb = next((word for word in before if word.endswith("ed")), None)
    return verb if verb or attributes.times else ""
