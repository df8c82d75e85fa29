"""What a cell says, read once: blank, number, date or text; and when two cells say the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from tablemend.values.amounts import same_amount
from tablemend.values.blanks import is_blank
from tablemend.values.dates import parse_clean_date, parse_clean_time, same_date
from tablemend.values.numbers import Number, parse_clean_number, parse_range, plain_digits
from tablemend.values.text import clean, fold
from tablemend.values.units import PLAIN, Unit

_CACHED_LENGTH = 256
_FOOTNOTE = re.compile(r"(?:(?<=[^\W\d_]{3})|(?<=\d{4})|(?<=\))) ?\^\w{1,2}$")

_TICKS = dict.fromkeys("✓✔☑✅", "yes") | dict.fromkeys("✗✘☒", "no")
_MARKED = re.compile(r"[.e]", re.IGNORECASE)
_DOTTED = re.compile(
    r"(?<![\d.,])\d{1,3}(?:\.\d{3})(?:(?:\.\d{3})+(?![.\d])|(?:\.\d{3})*,\d{1,2}(?!\d))"
)
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?![.,\d])")
_IN_BRACKETS = re.compile(r"^\(([^()]+)\)$")


@dataclass(frozen=True, slots=True)
class Value:
    """A cell, read.

    Attributes:
        text: the standard form (TableHallu, C.1): a date in ISO (an ambiguous ``03/04/2021`` as
            it is written), a number as plain digits with its currency and unit, else NFKC and
            case-folded with one kind of space, quote and dash; empty for a blank.
        number: set where the whole cell is a number.
        dates: every ISO reading where the whole cell is a date.
        times: every reading where it is a clock time, with or without a date, or a quarter of
            no year.
    """

    text: str
    number: Number | None = None
    dates: tuple[str, ...] = ()
    times: tuple[str, ...] = ()

    @property
    def blank(self) -> bool:
        """Whether the cell is empty or says that there is no value."""
        return not self.text

    def forms(self) -> tuple[object, ...]:
        """Hashable forms: two cells with equal forms are candidates for being the same."""
        if self.number is not None:
            return (self.number.value,)
        return (*self.dates, self.text) if self.dates else (self.text,)


BLANK = Value("")


def read_value(cell: str | None) -> Value:
    """Read a cell; results are kept in a bounded cache (short cells only)."""
    if cell is None:
        return BLANK
    return _read_cached(cell) if len(cell) <= _CACHED_LENGTH else _read(cell)


def _read(cell: str) -> Value:
    if is_blank(cell):
        return BLANK
    if answer := _TICKS.get(cell.strip()[:1] if len(cell.strip()) < 3 else ""):
        return Value(answer)
    text = clean(cell)
    if (number := parse_clean_number(text)) is not None:
        return Value(number.canonical(), number)
    text = _IN_BRACKETS.sub(r"\1", _FOOTNOTE.sub("", text))
    if dates := parse_clean_date(text):
        return Value(dates[0] if len(dates) == 1 else text.casefold(), None, dates)
    return Value(text.casefold(), times=parse_clean_time(text))


def read_under(cell: str | None, unit: Unit) -> Value:
    """Read a cell as the header or the column says: codes, and thousands behind a dot."""
    if unit.dots and cell:
        cell = undotted(cell)
    value = read_value(cell)
    if unit.codes and cell and value.number is not None and _MARKED.search(cell):
        return Value(fold(cell))
    return value


def writes_dots(cells: Iterable[str | None]) -> bool:
    """Whether a column writes thousands with a dot: one of its cells can be read no other way."""
    return any(cell and _DOTTED.search(cell) for cell in cells)


def undotted(cell: str) -> str:
    """``987.000`` as ``987,000``, of a column that :func:`writes_dots`."""
    return _THOUSANDS.sub(lambda match: match[0].replace(".", ","), cell)


_read_cached = lru_cache(maxsize=1 << 16)(_read)


def same_value(one: str | None, other: str | None, header: Unit = PLAIN) -> bool:
    """Whether two cells are equal once standardised; no inclusion, no similarity.

    Args:
        one: a cell as written.
        other: another one; two blanks are the same, a blank and a value are not.
        header: the unit that the column header states, from
            :func:`~tablemend.values.units.header_unit`.
    """
    return one == other or equal_values(read_value(one), read_value(other), header)


def equal_values(one: Value, other: Value, header: Unit = PLAIN) -> bool:
    """:func:`same_value` of two cells already read."""
    if one.number is not None and other.number is not None:
        return same_amount(one.number, other.number, header)
    if one.dates and other.dates:
        return same_date(one.dates, other.dates)
    if one.text == other.text or same_date(one.times, other.times):
        return True
    first, second = parse_range(one.text), parse_range(other.text)
    return first is not None and second is not None and same_amount(first, second, header)


def year_of(value: Value) -> str | None:
    """The year that a bare four-digit number can be, or ``None``."""
    number = value.number
    if number is None or number.unit != PLAIN or number.decimals:
        return None
    return plain_digits(number.value) if 1000 <= number.value <= 2999 else None
