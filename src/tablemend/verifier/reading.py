"""A text, read once: its words, amounts, dates and sentences, and what of it cannot be read."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from tablemend.evidence.source import Source
from tablemend.values.dates import MONTHS, WEEKDAYS, PartOfYear, find_parts
from tablemend.values.numbers import (
    ORDINALS,
    Bound,
    Number,
    Quantity,
    bound_at,
    spelled_end,
    stated_signs,
)
from tablemend.values.places import Places
from tablemend.values.text import PlacedToken, Span, align, pieces, placed_tokens, sentence_spans
from tablemend.values.units import Unit

AmountRole = Literal["value", "year", "ordinal"]
MomentKind = Literal["date", "month", "year", "quarter", "month name", "weekday", "span", "clock"]
PairKind = Literal["", "score", "of", "range", "versus"]

_ORDINAL_WORDS = {word: value for value, word in enumerate(ORDINALS[:12], 1)}
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
_MONTH_OR_DAY = re.compile(rf"\b(?:{'|'.join([*MONTHS, *WEEKDAYS])})\b")
# "between January and March 2024"
_SHARED_YEAR = re.compile(rf" (?:and|to|through|until) (?:{'|'.join(MONTHS)}) (\d{{4}})\b")
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
class Amount:
    """A number that the text states.

    Attributes:
        start, end: its place, currency and unit included.
        digits_end: where its digits or its number word end.
        number: value with its scale applied, unit, and the decimals as written.
        spelled: whether it is written in words.
        hedge: how it is bounded or blurred by the words before it.
        signs: what the words around it say of its sign, from
            :func:`~tablemend.values.numbers.stated_signs`.
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
    def tokens(self) -> tuple[PlacedToken, ...]:
        """All words and numbers, in order."""
        return tuple(placed_tokens(self.plain))

    @cached_property
    def _token_starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    def tokens_within(self, start: int, end: int) -> tuple[PlacedToken, ...]:
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
        for match in _MONTH_OR_DAY.finditer(self.plain):
            if _inside(taken, match.start()) or not self.text[match.start()].isupper():
                continue  # "may" and "march" are verbs too
            if match[0] in WEEKDAYS:
                found.append(Moment(*match.span(), "weekday", (match[0],)))
                continue
            month = f"{MONTHS.index(match[0]) + 1:02d}"
            if shared := _SHARED_YEAR.match(self.plain, match.end()):
                found.append(Moment(*match.span(), "month", (f"{shared[1]}-{month}",)))
            else:
                found.append(Moment(*match.span(), "month name", (f"--{month}",)))
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
        clocks += [(day.start, day.end) for day in self._second_days]
        clocks.sort()
        found = {}
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

    def _is_pronoun(self, stated: Quantity) -> bool:
        """Whether "one" stands for a thing that was named: "in this one", "one of the"."""
        if self.plain[stated.start : stated.end] != "one":
            return False
        before = self.plain[max(0, stated.start - 12) : stated.start]
        after = self.plain[stated.end : stated.end + 8]
        return bool(_THIS.search(before) or _ALONE.match(after))

    def _amount(self, stated: Quantity) -> Amount:
        plain = self.plain
        written = plain[stated.start : stated.end]
        spelled = not any(map(str.isdigit, written))
        digits_end = stated.start + len(written.split()[0])
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
        if _ORDINAL_DIGITS.search(plain[stated.start : digits_end]):
            role = "ordinal"
        elif (
            re.fullmatch(r"(?:1[5-9]|20)\d\d", written)
            and not hedge
            and (_YEAR_BEFORE.search(before) or not before.strip())
            and not _AMOUNTING.search(before)
        ):
            role = "year"
        start, end = stated.start, stated.end
        signs = stated_signs(plain, start, end)
        return Amount(start, end, digits_end, number, spelled, hedge, signs, role)

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
    kind: MomentKind = "month" if len(first) == 7 and first[0] != "-" else "date"
    kind = "quarter" if "q" in first else "span" if "/" in first else kind
    return Moment(start, end, kind, readings)


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


# ---- phrases whose period or name is their own

