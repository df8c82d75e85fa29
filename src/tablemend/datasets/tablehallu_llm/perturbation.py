"""Distractors around a kernel that a language model wrote (TableHallu, A.2.2).

All rows of its table are in scope and its context is prose. Every added row violates a condition
that the program itself can read, and the context is kept word for word.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import NamedTuple

from tablemend.datasets.tablehallu.columns import (
    TypedTable,
    clean_cell,
    read_number,
    type_columns,
    words_of,
)
from tablemend.datasets.tablehallu.compose import Sentence, StatedRow
from tablemend.datasets.tablehallu.distractors import Rows
from tablemend.datasets.tablehallu.engine import EXPANSION, SENTENCES_A_PARAGRAPH
from tablemend.datasets.tablehallu.kernel import Rejected
from tablemend.datasets.tablehallu.names import NameGuard
from tablemend.datasets.tablehallu.scope import Row
from tablemend.datasets.tablehallu.sentences import Speaker
from tablemend.datasets.tablehallu.settings import Difficulty
from tablemend.datasets.tablehallu.verification import meets
from tablemend.datasets.tablehallu_llm.pieces import Piece, split_pieces
from tablemend.datasets.tablehallu_llm.violations import Violator, find_violator, other_categories
from tablemend.detector.keys import primary_key
from tablemend.records import Condition, Constraints, Fact, Mention
from tablemend.tables.table import Cell, Table
from tablemend.values.cells import read_value
from tablemend.values.sentences import sentence_spans

ENGINE = "perturb/3"
MOST_ROWS = 3000
ROWS_A_STEP = 15
"""After so many rows the next ones stand a little further out of scope."""

_USES_OF_A_TEXT = 4
_UNSPEAKABLE = frozenset("{}")


class Perturbation(NamedTuple):
    """An adversarial context and where in it everything out of scope is.

    Attributes:
        context: the gold context, sentence for sentence, dispersed among the others.
        facts: the distractors' facts, in order of their rows; the gold ones are where the
            context says them, in words of its own.
    """

    context: str
    facts: tuple[Fact, ...]


class Violated(NamedTuple):
    """A condition that a program can violate.

    Attributes:
        column: index of the column that it reads.
        violator: ``None`` where it lists the entities: any other name violates it.
    """

    column: int
    condition: Condition
    violator: Violator | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known of a kernel before a row is made.

    Attributes:
        typed: the gold rows, with a column more for each condition on a column that the table
            lacks; all rows meet it there.
        conditions: those that can be violated.
        scope: columns that any condition reads.
        time: the column that distinguishes the rows of one entity, where what is out of scope may
            be the same entity at another time; else ``None``.
    """

    typed: TypedTable
    conditions: tuple[Violated, ...]
    scope: frozenset[int]
    time: int | None


def perturb_kernel(
    table: Table, constraints: Constraints, context: str, difficulty: Difficulty, seed: int
) -> Perturbation:
    """Disperse a context among sentences about rows that violate a condition.

    Every added row has a fresh name, or, where the table has an entity at several times, that of
    a gold entity at a time out of scope; what is blank for an entity in the table is not said of
    it anywhere. Of the conditions only those are violated that all gold cells are read to meet;
    the adversarial context is at least ``engine.EXPANSION`` times as long.

    Args:
        table: the gold table; ``None`` is a blank.
        constraints: with the conditions that the query sets.
        context: the gold context, in any prose.
        difficulty: length over the context's.
        seed: the only source of chance beside the table itself.

    Raises:
        Rejected: there is nothing that a program can violate, or the context cannot be dispersed.
    """
    rng = Random(f"{ENGINE}:{seed}:{difficulty}:{table.content_hash()}")
    plan = _make_plan(table, constraints, rng)
    pieces = split_pieces(context, _distinguishing_cells(plan))
    if len(pieces) < 2:
        raise Rejected("a context in one piece, which cannot be dispersed")
    rows: list[StatedRow] = []
    target = EXPANSION[difficulty] * len(context)
    length = sum(piece.end - piece.start + 1 for piece in pieces)
    for row in _Distractors(plan, context, seed, rng).rows():
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


