"""Where a running text states a value, in whatever spelling."""

from __future__ import annotations

import re
from collections import defaultdict
from decimal import Decimal
from functools import cached_property

from tablemend.values.cells import Value, read_value, year_of
from tablemend.values.dates import StatedDate, find_dates
from tablemend.values.numbers import (
    ORDINALS,
    Number,
    Quantity,
    find_quantities,
    find_spelled,
    same_amount,
)
from tablemend.values.text import PlacedToken, Span, align, placed_tokens, singular, tokens_of
from tablemend.values.units import MEASURES, MILLION, ONE, PLAIN, Unit

_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_MILLIONS = re.compile(r"(?<=\d)M\b")
_ORDINALS = {word: Decimal(value) for value, word in enumerate(ORDINALS, 1)}
_ORDINAL = re.compile(rf"(?<![\w-])(?:{'|'.join(_ORDINALS)})(?![\w-])")
_ZERO = re.compile(r"(?<![\w-])(?:no|none|nil|zero|without)(?![\w-])")
_MINUS = re.compile(
    r"\b(?:declin|decreas|contract|fell|fall|drop|shr[aiu]nk|negative|minus|below|down|loss|lost|lose"
    r"|deficit|reduc|lower|slump|dip|slid)\w*"
)
_BEFORE_A_MINUS = 80


class Places:
    """A text, indexed by the tokens, numbers and dates that it states.

    Args:
        text: any text; places are those of its characters.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._plain = align(text)

    def find(self, cell: str, unit: Unit = PLAIN) -> list[Span]:
        """Where a cell's value is stated, in order; equal as the detector takes values for equal.

        A number is found with the scale and unit that the text or the column's header gives, as
        a number word or an ordinal word, and a negative one without its sign behind a word of
        decline; a year also inside a date. A date is found in any spelling that is at least as
        fine. A text is found token by token, plural or not, with or without its bracketed
        additions.

        Args:
            cell: the value as the table has it.
            unit: what the column's header states, from
                :func:`~tablemend.values.units.header_unit`.
        """
        value = read_value(cell)
        if value.blank:
            return []
        if value.number is not None:
            return self._find_number(value, value.number, unit)
        starts = tuple(f"{wanted}-" for wanted in value.dates)
        found = [
            Span(date.start, date.end)
            for date in self.dates
            if any(one in value.dates or one.startswith(starts) for one in date.readings)
        ]
        found = found or self._find_words(tokens_of(cell).words)
        bare = _BRACKETS.sub("", value.text)
        if not found and bare != value.text:
            found = self._find_words(tokens_of(bare).words)
        return sorted(found)

    def amounts(self, start: int, end: int) -> list[Span]:
        """The numbers and dates that begin between two places."""
        spans = [Span(stated.start, stated.end) for stated in self.numbers]
        spans += [Span(date.start, date.end) for date in self.dates]
        return sorted(span for span in spans if start <= span.start < end)

    @cached_property
    def dates(self) -> list[StatedDate]:
        """Every date."""
        return sorted(find_dates(self._plain), key=lambda date: date.start)

    @cached_property
    def numbers(self) -> list[Quantity]:
        """Every number in digits or words outside dates, in order."""
        plain = list(self._plain)
        for date in self.dates:
            plain[date.start : date.end] = "\0" * (date.end - date.start)
        for capital in _MILLIONS.finditer(self.text):
            plain[capital.start()] = "M"  # "110M" is no length
        text = "".join(plain)
        found = {stated.start: stated for stated in find_spelled(text)}
        # "2 million": the digits' own unit wins over a word that follows.
        found |= {stated.start: stated for stated in find_quantities(text)}
        return [found[start] for start in sorted(found)]

    @cached_property
    def tokens(self) -> list[PlacedToken]:
        """Every word and number with its place; plurals in ``s`` are spelled without it."""
        return [one._replace(word=singular(one.word)) for one in placed_tokens(self._plain)]

    @cached_property
    def _words(self) -> list[str]:
        return [word for word, _, _ in self.tokens]

    @cached_property
    def _by_word(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = defaultdict(list)
        for place, word in enumerate(self._words):
            places[word].append(place)
        return dict(places)

    def _find_words(self, words: tuple[str, ...]) -> list[Span]:
        if not words:
            return []
        wanted = [singular(word) for word in words]
        # By its rarest word: all of "Player 1" to "Player 9000" begin alike.
        rarest = min(range(len(wanted)), key=lambda n: len(self._by_word.get(wanted[n], ())))
        starts = (place - rarest for place in self._by_word.get(wanted[rarest], ()))
        return [
            Span(self.tokens[start][1], self.tokens[start + len(wanted) - 1][2])
            for start in starts
            if start >= 0 and self._words[start : start + len(wanted)] == wanted
        ]

    def _find_number(self, value: Value, number: Number, unit: Unit) -> list[Span]:
        sizes = {abs(number.value * scale) for scale in {ONE, unit.scale, 1 / unit.scale}}
        sizes |= {size * scale for size in sizes for scale in (MILLION, 1 / MILLION)}
        for symbol in {number.unit.symbol, unit.symbol} - {""}:
            sizes |= {size * MEASURES[symbol][1] for size in sizes}
        positive = Number(-number.value, number.unit, number.decimals)
        found = []
        for place in sorted({at for size in sizes for at in self._by_size.get(size, ())}):
            stated = self.numbers[place]  # no other can be equal
            same = _equal(number, stated.number, unit)
            if not same and number.value < 0 and _equal(positive, stated.number, unit):
                before = self._plain[max(0, stated.start - _BEFORE_A_MINUS) : stated.start]
                same = _MINUS.search(before.rpartition(". ")[2]) is not None  # "fell by 3.2 %"
            if same:
                found.append(Span(stated.start, stated.end))
        if year := year_of(value):
            found += [Span(date.start, date.end) for date in self._dates_of_year.get(year, ())]
        if number.value in _ORDINALS.values() and not number.unit.symbol:
            found += [
                Span(*match.span())
                for match in _ORDINAL.finditer(self._plain)
                if _ORDINALS[match[0]] == number.value
            ]
        if not number.value:
            found += [Span(*match.span()) for match in _ZERO.finditer(self._plain)]
        return sorted(set(found))

    @cached_property
    def _by_size(self) -> dict[Decimal, list[int]]:
        """Numbers without their sign, as written and in the base unit of what they measure."""
        places: dict[Decimal, list[int]] = defaultdict(list)
        for place, stated in enumerate(self.numbers):
            size = abs(stated.number.value)
            symbol = stated.number.unit.symbol
            for key in {size, size * MEASURES[symbol][1]} if symbol else {size}:
                places[key].append(place)
        return dict(places)

    @cached_property
    def _dates_of_year(self) -> dict[str, list[StatedDate]]:
        dates: dict[str, list[StatedDate]] = defaultdict(list)
        for date in self.dates:
            for year in {reading[:4] for reading in date.readings if reading[4:5] in ("-", "/")}:
                dates[year].append(date)
        return dict(dates)


def _equal(cell: Number, stated: Number, unit: Unit) -> bool:
    """The detector's equality; a text may also spell out what the header scales."""
    if same_amount(cell, stated, unit):
        return True
    return (
        unit.scale != ONE
        and cell.unit.scale == stated.unit.scale == ONE
        and stated.value == cell.value * unit.scale
    )
