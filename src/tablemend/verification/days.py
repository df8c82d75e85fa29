"""Which days of a table a number is said of: named beside it, or before it in the text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain

from tablemend.verification.reading import Moment, Reading

_RELATIVE = re.compile(
    r"\b(?:(?:following|next|same|previous|subsequent|second|third|fourth|fifth|first|last|final)"
    r"(?: \w+)? day|tomorrow|today|tonight|day (?:\d|one|two|three|four|five)|days later"
    r"|weekend|rest of the)\b"
)
_WHOLE = re.compile(r"\b(?:overall|throughout|entire|whole|week|days|period|forecast|in general)\b")
_NEXT = re.compile(r"[^,;.\d]{0,30}?\b(?:on|in|by|for|during)\s+(?:[a-z]+ )?$|\s*\(?$")
_NEW = re.compile(r"\. [A-Z]")
_TO = re.compile(r"\s*(?:to|through|until|and|-|\u2013)\s*(?:[a-z]+,? )?$")
_FROM = re.compile(r"\b(?:from|between)\s+(?:[a-z]+,? )?$")
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()

Rows = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Period:
    """The rows of a period.

    Attributes:
        choices: the rows that can be meant; several where the text does not say it again.
        wide: more rows that a range or a state can be told of, where several days are named.
        name: for a person: "on 2024-01-03".
        named: whether the sentence itself names it.
    """

    choices: tuple[Rows, ...]
    name: str
    named: bool
    wide: tuple[Rows, ...] = ()


class Periods:
    """The periods that the sentences of a text speak of, in one table.

    Args:
        reading: the text.
        days: ISO day -> its rows, in the order of the table.
        weekdays: whether the table names weekdays; a text that makes them up counts otherwise.
    """

    def __init__(self, reading: Reading, days: Mapping[str, Rows], weekdays: bool) -> None:
        self._weekdays = weekdays
        self._reading = reading
        self._days = days
        self._all: Rows = tuple(chain.from_iterable(days.values()))
        self.spoken = [self._read(*sentence) for sentence in reading.sentences]
        self._before: list[Rows] = []  # what held before each sentence
        self._carried = self._carry()

    def of(self, sentence: int, start: int, end: int) -> Period | None:
        """The period of what is said at a place; ``None`` where it is not clear or not known."""
        spoken = self.spoken[sentence]
        if not spoken:
            return self._carried[sentence]
        plain = self._reading.plain
        after = [one for one in spoken if one[0] >= end]
        if after and _NEXT.fullmatch(plain[end : after[0][0]]):
            return after[0][2]
        before = [one for one in spoken if one[1] <= start]
        if before:
            period = before[-1][2]
            passed = self._reading.text[before[-1][1] : start]
            if period and (len(spoken) > 1 or _NEW.search(passed) or self._is_whole(sentence)):
                named = [one[2].choices[0] for one in spoken if one[2]]
                return replace(period, wide=(tuple(chain.from_iterable(named)), self._all))
            return period
        # "Temperatures range from 1 to 5 °C, the coldest on Friday": of all days, or of that one.
        period = after[0][2] if len(spoken) == 1 else None
        return period and Period((*period.choices, self._before[sentence], self._all), "", False)

    def _is_whole(self, sentence: int) -> bool:
        return _WHOLE.search(self._reading.plain, *self._reading.sentences[sentence]) is not None

    def _read(self, start: int, end: int) -> list[tuple[int, int, Period | None]]:
        """The periods that a sentence names: places, and rows where the table has them."""
        plain = self._reading.plain
        moments = [
            m
            for m in self._reading.moments
            if start <= m.start < end and m.kind in ("date", "weekday")
        ]
        found: list[tuple[int, int, Period | None]] = []
        place = 0
        while place < len(moments):
            one = moments[place]
            day = self._day(one)
            after = moments[place + 1] if place + 1 < len(moments) else None
            between = plain[one.end : after.start] if after else ""
            if after and one.kind == "weekday" and re.fullmatch(r"[\s,(]*(?:the )?", between):
                place += 1  # "Monday, January 3": the date counts
                continue
            last = self._day(after) if after and _TO.fullmatch(between) else None
            if after and _TO.fullmatch(between):
                ranged = bool(_FROM.search(plain, max(start, one.start - 20), one.start))
                known = [d for d in self._days if day and last and day <= d <= last]
                listed = [d for d in (day, last) if d]
                chosen = known if ranged or " and " not in between else listed
                rows = tuple(row for d in chosen for row in self._days[d])
                rows = rows if day and last else ()
                name = f"{day} to {last}"
                found.append((one.start, after.end, Period((rows,), name, True) if rows else None))
                place += 2
                continue
            period = Period((self._days[day],), f"on {day}", True) if day else None
            found.append((one.start, one.end, period))
            place += 1
        return found

    def _day(self, moment: Moment) -> str | None:
        """The one day of the table that is named."""
        if moment.kind == "weekday":
            fitting = [
                day
                for day in self._days
                if self._weekdays and WEEKDAYS[date.fromisoformat(day).weekday()] in moment.readings
            ]
        else:
            # "January 3rd" has no year: "--01-03"
            fitting = [
                day
                for day in self._days
                if day in moment.readings or f"--{day[5:]}" in moment.readings
            ]
        return fitting[0] if len(fitting) == 1 else None

    def _carry(self) -> list[Period | None]:
        """For every sentence without a period what holds in it."""
        everything = Period((self._all,), "in all rows", False)
        carried: list[Period | None] = []
        current: Period | None = everything
        for sentence, spoken in zip(self._reading.sentences, self.spoken, strict=True):
            plain = self._reading.plain[sentence.start : sentence.end]
            self._before.append(current.choices[0] if current else self._all)
            if spoken:
                last = spoken[-1][2] if len(spoken) == 1 else None
                # Not said again, all rows may be meant as well.
                current = last and Period((*last.choices, self._all), last.name, False)
                carried.append(None)
            elif _RELATIVE.search(plain):
                current = None
                carried.append(None)
            elif _WHOLE.search(plain):
                carried.append(everything)
            else:
                carried.append(current)
        return carried
