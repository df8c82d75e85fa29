"""A table as the verbaliser takes it: entities, measures and periods, each beyond doubt.

Stricter than :class:`~tablemend.evidence.grid.Grid`, on purpose: what could be read in two ways
is not spoken of, since a faithful summary must be faithful under every reading.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Literal, NamedTuple

from tablemend.errors import TablemendError
from tablemend.evidence.grid import Grid
from tablemend.synthesis.columns import clean_cell, words_of
from tablemend.synthesis.sentences import JOINING, is_plural, label_of
from tablemend.tabfaith.periods import Period, read_period
from tablemend.tables.table import Table
from tablemend.values.cells import read_value
from tablemend.values.units import ONE, PLAIN, Unit

MAX_ROWS, MAX_COLUMNS = 400, 60
MAX_NAME = 60

Layout = Literal["entities", "periods", "spread", "panel"]
"""Rows are entities; rows are periods; rows are entities and columns periods; rows are an entity
in a period."""

_NO_AMOUNT = re.compile(
    r"(?:#|no|nos|num|number|id|code|rank|ranking|pos|positions?|seed|place|year|years|season|week|round"
    r"|rd|pick|grid|heat|lane|order|jersey|zip|phone|date|age|time|era|chapter|page|refs?"
    r"|division|group|period|tier|level|event|stage|route|class|channel|series|episode|starts?|finish|qualifying|standing)\.?",
    re.I,
)
_RATE = re.compile(
    r"rate|ratio|share|percent|%|average|avg|mean|median|per |/|margin|index|growth|change|price"
    r"|height|weight|age\b|speed|density|score|rating|eps|yield|temperature|elevation|depth|days"
    r"|nps|latitude|longitude|turnover|probability|odds|total|cumulative|high\b|low\b|max|min|balance",
    re.I,
)
FLAGS = ("flag", "flag status")
_UNIT_COLUMN = re.compile(r"units?|uom|units? of measure(?:ment)?", re.I)
_RANGE_COLUMN = re.compile(r"(?:reference|normal|ref\.?)[ _](?:range|interval)", re.I)
_RANGE = re.compile(
    r"(?P<low>\d+(?:\.\d+)?) ?(?:-|\u2013|to) ?(?P<high>\d+(?:\.\d+)?)"
    r"|(?P<sign>[<>])=? ?(?P<limit>\d+(?:\.\d+)?)"
)
_MEASUREMENT = re.compile(r"(\d+(?:\.\d+)?) ?[A-Za-z\u00b5%]+(?:/[A-Za-z]+)?")
_ODD = re.compile(r'[@"{}|<>\\\n;:!?=~^*†‡]|\.\.|\s-\s|,.*,|https?')
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_PERSONS = re.compile(
    r"(?:player|driver|rider|cyclist|athlete|swimmer|skater|candidate|actor|actress|president|coach"
    r"|manager|author|governor|mayor|member|representative|senator|minister|artist|singer|golfer"
    r"|person|employee|student|contestant|competitor|boxer|fighter|runner|jockey|pilot|king|name)s?",
    re.I,
)
_MEDALS = frozenset(("gold", "silver", "bronze"))
_DASHBOARD = frozenset(
    """
    analyst average churn churned consensus cost customers cycle deal deals fill flag fiscal growth
    inventory lost margin measurement metric net new operating opportunities pipeline points range
    reference reported result retention sales segment start status sku stock stockout test turnover unit
    warehouse win won
    """.split()
)
_NO_NOUNS = frozenset("name title number date year result notes type status group".split())
_QUOTES = '"\u201c\u201d '
_LETTER = re.compile(r"[^\W\d_]")


class Unverbalisable(TablemendError):
    """A table of which no faithful summary is made; the message is the reason, to be counted."""


class Amount(NamedTuple):
    """A number of the table.

    Attributes:
        value: as the cell and its header state it, scale applied.
        unit: of the cell, and of the header where the cell has none.
        decimals: decimal places in the cell.
        shown: the cell.
        bare: the cell states no scale, currency or unit itself.
    """

    value: Decimal
    unit: Unit
    decimals: int
    shown: str
    bare: bool

    @property
    def in_points(self) -> bool:
        """Whether it is a difference of percentages, ``0.8 pp``."""
        return self.shown.endswith(" pp")


@dataclass(frozen=True, slots=True)
class Measure:
    """A column that says something of rows.

    Attributes:
        index: its column.
        label: what a sentence calls it.
        kind: what its cells are.
        comparable: its amounts can be ranked and set against each other.
        summable: they can be added up.
        counted: it is called by a plural and its cells are whole numbers: "41 points".
    """

    index: int
    label: str
    kind: Literal["number", "date", "text"]
    comparable: bool = False
    summable: bool = False
    counted: bool = False

    @property
    def flags(self) -> bool:
        """Whether it says high, low or normal of each row."""
        return self.label in FLAGS and self.kind == "text"


@dataclass(frozen=True, slots=True)
class Row:
    """A body row that can be spoken of: it has an entity, a period or both."""

    index: int
    entity: str | None
    period: Period | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """What can be said of a table.

    Attributes:
        grid: the table.
        layout: how entities and periods lie.
        rows: those that are named beyond doubt, without totals.
        whole: all rows but totals are among them, so that they may be ranked and counted.
        totals: there are totals, so that "all twelve" would leave open who is counted.
        measures: the columns to speak of; none where columns are periods.
        periods: column and period, for the layout ``spread``, in the order of time.
        noun: what an entity is called ("team"), where the header says it in one common word.
        persons: the entities are people.
        unit_column, range_column: columns that state the unit and the reference range of a row.
    """

    grid: Grid
    layout: Layout
    rows: tuple[Row, ...]
    whole: bool
    totals: bool
    measures: tuple[Measure, ...]
    periods: tuple[tuple[int, Period], ...] = ()
    noun: str = ""
    persons: bool = False
    unit_column: int | None = None
    range_column: int | None = None

    def text(self, row: int, column: int) -> str:
        """A cell without footnote marks; empty for a blank."""
        return clean_cell(self.grid.table.rows[row][column]) or ""

    def amount(self, row: int, column: int) -> Amount | None:
        """A cell as a number, or ``None``."""
        text = self.text(row, column)
        number = read_value(text).number
        if number is None and self.range_column is not None:
            return _read_measurement(text)
        if number is None or len(text) > 24:
            return None
        header, own = self.grid.columns[column].unit, number.unit
        if own.currency and header.currency and own.currency != header.currency:
            return None
        if own.symbol and header.symbol and own.symbol != header.symbol:
            return None
        scale = header.scale if own.scale == ONE else ONE
        if own.symbol and header.currency:
            return None
        unit = Unit(
            own.scale if own.scale != ONE else header.scale,
            own.symbol or header.symbol,
            own.currency or header.currency,
        )
        bare = own == Unit()
        return Amount(number.value * scale, unit, number.decimals, text, bare)

    def stated_unit(self, row: int) -> str:
        """What the unit column says of a row."""
        return "" if self.unit_column is None else self.text(row, self.unit_column)

    def reference(self, row: int) -> tuple[Decimal | None, Decimal | None] | None:
        """Lower and upper end of a row's reference range."""
        if self.range_column is None:
            return None
        match = _RANGE.fullmatch(self.text(row, self.range_column))
        if match is None:
            return None
        if match["sign"]:
            limit = Decimal(match["limit"])
            return (None, limit) if match["sign"] == "<" else (limit, None)
        return Decimal(match["low"]), Decimal(match["high"])


