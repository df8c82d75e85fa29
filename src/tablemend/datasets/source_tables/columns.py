"""What a table's columns hold: typed, cleaned cells and the column that names the entities.

Typing is strict on purpose. A cell that could be read in two ways is text, a column is a
number only if all its numbers have the same unit, and what cannot be cleaned without doubt
makes the table unusable, with a reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from itertools import combinations, islice, pairwise, permutations
from operator import mul, truediv
from typing import Literal, NamedTuple

from tablemend.datasets.source_tables.names import is_small, with_capitals, without_flags
from tablemend.errors import TablemendError
from tablemend.evidence.grid import flatten
from tablemend.tables.table import Cell, Table
from tablemend.values.cells import is_blank, read_value
from tablemend.values.dates import MONTH_NAMES

Kind = Literal["year", "date", "number", "category", "name", "text"]
ORDERED: frozenset[Kind] = frozenset({"year", "date", "number"})
MAX_ROWS = 400
MAX_CELL = 80

_FOOTNOTE = re.compile(
    r"\s*\[(?:\d{1,3}|[a-z]{1,2}|[ivx]{1,4}|(?:note|nb|fn)\s?\d{1,2}|"
    r"[^\[\]]*(?:needed|\?|discuss))\]",
    re.I,
)
_BROKEN = re.compile(  # left over of a page, or cut off
    r"\[\[|\]\]|\{\{|\}\}|\|\||\|\s*-|(?<!\d)''|</?\w|&#?\w+;|\w://|[,(&]$|^[^()]*\)|\([^()]*$|"
    r"[\u00c2\u00c3\u00e2\u00e3][\u0080-\u00bf]"  # UTF-8 read as something else
)
_POINT = re.compile(r"(?<=^\d)\.$|(?<=^\d\d)\.$")
_CODED = re.compile(
    r"(?!(?:no|us|uk|eu|un|tv|cd|lp|ep)$)[^\W\d_]{1,2}|\d{1,2}[^\W\d_]|[\W_]+", re.I
)
_SYMBOLS = re.compile(r"[^#%№\w]|[\W_]{2,}")
_DAGGERS = re.compile(r"(?<=\w)\s*[†‡§*^]+$")
DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_TWICE = re.compile(r"(\d[\d.,]*)( ?%?) \( ?\1 ?%? ?\)")  # "-84 ( 84 )", "3.5% (3.5%)"
_SPACED_SIGN = re.compile(r"(?<=^[-+\u2212\u2013]) (?=[\d.,]+$)")
_CODE = re.compile(r"0\d")
_SIMPLE = re.compile(r"[1-9](?:\d{0,2}(?:,\d{3})+|\d*)(?:\.\d+)?")
_CLEAN = re.compile(r"[A-Za-z0-9]+(?:(?:, |[ ,.'-])[A-Za-z0-9]+)*")
"""Most cells: there is nothing to clean."""
_SIGNS = "()+-\u2212\u2013 "
_TOTAL = re.compile(
    r"(?:grand |sub-?)?totals?\b|sum\b|average\b|mean\b|overall\b|(?:majority|turnout|swing)\b"
    r"|(?:registered electors|(?:rejected|invalid|blank)[\w ,]* (?:votes|ballots))\b|career\b"
    r"|.* (?:hold|gain from .*)$",
    re.I,
)
_SHORT = re.compile(r"[^\W\d_]{1,4}")
_MARK = re.compile(r"\d[\d:.,]*(?: ?[^\W\d_]{1,3})?(?: [A-Z]{2})?|[A-Z]{1,2}")
_NOTES = re.compile(r"(?:notes?|comments?|remarks?)\b", re.I)
_DAY_NAMED = re.compile(r"\d.*[^\W\d_]{3}|[^\W\d_]{3}.*\d")
_TIME = re.compile(r"\b(?:years?|seasons?|dates?|month|week|round|day|section)\b", re.I)
_RECURRING = re.compile(
    r"\b(?:opponents?|tournament|competition|championship|grand prix|race|event|match|rival)\b",
    re.I,
)
_WORD = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
_UNSPEAKABLE = frozenset('"{}')
_POOR_KEY = re.compile(
    r"\b(?:date|day|week|rd|rnd|no|#|result|score|time|record|notes?|comments?|remarks?|w/l|report|"
    r"aggregate|source|section|refs?|tv|loss|save|high|leading|attendance|height|weight|"
    r"position|pos|period|duration|length|gold|silver|bronze|second|third|runners?[ -]up|"
    r"(?:directed|written|produced) by|referee)\b",
    re.I,
)
_CODES = (
    {"h": "home", "a": "away", "n": "neutral"},
    {"w": "win", "l": "loss", "d": "draw", "t": "tie"},
    {"gk": "goalkeeper", "df": "defender", "mf": "midfielder", "fw": "forward"},
)
_FINISH = re.compile(r"(?:T-?)?\d+(?:st|nd|rd|th)(?:$| ?[,(]| (?:in|place|round))", re.I)
_PLACE = re.compile(r"\b(?:venue|location|site)\b", re.I)


class Unusable(TablemendError):
    """A table from which no example can be cut; the message is the reason, to be counted."""


@dataclass(frozen=True, slots=True)
class Column:
    """A typed column.

    Attributes:
        name: the header.
        kind: what its cells are.
        unit: currency and unit around its numbers, as ``(prefix, suffix)``.
        serial: the values are evenly spaced, so that a missing one can be guessed.
        usable: fit for a gold table.
    """

    name: str
    kind: Kind
    unit: tuple[str, str] = ("", "")
    serial: bool = False
    usable: bool = True


@dataclass(frozen=True, slots=True)
class TypedTable:
    """A clean table whose columns are typed.

    Attributes:
        table: the cleaned cells.
        columns: one for each column of the table.
        key: index of the column that names the entities.
        orders: for each column the sortable value of every cell; ``None`` where it has none.
        source_hash: content hash of the table *before* cleaning.
        formulas: columns that can be worked out from others.
        distinguishing: columns in which the rows of one entity differ, the time first; none where
            every entity has one row and is not of a kind that comes again, as opponents do.
    """

    table: Table
    columns: tuple[Column, ...]
    key: int
    orders: tuple[tuple[float | None, ...], ...]
    source_hash: str
    formulas: tuple[Formula, ...]
    distinguishing: tuple[int, ...]


def clean_cell(cell: Cell) -> Cell:
    """Collapse white space, drop footnote marks and the point of "9."; blanks and what is broken
    become ``None``.
    """
    if cell is None:
        return None
    if _CLEAN.fullmatch(cell):
        return None if is_blank(cell) else cell
    text = _SPACED_SIGN.sub("", " ".join(cell.split()))
    if "[" in text:
        text = _FOOTNOTE.sub("", text).strip()
    text = _TWICE.sub(r"\1\2", _POINT.sub("", _DAGGERS.sub("", text)))
    return None if is_blank(text) or _BROKEN.search(text) else text


@lru_cache(maxsize=1 << 16)
def read_number(text: str) -> tuple[float, str, str] | None:
    """Value, prefix and suffix of an unambiguous number; codes such as ``007`` are none.

    The value is that of the digits: 5 of "$5 million".
    """
    if _SIMPLE.fullmatch(text):
        return float(text.replace(",", "")), "", ""
    match = DIGITS.search(text)  # first: it is quick, and most cells are words
    if match is None or _CODE.match(match[0]) or (number := read_value(text).number) is None:
        return None
    prefix, suffix = text[: match.start()].strip(_SIGNS), text[match.end() :].strip(_SIGNS)
    value = float(match[0].replace(",", ""))
    if suffix in ("st", "nd", "rd", "th") or abs(float(number.value / number.unit.scale)) != value:
        return None
    return (-value if number.value < 0 else value), prefix, suffix


@lru_cache(maxsize=1 << 16)
def read_date(text: str) -> float | None:
    """Ordinal of a date whose day, month and year are unambiguous (no ``07/09/2003``)."""
    readings = read_value(text).dates if DIGITS.search(text) else ()
    try:
        return float(date.fromisoformat(*readings).toordinal())
    except (TypeError, ValueError):  # none, several, or no whole day
        return None


def write_day(day: date) -> str:
    """``7 September 2003``."""
    return f"{day.day} {MONTH_NAMES[day.month - 1]} {day.year}"


def type_table(
    table: Table, min_columns: int = 4, min_rows: int = 4, key: int | None = None
) -> TypedTable:
    """Clean a table, type its columns and choose its key; one whose key is given is clean.

    Rows that sum up others, repeat the header or head a section, rows without an entity, exact
    repetitions and rows that nothing tells from others of their entity are left out: the context
    says only what the rest says, so nothing becomes wrong. Only the first :data:`MAX_ROWS` rows
    are used.

    Raises:
        Unusable: with the reason.
    """
    headers, rows = list(table.columns), list(table.rows[:MAX_ROWS])
    if key is None:
        headers, rows = _cleaned(Table(table.columns, table.rows[:MAX_ROWS], table.title))
    if len(rows) < min_rows:
        raise Unusable("too few rows")
    columns, orders = type_columns(headers, rows)
    # "dsq", "f" (a footnote) and the like are no number
    rows = [
        tuple(
            None if column.kind == "number" and order[place] is None else cell
            for column, order, cell in zip(columns, orders, row, strict=True)
        )
        for place, row in enumerate(rows)
    ]
    key = _choose_key(columns, rows) if key is None else key
    keep = _kept_rows(rows, key)
    columns = _mark_usable(columns, [rows[index] for index in keep], key)
    distinguishing = _find_distinguishing(columns, [rows[index] for index in keep], key)
    keep = _distinguished(rows, keep, key, distinguishing)
    if len(keep) < min_rows:
        raise Unusable("too few rows that name an entity")
    if is_small(rows):
        rows = with_capitals(headers, rows, key)
    if len(keep) < len(rows):
        rows = [rows[index] for index in keep]
        orders = [tuple(order[index] for index in keep) for order in orders]
        columns = _mark_usable(columns, rows, key)
    if sum(column.usable for column in columns) < min_columns:
        raise Unusable("too few usable columns")
    clean = Table(tuple(headers), tuple(rows), clean_cell(table.title) or "")
    formulas = find_formulas(
        [i for i, column in enumerate(columns) if column.kind in ("number", "year")],
        [i for i, column in enumerate(columns) if column.kind == "date"],
        orders,
        [
            max(map(_decimals, cells)) if column.kind == "number" else 0
            for column, cells in zip(columns, zip(*rows, strict=True), strict=True)
        ],
    )
    repeated = len({row[key] for row in rows}) < len(rows)
    if not repeated and _RECURRING.search(headers[key]):
        dates = (
            index
            for index, column in enumerate(columns)
            if column.usable and column.kind in ("year", "date") and None not in orders[index]
        )
        distinguishing, repeated = tuple(islice(dates, 1)), True
    return TypedTable(
        clean,
        tuple(columns),
        key,
        tuple(orders),
        table.content_hash(),
        formulas,
        distinguishing if repeated else (),
    )


def _cleaned(table: Table) -> tuple[list[str], list[tuple[Cell, ...]]]:
    """The columns that have a header and the rows that head nothing, all of their cells clean."""
    flat = flatten(table)
    names = list(map(clean_cell, flat.columns))
    if sum(map(bool, names)) < 2:
        raise Unusable("only one column")
    headers = list(filter(None, names))
    found = [
        tuple(clean_cell(cell) for name, cell in zip(names, row, strict=True) if name)
        for row in flat.rows
    ]
    found = [row for row in found if not _is_heading(headers, row)]
    columns = list(map(without_flags, zip(*found, strict=True)))
    for place, cells in enumerate(columns):
        used = {cell.casefold() for cell in cells if cell}
        for codes in _CODES:  # clear ones are written out: home and away, win, loss and draw
            if len(used) > 1 and used <= codes.keys():
                columns[place] = [cell and codes[cell.casefold()] for cell in cells]
                break
    return headers, list(zip(*columns, strict=True))


def type_columns(
    names: Sequence[str], rows: Sequence[tuple[Cell, ...]]
) -> tuple[list[Column], list[tuple[float | None, ...]]]:
    """Every column of clean cells, typed, with the sortable value of each of its cells."""
    typed = list(map(_type_column, names, zip(*rows, strict=True)))
    return [column for column, _ in typed], [order for _, order in typed]


def _type_column(name: str, cells: tuple[Cell, ...]) -> tuple[Column, tuple[float | None, ...]]:
    filled = [cell for cell in cells if cell is not None]
    enough = 0.85 * len(filled)
    nothing = (None,) * len(cells)
    if not filled:
        return Column(name, "text", usable=False), nothing
    if not any(map(_has_digit, filled)):
        return Column(name, _text_kind(filled)), nothing
    numbers = [None if cell is None else read_number(cell) for cell in cells]
    found = [number for number in numbers if number is not None]
    others = sum(_SHORT.fullmatch(cell) is None for cell in filled)  # no "dsq", "x"
    if len(found) >= max(0.85 * others, 0.5 * len(filled)):
        prefixes = {prefix for _, prefix, _ in found if prefix}
        suffixes = {suffix for _, _, suffix in found}
        # "(18)" is below zero among amounts, and something else among whole numbers
        is_amount = any(prefixes | suffixes) or any("," in cell or "." in cell for cell in filled)
        is_plain = is_amount or not any("(" in cell for cell in filled)
        if len(prefixes) <= 1 and len(suffixes) == 1 and is_plain:
            order = tuple(None if number is None else number[0] for number in numbers)
            if all(c.isdigit() and len(c) == 4 and "1500" <= c <= "2100" for c in filled):
                return Column(name, "year", serial=_is_even(order)), order
            unit = next(iter(prefixes), ""), next(iter(suffixes))
            return Column(name, "number", unit, serial=_is_even(order)), order
    dates = tuple(None if cell is None else read_date(cell) for cell in cells)
    if sum(value is not None for value in dates) >= enough:
        return Column(name, "date", serial=_is_even(dates)), dates
    if sum(bool(_DAY_NAMED.search(cell) and read_value(cell).dates) for cell in filled) >= enough:
        return Column(name, "date", serial=True), nothing  # of no year: "25 October"
    return Column(name, _text_kind(filled)), nothing


def _is_even(order: Sequence[float | None]) -> bool:
    values = sorted(value for value in order if value is not None)
    steps = {after - before for before, after in pairwise(values)}
    return len(values) > 2 and len(steps) == 1 and 0.0 not in steps


def _decimals(cell: Cell) -> int:
    match = DIGITS.search(cell or "")
    return len(match[0].partition(".")[2]) if match else 0


def is_whole(typed: TypedTable, column: int) -> bool:
    """Whether a column's numbers are whole, and written so: made-up ones are written alike."""
    cells = (row[column] for row in typed.table.rows)
    return all(not value or value % 1 == 0 for value in typed.orders[column]) and not any(
        map(_decimals, cells)
    )


