"""Whether a stated amount and a cell's number agree, to the precision that is stated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal

from tablemend.values.amounts import THOUSANDS, in_one_unit
from tablemend.values.bounds import Bound
from tablemend.values.numbers import Number
from tablemend.values.signs import on_one_side
from tablemend.values.units import ONE, Unit
from tablemend.verifier.reading import Amount

Agreement = Literal["same", "near", "unit", "different", "apart"]
"""``near``: neither clearly right nor wrong (12 for 12.7, a rounding that is not announced).
``unit``: the digits of the cell with another unit (USD 985.00 for EUR 985.00).
``apart``: not comparable (kilometres and kilograms)."""

_CLOSE = Decimal("0.05")  # "about 50" of 48
_DISTANT = Decimal("0.15")  # "about 50" of 41 is wrong
_BOUND = Decimal("0.1")  # "over 50" of 55; of 80 it is true and says little
_TELLING = 3  # digits: who says "over 23.4 million" means no 40
_HALF = Decimal("0.5")
_LEAST_SCALE = 400
_HUNDRED = Decimal(100)
LEAGUE = 3  # decimals of a fraction under "PCT": .714


def compare(
    amount: Amount, cell: Number, unit: Unit, label: Mapping[str, int] | None = None
) -> Agreement:
    """Compare a stated amount with a cell.

    A rounding to the digits that are written is the same: 12 of 12.4, "1.2 million" of
    1,234,567; so a percentage without decimals is right within half a point (TabFaith, section
    4.1). A coarser one is the same where it is announced ("about 1,200"), else near. Bounds
    ("over", "at most") are compared as such. A fraction in a cell is a percentage in a text. Where
    nothing states the cell's scale, a number that is a power of 1,000 off is near.

    Args:
        amount: what the text states.
        cell: the number in the cell.
        unit: what the cell counts in beyond what it says itself.
        label: the sign that the cell's row and column give it.
    """
    stated, own = amount.number, cell.unit.symbol or unit.symbol
    money = cell.unit.currency or unit.currency
    sides = in_one_unit(cell, stated, unit)
    if sides.difference:
        return "apart" if "%" in (stated.unit.symbol, own) else _other_unit(amount, cell)
    pairs = list(sides.pairs)
    if stated.percent:
        if money or (cell.value > _HUNDRED and abs(cell.value - stated.value) > 1):
            return "apart"  # "a margin of 39.9%" beside a profit of 324.2
        league = not cell.unit.symbol and cell.decimals >= LEAGUE
        fraction = abs(cell.value) <= 1 and cell.value != cell.value.to_integral_value()
        if (not own or league) and fraction:
            pairs.append((cell.value * _HUNDRED, stated.value))
    signed = label and amount.signs and on_one_side(*pairs[0], label, amount.signs)
    if signed:
        found = (on_one_side(*pair, label or {}, amount.signs) for pair in pairs)
        pairs = [pair for pair in found if pair]
    elif label and -1 in label.values():
        pairs = [(abs(one), abs(other)) for one, other in pairs]
    elif amount.decline:
        pairs += [(-one, other) for one, other in pairs if one < 0 < other]
    if cell.bound not in ("", "about"):
        return _compare_bounded(amount, cell.bound, pairs)
    grades = [_compare(amount, *pair, sides.factor) for pair in pairs]
    if "same" in grades or "near" in grades:
        return "same" if "same" in grades else "near"
    if abs(stated.value) < abs(cell.value):
        return "different"
    return in_open_scale(amount, cell, unit) or "different"


def in_open_scale(amount: Amount, cell: Number, unit: Unit) -> Agreement | None:
    """How an amount in thousands or millions stands to a cell whose scale nothing states.

    "12 million" is the same as a bare 12; where the digits differ but for a power of 1,000 it is
    near. ``None`` where the scale is known, or no power of 1,000 lies between them.

    Args:
        amount: what the text states.
        cell: the number in the cell.
        unit: what the cell counts in beyond what it says itself.
    """
    stated = amount.number
    if unit.scale != ONE or cell.unit.scale != ONE or cell.unit.symbol or not cell.value:
        return None
    scaled = stated.unit.scale != ONE and not amount.hedge
    if scaled and cell.value * stated.unit.scale == stated.value:
        return "same"
    if amount.hedge or abs(stated.value) < _LEAST_SCALE * abs(cell.value):
        return None
    sizes = (abs(cell.value * power) for power in THOUSANDS if power > ONE)
    same = any(_compare(amount, size, abs(stated.value), ONE) == "same" for size in sizes)
    return "near" if same else None


def _other_unit(amount: Amount, cell: Number) -> Agreement:
    """Whether an amount that counts in something else has the cell's digits."""
    stated = amount.number
    exact = stated.value / stated.unit.scale == cell.value / cell.unit.scale
    return "unit" if exact and not amount.hedge else "apart"