_AMOUNT = (
    r"(?:(?:the|just|only|about|around|nearly|some)\s+)*[$€£]?\d[\d,.]*\s*"
    r"(?:%|(?!(?:to|until|till|through)\b)[a-z]+)?"
)
_TOWARDS = (
    r"(?:\s+(?:in|during|for|at|of|its|the|their|his|her|it|they|was|were|had|been|level|levels"
    r"|figure|number|total|value|end|start|same|that|those))*\s*"
)
_COMPARISON = re.compile(
    rf"\b(?:than|above|below|compared (?:with|to)|versus|vs\.?|against|up on|down on)"
    rf"(?:\s+the \d[\d,.]*\s*(?:%|[a-z]+)?)?{_TOWARDS}$"
    rf"|\b(?:compared (?:with|to)|versus|vs\.?|against)\s+(?:an? \w+ of )?-?{_AMOUNT}{_TOWARDS}$"
    rf"|\bfrom\s+{_AMOUNT}{_TOWARDS}$"
    rf"|(?:%|\bpercent|\bup|\bdown)\s+from{_TOWARDS}$"
)
"""What leads to the period of a comparison; a mere "above 120 in 2021" is a bound."""
_BESIDE = re.compile(r"compared|versus|vs|against")
_EXCEPT = re.compile(
    r"\b(?:except(?:ing)?(?: for)?|excluding|apart from|aside from|other than|save for|bar"
    r"|outside(?: of)?|with the exception of)(?:\s+(?:in|for|during|on|the))*\s*$"
)
_BUT = re.compile(
    r"\b(?:all|every|each|any)(?:\s+[\w-]+){0,3}\s+but(?:\s+(?:in|for|during|on|the))*\s*$"
)
_BUT_WORD = re.compile(r"\bbut\b[^,]*$")
_MORE = re.compile(r"\s*(?:,|,?\s*(?:and|or))\s*(?:(?:in|for|during|the)\s+)*")
_CLOSED = re.compile(r"\s*(?:[.,;:)]|$)")
_UNTIL = re.compile(r"\s*(?:to|through|until|till|-|\u2013)\s")
_REACH = 60  # characters before a period or a name


class ScopedPhrase(NamedTuple):
    """A phrase that keeps what it names to itself.

    Attributes:
        start, end: its place.
        exception: whether it takes out what it names.
        beside: whether it sets a value beside another: "compared with", "against".
    """

    start: int
    end: int
    exception: bool
    beside: bool = False

    def holds(self, place: int) -> bool:
        """Whether something at a place is a part of it."""
        return self.start <= place < self.end


def find_scoped_phrases(
    plain: str, sentence: Span, moments: Sequence[Span], names: Sequence[Span]
) -> tuple[ScopedPhrase, ...]:
    """The comparisons with a period and the exceptions of a sentence, from left to right."""
    found: list[ScopedPhrase] = []
    dated = set(moments)
    places = sorted(dated.union(names))
    for number, (start, end) in enumerate(places):
        if any(phrase.start <= start < phrase.end for phrase in found):
            continue
        before = plain[max(sentence.start, start - _REACH) : start]
        offset = start - len(before)
        later = [place for place in places[number + 1 :] if place.start >= end]
        taken = _EXCEPT.search(before)
        first = taken.start() if taken else -1
        if taken is None and _BUT.search(before):
            word = _BUT_WORD.search(before)
            assert word is not None
            if _CLOSED.match(plain, _through(plain, end, later), sentence.end):
                first = word.start()  # in "all rose but South fell" it is a clause
        if first >= 0:
            found.append(ScopedPhrase(offset + first, _through(plain, end, later), True))
            continue
        compared = _COMPARISON.search(before) if Span(start, end) in dated else None
        if compared and not _UNTIL.match(plain, end):
            later = [place for place in later if place in dated]
            first, beside = offset + compared.start(), bool(_BESIDE.match(compared[0]))
            found.append(ScopedPhrase(first, _through(plain, end, later), False, beside))
    return tuple(found)


def _through(plain: str, end: int, later: Sequence[Span]) -> int:
    """The end of a list of periods or names: "2020, 2021 and 2022"."""
    for start, stop in later:
        if start >= end and _MORE.fullmatch(plain, end, start):
            end = stop
    return end


# ---- what cannot be read

