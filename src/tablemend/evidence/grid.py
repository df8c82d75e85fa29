"""A table as a reader takes it: what each row and column is called, counts in and adds up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Literal

from tablemend.detector.keys import column_kind, primary_key
from tablemend.evidence.labels import (
    caption_unit,
    counts_by_itself,
    counts_in_words,
    counts_shares,
    indentation,
    is_unit_label,
    merge_units,
    names_average,
    names_total_column,
    plain_cell,
    plain_header,
    read_cell,
    read_counted,
    row_unit,
    second_number,
    share_scale,
)
from tablemend.evidence.layout import (
    Body,
    Layout,
    Numbers,
    averages_columns,
    find_parents,
    find_totals,
    lay_out,
)
from tablemend.records import Evidence
from tablemend.tables.table import Table
from tablemend.values.cells import Value, is_blank, undotted, writes_dots, year_of
from tablemend.values.dates import MONTHS, parse_date
from tablemend.values.numbers import Number, label_signs, parse_number
from tablemend.values.text import names_attributes, names_values
from tablemend.values.units import PLAIN, Unit

ColumnKind = Literal["name", "number", "date", "text", "blank"]
SAMPLE = 256
"""Rows that decide what a column is."""

_NAME = re.compile(r"[^\W\d_]{2}")
_YEARS = re.compile(r"\b(?:year|season|date|period|quarter|month|edition|fiscal)s?\b", re.I)
_PERIOD = re.compile(
    r"(?:[\w ]+,? )?(?:fy ?|q[1-4],? ?|h[12],? ?)?'?(?:1[5-9]|2[01])\d\d"
    r"(?:[-/]\d\d(?:\d\d)?)?[a-z*]?"
    r"|(?:fy ?|q[1-4],? ?|h[12],? ?)'?\d\d|q[1-4]|(?:first|second|third|fourth) quarter"
    rf"|(?:{'|'.join(name[:3] for name in MONTHS)})[a-z]*\.?(?: \d{{1,4}}){{0,2}}",
    re.I,
)

_FULL_YEAR = re.compile(r"(?:(?:fy|full[ -]year|fiscal year|year) ?'?(?:\d\d|\d{4})?|\d{4})", re.I)
_PART_OF_YEAR = re.compile(r"(?:q[1-4]|h[12]|(?:first|second|third|fourth) quarter)\b", re.I)
_COSTS = re.compile(
    r"\b(?:costs?|expenses?|expenditures?|tax(?:es)?|interest|depreciation|amorti[sz]ation|charges?"
    r"|loss(?:es)?|provisions?|deductions?|payments?|outflows?|purchases?|fees?|withheld)\b",
    re.I,
)
_DEDUCTED = re.compile(r"([$€£¥]? ?)\( ?([$€£¥]? ?\d[\d.,]*) ?\)")


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        index: its place in the table.
        header: what it is called; the levels of a hierarchical header joined by ``, ``.
        path: the levels, from the top.
        unit: what the header states, and the caption where the header leaves it open.
        kind: what most of its cells are; ``name`` for those that name rows, ``date`` for years too.
        total: whether it adds up or averages other columns.
    """

    index: int
    header: str
    path: tuple[str, ...]
    unit: Unit
    kind: ColumnKind
    total: bool = False

    @property
    def name(self) -> str:
        """The innermost level of the header."""
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class Line:
    """One body row.

    Attributes:
        index: its place in the table.
        header: what it is called: :attr:`path`, joined by ``, ``.
        path: what leads to it, from the outermost: section headings, rows that it is set in
            under, merged row headings, its key, and, where several rows share one key, what
            tells them apart (a season, a date).
        total: whether it adds up or averages other rows, so that no count or maximum includes it.
        name: its cell in the key column, from above where that is merged.
        unit: what its name or its section states: ``Revenue ($ millions)``.
    """

    index: int
    header: str
    path: tuple[str, ...]
    total: bool
    name: str = ""
    unit: Unit = PLAIN


