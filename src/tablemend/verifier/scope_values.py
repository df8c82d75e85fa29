"""Values that a query admits for a column: 'where "Team" is Norvik or Lund', "with Year 2021".

A column is meant by its name in quotation marks, or without them where a word of comparison stands
behind it or a preposition before it. Bounds ("above 5") are read in ``scope_bounds``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tablemend.values.cells import read_value
from tablemend.values.sentences import Span
from tablemend.values.text import header_key
from tablemend.verifier.scope_conditions import ScopeCondition, states_time

GONE = "\0"
"""Stands in a masked query for every character that is understood already."""

QUOTED = re.compile(
    r"[\"\u201c]([^\"\u201c\u201d]+)[\"\u201d]|(?<!\w)['`\u2018]([^'`\u2019]+)['`\u2019](?!\w)"
)
_NOT = (
    r"(?:not (?:equal to|in|from|one of|any of|either)|not|neither|other than|different from"
    r"|!=|\u2260|<>)"
)
_IS = r"(?:is|are|was|were|equals?|equal to|being|must be|should be|has to be|=+|:)"
_LINK = re.compile(
    rf"\s*(?P<link>{_IS}\s+(?P<no>{_NOT})|(?P<no2>(?:isn't|aren't|wasn't|weren't|{_NOT}))"
    rf"|{_IS}|at(?! (?:least|most)\b)|in(?=\s*[(\[]))"
    r"(?:\s+(?:in(?=\s*[(\[])|equal to|exactly|precisely|only|either|one of|any of|among"
    r"|given as|listed as))*\s*",
    re.I,
)
_OPENED = re.compile(r"\b(?:with|for|having|whose|where|of|in|and|or)\s+(?:an?\s+|the\s+)?$", re.I)
_BEFORE = re.compile(
    r"\b(?P<no>not\s+)?(?:with|having|have"
    r"|has)\s+([^\"\u201c\u201d]{1,200}?)\s+as\s+(?:the(?:ir)?\s+)?$",
    re.I,
)
_COMPARES = re.compile(
    r"(?:from|between|at least|at most|above|below|over|under|more|less|fewer|before|after|no|in|on"
    r"|since|until|up|greater|larger|higher|lower|smaller|later|earlier|older|newer|within|exceed"
    r"|beyond|not|than|longer|shorter|any|as|available|known|given|missing|blank|empty|stated)\b"
    r"|[<>\u2264\u2265]",
    re.I,
)
_TAIL = re.compile(
    r"\s*(?:or|and|&)\s+(?:less|more|earlier|later|fewer|higher|lower|above|below|over|under|older"
    r"|newer|greater|after|before|smaller|larger)\b|\s*(?:onwards?|upwards?|to|until|through|-"
    r"|\u2013)\b",
    re.I,
)
_STOP = re.compile(
    r",?\s+(?:based on|drawn from|as described|from the|from this|using|into|in a|in this|in that"
    r"|in order|in (?:a|de)scending|with|whose|where|that|which|who|having|sorted|ordered|arranged"
    r"|only|alone|but|by|please|then|include|keep|as)\b"
    r"|,?\s+(?:and|or)\s+(?:the\s+)?(?:[\"\u201c]|whose|where|with|that|which|who|have|has|having"
    r"|at (?:least|most)|more than|less than|fewer than|above|below|between|from|not|in|before"
    r"|after"
    r"|sort|order|list|include|use|keep|show|give|put)"
    r"|[;!?\0]|\.(?=\s|$)|\n|\s[(\[]|,\s+(?:and\s+)?(?:sort|order|list|include|use|keep|show"
    r"|give|put)|$",
    re.I,
)
_JOINT = re.compile(
    r"\s*(?:,\s*(?:or|and|nor)?|\bor|\band|\bnor|/)\s*(?:else\s+)?(?:of\s+)?(?=[\"\u201c'])", re.I
)
_NEXT = re.compile(r",?\s+(?:and|or|but)\s+(?:(?:the|whose|where|with)\s+)*$", re.I)
_ITEMS = re.compile(r"\s*,\s*(?:or\s+|and\s+|nor\s+)?|\s+(?:or|nor)\s+", re.I)
_LONGEST = 200
_FREE = re.compile(
    r"\b(?:where|whose)\s+(?:the\s+)?([A-Z][\w-]*(?:\s+[A-Z][\w-]*){0,3})(?=\s+(?:is|are|was"
    r"|were|=)\s)"
)


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


def find_mentions(masked: str, columns: Sequence[str]) -> list[QueryMention]:
    """Everything in quotation marks, and every name of a column without them, in order."""
    known = {header_key(name): name for name in columns}
    found: list[QueryMention] = []
    for match in QUOTED.finditer(masked):
        said = match[1] or match[2]
        if GONE not in said:
            name = known.get(header_key(said))
            found.append(QueryMention(*match.span(), name or said, name is not None, True))
    lowered = masked.lower()
    for name in sorted(columns, key=len, reverse=True):
        words = [re.escape(word) for word in re.split(r"[\s_]+", name.lower().strip()) if word]
        if not words:
            continue
        spelled = r"[\s_]+".join(words)
        for match in re.finditer(rf"(?<![\w-]){spelled}(?![\w-])", lowered):
            if not any(one.start < match.end() and match.start() < one.end for one in found):
                found.append(QueryMention(*match.span(), name, True, False))
    for match in _FREE.finditer(masked):  # "where Credit Rating is BBB", of a column elsewhere
        if not any(one.start < match.end(1) and match.start(1) < one.end for one in found):
            found.append(QueryMention(*match.span(1), match[1], False, True))
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
        found = _behind(masked, mention, following) or _ahead(masked, mention)
        if found is None:
            continue
        items, excluded, start, end = found
        said = query[start:end].strip(" ,")
        taken = end
        condition = _condition(mention.label, said, items, excluded)
        yield condition, Span(min(mention.start, start), max(mention.end, end))


def _condition(label: str, said: str, items: tuple[str, ...], excluded: bool) -> ScopeCondition:
    if len(items) == 1:
        value = read_value(items[0])
        if value.number is not None or value.dates:
            return ScopeCondition(label, said, states_time(value), value, value, excluded=excluded)
    return ScopeCondition(label, said, values=items, excluded=excluded)


def _behind(
    masked: str, mention: QueryMention, following: int
) -> tuple[tuple[str, ...], bool, int, int] | None:
    """The values behind a column: "Year" is 2021, "Year" 2021, Year = 2021.

    ``following``: where the next column is named.
    """
    link = _LINK.match(masked, mention.end)
    opened = _OPENED.search(masked[max(0, mention.start - 20) : mention.start])
    if link is None:
        if not (opened and (mention.known or mention.quoted)):
            return None
        start = mention.end
        while masked[start : start + 1] == " ":
            start += 1
        first = masked[start : start + 1]
        if not mention.known and not first.isdigit() and first not in '"\u201c':
            return None
        if first.isupper() and not mention.quoted and masked[mention.start].isupper():
            return None  # "for Team Norvik" is a name
        if start == mention.end or not (first.isdigit() or first.isupper() or first in '"\u201c'):
            return None
        excluded = False
    else:
        spoken = link["link"].strip().lower()
        if not mention.quoted and not opened and spoken not in ("=", "=="):
            return None  # "the country is to stand first"
        if spoken == "at" and not mention.quoted:
            return None
        start, excluded = link.end(), bool(link["no"] or link["no2"])
    items, end = read_items(masked, start, following)
    return (items, excluded, start, end) if items else None


def _ahead(masked: str, mention: QueryMention) -> tuple[tuple[str, ...], bool, int, int] | None:
    """The values before a column: with Norvik as "Team"."""
    if not (mention.quoted or mention.known):
        return None
    begin = max(0, mention.start - _LONGEST - 20)
    found = _BEFORE.search(masked[begin : mention.start])
    if found is None or GONE in found[2]:
        return None
    start, end = begin + found.start(2), begin + found.end(2)
    items = tuple(part for part in _ITEMS.split(found[2].strip(" ,")) if part)
    if not items or _COMPARES.match(found[2]):
        return None
    return items, bool(found["no"]), start, end


def read_items(masked: str, start: int, following: int) -> tuple[tuple[str, ...], int]:
    """The values that a listing names, quoted or not, and where it ends; none where it bounds.

    ``following``: where the next column is named, which ends the listing behind *and*.
    """
    while masked[start : start + 1] in ("(", "["):
        start += 1
    if masked[start : start + 1] in ('"', "\u201c", "'", "\u2018", "`"):
        return _quoted_items(masked, start)
    stop = _STOP.search(masked, start)
    end = stop.start() if stop else len(masked)
    if following < end and (joint := _NEXT.search(masked[start:following])):
        end = start + joint.start()
    said = masked[start:end].rstrip(" ,")
    if not said or len(said) > _LONGEST or _COMPARES.match(said):
        return (), start
    if _TAIL.search(said) and any(map(str.isdigit, said)):
        return (), start
    if _TAIL.match(masked, end):
        return (), start
    if read_value(said).dates:
        return (said,), start + len(said)
    return tuple(part.strip() for part in _ITEMS.split(said) if part.strip()), start + len(said)


def _quoted_items(masked: str, start: int) -> tuple[tuple[str, ...], int]:
    items: list[str] = []
    end = start
    while match := QUOTED.match(masked, start):
        if GONE in match[0]:
            break
        if items and _LINK.match(masked, match.end()):
            break  # the next condition's column
        items.append((match[1] or match[2]).strip().rstrip(".,"))
        end = match.end()
        joint = _JOINT.match(masked, end)
        if joint is None:
            break
        start = joint.end()
    if _TAIL.match(masked, end) and _TAIL.match(masked, end)[0].strip(" -\u2013"):  # type: ignore[index]
        return (), start
    return tuple(items), end
