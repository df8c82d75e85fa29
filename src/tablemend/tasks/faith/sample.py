"""The sample of FAITH, a sentence of a report with one number masked and the report's tables, and
when two spellings of a value say the same (FAITH, 3.1, 3.3 and Algorithm 1).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tablemend.config.section import Serialisation
from tablemend.errors import TablemendError
from tablemend.foreign import FromJson
from tablemend.runs import hash_text
from tablemend.tables.read import write_table
from tablemend.tables.serialisations import serialise
from tablemend.tables.table import Table
from tablemend.values.dates import find_dates
from tablemend.values.numbers import THOUSANDS, Quantity, find_quantities
from tablemend.values.text import clean
from tablemend.values.units import MEASURES, same_currency

MASK = "[MASK]"
SCENARIOS: dict[str, str] = {
    "A": "A direct look-up",
    "B": "B one metric compared",
    "C": "C two metrics",
    "D": "D several metrics",
    "": "scenario unknown",
}
"""FAITH, 3.4."""
DERIVATIONS = "derivations-2"
"""Version of :mod:`tablemend.tasks.faith.derivations`, which who only asks does not load."""


@dataclass(frozen=True, slots=True)
class MaskedSpan(FromJson):
    """One masked number (FAITH, 3.1).

    Attributes:
        company: whose report it is; splits are made by it.
        report: name of the filing.
        tables: all of the report; their titles are their pre-texts.
        before, after: the sentences around.
        sentence: with :data:`MASK` in place of the number.
        answer: the masked words.
        scenario: how it is to be worked out; empty where nobody has said.
        derivation: cells and formula, in lines; empty where they are not known.
        source: what labelled it: ``program``, models, or people.
        exact: the figure before it was rounded, where it is known.
    """

    company: str
    report: str
    tables: tuple[Table, ...]
    before: str
    sentence: str
    after: str
    answer: str
    scenario: str = ""
    derivation: str = ""
    source: str = ""
    exact: str = ""

    def __post_init__(self) -> None:
        if self.scenario not in SCENARIOS or not read_values(self.answer):
            raise TablemendError(
                f"scenario {self.scenario!r} is none of A to D, or {self.answer!r} no number"
            )

    @property
    def id(self) -> str:
        """Hash of what is shown and of the answer; labels may change."""
        shown = (self.before, self.sentence, self.after, self.answer)
        return hash_text(json.dumps([self.company, *shown, *(t.to_json() for t in self.tables)]))

    @property
    def source_hash(self) -> str:
        """Hash of the company."""
        return hash_text(self.company)

    @property
    def domain(self) -> str:
        """The scenario, which reports break rates down by."""
        return SCENARIOS[self.scenario]

    @property
    def around(self) -> str:
        """The sentences before and after."""
        return f"{self.before} {self.after}"

    @property
    def text(self) -> str:
        """The sentence between its neighbours."""
        return " ".join(filter(None, (self.before, self.sentence, self.after)))

    @property
    def hint(self) -> str:
        """What kind of value is masked, so that only one is right (FAITH, 3.3)."""
        units = frozenset().union(*(one.units for one in read_values(self.answer)))
        if any(unit.startswith("per ") for unit in units):
            return "an amount per share or unit"
        if "%" in units:
            return "a percentage"
        return "an amount of money" if are_money(units) else "a count or quantity"

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"tables": [table.to_json() for table in self.tables]}


def are_money(units: frozenset[str]) -> bool:
    """Whether a currency is among them: three letters, energy aside."""
    return any(len(one) == 3 and one.isalpha() and one not in ("boe", "btu") for one in units)


def write_tables(tables: Sequence[Table], serialisation: Serialisation | None = None) -> str:
    """The tables with their pre-texts, numbered; in Markdown, aligned, where nothing is given."""
    parts = []
    for number, table in enumerate(tables, 1):
        title = f" {table.title}" if table.title else ""
        own = Table(table.columns, table.rows)
        body = serialise(own, serialisation) if serialisation else write_table(own, "markdown")
        parts.append(f"Table {number}:{title}\n\n{body}")
    return "\n\n".join(parts)


TOLERANCE = Decimal("0.02")
"""What the code that was published with the paper lets pass; its text does not."""
_HUNDRED = (Decimal(100), Decimal("0.01"))
"""By how much a value is off where its scale is wrong; 100 for a percentage as a fraction."""
_HALF = Decimal("0.5")
_LONGEST = 300
"""Characters of a text that is a value."""
_ZERO = frozenset(("-", "nil", "none", "zero", "$-", "$ -"))
_PREFIXED = frozenset(("ratio", "power", "energy", "frequency", "data", "times"))
"""Measures whose units differ in a scale alone: GW and MW."""
_SIGNED = re.compile(
    r"(?<![\w)])\(([^()]*\d[^()]*)\)(?= ?%?)|(?<![\w)])-(?=[ $\u20ac\u00a3\u00a5]*\d)"
)
_MARKS = re.compile(r"[()\"'*]")
_ASIDE = re.compile(r"(?<=\w|%) \([^()]*\)")
_JOINED = re.compile(r"\s*(?:-|to|and|through)\s*[$\u20ac\u00a3\u00a5]?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_SPELLINGS = [
    (re.compile(pattern, re.I), written)
    for pattern, written in (
        (r"\{,\}", ","),
        (r"^\$(?=[\d.,]+ ?\\?%\$$)|(?<=%)\$$", ""),
        (r"\\(?:boxed|text|mathrm)\b|[{}]|\\(?=[$%])", ""),
        (r"\b(?:minus|negative) (?=[$\u20ac\u00a3\d])", "-"),
        (r"(?<=[$\u20ac\u00a3\u00a5]) ?\( ?(?=\d)", "("),
        (r"\bu\.s\. ", "US "),
        (r"\b(usd|eur|gbp|cad|jpy)(?=\d)", r"\1 "),
        (r"\bcanadian dollars?\b", "CAD"),
        (r"\bswiss francs?\b", "CHF"),
        (r"\bmil\b", "million"),
        (r"([$\u20ac\u00a3][\d.,]+) ?t\b", r"\1 trillion"),
        (r"\bhalf a (?=million|billion)", "0.5 "),
        (r"\bsq\. ?ft\.?", "sq ft"),
        (r"(?<=\d)x\b", " x"),
    )
]
_CENTS = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d+)?) cents?\b")


class Reading(NamedTuple):
    """One number with its unit, as Algorithm 1 normalises it.

    Attributes:
        value: in base units: "1.23 billion" is 1.23e9, "5 km" 5,000; basis points are percent. Its
            sign as written, brackets included.
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
    units = [frozenset().union(*(one.units for one in own)) for own in (wanted, found)]
    unit = bool(found) and all(  # the yen sign is either of its currencies
        any(same_currency(name, own) for own in units[1]) for name in units[0]
    )
    if len(found) > len(wanted):  # "$5.2 million in 2023"
        found = tuple(one for one in found if one.units or not _YEAR.fullmatch(str(abs(one.value))))
    if len(found) != len(wanted):
        return Match(value=False, unit=unit)
    pairs = list(zip(wanted, found, strict=True))
    value = all(_equal(one, other) for one, other in pairs)
    powers = THOUSANDS + _HUNDRED * ("%" in units[0] | units[1])
    scale = all(one.value and other.value for one, other in pairs) and any(
        all(
            _equal(one, other._replace(value=other.value * power, step=other.step * power))
            for one, other in pairs
        )
        for power in powers
    )
    tolerant = value or all(_within(one, other) for one, other in pairs)
    return Match(value, unit, scale and not value, tolerant)