def _text_kind(filled: list[str]) -> Kind:
    distinct = len({cell.casefold() for cell in filled})
    longest = max(map(len, filled))
    if longest <= 40 and distinct <= max(2, len(filled) // 2):
        return "category"
    words = sum(len(cell.split()) for cell in filled) / len(filled)
    letters = sum(any(map(str.isalpha, cell)) for cell in filled)
    if words <= 5 and longest <= 60 and letters >= 0.8 * len(filled):
        return "name"
    return "text"


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _choose_key(columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]]) -> int:
    """The column that names the entities: the leftmost with distinct names, else the most
    distinct one; never a number or a date (TableHallu, C.1: the first non-numeric column).

    Few names may come again and again where a column of times tells their rows apart.
    """
    candidates: list[tuple[float, int]] = []
    times = [[row[index] for row in rows] for index in _times(columns)]
    for index, column in enumerate(columns):
        cells = [row[index] for row in rows]
        filled = [cell for cell in cells if cell is not None]
        if column.kind not in ("name", "category", "text") or len(filled) < 0.8 * len(cells):
            continue
        named = [cell for cell in filled if _letters(cell) >= 2 and len(cell) <= 60]
        # The detector, too, takes these for names: not "april 19", "Seven", "3rd, East".
        values = [read_value(cell) for cell in named[:40] if not _FINISH.match(cell)]
        names = sum(value.number is None and not value.dates for value in values)
        if len(named) < 0.9 * len(filled) or names < 0.9 * len(named[:40]):
            continue
        distinct = len({cell.casefold() for cell in named}) / len(named)
        poor = bool(_POOR_KEY.search(column.name)) or (
            # a long first column: labels of a statement, but not what moments are written in
            column.kind == "text" and (index > 0 or 2 * sum(map(_has_digit, named)) > len(named))
        )
        moments = (len(set(zip(cells, time, strict=True))) for time in times)
        told = index < 3 and distinct >= 0.15 and max(moments, default=0) >= 0.9 * len(cells)
        if distinct >= 0.34 or told:
            rank = 0.0 if distinct >= 0.95 else 1.0 if distinct >= 0.34 else 1.5
            # places and abbreviations name the rows where nothing else does
            if _PLACE.search(column.name):
                rank = 1.6
            if sum(_letters(cell) >= 3 for cell in named) < 0.9 * len(filled):
                rank = 1.7
            candidates.append((rank + 2.0 * poor, index))
    if not candidates:
        raise Unusable("no column that names entities")
    best, index = min(candidates)
    if best >= 2.0:
        raise Unusable("no column that names entities")
    return index


