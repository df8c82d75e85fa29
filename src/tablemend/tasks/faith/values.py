"""When two spellings of a value say the same (FAITH, 3.3 and Algorithm 1)."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import yaml

from tablemend.values.blanks import is_blank
from tablemend.values.numbers import Stated, find_quantities
from tablemend.values.text import clean
from tablemend.values.units import MEASURES

TOLERANCE = Decimal("0.02")
"""What the code that was published with the paper lets pass; its text does not."""
_POWERS = tuple(Decimal(10) ** power for power in (3, 6, 9, 2, -3, -6, -9, -2))
"""By how much a value is off where its scale is wrong; 100 for a percentage as a fraction."""
_HALF = Decimal("0.5")
_SIGNED = re.compile(r"(?<![\w)])\(([^()]*\d[^()]*)\)(?= ?%?)|(?<![\w)])-(?=[ $€£¥]*\d)")
_MARKS = re.compile(r"[()\"']")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DIVIDED = re.compile(r"[ /-]")


class Reading(NamedTuple):
    """One number with its unit, as Algorithm 1 normalises it.

    Attributes:
        value: in base units: "1.23 billion" is 1.23e9; basis points are percent. Its sign as
            written, brackets included.
        step: what its last digit counts: the last that is not zero, behind a decimal point the
            units at the coarsest.
        units: names of the unit groups that are stated, scales left out.
    """

    value: Decimal
    step: Decimal
    units: frozenset[str]


class Match(NamedTuple):
    """How an answer stands to the truth.

    Attributes:
        value: the numbers are one, at the coarser of the two precisions.
        unit: every unit of the truth is in the answer.
        scale: the numbers would be one with another scale ("$150" for "$150 million").
        tolerant: the numbers are one, or differ by 2 % of the truth at most.
    """

    value: bool
    unit: bool
    scale: bool = False
    tolerant: bool = False

    @property
    def right(self) -> bool:
        """Value and unit."""
        return self.value and self.unit


WRONG = Match(value=False, unit=False)


def compare(truth: str, answer: str) -> Match:
    """Algorithm 1 on two spellings.

    A truth that is negative is met by its magnitude, as the prompt asks for a positive value; an
    answer that is negative meets no positive truth. Several numbers (a range) are compared in
    their order.

    Raises:
        ValueError: the truth holds no number.
    """
    wanted, found = read_values(truth), read_values(answer)
    if not wanted:
        raise ValueError(f"no number in {truth!r}")
    if len(found) > len(wanted):  # "$5.2 million in 2023"
        found = tuple(one for one in found if one.units or not _is_year(one))
    if len(found) != len(wanted):
        return WRONG
    pairs = list(zip(wanted, found, strict=True))
    units = [one.units for one in wanted], [one.units for one in found]
    value = all(_equal(one, other) for one, other in pairs)
    return Match(
        value,
        frozenset().union(*units[0]) <= frozenset().union(*units[1]),
        not value
        and any(
            all(_equal(one, _scaled(other, power)) for one, other in pairs) for power in _POWERS
        ),
        value or all(_within(one, other) for one, other in pairs),
    )


@lru_cache(maxsize=1 << 12)
def read_values(text: str) -> tuple[Reading, ...]:
    """Every number of a short text; "nil", "none" and a dash are zero."""
    plain = clean(text)
    if plain and is_blank(plain):
        return (Reading(Decimal(0), Decimal(1), frozenset()),)
    negative = {place for match in _SIGNED.finditer(plain) for place in range(*match.span())}
    if len(plain) == len(text) or not negative:
        plain = _MARKS.sub(" ", plain)  # "(36.5)%", '93 basis points ("bps")'
    found = find_quantities(plain)
    ends = [*(one.start for one in found[1:]), len(plain)]
    return tuple(
        _read(one, plain[one.start : end], one.start in negative or one.end - 1 in negative)
        for one, end in zip(found, ends, strict=True)
    )


def _read(stated: Stated, words: str, negative: bool) -> Reading:
    number = stated.number
    symbol, scale = number.unit.symbol, Decimal(1)
    if symbol and MEASURES[symbol][0] == "ratio":
        symbol, scale = "%", Decimal(MEASURES[symbol][1])
    value = abs(number.value) * scale
    digits = value.normalize()
    exponent = digits.as_tuple().exponent
    assert isinstance(exponent, int)
    step = Decimal(10) ** exponent if value else number.unit.scale
    if number.decimals:
        step = min(step, number.unit.scale * scale)
    currency = "usd" if number.unit.currency == "$" else number.unit.currency
    units = {unit for unit in (currency, symbol) if unit} | _groups(words)
    return Reading(-value if negative or number.value < 0 else value, step, frozenset(units))


def _groups(words: str) -> set[str]:
    """The unit groups whose spellings are there, the longest first, each word read once."""
    found, folded = set(), words.casefold()
    for spelling, name in _spellings():
        form = rf"(?<![a-z]){re.escape(spelling)}(?![a-z])"
        folded, times = re.subn(form, " ", folded)
        if times:
            found.add(name)
    return found


@cache
def _spellings() -> list[tuple[str, str]]:
    groups = yaml.safe_load(Path(__file__).with_name("units.yaml").read_text("utf-8"))
    pairs = [(one.strip(), name) for name, own in groups.items() for one in own.split(",")]
    return sorted(pairs, key=lambda pair: (-len(pair[0]), pair))


def unit_words() -> frozenset[str]:
    """All spellings of the groups: what belongs to a number that stands before them."""
    return frozenset(spelling for spelling, _ in _spellings())


def _equal(truth: Reading, answer: Reading) -> bool:
    """Whether both round to one, at the coarser of their precisions (half away from zero)."""
    if answer.value < 0 <= truth.value and truth.value:
        return False
    step = max(truth.step, answer.step)
    left, right = (
        (abs(one.value) / step).quantize(Decimal(1), ROUND_HALF_UP) for one in (truth, answer)
    )
    return left == right


def _within(truth: Reading, answer: Reading) -> bool:
    """The rule of the published code: half a step, or 2 % of the truth."""
    if answer.value < 0 <= truth.value and truth.value:
        return False
    off = abs(abs(truth.value) - abs(answer.value))
    return off <= _HALF * max(truth.step, answer.step) or off <= TOLERANCE * abs(truth.value)


def _scaled(one: Reading, power: Decimal) -> Reading:
    return one._replace(value=one.value * power, step=one.step * power)


def _is_year(one: Reading) -> bool:
    return bool(_YEAR.fullmatch(str(one.value)))