def _read_measurement(text: str) -> Amount | None:
    """A laboratory value with a unit that is none of ours: ``3.47 m/uL``."""
    match = _MEASUREMENT.fullmatch(text)
    if match is None:
        return None
    decimals = len(match[1].partition(".")[2])
    return Amount(Decimal(match[1]), PLAIN, decimals, text, bare=False)


def open_sheet(table: Table) -> Sheet:
    """Read a table for the verbaliser.

    Raises:
        Unverbalisable: with the reason.
    """
    if len(table.rows) > MAX_ROWS:
        raise Unverbalisable(f"more than {MAX_ROWS} rows")
    if len(table.columns) > MAX_COLUMNS:
        raise Unverbalisable(f"more than {MAX_COLUMNS} columns")
    if len(table.columns) < 2:
        raise Unverbalisable("only one column")
    if len(table.rows) < 2:
        raise Unverbalisable("fewer than two rows")
    grid = Grid(table)
    lines = [line.index for line in grid.lines if not line.total]
    labels = Counter(
        label.casefold() for c in grid.columns if (label := measure_label(grid, c.index))
    )
    usable = {
        column.index: label
        for column in grid.columns
        if (label := measure_label(grid, column.index)) and labels[label.casefold()] == 1
    }
    layout, entity, when = _find_axes(grid, lines)
    rows = _name_rows(grid, lines, entity, when)
    if len(rows) < 2:
        raise Unverbalisable("fewer than two rows with a name of their own")
    others = [index for index in usable if index not in (entity, when)]
    unit_column = next((i for i in others if _UNIT_COLUMN.fullmatch(usable[i])), None)
    range_column = next((i for i in others if _RANGE_COLUMN.fullmatch(usable[i])), None)
    sheet = Sheet(
        grid,
        layout,
        tuple(rows),
        len(rows) == len(lines),
        len(lines) < len(grid.lines),
        (),
        (),
        "" if entity is None else _noun(table.columns[entity]),
        entity is not None and bool(_PERSONS.fullmatch(table.columns[entity].strip())),
        unit_column,
        range_column,
    )
    if layout == "spread":
        return replace(sheet, periods=tuple(_period_columns(grid)))
    measures = [
        measure
        for index in others
        if index not in (unit_column, range_column)
        and (measure := _read_measure(sheet, index, usable[index])) is not None
    ]
    if not measures:
        raise Unverbalisable("no column to speak of")
    return replace(sheet, measures=tuple(measures))


