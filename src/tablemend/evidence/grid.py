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
        units_above: by column, what a unit row within the body states; empty without one.
    """

    index: int
    header: str
    path: tuple[str, ...]
    total: bool
    name: str = ""
    unit: Unit = PLAIN
    units_above: tuple[Unit | None, ...] = ()


class Grid:
    """A table, read once and asked often.

    Args:
        table: the table.
        number: its place in the source.

    Attributes:
        key: index of the column that names the rows.
        filled: the cells of the body rows; a blank row heading is that above it, as merged cells
            came apart.
    """

    def __init__(self, table: Table, number: int = 0) -> None:
        self.table, self.number = table, number
        self._cells = [list(map(plain_cell, row)) for row in table.rows]
        for column in range(len(table.columns)):
            if writes_dots(row[column] for row in self._cells):
                for row in self._cells:
                    row[column] = undotted(row[column])
        headers = list(map(plain_header, table.columns))
        self._unsigned = frozenset(_unsign_costs(headers, self._cells))
        self._layout = lay_out(headers, self._cells)
        self.filled: dict[int, list[str]] = {}
        lead, above = self._layout.lead, ""
        for part in self._layout.body:
            row = self._cells[part.row]
            if not row[lead] and above:
                row = [*row[:lead], above, *row[lead + 1 :]]
            self.filled[part.row] = row
            above = row[lead]
        self._sample = [self.filled[part.row] for part in self._layout.body[:SAMPLE]]
        self._values: dict[int, tuple[Value, ...]] = {}
        self._units: dict[tuple[int, int], Unit] = {}
        self._signs: dict[tuple[int, int], Mapping[str, int]] = {}
        self.key = self._find_key()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All columns, left to right."""
        columns = []
        for index, path in enumerate(self._layout.paths):
            kind, header = self._kinds[index], ", ".join(path)
            unit = self._header_unit(index)
            if kind == "number" and not counts_by_itself(header):
                unit = merge_units(unit, self._caption_unit)
            columns.append(Column(index, header, path, unit, kind, self._totals(index)))
        return tuple(columns)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """All body rows, top to bottom; rows that only head a section or the table are none."""
        body, key, qualifier = self._layout.body, self.key, self._qualifier
        rows = [self.filled[part.row] for part in body]
        parents = find_parents(
            [indentation(self.table.rows[part.row][key]) for part in body],
            [row[key] for row in rows],
        )
        paths = []
        for part, row, above in zip(body, rows, parents, strict=True):
            labels = [*part.sections, *above, *(row[group] for group in self._grouping), row[key]]
            if qualifier is not None:
                labels.append(row[qualifier])
            paths.append(tuple(dict.fromkeys(label for label in labels if label)) or ("",))
        # the cells left of the first column of numbers; none where there is no such
        first = next((column.index for column in self.columns if column.kind == "number"), 0)
        totals = find_totals(
            body,
            paths,
            [self._numbers(part.row) for part in body],
            [self._cells[part.row][:first] for part in body],
            self.columns[key].header,
        )
        lines = []
        for part, row, path, total in zip(body, rows, paths, totals, strict=True):
            unit = merge_units(row_unit(row[key]), *map(row_unit, reversed(part.sections)))
            line = Line(part.row, ", ".join(path), path, total, row[key], unit, part.units)
            lines.append(line)
        return tuple(lines)

    @cached_property
    def caption(self) -> str:
        """The title, and notes below the body."""
        return "\n".join(filter(None, (self.table.title, *self._layout.notes)))

    @cached_property
    def key_value(self) -> bool:
        """Whether the table is a list of attributes with their values, as an info box."""
        width = len(self.table.columns)
        used = [index for index in range(width) if any(row[index] for row in self._sample)]
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
        if self.key_value:
            return True
        others = [column for column in self.columns if column.kind != "name" and column.header]
        periods = sum(
            any(_PERIOD.fullmatch(level) or parse_date(level) for level in column.path)
            for column in others
        )
        numbers = [column for column in others if column.kind == "number"]
        if periods >= 2 and 2 * periods > len(others) and numbers:
            return True
        units = {line.unit for line in self.lines}
        return len(units) > 2 and len(numbers) >= 2 and len({c.unit for c in numbers}) == 1

    def cell(self, row: int, column: int) -> str:
        """A cell as written, less marks of print; the empty string for an empty one."""
        return self._cells[row][column]

    def value(self, row: int, column: int) -> Value:
        """A cell, read."""
        values = self._values.get(row)
        if values is None:
            values = self._values[row] = tuple(
                read_counted(cell) if counted else read_cell(cell)
                for cell, counted in zip(self._cells[row], self._counted, strict=True)
            )
        return values[column]

    def second(self, row: int, column: int) -> Number | None:
        """The other number of a cell that states two, as its header says: "n (%)", "n/N"."""
        if column not in self.two_valued:
            return None
        return second_number(self.cell(row, column), self.columns[column].header)

    @cached_property
    def two_valued(self) -> frozenset[int]:
        """The columns whose cells state two numbers each."""
        found = set()
        for index, path in enumerate(self._layout.paths):
            cells = [cell for cell in self._body_cells(index) if cell]
            if 2 * sum(second_number(cell, path[-1]) is not None for cell in cells) > len(cells):
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
        line, header = self._by_row[row], self.columns[column].header
        below = line.units_above[column] if line.units_above else None
        own = merge_units(line.unit, self._header_unit(column) if below is None else below)
        if any(map(counts_shares, (header, *line.path))):
            return merge_units(own, Unit(self._share_scale))
        if any(map(counts_by_itself, (header, *line.path))):
            return own
        return merge_units(own, self._caption_unit)

    def _header_unit(self, column: int) -> Unit:
        """What a column's header states; of "n (%)" the first number counts."""
        unit = self._layout.header_units[column]
        return PLAIN if unit.symbol == "%" and column in self.two_valued else unit

    def names(self, row: int) -> tuple[str, ...]:
        """All texts of a row that can name it: its path and its other cells of text."""
        cells = self.filled[row]
        texts = [cells[column.index] for column in self.columns if column.kind != "number"]
        return tuple(dict.fromkeys(text for text in (*self._by_row[row].path, *texts) if text))

    def signs(self, row: int, column: int) -> Mapping[str, int]:
        """What the names of a cell's row and column say of its sign."""
        if (known := self._signs.get((row, column))) is None:
            label = f"{self._by_row[row].header}, {self.columns[column].header}"
            known = self._signs[row, column] = label_signs(label)
        return known

    def evidence(self, row: int, column: int) -> Evidence:
        """A cell as evidence, serialised as in TabFaith, Appendix A."""
        named = f'Row "{self._by_row[row].header}", Column "{self.columns[column].header}"'
        return Evidence(f"{named}: {self.cell(row, column)}", self.number, row, column)

    def deducts(self, value: Decimal) -> bool:
        """Whether a cost of this size stood in parentheses, so that it can be called negative."""
        return value in self._unsigned

    @cached_property
    def _by_row(self) -> dict[int, Line]:
        return {line.index: line for line in self.lines}

    @cached_property
    def _captions(self) -> tuple[str, ...]:
        """What speaks of all cells: notes, the corner of the header, the title."""
        corner = self._layout.paths[self._layout.lead]
        return (*self._layout.notes, *corner, self.table.title)

    @cached_property
    def _caption_unit(self) -> Unit:
        units = (caption_unit(text) for text in self._captions if text)
        return next((unit for unit in units if unit != PLAIN), PLAIN)

    @cached_property
    def _share_scale(self) -> Decimal:
        return max(map(share_scale, self._captions))

    def _find_key(self) -> int:
        """The detector's primary key; of two columns of names the right one where the left only
        groups the rows ("Setting", "Metrics").
        """
        key = primary_key(Table.of(self.table.columns, self._sample))
        if self._distinct(key) or any(self._distinct(left) for left in range(key)):
            return key
        for index in range(key + 1, min(key + 4, len(self.table.columns))):
            if self.table.columns[index] and names_values(self.table.columns[index]):
                continue  # an attribute with several values
            filled = sum(bool(row[index]) for row in self._sample)
            named = self._has_names(index) and self._distinct(index)
            if named and 10 * filled >= 9 * len(self._sample):
                return index
        return key

    @cached_property
    def _grouping(self) -> tuple[int, ...]:
        """Columns of names left of the key, which it stands below."""
        return tuple(index for index in range(self.key) if self._has_names(index))

    @cached_property
    def _qualifier(self) -> int | None:
        """The column that tells rows of one name apart; ``None`` where names are distinct."""
        if self._distinct(self.key):
            return None
        others = (i for i, kind in enumerate(self._kinds) if kind not in ("name", "number"))
        return next((index for index in others if self._distinct(index, self.key)), None)

    def _distinct(self, *indices: int) -> bool:
        """Whether a column's cells, or pairs of two, are found once each; one in ten may not be."""
        cells = [tuple(row[index] for index in indices) for row in self._sample]
        filled = [key for key in cells if any(key)]
        return bool(filled) and len(set(filled)) >= 0.9 * len(filled)

    def _has_names(self, index: int) -> bool:
        """Whether a column holds words: no dates in any spelling, no ranks such as "T2"."""
        cells = [cell for row in self._sample if (cell := row[index])]
        words = sum(_NAME.search(cell) is not None for cell in cells)
        return column_kind(cells) == "name" and 2 * words > len(cells) and not self._dated(index)

    def _dated(self, index: int) -> bool:
        return any(_YEARS.search(part) for part in self._layout.paths[index])

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

    def _body_cells(self, index: int) -> list[str]:
        return [self._cells[part.row][index] for part in self._layout.body[:SAMPLE]]

    @cached_property
    def _counted(self) -> tuple[bool, ...]:
        """For each column whether it counts in a word of its own: "94 fL", "12 goals"."""
        return tuple(
            index != self._layout.lead and counts_in_words(self._body_cells(index))
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
        if values and 2 * numbers >= len(values):
            years = sum(year_of(value) is not None for value in values)
            return "date" if self._dated(index) and 10 * years >= 8 * numbers else "number"
        dates = sum(bool(value.dates) for value in values)
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
    rows = [grid.filled[line.index] for line in lines]
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