@lru_cache(maxsize=1 << 12)
def read_values(text: str) -> tuple[Reading, ...]:
    """Every number of a short text; "nil", "none" and a dash are zero; none of a long one."""
    if len(text) > _LONGEST:
        return ()
    plain = clean(text)
    if plain.casefold() in _ZERO:
        units = frozenset({"usd"} if "$" in plain else ())
        return (Reading(Decimal(0), Decimal(1), units),)
    for pattern, written in _SPELLINGS:
        plain = pattern.sub(written, plain)
    plain = _CENTS.sub(lambda match: f"${Decimal(match[1]) / 100}", plain)
    for date in reversed(find_dates(plain.casefold())):
        if len(date.readings[0]) > 4 and "-" in date.readings[0]:
            plain = plain[: date.start] + " " + plain[date.end :]
    negative = {place for match in _SIGNED.finditer(plain) for place in range(*match.span())}
    asides = {place for match in _ASIDE.finditer(plain) for place in range(*match.span())}
    negative -= asides
    plain = _MARKS.sub(" ", plain)  # "(36.5)%", '93 basis points ("bps")'
    found = find_quantities(plain)
    ends = [*(one.start for one in found[1:]), len(plain)]
    readings: list[Reading] = []
    for place, (one, end) in enumerate(zip(found, ends, strict=False)):  # of none there is no end
        is_negative = any(at in negative for at in range(one.start, one.end))
        own = _read(one, plain[one.start : end], is_negative)
        if place and one.start in asides:
            is_again = own.value in (readings[-1].value, abs(readings[-1].value))
            if is_again or not (own.units or own.value >= 20 or own.value % 1):
                continue  # "93 basis points (0.93 %)", "$5.2 million (1)": a note's
        if place and _JOINED.fullmatch(plain[found[place - 1].end : one.start]):
            readings[-1] = _as_second(readings[-1], found[place - 1], own, one)
        readings.append(own)
    return tuple(readings)


