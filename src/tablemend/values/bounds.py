"""Words and marks that make of a number a bound of it: "at least 5", ``<0.001``, "5 or more"."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import yaml

Bound = Literal["", "about", "over", "under", "just over", "just under", "at least", "at most"]
"""``about`` bounds nothing: what is estimated so can be the number itself."""

_FILE: dict[str, dict[Bound, str]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text("utf-8")
)
_FIRST_DIGIT = r"(?=[ \d.+$€£¥₹(-]|(?<= )\w)"
_BEFORE: list[tuple[Bound, re.Pattern[str]]] = [
    (bound, re.compile(rf"(?<!\w)(?:{words})\s*(?:an? |the )?$"))
    for bound, words in _FILE["before"].items()
]
_OPENING: list[tuple[Bound, re.Pattern[str]]] = [
    (bound, re.compile(rf"(?:{words})(?:(?<=\W) ?| )(?=\S)", re.IGNORECASE))
    for kind in ("before", "before alone")
    for bound, words in _FILE[kind].items()
]
_BEHIND: list[tuple[Bound, re.Pattern[str]]] = [
    (bound, re.compile(rf" ?(?:{words})(?!\w)", re.IGNORECASE))
    for bound, words in _FILE["behind"].items()
]
_BOUNDED = re.compile(r"[^\W\d_]{2}|[<>=~#+\u2248\u223c\u2264\u2265\u2a7d\u2a7e]|c\.")
_REACH = 24  # characters before a number in which its bound stands


def split_bound(text: str) -> tuple[Bound, str]:
    """The bound that a whole cell states, and the cell without the words for it."""
    found: Bound = ""
    if not _BOUNDED.search(text):
        return found, text
    for _ in range(2):  # "about 5+", "approx. over 5"
        for bound, pattern in _OPENING:
            if match := pattern.match(text):
                found, text = bound if found in ("", "about") else found, text[match.end() :]
                break
    for bound, pattern in _BEHIND:
        for match in pattern.finditer(text):
            if match.end() == len(text) and match.start() and found in ("", "about"):
                return bound, text[: match.start()]
    return found, text


def bound_at(text: str, start: int, end: int = -1) -> Bound:
    """The bound of a number that stands in a text in small letters.

    Args:
        text: the text.
        start: where the number begins, its currency included.
        end: where it ends, its unit included; -1 leaves what stands behind unread.
    """
    before = text[max(0, start - _REACH) : start]
    found: Bound = next((bound for bound, pattern in _BEFORE if pattern.search(before)), "")
    if end < 0 or found not in ("", "about"):
        return found
    return next((bound for bound, pattern in _BEHIND if pattern.match(text, end)), found)