def _make_plan(table: Table, constraints: Constraints, rng: Random) -> Plan:
    """Read the kernel.

    Raises:
        Rejected: no entities, or no condition that a program can violate.
    """
    if not table.rows or table.duplicate_columns():
        raise Rejected("a table without rows, or with a column twice")
    if not all(map(_is_speakable, table.columns)):
        raise Rejected("a header that cannot stand in a sentence")
    key = primary_key(table)
    rows = [list(map(clean_cell, row)) for row in table.rows]
    if any(row[key] is None or _is_no_name(row[key]) for row in rows):
        raise Rejected("no column that names the entities")
    if not constraints.conditions:
        raise Rejected("no condition")
    names = list(table.columns)
    conditions: list[Violated] = []
    scope: set[int] = set()
    reasons: list[str] = []
    for condition in constraints.conditions:
        index = _find_column(names, condition.column)
        own = () if index is None or index >= len(table.columns) else table.column(names[index])
        cells = [clean for cell in own if (clean := clean_cell(cell)) is not None]
        found = _violator_of(condition, cells, index == key, rng)
        if not isinstance(found, str):
            if index is None:
                index = len(names)
                names.append(condition.column)
                for row in rows:
                    row.append(found.admitted(rng) if found else None)
            conditions.append(Violated(index, condition, found))
        else:
            reasons.append(found)
        if index is not None:
            scope.add(index)
    if not conditions:
        raise Rejected(f"no condition that a program can break: {reasons[0]}")
    wide = [tuple(row) for row in rows]
    columns, orders = type_columns(names, wide)
    hashed = table.content_hash()
    typed = TypedTable(
        Table(tuple(names), tuple(wide)), tuple(columns), key, tuple(orders), hashed, ()
    )
    time = _find_time(wide, key, conditions, len(table.columns))
    return Plan(typed, tuple(conditions), frozenset(scope), time)


def _find_column(names: Sequence[str], name: str) -> int | None:
    folded = [one.casefold() for one in names]
    return folded.index(name.casefold()) if name.casefold() in folded else None


def _violator_of(
    condition: Condition, cells: Sequence[str], is_key: bool, rng: Random
) -> Violator | str | None:
    """What violates a condition; ``None``: any fresh name; else the reason why nothing does."""
    if is_key:
        listed = {value.casefold() for value in condition.values}
        lists_all = {cell.casefold() for cell in cells} <= listed
        return None if lists_all else "a condition on the key that does not list its entities"
    if not _is_speakable(condition.column):
        return "a condition whose column cannot stand in a sentence"
    return find_violator(condition, cells, rng)


def _is_speakable(header: str) -> bool:
    return bool(header.strip()) and _UNSPEAKABLE.isdisjoint(header)


def _is_no_name(cell: Cell) -> bool:
    value = read_value(cell)
    return value.number is not None or bool(value.dates)


def _find_time(
    rows: Sequence[Row],
    key: int,
    conditions: Sequence[Violated],
    width: int,
) -> int | None:
    """The condition's column of years or dates in which one entity has several values."""
    for column, _, violator in conditions:
        if violator is None or not violator.is_time or column >= width:
            continue
        times: dict[Cell, list[Cell]] = defaultdict(list)
        for row in rows:
            times[row[key]].append(row[column])
        repeated = [values for values in times.values() if len(values) > 1]
        if repeated and all(len(set(values)) == len(values) for values in repeated):
            return column
    return None


