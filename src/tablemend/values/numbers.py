"""Numbers as people write them: separators, signs, currencies, percent, scales and units."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from tablemend.values.bounds import Bound, split_bound
from tablemend.values.number_words import ONES, TENS
from tablemend.values.text import clean
from tablemend.values.units import (
    CURRENCIES,
    EXACT,
    PLAIN,
    SPACED_POWER,
    Unit,
    read_unit,
)

_SIMPLE = re.compile(r"-?(?!0[0-9])[0-9]{1,30}(\.[0-9]{1,30})?\Z")
_DIGIT = re.compile(r"\d")
_DECADE = re.compile(r"(?:1[5-9]|20)\d0'?s\b", re.IGNORECASE)
_CODE = re.compile(r"0\d+\Z")  # "0012": the zero says that it is none
_MAX_DIGITS = 60
_LARGEST = 60  # powers of ten: what is larger, or as small, is no amount of anything

_DIGITS = re.compile(  # repetitions are bounded: of a long text each place is tried
    r"""
    (?<!\d{60})
    (?:(?P<point>
        (?!0)\d{1,3}(?:,\d{3}){1,20}(?:\.\d+)?       # 1,234,567.8
      | \d{1,2}(?:,\d{2}){1,20},\d{3}(?:\.\d+)?      # 12,34,567  (Indian)
      | \d{1,3}(?:'\d{3}){1,20}(?:\.\d+)?            # 1'234'567  (Swiss)
      | \d{1,3}(?:[ ]\d{3}){1,20}+(?:\.\d+)?         # 1 234 567  (thin spaces are spaces by now)
    )(?![,'.]{0,60}+\d)
  | (?P<comma>
        \d{1,3}(?:\.\d{3}){1,20},\d+                 # 1.234,5
      | \d{1,3}(?:\.\d{3}){2,20}                     # 1.234.567
      | \d{1,3}(?:[ ]\d{3}){1,20},\d+                # 1 234,5
      | (?:\d++,(?:\d{1,2}|\d{4,})|0,\d+)(?<!\d{4},\d{4})  # 12,5, but not the years 2006,2007
    )(?![,'.]{0,60}+\d)
  | (?P<plain>\d++(?:\.\d++)?|\.\d++)(?![.,']?\d))
    """,
    re.VERBOSE,
)
_EXPONENT = re.compile(r"(?:e|\s?[x*]\s?10\s?\^\s?)([+-]?\d{1,3})(?![\d.])", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_CURRENCY_BEFORE = re.compile(
    "("
    + "|".join(
        re.escape(name)
        for name in sorted(CURRENCIES, key=len, reverse=True)
        if not name.isalpha() or len(name) == 3 or name == "rs"
    )
    + ")[ ]?$",
    re.IGNORECASE,
)
_TAIL = re.compile(r"(?:[*†‡§¶#]|\^\w{1,2}$|\[(?:note )?\w{1,3}\])*\.?$", re.IGNORECASE)
_POWER_OF_TEN = re.compile(r"^10\^(?=[+-]?\d)")
_SIGN_OUTSIDE = re.compile(r"^([$€£¥₹] ?)\((?=[\d.])([^()]*)\)")
"""``$(5)`` is ``($5)``."""
_MULTIPLE = re.compile(r"(?<=\d)[ -]?(?:times|fold)$", re.IGNORECASE)
_MINUS_WORD = re.compile(r"^(?:minus|negative) ?(?=[\d$€£¥])", re.IGNORECASE)
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
_SPELLED_INSIDE = re.compile(rf"(?<![\w-])(?=[a-z]){_PHRASE}", re.IGNORECASE)
_DOZENS = {"half a dozen": 6, "dozen": 12, "a dozen": 12, "one dozen": 12, "two dozen": 24}
_PARTS = re.compile(rf"{_ANY_WORD}|hundred|thousand", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Number:
    """A number with everything its cell states about it.

    Attributes:
        value: sign, digits and the cell's own scale applied; exact.
        unit: the stated scale, symbol and currency.
        decimals: decimal places as written.
        bound: what the number is a bound of; ``about`` of an estimate.
        upper: the other end of a range, from :func:`parse_range`.
    """

    value: Decimal
    unit: Unit = PLAIN
    decimals: int = 0
    bound: Bound = ""
    upper: Decimal | None = None

    @property
    def percent(self) -> bool:
        """Whether a percent sign or word was written."""
        return self.unit.symbol == "%"

    def canonical(self) -> str:
        """Currency, plain digits and unit in one spelling: ``usd 5000000``, ``12 %``, ``5 km``."""
        digits = plain_digits(self.value)
        bound = "" if self.bound == "about" else self.bound
        parts = (bound, self.unit.currency, digits, self.unit.symbol)
        return " ".join(part for part in parts if part)


def plain_digits(value: Decimal) -> str:
    """Digits without exponent or trailing zeros; minus zero is zero."""
    return format(value.normalize(EXACT), "f") if value else "0"


def parse_number(text: str) -> Number | None:
    """The number that a whole cell states, or ``None`` where the cell is anything else.

    Read: thousands separators (``1,234``, ``12,34,567``, ``1'234``, ``1 234``, and
    ``1.234,5`` where it is unambiguous: ``1.234`` is a decimal), currencies, percent,
    parentheses for negatives, any minus sign, scales, the units of
    :data:`~tablemend.values.units.MEASURES`, exponents, ordinals, number words below a million,
    whole numbers with a fraction (``1 1/2``), multiples (``3.0x``), footnote marks and bounds
    ("at least 5", ``<0.001``). A code such as ``0012`` is no number.
    """
    return parse_clean_number(clean(text))


def parse_clean_number(text: str) -> Number | None:
    """:func:`parse_number` of a text that :func:`~tablemend.values.text.clean` has made."""
    if not text or len(text) > 80:
        return None
    if simple := _SIMPLE.match(text):  # most cells
        return Number(Decimal(text), PLAIN, len(simple[1] or ".") - 1)
    bound, text = split_bound(text)
    number = _parse_digits(text) if _DIGIT.search(text) else _parse_words(text)
    return replace(number, bound=bound) if number is not None and bound else number


def _parse_digits(text: str) -> Number | None:
    text = decimals_for_fractions(_POWER_OF_TEN.sub("1e", SPACED_POWER.sub(r"\1\2", text)))
    text = _MULTIPLE.sub("x", _SIGN_OUTSIDE.sub(r"(\1\2)", text))
    text, negative = _MINUS_WORD.subn("-", text, count=1)[0], False
    if text[0] == "(" and text[-1] == ")":
        text, negative = text[1:-1].strip(), True
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
        number = Number(EXACT.multiply(number.value, unit.scale), unit, number.decimals)
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
        value = EXACT.multiply(_read_words(match[1]), unit.scale)
        found.append(Stated(Number(value, unit), match.start(), position))
    return found


_FROM = re.compile(r"(?:between|from) (?=.* (?:and|to) )", re.IGNORECASE)
_BETWEEN = re.compile(r"(?<=.) ?- ?(?=[^-])| to | and | through ", re.IGNORECASE)


def parse_range(text: str) -> Number | None:
    """``$5-7 million``, ``between 5 and 7 km``: its lower end, with the scale and unit of both.

    Args:
        text: a whole cell that :func:`~tablemend.values.text.clean` has made, and no date.
    """
    if len(text) > 80:
        return None
    ends = _BETWEEN.split(_FROM.sub("", text), maxsplit=1)
    low, high = map(parse_clean_number, ends) if len(ends) == 2 else (None, None)
    if low is None or high is None or low.bound or high.bound:
        return None
    unit = Unit(
        low.unit.scale if low.unit.scale != 1 else high.unit.scale,
        low.unit.symbol or high.unit.symbol,
        low.unit.currency or high.unit.currency,
    )
    value = low.value if low.unit.scale != 1 else EXACT.multiply(low.value, unit.scale)
    return Number(value, unit, low.decimals, "", high.value) if value < high.value else None


def _scan(text: str, match: re.Match[str], floor: int = 0) -> tuple[Number, int, int] | None:
    """The number around matched digits, with where its currency or sign starts and it ends.

    What stands before ``floor`` belongs to the number before.
    """
    digits, kind = match[0], match.lastgroup
    if len(digits) > _MAX_DIGITS or _CODE.match(digits):
        return None
    if kind == "comma":
        digits = digits.replace(".", "").replace(" ", "").replace(",", ".")
    elif kind == "point":
        digits = digits.replace(",", "").replace("'", "").replace(" ", "")
    value = Decimal(digits)
    decimals = len(digits.partition(".")[2])
    start, currency, negative = match.start(), "", False
    if _DECADE.match(text, start):
        return None
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
                currency = CURRENCIES[name]
                start = first
    end = match.end()
    if exponent := _EXPONENT.match(text, end):
        value = value.scaleb(int(exponent[1]), EXACT)
        end = exponent.end()
        if value and abs(value.adjusted()) > _LARGEST:
            return None
    elif ordinal := _ORDINAL.match(text, end):
        end = ordinal.end()
    unit, end = read_unit(text, end, currency)
    value = EXACT.multiply(-value if negative else value, unit.scale)
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
    return Number(EXACT.multiply(_read_words(match[1]), unit.scale), unit)
