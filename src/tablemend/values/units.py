"""Scales, currencies and units, as words after (or before) a number and in column headers."""

from __future__ import annotations

import re
from decimal import Context, Decimal
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tablemend.values.text import clean

ONE = Decimal(1)
EXACT = Context(prec=120)
_NONE = Decimal(0)


class Unit(NamedTuple):
    """What a number counts in.

    Attributes:
        scale: the stated multiplier (``million`` is 10**6), 1 where none is stated.
        symbol: a key of :data:`MEASURES`, ``%``, or an empty string.
        currency: a code of :data:`CURRENCIES`, or an empty string.
        never_percent: of a header: whether a bare number under it is no percentage.
        codes: of a header: whether its cells are codes, of which ``1.10`` is not ``1.1``.
        dots: of a column: whether it writes thousands with a dot, so that ``987.000`` is 987,000.
    """

    scale: Decimal = ONE
    symbol: str = ""
    currency: str = ""
    never_percent: bool = False
    codes: bool = False
    dots: bool = False


PLAIN = Unit()

_FILE: dict[str, Any] = yaml.load(
    Path(__file__).with_name("units.yaml").read_text(encoding="utf-8"), yaml.CBaseLoader
)
SCALES: dict[str, Decimal] = {
    name: Decimal(10) ** int(power)
    for power, names in _FILE["scales"].items()
    for name in names.split()
}
MILLION = Decimal(10) ** 6
CURRENCIES: dict[str, str] = {
    name.replace("-", " "): code
    for code, names in _FILE["currencies"].items()
    for name in names.split()
}
_DOLLARS = frozenset(code for name, code in CURRENCIES.items() if name.endswith("$"))
MEASURES: dict[str, tuple[str, Decimal, str]] = {
    symbol: (measure, Decimal(factor), " ".join(names))
    for symbol, (measure, factor, *names) in _FILE["measures"].items()
}
"""Symbol: what it measures, the factor to that measure's base unit, other spellings."""
_OFFSETS = {symbol: Decimal(value) for symbol, value in _FILE["offsets"].items()}
_SYMBOLS = {
    spelling: symbol
    for symbol, (_, _, names) in MEASURES.items()
    for spelling in (symbol, *names.split())
}
# "5 in 2019" is not five inches.
del _SYMBOLS["in"]

_CODES = re.compile(rf"\b(?:{_FILE['codes'].replace(' ', '|')})(?: ?(?:no\.?|numbers?|#))?$")
_REACH = 100  # characters behind a number in which its units stand
_BY_LENGTH = sorted(map(re.escape, CURRENCIES), key=len, reverse=True)
_MONEY = "|".join(_BY_LENGTH)
_MONEY_WORDS = re.compile(r"\s*(" + "|".join(m for m in _BY_LENGTH if " " in m) + r")(?![\w$])")
_WORD = re.compile(
    r"\s*-?([%€£¥₹₩₽₺₪฿₦₱₫₴$]|°[a-z]?|[a-z]{1,3}\$|rs\.|[a-z]+(?:[/^][a-z0-9]+|[23]\b)?)"
)
_AND_WORD = re.compile(r"[ -]([a-z^0-9]+)")
SPACED_POWER = re.compile(r"(?<![^\W\d_])([kc]?m|ft|mi|yd) ([23])(?=$|[)\]])", re.IGNORECASE)
"""``5 km 2`` is 5 km²."""
_BRACKETED = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_IN_TAIL = re.compile(r"\bin ([^()\[\]]+)$|,([^(),\[\]]+)$|([%$€£¥₹])")
_A_PIECE = re.compile(r"\bper (?!cent)\S+")
# "K-12" is a school, no thousand.
_HEADER_WORD = re.compile(
    r"[%€£¥₹₩₽₺₪฿₦₱₫₴$]|°[a-z]?|[a-z]{1,3}\$|(?![a-z]-\d)[a-z]+(?:[/^][a-z0-9]+|[23]\b)?"
)
_BESIDE_MONEY = {
    name: Decimal(10) ** int(power)
    for power, names in _FILE["beside money"].items()
    for name in names.split()
} | SCALES
_SHORT = "|".join(sorted(_BESIDE_MONEY, key=len, reverse=True))
_SCALED_MONEY = re.compile(
    rf"(?<![\w$])(?:(?P<money>{_MONEY})(?: in|,)?[ .-]?(?P<behind>{_SHORT}|t)s?"
    rf"|(?P<before>{_SHORT}|t)\.?(?: of)?[ -]?(?P<moneys>{_MONEY}))(?![^\W_]|\$)"
)
_THOUSANDS = re.compile(r"(?<![\d.,])'?000'?s?(?![\d,.])|\b1[, ]?000'?s\b|\b[x*] ?1,?000\b")
_MILLIONS = re.compile(r"(?<![\d.])'?000,000'?s?(?![\d,.])|\b[x*] ?1,?000,?000\b|\b10\^6\b")
_CAPITAL_M = re.compile(r"(?<![\w/])MM(?![\w/])|(?<=[(\[])M(?=[)\]])")


