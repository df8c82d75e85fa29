"""Numbers in words: exact or rounded, with currency, scale and unit as English puts them."""

from __future__ import annotations

import math
from decimal import Decimal
from random import Random

from tablemend.programs.execute import Result
from tablemend.programs.program import Amount, Hedge
from tablemend.programs.table import Cell
from tablemend.values.numbers import UP_TO_TWENTY
from tablemend.values.units import ONE, PLAIN, Unit

HEDGES: dict[Hedge, tuple[str, ...]] = {
    "about": ("about", "roughly", "approximately", "around"),
    "over": ("over", "more than", "just over"),
    "under": ("nearly", "almost", "just under"),
}
"""What stands before a rounded number."""

_SIGNS = {"$": "$", "usd": "$", "eur": "€", "gbp": "£", "jpy": "¥", "¥": "¥", "inr": "₹"}
_COUNTED = frozenset(("day", "week", "month", "year"))
_WRITTEN = {
    name.casefold(): name
    for name in (
        "Hz kHz MHz GHz W kW MW GW Wh kWh MWh GWh TWh KB MB GB TB V \u00b0C \u00b0F mL L".split()
    )
}
_SCALES = {
    Decimal(10) ** power: name
    for power, name in ((3, "thousand"), (5, "lakh"), (6, "million"), (7, "crore"))
} | {Decimal(10) ** 9: "billion", Decimal(10) ** 12: "trillion"}
_LEAST_ROUNDED = 10_000


def exact(found: Cell | Result) -> Amount:
    """A cell's number, or a computed one with the decimals of its cells, as it is."""
    assert isinstance(found.value, float)
    return rounded(found.value, found.unit, found.decimals)


def rounded(value: float, unit: Unit = PLAIN, decimals: int = 0) -> Amount:
    """A number to so many decimals of its unit's scale."""
    step = float(unit.scale) * 10.0**-decimals
    return Amount(round(value / step) * step, unit, step)


def loosely(found: Cell | Result, rng: Random) -> Amount:
    """A number as :func:`exact`, or a large one now and then to three digits with a hedge."""
    amount = exact(found)
    size = abs(amount.value)
    if rng.random() < 0.57 or size < _LEAST_ROUNDED or found.measure:
        return amount
    if found.unit.symbol not in ("", "%") or amount.value < 0:
        return amount
    step = 10.0 ** (math.floor(math.log10(size)) - 2)
    near = round(size / step) * step
    if math.isclose(near, size):
        return amount
    hedge: Hedge = rng.choice(("about", "over" if near < size else "under"))
    scale = next((Decimal(10) ** power for power in (9, 6) if near >= 10**power), ONE)
    return Amount(near, Unit(scale, "", found.unit.currency), step, hedge)


def spell(amount: Amount, measure: str = "", hedge: str = "", percent: bool = False) -> str:
    """An amount in digits.

    Args:
        amount: what is stated; its sign is said.
        measure: what it counts in beyond its unit: "g/dL", "points" of percentages.
        hedge: one of :data:`HEDGES`.
        percent: write the word, not the sign.
    """
    unit = amount.unit
    scale = unit.scale
    decimals = max(0, -round(math.log10(amount.step / float(scale)))) if amount.step else 0
    if amount.hedge:
        decimals = _fewest(abs(amount.value) / float(scale), decimals)
    if scale == 1000 and not unit.symbol:
        scale = Decimal(10) ** 6 if abs(amount.value) >= 10**6 else ONE
        decimals = _fewest(abs(amount.value) / float(scale), decimals + 3) if scale != ONE else 0
    digits = f"{abs(amount.value) / float(scale):,.{decimals}f}"
    sign = _SIGNS.get(unit.currency, "")
    text = f"{sign}{digits}"
    if unit.currency and not sign:
        text = f"{unit.currency.upper()} {text}"
    text = f"-{text}" if amount.value < 0 else text
    if scale != ONE:
        text += f" {_SCALES[scale]}" if scale in _SCALES else ""
    text = f"{hedge} {text}" if hedge else text
    if measure == "points":
        return f"{text} percentage point{'' if digits == '1' else 's'}"
    if measure == "%" or (unit.symbol == "%" and not measure):
        return f"{text} percent" if percent else f"{text}%"
    if unit.symbol in _COUNTED and digits != "1":
        return f"{text} {unit.symbol}s"
    if unit.symbol == "in":  # "2 in lower" would stumble
        return f"{text} {'inch' if digits == '1' else 'inches'}"
    symbol = measure or _WRITTEN.get(unit.symbol, unit.symbol)
    return f"{text} {symbol}" if symbol else text


def _fewest(number: float, most: int) -> int:
    """How many decimals a number needs, at most so many."""
    return next((n for n in range(most) if math.isclose(round(number, n), number)), most)


def spell_count(count: float, digits: bool = False) -> str:
    """A count: in words up to twenty unless ``digits``."""
    number = int(count)
    in_words = 0 <= number < len(UP_TO_TWENTY) and not digits
    return UP_TO_TWENTY[number] if in_words else f"{number:,}"


def round_between(low: float, high: float) -> float | None:
    """The roundest number strictly between two, clear of both; ``None`` where they are too near."""
    if not 0 <= low < high:
        return None
    power = math.floor(math.log10(high))
    for step in (unit for p in range(power, power - 6, -1) for unit in (10.0**p, 10.0**p / 2)):
        candidate = (math.floor(low / step) + 1) * step
        if low < candidate < high and not math.isclose(candidate, high):
            return round(candidate, 9)
    return None
