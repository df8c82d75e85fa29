"""Phrases of a sentence whose period or name is their own: "25% above its 2021 level".

What a comparison or an exception names says nothing of the rest of the sentence: in "North rose to
150, from 120 in 2021" the 150 is of another year, and in "above 300 in every year but 2020" nothing
is said of 2020.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tablemend.values.sentences import Span

_AMOUNT = (
    r"(?:(?:the|just|only|about|around|nearly|some)\s+)*[$€£]?\d[\d,.]*\s*"
    r"(?:%|(?!(?:to|until|till|through)\b)[a-z]+)?"
)
_TOWARDS = (
    r"(?:\s+(?:in|during|for|at|of|its|the|their|his|her|it|they|was|were|had|been|level|levels"
    r"|figure|number|total|value|end|start|same|that|those))*\s*"
)
_COMPARED = re.compile(
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
    """The comparisons with a period and the exceptions of a sentence, from left to right.

    Args:
        plain: the text in small letters.
        sentence: place of the sentence.
        moments: places of its periods.
        names: places of what names a row or a column.
    """
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
        compared = _COMPARED.search(before) if Span(start, end) in dated else None
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
