"""A text, read once: its words, amounts, dates and sentences with their places."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Literal

from tablemend.values.bounds import Bound, bound_at
from tablemend.values.dates import MONTHS, WEEKDAYS
from tablemend.values.numbers import Number, Stated, spelled_end
from tablemend.values.periods import PartOfYear, find_parts
from tablemend.values.places import Places
from tablemend.values.sentences import Span, pieces, sentence_spans
from tablemend.values.signs import stated_signs
from tablemend.values.text import align, placed_tokens
from tablemend.values.units import Unit

AmountRole = Literal["value", "year", "ordinal"]
MomentKind = Literal["date", "month", "year", "quarter", "month name", "weekday", "span", "clock"]
PairKind = Literal["", "score", "of", "range", "versus"]

_ORDINAL_WORDS = {
    word: value
    for value, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(),
        1,
    )
}
_ORDINAL = re.compile(rf"(?<![\w-])(?:{'|'.join(_ORDINAL_WORDS)})(?![\w])")
_ORDINAL_DIGITS = re.compile(r"\d(?:st|nd|rd|th)$")
_BEFORE = 24  # characters before an amount that tell a year
_GROUPS = {"pair": 2, "couple": 2, "duo": 2, "trio": 3, "dozen": 12, "hat trick": 3, "twice": 2}
_GROUP = re.compile(
    r"(?<![\w-])(?:an? )?(pair|couple|duo|trio|dozen|hat[- ]trick)(?![\w-])(?: of\b)?"
    r"|(?<![\w-])(twice)(?! (?:as|the|that|what|more|its|their|his|her|a|an)\b)(?![\w-])"
)
_ZERO = re.compile(
    r"(?<![\w-])(?:no|zero)(?= [a-z])(?! (?:other|more|less|fewer|longer|one|matter|doubt)\b)"
)
_YEAR_BEFORE = re.compile(
    r"(?:\b(?:in|since|until|till|from|to|of|by|during|before|after|between|and|year|season|fiscal"
    rf"|fy|early|late|mid|ended|ending|for|through|the|{'|'.join(MONTHS)})|[(\-/,'])\s*$"
)
_AMOUNTING = re.compile(
    r"\b(?:(?:amount|c[ao]me|equal|total)(?:s|ed|led)? to|st(?:oo|an)ds? at|reach(?:ed|es|ing)?"
    r"|totall?ed|measured)\s*$"
)
_QUARTER = re.compile(
    r"\b(?:q(?P<q>[1-4])|(?P<word>first|second|third|fourth|1st|2nd|3rd|4th)[ -]quarter"
    r"|quarter (?P<number>[1-4]))"
    r"(?:(?:,? of| in|,)?(?: fiscal| fy)?(?: year)? ?'?(?P<year>\d{4})\b)?"
    r"|\b(?P<before>\d{4})[ -]?q(?P<after>[1-4])\b"
)
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
# "between January and March 2024"
_SHARED_YEAR = re.compile(rf" (?:and|to|through|until) (?:{'|'.join(MONTHS)}) (\d{{4}})\b")
_WEEKDAY = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)})\b")
_CLOCK = re.compile(
    r"\b(\d{1,2}):(\d{2})(?::\d{2})?(?: ?([ap])\.?m\.?)?(?![\d:])|\b(\d{1,2}) ?([ap])\.?m\b"
)
_PAIR_BETWEEN = re.compile(r"\s*-\s*$")
_OF_BETWEEN = re.compile(r"\s*-?\s*(?:of|out of|for)\s*-?\s*$")
_TO_BETWEEN = re.compile(r"\s+(?:to|against|versus|vs\.?)\s+[$€£]?$")
_COMPARED = re.compile(r",\s*(?:(?:at|with|by) )?$")
_AND_BETWEEN = re.compile(r"\s*and\s*$")
_BETWEEN = re.compile(r"\b(?:between|from)\s*$")
_SECOND_DAY = re.compile(
    r"(?:\s*(?:,|and|to|through|-)\s*)(\d{1,2})(?:st|nd|rd|th)?(?!\d|[.,:]\d|\s*%)"
)
_PRIME = re.compile(r"'(?![\w'])")  # "scored (35')"
_MINUTE = Unit(symbol="min")
_RATE = re.compile(r" (?:per|an?) (second|hour)\b")
_RATES = {("m", "second"): "m/s", ("km", "hour"): "km/h", ("mi", "hour"): "mph"}
_THIS = re.compile(r"\b(?:this|that|the|no|any|each|another|every|other|which|only)\s+$")
_ALONE = re.compile(r"\s*(?:$|[.,;!?]|of\b)")
_OCCASIONS = re.compile(
    r" (?:games?|match(?:es)?|starts|days?|weeks|months|quarters|years|seasons|races|rounds)\b"
)
_GLUED = re.compile(r"(?<!\bof)(?<!\bfor)(?<!\bto)(?<=[a-z])-$")  # "COVID-19"


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the text in small letters, without accents or a possessive, and its place."""

    word: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Amount:
    """A number that the text states.

    Attributes:
        start, end: its place, currency and unit included.
        digits_end: where its digits or its number word end.
        number: value with its scale applied, unit, and the decimals as written.
        spelled: whether it is written in words.
        hedge: how it is bounded or blurred by the words before it.
        signs: what the words around it say of its sign, from
            :func:`~tablemend.values.signs.stated_signs`.
        role: ``year``: a bare four-digit number that can be one; ``ordinal``: "third", "3rd".
        pair: what it forms with its neighbour: "122-114" is a ``score`` (a record or a range of
            years too), "11 of 20" an ``of``, "between 3 and 5" a ``range``, ", 8 to 6" behind a
            comparison a ``versus``.
    """

    start: int
    end: int
    digits_end: int
    number: Number
    spelled: bool = False
    hedge: Bound = ""
    signs: tuple[tuple[str, int], ...] = ()
    role: AmountRole = "value"
    pair: PairKind = ""

    @property
    def value(self) -> Decimal:
        """The number, its scale applied."""
        return self.number.value

    @property
    def decline(self) -> bool:
        """Whether its words say that it is negative: "a loss of", "fell by"."""
        return any(sign < 0 for _, sign in self.signs)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date, a period or a time of day that the text states.

    Attributes:
        start, end: its place.
        kind: ``date`` of a day, ``month`` with its year, ``year``, ``quarter``, half or first
            months of a year (with it or without), ``month name`` alone, ``weekday`` alone, ``span``
            of years ("2019/2020"), ``clock``.
        readings: ISO, as :func:`~tablemend.values.dates.parse_date` gives them; ``2020-q3`` or
            ``q3``; ``--03``; ``monday``; ``17:30``.
    """

    start: int
    end: int
    kind: MomentKind
    readings: tuple[str, ...]


class Reading:
    """A text and everything it states, each found once.

    Args:
        text: any text; all places are those of its characters.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.plain = align(text)
        self._places = Places(text)

    @cached_property
    def sentences(self) -> tuple[Span, ...]:
        """The sentences, in order; of one without an end, its :func:`pieces`."""
        return tuple(
            piece for span in sentence_spans(self.text) for piece in pieces(self.text, span)
        )

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """All words and numbers, in order."""
        return tuple(Token(*token) for token in placed_tokens(self.plain))

    @cached_property
    def _token_starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    def tokens_within(self, start: int, end: int) -> tuple[Token, ...]:
        """The tokens that begin between two places."""
        low, high = bisect_left(self._token_starts, start), bisect_left(self._token_starts, end)
        return self.tokens[low:high]

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """Dates, periods and times of day, in order; none inside another."""
        found: list[Moment] = []
        for match in _CLOCK.finditer(self.plain):
            if clock := _clock(match):
                found.append(Moment(match.start(), match.end(), "clock", (clock,)))
        for date in self._places.dates:
            found.append(_dated(date.readings, date.start, date.end))
        for match in _QUARTER.finditer(self.plain):
            found.append(Moment(match.start(), match.end(), "quarter", (_quarter(match),)))
        for part in self._parts:
            kind: MomentKind = "year" if part.reading.isdigit() else "quarter"
            found.append(Moment(part.start, part.end, kind, (part.reading,)))
        found += self._second_days
        taken = sorted((moment.start, moment.end) for moment in found)
        for pattern, names in ((_MONTH, MONTHS), (_WEEKDAY, WEEKDAYS)):
            for match in pattern.finditer(self.plain):
                if _inside(taken, match.start()) or not self.text[match.start()].isupper():
                    continue  # "may" and "march" are verbs too
                if names is WEEKDAYS:
                    found.append(Moment(*match.span(), "weekday", (match[0],)))
                elif shared := _SHARED_YEAR.match(self.plain, match.end()):
                    month = f"{shared[1]}-{MONTHS.index(match[0]) + 1:02d}"
                    found.append(Moment(*match.span(), "month", (month,)))
                else:
                    month = f"--{MONTHS.index(match[0]) + 1:02d}"
                    found.append(Moment(*match.span(), "month name", (month,)))
        taken = sorted((moment.start, moment.end) for moment in found)
        for amount in self.amounts:
            if amount.role == "year" and not _inside(taken, amount.start):
                year = str(amount.value)
                found.append(Moment(amount.start, amount.digits_end, "year", (year,)))
        found.sort(key=lambda moment: (moment.start, -moment.end))
        kept: list[Moment] = []
        for moment in found:
            if not kept or moment.start >= kept[-1].end:
                kept.append(moment)
        return tuple(kept)

    @cached_property
    def _second_days(self) -> list[Moment]:
        """Days that share the month before them: the 20 of "June 19 and 20"."""
        found = []
        for date in self._places.dates:
            match = _SECOND_DAY.match(self.plain, date.end)
            readings = [reading for reading in date.readings if len(reading) in (7, 10)]
            if match and readings and readings[0].startswith("--") and 0 < int(match[1]) <= 28:
                second = f"{readings[0][:4]}-{int(match[1]):02d}"
                found.append(Moment(match.start(1), match.end(1), "date", (second,)))
        return found

    @cached_property
    def _parts(self) -> list[PartOfYear]:
        return find_parts(self.plain)

    @cached_property
    def amounts(self) -> tuple[Amount, ...]:
        """All numbers outside dates and times of day, in order."""
        clocks = [match.span() for match in _CLOCK.finditer(self.plain) if _clock(match)]
        clocks += [match.span() for match in _QUARTER.finditer(self.plain)]
        clocks += [(part.start, part.end) for part in self._parts]
        found = {}
        clocks += [(second.start, second.end) for second in self._second_days]
        clocks.sort()
        for stated in self._places.numbers:
            if self.plain[stated.end : stated.end + 1] == "+" or (
                stated.start and self.plain[stated.start - 1] == "+"
            ):
                continue  # "in the 90+7th minute"
            glued = _GLUED.search(self.plain, max(0, stated.start - 5), stated.start)
            if not _inside(clocks, stated.start) and not glued and not self._is_pronoun(stated):
                found[stated.start] = self._amount(stated)
        for match in _ORDINAL.finditer(self.plain):
            if match.start() not in found and not _inside(clocks, match.start()):
                value = Number(Decimal(_ORDINAL_WORDS[match[0]]))
                found[match.start()] = Amount(
                    *match.span(), match.end(), value, spelled=True, role="ordinal"
                )
        for match in _GROUP.finditer(self.plain):
            group = match.lastindex or 1
            size = Number(Decimal(_GROUPS[match[group].replace("-", " ")]))
            start = match.start(group) if match.start() in found else match.start()
            found[start] = Amount(start, match.end(), match.end(group), size, spelled=True)
        taken = sorted((amount.start, amount.end) for amount in found.values())
        for match in _ZERO.finditer(self.plain):
            if not _inside(taken, match.start()):
                zero = Number(Decimal(0))
                found[match.start()] = Amount(*match.span(), match.end(), zero, spelled=True)
        return self._paired(self._shares([found[start] for start in sorted(found)]))

    def _is_pronoun(self, stated: Stated) -> bool:
        """Whether "one" stands for a thing that was named: "in this one", "one of the"."""
        if self.plain[stated.start : stated.end] != "one":
            return False
        before = self.plain[max(0, stated.start - 12) : stated.start]
        after = self.plain[stated.end : stated.end + 8]
        return bool(_THIS.search(before) or _ALONE.match(after))

    def _amount(self, stated: Stated) -> Amount:
        plain = self.plain
        digits_end = stated.start
        spelled = not any(c.isdigit() for c in plain[stated.start : stated.end])
        while digits_end < stated.end and (spelled or not plain[digits_end].isspace()):
            digits_end += 1
        if spelled:
            digits_end = min(stated.end, spelled_end(plain, stated.start))
        before = plain[max(0, stated.start - _BEFORE) : stated.start]
        hedge = bound_at(plain, stated.start)
        number = stated.number
        if _PRIME.match(plain, stated.end):
            number = replace(number, unit=_MINUTE)
        elif rate := _RATE.match(plain, stated.end):
            symbol = _RATES.get((number.unit.symbol, rate[1]))
            number = replace(number, unit=number.unit._replace(symbol=symbol)) if symbol else number
        role: AmountRole = "value"
        written = plain[stated.start : stated.end]
        if _ORDINAL_DIGITS.search(plain[stated.start : digits_end]):
            role = "ordinal"
        elif (
            re.fullmatch(r"(?:1[5-9]|20)\d\d", written)
            and not hedge
            and (_YEAR_BEFORE.search(before) or not before.strip())
            and not _AMOUNTING.search(before)
        ):
            role = "year"
        return Amount(
            stated.start,
            stated.end,
            digits_end,
            number,
            spelled,
            hedge,
            stated_signs(plain, stated.start, stated.end),
            role,
        )

    def _shares(self, amounts: list[Amount]) -> list[Amount]:
        """Join "three in ten", which is about 30 %."""
        joined: list[Amount] = []
        for amount in amounts:
            one = joined[-1] if joined else amount
            spelled = one.spelled and amount.spelled and 0 < one.value < amount.value <= 10
            between = self.plain[one.end : amount.start]
            if spelled and between == " in " and not _OCCASIONS.match(self.plain, amount.end):
                share = Number(100 * one.value / amount.value, Unit(symbol="%"))
                joined[-1] = replace(
                    amount, start=one.start, number=share, hedge=one.hedge or "about"
                )
            else:
                joined.append(amount)
        return joined

    def _paired(self, amounts: list[Amount]) -> tuple[Amount, ...]:
        """Join "122-114", "11 of 20" and "between 3 and 5"."""
        for left in range(len(amounts) - 1):
            one, other = amounts[left], amounts[left + 1]
            if one.pair or other.start - one.end > 12:
                continue
            between = self.plain[one.digits_end : other.start]
            kind: PairKind = ""
            if _PAIR_BETWEEN.match(between):
                kind = "score"
            elif _OF_BETWEEN.match(between) and not one.number.unit.symbol:
                kind = "of"
            elif _TO_BETWEEN.match(between) and _COMPARED.search(self.plain[: one.start][-40:]):
                kind = "versus"
            elif _AND_BETWEEN.match(between) and _BETWEEN.search(self.plain[: one.start][-9:]):
                kind = "range"
            if kind:
                amounts[left] = replace(one, pair=kind)
                amounts[left + 1] = replace(other, pair=kind)
        return tuple(amounts)


