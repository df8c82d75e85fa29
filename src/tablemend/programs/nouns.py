"""What a sentence calls the columns and rows of a table, and its numbers in words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import yaml

from tablemend.programs.program import Amount, Hedge
from tablemend.values.cells import read_value
from tablemend.values.numbers import UP_TO_TWENTY
from tablemend.values.units import ONE, PLAIN, Unit

if TYPE_CHECKING:
    from tablemend.programs.execute import Result
    from tablemend.programs.table import Cell

MAX_NAME = 60

WORDS = {
    name: frozenset(words.split())
    for name, words in yaml.safe_load(
        Path(__file__).with_suffix(".yaml").read_text("utf-8")
    ).items()
}
"""Words of headers by what they mean."""
EVENTS = WORDS["events"]
_JOINING = WORDS["joining"]
_NO_START = _JOINING - {"the"}
_COMMON = WORDS["common"] | _JOINING
_PARTICIPLES = WORDS["participles"]
_ENDS = _JOINING | WORDS["ends"]
_NO_END = ("with", "against")
_MEDALS = ("gold", "silver", "bronze")
_ODD = re.compile(r'[@"{}|<>\\\n;:!?=~^*†‡]|\.\.|\s-\s|,.*,|https?')
_UNSAID = re.compile(rf"%|\. |{_ODD.pattern}")
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_ACRONYM = re.compile(r"[A-Z][a-z]?[A-Z]+")
_WORD = re.compile(r"[^\W\d_]{2}")
_LETTER = re.compile(r"[^\W\d_]")
_SPOKEN_VOWEL = frozenset("AEFHILMNORSX")
_SPOKEN_CONSONANT = ("uni", "use", "eu", "one")


def label_of(header: str) -> str:
    """The header as it reads inside a sentence: small if all its words are common ones."""
    common = all(word.lower() in _COMMON for word in header.split())
    return header.lower() if common else header


def with_article(label: str) -> str:
    """The label with *a* or *an*, as its first word is spoken."""
    first = label.split()[0]
    if first.lower().startswith(_SPOKEN_CONSONANT):
        return f"a {label}"
    spelled_out = first.isupper() and len(first) > 1
    vowel = first[0] in _SPOKEN_VOWEL if spelled_out else first[0].lower() in "aeiou"
    return f"{'an' if vowel else 'a'} {label}"


def is_plural(label: str) -> bool:
    """Whether the last word of a label is a plural."""
    last = label.split()[-1].casefold()
    return (
        len(last) > 3
        and last.isalpha()
        and last.endswith("s")
        and not last.endswith(("ss", "us", "is"))
        and last not in WORDS["singular"]
    )


def plural_of(noun: str) -> str:
    """``countries`` of ``country``."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def measure_label(path: Sequence[str]) -> str:
    """What a sentence calls a column: its header without the unit; empty where it has no words."""
    parts = [part for level in path if (part := _BRACKETS.sub("", level).strip())]
    if not parts or len(parts) > 2:
        return ""
    header = parts[0] if len(parts) == 1 else f"{parts[1]} ({parts[0]})"
    header = header.rstrip(" %,$")
    if len(header) > 50 or not _WORD.match(header) or _UNSAID.search(header):
        return ""
    label = spoken(header)
    words = label.casefold().split()
    if len(words) == 2 and words[0] in ("year", "date") and words[1] in EVENTS:
        return words[1]  # "was enacted in 1961"
    if not words or _JOINING.intersection((words[0], words[-1])) or words[-1] in _NO_END:
        return ""
    return f"{label} medals" if label in _MEDALS else label


def spoken(header: str) -> str:
    """The header in small letters, but for acronyms, if its other words are common ones."""
    words = header.split()
    if all(_ACRONYM.fullmatch(word) or _is_common(word) for word in words):
        return " ".join(
            word
            if (len(words) > 1 and _ACRONYM.fullmatch(word)) or not _is_common(word)
            else word.lower()
            for word in words
        )
    return label_of(header)


def _is_common(word: str) -> bool:
    folded = word.lower()
    return folded in WORDS["also_common"] or label_of(word) == folded


def is_plural_label(label: str) -> bool:
    """Whether what a column is called is a plural: "deals won", "votes in favour", "points"."""
    words = label.split()
    inner = (i for i, word in enumerate(words) if i and (word in _ENDS or word.startswith("(")))
    head = words[: next(inner, len(words))]
    while len(head) > 1 and head[-1].casefold() in _PARTICIPLES:
        head = head[:-1]
    return head[-1] == "species" or (head[-1] != "COGS" and is_plural(head[-1]))


def is_name(text: str) -> bool:
    """Whether a cell can stand as a name within a sentence."""
    value = read_value(text)
    return (
        1 < len(text) <= MAX_NAME
        and value.number is None
        and not value.dates
        and _LETTER.search(text) is not None
        and not _ODD.search(text)
        and text.split()[0].casefold() not in _NO_START
    )


def is_said(text: str) -> bool:
    """Whether a cell of text can stand as a value within a sentence."""
    return len(text) <= 40 and is_name(text)


def is_counted_label(label: str) -> bool:
    """Whether a whole number of it can be said: "5 deals won", but no "5 earnings"."""
    words = label.split()
    return len(words) < 4 and not WORDS["amounts"].intersection(words) and is_plural_label(label)


def is_event(label: str) -> bool:
    """Whether a date under it says when something happened: "built", "first elected"."""
    return label.split()[-1].casefold() in EVENTS | _PARTICIPLES


def takes_article(label: str) -> bool:
    """Whether "a" can stand before a label: not before plurals, "money" or "first elected"."""
    last = label.split()[-1].casefold()
    unsure = is_plural_label(label) or is_mixed_label(label)
    return not unsure and last not in WORDS["uncountable"] | _PARTICIPLES | EVENTS


def is_mixed_label(label: str) -> bool:
    """Whether it is open if a label is a plural: "goals against"; not so "sales cycle"."""
    words = label.split()
    singular = is_plural_label(label) or not any(map(is_plural, words))
    return not singular and not (_is_common(words[-1]) and words[-1] not in _JOINING)


def noun_of(header: str) -> str:
    """``team`` for the header "Team"; empty where the header is not one or two common words."""
    label = spoken(header.strip())
    words = label.split()
    usual = (
        0 < len(words) < 3
        and all(word.isalpha() and word.islower() for word in words)
        and not is_plural(label)
    )
    return label if usual and not (WORDS["no_nouns"] | _JOINING).intersection(words) else ""


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