def measure_label(grid: Grid, column: int) -> str:
    """What a sentence calls a column: its header without the unit; empty where it has no words."""
    path = grid.columns[column].path
    levels = (_BRACKETS.sub("", clean_cell(level) or "").strip() for level in path)
    parts = [level for level in levels if level]
    if not parts or len(parts) > 2:
        return ""
    header = parts[0] if len(parts) == 1 else f"{parts[1]} ({parts[0]})"
    if len(header) > 50 or not _LETTER.search(header) or _ODD.search(header) or ". " in header:
        return ""
    label = _spoken(header.rstrip(" %,$"))
    words = label.casefold().split()
    if not words or JOINING.intersection((words[0], words[-1])) or words[-1] == "with":
        return ""
    return f"{label} medals" if label in _MEDALS else label


def _spoken(header: str) -> str:
    """The header in small letters, if all its words are common ones or those of dashboards."""
    words = header.split()
    usual = all(word.lower() in _DASHBOARD or label_of(word) == word.lower() for word in words)
    return header.lower() if usual else label_of(header)


def _find_axes(grid: Grid, lines: list[int]) -> tuple[Layout, int | None, int | None]:
    """Layout, column of entities and column of periods."""
    table, key = grid.table, grid.key
    dated = [
        index
        for index in range(len(table.columns))
        if _grain([clean_cell(table.rows[row][index]) or "" for row in lines])
    ]
    names = [(clean_cell(table.rows[row][key]) or "").casefold() for row in lines]
    distinct = len(set(names)) == len(names)
    if key in dated:
        return "periods", None, key
    if distinct:
        return ("spread" if len(_period_columns(grid)) > 1 else "entities"), key, None
    for index in dated:
        cells = [clean_cell(table.rows[row][index]) for row in lines]
        if index == 0 and len(set(cells)) == len(cells):
            return "periods", None, index
    for index in dated:
        pairs = [
            (name, clean_cell(table.rows[row][index]))
            for name, row in zip(names, lines, strict=True)
        ]
        if len(set(pairs)) == len(pairs):
            return "panel", key, index
    for index in range(len(table.columns)):
        texts = [clean_cell(table.rows[row][index]) or "" for row in lines]
        if len({words_of(text) for text in texts}) == len(texts) and all(map(is_name, texts)):
            return "entities", index, None
    return "entities", key, None


def _grain(cells: list[str]) -> bool:
    """Whether all cells are periods of one grain."""
    periods = [read_period(cell) for cell in cells]
    return bool(periods) and None not in periods and len({p.grain for p in periods if p}) == 1


def _period_columns(grid: Grid) -> list[tuple[int, Period]]:
    """The columns that are called by periods, if these are of one grain and each stands once."""
    found = [
        (column.index, period)
        for column in grid.columns
        if len(column.path) == 1
        and column.index != grid.key
        and (period := read_period(clean_cell(column.path[0]) or "")) is not None
    ]
    orders = {period.order for _, period in found}
    if len({period.grain for _, period in found}) > 1 or len(orders) < len(found):
        return []
    return sorted(found, key=lambda item: item[1].order)


