"""Numbers as people write them: separators, signs, bounds, scales; when two are the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import yaml

from tablemend.values.text import clean
from tablemend.values.units import (
    CURRENCIES,
    EXACT,
    MEASURES,
    MILLION,
    ONE,
    PLAIN,
    SPACED_POWER,
    Unit,
    in_base_unit,
    named_dollar,
    read_unit,
    same_currency,
)

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
UP_TO_TWENTY = (*ONES, "twenty")
"""The place of a word is its number."""
ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
ONE_TO_TEN = "|".join(ONES[1:11])
"""A pattern."""


# ---- bounds

Bound = Literal["", "about", "over", "under", "just over", "just under", "at least", "at most"]
"""``about`` bounds nothing: what is estimated so can be the number itself."""

_BOUND_FILE: dict[str, dict[Bound, str]] = yaml.safe_load(
    Path(__file__).with_name("bounds.yaml").read_text("utf-8")
)
_BOUNDS: list[Bound] = [bound for words in _BOUND_FILE.values() for bound in words]
_BOUND_WORDS = [words for section in _BOUND_FILE.values() for words in section.values()]


def _pattern(form: str, first: int, last: int) -> re.Pattern[str]:
    """One pattern of several bounds; the group that matches is named by the bound's number."""
    words = "|".join(f"(?P<b{place}>{_BOUND_WORDS[place]})" for place in range(first, last))
    return re.compile(form.replace("WORDS", f"(?:{words})"), re.IGNORECASE)


_ALONE, _LAST = len(_BOUND_FILE["before"]), len(_BOUND_WORDS) - len(_BOUND_FILE["behind"])
_BOUND_BEFORE = _pattern(r"(?<!\w)WORDS\s*(?:an? )?$", 0, _ALONE)
_OPENING = _pattern(r"WORDS(?:(?<=\W) ?| )(?=\S)", 0, _LAST)
_BOUND_BEHIND = _pattern(r" ?WORDS(?!\w)", _LAST, len(_BOUND_WORDS))
_ENDING = _pattern(r"(?<=.) ?WORDS$", _LAST, len(_BOUND_WORDS))
_BOUND_REACH = 24  # characters before a number in which its bound stands


def split_bound(text: str) -> tuple[Bound, str]:
    """The bound that a whole cell states, and the cell without the words for it."""
    found: Bound = ""
    while found in ("", "about") and (match := _OPENING.match(text)):  # "approx. over 5"
        found, text = _bound(match), text[match.end() :]
    if found in ("", "about") and (match := _ENDING.search(text)):
        return _bound(match), text[: match.start()]
    return found, text


def bound_at(text: str, start: int, end: int = -1) -> Bound:
    """The bound of a number that stands in a text in small letters.

    Args:
        text: the text.
        start: where the number begins, its currency included.
        end: where it ends, its unit included; -1 leaves what stands behind unread.
    """
    before = text[max(0, start - _BOUND_REACH) : start]
    match = _BOUND_BEFORE.search(before)
    found: Bound = _bound(match) if match else ""
    if end < 0 or found not in ("", "about"):
        return found
    match = _BOUND_BEHIND.match(text, end)
    return _bound(match) if match else found


def _bound(match: re.Match[str]) -> Bound:
    return _BOUNDS[int((match.lastgroup or "b0")[1:])]


# ---- numbers

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


class Quantity(NamedTuple):
    """A number in a running text: where its digits or words and its unit stand."""

    number: Number
    start: int
    end: int


def find_quantities(text: str) -> list[Quantity]:
    """:func:`quantities` with their places, of a text in plain spelling.

    That is one that :func:`~tablemend.values.text.clean` or
    :func:`~tablemend.values.text.align` has made.
    """
    return _find_digits(text) if _DIGIT.search(text) else find_spelled(text)


def _find_digits(text: str) -> list[Quantity]:
    found: list[Quantity] = []
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
        found.append(Quantity(number, start, end))
        position = max(end, position)
    return found


def find_spelled(text: str) -> list[Quantity]:
    """The number words of a text in plain spelling, below a million, with their places."""
    found: list[Quantity] = []
    position = 0
    while match := _SPELLED_INSIDE.search(text, position):
        unit, position = read_unit(text, match.end())
        value = EXACT.multiply(_read_words(match[1]), unit.scale)
        found.append(Quantity(Number(value, unit), match.start(), position))
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


# ---- signs by words

T = TypeVar("T", float, Decimal)
_SIDES = {"plus": 1, "minus": -1, "either": 0}
_OPPOSITES: dict[str, dict[int, re.Pattern[str]]] = {
    kind: {
        _SIDES[side]: re.compile(rf"(?<![\w-])(?:{words.replace(' |', '|')})(?![\w-])")
        for side, words in sides.items()
    }
    for kind, sides in yaml.safe_load(
        Path(__file__).with_name("signs.yaml").read_text("utf-8")
    ).items()
}
_TAX = re.compile(r"\bincome tax(?:es)?\b")
_BREAK = re.compile(
    r"[;,.]\s|\b(?:and|but|while|versus|than)\b|(?<![\d.,])(?!(?:19|20)\d\d(?!\d))\d"
)
_TWO_WORDS = re.compile(r"(?: [a-z]+){0,2}")
_SIGN_REACH = 60  # characters before an amount in which its word stands


@lru_cache(maxsize=1 << 12)
def label_signs(label: str) -> Mapping[str, int]:
    """What a positive amount under a label is, for each kind of opposites that it has a word of.

    1 under "Net income", -1 under "Net loss", 0 where the amount's own sign tells: under "Net
    income (loss)" or "Trade balance".
    """
    text = _TAX.sub("", label.casefold())
    found = {}
    for kind, sides in _OPPOSITES.items():
        said = {side for side, words in sides.items() if words.search(text)}
        if said:
            found[kind] = said.pop() if len(said) == 1 else 0
    return found


def stated_signs(text: str, start: int, end: int) -> tuple[tuple[str, int], ...]:
    """The sign that the words around an amount give it, for each kind of opposites.

    The nearest word before it counts, in its clause and behind the number before; else one of the
    two words right behind it.

    Args:
        text: a text in small letters.
        start: where the amount begins.
        end: where it ends.
    """
    before = text[max(0, start - _SIGN_REACH) : start]
    breaks = [match.end() for match in _BREAK.finditer(before)]
    before = before[breaks[-1] if breaks else 0 :]
    behind = _TWO_WORDS.match(text, end)
    found = []
    for kind, sides in _OPPOSITES.items():
        for part, nearest in ((before, max), (behind[0] if behind else "", min)):
            said = [
                (match.start(), side)
                for side, words in sides.items()
                if side
                for match in words.finditer(part)
            ]
            if said:
                found.append((kind, nearest(said)[1]))
                break
    return tuple(found)


def on_one_side(
    value: T, stated: T, label: Mapping[str, int], said: Iterable[tuple[str, int]]
) -> tuple[T, T] | None:
    """A cell's value and a stated one with the signs that their words give them.

    ``None`` where the words are of no common kind: then the numbers say all.
    """
    for kind, sign in said:
        if kind in label:
            own = -abs(value) if label[kind] < 0 else value
            return own, (sign * stated if stated > 0 else stated)
    return None


# ---- when two amounts are the same

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
