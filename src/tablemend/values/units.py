"""Scales, currencies and units, as words after (or before) a number and in column headers."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tablemend.values.text import clean

ONE = Decimal(1)


class Unit(NamedTuple):
    """What a number counts in.

    Attributes:
        scale: the stated multiplier (``million`` is 10**6), 1 where none is stated.
        symbol: a key of :data:`MEASURES`, ``%``, or an empty string.
        currency: a code of :data:`CURRENCIES`, or an empty string.
        never_percent: of a header: whether a bare number under it is no percentage.
    """

    scale: Decimal = ONE
    symbol: str = ""
    currency: str = ""
    never_percent: bool = False


PLAIN = Unit()

_FILE: dict[str, Any] = yaml.load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"), yaml.CBaseLoader
)
SCALES: dict[str, Decimal] = {
    name: Decimal(10) ** int(power)
    for power, names in _FILE["scales"].items()
    for name in names.split()
}
MILLION = Decimal(10) ** 6
CURRENCIES: dict[str, str] = {
    name: code for code, names in _FILE["currencies"].items() for name in names.split()
}
_DOLLARS = frozenset({"usd", "cad", "aud", "hkd", "sgd", "nzd"})
MEASURES: dict[str, tuple[str, Decimal, str]] = {
    symbol: (measure, Decimal(factor), " ".join(names))
    for symbol, (measure, factor, *names) in _FILE["measures"].items()
}
"""Symbol: what it measures, the factor to that measure's base unit, other spellings."""
_SYMBOLS = {
    spelling: symbol
    for symbol, (_, _, names) in MEASURES.items()
    for spelling in (symbol, *names.split())
}
# "5 in 2019" is not five inches.
del _SYMBOLS["in"]

_REACH = 100  # characters behind a number in which its units stand
_WORD = re.compile(r"\s*-?([%€£¥₹₩₽₺$]|°[a-z]?|[a-z]{1,3}\$|rs\.|[a-z]+(?:[/^][a-z0-9]+|[23]\b)?)")
_AND_WORD = re.compile(r"[ -]([a-z^0-9]+)")
SPACED_POWER = re.compile(r"(?<![^\W\d_])([kc]?m|ft|mi|yd) ([23])(?=$|[)\]])", re.IGNORECASE)
"""``5 km 2`` is 5 km²."""
_BRACKETED = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_IN_TAIL = re.compile(r"\bin ([^()\[\]]+)$|,([^(),\[\]]+)$|([%$€£¥₹])")
_A_PIECE = re.compile(r"\bper (?!cent)\S+")
# "K-12" is a school, no thousand.
_HEADER_WORD = re.compile(
    r"[%€£¥₹₩₽₺$]|°[a-z]?|[a-z]{1,3}\$|(?![a-z]-\d)[a-z]+(?:[/^][a-z0-9]+|[23]\b)?"
)


def read_unit(text: str, start: int, currency: str = "") -> tuple[Unit, int]:
    """Scale, unit and currency words that follow a number, and where they end.

    ``m`` after or before a currency, and ``M`` anywhere, is a million; else it is the metre.
    """
    scale, symbol, position = ONE, "", 0
    text = text[start : start + _REACH]  # a long text is not folded for each of its numbers
    folded = text.casefold()
    if len(folded) != len(text):  # offsets would shift
        folded = text.lower() if len(text.lower()) == len(text) else text
    while match := _WORD.match(folded, position):
        word, end = match[1], match.end()
        if end < len(folded) and folded[end].isalnum() and word[-1].isalnum():
            break
        pair = _AND_WORD.match(folded, end)
        both = f"{word}-{pair[1]}" if pair else ""
        if pair and both in _SYMBOLS and not symbol:
            symbol, end = _SYMBOLS[both], pair.end()
        elif pair and word == "us" and pair[1] in ("dollar", "dollars") and not currency:
            currency, end = "usd", pair.end()
        elif word in ("m", "mm") and (currency or text[match.start(1)] == "M") and scale == ONE:
            scale = MILLION
        elif word in SCALES and scale == ONE and not symbol:
            scale = SCALES[word]
        elif word in CURRENCIES and not currency and not folded[end : end + 1].isdigit():
            currency = CURRENCIES[word]  # that of "20 $5" is the next number's
        elif word in _SYMBOLS and not symbol:
            symbol = _SYMBOLS[word]
        else:
            break
        position = end
    if symbol == "m" and currency and scale == ONE:  # "5m USD"
        scale, symbol = MILLION, ""
    return Unit(scale, symbol, currency), start + position


@lru_cache(maxsize=1 << 12)
def header_unit(header: str) -> Unit:
    """The unit that a column header states for its cells: ``Revenue (USD million)``, ``Growth %``.

    Read in brackets, after ``in`` or a last comma; words that are no unit are passed over, and so
    is what the unit is counted by ("USD per day").
    """
    text = SPACED_POWER.sub(r"\1\2", clean(header).casefold())
    places = _BRACKETED.findall(text)
    places += ["".join(found) for found in _IN_TAIL.findall(text)]
    scale, symbol, currency, metre = ONE, "", "", False
    for place in places:
        words = _HEADER_WORD.findall(_A_PIECE.sub("", place))
        pairs = [f"{one}-{two}" for one, two in pairwise(words)]
        if pair := next((pair for pair in pairs if pair in _SYMBOLS), ""):
            symbol = symbol or _SYMBOLS[pair]
            words = [word for word in words if word not in pair.split("-")]
        for word in words:
            if word == "m":
                metre = True
            elif word in SCALES and (len(word) > 1 or currency or len(place.split()) == 1):
                scale = SCALES[word]
            elif word in CURRENCIES:
                currency = currency or CURRENCIES[word]
            elif word in _SYMBOLS:
                symbol = symbol or _SYMBOLS[word]
    if metre and currency and scale == ONE:
        scale = MILLION
    elif metre and not symbol:
        symbol = "m"
    if not symbol and re.search(r"\bper ?cent(age)?\b", text):
        symbol = "%"
    return Unit(scale, symbol, currency)


def same_kind(one: Unit, other: Unit, header: Unit) -> bool:
    """Whether two numbers under one header can count the same, a bare one what the header says.

    Of money two currencies must agree; money is no measure: "$5" is neither "5 %" nor "5 km".
    "15" is "15 %" only where the header lets it.
    """
    if header.never_percent and (one.symbol == "%") != (other.symbol == "%"):
        return False
    one, other = (unit if unit.currency or unit.symbol else header for unit in (one, other))
    if "gbp" in (one.currency, other.currency):
        one, other = (PLAIN if unit.symbol == "lb" else unit for unit in (one, other))
    if one.currency and other.currency:
        return same_currency(one.currency, other.currency)
    if one.symbol and other.symbol:
        return True  # their factors decide
    return not ((one.currency or one.symbol) and (other.currency or other.symbol))


def same_currency(one: str, other: str) -> bool:
    """Whether two currencies can be one; an unstated one can be any, ``$`` any dollar."""
    if one == other or not one or not other:
        return True
    pair = {one, other}
    return ("$" in pair and bool(pair & _DOLLARS)) or ("¥" in pair and bool(pair & {"jpy", "cny"}))
