"""Whether a stated amount and a cell's number agree, to the precision that is stated."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from tablemend.values.numbers import Number
from tablemend.values.units import MEASURES, ONE, Unit, same_currency
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
_HUNDRED = Decimal(100)
LEAGUE = 3  # decimals of a fraction under "PCT": .714


def compare(amount: Amount, cell: Number, unit: Unit) -> Agreement:
    """Compare a stated amount with a cell.

    A rounding to the digits that are written is the same: 12 of 12.4, "1.2 million" of
    1,234,567; so a percentage without decimals is right within half a point (TabFaith, section
    4.1). A coarser one is the same where it is announced ("about 1,200"), else near. Bounds
    ("over", "at most") are compared as such. A fraction in a cell is a percentage in a text.

    Args:
        amount: what the text states.
        cell: the number in the cell.
        unit: what the cell counts in beyond what it says itself.
    """
    stated, money = amount.number.unit, cell.unit.currency or unit.currency
    if not same_currency(stated.currency, money):
        return _other_unit(amount, cell)
    symbol = cell.unit.symbol or unit.symbol
    if (stated.currency and symbol and not money) or (money and stated.symbol and not symbol):
        return "apart"
    values = _candidates(amount, cell, unit)
    if not values:
        return _other_unit(amount, cell)
    found = [_compare(amount, value) for value in values]
    for outcome in ("same", "near", "different"):
        if outcome in found:
            return outcome
    return "apart"


def _other_unit(amount: Amount, cell: Number) -> Agreement:
    """Whether an amount that cannot be compared has the cell's digits, enough to be no chance."""
    stated = amount.number
    exact = stated.value / stated.unit.scale == cell.value / cell.unit.scale
    exact &= stated.decimals == cell.decimals
    return "unit" if exact and not amount.hedge and _digits(amount) >= _TELLING else "apart"


def _candidates(amount: Amount, cell: Number, unit: Unit) -> list[Decimal]:
    """The cell's value in what the amount counts in; several where units are left open."""
    value = cell.value
    stated, own = amount.number.unit, cell.unit.symbol or unit.symbol
    values = [value]
    if unit.scale != ONE and cell.unit.scale == ONE:
        scaled = value * unit.scale
        values = [scaled] if stated.scale != ONE else [scaled, value]
    elif cell.unit.scale == ONE != stated.scale and value * stated.scale == amount.value:
        values.append(amount.value)  # "12 million" of 12 where no header states the scale
    if stated.symbol == "%":
        if own and own != "%":
            return []
        if cell.unit.currency or unit.currency or (value > 100 and abs(value - amount.value) > 1):
            return []  # "a margin of 39.9%" beside a profit of 324.2
        league = not cell.unit.symbol and cell.decimals >= LEAGUE
        if (not own or league) and abs(value) <= 1 and value != value.to_integral_value():
            values.append(value * _HUNDRED)
    elif stated.symbol and own and stated.symbol != own:
        measure, factor, _ = MEASURES[stated.symbol]
        if own not in MEASURES or MEASURES[own][0] != measure:
            return []
        values = [found * MEASURES[own][1] / factor for found in values]
    if value < 0 and amount.value > 0 and amount.decline:
        values += [-found for found in values]
    return values


def _compare(amount: Amount, value: Decimal) -> Agreement:
    stated = amount.value
    difference = abs(value - stated)
    if amount.hedge not in ("", "about"):
        return _compare_bound(amount, value)
    step = _step(amount)
    if not difference:
        return "same"
    rounded = max(step, _blur(amount))
    if amount.hedge == "about":
        if difference <= max(rounded * _HALF, _CLOSE * abs(value)):
            return "same"
        return "near" if difference <= max(rounded, _DISTANT * abs(value)) else "different"
    if difference <= step * _HALF and _finer(value, step):
        return "near" if _is_count(amount) else "same"
    if difference < step and abs(value) > abs(stated) and _finer(value, step):
        return "near"  # cut off, not rounded
    return "near" if rounded > step and difference <= rounded * _HALF else "different"


def _compare_bound(amount: Amount, value: Decimal) -> Agreement:
    """A bound holds on its side; "just over" only nearby, and a plain one far off says little."""
    stated = amount.value
    if value == stated:
        return "same" if amount.hedge in ("at least", "at most") else "near"
    above = amount.hedge in ("over", "just over", "at least")
    if (value > stated) != above:
        return "different"
    if amount.hedge in ("at least", "at most"):
        return "same"
    difference = abs(value - stated)
    scale = max(abs(stated), abs(value))
    precise = _digits(amount) >= _TELLING
    if difference <= (_CLOSE if precise else _BOUND) * scale:
        return "same"
    if precise or amount.hedge in ("just over", "just under"):
        return "different" if difference > (_BOUND if precise else _DISTANT) * scale else "near"
    return "near"


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
