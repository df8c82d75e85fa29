"""A context of the rows of a table, or of two related ones, made before there is a query.

All rows are told by one process that does not know which group of them will be asked for. The query
is drawn last, each group as likely as any other, so that gold has probability 1/k whatever is said
of a row, real or made up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import permutations
from random import Random
from typing import NamedTuple

from tablemend.datasets.source_tables.columns import ORDERED, words_of
from tablemend.datasets.source_tables.names import distinct_names
from tablemend.records import SortOrder
from tablemend.tables.table import Cell, Table
from tablemend.tasks.tablehallu.compose import StatedRow
from tablemend.tasks.tablehallu.groups import Bound, GroupMaker, RejectedDraw
from tablemend.tasks.tablehallu.rows import ContextRow, Entities, RowMaker
from tablemend.tasks.tablehallu.sentences import RowVerbaliser
from tablemend.tasks.tablehallu.settings import Shape
from tablemend.values.text import strip_accents

TOO_FEW = "too few rows and names of its kind for so long a context (distractors=real needs none)"
TRIES_A_ROW = 8
FILLED = 0.4
"""Share of the rows that say something in a column of the gold tables, at least."""
SCOPE_IN_TABLE = 0.7
"""Share of the columns of a condition that the gold table has, too."""
BY_NAME = 0.15
"""Share of the queries that sort by name where another column would do."""
ALPHABETICAL = 0.8
"""Share of those that sort in ascending order."""


class Question(NamedTuple):
    """What a query asks for, by index into the context's table.

    Attributes:
        bounds: the conditions.
        columns: the gold columns in order, key first.
        rows: the gold rows, sorted; none where no row meets the conditions.
        sort: index of the column they are sorted by.
        order: direction of the sort.
    """

    bounds: tuple[Bound, ...]
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    sort: int
    order: SortOrder


class Part:
    """The rows of one table in a context, in groups.

    Args:
        maker: of the rows.
        group_maker: of the groups.
        speaker: puts them into words.
        count: groups; pairs of two columns may make one more.
        size: rows of a group, from and to.
        few: half of the groups have one row, and one has none.
        shape: of the gold tables.
        weights: of the types of distractors.
        invent: rows may be made up.
        blanks: some cells are left out.
        rng: the only source of chance.

    Attributes:
        typed: the table of the context: what is not said is blank.
        rows: its rows.
        groups: of each row.
        count: groups that can be asked for.
        columns: those of the gold tables.
        stated: those, and those of the conditions.

    Raises:
        RejectedDraw: with the reason.
    """

    def __init__(
        self,
        maker: RowMaker,
        group_maker: GroupMaker,
        speaker: RowVerbaliser,
        count: int,
        size: tuple[int, int],
        few: bool,
        shape: Shape,
        weights: dict[str, float],
        invent: bool,
        blanks: bool,
        rng: Random,
    ) -> None:
        self.maker, self.speaker, self._group_maker = maker, speaker, group_maker
        self._groups = group_maker.draw(count, size[1], weights, rng)
        self.count = self._groups.count
        wanted = [rng.randint(*size) for _ in range(self.count)]
        if few:
            places = rng.sample(range(self.count), 1 + self.count // 2)
            for place in places:
                wanted[place] = 1
            wanted[places[0]] = 0
        self._scope = [axis.column for axis in self._groups.axes]
        if invent and not maker.has_rows(sum(wanted)):
            raise RejectedDraw(TOO_FEW)
        self._sorter = self._draw_sorter(sum(wanted), invent, rng)
        found = self._real_rows(wanted, rng)
        missing = sum(wanted) - sum(map(len, found))
        if not invent:
            if any(len(own) < min(n, shape.min_rows) for own, n in zip(found, wanted, strict=True)):
                by = '" and "'.join(self.scope_names())
                counts = ", ".join(str(len(own)) for own in found)
                raise RejectedDraw("too few rows in a group", f'by "{by}" they have {counts}')
            missing = 0
        self.columns = self._draw_columns(shape, found, missing, blanks, rng)
        outside = {*self._scope}.difference(self.columns)
        self.stated = (*self.columns, *sorted(outside))
        if missing:
            self._fill(found, wanted, blanks, rng)
        rows = [(row, group) for group, own in enumerate(found) for row in own]
        self.rows = [row for row, _ in rows]
        self.groups = [group for _, group in rows]
        hidden = self._hidden(blanks, rng)
        cells = [
            tuple(None if (n, c) in hidden else cell for c, cell in enumerate(row.cells))
            for n, row in enumerate(self.rows)
        ]
        typed = maker.typed
        table = Table(typed.table.columns, tuple(cells), typed.table.title)
        orders = tuple(zip(*(row.orders for row in self.rows), strict=True))
        self.typed = replace(typed, table=table, orders=orders)
        if not all(self._sortable(n) or self._sorts_by_name(n) for n in range(self.count)):
            raise RejectedDraw("no sort column without ties")
        for group in range(self.count):
            rows_of = [cells[row] for row in self._members(group)]
            if len(rows_of) > 1 and any(
                all(row[c] is None for row in rows_of) for c in self.columns
            ):
                raise RejectedDraw("a column without a value in a group")

    def _draw_sorter(self, rows: int, invent: bool, rng: Random) -> int | None:
        """A column of which no group is to have a value twice; ``None``: names are sorted by."""
        typed, made_up = self.maker.typed, max(0, rows - len(self.maker.rows))
        usable = self.maker.free if invent else range(len(typed.columns))
        ranges = self.maker.varied if invent else self.maker.ranges
        fit = [
            index
            for index in usable
            if index in ranges
            and typed.columns[index].usable
            and (index not in self._scope or ranges[index].unique)
            and 2 * len(self.maker.ranges[index].values) >= len(self.maker.rows)
            and self.maker.has_room(index, made_up)
        ]
        return rng.choice(fit) if fit else None

    def _real_rows(self, wanted: Sequence[int], rng: Random) -> list[list[ContextRow]]:
        """The table's own rows by their group, as many as are wanted."""
        found: list[list[ContextRow]] = [[] for _ in wanted]
        sorted_by: list[set[float | None]] = [{None} for _ in wanted]
        tellers = self.maker.typed.distinguishing
        for row in rng.sample(self.maker.rows, len(self.maker.rows)):
            group = self._groups.of(row)
            if group is None or len(found[group]) >= wanted[group]:
                continue
            if any(row.cells[index] is None for index in tellers):
                continue
            if self._sorter is not None:
                if row.orders[self._sorter] in sorted_by[group]:
                    continue
                sorted_by[group].add(row.orders[self._sorter])
            found[group].append(row)
        return found

    def _draw_columns(
        self,
        shape: Shape,
        found: Sequence[Sequence[ContextRow]],
        made_up: int,
        blanks: bool,
        rng: Random,
    ) -> tuple[int, ...]:
        """The key, what tells rows apart, the sort column, often the scope's, others at random."""
        maker, typed = self.maker, self.maker.typed
        rows = [row for own in found for row in own]
        least = (len(rows) + made_up) * (FILLED if blanks else 1)
        fit = [
            index
            for index in (maker.free if made_up else range(len(typed.columns)))
            if typed.columns[index].usable
            and index != typed.key
            and maker.filled(index, rows, made_up) >= least
            and maker.has_room(index, made_up)
        ]
        most = min(shape.max_columns, len(fit) + 1)
        if most < shape.min_columns or not {*typed.distinguishing} <= {*fit}:
            raise RejectedDraw("too few columns that can be stated")
        width = max(rng.randint(shape.min_columns, most) for _ in range(2))
        wanted = {*typed.distinguishing} | ({self._sorter} if self._sorter is not None else set())
        for column in self._scope:
            if rng.random() < SCOPE_IN_TABLE and len(wanted) < width - 2:
                wanted.add(column)
        others = [index for index in fit if index not in wanted and index not in self._scope]
        missing = width - 1 - len(wanted)
        if missing < 0:
            raise RejectedDraw("too many columns that tell rows apart")
        if missing > len(others):
            wanted.update(self._scope)
            missing = max(0, min(width - 1 - len(wanted), len(others)))
        wanted.update(rng.sample(others, missing))
        if len(wanted) + 1 < shape.min_columns:
            raise RejectedDraw("too few columns that can be stated")
        return (typed.key, *sorted(wanted))

    def _fill(
        self, found: list[list[ContextRow]], wanted: Sequence[int], blanks: bool, rng: Random
    ) -> None:
        """Make up the rows that are missing, in all groups alike."""
        maker, key = self.maker, self.maker.typed.key
        rows = [row for own in found for row in own]
        entities = Entities(maker, rows, sum(wanted) - len(rows), rng)
        known = {maker.identity(row) for row in maker.rows}
        ranges = {c: maker.ranges[c] for c in self.stated if c in maker.ranges}
        taken = {
            c: {order for row in maker.rows if (order := row.orders[c]) is not None}
            for c, found_in in ranges.items()
            if found_in.unique
        }
        places = [group for group, own in enumerate(found) for _ in range(wanted[group] - len(own))]
        rng.shuffle(places)
        kept = {*self._scope, *maker.typed.distinguishing}
        kept |= set() if self._sorter is None else {self._sorter}
        patterns = {group: self._patterns(group, blanks) for group in {*places}}
        said_of = {row.cells[key]: row for row in maker.rows}
        name: str | None = None
        for group in places:
            of_group = taken
            if self._sorter is not None and self._sorter not in taken:
                own = {row.orders[self._sorter] or 0.0 for row in found[group]}
                of_group = taken | {self._sorter: own}
            limits = self._groups.limits(group)
            for _ in range(TRIES_A_ROW):
                if name is None and (name := entities.draw()) is None:
                    raise RejectedDraw(TOO_FEW)
                other = said_of.get(name)
                like = [
                    row
                    for row in patterns[group]
                    if other is None or all(row.cells[c] == other.cells[c] for c in maker.constant)
                ]
                if like:
                    fixed = kept if other is None else kept | maker.constant
                    pattern = rng.choice(like)
                    made = maker.make_up(name, pattern, self.stated, limits, fixed, of_group, rng)
                    if made is not None and maker.identity(made) not in known:
                        break
                if entities.recurs:
                    name = None
            else:
                raise RejectedDraw("no value left for a made-up row")
            known.add(maker.identity(made))
            said_of.setdefault(name, made)
            entities.use(name)
            found[group].append(made)
            for column, orders in taken.items():
                orders.add(made.orders[column] or 0.0)
            name = None

    def _patterns(self, group: int, blanks: bool) -> list[ContextRow]:
        """Rows that made-up ones of a group are like."""
        tellers = [*self.maker.typed.distinguishing, *self._groups.limits(group)]
        tellers += [] if self._sorter is None else [self._sorter]
        tellers += [] if blanks else self.stated
        rows = self._groups.patterns(group, self.maker.rows)
        whole = [row for row in rows if all(row.cells[index] is not None for index in tellers)]
        if not whole:
            raise RejectedDraw("no row of a category that can be a pattern")
        return whole

    def _hidden(self, blanks: bool, rng: Random) -> set[tuple[int, int]]:
        """Cells that are not said: by lot in every group, up to an eighth of them.

        What is not said of an entity is said in none of its rows (TableHallu, Appendix E, null
        value protection), nor can it be told from the other rows of the context.
        """
        typed, key = self.maker.typed, self.maker.typed.key
        fixed = {key, self._sorter, *typed.distinguishing, *self._scope}
        columns = [c for c in self.columns if c not in fixed and not typed.columns[c].serial]
        of: dict[str, list[int]] = defaultdict(list)
        for number, row in enumerate(self.rows):
            of[row.cells[key] or ""].append(number)
        hidden = {
            (other, c)
            for own in of.values()
            for c in self.stated
            if len(own) > 1 and any(self.rows[number].cells[c] is None for number in own)
            for other in own
        }
        if any(c in fixed for _, c in hidden):
            raise RejectedDraw("blank cell that tells rows apart")
        if any(
            self._is_named(c, of[row.cells[key] or ""])
            for number, row in enumerate(self.rows)
            for c in self.stated
            if row.cells[c] is None or (number, c) in hidden
        ):
            raise RejectedDraw("a blank that another cell of its row names")
        if not blanks:
            if any(row.cells[c] is None for row in self.rows for c in self.stated):
                raise RejectedDraw("a blank where one calculates")
            return hidden
        linked = ({one.total, *one.parts} for one in typed.formulas)
        derived = set[int]().union(*(some for some in linked if some <= {*self.stated}))
        columns = [c for c in columns if c not in derived]
        for group in range(self.count):
            rows = [number for number, own in enumerate(self.groups) if own == group]
            cells = [(number, c) for number in rows for c in columns]
            target = rng.randint(1, max(1, len(rows) * len(self.columns) // 8))
            target -= sum(
                (number, c) in hidden or self.rows[number].cells[c] is None for number, c in cells
            )
            for number, c in rng.sample(cells, len(cells)):
                if target <= 0:
                    break
                said = [n for n in rows if (n, c) not in hidden and self.rows[n].cells[c]]
                own = of[self.rows[number].cells[key] or ""]
                is_open = number in said and len(said) > 1 and not self._follows(number, c, rows)
                if is_open and not self._is_named(c, own):
                    hidden.update((other, c) for other in own)
                    target -= 1
        return hidden

    def _is_named(self, column: int, rows: Sequence[int]) -> bool:
        """Whether another cell of some rows has the header of a column: "Voice role" under Notes.

        Where that is blank the text would speak of what it leaves out.
        """
        cells = self.maker.naming[column]
        others = [c for c in self.stated if c not in (column, self.maker.typed.key)]
        return any(self.rows[row].cells[c] in cells for row in rows for c in others if cells)

    def _follows(self, number: int, column: int, group: Sequence[int]) -> bool:
        """Whether a value can be told from the rest of its row, or from rows that are like it."""
        cells = self.rows[number].cells
        value = cells[column]
        if value is None:
            return True
        words = words_of(value)
        if len(words) > 2 and any(
            words in words_of(cell) for c, cell in enumerate(cells) if c != column and cell
        ):
            return True
        if len(group) > 1 and all(self.rows[n].cells[column] in (value, None) for n in group):
            return True
        if column in self.maker.ranges:
            return False  # numbers of rows that are alike are near, not equal
        for c in self._texts:
            like = self._together[c, cells[c], column]
            if c != column and like.total() > 2 and 2 * like[value] > like.total():
                return True
        return False

    @cached_property
    def _texts(self) -> list[int]:
        """Columns of words beside the key."""
        ordered = self.maker.ranges
        return [c for c in self.stated if c not in ordered and c != self.maker.typed.key]

    @cached_property
    def _together(self) -> Mapping[tuple[int, Cell, int], Counter[Cell]]:
        """What rows of table and context that share the words of a column say in another one."""
        found: dict[tuple[int, Cell, int], Counter[Cell]] = defaultdict(Counter)
        for row in (*self.maker.rows, *(row for row in self.rows if row.made_up)):
            for c, other in permutations(self._texts, 2):
                if row.cells[other] is not None:
                    found[c, row.cells[c], other][row.cells[other]] += 1
        return found

    def _members(self, group: int) -> list[int]:
        return [number for number, own in enumerate(self.groups) if own == group]

    def _sortable(self, group: int) -> list[int]:
        """Columns of which the rows of a group have different values, all of them said."""
        typed, rows = self.typed, self._members(group)
        found = []
        for index in self.columns[1:]:
            if typed.columns[index].kind in ORDERED and all(
                typed.table.rows[row][index] is not None for row in rows
            ):
                values = {typed.orders[index][row] for row in rows} - {None}
                if len(values) == len(rows):
                    found.append(index)
        return found

    def _sorts_by_name(self, group: int) -> bool:
        """Whether every alphabetical rule, with or without punctuation, gives one strict order."""
        names = [self.typed.table.rows[row][self.typed.key] or "" for row in self._members(group)]
        plain = sorted(names, key=str.casefold)
        letters = ["".join(filter(str.isalnum, name.casefold())) for name in plain]
        bare = list(map(strip_accents, letters))
        return len({*bare}) == len(bare) and bare == sorted(bare) and letters == sorted(letters)

    def ask(self, group: int, rng: Random) -> Question:
        """What a query for a group asks for."""
        typed, rows = self.typed, self._members(group)
        columns = self._sortable(group)
        by_name = self._sorts_by_name(group) and (not columns or rng.random() < BY_NAME)
        sort = typed.key if by_name else rng.choice(columns)
        share = ALPHABETICAL if by_name else 0.5
        order: SortOrder = "ascending" if rng.random() < share else "descending"
        cells, values = typed.table.rows, typed.orders[sort]
        rows.sort(
            key=lambda row: (values[row] or 0.0, (cells[row][sort] or "").casefold()),
            reverse=order == "descending",
        )
        bounds = tuple(self._group_maker.bounds(self._groups, group, typed, self.rows))
        return Question(bounds, self.columns, tuple(rows), sort, order)

    def violated(self, group: int) -> list[str | None]:
        """For each row the column of the first condition of a group that it breaks, if any."""
        names, wanted = self.typed.table.columns, self._groups.parts(group)
        pairs = [self._groups.parts(own) for own in self.groups]
        return [
            next(
                (
                    names[axis.column]
                    for axis, part, other in zip(self._groups.axes, wanted, own, strict=True)
                    if part != other
                ),
                None,
            )
            for own in pairs
        ]

    def state(self, themes: Sequence[Sequence[int]], rng: Random) -> list[StatedRow]:
        """All rows in words."""
        return [self.speaker.state(cells, themes, rng) for cells in self.typed.table.rows]

    def scope_names(self) -> list[str]:
        """Of the columns that the groups differ in."""
        return [self.maker.typed.table.columns[column] for column in self._scope]


def refuse_alike(parts: Sequence[Part]) -> None:
    """Refuse two tables whose entities have similar names, or both say what one is asked by.

    Raises:
        RejectedDraw: they have, or do.
    """
    for one, other in permutations(parts, 2):
        stated = {other.typed.table.columns[c].casefold() for c in other.stated}
        if any(name.casefold() in stated for name in one.scope_names()):
            raise RejectedDraw("a condition that rows of two tables can meet")
    names = [
        name
        for part in parts
        for name in sorted({row.cells[part.typed.key] or "" for row in part.rows})
    ]
    if len(parts) > 1 and len(distinct_names(names)) < len(names):
        raise RejectedDraw("names alike in two tables")
