"""Times of a statement that narrow rows down: years, dates, months, before, after, between."""

from __future__ import annotations

from collections.abc import Iterator

from tablemend.values.dates import parse_date
from tablemend.verifier.frame import Frame
from tablemend.verifier.measures import date_order
from tablemend.verifier.row_filter import RowFilter, range_set
from tablemend.verifier.views import ColumnIndex

_BEFORE = frozenset("before until till prior".split())
_AFTER = frozenset("after since following".split())


def years(frame: Frame, dated: frozenset[int]) -> Iterator[RowFilter]:
    """As in "in 2004", "before 2000", "after October 5", "between 2003 and 2009"."""
    columns = [column for column in frame.view.columns if column.temporal]
    if not columns:
        return
    skip = -1
    for number, stated in enumerate(frame.amounts):
        if stated.amount.role != "year" and not 1500 <= stated.value <= 2100:
            continue
        if number <= skip or stated.amount.number.decimals or stated.first in dated:
            continue
        first, last, low, high = stated.first, stated.last, stated.value, stated.value
        used = set(range(first, last))
        word = frame.words[first - 1] if first else ""
        following = frame.amounts[number + 1] if number + 1 < len(frame.amounts) else None
        if (
            following
            and 1500 <= following.value <= 2100
            and following.first - last <= 1
            and (word in ("between", "from") or following.first == last)
        ):
            high, last, skip = following.value, following.last, number + 1
            used |= set(range(first - (word in ("between", "from")), last))
        elif word in _BEFORE:
            low, high = float("-inf"), stated.value - 1
            used.add(first - 1)
        elif word in _AFTER:
            low, high = stated.value + (word == "after"), float("inf")
            used.add(first - 1)
        elif stated.amount.hedge in ("over", "under"):
            continue
        for column in columns:
            rows = frozenset(
                row
                for row in frame.rows
                if (years := years_of(column, row)) and years[0] <= high and low <= years[1]
            )
            if (rows and len(rows) < len(frame.rows)) or (rows and len(columns) == 1):
                yield RowFilter(first, last, rows, frozenset(used), 0.8, column.index)
                break


def days(frame: Frame) -> Iterator[RowFilter]:
    """As in "before May 20", "after October 5, 2004", "between May 20 and August 12"."""
    dates = [link.moment for link in frame.links.moments if link.moment.kind in ("date", "month")]
    skip = -1
    for number, moment in enumerate(dates):
        first, last = frame.token_range(moment.start, moment.end)
        day = date_order(moment.readings[0])
        if number <= skip or day is None or not first:
            continue
        word = frame.words[first - 1]
        low, high, end = float("-inf"), float("inf"), last
        if word in ("between", "from") and number + 1 < len(dates):
            other = dates[number + 1]
            until, end = frame.token_range(other.start, other.end)
            upper = date_order(other.readings[0])
            if upper is None or until - last > 1:
                continue
            low, high, skip = day, upper, number + 1
        elif word in _BEFORE:
            high = day - 0.5
        elif word in _AFTER:
            low = day + (word == "after") * 0.5
        else:
            continue
        yearless = moment.readings[0].startswith("--")
        for column in frame.view.columns:
            if column.kind != "date":
                continue
            rows = frozenset(
                row
                for row in frame.rows
                if (value := _day_of(column, row, yearless)) is not None and low <= value <= high
            )
            if rows:
                used = range_set(first - 1, end)
                yield RowFilter(first, end, rows, used, 0.8, column.index, True)
                break


def months(frame: Frame) -> Iterator[RowFilter]:
    """As in "in October" where nothing else dates it."""
    for cue in frame.cues:
        if cue.kind != "temporal" or cue.sense != "month":
            continue
        first, last = frame.token_range(cue.start, cue.end)
        dated = any(link.start < cue.end and cue.start < link.end for link in frame.links.moments)
        if dated or first == last or not parse_date(f"{frame.words[first]} 1"):
            continue
        month = parse_date(f"{frame.words[first]} 1")[0][1:4]
        for column in frame.view.columns:
            if column.kind != "date":
                continue
            rows = frozenset(
                row
                for row, dates in column.dates.items()
                if any(reading[4:7] == month or reading[1:4] == month for reading in dates)
            )
            if rows:
                yield RowFilter(first, last, rows, range_set(first, last), 0.9, column.index)
                break


def _day_of(column: ColumnIndex, row: int, yearless: bool) -> float | None:
    """The day of a cell; within its year where the statement names no year."""
    dates = column.dates.get(row)
    if not dates:
        return None
    reading = dates[0]
    if yearless and not reading.startswith("--"):
        return date_order(f"-{reading[4:]}") if len(reading) == 10 else None
    return date_order(reading) if yearless == reading.startswith("--") else None


def years_of(column: ColumnIndex, row: int) -> tuple[float, float] | None:
    """The first and last year of a cell."""
    measure = column.measures.get(row)
    if measure is None:
        return None
    if measure.kind == "span":
        return measure.value, measure.second if measure.second is not None else measure.value
    if measure.kind == "date":
        dates = column.dates.get(row)
        if not dates or dates[0].startswith("--"):
            return None
        year = float(dates[0][:4])
        return year, float(dates[0][5:9]) if "/" in dates[0] else year
    return (measure.value, measure.value) if column.years else None
