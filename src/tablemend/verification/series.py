"""Tables whose rows are told apart by date and time of day: values, ranges and peaks of a day.

A forecast or a log has many rows a day. "On Monday, temperatures range from 2 to 7 °C" speaks of
the smallest and the largest value of Monday's rows; "The wind speed will be 3 m/s" behind it still
speaks of Monday.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from tablemend.evidence.grid import Grid
from tablemend.values.numbers import plain_digits
from tablemend.values.sentences import Span
from tablemend.verification.days import WEEKDAYS, Period, Periods
from tablemend.verification.findings import Finding
from tablemend.verification.grounding import Grounder
from tablemend.verification.lexicon import header_terms, terms
from tablemend.verification.linking import CellLink
from tablemend.verification.reading import Amount

Role = Literal["low", "high", "value"]

_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
_FEWEST = 4  # rows
# What an amount of a unit measures, where the header does not name the unit.
_QUANTITIES: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (
        re.compile(rf"\s?(?:{unit})(?![a-z])"),
        tuple(t for word in words.split() for t in terms(word)),
    )
    for unit, words in (
        (r"°\s?c|degrees?(?: celsius)?|celsius", "temperature"),
        (r"m/s|met(?:er|re)s? per second", "speed gust"),
        (r"hpa|hectopascals?|mbar|millibars?", "pressure"),
        (r"mm|millimet(?:er|re)s?", "rain snow precipitation"),
    )
)
_OTHER_UNIT = re.compile(
    r"\s?(?:°\s?f|degrees? fahrenheit|fahrenheit|km/h|kph|mph|kilomet\w+|miles|knots|inch\w*|cm"
    r"|centimet\w+|°(?!\s?c)|hours?|minutes?|days?|times?|-?hour|h\b|am\b|pm\b|o'clock)(?![a-z])"
)
_CONVERTED = re.compile(r"\s?(?:°\s?f|degrees? fahrenheit|km/h|kph|mph|knots|inch\w*)(?![a-z])")
_DIGITS = re.compile(r"[-\u2212]?\d[\d,]*(?:\.\d+)?")
_OPENING = re.compile(r"\b(?:from|between|rang\w+|var(?:y|ies|ied|ying)|fluctuat\w+)\b[^,;.]*$")
_JOINING = re.compile(
    r"\s*(?:to|and|up to|-|\u2013)\s+(?:reach(?:ing)? )?(?:(?:around|about|approximately|roughly"
    r"|nearly) )?(?:an? )?(?:(?:highs?|maximum|lows?|minimum) (?:of )?)?"
    r"(?:(?:around|about|approximately|roughly|nearly) )?[-\u2212]?\s*$"
)
_HIGH = re.compile(
    r"\b(?:highs?|highest|maximum|max|as high as|up to|peak(?:s|ed|ing)?(?: at)?)\b"
    r"(?: (?:temperatures?|gusts?|speeds?|values?|pressure|wind|winds|of|at|around|about|is|was"
    r"|will|be|reach\w*|approximately|near|a|the))*\s*[-\u2212]?$"
)
_LOW = re.compile(
    r"\b(?:lows?|lowest|minimum|min|as low as)\b"
    r"(?: (?:temperatures?|gusts?|speeds?|values?|pressure|wind|winds|of|at|around|about|is|was"
    r"|will|be|approximately|near|a|the))*\s*[-\u2212]?$"
)
_SPREAD = re.compile(r"\b(?:highs|lows|maxim\w+|minim\w+|averag\w+|mean|daily)\b[^,;.]*$")
_VAGUE = re.compile(
    r"\b(?:morning|afternoon|evening|night|nighttime|daytime|noon|midday|midnight|dawn|dusk"
    r"|overnight|during the day|sunrise|sunset|early|late|later|initially|start\w*|begin\w*|end\w*"
    r"|typically|generally|average|averag\w+|mean|usually|between \d+:|hours?|am|pm|first|last"
    r"|then|before|after|by|mid-?day|overall)\b|\d:\d\d"
)
_BETWEEN = re.compile(
    r"(?:[\s,]|\b(?:will|is|are|was|were|be|been|of|at|to|from|between|around|about|approximately|a"
    r"|an|the|and|expected|range|ranges|ranging|vary|varies|varying|remain|remains|stay|stays|near"
    r"|low|high|lows|highs|up|reach|reaching|reaches|as|stable|steady|with|cover|coverage|all)\b)*"
    r"[-\u2212]?"
)
_RESPECTIVELY = re.compile(r"\brespectively\b")
_DENIED = re.compile(
    r"\b(?:no|not|without|never|less|fewer|until|unlike|instead|rather|than|ending?)\b|n't\b"
)


@dataclass(frozen=True, slots=True)
class _Log:
    """A table with a day and a time of day in every row.

    Attributes:
        grid: the table.
        day: column of the day.
        days: ISO day -> its rows.
        terms: column of numbers -> the words of its header.
        texts: columns of words: what happened, in what state.
        weekdays: whether the rows name their weekdays.
    """

    grid: Grid
    day: int
    days: dict[str, tuple[int, ...]]
    terms: dict[int, frozenset[str]]
    texts: frozenset[int]
    weekdays: bool


class Series:
    """Judges the numbers and states that a text tells of days, against tables of many rows a day.

    Args:
        grounder: of the text and its tables.
    """

    def __init__(self, grounder: Grounder) -> None:
        self.linking = linking = grounder.linking
        self._grounder = grounder
        self._logs = [log for grid in linking.source.grids if (log := _read_log(grid)) is not None]
        self._periods = [Periods(linking.reading, log.days, log.weekdays) for log in self._logs]
        self._found: dict[int, list[Finding]] = {}

    def judge(self, number: int) -> list[Finding]:
        """Findings on a sentence, in their order; none where no table is of this sort."""
        if len(self._logs) != 1:
            return []
        found = self._found.get(number)
        if found is None:
            log, periods = self._logs[0], self._periods[0]
            found = [*self._numbers(log, periods, number), *self._states(log, periods, number)]
            found += self._days_of(log, periods, number)
            self._found[number] = found
        return found

    def _numbers(self, log: _Log, periods: Periods, number: int) -> Iterator[Finding]:
        """Every amount against the values of its period in the columns that the words allow."""
        links = self.linking.sentence_links[number][log.grid.number]
        amounts = [amount for amount in links.amounts if amount.role == "value"]
        plain = self.linking.reading.plain
        roles = self._roles(amounts, links.span.start)
        if _RESPECTIVELY.search(plain, *links.span):
            return
        vague = _VAGUE.search(plain, *links.span) is not None
        for amount in amounts:
            if _CONVERTED.match(plain, self._unit_start(amount)):
                reason = "the table has another unit"
                yield Finding(
                    amount.start, amount.end, "number", "unscored", reason=reason, firm=True
                )
                continue
            role = roles.get(amount.start)
            columns = self._columns(log, links.span, amount)
            period = periods.of(number, amount.start, amount.end)
            if role is None or not columns or period is None:
                continue
            yield from self._judge(log, amount, columns, "value" if vague else role, period)

    def _roles(self, amounts: list[Amount], start: int) -> dict[int, Role]:
        """What each amount is said to be: the smallest, the largest or some value of the period."""
        plain = self.linking.reading.plain
        roles: dict[int, Role] = {}
        last = start
        for place, amount in enumerate(amounts):
            before = plain[last : amount.start]
            if plain[amount.start - 1 : amount.start] in "-\u2212" and amount.value > 0:
                before = before[:-1]
            last = amount.end
            if amount.start in roles:
                continue
            following = amounts[place + 1] if place + 1 < len(amounts) else None
            joined = following and _JOINING.fullmatch(plain[amount.end : following.start])
            if following and joined and _OPENING.search(before):
                between = plain[amount.end : following.start]
                if _SPREAD.search(before) and not (_HIGH.search(before) or _LOW.search(before)):
                    roles[amount.start] = roles[following.start] = "value"
                    continue
                falls = following.value < amount.value
                one: Role = "high" if falls or _HIGH.search(before) else "low"
                other: Role = "low" if falls or _LOW.search(between) else "high"
                roles[amount.start], roles[following.start] = one, other
            elif amount.hedge in ("over", "under", "at least", "just over", "just under"):
                continue
            elif _HIGH.search(before):
                roles[amount.start] = "high"
            elif _LOW.search(before):
                roles[amount.start] = "low"
            elif amount.hedge != "at most":
                roles[amount.start] = "value"
        return roles

    def _unit_start(self, amount: Amount) -> int:
        """Where the unit of an amount begins."""
        digits = _DIGITS.match(self.linking.reading.plain, amount.start)
        return digits.end() if digits else amount.digits_end

    def _columns(self, log: _Log, sentence: Span, amount: Amount) -> tuple[int, ...]:
        """The columns that an amount can be of: by the words near it and by its unit."""
        plain = self.linking.reading.plain
        unit_start = self._unit_start(amount)
        tail = plain[unit_start : unit_start + 30]
        if _OTHER_UNIT.match(tail) or amount.number.unit.currency:
            return ()
        measured: set[int] | None = None
        for unit, words in _QUANTITIES:
            if unit.match(tail):
                measured = {c for c, said in log.terms.items() if said & set(words)}
                if not measured:
                    return ()
        runs = self._runs(log, sentence)
        before = [run for run in runs if run[1] <= amount.start]
        for start, end, columns in reversed(before):
            fitting = (
                columns
                if measured is None
                else columns & measured | self._whole(log, columns, start, end)
            )
            close = _BETWEEN.fullmatch(_digits_out(plain[end : amount.start]))
            if fitting and (measured is not None or close):
                return tuple(sorted(fitting))
            if measured is None:
                break
        if measured is None:
            return ()
        after = [r for r in runs if amount.end <= r[0] <= amount.end + 4 and r[2] & measured]
        if after:
            return tuple(sorted(after[0][2] & measured))
        return tuple(sorted(measured))

    def _whole(self, log: _Log, columns: set[int], start: int, end: int) -> set[int]:
        """Columns without a unit whose own name is said: "feels like", of "main feels like"."""
        words = self.linking.reading.tokens_within(start, end)
        said = {t for token in words for part in token.word.split("-") for t in terms(part)}
        return {
            column
            for column in columns
            if not log.grid.columns[column].unit.symbol
            and len(own := header_terms(log.grid.columns[column].header)) > 2
            and set(own[1:]) <= said
        }

    def _runs(self, log: _Log, sentence: Span) -> list[tuple[int, int, set[int]]]:
        """Words side by side that columns of numbers are called by, and those columns."""
        runs: list[tuple[int, int, set[int]]] = []
        for token in self.linking.reading.tokens_within(*sentence):
            said = {term for part in token.word.split("-") for term in terms(part)}
            columns = {column for column, words in log.terms.items() if words & said}
            if not columns:
                continue
            if runs and token.start - runs[-1][1] <= 1:
                start, _, known = runs.pop()
                runs.append((start, token.end, known & columns or known | columns))
            else:
                runs.append((token.start, token.end, columns))
        return runs

    def _judge(
        self, log: _Log, amount: Amount, columns: tuple[int, ...], role: Role, period: Period
    ) -> Iterator[Finding]:
        """An amount against one period, or, where the text does not name it again, any of several.

        It holds where one of the columns has it, within the precision in which it is written.
        """
        shown: list[tuple[int, int]] = []
        right: set[Decimal] = set()
        options = (*period.choices, *(period.wide if role != "value" else ()))
        for rows in options:
            for column in columns:
                cells = [
                    (value.value, row)
                    for row in rows
                    if (value := self._grounder.number(log.grid.number, row, column)) is not None
                ]
                if not cells:
                    continue
                ends = {"low": [min(cells)], "high": [max(cells)], "value": cells}[role]
                if any(_agrees(amount, value) for value, _ in ends) or (
                    amount.hedge == "about" and _lies_in(amount, [v for v, _ in cells], role)
                ):
                    row = next((r for v, r in ends if _agrees(amount, v)), ends[0][1])
                    yield self._finding(log, amount, "supported", [(row, column)], ())
                    return
                if rows is period.choices[0]:
                    shown += [(min(cells)[1], column), (max(cells)[1], column)]
                    right |= {value for value, _ in ends} if role != "value" else set()
        if shown:
            expected = (plain_digits(right.pop()),) if len(right) == 1 else ()
            yield self._finding(log, amount, "contradicted", shown, expected, period.name)

    def _finding(
        self,
        log: _Log,
        amount: Amount,
        verdict: Literal["supported", "contradicted"],
        cells: list[tuple[int, int]],
        expected: tuple[str, ...],
        when: str = "",
    ) -> Finding:
        wrong = verdict == "contradicted"
        reason = "a row of the period has the value"
        if wrong:
            low, high = (log.grid.cell(*cell) for cell in cells[:2])
            reason = f"{log.grid.columns[cells[0][1]].header} {when}: from {low} to {high}"
        return Finding(
            amount.start,
            amount.end,
            "number",
            verdict,
            "NUM" if wrong else None,
            self._grounder.evidence(log.grid.number, cells[:4]),
            reason,
            Span(amount.start, amount.digits_end) if wrong else None,
            expected,
            firm=True,
        )

    def _states(self, log: _Log, periods: Periods, number: int) -> Iterator[Finding]:
        """States that cells tell ("light rain"), which no row of the day that is named has."""
        links = self.linking.sentence_links[number][log.grid.number]
        plain = self.linking.reading.plain
        for cell in links.cells:
            if not cell.full or not {column for _, column in cell.places} <= log.texts:
                continue
            if " " not in plain[cell.start : cell.end]:
                continue  # "clouds", "clear": states are not told apart by one word
            period = periods.of(number, cell.start, cell.end)
            if period is None or not period.named:
                continue
            rows = set().union(*period.choices, *period.wide)
            said = {t for word in plain[cell.start : cell.end].split() for t in terms(word)}
            if any(row in rows for row, _ in cell.places) or any(
                said <= _words(log, row) for row in rows
            ):
                continue
            if _DENIED.search(plain, max(links.span.start, cell.start - 40), cell.start):
                continue
            yield self._missing(log, cell, min(rows), period.name)

    def _days_of(self, log: _Log, periods: Periods, number: int) -> Iterator[Finding]:
        """Days that the rows have; no other row that the words name can be meant."""
        for start, end, period in periods.spoken[number]:
            if period is not None:
                cells = [(period.choices[0][0], log.day)]
                evidence = self._grounder.evidence(log.grid.number, cells)
                reason = "rows of the table are of that day"
                yield Finding(start, end, "moment", "supported", None, evidence, reason, firm=True)

    def _missing(self, log: _Log, cell: CellLink, row: int, when: str) -> Finding:
        said = self.linking.reading.text[cell.start : cell.end]
        return Finding(
            cell.start,
            cell.end,
            "name",
            "contradicted",
            "TMP",
            self._grounder.evidence(log.grid.number, [(row, cell.places[0][1])]),
            f'no row {when} has "{said}"',
            Span(cell.start, cell.end),
            firm=True,
        )


def _read_log(grid: Grid) -> _Log | None:
    """The table as a log, if a day and a time of day tell its rows apart and nothing else does."""
    if grid.transposed or grid.key_value or len(grid.lines) < _FEWEST:
        return None
    rows = [line.index for line in grid.lines]
    day_columns, clocks = [], []
    for column in grid.columns:
        cells = [grid.cell(row, column.index) for row in rows]
        if all(_CLOCK.fullmatch(cell) for cell in cells):
            clocks.append(column.index)
        elif all(_day(grid, row, column.index) for row in rows):
            day_columns.append(column.index)
    if len(day_columns) != 1 or len(clocks) != 1:
        return None
    moments = {(grid.cell(r, day_columns[0]), grid.cell(r, clocks[0])) for r in rows}
    if len(moments) != len(rows):
        return None
    days: dict[str, tuple[int, ...]] = {}
    for row in rows:
        day = _day(grid, row, day_columns[0])
        days[day] = (*days.get(day, ()), row)
    numbers = {
        c.index: frozenset(header_terms(c.header)) for c in grid.columns if c.kind == "number"
    }
    shared = frozenset.intersection(*numbers.values()) if len(numbers) > 1 else frozenset()
    named = {
        c.index
        for c in grid.columns
        if all(grid.cell(row, c.index).casefold() in WEEKDAYS for row in rows)
    }
    taken = {*day_columns, *clocks, *numbers, *named}
    texts = frozenset(c.index for c in grid.columns if c.index not in taken)
    own = {column: said - shared for column, said in numbers.items()}
    return _Log(grid, day_columns[0], days, own, texts, bool(named))


def _day(grid: Grid, row: int, column: int) -> str:
    """The day that a cell states, in ISO form; empty for anything else."""
    dates = grid.value(row, column).dates
    return dates[0] if len(dates) == 1 and re.fullmatch(r"\d{4}-\d\d-\d\d", dates[0]) else ""


def _words(log: _Log, row: int) -> set[str]:
    """The words of all states of a row."""
    cells = (log.grid.cell(row, column) for column in log.texts)
    return {t for cell in cells for word in cell.casefold().split() for t in terms(word)}


def _digits_out(text: str) -> str:
    """Text between a column's name and an amount, without other amounts of the same range."""
    return re.sub(r"[-\u2212]?\d+(?:[.,]\d+)?\s?(?:°\s?c|%|percent|hpa|m/s|mm)?", " ", text)


def _agrees(amount: Amount, value: Decimal) -> bool:
    """Whether a value is the amount, rounded or cut off where the text does so."""
    unit = Decimal(1).scaleb(-(amount.number.decimals or 0))
    return abs(amount.value - value) < unit


def _lies_in(amount: Amount, values: list[Decimal], role: Role) -> bool:
    """Whether an amount that is said with a hedge is near the end, or among the values."""
    slack = max(abs(amount.value) / 10, Decimal(1))
    if role == "value":
        return min(values) - slack <= amount.value <= max(values) + slack
    return abs(amount.value - (min(values) if role == "low" else max(values))) <= slack
