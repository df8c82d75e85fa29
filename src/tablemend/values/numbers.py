"""Numbers as people write them: separators, signs, currencies, percent, scales and units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import NamedTuple

from tablemend.values.number_words import ONES, TENS
from tablemend.values.text import clean
from tablemend.values.units import (
    CURRENCIES,
    MEASURES,
    MILLION,
    ONE,
    PLAIN,
    SPACED_POWER,
    Unit,
    read_unit,
    same_kind,
)

_SIMPLE = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?\Z")
_DIGIT = re.compile(r"\d")
_EXACT = Context(prec=120)
_MAX_DIGITS = 60
_LARGEST = 60  # powers of ten: what is larger, or as small, is no amount of anything

_DIGITS = re.compile(
    r"""
    (?P<point>
        (?!0)\d{1,3}(?:,\d{3})+(?:\.\d+)?       # 1,234,567.8
      | \d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?      # 12,34,567  (Indian)
      | \d{1,3}(?:'\d{3})+(?:\.\d+)?            # 1'234'567  (Swiss)
      | \d{1,3}(?:[ ]\d{3})++(?:\.\d+)?         # 1 234 567  (thin spaces are spaces by now)
    )(?![,'.]*+\d)
  | (?P<comma>
        \d{1,3}(?:\.\d{3})+,\d+                 # 1.234,5
      | \d{1,3}(?:\.\d{3}){2,}                  # 1.234.567
      | \d{1,3}(?:[ ]\d{3})+,\d+                # 1 234,5
      | (?:\d+,(?:\d{1,2}|\d{4,})|0,\d+)(?<!\d{4},\d{4})  # 12,5, but not the years 2006,2007
    )(?![,'.]*+\d)
  | (?P<plain>\d+(?:\.\d+)?|\.\d+)(?![.,']?\d)
    """,
    re.VERBOSE,
)
_EXPONENT = re.compile(r"(?:e|\s?[x*]\s?10\s?\^\s?)([+-]?\d{1,3})(?![\d.])", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_CURRENCY_BEFORE = re.compile(
    r"((?:us|u\.s\.|c|ca|a|au|hk|s|nz|r)?\$|[€£¥₹₩₽₺]|rs\.?|"
    + "|".join(sorted(code for code in CURRENCIES if code.isascii() and len(code) == 3))
    + r")[ ]?$",
    re.IGNORECASE,
)
HEDGE = re.compile(
    r"(?:[~≈#≥>]|(?:about|approx\.?|approximately|around|roughly|nearly|almost|circa|ca\.|c\."
    r"|over|more than|at least|some|estimated|est\.|no\.)(?=[ \d$€£¥₹]))[ ]?",
    re.IGNORECASE,
)
_TAIL = re.compile(r"\+?(?:[*†‡§¶#]|\^\w{1,2}$|\[(?:note )?\w{1,3}\])*\.?$", re.IGNORECASE)
_POWER_OF_TEN = re.compile(r"^10\^(?=[+-]?\d)")
_SIGN_OUTSIDE = re.compile(r"^([$€£¥₹] ?)\((?=[\d.])([^()]*)\)")
"""``$(5)`` is ``($5)``."""
_MIXED = re.compile(r"(?<![\d.,/])(\d+)[ -](\d{1,2})/(2|4|5|8|10|16|32)(?![\d/])")

_WORDS = {word: value for value, word in enumerate(ONES)}
_WORDS |= {word: 10 * value for value, word in enumerate(TENS, 2)}
_WORDS |= {
    f"{ten}{dash}{one}": 10 * value + _WORDS[one]
    for value, ten in enumerate(TENS, 2)
    for one in ONES[1:10]
    for dash in "- "
}
_ANY_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
# "nine hundred and one", "one thousand two hundred"; a thousand alone is a scale, as a million is
_HUNDREDS = rf"(?:{_ANY_WORD})[ -]hundred(?:(?: and)? (?:{_ANY_WORD})(?![\w-]))?"
_THOUSANDS = rf"(?:{_HUNDREDS}|{_ANY_WORD}) thousand(?:,? (?:{_HUNDREDS})| and (?:{_ANY_WORD}))"
_PHRASE = rf"((?:{_THOUSANDS})|(?:{_HUNDREDS})|{_ANY_WORD})(?![\w-])"
_SPELLED = re.compile(_PHRASE, re.IGNORECASE)
_SPELLED_INSIDE = re.compile(rf"(?<![\w-]){_PHRASE}", re.IGNORECASE)
_DOZENS = {"half a dozen": 6, "dozen": 12, "a dozen": 12, "one dozen": 12, "two dozen": 24}
_PARTS = re.compile(rf"{_ANY_WORD}|hundred|thousand", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Number:
    """A number with everything its cell states about it.

    Attributes:
        value: sign, digits and the cell's own scale applied; exact.
        unit: the stated scale, symbol and currency.
        decimals: decimal places as written.
    """

    value: Decimal
    unit: Unit = PLAIN
    decimals: int = 0

    @property
    def percent(self) -> bool:
        """Whether a percent sign or word was written."""
        return self.unit.symbol == "%"

    def canonical(self) -> str:
        """Currency, plain digits and unit in one spelling: ``usd 5000000``, ``12 %``, ``5 km``."""
        digits = plain_digits(self.value)
        return " ".join(part for part in (self.unit.currency, digits, self.unit.symbol) if part)


def plain_digits(value: Decimal) -> str:
    """Digits without exponent or trailing zeros; minus zero is zero."""
    return format(value.normalize(_EXACT), "f") if value else "0"


def parse_number(text: str) -> Number | None:
    """The number that a whole cell states, or ``None`` where the cell is anything else.

    Read: thousands separators (``1,234``, ``12,34,567``, ``1'234``, ``1 234``, and
    ``1.234,5`` where it is unambiguous: ``1.234`` is a decimal), currencies, percent,
    parentheses for negatives, any minus sign, scales, the units of
    :data:`~tablemend.values.units.MEASURES`, exponents, ordinals, number words below a million,
    whole numbers with a fraction (``1 1/2``), footnote marks, and hedges ("about", "~", "over"),
    which are dropped.
    """
    return parse_clean_number(clean(text))


def parse_clean_number(text: str) -> Number | None:
    """:func:`parse_number` of a text that :func:`~tablemend.values.text.clean` has made."""
    if not text or len(text) > 80:
        return None
    if not _DIGIT.search(text):
        return _parse_words(text)
    if simple := _SIMPLE.match(text):  # most cells
        return Number(Decimal(text), PLAIN, len(simple[1] or ".") - 1)
    text = decimals_for_fractions(_POWER_OF_TEN.sub("1e", SPACED_POWER.sub(r"\1\2", text)))
    text = _SIGN_OUTSIDE.sub(r"(\1\2)", text)
    negative = False
    if text[0] == "(" and text[-1] == ")":
        text, negative = text[1:-1].strip(), True
    while match := HEDGE.match(text):
        text = text[match.end() :]
    match = _DIGITS.search(text)
    if not match:
        return None
    found = _scan(text, match)
    if found is None:
        return None
    number, start, end = found
    tail = text[end:].strip()
    if tail.startswith(")") and text.startswith("(") and start == 1:  # "(5)%", "(5) million"
        negative, start = True, 0
        unit, stop = read_unit(tail, 1, number.unit.currency)
        tail = tail[stop:].strip()
        number = Number(_EXACT.multiply(number.value, unit.scale), unit, number.decimals)
    if start != 0 or not _TAIL.match(tail):
        return None
    if negative and number.value > 0:
        number = Number(-number.value, number.unit, number.decimals)
    return number


def decimals_for_fractions(text: str) -> str:
    """``1 1/2`` as ``1.5``."""
    return _MIXED.sub(lambda m: str(int(m[1]) + Decimal(m[2]) / int(m[3])), text)


def quantities(text: str) -> list[Number]:
    """Every number in a text, left to right, with the scale and unit words that follow it.

    Digits inside a word (``B2B``, ``Q3``) are part of the word and are not counted. Number words
    count in a text without any digit.
    """
    return [stated.number for stated in find_quantities(clean(text))]


class Stated(NamedTuple):
    """A number in a running text: where its digits or words and its unit stand."""

    number: Number
    start: int
    end: int


def find_quantities(text: str) -> list[Stated]:
    """:func:`quantities` with their places, of a text in plain spelling.

    That is one that :func:`~tablemend.values.text.clean` or
    :func:`~tablemend.values.text.align` has made.
    """
    return _find_digits(text) if _DIGIT.search(text) else find_spelled(text)


def _find_digits(text: str) -> list[Stated]:
    found: list[Stated] = []
    position = 0
    while match := _DIGITS.search(text, position):
        floor, position = position, match.end()
        if match.start() and text[match.start() - 1].isalpha():
            continue
        scanned = _scan(text, match, floor)
        if scanned is None:
            continue
        number, start, end = scanned
        if end == match.end() and text[end : end + 1].isalpha():  # "3D"
            continue
        found.append(Stated(number, start, end))
        position = max(end, position)
    return found


def find_spelled(text: str) -> list[Stated]:
    """The number words of a text in plain spelling, below a million, with their places."""
    found: list[Stated] = []
    position = 0
    while match := _SPELLED_INSIDE.search(text, position):
        unit, position = read_unit(text, match.end())
        value = _EXACT.multiply(_read_words(match[1]), unit.scale)
        found.append(Stated(Number(value, unit), match.start(), position))
    return found


def same_number(one: Number, other: Number, header: Unit = PLAIN) -> bool:
    """Strict equality of two numbers that stand under one column header (TableHallu, C.1).

    A scale, unit, currency or percent sign that only one side states is print, not a
    difference, where the header can supply it: under "Revenue (USD million)", "$5 million" is
    "5", and "5 euros" is not. Two units must agree, or convert exactly ("5 km" and "5000 m"); a
    sum of money is no length. There is no rounding: 0.5 is not 0.50001.
    """
    one, other = _read_metre_as_million(one, other, header)
    other, one = _read_metre_as_million(other, one, header)
    if not same_kind(one.unit, other.unit, header):
        return False
    left, right = one.value, other.value
    if header.scale != ONE:
        left = left if one.unit.scale != ONE else _EXACT.multiply(left, header.scale)
        right = right if other.unit.scale != ONE else _EXACT.multiply(right, header.scale)
    symbols = one.unit.symbol, other.unit.symbol
    if symbols[0] == symbols[1]:
        return left == right
    symbols = symbols[0] or header.symbol, symbols[1] or header.symbol
    if not symbols[0] or not symbols[1] or symbols[0] == symbols[1]:
        return left == right
    (measure, factor, _), (other_measure, other_factor, _) = (MEASURES[s] for s in symbols)
    return measure == other_measure and (
        _EXACT.multiply(left, factor) == _EXACT.multiply(right, other_factor)
    )


def _read_metre_as_million(number: Number, beside: Number, header: Unit) -> tuple[Number, Number]:
    """``5m`` next to ``5 million``, or under a header in millions or a currency."""
    unit = number.unit
    if unit.symbol != "m" or unit.scale != ONE or header.symbol:
        return number, beside
    if MILLION in (beside.unit.scale, header.scale) or header.currency:
        value = _EXACT.multiply(number.value, MILLION)
        number = Number(value, Unit(MILLION, "", unit.currency), number.decimals)
    return number, beside


def _scan(text: str, match: re.Match[str], floor: int = 0) -> tuple[Number, int, int] | None:
    """The number around matched digits, with where its currency or sign starts and it ends.

    What stands before ``floor`` belongs to the number before.
    """
    digits, kind = match[0], match.lastgroup
    if len(digits) > _MAX_DIGITS:
        return None
    if kind == "comma":
        digits = digits.replace(".", "").replace(" ", "").replace(",", ".")
    elif kind == "point":
        digits = digits.replace(",", "").replace("'", "").replace(" ", "")
    value = Decimal(digits)
    decimals = len(digits.partition(".")[2])
    start, currency, negative = match.start(), "", False
    for _ in range(2):  # "-$5" and "$-5"
        if start and text[start - 1] in "-+" and (start == 1 or text[start - 2] in " ($€£¥₹"):
            negative = negative or text[start - 1] == "-"
            start -= 1
        if (
            start
            and not currency
            and (before := _CURRENCY_BEFORE.search(text, max(floor, start - 6), start))
        ):
            first = before.start()
            if not (first and text[first - 1].isalpha() and before[1][0].isalpha()):
                name = before[1].casefold()
                currency = CURRENCIES.get(name, "usd" if name == "u.s.$" else "")
                start = first
    end = match.end()
    if exponent := _EXPONENT.match(text, end):
        value = value.scaleb(int(exponent[1]), _EXACT)
        end = exponent.end()
        if value and abs(value.adjusted()) > _LARGEST:
            return None
    elif ordinal := _ORDINAL.match(text, end):
        end = ordinal.end()
    unit, end = read_unit(text, end, currency)
    value = _EXACT.multiply(-value if negative else value, unit.scale)
    return Number(value, unit, decimals), start, end


def spelled_end(text: str, start: int) -> int:
    """Where number words that begin at a place end; ``start`` where none do."""
    match = _SPELLED.match(text, start)
    return match.end() if match else start


def _read_words(words: str) -> Decimal:
    """The value of number words, their hundreds and thousands applied."""
    total = part = 0
    for match in _PARTS.finditer(words.casefold()):
        if match[0] == "hundred":
            part *= 100
        elif match[0] == "thousand":
            total, part = 1000 * part, 0
        else:
            part += _WORDS[match[0]]
    return Decimal(total + part)


def _parse_words(text: str) -> Number | None:
    if (dozens := _DOZENS.get(text.casefold())) is not None:
        return Number(Decimal(dozens))
    match = _SPELLED.match(text)
    if not match:
        return None
    unit, end = read_unit(text, match.end())
    if text[end:].strip():
        return None
    return Number(_EXACT.multiply(_read_words(match[1]), unit.scale), unit)