_MOSTLY = 0.5
_WORD = re.compile(r"[^\W\d_]+")
_WORD_BEFORE = re.compile(r"([^\W\d_]+)[ '\u2019]$")
# Words of the grammar that English lacks, of European languages in Latin script.
_OTHERS = frozenset(
    "le les des du une est sont dans pour avec qui que sur par ses aux et ont nous vous "
    "der das und ist nicht den dem ein eine mit von zu auf sich auch wurde werden bei im "
    "una es por para del se su y lo como fue tiene ha il gli di che della dei nel sono "
    "os da dos em na uma foi het een van en voor op zijn werd met niet ook "
    "och att det som var ett av til er ikke på för med nie się jest oraz przez ve bir ile".split()
)
_ARTICLES = frozenset("le la les un une der die das el il het een".split())
_ENGLISH = frozenset(
    "the and of to in is was for with by at from that this it are were be been have not but or "
    "all more most than other each between over under about after before during only no both "
    "while also first second third one two three they their its which who when had by".split()
)


class Scripts:
    """Tells the sentences of a text that no table can be read by."""

    def __init__(self, text: str, source: Source) -> None:
        self._text = text
        self._source = source

    def unread(self, start: int, end: int) -> str:
        """Why a sentence is not scored: its script, its language; empty where it can be read.

        Of another script are at least half of its letters, and no cell; of another language its
        little words, and none is English. What is a part of a name ("Vincent van Gogh") or stands
        in the tables counts for neither; where the sentence leaves it open, the whole text tells.
        """
        letters = Counter("" if self._text.isascii() else _scripts(self._text[start:end]))
        if not letters.keys() <= {"LATIN"}:
            unknown = sum(count for script, count in letters.items() if script not in self._known)
            if unknown >= _MOSTLY * letters.total():
                return "the text is in another script than the tables"
        english, other = self._little_words(start, end)
        least = 3 if self._text.islower() else 2  # there names are not told from words
        is_plain = other >= least or (other and least == 2 and not self._is_english)
        return "the text is not in English" if is_plain and not english else ""

    @cached_property
    def _is_english(self) -> bool:
        english, other = self._little_words(0, len(self._text))
        return english > 0 or not other

    def _little_words(self, start: int, end: int) -> tuple[int, int]:
        """How many words of English grammar, and how many of another, a part of the text has."""
        english = other = 0
        for match in _WORD.finditer(self._text, start, end):
            word = match[0]
            low = word.casefold()
            if low in _ENGLISH:
                english += 1
            elif low not in self._said:
                first = match.start() == start and low in _ARTICLES
                other += first or (word in _OTHERS and not self._is_name(*match.span()))
        return english, other

    def _is_name(self, start: int, end: int) -> bool:
        """Whether a little word is of a name: "Vincent van Gogh", "Lee et al."."""
        if self._text.startswith(" al.", end):
            return True
        before = _WORD_BEFORE.search(self._text, max(0, start - 24), start)
        after = self._text[end : end + 2]
        return bool(before and before[1][0].isupper() and after[1:].isupper())

    @cached_property
    def _said(self) -> frozenset[str]:
        """The words of headers and cells in small letters."""
        return frozenset(word for text in self._texts() for word in _WORD.findall(text.casefold()))

    @cached_property
    def _known(self) -> frozenset[str]:
        """The scripts of headers and cells; Latin where the tables have no letters."""
        texts = (["LATIN"] if text.isascii() else _scripts(text) for text in self._texts())
        return frozenset(script for found in texts for script in found) or frozenset({"LATIN"})

    def _texts(self) -> Iterator[str]:
        for grid in self._source.grids:
            yield from (grid.caption, *(column.header for column in grid.columns))
            for line in grid.lines:
                yield from (grid.cell(line.index, column.index) for column in grid.columns)


def _scripts(text: str) -> Iterator[str]:
    """The script of every letter, as Unicode names it: LATIN, CYRILLIC, CJK."""
    return (_script(character) for character in text if character.isalpha())


@lru_cache(maxsize=1 << 12)
def _script(letter: str) -> str:
    return "LATIN" if letter.isascii() else unicodedata.name(letter, "").partition(" ")[0]