class Grid:
    """A table, read once and asked often.

    Args:
        table: the table.
        number: its place in the source.
    """

    def __init__(self, table: Table, number: int = 0) -> None:
        self.table = table
        self.number = number
        self._values: dict[int, tuple[Value, ...]] = {}
        self._units: dict[tuple[int, int], Unit] = {}
        self._signs: dict[tuple[int, int], Mapping[str, int]] = {}

    @cached_property
    def key(self) -> int:
        """Index of the column that names the rows.

        The detector's primary key; of two columns of names, the right one where the left only
        groups the rows ("Setting", "Metrics").
        """
        sample = self._sample
        key = primary_key(sample)
        if self._distinct(key) or any(self._distinct(left) for left in range(key)):
            return key
        for index in range(key + 1, min(key + 4, len(self.table.columns))):
            if self.table.columns[index] and names_values(self.table.columns[index]):
                continue  # an attribute with several values
            filled = sum(bool(row[index]) for row in sample.rows)
            if (
                self._has_names(index)
                and self._distinct(index)
                and 10 * filled >= 9 * len(sample.rows)
            ):
                return index
        return key

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All columns, left to right."""
        columns = []
        for index, path in enumerate(self._layout.paths):
            kind = self._kinds[index]
            header = ", ".join(path)
            unit = self._layout.header_units[index]
            if unit.symbol == "%" and index in self._two_valued:
                unit = PLAIN
            if kind == "number" and not counts_by_itself(header):
                unit = merge_units(unit, self._caption_unit)
            columns.append(Column(index, header, path, unit, kind, self._totals(index)))
        return tuple(columns)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """All body rows, top to bottom; rows that only head a section or the table are none."""
        body = self._layout.body
        names = [self._names[part.row][self.key] for part in body]
        groups = self._grouping
        qualifier = self._qualifier
        depths = [indentation(self.table.rows[part.row][self.key]) for part in body]
        parents = find_parents(depths, names)
        paths = []
        for part, name, above in zip(body, names, parents, strict=True):
            cells = self._names[part.row]
            path = [*part.sections, *above, *(cells[group] for group in groups), name]
            if qualifier is not None:
                path.append(cells[qualifier])
            paths.append(tuple(dict.fromkeys(label for label in path if label)) or ("",))
        # the cells left of the first column of numbers; none where there is no such
        first = next((column.index for column in self.columns if column.kind == "number"), 0)
        totals = find_totals(
            body,
            paths,
            [self._numbers(part.row) for part in body],
            [self._cells[part.row][:first] for part in body],
            self.columns[self.key].header,
        )
        lines = []
        for part, name, levels, total in zip(body, names, paths, totals, strict=True):
            unit = merge_units(row_unit(name), *map(row_unit, reversed(part.sections)))
            header = ", ".join(levels)
            lines.append(Line(part.row, header, levels, total, name, unit))
        return tuple(lines)

    @cached_property
    def caption(self) -> str:
        """The title, and notes below the body."""
        return "\n".join(filter(None, (self.table.title, *self._layout.notes)))

    @cached_property
    def key_value(self) -> bool:
        """Whether the table is a list of attributes with their values, as an info box."""
        rows, width = self._sample.rows, len(self.table.columns)
        used = [index for index in range(width) if any(row[index] for row in rows)]
        if len(used) < 2 or self.key != used[-2] or self._grouping != tuple(used[:-2]):
            return False
        one, other = (self._layout.paths[index][-1] for index in used[-2:])
        if not names_attributes(one) or not names_values(other):
            return False
        values = [self.value(part.row, used[-1]) for part in self._layout.body[:SAMPLE]]
        kinds = {(one.number is not None, one.number is None and bool(one.dates)) for one in values}
        return bool(other) or len(kinds) > 1

    @cached_property
    def transposed(self) -> bool:
        """Whether rows are metrics and columns what they are stated of: periods, or entities.

        Periods over numbers, or rows that each keep to a unit that other rows do not share.
        """
        others = [column for column in self.columns if column.kind != "name" and column.header]
        if self.key_value:
            return True
        periods = [
            column
            for column in others
            if any(_PERIOD.fullmatch(level) or parse_date(level) for level in column.path)
        ]
        numbers = [column for column in others if column.kind == "number"]
        if len(periods) >= 2 and 2 * len(periods) > len(others) and numbers:
            return True
        units = {line.unit for line in self.lines}
        return len(units) > 2 and len(numbers) >= 2 and len({c.unit for c in numbers}) == 1

    def cell(self, row: int, column: int) -> str:
        """A cell as written, less marks of print; the empty string for an empty one."""
        return self._cells[row][column]

    def named_row(self, row: int) -> list[str]:
        """The cells of a body row, its heading filled from above where merged cells came apart."""
        return self._names[row]

    def value(self, row: int, column: int) -> Value:
        """A cell, read."""
        values = self._values.get(row)
        if values is None:
            cells = self._cells[row]
            values = self._values[row] = tuple(
                read_counted(cell) if counted else read_cell(cell)
                for cell, counted in zip(cells, self._counted, strict=True)
            )
        return values[column]

    def second(self, row: int, column: int) -> Number | None:
        """The other number of a cell that states two, as its header says: "n (%)", "n/N"."""
        if column not in self._two_valued:
            return None
        return second_number(self.cell(row, column), self.columns[column].header)

    def states_two(self, column: int) -> bool:
        """Whether the cells of a column state two numbers each."""
        return column in self._two_valued

    @cached_property
    def _two_valued(self) -> frozenset[int]:
        found = set()
        for index, path in enumerate(self._layout.paths):
            cells = [self._cells[part.row][index] for part in self._layout.body[:SAMPLE]]
            two = sum(second_number(cell, path[-1]) is not None for cell in cells if cell)
            if 2 * two > sum(map(bool, cells)):
                found.add(index)
        return frozenset(found)

    def unit(self, row: int, column: int) -> Unit:
        """What a cell counts in beyond what it says itself.

        From its row's name or section, the column's header, a unit row above it, and the caption,
        which leaves out per-share figures, rates and counts.
        """
        if (known := self._units.get((row, column))) is None:
            known = self._units[row, column] = self._unit(row, column)
        return known

    def _unit(self, row: int, column: int) -> Unit:
        part, line = self._by_row[row]
        stated = self._layout.header_units[column]
        if stated.symbol == "%" and column in self._two_valued:
            stated = PLAIN  # of "n (%)" the first number counts
        if part.units >= 0:
            below = self._layout.units[part.units][column]
            stated = stated if below is None else below
        own = merge_units(line.unit, stated)
        header = self.columns[column].header
        if any(map(counts_shares, (header, *line.path))):
            return merge_units(own, Unit(self._share_scale))
        if counts_by_itself(header) or any(map(counts_by_itself, line.path)):
            return own
        return merge_units(own, self._caption_unit)

    def names(self, row: int) -> tuple[str, ...]:
        """All texts of a row that can name it: its path and its other cells of text."""
        _, line = self._by_row[row]
        texts = [
            self._names[row][column.index] for column in self.columns if column.kind != "number"
        ]
        return tuple(dict.fromkeys(text for text in (*line.path, *texts) if text))

    def signs(self, row: int, column: int) -> Mapping[str, int]:
        """What the names of a cell's row and column say of its sign."""
        if (known := self._signs.get((row, column))) is None:
            label = f"{self._by_row[row][1].header}, {self.columns[column].header}"
            known = self._signs[row, column] = label_signs(label)
        return known

    def evidence(self, row: int, column: int) -> Evidence:
        """A cell as evidence, serialised as in TabFaith, Appendix A."""
        line = self._by_row[row][1]
        header = self.columns[column].header
        text = f'Row "{line.header}", Column "{header}": {self.cell(row, column)}'
        return Evidence(text, self.number, row, column)

    @cached_property
    def _cells(self) -> list[list[str]]:
        """Plain cells."""
        cells = [list(map(plain_cell, row)) for row in self.table.rows]
        for column in range(len(self.table.columns)):
            if writes_dots(row[column] for row in cells):
                for row in cells:
                    row[column] = undotted(row[column])
        headers = list(map(plain_header, self.table.columns))
        self._unsigned = frozenset(_unsign_costs(headers, cells))
        return cells

    def deducts(self, value: Decimal) -> bool:
        """Whether a cost of this size stood in parentheses, so that it can be called negative."""
        return bool(self._cells) and value in self._unsigned

    @cached_property
    def _layout(self) -> Layout:
        return lay_out([plain_header(name) for name in self.table.columns], self._cells)

    @cached_property
    def _by_row(self) -> dict[int, tuple[Body, Line]]:
        pairs = zip(self._layout.body, self.lines, strict=True)
        return {part.row: (part, line) for part, line in pairs}

    @cached_property
    def _caption_unit(self) -> Unit:
        corner = self._layout.paths[self._layout.lead]
        for text in (*self._layout.notes, *corner, self.table.title):
            if text and (unit := caption_unit(text)) != PLAIN:
                return unit
        return PLAIN

    @cached_property
    def _share_scale(self) -> Decimal:
        corner = self._layout.paths[self._layout.lead]
        return max(map(share_scale, (*self._layout.notes, *corner, self.table.title)))

    @cached_property
    def _names(self) -> dict[int, list[str]]:
        """Body rows whose blank row headings are filled from above, as merged cells came apart."""
        named = {}
        lead, above = self._layout.lead, ""
        for part in self._layout.body:
            row = self._cells[part.row]
            if not row[lead] and above:
                row = [*row[:lead], above, *row[lead + 1 :]]
            named[part.row] = row
            above = row[lead]
        return named

    @cached_property
    def _sample(self) -> Table:
        rows = [self._names[part.row] for part in self._layout.body[:SAMPLE]]
        return Table.of(self.table.columns, rows)

    @cached_property
    def _grouping(self) -> tuple[int, ...]:
        """Columns of names left of the key, which it stands below."""
        return tuple(index for index in range(self.key) if self._has_names(index))

    @cached_property
    def _qualifier(self) -> int | None:
        """The column that tells rows of one name apart; ``None`` where names are distinct."""
        if self._distinct(self.key):
            return None
        for index in range(len(self.table.columns)):
            if index == self.key or index in self._grouping:
                continue
            if self._kinds[index] != "number" and self._distinct(index, self.key):
                return index
        return None

    def _distinct(self, *indices: int) -> bool:
        """Whether a column's cells, or pairs of two, are found once each; one in ten may not be."""
        rows = self._sample.rows
        cells = [tuple(row[index] for index in indices) for row in rows]
        filled = [key for key in cells if any(key)]
        return bool(filled) and len(set(filled)) >= 0.9 * len(filled)

    def _has_names(self, index: int) -> bool:
        """Whether a column holds words: no dates in any spelling, no ranks such as "T2"."""
        cells = [cell for row in self._sample.rows if (cell := row[index])]
        words = sum(_NAME.search(cell) is not None for cell in cells)
        dated = any(_YEARS.search(part) for part in self._layout.paths[index])
        return column_kind(cells) == "name" and 2 * words > len(cells) and not dated

    def _totals(self, index: int) -> bool:
        """Whether a column is named as a sum of others, or as their average and is it."""
        path = self._layout.paths[index]
        if len(path) == 1 and self._kinds.count("number") < 3:
            return False
        if any(names_total_column(label) and not names_average(label) for label in path):
            return True
        if _FULL_YEAR.fullmatch(path[-1]):
            parts = sum(bool(_PART_OF_YEAR.match(own[-1])) for own in self._layout.paths)
            return parts > 1
        return names_average(path[-1]) and averages_columns(
            (self._numbers(part.row) for part in self._layout.body[:SAMPLE]), index
        )

    def _numbers(self, row: int) -> Numbers:
        """The numbers of a row outside the key column."""
        return {
            column: number.value
            for column in range(len(self.table.columns))
            if column != self.key and (number := self.value(row, column).number) is not None
        }

    @cached_property
    def _counted(self) -> tuple[bool, ...]:
        """For each column whether it counts in a word of its own: "94 fL", "12 goals"."""
        rows = [self._cells[part.row] for part in self._layout.body[:SAMPLE]]
        return tuple(
            index != self._layout.lead and counts_in_words([row[index] for row in rows])
            for index in range(len(self.table.columns))
        )

    @cached_property
    def _kinds(self) -> tuple[ColumnKind, ...]:
        return tuple(map(self._kind, range(len(self.table.columns))))

    def _kind(self, index: int) -> ColumnKind:
        if index == self.key or index in self._grouping:
            return "name"
        rows = [part.row for part in self._layout.body[:SAMPLE]]
        values = [value for row in rows if not (value := self.value(row, index)).blank]
        numbers = sum(value.number is not None for value in values)
        dates = sum(bool(value.dates) for value in values)
        if values and 2 * numbers >= len(values):
            years = sum(year_of(value) is not None for value in values)
            named = any(_YEARS.search(part) for part in self._layout.paths[index])
            return "date" if named and 10 * years >= 8 * numbers else "number"
        return "date" if values and 2 * dates >= len(values) else "text"


