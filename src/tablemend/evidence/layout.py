"""Which rows of a table are header, section headings, units, notes and totals; what spans what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, pairwise

from tablemend.evidence.labels import is_label, is_unit_label, label_unit, names_total, read_cell
from tablemend.values.cells import year_of
from tablemend.values.text import akin, names_values
from tablemend.values.units import PLAIN, Unit

MAX_HEADER_ROWS = 6
_LOOK_AHEAD = 8
_NOTE_LENGTH, _NAME_LENGTH = 100, 30
_NOTE = ("note", "source", "*", "(", '"', "†", "‡", "legend", "key:", "http")

Cells = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Body:
    """One body row and what stands above it.

    Attributes:
        row: index in the table.
        sections: headings above it, from the outermost.
        units: by column, what the unit row above it within the body states; empty without one.
    """

    row: int
    sections: tuple[str, ...]
    units: tuple[Unit | None, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """A table taken apart.

    Attributes:
        paths: for each column, the levels of its header from the top.
        header_units: for each column, the unit that the header states.
        body: the body rows, top to bottom.
        notes: rows of one text below the body, and what the header says of all cells.
        lead: the first column that holds anything: where row headings stand.
    """

    paths: tuple[tuple[str, ...], ...]
    header_units: tuple[Unit, ...]
    body: tuple[Body, ...]
    notes: tuple[str, ...]
    lead: int


def lay_out(columns: Sequence[str], cells: Cells) -> Layout:
    """Tell header rows, unit rows, section headings and notes from body rows.

    Reads hierarchical headers whose merged cells came apart into blanks (HiTab, SEC filings) and
    those whose cells were repeated (HTML spans). Linear in cells.

    Args:
        columns: the header row of the table.
        cells: the rows below it, plain; an empty string is an empty cell.
    """
    width = len(columns)
    used = [any(row[column] for row in cells) for column in range(width)]
    lead = next((column for column in range(width) if used[column]), 0)
    levels = [list(columns)]
    first = 0
    while first < min(len(cells) - 1, MAX_HEADER_ROWS):
        row = cells[first]
        if any(row) and not _continues_header(levels, cells, first, lead):
            break
        if any(row):
            levels.append(list(row))
        first += 1
    headings = [level[lead] for level in levels[1:] if level[lead] and _is_unit_row(level, lead)]
    paths, header_units, unit_notes = _name_columns(levels, used, lead)
    body, notes = _read_body(list(columns), cells, first, tuple(headings), used)
    return Layout(paths, header_units, body, (*unit_notes, *notes), lead)


def _continues_header(levels: list[list[str]], cells: Cells, index: int, lead: int) -> bool:
    """Whether a leading row belongs to the header.

    It names no row (its first cell is blank, or a unit: "(in millions)"), holds words, years or
    periods only (or counts from 1), and stands below a blank or a repeated header cell or above
    numbers; or it states units.
    """
    row = cells[index]
    filled = [column for column in range(lead + 1, len(row)) if row[column]]
    if not filled:
        return False
    below = [other for other in cells[index + 1 : index + 1 + _LOOK_AHEAD] if any(other)]
    if not below:
        return False
    if _is_unit_row(row, lead):
        return True
    named = row[lead] and row[lead] != levels[-1][lead] and not is_unit_label(row[lead])
    # One cell spans the names and more: "Club performance" above "Season", "Club".
    spanned = levels[-1][lead] and levels[-1][lead] == levels[-1][lead + 1] and row[lead + 1]
    if named and not spanned:
        return False
    counted = [row[column] for column in filled] == [str(n + 1) for n in range(len(filled))]
    if not counted and not all(is_label(row[column]) for column in filled):
        return False
    under = below[0]
    if not under[lead] and not all(is_label(cell) for cell in under if cell):
        return False  # rows below it have no name either
    values = [read_cell(other[column]) for column in filled for other in below if other[column]]
    numbers = sum(value.number is not None for value in values)
    years = sum(year_of(value) is not None for value in values)
    above_numbers = 2 * numbers >= len(values) > 0
    if named:
        return above_numbers
    above = levels[-1][lead + 1 :]
    spans = not all(above) or any(one == other for one, other in pairwise(above))
    repeats = any(row[column] == levels[-1][column] for column in filled)
    if any(read_cell(row[column]).number is not None for column in filled):
        # Years above numbers are a header; years in a column of years are not.
        return above_numbers and 2 * years < len(values) and (spans or repeats)
    return above_numbers or spans or repeats


def _is_unit_row(row: Sequence[str], lead: int) -> bool:
    filled = [cell for column, cell in enumerate(row) if cell and column != lead]
    return bool(filled) and all(map(is_unit_label, filled))


def _name_columns(
    levels: list[list[str]], used: list[bool], lead: int
) -> tuple[tuple[tuple[str, ...], ...], tuple[Unit, ...], list[str]]:
    """Paths and units of the columns, and labels that speak of all cells."""
    width = len(used)
    labels: list[list[str]] = []
    units = [PLAIN] * width
    notes = []
    for depth, level in enumerate(levels):
        unit_row = depth > 0 and _is_unit_row(level, lead)
        filled = [column for column in range(width) if level[column] and column != lead]
        spread = list(level)
        last = 0
        if len(filled) == 1 and len(levels) > 1 and filled[0] != lead + 1:
            spread[lead + 1 :] = [level[filled[0]]] * (width - lead - 1)
        # Else each label is carried to the right, to where the span above it ends.
        for column in range(lead + 1, width):
            if spread[column]:
                last = column
            elif last and (used[column] or depth < len(levels) - 1):
                spans = all(label[column] == label[last] for label in labels)
                if unit_row or (spans and not any(above[column] for above in levels[:depth])):
                    spread[column] = spread[last]
        if unit_row:
            stated = [label_unit(cell) if cell else PLAIN for cell in spread]
            stated[lead] = PLAIN
            units = [new if new != PLAIN else old for new, old in zip(stated, units, strict=True)]
            if len({level[column] for column in filled}) == 1:
                notes.append(level[filled[0]])
                spread = [""] * width
            spread[lead] = ""
        labels.append(spread)
    paths: list[tuple[str, ...]] = []
    for column in range(width):
        beside = [other for other in (column - 1, column + 1) if 0 <= other < width]
        if not used[column] and any(
            all(level[column] == level[other] for level in labels) for other in beside
        ):
            paths.append(("",))  # the empty half of a span
            continue
        path = tuple(dict.fromkeys(label[column] for label in labels if label[column]))
        paths.append(path or ("",))
        own = [unit for part in path if (unit := label_unit(part)) != PLAIN]
        if own and units[column] == PLAIN:
            units[column] = own[-1]
    return tuple(paths), tuple(units), notes


def _read_body(
    header: list[str], cells: Cells, first: int, headings: tuple[str, ...], used: list[bool]
) -> tuple[tuple[Body, ...], list[str]]:
    """Body rows with headings and units above them; trailing rows of one text are notes."""
    lead = used.index(True) if any(used) else 0
    single = [_heads_section(row, lead, used) for row in cells]
    if sum(used) == 2 and (
        sum(single[first:]) * 2 > len(cells) - first
        or any(used[column] and name and names_values(name) for column, name in enumerate(header))
    ):
        single = [False] * len(cells)  # the second column is blank as a rule, or may be
    for index in _unvalued(cells, single, first, lead, sum(used)):
        single[index] = False
    speaking = (i for i in range(first, len(cells)) if any(cells[i]) and not single[i])
    last = max(speaking, default=-1)
    body: list[Body] = []
    units: tuple[Unit | None, ...] = ()
    notes: list[str] = []
    sections = headings
    depth = len(headings)
    pending: list[str] = []
    for index in range(first, len(cells)):
        row = cells[index]
        if not any(row) or list(row) == header:
            continue
        if single[index]:
            text = next(cell for cell in row if cell)
            (notes if index > last or _is_note(text) else pending).append(text)
            continue
        if index < last and _is_unit_row(row, lead):
            units = _row_units(row, lead)
            pending += [row[lead]] if row[lead] else []
            continue
        if pending:
            # A lone heading takes the place of the innermost; several open all levels anew.
            kept = sections[: depth - 1] if len(pending) == 1 and depth else ()
            sections = (*kept, *pending)
            depth = len(sections)
            pending = []
        body.append(Body(index, sections, units))
        # "Total Industrial Solutions" ends the section "Industrial Solutions:"
        name, section = row[lead].casefold(), sections[-1].casefold() if sections else ""
        if sections and name.startswith("total") and name.endswith(section.strip(" :")):
            sections = sections[:-1]
    return tuple(body), notes


def _unvalued(
    cells: Cells, single: Sequence[bool], first: int, lead: int, width: int
) -> Iterator[int]:
    """Rows of a name alone that head nothing: a short last one, a lone one of two columns."""
    alone = [index for index in range(first, len(cells)) if single[index]]
    filled = [index for index in range(first, len(cells)) if any(cells[index])]
    for index in alone:
        name = cells[index][lead]
        last = index == filled[-1] and not single[filled[max(0, len(filled) - 2)]]
        inside = width == 2 and len(alone) == 1 and index != filled[0]
        named = 0 < len(name) <= _NAME_LENGTH and name[0].isalnum() and name[-1] not in ":."
        if (last or inside) and named and not _is_note(name):
            yield index


def _heads_section(row: Sequence[str], lead: int, used: list[bool]) -> bool:
    """Whether a row is one text: in its first cell alone, or the same in all of several cells."""
    text = row[lead]
    if sum(used) < 2:
        return False
    others = [row[column] for column in range(len(row)) if used[column] and column != lead]
    if not any(others):
        return bool(text)
    same = len(others) > 1 and all(cell == others[0] for cell in others)
    return (
        same and text in ("", others[0]) and len(others) + bool(text) > 2 and is_heading(others[0])
    )


def is_heading(text: str) -> bool:
    """Whether a text repeated over a whole row can be its heading: words, no lone value."""
    value = read_cell(text)
    return not value.blank and value.number is None and len(text) > 2


def find_parents(depths: Sequence[int], names: Sequence[str]) -> list[tuple[str, ...]]:
    """The rows that each row is set in under, from the outermost.

    Args:
        depths: how far each row's heading is set in.
        names: the headings.
    """
    parents: list[tuple[str, ...]] = []
    above: list[tuple[int, str]] = []
    for depth, name in zip(depths, names, strict=True):
        while above and above[-1][0] >= depth:
            above.pop()
        parents.append(tuple(parent for _, parent in above))
        above.append((depth, name))
    return parents


def _is_note(text: str) -> bool:
    return len(text) > _NOTE_LENGTH or text.casefold().startswith(_NOTE)


def _row_units(row: Sequence[str], lead: int) -> tuple[Unit | None, ...]:
    """The units of a unit row; each holds to the right up to the next."""
    units: list[Unit | None] = [None] * (lead + 1)
    for cell in row[lead + 1 :]:
        units.append(label_unit(cell) if cell else units[-1])
    return tuple(units)


Numbers = dict[int, Decimal]
"""The numbers of a row, by column."""

_QUALIFIED = re.compile(r"(?:total|all) (?=\S)", re.I)
_CHECKED = 12
_MOST_ADDENDS = 40
_ADDENDS = 3
_DIGITS = 6
"""How many digits the sums of all columns must have together: small sums come by chance."""


def find_totals(
    body: Sequence[Body],
    paths: Sequence[tuple[str, ...]],
    numbers: Sequence[Numbers],
    texts: Sequence[Sequence[str]],
    key_header: str,
) -> list[bool]:
    """For each body row, whether it adds up or averages other rows.

    By its name alone: "Total", "Career", "Average". "Total Cholesterol" may be a thing of its own:
    such a row counts where it ends a section of that name, is the sum of the rows above or below
    it, or goes on in small letters ("Total sales"; "all farms" below "farm size") and is not
    smaller than the row beside it. By the figures alone only the first or the last row, where it is
    the sum of all others in at least half of the columns of numbers.

    Args:
        body: the body rows of a table.
        paths: the path of each.
        numbers: of each, outside the key column.
        texts: the cells of each left of the first column of numbers.
        key_header: header of the key column.
    """
    found: list[bool] = []
    starts: list[int] = []  # where the rows begin that a total above adds up
    for place, (part, path) in enumerate(zip(body, paths, strict=True)):
        start = place
        cells = [cell for cell in texts[place] if not _QUALIFIED.match(cell)]
        labels = [*path[len(part.sections) :], *cells]
        named = [label for label in labels if names_total(label)]
        flag = bool(named)
        if named:
            above = _sum_of(numbers[place], _above(numbers, found, starts, place))
            start = place if above is None else above
        if named and (qualified := _QUALIFIED.match(named[0])):
            rest = named[0][qualified.end() :]
            section = part.sections[-1].strip(" :").casefold() if part.sections else ""
            flag = (
                start < place
                or rest.casefold() == section
                or _sum_of(
                    numbers[place], enumerate(numbers[place + 1 : place + 1 + _MOST_ADDENDS])
                )
                is not None
                or (_is_class(key_header, named[0], rest) and not _below(numbers, place))
            )
        found.append(flag)
        starts.append(start)
    if len(body) > _ADDENDS and not any(found):
        for place in (len(body) - 1, 0):
            if _adds_up(numbers, place):
                found[place] = True
                break
    return found


def _is_class(key_header: str, label: str, rest: str) -> bool:
    """Whether "total sales" or "all farms" means a whole: a word in small letters, or the key's."""
    if rest != rest.lower():
        return False
    header = key_header.casefold().split()
    return label[0] in "tT" or any(akin(one, other) for one in rest.split() for other in header)


