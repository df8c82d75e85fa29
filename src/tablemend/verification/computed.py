"""Amounts that no cell need state: differences, sums, averages, shares and factors."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tablemend.claims.cues import Cue
from tablemend.verification.reading import Amount

_BEFORE = re.compile(
    r"\b(?:by|(?:difference|gap|margin|lead|deficit|increase|decrease|rise|drop|growth|decline"
    r"|fall|gain|change|improvement|reduction|range|spread|surplus) of(?: up to)?"
    r"|combined(?: for)?|combining for|summing to|sum of|total(?:l?ing|l?ed|s)?(?: of)?|together"
    r"|add(?:s|ed|ing)? up to|averag(?:e of|ing|ed|es)|mean of)"
    r"\s+(?:about |around |nearly |over |just over |roughly |approximately |almost |under )?"
    r"(?:an? )?[$€£]?$"
)
_AFTER = re.compile(
    r"(?:\s*-\s*|\s+)(?:[a-z%-]+ ){0,3}?(?:more|fewer|less|higher|lower|larger|smaller|greater"
    r"|better|worse|ahead|behind|earlier|later|older|younger|times|fold|increase|decrease|drop|rise"
    r"|growth|decline|gain|improvement|reduction|difference|gap|margin|lead|win|victory|loss|deficit"
    r"|advantage|combined|in total|overall|altogether|on average|apiece|each)\b"
)
# "finished 7 points ahead", "two clear of"; "with 41 points ahead of them" is what is had
_APART = re.compile(
    r"(?: [a-z]+){0,2}? (?:ahead|behind|adrift|clear(?= of\b| at\b|[.,;]|$))\b"
    r"(?! (?:of )?schedule)"
)
_PARTED = re.compile(r"[,;:()\[\].]|\b(?:and|or|but|while|with|than)\b")
_AVERAGE = frozenset({"sum", "mean", "median"})
_TOGETHER = re.compile(r"\b(?:together|combined|altogether|in total|in all|all told|across all)\b")
_LOOK = 48  # characters


def is_computed(
    plain: str, amount: Amount, end: int, headers: Sequence[tuple[int, int]] = ()
) -> bool:
    """Whether the words beside an amount say that it was worked out: "by 5", "5 more", "total of".

    Args:
        plain: the text in small letters.
        amount: the amount.
        end: end of its sentence.
        headers: places of the words that name columns: a "YoY change of 5%" is no change.
    """
    before = _BEFORE.search(plain, max(0, amount.start - _LOOK), amount.start)
    if before and not any(start <= before.start() < stop for start, stop in headers):
        return True
    after = _AFTER.match(plain, amount.digits_end, min(end, amount.end + _LOOK))
    return after is not None and not _PARTED.search(plain, amount.end, after.end())


def is_margin(plain: str, amount: Amount) -> bool:
    """Whether an amount says by how much one is ahead of another, so that no cell need state it.

    Args:
        plain: the text in small letters.
        amount: the amount.
    """
    after = _APART.match(plain, amount.digits_end)
    if after is None or plain[: amount.start].endswith(" with "):
        return False
    return not _PARTED.search(plain, amount.end, after.end())


def aggregates(text: str, cues: Sequence[Cue], headers: Sequence[tuple[int, int]]) -> bool:
    """Whether a sentence adds up or averages, outside the names of columns.

    Args:
        text: the sentence in small letters.
        cues: of the sentence.
        headers: places of the words that name columns, counted as the cues are.
    """
    return _TOGETHER.search(text) is not None or any(
        cue.kind == "aggregate"
        and cue.sense in _AVERAGE
        and not any(start <= cue.start < end for start, end in headers)
        for cue in cues
    )
