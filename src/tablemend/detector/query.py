"""The sort rule of a query, read from its wording."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tablemend.detector.order import SortRule
from tablemend.records import SortOrder
from tablemend.values.text import header_key

_SORT_BY = re.compile(
    r"\b(?:sort|order|arrang|rank)(?:e?d|ing|e|s)?\b[^.;\n]{0,80}?"
    r"\b(?:by|according to|based on|on|in terms of)\b|\border of\b",
    re.IGNORECASE,
)
_DIRECTIONS: tuple[tuple[SortOrder, re.Pattern[str]], ...] = (
    (
        "descending",
        re.compile(
            r"\bdescend|\bdecreas|\breverse|\bz ?(?:to|-) ?a\b"
            r"|\b(?:high|larg|great|new|lat|bigg)est (?:to|first)\b"
            r"|\bmost recent first\b|\bhigh to low\b|\bmost to (?:least|fewest)\b"
        ),
    ),
    (
        "ascending",
        re.compile(
            r"\bascend|\bincreas|\balphabetic|\bchronologic|\ba ?(?:to|-) ?z\b|\blow to high\b"
            r"|\b(?:low|small|old|earli|few|lea)e?st (?:to|first)\b"
        ),
    ),
)
_QUOTED = re.compile(r"[\"'`\u201c\u2018*]+([^\"`\u201d\u2019*]+?)[\"'`\u201d\u2019*]+")
_SENTENCE_END = re.compile(r"[.;!?](?=\s|$)|\n")


def sort_rule_from_query(query: str, columns: Sequence[str]) -> SortRule | None:
    """Read "sort the table by 'X' in descending order" and its variants from a query.

    The column must be one of ``columns`` (case, spaces and quotes do not matter) and the
    direction must be said; else there is no rule, and order is not judged. Of several sort
    columns the first counts.
    """
    for match in _SORT_BY.finditer(query):
        rest = query[match.end() : match.end() + 400]
        found = _first_column(rest, columns)
        if found is None:
            continue
        column, end = found
        tail = rest[end:]
        stop = _SENTENCE_END.search(tail)
        tail = tail[: stop.start()] if stop else tail
        order = _direction(tail) or _direction(match[0]) or _direction(query[: match.start()][-40:])
        if order:
            return SortRule(column, order)
    return None


def _first_column(text: str, columns: Sequence[str]) -> tuple[str, int] | None:
    """The column named first in a clause, and where its name ends; the longest name wins."""
    names = {header_key(column): column for column in columns}
    quoted = _QUOTED.search(text)
    if quoted and quoted.start() < 40 and header_key(quoted[1]) in names:
        return names[header_key(quoted[1])], quoted.end()
    found: list[tuple[int, int, str]] = []
    lowered = text.lower()
    for column in columns:
        place = re.search(rf"(?<!\w){re.escape(column.lower())}(?!\w)", lowered)
        if place:
            found.append((place.start(), -place.end(), column))
    if not found:
        return None
    _, end, column = min(found)
    return column, -end


def _direction(text: str) -> SortOrder | None:
    """The direction said first in a text."""
    said = [
        (match.start(), number)
        for number, (_, words) in enumerate(_DIRECTIONS)
        if (match := words.search(text.lower()))
    ]
    return _DIRECTIONS[min(said)[1]][0] if said else None