_FACTOR = re.compile(r" ?[\d(]")


def read_unit(text: str, start: int, currency: str = "") -> tuple[Unit, int]:
    """Scale, unit and currency words that follow a number, and where they end.

    ``m`` after or before a currency, and ``M`` anywhere, is a million; else it is the metre.
    """
    scale, symbol, position = ONE, "", 0
    text = text[start : start + _REACH]  # a long text is not folded for each of its numbers
    folded = text.casefold()
    if len(folded) != len(text):  # offsets would shift
        folded = text.lower() if len(text.lower()) == len(text) else text
    while match := (
        (None if currency else _MONEY_WORDS.match(folded, position))
        or _WORD.match(folded, position)
    ):
        word, end = match[1], match.end()
        if end < len(folded) and folded[end].isalnum() and word[-1].isalnum():
            break
        pair = _AND_WORD.match(folded, end)
        both = f"{word}-{pair[1]}" if pair else ""
        if pair and both in _SYMBOLS and not symbol:
            symbol, end = _SYMBOLS[both], pair.end()
        elif word in ("m", "mm") and (currency or text[match.start(1)] == "M") and scale == ONE:
            scale = MILLION
        elif word == "x" and (symbol or _FACTOR.match(folded, end)):
            break  # "3 x 4"
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


def spelled_scales(text: str) -> str:
    """A header or caption in small letters, ``'000`` and ``MM`` as "thousand" and "million"."""
    text = _CAPITAL_M.sub("million", clean(text)).casefold()
    return _THOUSANDS.sub(" thousand", _MILLIONS.sub(" million", text))


def scaled_money(text: str) -> tuple[tuple[int, int], Unit] | None:
    """Where a scale is written to a currency, and both: ``$mm``, ``musd``, ``t€``.

    Args:
        text: as :func:`spelled_scales` gives it.
    """
    if not (match := _SCALED_MONEY.search(text)):
        return None
    name = match["behind"] or match["before"]
    name = {"t": "tn" if match["behind"] else "k"}.get(name, name)
    return match.span(), Unit(
        _BESIDE_MONEY[name], "", CURRENCIES[match["money"] or match["moneys"]]
    )


@lru_cache(maxsize=1 << 12)
def header_unit(header: str) -> Unit:
    """The unit that a column header states for its cells: ``Revenue (USD million)``, ``Growth %``.

    Read in brackets, after ``in`` or a last comma, and where a scale is written to a currency
    ("$mm", "MUSD", "TEUR", "US$'000"); words that are no unit are passed over, and so is what the
    unit is counted by ("USD per day").
    """
    text = SPACED_POWER.sub(r"\1\2", spelled_scales(header).replace("_", " "))
    scale, symbol, currency, metre = ONE, "", "", False
    if money := scaled_money(_A_PIECE.sub("", text)):
        (start, end), (scale, _, currency, *_) = money
        text = text[:start] + " " + text[end:]
    places = _BRACKETED.findall(text)
    places += ["".join(found) for found in _IN_TAIL.findall(text)]
    for place in places:
        words = _HEADER_WORD.findall(_A_PIECE.sub("", place))
        if named := _MONEY_WORDS.search(place):
            currency = currency or CURRENCIES[named[1]]
            words = [word for word in words if word not in named[1]]
        pairs = [f"{one}-{two}" for one, two in pairwise(words)]
        if pair := next((pair for pair in pairs if pair in _SYMBOLS), ""):
            symbol = symbol or _SYMBOLS[pair]
            words = [word for word in words if word not in pair.split("-")]
        for word in words:
            if word == "m":
                metre = True
            elif word == "mm" and currency:
                scale = MILLION
            elif word in SCALES and (len(word) > 1 or currency or len(place.split()) == 1):
                scale = SCALES[word] if scale == ONE else scale
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
    return Unit(scale, symbol, currency, codes=_CODES.search(text.strip()) is not None)


def same_currency(one: str, other: str) -> bool:
    """Whether two currencies can be one; an unstated one can be any, ``$`` is that of the USA."""
    if one == other or not one or not other:
        return True
    return {one, other} in ({"$", "usd"}, {"¥", "jpy"}, {"¥", "cny"})


def named_dollar(currency: str, *beyond: Unit) -> str:
    """The dollar that ``$`` means where a header or a caption names one; any other as it is."""
    named = (unit.currency for unit in beyond if unit.currency in _DOLLARS)
    return next(named, currency) if currency == "$" else currency


def in_base_unit(value: Decimal, symbol: str) -> Decimal:
    """A value in the base unit of what its symbol measures; exact."""
    return EXACT.add(EXACT.multiply(value, MEASURES[symbol][1]), _OFFSETS.get(symbol, _NONE))
