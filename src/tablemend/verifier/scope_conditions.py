"""What a query demands of every row, and whether a value meets it.

An answer is open (``None``) where it cannot be told: a part of an admitted name, a season that the
end of a range falls into, two measures that cannot be compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from tablemend.values.cells import Value, read_value, year_of
from tablemend.values.numbers import Number
from tablemend.values.places import singular
from tablemend.values.text import tokens_of
from tablemend.values.units import MEASURES, ONE, PLAIN, Unit

_GENERIC_TIME = frozenset("year date season time period when day month quarter".split())


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
        low_included, high_included: whether an end itself is in scope.
        values: the admitted categories; empty for a range.
        excluded: what is described is what the query does not want.
    """

    label: str
    said: str
    is_time: bool = False
    low: Value | None = None
    high: Value | None = None
    low_included: bool = True
    high_included: bool = True
    values: tuple[str, ...] = ()
    excluded: bool = False

    @property
    def is_generic(self) -> bool:
        """Whether any time that is said of an entity counts: "in 2019", the column "Year"."""
        return self.is_time and is_generic_time(self.label)

    def meets(self, value: Value, header: Unit = PLAIN) -> bool | None:
        """Whether a value is in scope; ``None`` where that cannot be told."""
        met = None if value.blank else self._describes(value, header)
        return met if met is None else met != self.excluded

    def _describes(self, value: Value, header: Unit) -> bool | None:
        if self.values:
            return self._is_among(value, header)
        if self.is_time:
            return self._meets_time(value)
        if value.number is None:
            return None
        answers = [
            _compare(value.number, end, header, sign, included)
            for end, sign, included in (
                (self.low, 1, self.low_included),
                (self.high, -1, self.high_included),
            )
            if end is not None
        ]
        return _all(answers)

    def _is_among(self, value: Value, header: Unit) -> bool | None:
        """Whether a text is an admitted one; not told of a part of one, or of one and more."""
        ends = [read_value(one) for one in self.values]
        if all(end.number is not None or end.dates for end in ends):  # "2020 or 2022"
            single = (replace(self, values=(), is_time=states_time(e), low=e, high=e) for e in ends)
            answers = {one._describes(value, header) for one in single}
            return True if True in answers else None if None in answers else False
        if value.number is not None or value.dates:
            return None  # the 2 of "Leg 2"
        said = tokens_of(value.text).words
        admitted = [tokens_of(read_value(one).text).words for one in self.values]
        if said in admitted:
            return True
        return None if any(_holds(one, said) or _holds(said, one) for one in admitted) else False

    def _meets_time(self, value: Value) -> bool | None:
        moments = moments_of(value)
        if not moments:
            return None
        answers: list[bool | None] = []
        for moment in moments:
            if self.low is not None:
                for end in moments_of(self.low):
                    edge = end.first if self.low_included else _after(end.last)
                    answers.append(
                        True if moment.first >= edge else False if moment.last < edge else None
                    )
            if self.high is not None:
                for end in moments_of(self.high):
                    edge = end.last if self.high_included else _before(end.first)
                    answers.append(
                        True if moment.last <= edge else False if moment.first > edge else None
                    )
        if len(moments) > 1 and len(set(answers)) > 1:
            return None
        return _all(answers)


def is_generic_time(label: str) -> bool:
    """Whether a label says no more than that it is a time: "Year"."""
    return set(map(singular, tokens_of(label).words)) <= _GENERIC_TIME


def states_year(value: Value) -> bool:
    """Whether a value is a year."""
    return year_of(value) is not None


def states_time(value: Value) -> bool:
    """Whether a value is a date or a year."""
    return bool(value.dates) or states_year(value)


def moments_of(value: Value) -> list[Moment]:
    """What days a date or year can mean; one for each of its readings."""
    readings = value.dates
    if not readings and (year := year_of(value)):
        readings = (year,)
    return [moment for reading in readings if (moment := _moment(reading))]


def _moment(reading: str) -> Moment | None:
    if match := re.fullmatch(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?", reading):
        year, month, day = (int(part) if part else 0 for part in match.groups())
        return Moment((year, month or 1, day or 1), (year, month or 12, day or 31))
    if match := re.fullmatch(r"(\d{4})-q([1-4])", reading):
        year, quarter = int(match[1]), int(match[2])
        return Moment((year, 3 * quarter - 2, 1), (year, 3 * quarter, 31))
    if match := re.fullmatch(r"(\d{4})/(\d{4})", reading):
        return Moment((int(match[1]), 1, 1), (int(match[2]), 12, 31))
    return None


def _after(day: tuple[int, int, int]) -> tuple[int, int, int]:
    return (day[0], day[1], day[2] + 1)


def _before(day: tuple[int, int, int]) -> tuple[int, int, int]:
    return (day[0], day[1], day[2] - 1)


def _compare(value: Number, end: Value, header: Unit, sign: int, included: bool) -> bool | None:
    """Whether a number is on the right side of an end; 1: not below it, -1: not above."""
    if end.number is None:
        return None
    pair = _same_scale(value, end.number, header)
    if pair is None:
        return None
    one, other = pair
    return True if sign * one > sign * other else included if one == other else False


def _same_scale(one: Number, other: Number, header: Unit) -> tuple[Decimal, Decimal] | None:
    """Both numbers in one unit; what one side does not state, the header or the other supplies."""
    left, right = one.value, other.value
    if header.scale != ONE and (one.unit.scale != ONE) != (other.unit.scale != ONE):
        left = left if one.unit.scale != ONE else left * header.scale
        right = right if other.unit.scale != ONE else right * header.scale
    symbols = one.unit.symbol or header.symbol, other.unit.symbol or header.symbol
    if symbols[0] and symbols[1] and symbols[0] != symbols[1]:
        (measure, factor, _), (other_measure, other_factor, _) = (MEASURES[s] for s in symbols)
        if measure != other_measure:
            return None
        return left * factor, right * other_factor
    return left, right


def _holds(whole: Sequence[str], part: Sequence[str]) -> bool:
    """Whether words stand one after the other among others."""
    size = len(part)
    return any(whole[start : start + size] == part for start in range(len(whole) - size + 1))


def _all(answers: Sequence[bool | None]) -> bool | None:
    """All of three-valued answers."""
    if not answers or (None in answers and False not in answers):
        return None
    return False not in answers
