"""Rows like the gold ones that are out of scope, for a table of which only gold rows are known."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from tablemend.datasets.tablehallu.breaking import (
    LATEST,
    Breaker,
    invent_names,
    is_named,
)
from tablemend.datasets.tablehallu.categories import others_of
from tablemend.datasets.tablehallu.columns import TypedTable, read_date, read_number, words_of
from tablemend.datasets.tablehallu.compose import StatedRow
from tablemend.datasets.tablehallu.distractors import move_date, move_number
from tablemend.datasets.tablehallu.names import NameGuard, invent_name
from tablemend.datasets.tablehallu.scope import Row
from tablemend.datasets.tablehallu.sentences import Speaker
from tablemend.datasets.tablehallu.spelling import Years
from tablemend.datasets.tablehallu.verification import meets
from tablemend.tables.table import Cell

ROWS_A_STEP = 15
"""After so many rows the next ones stand a little further out of scope."""

MOST_ROWS = 3000
_ROWS_A_NAME = 3
_USES_OF_A_TEXT = 4
_LITTLE_WORDS = frozenset("of the and in for de la & at on to a".split())


class Slot(NamedTuple):
    """A condition that rows can break.

    Attributes:
        column: index of the column it reads, in the table with the scope's columns.
        name: the column as the condition calls it.
        breaker: what draws its values; ``None`` where a fresh name breaks it: the condition
            lists the entities.
    """

    column: int
    name: str
    breaker: Breaker | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known of a kernel before a row is made.

    Attributes:
        typed: the gold rows, with a column more for each condition on a column that the table
            lacks.
        width: number of the table's own columns.
        slots: the conditions that can be broken.
        fixed: columns of conditions that cannot: their gold cells are copied.
        time: the column that tells the rows of one entity apart, where what is out of scope may
            be the same entity at another time; else ``None``.
        context: the gold context; fresh names do not stand in it.
    """

    typed: TypedTable
    width: int
    slots: tuple[Slot, ...]
    fixed: frozenset[int]
    time: int | None
    context: str


