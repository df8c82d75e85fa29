"""Answer and gold table compared cell by cell, exactly.

Two cells are the same where they are the same text but for case and white space, the same decimal
number, or both blank. Nothing is similar to anything.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Literal

from tablemend.exact_match.reading import Unreadable, read_answer

SCORER = "exact 3"
"""Name and version; a change that can change a verdict raises the version."""

Kind = Literal["unreadable", "columns", "extra_row", "cell", "order"]
Value = str | Decimal | None
"""A cell as it is compared; ``None`` is a blank."""
Row = tuple[Value, ...]

_BLANKS = frozenset(
    {"", "-", "--", "\N{EN DASH}", "\N{EM DASH}", "n/a", "na", "nan", "none", "null"}
)
_NUMBER = re.compile(r"[+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*|0)(?:\.\d+)?")
_LARGEST_KEY = 3
"""Columns that are tried together as the key; beyond it the whole row is one."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is otherwise than in the gold table.

    Attributes:
        kind: what it is; a row that is missing is none, as it says nothing false.
        text: what and where, in one line.
    """

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a second scorer says of one answer.

    Attributes:
        differences: what it says or does that it should not.
        found, rows: gold rows whose key the answer has, and all gold rows; none where the header
            alone is right, as an empty JSON list is too.
        unscored: why there is no verdict; empty where there is one.
    """

    differences: tuple[Difference, ...] = ()
    found: int = 0
    rows: int = 0
    unscored: str = ""


def compare_exactly(
    text: str,
    format: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str | None]],
    sort_column: str | None,
    decimals: Mapping[str, int] | None = None,
) -> Opinion:
    """Score one raw answer.

    Args:
        text: the answer, thinking included.
        format: ``markdown``, ``json`` or ``latex``, as it was asked for.
        columns: of the gold table.
        rows: of the gold table, in the order that the query asks for.
        sort_column: what they are sorted by; rows of equal value may be in any order, rows
            without a value anywhere. ``None``: order does not count.
        decimals: that the query rounds a column to, by its name; nothing nearer is asked for.

    Returns:
        The opinion; unscored where the gold table itself cannot be compared with.
    """
    names = tuple(map(_plain, columns))
    gold = _filled([[cell or "" for cell in row] for row in rows])
    if len(set(names)) < len(names):
        return Opinion(unscored="a column of the gold table stands twice")
    if rows and not gold:
        return Opinion(unscored="the gold table has rows, and all of them are blank")
    if sort_column is not None and _plain(sort_column) not in names:
        return Opinion(unscored=f"the sort column {sort_column!r} is not in the gold table")
    try:
        answer = read_answer(text, format)
    except Unreadable as error:
        return Opinion((Difference("unreadable", str(error)),), 0, len(gold))
    body = _filled(answer.rows)
    if not body and not answer.columns:
        return Opinion((), 0, len(gold))
    if tuple(map(_plain, answer.columns)) != names:
        said = f"{' | '.join(answer.columns)} instead of {' | '.join(columns)}"
        return Opinion((Difference("columns", said),), 0, len(gold))
    body = _without_numbers(body, {value for row in gold for value in row})
    halves = {columns.index(name): Decimal(10) ** -n / 2 for name, n in (decimals or {}).items()}
    key = _key_columns(gold, len(names))
    waiting: dict[Row, list[int]] = {}
    for number, row in enumerate(gold):
        waiting.setdefault(_pick(row, key), []).append(number)
    found: list[int] = []
    differences: list[Difference] = []
    for number, row in enumerate(body, 1):
        same = waiting.get(_pick(row, key))
        if not same:
            named = ", ".join(map(_said, _pick(row, key)))
            again = "once more" if same is not None else "which the gold table has not"
            differences.append(Difference("extra_row", f"row {number}, {named}: {again}"))
            continue
        found.append(same.pop(0))
        for place, (wanted, got) in enumerate(zip(gold[found[-1]], row, strict=True)):
            if wanted != got and not _is_rounded(wanted, got, halves.get(place)):
                said = f"row {number}, {names[place]}: {_said(got)} instead of {_said(wanted)}"
                differences.append(Difference("cell", said))
    if sort_column is not None:  # the rows found come as in gold, but for ties and for blanks
        place = names.index(_plain(sort_column))
        first: dict[Value, int] = {}
        for number, row in enumerate(gold):
            first.setdefault(row[place], number)
        ranks = [first[gold[number][place]] for number in found if gold[number][place] is not None]
        if ranks != sorted(ranks):
            said = f"the rows are not in the order of {sort_column}"
            differences.append(Difference("order", said))
    return Opinion(tuple(differences), len(found), len(gold))


def _is_rounded(wanted: Value, got: Value, half: Decimal | None) -> bool:
    if half is None or not isinstance(wanted, Decimal) or not isinstance(got, Decimal):
        return False
    return abs(wanted - got) <= half


def _key_columns(gold: Sequence[Row], width: int) -> tuple[int, ...]:
    """The fewest columns that name every row, filled and different in each; texts first."""
    numeric = {i for i in range(width) if all(isinstance(row[i], Decimal | None) for row in gold)}
    order = sorted(range(width), key=lambda index: (index in numeric, index))
    for size in range(1, min(_LARGEST_KEY, width) + 1):
        for chosen in combinations(order, size):
            keys = {_pick(row, chosen) for row in gold}
            if len(keys) == len(gold) and not any(None in key for key in keys):
                return chosen
    return tuple(range(width))


def _pick(row: Sequence[Value], columns: Sequence[int]) -> Row:
    return tuple(row[index] for index in columns)


def _filled(rows: Sequence[Sequence[str]]) -> list[Row]:
    """The rows as they are compared, without those of blanks alone."""
    values = (tuple(map(_value, row)) for row in rows)
    return [row for row in values if set(row) != {None}]


def _without_numbers(rows: list[Row], known: Collection[Value]) -> list[Row]:
    """Rows that are numbered in their first cells ("3. Zelotinib") without the numbers."""
    cut = [re.sub(rf"^\(?{n}[.):] ", "", str(row[0])) for n, row in enumerate(rows, 1)]
    if any(row[0] == name or row[0] in known for name, row in zip(cut, rows, strict=True)):
        return rows
    return [(_value(name), *row[1:]) for name, row in zip(cut, rows, strict=True)]


def _said(value: Value) -> str:
    return "blank" if value is None else str(value)


def _plain(text: str) -> str:
    """Without case, and with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _value(cell: str) -> Value:
    """``None`` for a blank; a number by its value; any other text without case."""
    plain = _plain(cell)
    if plain in _BLANKS:
        return None
    signed = plain.replace("\N{MINUS SIGN}", "-")
    return Decimal(signed.replace(",", "")) if _NUMBER.fullmatch(signed) else plain
