"""Amounts, counts and names in words, each in one of several styles that can be used again."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from random import Random

from tablemend.datasets.tabfaith.sheet import Amount, Sheet
from tablemend.datasets.tablehallu.columns import words_of
from tablemend.values.number_words import UP_TO_TWENTY
from tablemend.values.units import ONE, PLAIN, Unit

HEDGES = {
    "near": ("about", "roughly", "approximately", "around"),
    "below": ("nearly", "almost", "just under"),
    "above": ("over", "more than", "just over"),
}
"""What stands before a rounded number: ``below``, where the amount is below the words."""

_SIGNS = {"$": "$", "usd": "$", "eur": "€", "gbp": "£", "jpy": "¥", "¥": "¥", "inr": "₹"}
_COUNTED = frozenset(("day", "week", "month", "year"))
_WRITTEN = {
    name.casefold(): name
    for name in (
        "Hz kHz MHz GHz W kW MW GW Wh kWh MWh GWh TWh KB MB GB TB V \u00b0C \u00b0F mL L".split()
    )
}
_SCALES = {
    Decimal(10) ** 3: "thousand",
    Decimal(10) ** 5: "lakh",
    Decimal(10) ** 6: "million",
    Decimal(10) ** 7: "crore",
    Decimal(10) ** 9: "billion",
    Decimal(10) ** 12: "trillion",
}
_THREE_DIGITS = Context(prec=3, rounding=ROUND_HALF_UP)
_LEAST_ROUNDED = 10_000


def word_amount(amount: Amount, said_unit: str, rng: Random) -> tuple[str, str]:
    """An amount in words, and the style of these words."""
    styles = ["cell"] * 4
    if (
        amount.value >= _LEAST_ROUNDED
        and amount.unit.symbol in ("", "%")
        and not said_unit
        and _THREE_DIGITS.plus(amount.value) != amount.value
    ):
        styles += ["near", "below", "above"]
    style = rng.choice(styles)
    if style in HEDGES:
        style = f"{_direction(amount.value, style)}:{rng.randrange(3)}"
    return word_alike(amount, said_unit, style), style


def word_alike(amount: Amount, said_unit: str, style: str) -> str:
    """An amount in a given style, as far as its size allows that."""
    kind, _, choice = style.partition(":")
    if kind in HEDGES and amount.value >= _LEAST_ROUNDED:
        kind = _direction(amount.value, kind)
        return f"{HEDGES[kind][int(choice)]} {_rounded(amount)}"
    if kind == "percent" and amount.unit.symbol == "%":
        number = spell(amount.value, Unit(amount.unit.scale), amount.decimals)
        return f"{number} percent"
    if amount.in_points:
        return f"{spell(amount.value, PLAIN, amount.decimals)} percentage points"
    if not amount.bare and amount.unit == PLAIN:  # a unit that is none of ours
        return amount.shown
    text = amount.shown if _is_complete(amount) else ""
    text = text or spell(amount.value, amount.unit, amount.decimals, "," in amount.shown)
    if not said_unit or said_unit in text:
        return text
    if said_unit == "%":
        return f"{text} percent" if kind == "percent" else f"{text}%"
    return f"{text} {said_unit}"


def _is_complete(amount: Amount) -> bool:
    """Whether the cell's own spelling can stand in a sentence: sign, scale and unit in it."""
    text = amount.shown
    if text[0] in "(+" or text[-1] in ".*)" or not text[-1].isascii():
        return False
    return not amount.bare and spell(amount.value, amount.unit, amount.decimals).replace(
        ",", ""
    ).replace(" ", "") == text.replace(",", "").replace(" ", "")


def spell(value: Decimal, unit: Unit, decimals: int, commas: bool = True) -> str:
    """Digits with the sign, currency, scale and unit around them, as English puts them."""
    scale = unit.scale
    if scale == 1000 and unit.symbol == "":
        if abs(value) >= 10**6:
            scale, decimals = Decimal(10) ** 6, decimals + 3
        else:
            scale, decimals = ONE, max(0, decimals - 3)
    number = abs(value) / scale
    if scale != unit.scale and decimals > 2:
        number = number.quantize(Decimal(1).scaleb(-decimals))
        shortened = format(number.normalize(), "f")
        decimals = len(shortened.partition(".")[2])
    commas = commas or number >= _LEAST_ROUNDED
    digits = f"{number:{',' if commas else ''}.{decimals}f}"
    sign = _SIGNS.get(unit.currency, "")
    text = f"{sign}{digits}"
    if unit.currency and not sign:
        text = f"{unit.currency.upper()} {text}"
    if value < 0:
        text = f"-{text}"
    if scale != ONE:
        text += f" {_SCALES[scale]}" if scale in _SCALES else ""
    if unit.symbol == "%":
        return f"{text}%"
    if unit.symbol in _COUNTED and number != 1:
        return f"{text} {unit.symbol}s"
    if unit.symbol == "in":  # "2 in lower" would stumble
        return f"{text} {'inch' if number == 1 else 'inches'}"
    symbol = _WRITTEN.get(unit.symbol, unit.symbol)
    return f"{text} {symbol}" if symbol else text


def _rounded(amount: Amount) -> str:
    """Three digits that count, and the scale as a word from a million on."""
    value = _THREE_DIGITS.plus(amount.value)
    currency = Unit(ONE, "", amount.unit.currency)
    for scale in (Decimal(10) ** 9, Decimal(10) ** 6):
        if abs(value) >= scale:
            number = format((value / scale).normalize(), "f")
            decimals = len(number.partition(".")[2])
            return spell(value, currency._replace(scale=scale), decimals)
    return spell(value, currency, 0)


def _direction(value: Decimal, wanted: str) -> str:
    """The wanted kind of hedge, or the one that is true: ``below`` for 4,980 as 5,000."""
    rounded = abs(_THREE_DIGITS.plus(value))
    if wanted == "near" or rounded == abs(value):
        return "near"
    return "below" if abs(value) < rounded else "above"


def word_counts(*counts: int, digits: bool = False) -> list[tuple[str, str]]:
    """Counts of one sentence: in words up to twenty, or all in digits."""
    return [
        (f"{count:,}", "digits")
        if digits or count >= len(UP_TO_TWENTY)
        else (UP_TO_TWENTY[count], "word")
        for count in counts
    ]


def short_names(sheet: Sheet, name: str) -> list[str]:
    """Shorter forms of an entity's name that no other entity shares.

    Without what stands in brackets; of people also the last word.
    """
    others = [row.entity for row in sheet.rows if row.entity and row.entity != name]
    taken = " ".join(words_of(other) for other in others)
    forms = []
    bare = name.partition("(")[0].strip() if name.endswith(")") else name
    if bare != name and len(bare) > 2:
        forms.append(bare)
    if sheet.persons and len(bare.split()) == 2:
        forms.append(bare.split()[-1])
    return [form for form in forms if len(form) > 2 and words_of(form) not in taken]