def _distinguishing_cells(plan: Plan) -> dict[str, list[str]]:
    """For each entity with several rows the cells that distinguish them."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in plan.typed.table.rows:
        rows[row[plan.typed.key] or ""].append(row)
    columns = range(len(plan.typed.columns)) if plan.time is None else (plan.time,)
    return {
        entity: [
            cell
            for column in columns
            for cell, count in Counter(row[column] for row in found).items()
            if cell is not None and count == 1 < len(found)
        ]
        for entity, found in rows.items()
    }


class _Distractors:
    """Draws rows in words, each of which violates a condition."""

    def __init__(self, plan: Plan, context: str, seed: int, rng: Random) -> None:
        self._plan, self._rng = plan, rng
        typed = plan.typed
        self._key, self._gold = typed.key, typed.table.rows
        self._made = Rows(typed, seed)
        self._said = words_of(context)
        self._names = {row[typed.key] or "" for row in self._gold}
        self._guard = NameGuard(self._names)
        self._others = [
            () if index in {typed.key, *plan.scope} else self._other_cells(index)
            for index in range(len(typed.columns))
        ]
        self._steady = self._steady_columns()
        self._uses: Counter[tuple[int, str]] = Counter()
        self._taken = {(row[typed.key], self._time_of(row)) for row in self._gold}
        self._recent: list[Row] = []
        # In a panel every sentence says its row's time, so each row is one sentence.
        self._repeated: set[str] = set()
        self._speaker = Speaker(typed, self._repeated)

    def rows(self) -> Iterator[StatedRow]:
        """Rows out of scope, near misses first; ends after :data:`MOST_ROWS` draws."""
        for number in range(MOST_ROWS):
            if (row := self._draw(number)) is not None:
                yield row

    def _other_cells(self, column: int) -> tuple[str, ...]:
        """What else a column of names or of well-known categories may hold."""
        cells = [cell for row in self._gold if (cell := row[column]) is not None]
        others = other_categories(self._plan.typed.columns[column].name, cells, self._rng)
        return (*others, *dict.fromkeys(cells)) if others else ()

    def _steady_columns(self) -> list[int]:
        """Columns in which no entity differs from itself: what belongs to it, not to a time."""
        found: dict[Cell, list[Row]] = defaultdict(list)
        for row in self._gold:
            found[row[self._key]].append(row)
        return [
            index
            for index in range(len(self._plan.typed.columns))
            if all(len({row[index] for row in rows} - {None}) < 2 for rows in found.values())
        ]

    def _time_of(self, row: Sequence[Cell]) -> Cell:
        return None if self._plan.time is None else row[self._plan.time]

    def _draw(self, number: int) -> StatedRow | None:
        """A made-up row with the scope of a gold one, but for what violates it."""
        rng, plan = self._rng, self._plan
        column, condition, violator = rng.choice(plan.conditions)
        pattern = rng.choice(self._gold)
        self._made.reach(len(self._gold) + number + 1)
        cells = list(self._made.cells[len(self._gold) + number])
        for index in plan.scope - {self._key}:
            cells[index] = pattern[index]
        if violator is not None:
            cells[column] = violator.draw(rng, number // ROWS_A_STEP)
            if cells[column] is None:
                return None
        # It may be a gold entity if it violates nothing but its time, and so plainly that the
        # verification reads it too.
        may_be_gold = column == plan.time and meets(cells[column], condition) is False
        if may_be_gold and rng.random() < 0.5:
            self._make_same_entity(cells, pattern)
        elif plan.time is not None and self._recent and rng.random() < 0.6:
            self._make_same_entity(cells, rng.choice(self._recent[-5:]))
        else:
            if not self._is_fresh(cells[self._key] or ""):
                return None
            self._recent.append(tuple(cells))
        self._vary_texts(cells, pattern)
        entity, time = cells[self._key] or "", self._time_of(cells)
        if plan.time is not None:
            if (entity, time) in self._taken:
                return None
            self._taken.add((entity, time))
            self._repeated.add(entity)
        return self._state(cells, entity, condition.column)

    def _is_fresh(self, name: str) -> bool:
        return not self._guard.is_similar(name) and words_of(name) not in self._said

    def _make_same_entity(self, cells: list[Cell], row: Row) -> None:
        """What belongs to the entity of a row stays as it is there: its name, texts, constants."""
        for index, column in enumerate(self._plan.typed.columns):
            is_text = column.kind in ("category", "name", "text")
            if index not in self._plan.scope and (is_text or index in self._steady):
                cells[index] = row[index]
        cells[self._key] = row[self._key]

    def _vary_texts(self, cells: list[Cell], pattern: Row) -> None:
        """Other names and categories; a text at most so often; no gold entity, no 120 %."""
        rng = self._rng
        for index, cell in enumerate(cells):
            if cell is None or index == self._key or index in self._plan.scope:
                continue
            number = read_number(cell)
            if number is not None:
                if "%" in cell and abs(number[0]) > 100:
                    cells[index] = pattern[index]
            elif cells[self._key] in self._names:
                continue
            elif self._others[index]:
                cells[index] = rng.choice(self._others[index])
            elif self._plan.typed.columns[index].kind in ("name", "text"):
                self._uses[index, cell] += 1
                words = words_of(cell)
                named = any(words_of(name) in words for name in self._names)
                if named or self._uses[index, cell] > _USES_OF_A_TEXT:
                    cells[index] = None

    def _state(self, cells: list[Cell], entity: str, violates: str) -> StatedRow | None:
        """The row in words; ``None`` where they would name a blank or another gold entity."""
        names = [words_of(column.name) for column in self._plan.typed.columns]
        gold = [row for row in self._gold if row[self._key] == entity]
        blank = {
            name for row in gold for name, cell in zip(names, row, strict=True) if cell is None
        }
        # To say "Revenue Growth" is to name "Revenue".
        hidden = {i for i, name in enumerate(names) if any(one in name for one in blank)}
        columns = [index for index in range(len(cells)) if index not in hidden]
        row = self._speaker.state(tuple(cells), columns, violates, self._rng)
        text = words_of(" ".join(sentence.text for sentence in row.sentences))
        unwanted = [words_of(name) for name in self._names if name != entity]
        unwanted += [names[index] for index in hidden]
        stated = {cell.column for sentence in row.sentences for cell in sentence.stated}
        if violates not in stated or any(words in text for words in unwanted):
            return None
        return row


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
        units: list[tuple[int, tuple[Sentence, ...]]] = []
        if (piece := places.get(position)) is not None:
            units.append((-1, (Sentence(context[piece.start : piece.end], ()),)))
        if position < len(rows):
            units.append((order[position], rows[order[position]].sentences))
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


def _spread(first: int, last: int, count: int, rng: Random) -> list[int]:
    """Different places from first to last, one in each of as many equal stretches."""
    step = (last - first + 1) / count if count else 0.0
    borders = [first + int(step * number) for number in range(count + 1)]
    return [rng.randrange(start, end) for start, end in pairwise(borders)]
