"""Bounds that a text puts on a number: "more than ten", "at least two", "a couple of", "half a"."""

from __future__ import annotations

import re
from typing import NamedTuple

from tablemend.values.numbers import parse_number

_DIGITS = r"\d[\d,]*(?:\.\d+)?"
_WORDS = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
    r"(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?)"
)
_SPECIAL = {
    "half an": 0.5,
    "half a": 0.5,
    "a quarter of a": 0.25,
    "quarter of a": 0.25,
    "a couple of": 2.0,
    "a couple": 2.0,
    "a single": 1.0,
    "single": 1.0,
    "a dozen": 12.0,
    "half a dozen": 6.0,
    "a hundred": 100.0,
    "a thousand": 1000.0,
    "a million": 1e6,
    "both": 2.0,
    "no": 0.0,
    "an": 1.0,
    "a": 1.0,
}
NUMBER = rf"(?:{'|'.join(sorted(_SPECIAL, key=len, reverse=True))}|{_WORDS}|{_DIGITS})"
"""A pattern of a number in digits or words, and of what stands for one."""
_OVER = (
    r"more than|over|greater than|longer than|above|upwards? of|in excess of|well over|exceed\w*"
)
_UNDER = r"less than|under|fewer than|shorter than|below|not even|well under"
_LEAST = r"at least|no less than|no fewer than|not less than|a minimum of"
_MOST = r"at most|no more than|not more than|up to|a maximum of|within"
_ABOUT = r"about|around|roughly|approximately|nearly|almost|close to|just about|some|near"
_EXACT = r"exactly|only|just|a total of|precisely"
BOUND = (
    rf"(?:{_LEAST}|{_MOST}|(?:just |slightly |a little )?(?:{_OVER}|{_UNDER})|{_ABOUT}|{_EXACT})"
)
"""A pattern of the words that bound a number."""


class Bounded(NamedTuple):
    """A number and how it is bounded: ``over``, ``under``, ``least``, ``most``, ``about`` or ""."""

    value: float
    bound: str

    def whole(self) -> Bounded:
        """The same of things that are counted: more than two are at least three."""
        if self.bound == "over":
            return Bounded(self.value + 1, "least")
        return Bounded(self.value - 1, "most") if self.bound == "under" else self

    def holds(self, low: float, high: float, slack: float = 0.0) -> bool | None:
        """Whether a number between two ends is as bounded; ``None`` where that is open.

        Args:
            low: its least value.
            high: its greatest value.
            slack: how far an unbounded number may be off.
        """
        value = self.value
        if self.bound == "about":
            near, far = max(slack, 0.12 * value), max(2 * slack, 0.35 * value)
            if abs(low - value) <= near and abs(high - value) <= near:
                return True
            return False if low > value + far or high < value - far else None
        if self.bound == "over":
            return True if low > value else False if high < value else None
        if self.bound == "under":
            return True if high < value else False if low > value else None
        if self.bound == "least":
            return True if low >= value else False if high < value else None
        if self.bound == "most":
            return True if high <= value else False if low > value else None
        if low > value + slack or high < value - slack:
            return False
        return True if value - slack <= low and high <= value + slack else None


def read_bounded(bound: str | None, number: str) -> Bounded | None:
    """The bound and the number that :data:`BOUND` and :data:`NUMBER` found."""
    words = (bound or "").strip()
    kind = ""
    for name, pattern in (
        ("least", _LEAST),
        ("most", _MOST),
        ("over", _OVER),
        ("under", _UNDER),
        ("about", _ABOUT),
    ):
        if words and re.search(rf"(?:^|\s)(?:{pattern})$", words):
            kind = name
            break
    said = number.strip()
    if said in _SPECIAL:
        return Bounded(_SPECIAL[said], kind)
    read = parse_number(said)
    return None if read is None else Bounded(float(read.value), kind)
