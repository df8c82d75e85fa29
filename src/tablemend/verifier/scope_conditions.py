"""What a query demands of every row, and whether a value meets it.

An answer is open (``None``) where it cannot be decided: a part of an admitted name, a season that
the end of a range falls into, two measures that cannot be compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from tablemend.values.cells import Value, read_value, year_of
from tablemend.values.numbers import Number
from tablemend.values.places import singular
from tablemend.values.text import tokens_of
from tablemend.values.units import ONE, PLAIN, Unit
from tablemend.verifier.wordings import words_of

_GENERIC_TIME = words_of("time")
_LATER = "~"  # behind a day: any later one is greater


class Moment(NamedTuple):
    """The first and the last day that a date can mean, in ISO."""

    first: str
    last: str


@dataclass(frozen=True, slots=True)
class ScopeCondition:
    """What a query demands of every row.

    Attributes:
        label: the attribute, as a column is called or in the query's word; empty where the query
            speaks of time and no more ("in 2019").
        said: the query's words.
        is_time: the ends are years or dates.
        low, high: the ends; ``None`` is open.
        included: whether the ends themselves are in scope.
        values: the admitted categories; empty for a range.
        excluded: what is described is what the query does not want.
    """

    label: str
    said: str
    is_time: bool = False
    low: Value | None = None
    high: Value | None = None
    included: bool = True
    values: tuple[str, ...] = ()
    excluded: bool = False

    @property
    def is_generic(self) -> bool:
        """Whether any time that is said of an entity counts: "in 2019", the column "Year"."""
        return self.is_time and is_generic_time(self.label)

    def meets(self, value: Value, header: Unit = PLAIN) -> bool | None:
        """Whether a value is in scope; ``None`` where that cannot be decided."""
        met = None if value.blank else self._describes(value, header)
        return met if met is None else met != self.excluded

    def _describes(self, value: Value, header: Unit) -> bool | None:
        if self.values:
            return self._is_among(value)
        if self.is_time:
            return self._meets_time(value)
        ends = [(end, sign) for end, sign in ((self.low, 1), (self.high, -1)) if end is not None]
        return _all(_compare(value, end, header, sign, self.included) for end, sign in ends)

    def _is_among(self, value: Value) -> bool | None:
        """Whether a text is an admitted one; open of a part of one, or of one and more."""
        ends = [read_value(one) for one in self.values]
        if all(end.number is not None or end.dates for end in ends):  # "2020 or 2022"
            single = (replace(self, values=(), is_time=states_time(e), low=e, high=e) for e in ends)
            answers = {one._describes(value, PLAIN) for one in single}
            return True if True in answers else None if None in answers else False
        if value.number is not None or value.dates:
            return None  # the 2 of "Leg 2"
        said = _spaced(value.text)
        admitted = [_spaced(end.text) for end in ends]
        if said in admitted:
            return True
        return None if any(said in one or one in said for one in admitted) else False

    def _meets_time(self, value: Value) -> bool | None:
        """Whether all days that a value can mean are in the range; open where some are."""
        answers: set[bool | None] = set()
        for first, last in moments_of(value):
            for low in moments_of(self.low):
                edge = low.first if self.included else low.last + _LATER
                answers.add(True if first >= edge else False if last < edge else None)
            for high in moments_of(self.high):
                edge = high.last + _LATER if self.included else high.first
                answers.add(True if last < edge else False if first >= edge else None)
        ambiguous = len(value.dates) > 1 and len(answers) > 1
        return None if ambiguous else _all(answers)


def is_generic_time(label: str) -> bool:
    """Whether a label says no more than that it is a time: "Year"."""
    return set(map(singular, tokens_of(label).words)) <= _GENERIC_TIME


def states_time(value: Value) -> bool:
    """Whether a value is a date or a year."""
    return bool(value.dates) or year_of(value) is not None


def moments_of(value: Value | None) -> list[Moment]:
    """What days a date or year can mean; one for each of its readings, none without a year."""
    if value is None:
        return []
    year = year_of(value)
    readings = value.dates or ((year,) if year else ())
    return [_moment(reading) for reading in readings if reading[0].isdigit()]


def _moment(reading: str) -> Moment:
    first, _, last = reading.partition("/")  # "2019/2020"
    if "q" in reading:
        quarter = int(reading[-1])
        first, last = (f"{reading[:5]}{month:02d}" for month in (3 * quarter - 2, 3 * quarter))
    last = last or first
    return Moment(first + "-01-01"[len(first) - 4 :], last + "-12-31"[len(last) - 4 :])


def _compare(value: Value, end: Value, header: Unit, sign: int, included: bool) -> bool | None:
    """Whether a number is on the right side of an end; 1: not below it, -1: not above."""
    if value.number is None or end.number is None:
        return None
    units = {one.unit.symbol for one in (value.number, end.number)} - {"", header.symbol}
    if units and value.number.unit.symbol != end.number.unit.symbol:
        return None
    one, other = _scaled(value.number, end.number, header)
    return True if sign * one > sign * other else included if one == other else False


def _scaled(one: Number, other: Number, header: Unit) -> tuple[Decimal, Decimal]:
    """Both numbers in one scale; what one side does not state, the header supplies."""
    scales = (one.unit.scale, other.unit.scale)
    if header.scale == ONE or (scales[0] == ONE) == (scales[1] == ONE):
        return one.value, other.value
    left, right = (header.scale if scale == ONE else ONE for scale in scales)
    return one.value * left, other.value * right


def _spaced(text: str) -> str:
    """The words of a text, so that one text stands in another only in whole words."""
    return f" {' '.join(tokens_of(text).words)} "


def _all(answers: Iterable[bool | None]) -> bool | None:
    """All of three-valued answers; ``None`` of none at all."""
    found = set(answers)
    return False if False in found else None if not found or None in found else True
