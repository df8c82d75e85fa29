"""The sort rule and the columns of a query, read from its wording."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import yaml

from tablemend.detector.order import SortRule
from tablemend.records import SortOrder
from tablemend.values.text import header_key

_PATTERNS: dict[str, str] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_SORT_BY = re.compile(_PATTERNS["sort by"], re.IGNORECASE | re.VERBOSE)
_DIRECTIONS: dict[SortOrder, re.Pattern[str]] = {
    "descending": re.compile(_PATTERNS["descending"], re.VERBOSE),
    "ascending": re.compile(_PATTERNS["ascending"], re.VERBOSE),
}
_QUOTED = re.compile(r"(?<!\w)[\"'`\u201c\u2018*]+([^\"`\u201d\u2019*]+?)[\"'`\u201d\u2019*]+")
_COUNTS = ("zero", "one", "two", "three", "four", "five", "six")
_DECIMALS = re.compile(
    rf"\b(?P<count>[0-6]|{'|'.join(_COUNTS)}) (?:decimals?|decimal places?|digits? after the)\b"
    r"|\b(?:as|to) (?:a|the nearest) (?:whole number|integer)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.;!?](?=\s|$)|\n")


_COLUMNS = re.compile(r"\b(?:columns?|headers?|fields)\b", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*(?:,\s*(?:and\s+|then\s+)?|;\s*|\s+and\s+|\s*&\s*)", re.IGNORECASE)
_NAME = re.compile(
    r"(?P<mark>\*\*|[\"\u201c`'\u2018])(?P<name>[^\"\u201c\u201d`\n*]{1,200}?)(?:\*\*|[\"\u201d`'\u2019])(?!\w)"
)
_BEFORE_A_LIST = 80
_BARE_LIST = re.compile(
    r"\b(?:columns?|headers?|fields)\b[^.:;\n\"]{0,60}:\s*(?P<list>[^.;:\n\"]+?)\s*(?:[.;\n]|$)",
    re.IGNORECASE,
)
_AFTER_LIST = re.compile(r",?\s*(?:in (?:that|this|exactly|the)\b.*|respectively)$", re.IGNORECASE)


def columns_from_query(query: str) -> tuple[str, ...] | None:
    """The columns that a query asks for, in its order and as it writes them.

    Read where "columns", "header" or "fields" stands within a few words before a list of quoted
    names (the longest such list counts), or before a colon and a list without quotation marks.
    ``None`` where the query names no columns, or one twice.
    """
    found: list[tuple[str, ...]] = []
    position = 0
    while match := _NAME.search(query, position):
        names, end = [match["name"].strip()], match.end()
        while separator := _SEPARATOR.match(query, end):
            following = _NAME.match(query, separator.end())
            if following is None:
                break
            names.append(following["name"].strip())
            end = following.end()
        position = end
        before = query[max(0, match.start() - _BEFORE_A_LIST) : match.start()]
        words = before[max(map(before.rfind, ".;!?\n")) + 1 :]
        if _lists_columns(words):
            found.append(tuple(names))
    if not found:
        for bare in _BARE_LIST.finditer(query):
            text = _AFTER_LIST.sub("", bare["list"])
            found.append(tuple(name.strip() for name in _SEPARATOR.split(text)))
    best = max(found, key=len, default=())
    if not best or not all(best) or len({header_key(name) for name in best}) < len(best):
        return None
    return best


def _lists_columns(words: str) -> bool:
    """Whether the words before a list say that it is of the columns, and not those to sort by."""
    named = [match.start() for match in _COLUMNS.finditer(words)]
    sorting = [match.end() for match in _SORT_BY.finditer(words)]
    if not named or not sorting:
        return bool(named)
    # "sorted by "X" in ascending order with the columns ..."
    return named[-1] > sorting[-1] and _direction(words[sorting[-1] : named[-1]]) is not None


def sort_rule_from_query(query: str, columns: Sequence[str]) -> SortRule | None:
    """Read "sort the table by 'X' in descending order" and its variants from a query.

    The column must be one of ``columns`` (case, spaces and quotes do not matter) and the
    direction must be said; else there is no rule, and order is not scored. Of several sort
    columns the first counts.
    """
    for match in _SORT_BY.finditer(query):
        rest = query[match.end() : match.end() + 400]
        found = _first_column(rest, columns)
        if found is None:
            continue
        column, start, end = found
        if _SENTENCE_END.search(rest[:start]):
            continue  # the column of another sentence
        tail = rest[end:]
        stop = _SENTENCE_END.search(tail)
        tail = tail[: stop.start()] if stop else tail
        places = (tail, rest[:start], match[0], query[: match.start()][-40:])
        order = next((order for text in places if (order := _direction(text))), None)
        if order:
            return SortRule(column, order)
    return None


def decimals_from_query(query: str, columns: Sequence[str]) -> dict[str, int]:
    """How many decimals a query rounds columns to: "... 'X', rounded to two decimal places".

    Read is the column of ``columns`` that is named first in the sentence that says so.
    """
    found: dict[str, int] = {}
    for sentence in re.findall(r'(?:"[^"\n]*"|[.!?](?!\s|$)|[^".!?\n])+', query):
        said = _DECIMALS.search(sentence)
        named = _first_column(sentence, columns) if said else None
        if said and named:
            count = said["count"] or "zero"
            found[named[0]] = int(count) if count.isdigit() else _COUNTS.index(count.lower())
    return found


def _first_column(text: str, columns: Sequence[str]) -> tuple[str, int, int] | None:
    """The column named first in a clause, where its name starts and ends; the longest name wins.

    A name in quotation marks is meant whole: "Overall Rank" does not name the column "Rank".
    """
    names = {header_key(column): column for column in columns}
    quoted = _QUOTED.search(text)
    if quoted and quoted.start() < 40:
        if header_key(quoted[1]) in names:
            return names[header_key(quoted[1])], quoted.start(), quoted.end()
        if not _direction(quoted[1]) and not _SENTENCE_END.search(text[: quoted.start()]):
            return None
    found: list[tuple[int, int, str]] = []
    lowered = text.lower()
    for column in columns:
        name = r"[\s_]+".join(map(re.escape, re.split(r"[\s_]+", column.lower().strip())))
        place = re.search(rf"(?<!\w){name}(?!\w)", lowered) if name else None
        if place:
            found.append((place.start(), -place.end(), column))
    if not found:
        return None
    start, end, column = min(found)
    return column, start, -end


def _direction(text: str) -> SortOrder | None:
    """The direction said first in a text."""
    found = {order: words.search(text.lower()) for order, words in _DIRECTIONS.items()}
    said = [(match.start(), order) for order, match in found.items() if match]
    return min(said)[1] if said else None