def clock_of(cell: str) -> str:
    """``17:30`` of a cell with a time of day and no more; empty for any other."""
    match = _CLOCK.fullmatch(cell.strip().casefold())
    return _clock(match) if match else ""


def _dated(readings: tuple[str, ...], start: int, end: int) -> Moment:
    first = readings[0]
    if "q" in first:
        return Moment(start, end, "quarter", readings)
    if "/" in first:
        return Moment(start, end, "span", readings)
    return Moment(start, end, "month" if len(first) == 7 and first[0] != "-" else "date", readings)


def _quarter(match: re.Match[str]) -> str:
    name = match["q"] or match["number"] or match["after"] or ""
    name = name or str(_ORDINAL_WORDS.get(match["word"]) or match["word"][0])
    year = match["year"] or match["before"]
    return f"{year}-q{name}" if year else f"q{name}"


def _clock(match: re.Match[str]) -> str:
    """``17:30`` of "5:30 pm"; empty where it is no time of day ("1:23" can be, "45:10" not)."""
    hour, minute = int(match[1] or match[4]), int(match[2] or 0)
    half = match[3] or match[5]
    if half == "p" and hour < 12:
        hour += 12
    elif half == "a" and hour == 12:
        hour = 0
    return f"{hour:02d}:{minute:02d}" if hour < 24 and minute < 60 else ""


def _inside(spans: list[tuple[int, int]], place: int) -> bool:
    """Whether a place lies in one of the sorted spans."""
    index = bisect_right(spans, (place, 1 << 60)) - 1
    return index >= 0 and place < spans[index][1]
