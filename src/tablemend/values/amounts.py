"""Whether two stated amounts are the same amount, and what they differ in if not.

The one comparison of the package: the detector, the verifier, the repair and FAITH's scorer ask it.
What only one side states (a scale, a unit, a currency) is no difference unless the words beyond
the numbers, such as a header, say it of both. Nothing is rounded: who lets an amount be rounded
compares the values of :func:`in_one_unit` by a rule of its own.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NamedTuple

from tablemend.values.numbers import Number
from tablemend.values.units import (
    EXACT,
    MEASURES,
    MILLION,
    ONE,
    PLAIN,
    Unit,
    in_base_unit,
    named_dollar,
    same_currency,
)

Difference = Literal[
    "", "number", "sign", "bound", "range", "scale", "unit", "currency", "precision"
]
"""What two amounts differ in; empty where they are the same. ``unit``: they count other things, or
cannot be converted; ``scale``: but for a power of 1,000 they are the same; ``precision``: they are
the same once the finer is rounded to the decimals of the other."""
THOUSANDS = tuple(Decimal(10) ** power for power in (3, 6, 9, 12, -3, -6, -9, -12))


class Sides(NamedTuple):
    """Two amounts in one unit.

    Attributes:
        difference: ``currency`` or ``unit`` where they have none in common.
        pairs: the values of both; more than one pair where a scale is left open.
        factor: what one of the second's unit is in the unit of the pairs.
    """

    difference: Literal["", "currency", "unit"]
    pairs: tuple[tuple[Decimal, Decimal], ...]
    factor: Decimal = ONE


def in_one_unit(one: Number, other: Number, beyond: Unit = PLAIN, beside: Unit = PLAIN) -> Sides:
    """Two amounts as values that can be compared.

    Args:
        one: a number.
        other: another one.
        beyond: what the header, row or caption of the first states; its bare digits count in that.
        beside: the same of the second; the two cells of one column have one.
    """
    if one.unit == other.unit == beyond == PLAIN == beside:  # most amounts
        return Sides("", ((one.value, other.value),))
    one = _read_metre_as_million(one, other, beyond)
    other = _read_metre_as_million(other, one, beside)
    left, right = _unit_of(one, beyond), _unit_of(other, beside)
    bare = _scaled(one, beyond), _scaled(other, beside)
    pairs = [bare]
    if beyond.scale != beside.scale and ONE in (beyond.scale, beside.scale):
        pairs += [(one.value, other.value)] if one.unit.scale == other.unit.scale == ONE else []
    if (beyond.never_percent or beside.never_percent) and (left.symbol == "%") != (
        right.symbol == "%"
    ):
        return Sides("unit", tuple(pairs))
    if not any(left[1:3]) or not any(right[1:3]):
        return Sides("", tuple(pairs))
    if "gbp" in (left.currency, right.currency):  # "pounds" were read as a mass
        left, right = (PLAIN if unit.symbol == "lb" else unit for unit in (left, right))
    if left.currency and right.currency:
        dollars = (named_dollar(unit.currency, beyond, beside) for unit in (left, right))
        return Sides("" if same_currency(*dollars) else "currency", tuple(pairs))
    symbols = left.symbol, right.symbol
    if "°" in symbols:  # of what scale, or of an angle, it does not say
        symbols = "", ""
    if (left.currency and symbols[1]) or (right.currency and symbols[0]):
        return Sides("unit", tuple(pairs))
    if symbols[0] == symbols[1] or "" in symbols:
        return Sides("", tuple(pairs))
    if MEASURES[symbols[0]][0] == MEASURES[symbols[1]][0]:
        converted = [(in_base_unit(a, symbols[0]), in_base_unit(b, symbols[1])) for a, b in pairs]
        return Sides("", tuple(converted), MEASURES[symbols[1]][1])
    return Sides("unit", tuple(pairs))


def difference(
    one: Number, other: Number, beyond: Unit = PLAIN, beside: Unit | None = None
) -> Difference:
    """What two amounts differ in, the first thing that tells; empty where they are the same.

    Args:
        one: a number.
        other: another one.
        beyond: what the header of the first states.
        beside: what that of the second states; ``None`` for the same header.
    """
    sides = in_one_unit(one, other, beyond, beyond if beside is None else beside)
    if sides.difference:
        return sides.difference
    if (one.upper is None) != (other.upper is None):
        return "range"
    if not any(left == right for left, right in sides.pairs):
        return _of_values(one, other, sides.pairs)
    bounds = {"" if number.bound == "about" else number.bound for number in (one, other)}
    if len(bounds) > 1:
        return "bound"
    if one.upper is not None and other.upper is not None:
        low, high = (Number(n.upper or n.value, n.unit, n.decimals) for n in (one, other))
        return "range" if difference(low, high, beyond, beside) else ""
    return ""


def same_amount(one: Number, other: Number, header: Unit = PLAIN) -> bool:
    """Whether two numbers under one column header are the same amount (TableHallu, C.1)."""
    return not difference(one, other, header)


def off_by_thousands(left: Decimal, right: Decimal) -> bool:
    """Whether two values differ by a power of 1,000 alone."""
    return bool(left) and any(left == EXACT.multiply(right, power) for power in THOUSANDS)


def _of_values(
    one: Number, other: Number, pairs: tuple[tuple[Decimal, Decimal], ...]
) -> Difference:
    if any(left == -right for left, right in pairs):
        return "sign"
    if any(off_by_thousands(abs(left), abs(right)) for left, right in pairs):
        return "scale"
    step = Decimal(1).scaleb(-min(one.decimals, other.decimals))
    scale = max(one.unit.scale, other.unit.scale)
    near = one.decimals != other.decimals and any(
        2 * abs(left - right) <= step * scale for left, right in pairs
    )
    return "precision" if near else "number"


def _unit_of(number: Number, beyond: Unit) -> Unit:
    """A number's own unit, or what stands beyond it."""
    return number.unit if number.unit.currency or number.unit.symbol else beyond


def _scaled(number: Number, beyond: Unit) -> Decimal:
    own = number.unit.scale != ONE or beyond.scale == ONE
    return number.value if own else EXACT.multiply(number.value, beyond.scale)


def _read_metre_as_million(number: Number, beside: Number, header: Unit) -> Number:
    """``5m`` next to ``5 million``, or under a header in millions or a currency."""
    unit = number.unit
    if unit.symbol != "m" or unit.scale != ONE or header.symbol:
        return number
    if MILLION in (beside.unit.scale, header.scale) or header.currency:
        value = EXACT.multiply(number.value, MILLION)
        return Number(value, Unit(MILLION, "", unit.currency), number.decimals, number.bound)
    return number