def _is_heading(headers: Sequence[str], row: tuple[Cell, ...]) -> bool:
    """Whether a row repeats the header or heads a section: one text alone, or in every cell."""
    filled = [(name, cell) for name, cell in zip(headers, row, strict=True) if cell is not None]
    count = len(filled)
    if len({cell for _, cell in filled}) < 2:
        return True
    filled = [(name, cell) for name, cell in filled if cell.casefold() in name.casefold()]
    same = sum(cell.casefold() == name.casefold() for name, cell in filled)
    within = sum(words_of(cell) in words_of(name) for name, cell in filled)
    return same > 1 or 2 * within >= max(4, count)


def _times(columns: Sequence[Column]) -> set[int]:
    """Columns that say when something was, in any spelling."""
    return {
        index
        for index, column in enumerate(columns)
        if column.kind in ("year", "date") or _TIME.search(column.name)
    }


def _find_distinguishing(
    columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]], key: int
) -> tuple[int, ...]:
    """Up to two columns that tell rows of one entity apart, first one of times if there is any."""
    counts = Counter(row[key] for row in rows)
    repeated = [row for row in rows if counts[row[key]] > 1]
    times = _times(columns)
    usable = [
        index
        for index, column in enumerate(columns)
        if column.usable and index != key and (column.kind != "number" or index in times)
    ]

    def distinguished(some: tuple[int, ...]) -> int:
        return len({tuple(row[i] for i in (key, *some)) for row in repeated})

    def worth(index: int) -> tuple[bool, int]:
        return index in times and not distinguishing, distinguished((*distinguishing, index))

    distinguishing: tuple[int, ...] = ()
    while usable and len(distinguishing) < 2 and distinguished(distinguishing) < len(repeated):
        distinguishing += (max(usable, key=worth),)
        usable.remove(distinguishing[-1])
    return distinguishing


