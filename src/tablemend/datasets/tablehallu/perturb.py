"""Perturbing a kernel that no program made: its own context among sentences out of scope.

Table, constraints and context come from a language model. Every row that is added breaks a
condition that the program itself can read, and the context is kept word for word (TableHallu,
A.2.2).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import NamedTuple

from tablemend.datasets.tablehallu.breaking import Breaker, find_breaker
from tablemend.datasets.tablehallu.columns import Column, TypedTable, clean_cell, type_columns
from tablemend.datasets.tablehallu.compose import Sentence, StatedRow
from tablemend.datasets.tablehallu.counterparts import Counterparts, Plan, Slot
from tablemend.datasets.tablehallu.engine import EXPANSION, SENTENCES_A_PARAGRAPH
from tablemend.datasets.tablehallu.kernel import Rejected
from tablemend.datasets.tablehallu.prose import Piece, split_pieces
from tablemend.datasets.tablehallu.scope import Row
from tablemend.datasets.tablehallu.settings import Difficulty
from tablemend.detector.keys import primary_key
from tablemend.records import Condition, Constraints, Fact, Mention
from tablemend.tables.table import Table
from tablemend.values.cells import read_value
from tablemend.values.sentences import sentence_spans

ENGINE = "perturb/2"
_UNSPEAKABLE = frozenset("{}")


class Perturbation(NamedTuple):
    """An adversarial context and where in it everything out of scope stands.

    Attributes:
        context: the gold context, sentence for sentence, dispersed among the others.
        facts: the distractors' facts, in order of their rows; the gold ones are where the
            context says them, in words of its own.
    """

    context: str
    facts: tuple[Fact, ...]


def perturb_kernel(
    table: Table, constraints: Constraints, context: str, difficulty: Difficulty, seed: int
) -> Perturbation:
    """Disperse a context among sentences about rows that break a condition.

    Every added row has a fresh name, or, where the table has an entity at several times, that of
    a gold entity at a time out of scope; what is blank for an entity in the table is not said of
    it anywhere. Of the conditions only those are broken that all gold cells are read to meet; the
    adversarial context is at least ``engine.EXPANSION`` times as long.

    Args:
        table: the gold table; ``None`` is a blank.
        constraints: with the conditions that the query sets.
        context: the gold context, in any prose.
        difficulty: length over the context's.
        seed: the only source of chance beside the table itself.

    Raises:
        Rejected: there is nothing that a program can break, or the context cannot be dispersed.
    """
    rng = Random(f"{ENGINE}:{seed}:{difficulty}:{table.content_hash()}")
    plan = _make_plan(table, constraints, context, rng)
    pieces = split_pieces(context, _tellers(plan))
    if len(pieces) < 2:
        raise Rejected("a context in one piece, which cannot be dispersed")
    rows: list[StatedRow] = []
    target = EXPANSION[difficulty] * len(context)
    length = sum(piece.end - piece.start + 1 for piece in pieces)
    for row in Counterparts(plan, rng).rows():
        if length > target:
            break
        rows.append(row)
        length += sum(len(sentence.text) + 1 for sentence in row.sentences)
    if length <= target or len(rows) < len(pieces):
        raise Rejected("too few rows out of scope for the length")
    return _lay_out(context, pieces, rows, rng)


def with_entity_condition(table: Table, constraints: Constraints) -> Constraints:
    """The constraints, with the entities as a condition where their scope lists all of them.

    "Compare the British and the Mongol Empire" sets a condition on the key that models often
    state in ``entity_scope`` alone (TableHallu, A.2.1).
    """
    key = table.columns[primary_key(table)]
    listed = {name.casefold(): name for name in constraints.entity_scope}
    entities = dict.fromkeys(cell for cell in table.column(key) if cell is not None)
    known = any(condition.column == key for condition in constraints.conditions)
    if known or not entities or not all(name.casefold() in listed for name in entities):
        return constraints
    condition = Condition(key, values=tuple(entities))
    return replace(constraints, conditions=(*constraints.conditions, condition))


def _make_plan(table: Table, constraints: Constraints, context: str, rng: Random) -> Plan:
    """Read the kernel.

    Raises:
        Rejected: no entities, or no condition that a program can break.
    """
    if not table.rows or table.duplicate_columns():
        raise Rejected("a table without rows, or with a column twice")
    if not all(map(_is_speakable, table.columns)):
        raise Rejected("a header that cannot stand in a sentence")
    key = primary_key(table)
    rows: list[Row] = [tuple(map(clean_cell, row)) for row in table.rows]
    names = [row[key] for row in rows]
    if any(name is None or _is_no_name(name) for name in names):
        raise Rejected("no column that names the entities")
    if not constraints.conditions:
        raise Rejected("no condition")
    columns, _ = type_columns(table.columns, rows)
    width = len(columns)
    slots: list[Slot] = []
    fixed: set[int] = set()
    reasons: list[str] = []
    for condition in constraints.conditions:
        index = _find_column(columns, condition.column)
        column = [row[index] for row in rows] if index is not None and index < width else []
        cells = [cell for cell in column if cell is not None]
        found: Breaker | str | None = (
            _break_key(condition, cells) if index == key else find_breaker(condition, cells, rng)
        )
        if index is None and not _is_speakable(condition.column):
            found = "a condition whose column cannot stand in a sentence"
        if isinstance(found, str):
            reasons.append(found)
            fixed.update(() if index is None else (index,))
            continue
        if index is None:
            index = len(columns)
            samples: list[Row] = [(found.keep(rng),)] if found else []
            columns.extend(type_columns([condition.column], samples)[0])
        slots.append(Slot(index, condition.column, found))
    if not slots:
        raise Rejected(f"no condition that a program can break: {reasons[0]}")
    wide = [(*row, *(None,) * (len(columns) - width)) for row in rows]
    names_of_columns = tuple(column.name for column in columns)
    typed = TypedTable(Table(names_of_columns, tuple(wide)), tuple(columns), key, (), "", ())
    return Plan(
        typed,
        width,
        tuple(slots),
        frozenset(fixed - {slot.column for slot in slots}),
        _find_time(wide, key, slots, width),
        context,
    )


def _break_key(condition: Condition, cells: Sequence[str]) -> str | None:
    """Why a condition on the key cannot be broken by a fresh name; ``None`` where it can."""
    listed = {value.casefold() for value in condition.values}
    lists_all = {cell.casefold() for cell in cells} <= listed
    return None if lists_all else "a condition on the key that does not list its entities"


def _is_speakable(header: str) -> bool:
    return bool(header.strip()) and _UNSPEAKABLE.isdisjoint(header)


def _is_no_name(cell: str) -> bool:
    value = read_value(cell)
    return value.number is not None or bool(value.dates)


def _find_column(columns: Sequence[Column], name: str) -> int | None:
    for index, column in enumerate(columns):
        if column.name.casefold() == name.casefold():
            return index
    return None


def _find_time(rows: Sequence[Row], key: int, slots: Sequence[Slot], width: int) -> int | None:
    """The condition's column of years or dates in which one entity has several values."""
    for slot in slots:
        if slot.breaker is None or not slot.breaker.is_time or slot.column >= width:
            continue
        times: dict[str | None, list[str | None]] = defaultdict(list)
        for row in rows:
            times[row[key]].append(row[slot.column])
        repeated = [values for values in times.values() if len(values) > 1]
        if repeated and all(len(set(values)) == len(values) for values in repeated):
            return slot.column
    return None


