"""The many ways to write that a cell is empty (TableHallu, C.1: one canonical blank)."""

from __future__ import annotations

import re

from tablemend.values.text import clean

_MARKS = re.compile(r"[-_.?/\u2026\u2205'\"\s]*\Z")
# "Na" is sodium, "Nan" a town, "N.D." a state: these count as codes are written only.
_CODES = frozenset(
    {"NA", "na", "n.d", "N.A.", "n.a.", "n.a", "N.A", "NaN", "nan", "NAN", "<NA>", "<na>"}
)
_NOUN = "data|details|info|information|value|values|record|records|entry|figure|figures|mention"
_VERB = (
    "available|applicable|reported|given|provided|specified|stated|mentioned|disclosed|recorded"
    "|listed|found|known|announced|included|indicated|identified|determined|published"
    "|documented|detailed|noted|described|shown|revealed|quantified|clear"
)
_ABSENT = (
    "missing|unknown|undisclosed|unspecified|unavailable|unreported|undefined|undetermined|unclear"
)
_HOW = "explicitly|publicly|specifically|directly|currently|clearly"
_PHRASE = re.compile(
    rf"""
    n[ ]?/[ ]?a | null | none | nil(\ value)? | blank | empty | pending\ data
  | (({_NOUN})\ ((is|are|was|were)\ )?)?({_ABSENT})
  | tb[acd] | (yet\ )?to\ be\ (announced|confirmed|decided|determined)
  | n/d | (insufficient|not\ enough)\ (data|info|information)
  | none\ ({_VERB})
  | no\ ({_NOUN})(\ (was|were|is|are))?(\ ({_VERB}))?
  | (({_NOUN})\ )?((is|are|was|were)\ )?not\ (yet\ )?(({_HOW})\ )?({_VERB})(\ yet)?
    (\ (in|by|within)\ (the\ )?(provided\ |given\ )?(context|text|source|passage|article|document))?
    """,
    re.VERBOSE | re.IGNORECASE,
)


# "N/A (not reported)", "N/A - not stated", "Not stated/unknown"; both halves must be blanks.
_TWICE = re.compile(r"(.+?)(?: ?[(\[](.+)[)\]]|(?: - |(?<![nN])/|; ?)(.+))")

# How any of these begins: most cells are told from a blank by their first letters.
_BEGINNING = re.compile(r"[\W_]|n|un|bl|em|mi|pe|tb|to|da|de|in|va|fi|re|ye", re.IGNORECASE)


def is_blank(cell: str | None) -> bool:
    """Whether a cell says only that there is no value.

    ``no`` and ``0`` are values. ``none`` is a blank, as in the paper's list.
    """
    if cell is None or not cell:
        return True
    if not _BEGINNING.match(cell):
        return False
    if len(cell) > 80:
        return not cell.strip()
    return _says_blank(clean(cell))


def _says_blank(text: str) -> bool:
    if _MARKS.match(text):
        return True
    text = (text.rstrip("*\u2020\u2021\u00a7") or text).strip(" .\"'")
    if text[:1] + text[-1:] in ("()", "[]"):
        text = text[1:-1].strip()
    if text in _CODES or not text:
        return True
    if _PHRASE.fullmatch(text):
        return True
    said_twice = _TWICE.fullmatch(text)
    return said_twice is not None and all(_says_blank(part) for part in said_twice.groups("-"))