def _distinguished(
    rows: Sequence[tuple[Cell, ...]], keep: Sequence[int], key: int, distinguishing: Sequence[int]
) -> list[int]:
    """Rows of entities with one row, and those that the distinguishing columns name."""
    entities = Counter(rows[index][key] for index in keep)
    named = Counter(tuple(rows[index][i] for i in (key, *distinguishing)) for index in keep)
    return [
        index
        for index in keep
        if entities[rows[index][key]] == 1
        or (
            None not in (own := tuple(rows[index][i] for i in (key, *distinguishing)))
            and named[own] == 1
        )
    ]


def _kept_rows(rows: Sequence[tuple[Cell, ...]], key: int) -> list[int]:
    """Rows of an entity, each once; not what spans several columns ("Majority", "Abolished")."""
    seen: set[tuple[Cell, ...]] = set()
    beside = [
        index
        for index in range(max(key - 1, 0), min(key + 2, len(rows[0])))
        if 4 * sum(row[index] == row[key] for row in rows) <= len(rows)
    ]
    keep = []
    for index, row in enumerate(rows):
        entity = row[key]
        spans = entity in (row[other] for other in beside)
        if entity is not None and is_name(entity) and not spans and row not in seen:
            seen.add(row)
            keep.append(index)
    return keep