class Counterparts:
    """Draws rows in words, each of which breaks a condition."""

    def __init__(self, plan: Plan, rng: Random) -> None:
        self._plan, self._rng = plan, rng
        typed = plan.typed
        self._key = typed.key
        self._rows = typed.table.rows
        self._gold: dict[str, list[Row]] = defaultdict(list)
        for row in self._rows:
            self._gold[row[self._key] or ""].append(row)
        self._guard = NameGuard(self._gold)
        self._spoken_names = {name: words_of(name) for name in self._gold}
        self._hidden = {name: self._hidden_columns(rows) for name, rows in self._gold.items()}
        self._columns = [self._clean_cells(index) for index in range(len(typed.columns))]
        self._others = [self._other_cells(index) for index in range(len(typed.columns))]
        words = Counter(word for name in self._gold for word in set(name.split()))
        shared = {word for word, count in words.items() if count > 1 or word.isdigit()}
        self._shared = shared | _LITTLE_WORDS
        self._steady = self._steady_columns()
        self._said = words_of(plan.context)
        self._names: set[str] = set()
        self._fresh: list[str] = []
        self._patterns: dict[str, Row] = {}
        self._taken = {(row[self._key], self._time_of(row)) for row in self._rows}
        self._uses: Counter[tuple[int, str]] = Counter()
        # In a panel every sentence says its row's time, so each row is one sentence.
        self._repeated = {name for name, rows in self._gold.items() if len(rows) > 1}
        if plan.time is not None:
            self._repeated.update(self._gold)
        self._speaker = Speaker(typed, self._repeated)

    def rows(self) -> Iterator[StatedRow]:
        """Rows out of scope, near misses first; ends after :data:`MOST_ROWS` draws."""
        for number in range(MOST_ROWS):
            if (row := self._draw(number // ROWS_A_STEP)) is not None:
                yield row

    def _hidden_columns(self, rows: Sequence[Row]) -> frozenset[int]:
        """Columns of which nothing is said beside an entity: those blank in one of its rows.

        A header that contains the name of such a column counts too: to say "Revenue Growth" is
        to name "Revenue".
        """
        names = [words_of(column.name) for column in self._plan.typed.columns]
        blank = {names[i] for row in rows for i in range(self._plan.width) if row[i] is None}
        return frozenset(
            index for index, name in enumerate(names) if any(hidden in name for hidden in blank)
        )

    def _clean_cells(self, column: int) -> list[str]:
        """Cells of a column in which no gold entity is named."""
        cells = [cell for row in self._rows if (cell := row[column]) is not None]
        named = self._spoken_names.values()
        return [cell for cell in cells if not any(name in words_of(cell) for name in named)]

    def _other_cells(self, column: int) -> tuple[str, ...]:
        """What else a column of names or of well-known categories may hold."""
        cells = self._columns[column]
        if not cells or column == self._key:
            return ()
        header = self._plan.typed.columns[column].name
        if others := others_of(header, cells):
            return (*others, *dict.fromkeys(cells))
        return invent_names(cells, self._rng) if is_named(header, cells) else ()

    def _steady_columns(self) -> frozenset[int]:
        """Columns in which no entity differs from itself: what belongs to it, not to a time."""
        return frozenset(
            index
            for index in range(len(self._columns))
            if all(len({row[index] for row in rows} - {None}) < 2 for rows in self._gold.values())
        )

    def _time_of(self, row: Sequence[Cell]) -> Cell:
        return None if self._plan.time is None else row[self._plan.time]

    def _draw(self, reach: int) -> StatedRow | None:
        rng = self._rng
        slot = rng.choice(self._plan.slots)
        broken: dict[int, str] = {}
        if slot.breaker is not None:
            value = slot.breaker.draw(rng, reach)
            if value is None:
                return None
            broken[slot.column] = value
        entity = None
        if self._is_other_time(slot, broken) and rng.random() < 0.5:
            entity = rng.choice(list(self._gold))
            if slot.column in self._hidden[entity]:
                return None
            base = rng.choice(self._gold[entity])
        else:
            entity = self._known_name(rng)
            base = self._patterns[entity] if entity else rng.choice(self._rows)
            self._break_another(slot, broken, reach)
        cells = self._vary(base, broken, entity)
        if entity is None:
            if (entity := self._fresh_name(base[self._key] or "")) is None:
                return None
            self._patterns[entity] = tuple(cells)
        cells[self._key] = entity
        if self._plan.time is not None:
            if (entity, self._time_of(cells)) in self._taken:
                return None
            self._taken.add((entity, self._time_of(cells)))
        return self._state(cells, entity, slot)

    def _is_other_time(self, slot: Slot, broken: dict[int, str]) -> bool:
        """Whether the row may be of a gold entity.

        It may break nothing but its time, as all else belongs to the entity, and so plainly that
        the verification reads it too.
        """
        if slot.breaker is None or slot.column != self._plan.time:
            return False
        return meets(broken[slot.column], slot.breaker.condition) is False

    def _known_name(self, rng: Random) -> str | None:
        """In a panel, a made-up entity that has a row already, now and then."""
        if self._plan.time is None or not self._fresh or rng.random() < 0.4:
            return None
        name = rng.choice(self._fresh[-5:])
        rows = sum(entity == name for entity, _ in self._taken)
        return name if rows < _ROWS_A_NAME else None

    def _break_another(self, slot: Slot, broken: dict[int, str], reach: int) -> None:
        """Now and then a second condition; the first rows break one alone."""
        rng = self._rng
        other = rng.choice(self._plan.slots)
        if reach and other is not slot and other.breaker is not None and rng.random() < 0.2:
            value = other.breaker.draw(rng, reach)
            if value is not None:
                broken.setdefault(other.column, value)

    def _fresh_name(self, like: str) -> str | None:
        for _ in range(20):
            name = invent_name(like, self._shared, self._rng)
            folded = name.casefold()
            known = folded in self._names or words_of(name) in self._said
            if not known and name not in self._gold and not self._guard.is_similar(name):
                self._names.add(folded)
                self._fresh.append(name)
                if self._plan.time is not None:
                    self._repeated.add(name)
                return name
        return None

    def _vary(self, base: Row, broken: dict[int, str], entity: str | None) -> list[Cell]:
        """A row beside another: what is broken is set, scope is kept, the rest moves."""
        rng, plan = self._rng, self._plan
        cells: list[Cell] = list(base)
        scope = {slot.column: slot for slot in plan.slots}
        for index in range(len(cells)):
            cell = cells[index]
            if index == self._key:
                continue
            if index in broken:
                cells[index] = broken[index]
            elif index in scope or index in plan.fixed:
                if cell is None and index < plan.width:
                    cell = rng.choice(self._columns[index]) if self._columns[index] else None
                if cell is None and (slot := scope.get(index)) and slot.breaker is not None:
                    cell = slot.breaker.keep(rng)
                cells[index] = cell
            elif cell is not None and not (entity is not None and index in self._steady):
                cells[index] = self._move(index, cell, entity in self._gold)
        return cells

    def _move(self, column: int, cell: str, is_gold: bool) -> Cell:
        """Another cell of the same kind; of a gold entity only numbers and dates change."""
        rng = self._rng
        if (year := _bare_year(cell)) is not None:
            return str(min(year + rng.randint(-6, 6), max(LATEST, year)))
        if (day := read_date(cell)) is not None:
            moved = move_date(cell, day, rng)[0]
            return Years().write((Years().read(moved) or 0.0) - rng.randint(0, 3), moved) or moved
        number = read_number(cell)
        if number is not None and number[2].casefold() != "s":
            moved, size = move_number(cell, number[0], rng)
            return cell if "%" in moved and abs(size) > 100 >= abs(number[0]) else moved
        if is_gold:
            return cell
        if others := self._others[column]:
            return rng.choice(others)
        cells = self._columns[column]
        if not cells:
            return None
        other = rng.choice(cells)
        if self._plan.typed.columns[column].kind != "category":
            self._uses[column, other] += 1
            if self._uses[column, other] > _USES_OF_A_TEXT:
                return None
        return other

    def _state(self, cells: list[Cell], entity: str, slot: Slot) -> StatedRow | None:
        hidden = self._hidden.get(entity, frozenset())
        columns = [index for index in range(len(cells)) if index not in hidden]
        row = self._speaker.state(tuple(cells), columns, slot.name, self._rng)
        text = words_of(" ".join(sentence.text for sentence in row.sentences))
        others = (words for name, words in self._spoken_names.items() if name != entity)
        names = [words_of(self._plan.typed.columns[index].name) for index in hidden]
        if not row.sentences or any(words in text for words in (*others, *names)):
            return None
        return row


def _bare_year(cell: str) -> int | None:
    return int(cell) if len(cell) == 4 and cell.isdigit() and "1500" <= cell <= "2100" else None