def _unsign_costs(headers: Sequence[str], cells: list[list[str]]) -> Iterator[Decimal]:
    """Write the costs of a statement without the parentheses that say that they are deducted.

    So read where a line or column of costs has no other amounts, or all lines of costs of a table
    of one period: a text says "costs of $451.7 million" of ``(451.7)``; of a loss in a line of
    profits it says "loss".
    """
    lines = [(row[0], [(n, i) for i in range(1, len(row))]) for n, row in enumerate(cells) if row]
    for column, header in enumerate(headers):
        lines.append((header, [(n, column) for n in range(len(cells))]))
    found = []
    for name, places in lines:
        if _COSTS.search(name) and 0 not in label_signs(name).values():
            found.append([(n, i) for n, i in places if any(map(str.isdigit, cells[n][i]))])
    single = [places[0] for places in found if len(places) == 1]
    for stated in [single, *(places for places in found if len(places) > 1)]:
        matches = [_DEDUCTED.fullmatch(cells[n][i]) for n, i in stated]
        for (n, i), match in zip(stated, matches, strict=True):
            if len(stated) > 1 and all(matches) and match:
                cells[n][i] = match[1] + match[2]
                if number := parse_number(cells[n][i]):
                    yield number.value


SECTION = "Section"
"""Header of the column that says below which heading a row stood."""
UNNAMED = "Item"
"""Header of a first column that has none, the unit of all others, or the table's title."""
LONGEST = 60
"""Characters of a name beyond which only its last level is kept."""
_BRACKETS = re.compile(r"\s*\([^()]*\)\s*")