def is_name(cell: str) -> bool:
    """Whether a key cell can name an entity: not a number, a total or a line on an election."""
    return _letters(cell) >= 2 and len(cell) <= 60 and not _TOTAL.match(cell)


def _mark_usable(
    columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]], key: int
) -> list[Column]:
    """A column is usable if half filled, short, no copy of an earlier one, and not of codes or of
    the marks of results that a column of notes holds.
    """
    marked: list[Column] = []
    seen: set[tuple[Cell, ...]] = {tuple(row[key] for row in rows)}
    for index, column in enumerate(columns):
        cells = tuple(row[index] for row in rows)
        filled = [cell for cell in cells if cell is not None]
        counts = Counter(filled)
        coded = _MARK if _NOTES.match(column.name) else _CODED
        usable = (
            len(filled) >= 0.5 * len(cells)
            and max(map(len, filled), default=0) <= MAX_CELL
            and len(column.name) <= 60
            and (index == key or cells not in seen)
            and (len(counts) > 1 or index == key)
            and not _UNSPEAKABLE.intersection(column.name)
            and not _SYMBOLS.fullmatch(column.name)
            and 2 * sum(bool(coded.fullmatch(cell)) for cell in filled) <= len(filled)
        )
        seen.add(cells)
        marked.append(replace(column, usable=column.usable and usable))
    return marked