def _compare(amount: Amount, value: Decimal, stated: Decimal, factor: Decimal) -> Agreement:
    """A cell's value and a stated one in one unit, of which the stated one's has ``factor``."""
    difference = abs(value - stated)
    if amount.hedge not in ("", "about"):
        return _compare_bound(amount, value, stated)
    if not difference:
        return "same"
    step = _step(amount) * factor
    if not amount.hedge and 2 * difference > abs(stated) and difference > step:
        return "different"  # most cells
    rounded = max(step, _blur(amount) * factor)
    if amount.hedge == "about":
        if difference <= max(rounded * _HALF, _CLOSE * abs(value)):
            return "same"
        return "near" if difference <= max(rounded, _DISTANT * abs(value)) else "different"
    if difference <= step * _HALF and _finer(value, step):
        return "near" if _is_count(amount) else "same"
    if difference < step and abs(value) > abs(stated) and _finer(value, step):
        return "near"  # cut off, not rounded
    return "near" if rounded > step and difference <= rounded * _HALF else "different"


_ABOVE = ("over", "just over", "at least")


def _compare_bounded(
    amount: Amount, bound: Bound, pairs: Sequence[tuple[Decimal, Decimal]]
) -> Agreement:
    """A statement about a cell that is a bound itself: "p < 0.05" of ``<0.001``."""
    value, stated = pairs[0]
    above = bound in _ABOVE
    if amount.hedge not in ("", "about"):
        if (amount.hedge in _ABOVE) != above:
            return "different" if (value > stated) == above or value == stated else "near"
        if value == stated:
            strict = {amount.hedge, bound} <= {"over", "under", "just over", "just under"}
            return "same" if strict or amount.hedge == bound else "different"
        return "same" if (value > stated) == above else "near"
    inside = (stated > value) == above and stated != value
    return "near" if inside else "different"


def _compare_bound(amount: Amount, value: Decimal, stated: Decimal) -> Agreement:
    """A bound holds on its side; "just over" only nearby, and a plain one far off says little."""
    if value == stated:
        return "same" if amount.hedge in ("at least", "at most") else "near"
    above = amount.hedge in _ABOVE
    if (value > stated) != above:
        return "different"
    if amount.hedge in ("at least", "at most"):
        return "same"
    difference = abs(value - stated)
    scale = max(abs(stated), abs(value))
    precise = is_telling(amount)
    if difference <= (_CLOSE if precise else _BOUND) * scale:
        return "same"
    if precise or amount.hedge in ("just over", "just under"):
        return "different" if difference > (_BOUND if precise else _DISTANT) * scale else "near"
    return "near"


def is_telling(amount: Amount) -> bool:
    """Whether an amount has so many digits that another has them by no mere chance."""
    return _digits(amount) >= _TELLING


def _is_count(amount: Amount) -> bool:
    """Whether a number in words has no unit: "three" counts things, and rounds no 3.5."""
    return amount.spelled and not any(amount.number.unit[1:]) and amount.number.unit.scale == ONE


def _digits(amount: Amount) -> int:
    """How many digits of an amount are written for more than its size."""
    number = amount.number
    digits = str((number.value / number.unit.scale).normalize()).replace(".", "")
    return len(digits.partition("E")[0].lstrip("-0"))


def _step(amount: Amount) -> Decimal:
    """What one unit in the last written place is worth."""
    number = amount.number
    return Decimal(1).scaleb(-number.decimals) * number.unit.scale


def _blur(amount: Amount) -> Decimal:
    """The place down to which a round number is written: hundreds of 1,200."""
    number = amount.number
    digits = number.value / number.unit.scale
    if number.decimals or amount.spelled or not digits:
        return Decimal(0)
    zeros = len(str(int(digits))) - len(str(int(digits)).rstrip("0"))
    return Decimal(10) ** zeros * number.unit.scale if zeros >= 2 else Decimal(0)


def _finer(value: Decimal, step: Decimal) -> bool:
    """Whether a value says more than a multiple of the step, so that the step rounds it."""
    return value % step != 0
