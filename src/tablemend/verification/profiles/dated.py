"""Times that a text tells of a dated thing: decades, seasons, ages, and how long it went on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablemend.verification.profiles.events import Event, events_of
from tablemend.verification.profiles.facts import Fact
from tablemend.verification.profiles.periods import (
    Period,
    ages,
    find_periods,
    of_years,
    seasons,
    years_between,
)
from tablemend.verification.profiles.profile import Profile
from tablemend.verification.profiles.quantities import BOUND, NUMBER, Bounded, read_bounded

_TENS = {
    "twenties": 20,
    "thirties": 30,
    "forties": 40,
    "fifties": 50,
    "sixties": 60,
    "seventies": 70,
    "eighties": 80,
    "nineties": 90,
}
_ORDINALS = {
    "seventeenth": 17,
    "eighteenth": 18,
    "nineteenth": 19,
    "twentieth": 20,
    "twenty-first": 21,
    "twenty first": 21,
}
_WHOSE = r"(?:his|her|their|its)"
_PART = r"(?:(?P<part>early|mid|middle|late)(?: part)?(?: of the |[ -]))?"
_DECADE = re.compile(rf"\b{_PART}(?P<century>1\d|20)(?P<ten>\d)0'?s\b")
_SHORT_DECADE = re.compile(rf"\bthe {_PART}(?:'?(?P<ten>\d)0'?s|(?P<word>{'|'.join(_TENS)}))\b")
_CENTURY = re.compile(
    rf"\b{_PART}(?P<number>\d\d?(?:st|nd|rd|th)|{'|'.join(_ORDINALS)})[ -]century\b"
)
_SEASON = re.compile(r"\b(?P<season>spring|summer|autumn|fall|winter)(?: months)?(?: of)?\b")
_MONTH = re.compile(
    r"\b(?:in|of|during|on) (?P<month>january|february|march|april|may|june|july|august|september"
    r"|october|november|december)\b(?! \d)"
)
_MONTHS = (
    "january february march april may june july august september october november december"
).split()
_IN_AGE = re.compile(
    rf"\bin (?:{_WHOSE}|the) (?P<part>early |mid |mid-|late )?"
    rf"(?:(?P<ten>\d)0'?s|(?P<word>{'|'.join(_TENS)})|(?P<teens>teens|teen years))\b"
    rf"|\b(?P<teen>(?:as|was|were|since) an? teen(?:ager)?)\b"
)
_AGE = re.compile(
    rf"(?:\b(?P<edge>before|after|by|until) )?"
    rf"(?:\b(?:(?:he|she|they|it|becoming|being) )?\b(?:was|were|is|are|turn(?:ed|ing|s)?|be) "
    rf"(?:(?P<bound>{BOUND}) )?(?P<be>{NUMBER})(?: years?[ -](?:old|of age)|(?= when)|(?=[.,]?$))"
    rf"|\b(?:at )?(?:the |an )?age (?:of )?(?:(?P<bound_age>{BOUND}) )?"
    rf"(?P<age>\d{{1,3}}|{NUMBER})\b"
    rf"|\b(?:at|aged) (?P<at>\d\d)(?: years?(?: old| of age)?)?(?=[.,]?$| when))"
)
_UNIT = r"(?P<unit>years?|decades?|centur(?:y|ies)|months?)"
_LASTED = re.compile(rf"\b(?<!and )(?:(?P<bound>{BOUND}) )?(?P<number>{NUMBER})[ -]{_UNIT}\b")
_EACH = re.compile(r"\b(?:each|every|once|twice|per|first|last|in|and|of) $")
_AGO = re.compile(r" ago\b")
_LATER = re.compile(r" (?:before|after|later|earlier|prior|apart|between)\b")
_YEARS = {"year": 1.0, "decade": 10.0, "centur": 100.0, "month": 1 / 12}
_EDGE = re.compile(r"\b(?P<edge>before|after|since|until|prior to|as of|by)(?: the)?(?: year)? $")
_IN = re.compile(r"\b(?:in|on|of|during|from|as of|at)(?: the)?(?: year| early| late| mid)? $")
_WENT_ON = re.compile(r"\b(?:ran|run|running|published|publication|series)\b")
_LIVED = re.compile(r"\b(?:lived?|living|alive|life|lifespan|lifetime)\b")
_NOW = re.compile(r"\b(?:is|are|'s)\b")
_DENIED = re.compile(r"\b(?:not|never|no longer|n't)\b|n't\b")
_STARTED = re.compile(r"\b(?:start\w*|beg[au]n|beginning|first|became|becoming|formed|since)\b")
_ENDED = re.compile(r"\b(?:end(?:ed|ing)|stop\w*|quit|retired|ceased|broke up|disband\w*|until)\b")


class Dated:
    """Judges the times of one info box.

    Args:
        profile: the info box.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.events = events_of(profile)
        self._by_kind = {event.kind: event for event in self.events}

    def facts(self, said: str, start: int, end: int) -> Iterator[Fact]:
        """What a sentence says of times.

        Args:
            said: the text in small letters.
            start: where the sentence begins.
            end: where it ends.
        """
        if not self.events or _DENIED.search(said, start, end):
            return
        taken: list[tuple[int, int]] = []
        for found in (
            *self._ages(said, start, end),
            *self._lengths(said, start, end),
            *self._moments(said, start, end),
        ):
            if not any(s < found.end and found.start < e for s, e in taken):
                taken.append((found.start, found.end))
                yield found

    def cue(self, said: str, start: int, end: int, place: int) -> tuple[Event, int, int] | None:
        """The event of which something at a place is told: of the words before it, or behind."""
        found = [
            (*match.span(), event)
            for event in self.events
            for match in event.said.finditer(said, start, end)
        ]
        before = [one for one in found if one[1] <= place]
        behind = [one for one in found if one[0] >= place]
        chosen = (
            max(before, key=lambda one: one[1])
            if before
            else min(behind, key=lambda one: one[0], default=None)
        )
        return (chosen[2], chosen[0], chosen[1]) if chosen else None

    # ---- when

    def _moments(self, said: str, start: int, end: int) -> Iterator[Fact]:
        for first, last, period in self._periods(said, start, end):
            before = said[max(start, first - 24) : first]
            found = self.cue(said, start, end, first)
            if found is None or re.search(r"\b(?:from|between|and|to|-)\s*(?:the )?$", before):
                continue
            event, *words = found
            edge = _EDGE.search(before)
            opened = event.end != event.start
            when = event.start
            if opened and _ENDED.search(said, words[0] - 20 if words[0] > 20 else 0, first):
                if event.end is None:
                    continue
                when = event.end
            if edge and edge["edge"] in ("before", "prior to", "by", "until"):
                truth = when.before(Period(period.first, period.first))
                if edge["edge"] == "until":
                    continue
            elif edge and edge["edge"] == "after":
                truth = Period(period.last, period.last).before(when)
            elif edge and edge["edge"] == "since":
                truth = when.within(period)
                if truth is False and when.before(period):
                    truth = None  # before and since
            elif _IN.search(before) or first == start or before.endswith(("the ", ", ")):
                truth = when.within(period)
                if truth is not True and opened and not _STARTED.search(said, start, first):
                    truth = self._during(event, period)
                if truth is not True and event.others:
                    several = [other.within(period) for other in event.others]
                    truth = True if True in several else None if None in several else truth
            else:
                continue
            if truth is not None:
                edges = edge.span("edge") if edge else (0, 0)
                shift = max(start, first - 24)
                used = [*words, edges[0] + shift, edges[1] + shift] if edge else words
                yield self._fact(first, last, truth, (event,), used)
        yield from self._named_times(said, start, end)

    def _during(self, event: Event, period: Period) -> bool | None:
        """Whether what takes its time went on in a period."""
        if event.start.first > period.last:
            return False
        return event.end is None or event.end.last >= period.first

    def _periods(self, said: str, start: int, end: int) -> Iterator[tuple[int, int, Period]]:
        taken = []
        for match in _DECADE.finditer(said, start, end):
            first = int(match["century"]) * 100 + int(match["ten"]) * 10
            # "the 1800s" may be ten years or a hundred
            period = _part(first, first + (99 if match["ten"] == "0" else 9), match["part"])
            taken.append(match.span())
            if period:
                yield (*match.span(), period)
        for match in _SHORT_DECADE.finditer(said, start, end):
            ten = _TENS.get(match["word"] or "") or int(match["ten"] or 0) * 10
            at = match.start("word") if match["word"] else match.start("ten")
            if any(s <= at < e for s, e in taken):
                continue
            taken.append(match.span())
            if period := _part(1900 + ten, 1909 + ten, match["part"]):
                yield (match.start() + 4, match.end(), period)
        for match in _CENTURY.finditer(said, start, end):
            word = match["number"]
            number = _ORDINALS.get(word) or int(re.sub(r"\D", "", word))
            taken.append(match.span())
            if (
                said[max(0, match.start() - 12) : match.start()]
                .rstrip()
                .endswith(("half of the", "turn of the"))
            ):
                continue
            if period := _part(number * 100 - 100, number * 100 - 1, match["part"]):
                yield (*match.span(), period)
        for first, last, period in find_periods(said[start:end]):
            if not any(s < start + last and start + first < e for s, e in taken):
                yield (start + first, start + last, period)

    def _named_times(self, said: str, start: int, end: int) -> Iterator[Fact]:
        """Seasons, and months without a year."""
        for match in _SEASON.finditer(said, start, end):
            before = said[max(start, match.start() - 8) : match.start()]
            found = self.cue(said, start, end, match.start())
            if found is None or not (
                match.start() == start or re.search(r"\b(?:in|during|of|the|a) $", before)
            ):
                continue
            event, *words = found
            name = match["season"].replace("fall", "autumn")
            possible = seasons(event.start)
            several = len(set(event.others)) > 1
            if not possible or several:
                continue
            if name in possible and len(possible) > 1:
                yield self._fact(*match.span(), True, (event,), words)
            elif len(possible) == 1 or name not in possible:
                yield self._fact(*match.span(), name in possible, (event,), words)
        for match in _MONTH.finditer(said, start, end):
            found = self.cue(said, start, end, match.start())
            if found is None:
                continue
            event, *words = found
            own = {
                p.first.month for p in (event.start, *event.others) if p.first.month == p.last.month
            }
            if own and event.start == event.end:
                said_month = _MONTHS.index(match["month"]) + 1
                yield self._fact(*match.span("month"), said_month in own, (event,), words)

    # ---- how old

    def _ages(self, said: str, start: int, end: int) -> Iterator[Fact]:
        birth = self._by_kind.get("birth")
        if birth is None:
            return
        for match in _IN_AGE.finditer(said, start, end):
            if match["teens"] or match["teen"]:
                low, high = 13, 19
            else:
                low = _TENS.get(match["word"] or "") or int(match["ten"] or 0) * 10
                high = low + 9
                low, high = _narrowed(low, high, match["part"])
            yield from self._age(said, (start, end), match, birth, Bounded(low, "least"), high)
        for match in _AGE.finditer(said, start, end):
            number = match["be"] or match["age"] or match["at"]
            bounded = read_bounded(match["bound"] or match["bound_age"], number)
            if bounded is None or bounded.value != int(bounded.value):
                continue
            if number in ("a", "an", "no", "both"):
                continue
            if match["edge"] in ("before", "after", "by", "until"):
                bound = {"before": "under", "after": "least", "by": "most"}.get(match["edge"])
                if bound is None:
                    continue
                bounded = Bounded(bounded.value, bound)
            yield from self._age(said, (start, end), match, birth, bounded, None)

    def _age(
        self,
        said: str,
        sentence: tuple[int, int],
        match: re.Match[str],
        birth: Event,
        bounded: Bounded,
        high: int | None,
    ) -> Iterator[Fact]:
        found = self.cue(said, *sentence, match.start())
        others = [event for event in self.events if event.kind != "birth"]
        if found is not None and found[0].kind == "birth":
            found = None
        if found is None:
            # told of another time than those of the info box, or of today
            if "death" in self._by_kind or not _NOW.search(said, sentence[0], match.end()):
                return
            today = self.profile.today
            if today is None or re.search(r"\b(?:when|was|were|at)\b", said[slice(*sentence)]):
                return
            possible, words, told = ages(birth.start, today), list[int](), [birth]
        else:
            event, *words = found
            if event not in others or event.kind not in ("death", "career"):
                return
            began = event.kind == "death" or _STARTED.search(said, *sentence)
            if not began and "since" not in said[slice(*sentence)]:
                return
            possible, told = ages(birth.start, event.start), [birth, event]
        if high is None:
            truth = bounded.holds(min(possible), max(possible))
            if truth is None and not bounded.bound and bounded.value in possible:
                truth = True
        else:
            inside = [bounded.value <= age <= high for age in possible]
            truth = all(inside) if all(inside) or not any(inside) else None
            if truth is None and any(inside):
                truth = True
        if truth is not None:
            yield self._fact(*match.span(), truth, tuple(told), words)

    # ---- how long

    def _lengths(self, said: str, start: int, end: int) -> Iterator[Fact]:
        for match in _LASTED.finditer(said, start, end):
            bounded = read_bounded(match["bound"], match["number"])
            tail = said[match.end() : end]
            if bounded is None or re.match(r"[ -](?:old|of age)\b", tail) or _LATER.match(tail):
                continue
            if re.search(
                r"\b(?:each|every|once|twice|per|first|last|in|and|of) $",
                said[start : match.start()],
            ):
                continue
            unit = next(size for name, size in _YEARS.items() if match["unit"].startswith(name))
            bounded = Bounded(bounded.value * unit, bounded.bound)
            if bounded.value == 0:
                continue
            found = self._stretch(said, start, end, match)
            if found is None:
                continue
            low, high, told, words = found
            slack = 1.0 if bounded.value >= 2 else 0.25
            truth = bounded.holds(low, high, slack)
            if truth is not None:
                yield self._fact(*match.span(), truth, told, words)

    def _stretch(
        self, said: str, start: int, end: int, match: re.Match[str]
    ) -> tuple[float, float, tuple[Event, ...], list[int]] | None:
        """The least and the greatest time of what a sentence speaks of, in years."""
        birth, death = self._by_kind.get("birth"), self._by_kind.get("death")
        ago = _AGO.match(said, match.end())
        lived = _LIVED.search(said, start, end)
        if lived and birth and not ago:
            if death is None:
                return None
            low, high = years_between(birth.start, death.start)
            return low, high, (birth, death), list(lived.span())
        found = self.cue(said, start, end, match.start())
        if found is None:
            return None
        event, *words = found
        if ago:
            return (*self._until_today(event.start), (event,), [*words, *ago.span()])
        if event.end is None:
            if not re.search(r"\b(?:has|have|been|is|are|'s|for)\b", said[start:end]):
                return None
            return (*self._until_today(event.start), (event,), words)
        if event.end == event.start:
            return None
        if event.kind == "release" and not _WENT_ON.search(said, start, end):
            return None
        low, high = years_between(event.start, event.end)
        return low, high, (event,), words

    def _until_today(self, start: Period) -> tuple[float, float]:
        """How long ago: by an age that the info box tells; else since its last day, or longer."""
        if self.profile.today is not None:
            return years_between(start, self.profile.today)
        latest = self.profile.latest or start
        return years_between(start, latest)[0], float("inf")

    def _fact(
        self, start: int, end: int, truth: bool, told: tuple[Event, ...], words: list[int]
    ) -> Fact:
        pairs = list(zip(words[::2], words[1::2], strict=True))
        stated = "; ".join(f"{event.attribute.header}: {event.attribute.text}" for event in told)
        reason = f"the info box has {stated}"
        attributes = tuple(event.attribute for event in told)
        return Fact(start, end, truth, reason, attributes, ((start, end), *pairs))


def _narrowed(low: int, high: int, part: str | None) -> tuple[int, int]:
    """The early, middle or late part of a stretch of numbers, with room at its inner ends."""
    if not part:
        return low, high
    third = (high - low + 1) // 3 + 1
    word = part.strip(" -")
    if word == "early":
        return low, low + third
    return (high - third, high) if word == "late" else (low + third - 1, high - third + 1)


def _part(first: int, last: int, part: str | None) -> Period | None:
    return of_years(*_narrowed(first, last, part))
