"""What a query demands: columns, sort rule and decimals, and whether rows are in its order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import yaml

from tablemend.records import Constraints, SortOrder
from tablemend.tables.table import Cell
from tablemend.values.cells import Value, read_value, year_of
from tablemend.values.dates import MONTHS, WEEKDAYS
from tablemend.values.text import fold, header_key, strip_accents, tokens_of

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
_CALENDAR = {
    name: place
    for names in (MONTHS, WEEKDAYS)
    for place, full in enumerate(names)
    for name in (full, full[:3])
}
_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
_ARTICLE = re.compile(r"^(?:the|an?) ")
Rank = Callable[[Value, str], object | None]


class SortRule(NamedTuple):
    """The sort that a query demands: a column of the gold table and a direction."""

    column: str
    order: SortOrder

    @classmethod
    def of(cls, constraints: Constraints) -> SortRule | None:
        """The rule of an example; ``None`` where it names no column."""
        column = constraints.sort_column
        return cls(column, constraints.sort_order) if column else None


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


def find_disorder(
    gold: Sequence[Cell], answer: Sequence[int], order: SortOrder
) -> tuple[int, int] | None:
    """The first two neighbours of the matched rows in the wrong order, or ``None``.

    Scored on *gold* values, so that a wrong cell is never an order error too. Ties are free,
    and so are rows whose sort cell is blank. Values are compared as numbers, dates, months
    and weekdays, or text, in the first of these ways that the gold table itself follows; where
    it follows none, only what the gold table has the other way round counts.

    Args:
        gold: the sort column of the gold table, top to bottom.
        answer: for each matched answer row, top to bottom, the index of its gold row.
        order: the direction demanded.
    """
    sign = 1 if order == "ascending" else -1
    ranks = _ranks_of(gold, sign)
    ranked = [(place, row) for place, row in enumerate(answer) if ranks[row] is not None]
    for (before, one), (after, other) in pairwise(ranked):
        if one > other and _reversed(ranks[one], ranks[other], sign):
            return before, after
    return None


def ordered_pairs(gold: Sequence[Cell], answer: Sequence[int], order: SortOrder) -> tuple[int, int]:
    """Pairs of gold rows that an answer has in the order demanded, and all that have one.

    A graded :func:`find_disorder`, with its arguments: ties and blanks have no order, and a row
    that the answer lacks is in order with none.
    """
    sign = 1 if order == "ascending" else -1
    ranks = _ranks_of(gold, sign)
    place = {row: index for index, row in enumerate(answer)}
    kept = total = 0
    for one, other in combinations(range(len(ranks)), 2):
        before, after = ranks[one], ranks[other]
        if before is not None and after is not None and _reversed(after, before, sign):
            total += 1
            kept += one in place and other in place and place[one] < place[other]
    return kept, total


def _usable(cells: Sequence[Cell]) -> Iterator[tuple[Rank, list[object | None]]]:
    """The ways of comparing that all filled cells of a column have; a blank has no rank."""
    values = [(read_value(cell), cell or "") for cell in cells]
    for rank in (*_TYPED, *_AS_TEXT):
        ranks = [None if value.blank else rank(value, cell) for value, cell in values]
        if all(
            own is not None or value.blank for own, (value, _) in zip(ranks, values, strict=True)
        ):
            yield rank, ranks


def _ranks_of(gold: Sequence[Cell], sign: int) -> list[object | None]:
    """The first ranks that the gold table follows, else the first that all its cells have."""
    every = [ranks for _, ranks in _usable(gold)]
    blank: list[object | None] = [None] * len(gold)
    return next((ranks for ranks in every if _follows(ranks, sign)), (every or [blank])[0])


def is_sorted(cells: Sequence[Cell], order: SortOrder) -> bool:
    """Whether a column runs in this order; ties and blanks are free.

    Numbers, dates, months and weekdays have one order; text may follow any of the usual ones.
    """
    sign = 1 if order == "ascending" else -1
    found = ((rank in _TYPED, _follows(ranks, sign)) for rank, ranks in _usable(cells))
    return next((follows for is_typed, follows in found if follows or is_typed), False)


def sort_rows(cells: Sequence[Cell], order: SortOrder) -> list[int] | None:
    """The rows of a column put into an order: indices, blanks last; ties stay as they are.

    By the first way of comparing that all filled cells have; ``None`` where none fits all.
    """
    ranks = next((ranks for _, ranks in _usable(cells)), None)
    if ranks is None:
        return None
    filled = [index for index, rank in enumerate(ranks) if rank is not None]
    filled.sort(key=ranks.__getitem__, reverse=order == "descending")  # type: ignore[arg-type]
    return filled + [index for index, rank in enumerate(ranks) if rank is None]


def _follows(ranks: Sequence[object | None], sign: int) -> bool:
    """Whether the gold table itself is in this order."""
    known = [rank for rank in ranks if rank is not None]
    return not any(_reversed(one, other, sign) for one, other in pairwise(known))


def _reversed(one: object, other: object, sign: int) -> bool:
    """Ranks of one kind, so they compare."""
    left, right = (one, other) if sign > 0 else (other, one)
    return bool(right < left)  # type: ignore[operator]


def _parts(text: str) -> tuple[tuple[int, Decimal, str], ...]:
    """Numbers inside a text by their size: ``Group 2`` before ``Group 10``."""
    words = tokens_of(text).words
    return tuple((0, Decimal(w), "") if _NUMBER.fullmatch(w) else (1, Decimal(0), w) for w in words)


_TYPED: tuple[Rank, ...] = (
    lambda value, cell: value.number.value if value.number else None,
    lambda value, cell: value.dates[0] if value.dates else year_of(value),
    lambda value, cell: _CALENDAR.get(value.text),
)
# Text has no one order: with or without accents, spaces, articles, capitals before small letters.
_AS_TEXT: tuple[Rank, ...] = (
    lambda value, cell: _parts(value.text),
    lambda value, cell: tokens_of(value.text).words,
    lambda value, cell: _ARTICLE.sub("", strip_accents(fold(cell))),
    lambda value, cell: "".join(tokens_of(value.text).words),
    lambda value, cell: fold(cell),
    lambda value, cell: cell,
)