@lru_cache(maxsize=1 << 14)
def words_of(text: str) -> str:
    """Casefolded words and numbers between single spaces, with a space at both ends.

    ``words_of(part) in words_of(whole)`` is a search for whole words: 7 is not in 17 or 7.5.
    """
    return f" {' '.join(_WORD.findall(text.casefold().replace(',', '')))} "


# ---- formulas ----

MOST_COLUMNS = 10
Numbers = Sequence[float | None]
Columns = dict[int, list[float]]
Candidate = tuple[tuple[int, ...], Callable[..., float]]


class Formula(NamedTuple):
    """A column that follows from others, by their indices."""

    total: int
    parts: tuple[int, ...]


def find_formulas(
    numbers: Sequence[int], dates: Sequence[int], orders: Sequence[Numbers], decimals: Sequence[int]
) -> tuple[Formula, ...]:
    """All formulas that hold in nearly every row; those that rounding makes inexact come last.

    One row in ten may be an exception, as a misprint is; rows with a gap say nothing.

    Args:
        numbers: indices of the columns of numbers and years.
        dates: those of dates, of which one can be some days after another.
        orders: the values of every column.
        decimals: digits behind the point in every column.
    """
    filled = [c for c in numbers if orders[c].count(None) < len(orders[c]) / 5][:MOST_COLUMNS]
    filled_dates = [c for c in dates if orders[c].count(None) < len(orders[c]) / 5]
    every = [*filled, *filled_dates]
    rows = [row for row in zip(*(orders[c] for c in every), strict=True) if None not in row]
    columns: Columns = {
        c: [value for value in own if value is not None]
        for c, own in zip(every, zip(*rows, strict=True), strict=False)
    }
    values = {c: len({*own}) for c, own in columns.items()}
    varied, dated = ([c for c in some if values.get(c, 0) > 1] for some in (filled, filled_dates))
    return tuple(
        Formula(total, parts)
        for some, rules in ((dated, _lags), (varied, _rules), (varied, _rates))
        for total in some
        if values[total] > 2
        for parts, rule in rules(total, [c for c in some if c != total], columns)
        if _holds(columns, total, parts, rule, 0.5 * 10.0 ** -decimals[total] + 1e-6)
    )


def _holds(
    columns: Columns, total: int, parts: tuple[int, ...], rule: Callable[..., float], error: float
) -> bool:
    """Whether nearly all rows agree, by what rounding explains; a division by 0 does."""
    exceptions = len(columns[total]) // 10
    for value, *given in zip(columns[total], *(columns[part] for part in parts), strict=True):
        try:
            if abs(rule(*given) - value) <= error:
                continue
        except ZeroDivisionError:
            continue
        if not exceptions:
            return False
        exceptions -= 1
    return True


def _lags(total: int, others: list[int], columns: Columns) -> Iterator[Candidate]:
    for part in others:
        lag = columns[total][0] - columns[part][0]
        yield (part,), lambda value, lag=lag: value + lag


def _rules(total: int, others: list[int], columns: Columns) -> Iterator[Candidate]:
    yield from _lags(total, others, columns)
    for count in (2, 3, 4):
        for some in combinations(others, count):
            yield some, lambda *values: sum(values)
    for one, other in permutations(others, 2):
        yield (one, other), lambda wins, draws: 3 * wins + draws
        yield (one, other), lambda wins, draws: 2 * wins + draws
        if one < other:
            yield (one, other), mul


def _rates(total: int, others: list[int], columns: Columns) -> Iterator[Candidate]:
    whole = sum(columns[total])
    for one, other in permutations(others, 2):
        yield (one, other), truediv
        yield (one, other), lambda first, second: 100 * first / second
    for part in others:
        if parts := sum(columns[part]):
            yield (part,), lambda value, rate=whole / parts: value * rate