def flatten(table: Table) -> Table:
    """A table with one header row, without headings, totals, units, notes and spacer columns.

    The levels of a header become one name; headings of rows become a column where they are what
    tells rows of one name apart, or group most rows. Of columns with one name, each takes the name
    of the column that it follows ("Gold, Time, Silver, Time"); the second of two that cannot be
    told apart so is left out, and so is one without a name behind the first.
    """
    grid = Grid(table)
    lines = [line for line in grid.lines if not line.total]
    rows = [grid.named_row(line.index) for line in lines]
    used = [
        column for column in grid.columns if any(not is_blank(row[column.index]) for row in rows)
    ]
    if not used:
        return table
    names = _names(used)
    cells = [tuple(row[column.index] for row in rows) for column in used]
    kept: dict[str, tuple[str, ...]] = {}
    for name, column in zip(names, cells, strict=True):
        if name and name.casefold() not in map(str.casefold, kept):
            kept[name] = column
    above = [
        ", ".join(part.strip(" :") for part in line.path if part not in row)
        for line, row in zip(lines, rows, strict=True)
    ]
    filled = sum(map(bool, above))
    if len(set(above) - {""}) > 1 and 5 * filled >= 4 * len(rows) and SECTION not in kept:
        kept[SECTION] = tuple(above)
    return Table.of([*kept], zip(*kept.values(), strict=True), table.title)


def _names(columns: Sequence[Column]) -> list[str]:
    """One name for each column; the same twice, or none, where there is no other."""
    inner = Counter(column.name.casefold() for column in columns)
    names = []
    for column in columns:
        name = " ".join(column.path)
        # What stands above words ("Club performance" over "Season") says nothing of them.
        is_apart = column.kind != "number" or len(name) > LONGEST
        names.append(
            (column.name if is_apart and inner[column.name.casefold()] == 1 else name).strip(" :")
        )
    if is_unit_label(names[0]) or not 0 < len(_BRACKETS.sub("", names[0])) <= LONGEST:
        names[0] = UNNAMED
    counts = Counter(map(str.casefold, names))
    leader = ""
    led = list(names)
    for place, name in enumerate(names):
        if counts[name.casefold()] == 1:
            leader = name
        elif leader and name:
            led[place] = f"{leader} {columns[place].name}"
    counts = Counter(map(str.casefold, led))
    return [
        own if counts[own.casefold()] == 1 else name for own, name in zip(led, names, strict=True)
    ]