def _name_rows(grid: Grid, lines: list[int], entity: int | None, when: int | None) -> list[Row]:
    """The rows whose name, period or both are speakable and stand once."""
    found: list[Row] = []
    names: Counter[tuple[str, str]] = Counter()
    for index in lines:
        cells = grid.table.rows[index]
        name = "" if entity is None else (clean_cell(cells[entity]) or "").strip(_QUOTES)
        period = None if when is None else read_period(clean_cell(cells[when]) or "")
        names[words_of(name), period.iso if period else ""] += 1
        if when is not None and period is None:
            continue
        if entity is None:
            found.append(Row(index, None, period))
        elif is_name(name):
            found.append(Row(index, name, period))
    return [
        row
        for row in found
        if names[words_of(row.entity or ""), row.period.iso if row.period else ""] == 1
    ]


def is_name(text: str) -> bool:
    """Whether a cell can stand as a name within a sentence."""
    value = read_value(text)
    return (
        1 < len(text) <= MAX_NAME
        and value.number is None
        and not value.dates
        and _LETTER.search(text) is not None
        and not _ODD.search(text)
        and words_of(text).strip() != ""
    )


def _read_measure(sheet: Sheet, index: int, label: str) -> Measure | None:
    """A column that most rows fill with things of one sort."""
    texts = {row.index: text for row in sheet.rows if (text := sheet.text(row.index, index))}
    if label in FLAGS and texts and all(map(str.isalpha, texts.values())):
        return Measure(index, label, "text")  # what is normal may have none
    if 2 * len(texts) < len(sheet.rows) or not texts:
        return None
    if all(read_period(text) for text in texts.values()) and _grain(list(texts.values())):
        return Measure(index, label, "date")
    amounts = {row: amount for row in texts if (amount := sheet.amount(row, index)) is not None}
    if len(amounts) == len(texts):
        return _number_measure(sheet, index, label, list(amounts.values()))
    if amounts or not all(_is_said(text) for text in texts.values()):
        return None
    measured = sum(text[0].isdigit() for text in texts.values())
    if 2 * measured > len(texts) or len(set(texts.values())) == 1:
        return None
    return Measure(index, label, "text")


def _is_said(text: str) -> bool:
    return len(text) <= 40 and not _ODD.search(text) and is_name(text)


def _number_measure(sheet: Sheet, index: int, label: str, amounts: list[Amount]) -> Measure | None:
    words = label.split()
    ends = words[0], words[-1], *words_of(sheet.grid.columns[index].header).split()[-1:]
    ranks = re.search(r"\b(?:rank|position)", sheet.grid.columns[index].header, re.I)
    if ranks or any(_NO_AMOUNT.fullmatch(word) for word in ends):
        return None
    if _is_numbering([amount.value for amount in amounts]):
        return None
    units = {(amount.unit.symbol, amount.unit.currency, amount.in_points) for amount in amounts}
    spoken = {sheet.stated_unit(row.index) for row in sheet.rows}
    whole = all(amount.value == int(amount.value) and amount.decimals == 0 for amount in amounts)
    comparable = (
        len(units) == 1
        and len(spoken) == 1
        and len({amount.value for amount in amounts}) > 1
        and sheet.range_column is None
    )
    plain = units == {("", "", False)} and all(amount.unit.scale == ONE for amount in amounts)
    return Measure(
        index,
        label,
        "number",
        comparable,
        comparable
        and "%" not in {symbol for symbol, _, _ in units}
        and not _RATE.search(sheet.grid.table.columns[index]),
        whole and plain and label.islower() and len(words) < 3 and is_plural(label),
    )


def _is_numbering(values: list[Decimal]) -> bool:
    """Whether numbers only count the rows: each one more than another, or small ones in order."""
    if len(values) < 3:
        return False
    if {after - before for before, after in pairwise(sorted(values))} == {ONE}:
        return True
    small = all(value == int(value) and 0 <= value <= 2 * len(values) for value in values)
    return small and values == sorted(values)


def _noun(header: str) -> str:
    """``team`` for the header "Team"; empty where the header is no single common word."""
    label = _spoken(header.strip())
    usual = label.isalpha() and label.islower() and not is_plural(label)
    return label if usual and label not in _NO_NOUNS | JOINING else ""