def _as_second(first: Reading, written: Quantity, second: Reading, behind: Quantity) -> Reading:
    """The first end of a range with the scale and the unit of the other: "$10 to 12 million"."""
    scale = behind.number.unit.scale if written.number.unit.scale == 1 else Decimal(1)
    if written.number.value > behind.number.value / behind.number.unit.scale:
        scale = Decimal(1)
    if "%" in second.units and "%" not in first.units and second.value:
        scale *= second.value / behind.number.value
    return Reading(first.value * scale, first.step * scale, first.units | second.units)


def _read(stated: Quantity, words: str, negative: bool) -> Reading:
    number = stated.number
    symbol, factor = number.unit.symbol, Decimal(1)
    currency = "usd" if number.unit.currency == "$" else number.unit.currency
    units = {currency} if currency else set[str]()
    if symbol:
        measure, factor, _ = MEASURES[symbol]
        if measure not in _PREFIXED:
            measure, factor = symbol, Decimal(1)
        units.add("%" if measure == "ratio" else measure)
        if symbol == "lb" and "pound" in words.casefold():  # of money, perhaps
            units.add("gbp")
    groups, times = _groups(words)
    scale = factor * times
    value = abs(number.value) * scale
    exponent = value.normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    step = Decimal(10) ** exponent
    if not value:  # "$0 trillion" is exact to a dollar, or any number would round to it
        step = Decimal(1).scaleb(-number.decimals)
    elif number.decimals:
        step = min(step, number.unit.scale * scale)
    signed = -value if negative or number.value < 0 else value
    return Reading(signed, step, frozenset(units | groups))


def _groups(words: str) -> tuple[set[str], Decimal]:
    """The unit groups whose spellings are there, the longest first, each word read once; and by
    what they multiply.
    """
    found, factor, folded = set[str](), Decimal(1), words.casefold()
    for spelling, name, times in _spellings():
        begins = r"(?<![a-z])" if spelling[0].isalpha() else ""
        folded, count = re.subn(rf"{begins}{re.escape(spelling)}(?![a-z])", " ", folded)
        if count:
            found.add(name)
            factor *= times
    return found, factor


@cache
def _spellings() -> list[tuple[str, str, Decimal]]:
    groups = yaml.safe_load(Path(__file__).with_name("units.yaml").read_text("utf-8"))
    found = []
    for name, own in groups.items():
        for one in own.split(","):
            spelling, _, factor = one.partition("*")
            found.append((spelling.strip(), name, Decimal(factor.strip() or 1)))
    return sorted(found, key=lambda one: (-len(one[0]), one))


def unit_scale(text: str) -> Decimal:
    """The scale that a unit itself says: of "5 MBOE" a thousand."""
    return _groups(text)[1]


def unit_words() -> frozenset[str]:
    """All spellings of the groups: what belongs to a number that stands before them."""
    return frozenset(spelling for spelling, _, _ in _spellings())


def _equal(truth: Reading, answer: Reading) -> bool:
    """Whether both round to one, at the coarser of their precisions (half away from zero)."""
    if answer.value < 0 < truth.value:
        return False
    step = max(truth.step, answer.step)
    left, right = (
        (abs(one.value) / step).to_integral_value(ROUND_HALF_UP) for one in (truth, answer)
    )
    return left == right


def _within(truth: Reading, answer: Reading) -> bool:
    """The rule of the published code: half a step, or 2 % of the truth."""
    if answer.value < 0 < truth.value:
        return False
    off = abs(abs(truth.value) - abs(answer.value))
    return off <= _HALF * max(truth.step, answer.step) or off <= TOLERANCE * abs(truth.value)