def _above(
    numbers: Sequence[Numbers], found: Sequence[bool], starts: Sequence[int], place: int
) -> Iterator[tuple[int, Numbers]]:
    """The rows above a row, the nearest first; a total stands for the rows that it adds up."""
    while place > 0:
        above = place - 1
        place = starts[above] if found[above] else above
        yield place, numbers[above]


def _sum_of(own: Numbers, rows: Iterable[tuple[int, Numbers]]) -> int | None:
    """Where the rows end, two of them at least, that add up to a row; ``None`` for none."""
    sums: Numbers = {}
    for count, (place, row) in enumerate(islice(rows, _MOST_ADDENDS), 1):
        for column, value in row.items():
            sums[column] = sums.get(column, Decimal(0)) + value
        if count > 1 and _equal_somewhere(own, sums, count):
            return place
    return None


def _equal_somewhere(total: Numbers, sums: Numbers, count: int) -> bool:
    """Whether sums of so many rows are a row's numbers, up to rounding, in half its columns."""
    equal = 0
    for column, value in total.items():
        exponent = value.as_tuple().exponent
        written = isinstance(exponent, int) and exponent < 0  # with decimals, so it was rounded
        room = Decimal(count) / 2 * Decimal(1).scaleb(int(exponent)) if written else 0
        equal += value != 0 and column in sums and abs(value - sums[column]) <= room
    return 2 * equal >= len(total) > 0


