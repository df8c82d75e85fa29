"""Two numbers that are one statement: results, records and attempts ("122-114", "11 of 20")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tablemend.verification.binding import Binder
from tablemend.verification.candidates import Binding, Candidate
from tablemend.verification.findings import Finding
from tablemend.verification.grounding import Cell, Grounder, Grounding
from tablemend.verification.indexing import Heading, Place
from tablemend.verification.reading import Amount

_PART = re.compile(r"\b(?:half|quarter|period|inning|set|overtime|run|stretch|lead|series|start)\b")
_RECORD = re.compile(
    r"\b(?:record|improv\w+|mark|(?:now|is|are) at|dropp\w+ to|f[ea]ll\w* to)\b[^,;]*$"
)
_SCORES = ({"point"}, {"run"}, {"result"}, {"scor"}, {"scor", "fulltim"}, {"scor", "display"})
_RESULTS = ({"result"}, {"scor", "fulltim"}, {"scor", "display"})
_HALVES = (({"win"}, {"loss"}), ({"made"}, {"attempt"}))


@dataclass(frozen=True, slots=True)
class _Slot:
    """Two cells that a pair can stand for, in the order in which people say them.

    Attributes:
        grid: number of the table.
        cells: of the first and of the second number.
        entity: whose they are.
        columns: the attributes that hold them.
        sure: whether the words leave no other reading.
        either: whether the order is free, as in a result that the loser's side tells.
    """

    grid: int
    cells: tuple[Cell, Cell]
    entity: Candidate
    columns: tuple[int, int]
    sure: bool
    either: bool = False


def verify_pair(
    grounder: Grounder, binder: Binder, one: Amount, other: Amount, scoped: bool
) -> list[Finding]:
    """Findings on both numbers of a pair.

    Args:
        grounder: compares with cells.
        binder: of their sentence.
        one: the first number.
        other: the second.
        scoped: whether the sentence speaks of other times than the table ("last season").
    """
    bindings = binder.bind(one)
    if one.pair == "versus":
        return _compared(grounder, one, other, bindings)
    if _of_unknown(binder, one):
        reason = "it is said of a name that the tables do not know"
        return [grounder.weak(amount, "unscored", reason) for amount in (one, other)]
    slots = list(_records(grounder, binder, one, bindings))
    record = any(slot.sure for slot in slots)
    if not record:
        slots += _attempts(grounder, bindings)
        slots += _results(grounder, binder, one, bindings)
    for slot in slots:
        if _agrees(grounder, one, other, slot):
            return _supported(grounder, one, other, slot)
    sure = [slot for slot in slots if slot.sure]
    if len({slot.cells for slot in sure}) == 1 and (record or not scoped):
        return _contradicted(grounder, one, other, sure[0])
    return _found_together(grounder, one, other)


def _of_unknown(binder: Binder, one: Amount) -> bool:
    """Whether brackets open behind a name that no table has: "Cleveland Cavaliers (30-18)"."""
    before = binder.plain[: one.start].rstrip(" (")
    unknown = any(name.end == len(before) for name in binder.unknown_names)
    return unknown and len(before) < one.start - 1


def _compared(
    grounder: Grounder, one: Amount, other: Amount, bindings: list[Binding]
) -> list[Finding]:
    """Two that are compared, "X had more than Y, 8 to 6": each number is its own name's.

    Or its own column's: "revenue came in above the consensus, at $8 million against $6 million".
    """
    for binding in bindings:
        named = [c for c in binding.entities if len(c.indices) == 1 and 0 <= c.start < one.start]
        named.sort(key=lambda candidate: candidate.start)
        measured = [c for c in binding.attributes if 0 <= c.start < one.start]
        measured.sort(key=lambda candidate: candidate.start)
        if len({c.indices for c in named}) == 2 and binding.attributes:
            attribute = min(binding.attributes, key=lambda c: (not c.clear, c.distance))
            sides = [(attribute, named[0]), (attribute, named[-1])]
        elif len({c.indices for c in named}) == 1 and len({c.indices for c in measured}) == 2:
            sides = [(measured[0], named[0]), (measured[-1], named[0])]
        else:
            continue
        findings = []
        for amount, (attribute, entity) in zip((one, other), sides, strict=True):
            cells = tuple(
                cell
                for cell in binding.cells(attribute, entity)
                if grounder.number(binding.grid, *cell) is not None
            )
            outcome = grounder.agreement(amount, binding.grid, cells)
            grounding = Grounding(
                0, binding.grid, attribute, entity, cells, outcome, binding.transposed
            )
            if outcome == "same":
                findings.append(grounder.supported(amount, grounding))
            elif outcome == "different":
                findings.append(grounder.contradicted(amount, grounding))
            else:
                findings.append(grounder.weak(amount, "unscored", "not comparable with the cell"))
        return findings
    return _found_together(grounder, one, other)


def _agrees(grounder: Grounder, one: Amount, other: Amount, slot: _Slot) -> bool:
    first, second = slot.cells
    orders = [(first, second), (second, first)] if slot.either else [(first, second)]
    return any(
        grounder.agreement(one, slot.grid, [a]) == "same"
        and grounder.agreement(other, slot.grid, [b]) == "same"
        for a, b in orders
    )


def _records(
    grounder: Grounder, binder: Binder, one: Amount, bindings: list[Binding]
) -> Iterator[_Slot]:
    """The record "(32-18)" behind a name, or beside "record": columns of wins and of losses."""
    before = binder.plain[max(0, one.start - 60) : one.start]
    for binding in bindings:
        if binding.transposed:
            continue
        columns = _halves(grounder, binding.grid, _HALVES[0])
        for entity in binding.entities if columns else ():
            beside = entity.distance == 0 and before.rstrip().endswith("(")
            if columns and len(entity.indices) == 1 and (beside or _RECORD.search(before)):
                row = entity.indices[0]
                cells = (row, columns[0]), (row, columns[1])
                yield _Slot(binding.grid, cells, entity, columns, beside)
                if beside:
                    break


def _halves(
    grounder: Grounder, grid: int, names: tuple[set[str], set[str]]
) -> tuple[int, int] | None:
    """The two columns of which one has the first and the other the second term, and no more."""
    terms = grounder.linking.index.terms
    found = []
    for wanted in names:
        own = [h.column for h, said in terms.items() if h.grid == grid and said == wanted]
        if len(own) != 1 or own[0] < 0:
            return None
        found.append(own[0])
    return found[0], found[1]


def _attempts(grounder: Grounder, bindings: list[Binding]) -> Iterator[_Slot]:
    """Attempts, "11 of 20 field goals": columns of those made and of those attempted."""
    terms = grounder.linking.index.terms
    for binding in bindings:
        if binding.transposed:
            continue
        for attribute in binding.attributes[:2]:
            said = {
                heading.column: names
                for heading, names in terms.items()
                if heading.grid == binding.grid and heading.column in attribute.indices
            }
            made = [column for column, names in said.items() if names & _HALVES[1][0]]
            tried = [column for column, names in said.items() if names & _HALVES[1][1]]
            if len(made) != 1 or len(tried) != 1 or attribute.distance > 4:
                continue
            for entity in binding.entities[:2]:
                if len(entity.indices) == 1:
                    row = entity.indices[0]
                    sure = entity.clear and attribute.distance <= 2
                    cells = (row, made[0]), (row, tried[0])
                    yield _Slot(binding.grid, cells, entity, (made[0], tried[0]), sure)


def _results(
    grounder: Grounder, binder: Binder, one: Amount, bindings: list[Binding]
) -> Iterator[_Slot]:
    """Results, "beat the Lakers 113-107": one column, two rows that the sentence names."""
    part = _PART.search(binder.plain, *binder.sentence)
    for binding in bindings:
        if binding.transposed:
            continue
        named = [c for c in binding.entities if len(c.indices) == 1 and c.start < one.start]
        rows = list(dict.fromkeys(c.indices[0] for c in sorted(named, key=lambda c: c.start)))
        grid = grounder.grids[binding.grid]
        if len(rows) < 2 and len(grid.lines) == 2:
            rows = [line.index for line in grid.lines]
        if len(rows) != 2:
            continue
        columns = _score_columns(grounder, binding.grid)
        entity = binding.entities[0] if binding.entities else Candidate(tuple(rows), 9, False)
        for column in columns:
            cells = (rows[0], column), (rows[1], column)
            beside = binder.plain[max(0, one.start - 3) : one.start].strip()
            sure = len(columns) == 1 and not part and beside != "(" and len(named) >= 2
            yield _Slot(binding.grid, cells, entity, (column, column), sure, either=True)


def _score_columns(grounder: Grounder, grid: int) -> list[int]:
    """The columns that can hold the score of a match."""
    return [
        heading.column
        for heading, said in grounder.linking.index.terms.items()
        if heading.grid == grid and heading.column >= 0 and said in _SCORES
    ]


def _supported(grounder: Grounder, one: Amount, other: Amount, slot: _Slot) -> list[Finding]:
    found = []
    for amount in (one, other):
        index = 0 if grounder.agreement(amount, slot.grid, [slot.cells[0]]) == "same" else 1
        found.append(grounder.supported(amount, _grounding(slot, index)))
    return found


def _contradicted(grounder: Grounder, one: Amount, other: Amount, slot: _Slot) -> list[Finding]:
    """Each number against its own cell; of a result, against the cell that the other leaves."""
    order = [0, 1]
    if slot.either:
        first, second = slot.cells
        matches = (
            grounder.agreement(one, slot.grid, [second]) == "same"
            or grounder.agreement(other, slot.grid, [first]) == "same"
        )
        values = [grounder.number(slot.grid, *cell) for cell in slot.cells]
        neither = not any(
            grounder.agreement(amount, slot.grid, [cell]) == "same"
            for amount in (one, other)
            for cell in slot.cells
        )
        if None not in values and neither:
            descending = values[0].value >= values[1].value  # type: ignore[union-attr]
            matches = descending != (one.value >= other.value)
        order = [1, 0] if matches else [0, 1]
    found = []
    for amount, index in zip((one, other), order, strict=True):
        grounding = _grounding(slot, index)
        if grounder.agreement(amount, slot.grid, grounding.cells) == "same":
            found.append(grounder.supported(amount, grounding))
        else:
            found.append(grounder.contradicted(amount, grounding))
    return found


def _grounding(slot: _Slot, index: int) -> Grounding:
    column = Candidate((slot.columns[index],), 0, True)
    cells = (slot.cells[index],)
    return Grounding(0, slot.grid, column, slot.entity, cells, "same", False)


def _can_face(grounder: Grounder, one: Amount, place: Place) -> bool:
    """Whether two rows of a column can be the sides of a pair; goals of two players are no score.

    Of a score only where the table tells of one match: two rows, or a column of results.
    """
    if one.pair != "score" or len(grounder.grids[place.grid].lines) == 2:
        return True
    said = grounder.linking.index.terms[Heading(place.grid, -1, place.column)]
    return said in _RESULTS


def _found_together(grounder: Grounder, one: Amount, other: Amount) -> list[Finding]:
    """Both numbers in one row, column or cell of a table, or nothing said."""
    places = [list(grounder.places(amount)) for amount in (one, other)]
    for first in places[0][:50]:
        for second in places[1][:50]:
            near = first.grid == second.grid and (
                first.row == second.row
                or (first.column == second.column and _can_face(grounder, one, first))
            )
            if near:
                return [
                    grounder.weak(
                        amount,
                        "supported",
                        "the table has both values together",
                        place.grid,
                        [(place.row, place.column)],
                    )
                    for amount, place in ((one, first), (other, second))
                ]
    reason = "which cells the two numbers stand for is not clear"
    return [grounder.weak(amount, "unscored", reason) for amount in (one, other)]
