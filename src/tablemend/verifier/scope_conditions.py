"""What a query demands of every row, and whether a value meets it.

An answer is open (``None``) where it cannot be decided: a part of an admitted name, a season that
the end of a range falls into, two measures that cannot be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from tablemend.values.cells import Value, read_value, year_of
from tablemend.values.numbers import Number
from tablemend.values.places import singular
from tablemend.values.text import tokens_of
from tablemend.values.units import ONE, PLAIN, Unit

_GENERIC_TIME = frozenset("year date season time period when day month quarter".split())
_READING = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
_QUARTER = re.compile(r"(\d{4})-q([1-4])")
_SEASON = re.compile(r"(\d{4})/(\d{4})")


class Moment(NamedTuple):
    """The first and the last day that a date can mean, as (year, month, day)."""

    first: tuple[int, int, int]
    last: tuple[int, int, int]


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
        said = tokens_of(value.text).words
        admitted = [tokens_of(end.text).words for end in ends]
        if said in admitted:
            return True
        return None if any(_holds(one, said) or _holds(said, one) for one in admitted) else False

    def _meets_time(self, value: Value) -> bool | None:
        """Whether all days that a value can mean are in the range; open where some are."""
        lows = moments_of(self.low) if self.low else []
        highs = moments_of(self.high) if self.high else []
        answers: set[bool | None] = set()
        for first, last in moments_of(value):
            for end in lows:
                edge = end.first if self.included else _next(end.last, 1)
                answers.add(True if first >= edge else False if last < edge else None)
            for end in highs:
                edge = end.last if self.included else _next(end.first, -1)
                answers.add(True if last <= edge else False if first > edge else None)
        ambiguous = len(value.dates) > 1 and len(answers) > 1
        return None if ambiguous else _all(answers)


def is_generic_time(label: str) -> bool:
    """Whether a label says no more than that it is a time: "Year"."""
    return set(map(singular, tokens_of(label).words)) <= _GENERIC_TIME


def states_time(value: Value) -> bool:
    """Whether a value is a date or a year."""
    return bool(value.dates) or year_of(value) is not None


def moments_of(value: Value) -> list[Moment]:
    """What days a date or year can mean; one for each of its readings."""
    year = year_of(value)
    readings = value.dates or ((year,) if year else ())
    return [moment for reading in readings if (moment := _moment(reading))]


def _moment(reading: str) -> Moment | None:
    if match := _READING.fullmatch(reading):
        year, month, day = (int(part or 0) for part in match.groups())
        return Moment((year, month or 1, day or 1), (year, month or 12, day or 31))
    if match := _QUARTER.fullmatch(reading):
        year, quarter = int(match[1]), int(match[2])
        return Moment((year, 3 * quarter - 2, 1), (year, 3 * quarter, 31))
    if match := _SEASON.fullmatch(reading):
        return Moment((int(match[1]), 1, 1), (int(match[2]), 12, 31))
    return None


def _next(day: tuple[int, int, int], step: int) -> tuple[int, int, int]:
    return (day[0], day[1], day[2] + step)


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


def _holds(whole: tuple[str, ...], part: tuple[str, ...]) -> bool:
    """Whether words stand one after the other among others."""
    size = len(part)
    return any(whole[start : start + size] == part for start in range(len(whole) - size + 1))


def _all(answers: Iterable[bool | None]) -> bool | None:
    """All of three-valued answers; ``None`` of none at all."""
    found = set(answers)
    return False if False in found else None if not found or None in found else True
