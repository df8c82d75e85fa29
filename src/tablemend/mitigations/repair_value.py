"""Repair of an answer that is one value: its scale and its unit, by the tables (FAITH, 5.2.3).

Only where one reading is possible: the answer has the digits of cells that all state one scale and
one unit. A scale stays where some cell says what the answer says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.evidence.source import Source
from tablemend.mitigations.edits import Edit, Mended, apply_edits
from tablemend.values.numbers import Number, find_quantities
from tablemend.values.text import align
from tablemend.values.units import PLAIN, SCALES, Unit

VERSION = "repair-value/2"
_FEWEST_DIGITS = 2
"""Fewer significant digits stand in too many cells."""
_ANSWER = re.compile(r'"answer"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d[\d.]*)')
_SCALE = re.compile(r"^ ?(?:thousands?|millions?|billions?|trillions?|bn|mn|mm|tn|[kmbt])\b", re.I)
_NAMES = {scale: name for name, scale in SCALES.items() if name in "thousand million billion"}
_SIGNS = {"$": "$", "usd": "$", "eur": "\u20ac", "gbp": "\u00a3"}


def repair_value(text: str, source: Source) -> Mended:
    """The answer in a JSON object, with the scale and the unit of the cells that it is read from.

    Args:
        text: the raw answer.
        source: the tables.
    """
    *_, match = (None, *_ANSWER.finditer(text))
    said = "" if match is None else match[1].strip('"')
    stated = find_quantities(align(said))
    if match is None or len(stated) != 1 or len(align(said)) != len(said):
        return Mended(text)
    number = stated[0].number
    found = set(_units(number, source))
    if len(found) != 1:
        return Mended(text)
    unit = found.pop()
    if _is_said(number, source):
        unit = unit._replace(scale=number.unit.scale)
    new = _spelled(said, number, unit)
    if new == said:
        return Mended(text)
    start, end = match.span(1)
    edit = Edit(match[1], f'"{new}"', "the cell's scale and unit", VERSION, None, start, end)
    return Mended(apply_edits(text, [edit]), (edit,), passes=1)


def _is_said(number: Number, source: Source) -> bool:
    """Whether a cell, its scale applied, rounds to the answer as it is."""
    half = number.unit.scale / 2 / 10**number.decimals
    for cell, beyond in _cells(source):
        value = cell.value * (beyond.scale if cell.unit.scale == 1 else 1)
        plain = beyond.scale * cell.unit.scale == 1
        if abs(abs(value) - abs(number.value)) <= half and (not plain or number.unit.scale == 1):
            return True
    return False


def _cells(source: Source) -> Iterator[tuple[Number, Unit]]:
    """Every number of the tables, and what its row, column and table count in."""
    for grid in source.grids:
        for line in grid.lines:
            for column in grid.columns:
                if (cell := grid.value(line.index, column.index).number) is not None:
                    yield cell, grid.unit(line.index, column.index)


def _units(number: Number, source: Source) -> Iterator[Unit]:
    """What the cells with the number's digits count in."""
    digits = _digits(number)
    if len(digits) < _FEWEST_DIGITS:
        return
    for cell, beyond in _cells(source):
        if _digits(cell) == digits:
            own = cell.unit
            yield Unit(
                own.scale if own.scale != 1 else beyond.scale,
                own.symbol or beyond.symbol,
                own.currency or beyond.currency,
            )


def _digits(number: Number) -> str:
    """The number as its cell writes it, without scale, sign and zeros behind the point."""
    written = abs(number.value / number.unit.scale).normalize()
    return format(written, "f")


def _spelled(answer: str, number: Number, unit: Unit) -> str:
    """The answer with a cell's scale and unit where it states none, or another scale."""
    own = number.unit
    if (own.symbol and unit.symbol and own.symbol != unit.symbol) or (
        own.currency and unit.currency == "" and unit.symbol
    ):
        return answer  # another kind of value
    words = answer
    if own.scale != unit.scale and unit.scale in _NAMES:  # a table that states none may be in any
        last = max(place for place, one in enumerate(words) if one.isdigit()) + 1
        words = f"{words[:last]} {_NAMES[unit.scale]}{_SCALE.sub('', words[last:])}"
    if unit.symbol == "%" and own == PLAIN:
        words += "%"
    sign = _SIGNS.get(unit.currency, "")
    if sign and not own.currency and not own.symbol and sign not in words:
        words = f"{sign}{words}"
    return words
