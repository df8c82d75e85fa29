"""Scales, currencies and units, as words after (or before) a number and in column headers."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from tablemend.values.text import clean

ONE = Decimal(1)


class Unit(NamedTuple):
    """What a number counts in.

    Attributes:
        scale: the stated multiplier (``million`` is 10**6), 1 where none is stated.
        symbol: a key of :data:`MEASURES`, ``%``, or an empty string.
        currency: a code of :data:`CURRENCIES`, or an empty string.
    """

    scale: Decimal = ONE
    symbol: str = ""
    currency: str = ""


PLAIN = Unit()

SCALES: dict[str, Decimal] = {
    name: Decimal(10) ** power
    for power, names in {
        3: "k thousand thousands",
        5: "lakh lakhs",
        6: "million millions mn mln mio",
        7: "crore crores",
        9: "billion billions bn bln b",
        12: "trillion trillions tn trn",
    }.items()
    for name in names.split()
}
MILLION = Decimal(10) ** 6

CURRENCIES: dict[str, str] = {
    name: code
    for code, names in {
        "$": "$ dollar dollars",
        "usd": "us$ usd u.s.$ us-dollars usd$",
        "eur": "€ eur euro euros",
        "gbp": "£ gbp sterling",
        "¥": "¥",
        "jpy": "jpy yen",
        "cny": "cny rmb yuan renminbi",
        "inr": "₹ inr rupee rupees rs rs.",
        "krw": "₩ krw",
        "rub": "₽ rub",
        "chf": "chf",
        "cad": "c$ ca$ cad",
        "aud": "a$ au$ aud",
        "hkd": "hk$ hkd",
        "sgd": "s$ sgd",
        "nzd": "nz$ nzd",
        "brl": "r$ brl",
        "sek": "sek",
        "nok": "nok",
        "dkk": "dkk",
        "pln": "pln zł",
        "try": "₺",
        "zar": "zar",
        "mxn": "mxn",
    }.items()
    for name in names.split()
}
_DOLLARS = frozenset({"usd", "cad", "aud", "hkd", "sgd", "nzd"})

# symbol: (what it measures, factor to that measure's base unit, other spellings)
MEASURES: dict[str, tuple[str, Decimal, str]] = {
    symbol: (measure, Decimal(factor), names)
    for symbol, measure, factor, names in (
        ("%", "ratio", "1", "percent pct percentage per-cent pp percentage-points"),
        ("mm", "length", "0.001", "millimetre millimetres millimeter millimeters"),
        ("cm", "length", "0.01", "centimetre centimetres centimeter centimeters"),
        ("m", "length", "1", "metre metres meter meters"),
        ("km", "length", "1000", "kilometre kilometres kilometer kilometers kms"),
        ("in", "length", "0.0254", "inch inches"),
        ("ft", "length", "0.3048", "foot feet"),
        ("yd", "length", "0.9144", "yard yards"),
        ("mi", "length", "1609.344", "mile miles"),
        ("mg", "mass", "0.001", "milligram milligrams"),
        ("g", "mass", "1", "gram grams"),
        ("kg", "mass", "1000", "kilogram kilograms kgs"),
        ("t", "mass", "1000000", "tonne tonnes metric-tons metric-ton"),
        ("ton", "short mass", "1", "tons"),
        ("lb", "mass", "453.59237", "lbs pound pounds"),
        ("oz", "mass", "28.349523125", "ounce ounces"),
        ("m2", "area", "1", "m^2 sqm sq-m square-metres square-meters"),
        ("ha", "area", "10000", "hectare hectares"),
        ("km2", "area", "1000000", "km^2 sq-km square-kilometres square-kilometers"),
        ("acre", "area", "4046.8564224", "acres"),
        ("sq ft", "area", "0.09290304", "ft^2 ft2 sq-ft square-feet"),
        ("sq mi", "area", "2589988.110336", "mi^2 mi2 sq-mi square-miles"),
        ("ml", "volume", "0.001", "millilitre millilitres milliliter milliliters"),
        ("l", "volume", "1", "litre litres liter liters"),
        ("m3", "volume", "1000", "m^3 cubic-metres cubic-meters"),
        ("ms", "time", "0.001", "millisecond milliseconds"),
        ("s", "time", "1", "sec secs second seconds"),
        ("min", "time", "60", "mins minute minutes"),
        ("h", "time", "3600", "hr hrs hour hours"),
        ("day", "time", "86400", "days"),
        ("week", "time", "604800", "weeks"),
        ("month", "months", "1", "months"),
        ("year", "months", "12", "years yr yrs"),
        ("km/h", "speed", "3.6", "kmh kph kmph"),
        ("mph", "miles an hour", "1", ""),
        ("m/s", "metres a second", "1", ""),
        ("w", "power", "1", "watt watts"),
        ("kw", "power", "1000", "kilowatt kilowatts"),
        ("mw", "power", "1000000", "megawatt megawatts"),
        ("gw", "power", "1000000000", "gigawatt gigawatts"),
        ("hp", "horse power", "1", "horsepower bhp"),
        ("wh", "energy", "1", ""),
        ("kwh", "energy", "1000", ""),
        ("mwh", "energy", "1000000", ""),
        ("gwh", "energy", "1000000000", ""),
        ("twh", "energy", "1000000000000", ""),
        ("hz", "frequency", "1", ""),
        ("khz", "frequency", "1000", ""),
        ("mhz", "frequency", "1000000", ""),
        ("ghz", "frequency", "1000000000", ""),
        ("kb", "data", "1000", ""),
        ("mb", "data", "1000000", ""),
        ("gb", "data", "1000000000", ""),
        ("tb", "data", "1000000000000", ""),
        ("v", "voltage", "1", "volt volts"),
        ("°c", "celsius", "1", "celsius degrees-celsius"),
        ("°f", "fahrenheit", "1", "fahrenheit degrees-fahrenheit"),
        ("°", "angle", "1", "degree degrees"),
    )
}
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
_BRACKETED = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_IN_TAIL = re.compile(r"\bin ([^()\[\]]+)$|,([^(),\[\]]+)$|([%$€£¥₹])")
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

    Read in brackets, after ``in`` or a last comma; words that are no unit are passed over.
    """
    text = clean(header).casefold()
    places = _BRACKETED.findall(text)
    places += ["".join(found) for found in _IN_TAIL.findall(text)]
    scale, symbol, currency, metre = ONE, "", "", False
    for place in places:
        for word in _HEADER_WORD.findall(place):
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
    if not symbol and re.search(r"\bpercent(age)?\b", text):
        symbol = "%"
    return Unit(scale, symbol, currency)


def same_currency(one: str, other: str) -> bool:
    """Whether two currencies can be one; an unstated one can be any, ``$`` any dollar."""
    if one == other or not one or not other:
        return True
    pair = {one, other}
    return ("$" in pair and bool(pair & _DOLLARS)) or ("¥" in pair and bool(pair & {"jpy", "cny"}))
