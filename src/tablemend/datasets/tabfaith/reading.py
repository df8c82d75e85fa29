"""From a table to a sheet: which rows and columns can be spoken of (see :mod:`sheet`)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from tablemend.datasets.tabfaith.labels import (
    MEDALS,
    ODD,
    WORDS,
    is_counted_label,
    is_name,
    measure_label,
    noun_of,
)
from tablemend.datasets.tabfaith.sheet import (
    FLAGS,
    Amount,
    Layout,
    Measure,
    Row,
    Sheet,
    Unverbalisable,
)
from tablemend.datasets.tablehallu.columns import clean_cell, words_of
from tablemend.evidence.grid import Grid
from tablemend.tables.table import Table
from tablemend.values.periods import Period, read_period
from tablemend.values.units import ONE

MAX_ROWS, MAX_COLUMNS = 400, 60

_NO_AMOUNT = re.compile(rf"(?:#|{'|'.join(WORDS['no_amounts'])})\.?", re.I)
_RATE = re.compile(rf"%|per |/|{'|'.join(WORDS['rates'])}", re.I)
_UNIT_COLUMN = re.compile(r"units?|uom|units? of measure(?:ment)?", re.I)
_RANGE_COLUMN = re.compile(r"(?:reference|normal|ref\.?)[ _](?:range|interval)", re.I)
_PERSONS = re.compile(rf"(?:{'|'.join(WORDS['persons'])})s?", re.I)
_TITLED = re.compile(r"[A-Z][a-z]+(?: [A-Za-z][a-z]+)*")
_QUOTES = '"\u201c\u201d '


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
        "" if entity is None else noun_of(table.columns[entity]),
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
    return len(text) <= 40 and not ODD.search(text) and is_name(text)


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
    label = f"{label} medals" if label in MEDALS else label
    whole = all(amount.value == int(amount.value) and amount.decimals == 0 for amount in amounts)
    comparable = (
        len(units) == 1
        and len(spoken) == 1
        and len({amount.value for amount in amounts}) > 1
        and sheet.range_column is None
    )
    plain = units == {("", "", False)} and all(amount.unit.scale == ONE for amount in amounts)
    if whole and plain and is_counted_label(label.lower()) and _TITLED.fullmatch(label):
        label = label.lower()  # "Abstentions"
    return Measure(
        index,
        label,
        "number",
        comparable,
        comparable
        and "%" not in {symbol for symbol, _, _ in units}
        and not _RATE.search(sheet.grid.table.columns[index]),
        whole and plain and label.islower() and is_counted_label(label),
    )


def _is_numbering(values: list[Decimal]) -> bool:
    """Whether numbers only count the rows: each one more than another, or small ones in order."""
    if len(values) < 3:
        return False
    if {after - before for before, after in pairwise(sorted(values))} == {ONE}:
        return True
    small = all(value == int(value) and 0 <= value <= 2 * len(values) for value in values)
    return small and values == sorted(values)