def _tellers(plan: Plan) -> dict[str, list[str]]:
    """For each entity with several rows the cells that tell them apart."""
    key = plan.typed.key
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in plan.typed.table.rows:
        rows[row[key] or ""].append(row)
    telling = range(plan.width) if plan.time is None else (plan.time,)
    return {
        entity: [
            cell
            for column in telling
            for cell, count in Counter(row[column] for row in found).items()
            if cell is not None and count == 1 < len(found)
        ]
        for entity, found in rows.items()
    }


def _spread(first: int, last: int, count: int, rng: Random) -> list[int]:
    """Different places from first to last, one in each of as many equal stretches."""
    step = (last - first + 1) / count if count else 0.0
    borders = [first + int(step * number) for number in range(count + 1)]
    return [rng.randrange(start, end) for start, end in pairwise(borders)]


def _lay_out(
    context: str, pieces: Sequence[Piece], rows: Sequence[StatedRow], rng: Random
) -> Perturbation:
    """Pieces in their order, at least one row between two; a row's sentences stay together."""
    # An opening that names no entity speaks of the whole and stays in front.
    opening = 1 if not pieces[0].names else 0
    gaps = _spread(opening, len(rows), len(pieces) - opening, rng)
    places = dict(zip([0, *gaps] if opening else gaps, pieces, strict=True))
    order = list(range(len(rows)))
    rng.shuffle(order)
    parts: list[str] = []
    stated: list[tuple[int, int, Sentence]] = []
    length = in_paragraph = 0
    for position in range(len(rows) + 1):
        units: list[tuple[int, list[Sentence]]] = []
        if (piece := places.get(position)) is not None:
            text = context[piece.start : piece.end]
            units.append((-1, [Sentence(text, ())]))
        if position < len(rows):
            units.append((order[position], list(rows[order[position]].sentences)))
        for number, sentences in units:
            for sentence in sentences:
                joint = " " if in_paragraph else "\n\n" if parts else ""
                parts.append(joint + sentence.text)
                length += len(joint) + len(sentence.text)
                stated.append((number, length - len(sentence.text), sentence))
                in_paragraph += 1 if number >= 0 else len(sentence_spans(sentence.text))
            if in_paragraph >= SENTENCES_A_PARAGRAPH:
                in_paragraph = 0
    stated.sort(key=lambda entry: entry[:2])
    facts = [
        Fact(
            number,
            rows[number].entity,
            column,
            value,
            rows[number].violates,
            None,
            Mention(at + start, at + stop, at, at + len(sentence.text)),
        )
        for number, at, sentence in stated
        for column, value, start, stop in sentence.stated
    ]
    return Perturbation("".join(parts), tuple(facts))
