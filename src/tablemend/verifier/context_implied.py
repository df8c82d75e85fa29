"""What a context may imply without saying it: sums, shares, names in short, "two years later".

Such rows and cells can be right though no word of the context gives them, so they are left open.
"""

from __future__ import annotations

import re

from tablemend.values.text import clean
from tablemend.values.words import content_words

_SUMS = frozenset(
    "total totals subtotal sum average mean median overall all combined altogether".split()
)
_WORKED_OUT = frozenset(
    "share percentage percent proportion ratio rate difference gap margin change growth increase "
    "decrease gain loss age duration tenure term decade century era rank ranking position average "
    "mean total cumulative remaining balance nationality demonym".split()
)
_SPANS = re.compile(
    r"^(?:years?|months?|days?|hours?|seasons?) (?:in|since|to|until|as|of|at|on)\b"
)
_RELATIVE = re.compile(
    r"\b(?:half|halves|quarters?|thirds?|twice|thrice|doubled?|tripled?|times|dozen|couple|later"
    r"|earlier|younger|older|rest|remaining|remainder|another|likewise|same|each|both|respectively"
    r"|more than|fewer than|less than|as (?:many|much|long|high|old))\b",
    re.I,
)
_SHORT = re.compile(r"(?:[A-Z]\.?){2,5}")
_INITIAL = re.compile(r"([A-Z])\.?\s+([A-Z][\w'\u2019-]+)")


def is_sum_row(name: str) -> bool:
    """Whether a row's name says that it sums up the others: "Total", "All shops combined"."""
    words = name.lower().split()
    return bool(words) and (words[0] in _SUMS or words[-1] in _SUMS)


def is_worked_out(header: str) -> bool:
    """Whether a column holds what is worked out of other values more often than told."""
    plain = clean(header).lower()
    return bool(
        "%" in plain or _WORKED_OUT.intersection(content_words(plain)) or _SPANS.match(plain)
    )


def is_told_relatively(text: str) -> bool:
    """Whether a text gives amounts or times by others: "two years later", "twice as many"."""
    return _RELATIVE.search(text) is not None


def is_short_for(name: str, text: str) -> bool:
    """Whether a name may be a short form of one in a text, or the long form of one.

    Initials ("UK", "U.S.") are never looked for in full; "United States" is short for itself
    where its initials stand in the text; "D. Holm" is the text's "Dag Holm".
    """
    if _SHORT.fullmatch(name):
        return True
    if initial := _INITIAL.fullmatch(name):
        first, last = initial.groups()
        return re.search(rf"\b{first}\w*\.?\s+(?:\S+\s+)?{re.escape(last)}\b", text) is not None
    letters = [word[0] for word in name.split() if word[:1].isupper()]
    if len(letters) < 2:
        return False
    dotted = r"\.?\s?".join(map(re.escape, letters))
    return re.search(rf"(?<!\w){dotted}(?!\w)", text) is not None