def averages_columns(rows: Iterable[Numbers], index: int) -> bool:
    """Whether a column is the average of the other columns of numbers, in most rows."""
    right = []
    for row in islice(rows, _CHECKED):
        own = row.get(index)
        others = [value for column, value in row.items() if column != index]
        if own is not None and len(others) >= _ADDENDS - 1:
            mean = sum(others, Decimal(0)) / len(others)
            right.append(abs(mean - own) <= Decimal("0.011") * max(Decimal(1), abs(own)))
    return 2 * sum(right) > len(right) > 0


def _below(numbers: Sequence[Numbers], place: int) -> bool:
    """Whether a row is smaller than the one beside it wherever both have amounts."""
    own = numbers[place]
    other = numbers[place - 1] if place else numbers[min(1, len(numbers) - 1)]
    shared = [column for column in own if column in other and other[column] > 0 and own[column] > 0]
    return bool(shared) and all(own[column] < other[column] for column in shared)


def _adds_up(numbers: Sequence[Numbers], place: int) -> bool:
    """Whether a row is the sum of all others, in half of its columns and by digits enough."""
    others = [row for other, row in enumerate(numbers) if other != place]
    digits = matched = 0
    for column, value in numbers[place].items():
        addends = [row[column] for row in others if column in row]
        if value and len(addends) >= _ADDENDS and sum(addends) == value:
            matched += 1
            digits += len(str(abs(int(value))))
    return 2 * matched >= len(numbers[place]) and digits >= _DIGITS
