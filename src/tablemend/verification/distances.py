"""How far words that name a row or a column stand from an amount, as a reader sees it."""

from __future__ import annotations

import re
from functools import cached_property

from tablemend.values.sentences import Span
from tablemend.verification.linking import Linking, Links
from tablemend.verification.reading import Amount

_BORDER = re.compile(r"[,;:()\[\]]|\b(?:and|or|but|while|whereas|with)\b")
_CLAUSE = re.compile(r"[;]|\b(?:while|whereas|but|although)\b")
_SOURCE = re.compile(r"\s*(?:(?:(?:from|by|for|to|of|in|at|on|during) (?:the )?)|\(\s*)$")
_OBJECT = re.compile(
    r"\b(?:over|against|beat|defeated|downed|topped|edged|hosted?|past|visiting|versus|vs\.?|to|than"
    r"|behind|from|for|of|facing|outscored|between|join|with|leads?|led|leading"
    r"|pac(?:es|ed|ing)) (?:the )?(?:visiting |host )?$"
)
_OPENED = re.compile(
    r"\s*(?:'s)?\s*[(:,]?\s*(?:(?:with|at|had|has|have|scored|is|was|about|roughly|around|nearly"
    r"|almost|over|just|under|approximately|more|less|than) ){0,3}[$€£]?\s*"
)
_AT = re.compile(r"(?:[a-z]+, )?(?:at|with) (?:\w+ ){0,2}[$€£]?")
_RELATIVE = re.compile(r"\s*,?\s*(?:who|which|whose)\b")
_MODIFIER = re.compile(
    r" (?:players?|guard|forward|center|centre|reserves?|starters?|bench|team|fans?|win|loss"
    r"|victory|defen[sc]e|offen[sc]e|attack)\b"
)
FAR = 1000
"""What stands so far off cannot be meant."""


class Distances:
    """Distances within one sentence; 0 is next to the amount.

    Args:
        linking: the linked text.
        number: index of the sentence.
    """

    def __init__(self, linking: Linking, number: int) -> None:
        self.linking = linking
        self.sentence: Span = linking.reading.sentences[number]
        self.by_grid: dict[int, Links] = linking.sentence_links[number]
        self.plain = linking.reading.plain
        links = next(iter(self.by_grid.values()), None)
        self.amounts: tuple[Amount, ...] = links.amounts if links else ()
        self.unknown_names: tuple[Span, ...] = links.unknown_names if links else ()

    def of_attribute(self, amount: Amount, start: int, end: int) -> int:
        """How far words that name what is counted stand from the amount."""
        first, last = amount.start, amount.end
        if amount.pair:
            mate = self.linking.reading.amounts[amount.mate]
            first, last = min(first, mate.start), max(last, mate.end)
        if start < last and end > amount.digits_end:
            return 0
        if start >= last:
            between = self.plain[last:start]
            words = len(re.findall(r"\w+", between))
            if self._leads(first, last):
                return 1 if words <= 7 else FAR
            if self._amount_between(last, start):
                return 8 if not _CLAUSE.search(between) and words <= 8 else FAR
            if _BORDER.search(between):
                return 7 if words <= 6 and not _CLAUSE.search(between) else FAR
            return 0 if words <= 1 else 2 if words <= 3 else 4 if words <= 6 else 7
        between = self.plain[end:first]
        words = len(re.findall(r"\w+", between))
        if self._amount_between(end, first):
            return 9 if words <= 24 and not _CLAUSE.search(between) else FAR
        if self._counted_by_another(start):
            return 8
        if re.fullmatch(r"\s*(?:[:(=]|was|is|of|at|were|are)\s*(?:a |an )?(?:[$€£])?\s*", between):
            return 1
        if _BORDER.search(between):
            return 8 if words <= 8 else FAR
        return 1 if words <= 4 else 2 if words <= 10 else 5

    def _leads(self, start: int, end: int) -> bool:
        """Whether an amount opens the sentence for what follows: "At 15.6%, the result of"."""
        before = self.plain[self.sentence.start : start]
        return bool(_AT.fullmatch(before)) and "," in self.plain[end : end + 12]

    def _counted_by_another(self, start: int) -> bool:
        """Whether words directly follow another amount, as "assists" does in "two assists"."""
        return any(
            other.end <= start
            and other.role != "article"
            and len(re.findall(r"\w+", self.plain[other.end : start])) <= 1
            and not _BORDER.search(self.plain[other.end : start])
            for other in self.amounts
        )

    def of_entity(self, amount: Amount, start: int, end: int) -> int:
        """How far words that name somebody stand from the amount; who precedes is meant."""
        if start >= amount.digits_end:
            between = self.plain[amount.digits_end : start]
            if self._leads(amount.start, amount.end) and len(between.split()) <= 12:
                return 1
            named_by = _SOURCE.search(between) and not self._amount_between(amount.end, start)
            words = len(re.findall(r"\w+", between))
            if named_by and words <= 6 and not re.search(r"[,;]", between):
                return 1 if words <= 3 else 3
            return 9
        between = self.plain[end : amount.start]
        if _OPENED.fullmatch(between):
            return 0
        words = len(re.findall(r"\w+", between))
        distance = 0 if words <= 3 else 1 if words <= 10 else 2
        if self.is_object(start, end):
            distance += 6
        if _CLAUSE.search(between):
            distance += 4
        # A name that another subject follows before the amount is farther than that one.
        return distance + 4 * any(
            end <= name < amount.start and not self.is_object(name, stop)
            for name, stop in self.persons
        )

    @cached_property
    def persons(self) -> list[tuple[int, int]]:
        """Places of all names in the sentence, unknown ones included."""
        named = [
            (link.start, link.end)
            for links in self.by_grid.values()
            for link in links.rows
            if link.column >= 0
        ]
        return sorted({*named, *self.unknown_names})

    def is_object(self, start: int, end: int) -> bool:
        """Whether a name stands where no subject does: "over the Magic", "the Nets guard"."""
        if _RELATIVE.match(self.plain, end):
            return False
        if _MODIFIER.match(self.plain, end):
            return True
        return bool(_OBJECT.search(self.plain[max(0, start - 24) : start]))

    def _amount_between(self, start: int, end: int) -> bool:
        return any(start <= other.start < end and other.role != "article" for other in self.amounts)
