"""Values at a time, in a table of one quantity over time: "0.0243 on May 24", "1.2 in May 2020"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from tablemend.evidence.grid import Grid
from tablemend.values.cells import year_of
from tablemend.values.numbers import plain_digits
from tablemend.values.sentences import Span
from tablemend.verification.findings import Finding
from tablemend.verification.grounding import Grounder
from tablemend.verification.reading import Amount, Moment

_FEWEST = 8  # rows
_WHEN = r"(?:the )?(?:end of |beginning of |start of |middle of |early |mid-?|late )*"
_AFTER = re.compile(
    rf"[^,;.:\d]{{0,45}}?\b(?:in|on|as of|by|recorded on|around|during|at) {_WHEN}$|\s*\((?:in )?$"
)
_BEFORE = re.compile(
    r",? (?:[a-z]+ ){0,8}?(?:was|were|is|at|of|to|reached|reaching|stood at|recorded|had)"
    r" (?:(?:about|around|approximately|roughly|over|nearly|just|a|an|low|high|peak|value|of|only)"
    r" )*$"
)
_SHIFTED = re.compile(r"\b(?:since|until|before|after|between|average|mean|total|cumulative)\b")
_LISTED = re.compile(r"(?:\band|,|\bto) $")  # "in October and November 2020, with 1.7"
_DATE = re.compile(r"\d{4}(?:-\d\d){0,2}")


@dataclass(frozen=True, slots=True)
class _Timeline:
    """A table of dates and of one column of numbers.

    Attributes:
        grid: the table.
        column: column of the numbers.
        dates: row -> its date, in ISO form: a day, a month or a year.
    """

    grid: Grid
    column: int
    dates: dict[int, str]

    def rows(self, moment: Moment) -> list[int]:
        """The rows that lie in a period; a month without a year is that of any year."""
        found = []
        for row, day in self.dates.items():
            if any(
                day.startswith(reading)
                if not reading.startswith("--")
                else day[5:].startswith(reading[2:])
                for reading in moment.readings
            ):
                found.append(row)
        return found


class Timelines:
    """Judges the values that a text gives at a time.

    Args:
        grounder: of the text and its tables.
    """

    def __init__(self, grounder: Grounder) -> None:
        self.linking = linking = grounder.linking
        self._grounder = grounder
        found = [_read(grid, self._grounder) for grid in linking.source.grids]
        self._timelines = [timeline for timeline in found if timeline is not None]

    def judge(self, number: int) -> list[Finding]:
        """Findings on a sentence; none where there is not exactly one such table."""
        if len(self._timelines) != 1:
            return []
        return list(self._judge(self._timelines[0], number))

    def _judge(self, timeline: _Timeline, number: int) -> Iterator[Finding]:
        links = self.linking.sentence_links[number][timeline.grid.number]
        moments = [link.moment for link in links.moments]
        if "respectively" in self.linking.reading.plain[links.span.start : links.span.end]:
            return
        for amount in links.amounts:
            if (
                amount.role != "value"
                or amount.spelled
                or amount.number.unit.symbol in ("day", "week", "month")
            ):
                continue
            if amount.hedge not in ("", "about"):
                continue
            moment = self._moment(amount, moments)
            rows = timeline.rows(moment) if moment else []
            if moment is not None and rows:
                yield self._compare(timeline, amount, rows, moment)

    def _moment(self, amount: Amount, moments: list[Moment]) -> Moment | None:
        """The period that stands right behind an amount, or right before it."""
        plain = self.linking.reading.plain
        for moment in moments:
            between = plain[amount.end : moment.start]
            if moment.start >= amount.end and _AFTER.fullmatch(between):
                return None if _SHIFTED.search(between) else moment
        for moment in reversed(moments):
            between = plain[moment.end : amount.start]
            if moment.end <= amount.start and _BEFORE.fullmatch(between):
                before = plain[max(0, moment.start - 20) : moment.start]
                shifted = _SHIFTED.search(between) or _SHIFTED.search(before)
                return None if shifted or _LISTED.search(before) else moment
        return None

    def _compare(
        self, timeline: _Timeline, amount: Amount, rows: list[int], moment: Moment
    ) -> Finding:
        number = timeline.grid.number
        values = {
            row: value.value
            for row in rows
            if (value := self._grounder.number(number, row, timeline.column)) is not None
        }
        unit = Decimal(1).scaleb(-(amount.number.decimals or 0)) * amount.number.unit.scale
        slack = unit if amount.hedge != "about" else max(unit, abs(amount.value) / 20)
        same = [
            row
            for row, value in values.items()
            # a share of 0.024 is 2.4 %
            if any(abs(amount.value - value * factor) < slack for factor in (1, 100))
        ]
        shown = same[:1] or list(values)[:2]
        said = self.linking.reading.text[moment.start : moment.end]
        low, high = min(values.values()), max(values.values())
        told = plain_digits(low) if low == high else f"{plain_digits(low)} to {plain_digits(high)}"
        return Finding(
            amount.start,
            amount.end,
            "number",
            "supported" if same else "contradicted",
            None if same else "NUM",
            self._grounder.evidence(number, [(row, timeline.column) for row in shown]),
            f"{timeline.grid.columns[timeline.column].header}: {told} ({said})",
            None if same else Span(amount.start, amount.digits_end),
            () if same or low != high else (plain_digits(low),),
            firm=True,
        )


def _read(grid: Grid, grounder: Grounder) -> _Timeline | None:
    """The table as a quantity over time: dates, all different, and one column of numbers."""
    if grid.transposed or grid.key_value or len(grid.lines) < _FEWEST or len(grid.columns) != 2:
        return None
    times = [column.index for column in grid.columns if column.kind == "date"]
    times = times or [c.index for c in grid.columns if c.index == grid.key]
    if len(times) != 1:
        return None
    column = next(c.index for c in grid.columns if c.index != times[0])
    dates: dict[int, str] = {}
    for line in grid.lines:
        value = grid.value(line.index, times[0])
        day = value.dates[0] if value.dates else year_of(value) or ""
        if not _DATE.fullmatch(day):
            return None
        if grounder.number(grid.number, line.index, column) is not None:
            dates[line.index] = day
    if len(dates) < _FEWEST or len(set(dates.values())) != len(dates):
        return None
    return _Timeline(grid, column, dates)
