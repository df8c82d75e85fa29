"""Which of several periods an amount is of: "from 5 in 2019 to 7 in 2020", "respectively"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tablemend.claims.cues import Cue
from tablemend.verification.computed import is_computed
from tablemend.verification.reading import Amount, Moment

_FROM = re.compile(r"\bfrom\s+(?:\w+ ){0,2}[$€£]?$")
_TO = re.compile(r"\b(?:to|reaching|reached|hitting|at)\s+(?:\w+ ){0,2}[$€£]?$")
_RESPECTIVELY = re.compile(r"\brespectively\b")
_LOOK = 32  # characters


def align_periods(
    plain: str,
    end: int,
    amounts: Sequence[Amount],
    moments: Sequence[Moment],
    cues: Sequence[Cue],
) -> dict[int, int]:
    """For amounts of a sentence that tells a change, or a list, the number of their period.

    As many amounts as periods stand in the same order, in every English wording of a change. Of
    one amount and two periods, what it rose "from" is the first's, what it rose "to" the last's.

    Args:
        plain: the text in small letters.
        end: end of the sentence.
        amounts: of the sentence.
        moments: its periods.
        cues: its cue words.

    Returns:
        Start of the amount -> index of the period; empty where the sentence tells neither.
    """
    start = min((amount.start for amount in amounts), default=end)
    listed = _RESPECTIVELY.search(plain, start, end) is not None
    if len(moments) < 2 or not (listed or any(cue.kind == "change" for cue in cues)):
        return {}
    if len({moment.kind for moment in moments}) != 1:
        return {}
    told = [
        amount
        for amount in amounts
        if amount.role == "value" and not amount.pair and not is_computed(plain, amount, end)
    ]
    if len(told) == len(moments):
        return {amount.start: number for number, amount in enumerate(told)}
    if len(told) == 1 and len(moments) == 2 and not listed:
        before = plain[max(0, told[0].start - _LOOK) : told[0].start]
        if _FROM.search(before):
            return {told[0].start: 0}
        if _TO.search(before):
            return {told[0].start: 1}
    return {}
