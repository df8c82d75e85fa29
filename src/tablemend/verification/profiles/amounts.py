"""Amounts that a text bounds: "over two hours long", "made less than $10 million"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.values.numbers import find_quantities
from tablemend.verification.profiles.facts import Fact
from tablemend.verification.profiles.profile import Attribute, Profile
from tablemend.verification.profiles.quantities import BOUND, NUMBER, Bounded, read_bounded

_MINUTES = {"second": 1 / 60, "minute": 1.0, "hour": 60.0}
_TIME = re.compile(
    rf"\b(?:(?P<bound>{BOUND}) )?(?:an? (?=\d|one|two|three))?"
    rf"(?P<number>{NUMBER})(?P<half> and a half)?[ -]"
    r"(?P<unit>second|minute|hour)s?\b"
)
_OF_TIME = re.compile(r"(?:length|running time|run time|runtime|duration)$")
_SAID_TIME = re.compile(
    r"\b(?:length|long|run(?:ning|s)?(?:[- ]?time)?|runtime|lasts?|lasted|duration)\b"
)
_CLOCK = re.compile(r"(?<!\d)(?:(\d{1,2}):)?(\d{1,3}):(\d\d)(?!\d)")
_MONEY = re.compile(
    rf"\b(?:(?P<bound>{BOUND}) )?"
    r"(?P<amount>[$£€]?\s?\d[\d,.]*\s?(?:k|m|bn|thousand|million|billion)?"
    r"(?:\s?(?:dollars|pounds|euros))?)\b(?! per\b)"
)
_ROLES = (
    (
        re.compile(r"(?:box office|gross|revenue)"),
        re.compile(r"\b(?:gross\w*|box office|made|earned)\b"),
    ),
    (re.compile(r"budget"), re.compile(r"\b(?:budget|cost)\b")),
)
_DENIED = re.compile(r"\b(?:not|never|no longer)\b|n't\b")


class Amounts:
    """Judges the amounts of one info box.

    Args:
        profile: the info box.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    def facts(self, said: str, start: int, end: int) -> Iterator[Fact]:
        """What a sentence says of lengths and of money.

        Args:
            said: the text in small letters.
            start: where the sentence begins.
            end: where it ends.
        """
        if _DENIED.search(said, start, end):
            return
        attribute = next((a for a in self.profile.attributes if _OF_TIME.match(a.header)), None)
        minutes = _minutes(attribute.text) if attribute else None
        for match in _TIME.finditer(said, start, end):
            bounded = read_bounded(match["bound"], match["number"])
            if attribute is None or minutes is None or bounded is None:
                continue
            if not _SAID_TIME.search(said, start, end):
                continue
            value = (bounded.value + 0.5 * bool(match["half"])) * _MINUTES[match["unit"]]
            truth = Bounded(value, bounded.bound).holds(minutes, minutes, _slack(match["unit"]))
            if truth is not None:
                words = [m.span() for m in _SAID_TIME.finditer(said, start, end)]
                yield _fact(match.start(), match.end(), truth, attribute, words)
        for header, cue in _ROLES:
            yield from self._money(said, start, end, header, cue)

    def _money(
        self, said: str, start: int, end: int, header: re.Pattern[str], cue: re.Pattern[str]
    ) -> Iterator[Fact]:
        attribute = self.profile.find(header)
        words = [m.span() for m in cue.finditer(said, start, end)]
        if attribute is None or not words:
            return
        if any(other.search(said, start, end) for _, other in _ROLES if other is not cue):
            return  # "more than it cost"
        stated = [float(q.number.value) for q in find_quantities(attribute.text.casefold())]
        for match in _MONEY.finditer(said, start, end):
            spelled = re.sub(r"(\d)\s?m\b", r"\1 million", match["amount"])
            read = find_quantities(spelled)
            if not stated or not read or float(read[0].number.value) < 1000:
                continue
            bounded = read_bounded(match["bound"], "1")
            bound = bounded.bound if bounded else ""
            value = float(read[0].number.value)
            wanted = Bounded(value, bound)
            truth = wanted.holds(min(stated), max(stated), 0.02 * value)
            if truth is not None:
                yield _fact(match.start(), match.end(), truth, attribute, words)


def _minutes(text: str) -> float | None:
    """A length in minutes: "46:21", "2 hours 4 minutes", "124 minutes"."""
    if match := _CLOCK.search(text):
        return 60 * int(match[1] or 0) + int(match[2]) + int(match[3]) / 60
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(hours?|hrs?|h|minutes?|mins?|min)\b", text.casefold())
    if not parts or len(parts) > 2 or len({unit[0] for _, unit in parts}) < len(parts):
        return None
    return sum(float(number) * (60 if unit[0] == "h" else 1) for number, unit in parts)


def _slack(unit: str) -> float:
    return 6.0 if unit == "hour" else 1.0


def _fact(
    start: int, end: int, truth: bool, attribute: Attribute, words: list[tuple[int, int]]
) -> Fact:
    reason = f"the info box has {attribute.header}: {attribute.text}"
    return Fact(start, end, truth, reason, (attribute,), ((start, end), *words), "NUM")
