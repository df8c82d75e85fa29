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
_BOUNDS: list[Bound] = [bound for words in _FILE.values() for bound in words]
_WORDS = [words for section in _FILE.values() for words in section.values()]


def _pattern(form: str, first: int, last: int) -> re.Pattern[str]:
    """One pattern of several bounds; the group that matches is named by the bound's number."""
    words = "|".join(f"(?P<b{place}>{_WORDS[place]})" for place in range(first, last))
    return re.compile(form.replace("WORDS", f"(?:{words})"), re.IGNORECASE)


_ALONE, _LAST = len(_FILE["before"]), len(_WORDS) - len(_FILE["behind"])
_BEFORE = _pattern(r"(?<!\w)WORDS\s*(?:an? )?$", 0, _ALONE)
_OPENING = _pattern(r"WORDS(?:(?<=\W) ?| )(?=\S)", 0, _LAST)
_BEHIND = _pattern(r" ?WORDS(?!\w)", _LAST, len(_WORDS))
_ENDING = _pattern(r"(?<=.) ?WORDS$", _LAST, len(_WORDS))
_REACH = 24  # characters before a number in which its bound stands


def split_bound(text: str) -> tuple[Bound, str]:
    """The bound that a whole cell states, and the cell without the words for it."""
    found: Bound = ""
    while found in ("", "about") and (match := _OPENING.match(text)):  # "approx. over 5"
        found, text = _bound(match), text[match.end() :]
    if found in ("", "about") and (match := _ENDING.search(text)):
        return _bound(match), text[: match.start()]
    return found, text


def bound_at(text: str, start: int, end: int = -1) -> Bound:
    """The bound of a number that stands in a text in small letters.

    Args:
        text: the text.
        start: where the number begins, its currency included.
        end: where it ends, its unit included; -1 leaves what stands behind unread.
    """
    before = text[max(0, start - _REACH) : start]
    match = _BEFORE.search(before)
    found: Bound = _bound(match) if match else ""
    if end < 0 or found not in ("", "about"):
        return found
    match = _BEHIND.match(text, end)
    return _bound(match) if match else found


def _bound(match: re.Match[str]) -> Bound:
    return _BOUNDS[int((match.lastgroup or "b0")[1:])]
