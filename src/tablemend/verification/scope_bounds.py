"""Conditions as a query words them: "from 2010 to 2014", "at least 5", "with Norvik as ...".

Where an amount stands says which end of a range it is; the words around it, which attribute it is
set on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tablemend.values.cells import Value, read_value
from tablemend.values.places import Places, singular
from tablemend.values.sentences import Span
from tablemend.values.units import ONE
from tablemend.values.words import LITTLE_WORDS, akin, content_words
from tablemend.verification.scope_conditions import (
    Condition,
    is_generic_time,
    states_time,
    states_year,
)

_QUOTE = re.compile(r"[\"\u201c]([^\"\u201c\u201d]+)[\"\u201d]|(?<!\w)'([^']+)'(?!\w)")
SENTENCE_END = re.compile(r"[.;!?](?=\s|$)|\n")
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
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_NO_LABEL = LITTLE_WORDS | frozenset(
    "all any between both case cover covering entries entry every least most more than ones only "
    "provided that their them there these they this those which who whose when where while based "
    "context table create make list lists please summarize summarise period range spanning values "
    "been be being did do does one two three year years".split()
)
_REACH = 4  # words before a bound in which its attribute stands


class Attributes(NamedTuple):
    """The columns that a condition may be on, and those of them that hold years or dates."""

    names: tuple[str, ...]
    times: frozenset[str]


def read_conditions(query: str, masked: str, attributes: Attributes) -> Iterator[Condition]:
    """The conditions that are plain.

    Args:
        query: its text.
        masked: the same without its list of columns and its sort rule, at the same places.
        attributes: what a condition may be on.
    """
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
            is_time = states_time(value) and states_time(other)
            start = position + opening.start()
            label = _attribute(masked, Span(start, following.end), quoted, attributes, is_time)
            said = query[start : following.end]
            yield from _range(said, value, other, label)
            index, position = index + 2, following.end
            continue
        if (bound := _bound(masked, span, before)) is not None:
            side, included, size = bound
            place = Span(span.start - size, span.end)
            label = _attribute(masked, place, quoted, attributes, states_time(value))
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
    is_year = states_year(read_value(masked[slice(*span)]))
    if is_year and (match := _AT.search(before)) and _NOT_A_TITLE.match(tail):
        return "at", True, len(before) - match.start()
    return None


def _range(said: str, low: Value, high: Value, label: str | None) -> Iterator[Condition]:
    is_time = states_time(low) and states_time(high)
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
    is_time = states_time(end)
    if not is_time and (end.number is None or not label):
        return
    yield Condition(label, said, is_time, low, high, included, included)


def _attribute(
    masked: str,
    span: Span,
    quoted: Sequence[tuple[re.Match[str], str]],
    attributes: Attributes,
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
            if len(gap) <= 24 and not SENTENCE_END.search(gap):
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
    generic = [name for name in attributes.times if is_generic_time(name)]
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
            yield Condition(name, said, states_time(value), value, value), Span(start, end)
        else:
            values = tuple(part for part in _VALUES.split(said) if part)
            yield Condition(name, said, values=values), Span(start, end)
