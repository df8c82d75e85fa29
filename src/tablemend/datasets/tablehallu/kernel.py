"""The ground-truth kernel: which rows, columns, order and blanks make the gold table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from tablemend.datasets.tablehallu.columns import DIGITS, ORDERED, TypedTable, words_of
from tablemend.datasets.tablehallu.scope import Row, Scope, Scopes
from tablemend.datasets.tablehallu.settings import Shape
from tablemend.records import SortOrder


class Rejected(Exception):
    """A draw that makes no valid example; the message is the reason, to be counted."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """Everything the gold table is made of, by index into the typed table.

    Attributes:
        scope: the conditions; its rows are ``rows`` in table order.
        columns: the gold columns in order, key first.
        rows: the gold rows, sorted.
        sort: index of the column they are sorted by.
        order: direction of the sort.
        blanks: cells that the gold table leaves empty, as ``(row, column)``.
    """

    scope: Scope
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    sort: int
    order: SortOrder
    blanks: frozenset[tuple[int, int]]

    def stated(self) -> tuple[int, ...]:
        """Columns that the contexts speak of: those of the table and those of the scope."""
        outside = {bound.column for bound in self.scope.bounds}.difference(self.columns)
        return (*self.columns, *sorted(outside))


def draw_kernel(
    typed: TypedTable, scopes: Scopes, shape: Shape, rng: Random, with_blanks: bool = True
) -> Kernel:
    """Draw a kernel of a table and its scopes at random.

    Raises:
        Rejected: the rows in scope allow no strict order, or not the blanks asked for: at least one
            cell of the gold table, or none.
    """
    scope = scopes.draw(rng)
    sort, order = _draw_sort(typed, scope, rng)
    columns = _draw_columns(typed, shape, scope, sort, rng)
    names, values = typed.table.rows, typed.orders[sort]  # a name has no value
    rows = sorted(
        scope.rows,
        key=lambda row: (values[row] or 0.0, (names[row][sort] or "").casefold()),
        reverse=order == "descending",
    )
    if not with_blanks and any(names[row][column] is None for row in rows for column in columns):
        raise Rejected("an empty cell")
    none = frozenset[tuple[int, int]]()
    blanks = _draw_blanks(typed, scope, columns, rows, sort, rng) if with_blanks else none
    return Kernel(scope, columns, tuple(rows), sort, order, blanks)


def _draw_sort(typed: TypedTable, scope: Scope, rng: Random) -> tuple[int, SortOrder]:
    """A column in which all rows in scope differ, and a direction."""
    orders = {
        index: [typed.orders[index][row] for row in scope.rows]
        for index, column in enumerate(typed.columns)
        if column.kind in ORDERED and column.usable and index != typed.key
    }
    sortable = [i for i, values in orders.items() if len({*values} - {None}) == len(scope.rows)]
    names = [typed.table.rows[row][typed.key] or "" for row in scope.rows]
    if sortable and (rng.random() < 0.85 or not _sorts_plainly(names)):
        return rng.choice(sortable), "descending" if rng.random() < 0.5 else "ascending"
    if not _sorts_plainly(names):
        raise Rejected("no sort column without ties")
    return typed.key, "descending" if rng.random() < 0.2 else "ascending"


def _sorts_plainly(names: Sequence[str]) -> bool:
    """Whether every alphabetical rule, with or without punctuation, gives one strict order."""
    if not all(name.isascii() and name[:1].isalpha() for name in names):
        return False
    plain = sorted(names, key=str.casefold)
    letters = ["".join(filter(str.isalnum, name.casefold())) for name in plain]
    return len(set(letters)) == len(letters) and letters == sorted(letters)


def _draw_columns(
    typed: TypedTable, shape: Shape, scope: Scope, sort: int, rng: Random
) -> tuple[int, ...]:
    """The key, the sort column, usually the scope's columns, and others at random."""
    cells, least = typed.table.rows, len(scope.rows) / 2
    fit = [
        index
        for index, column in enumerate(typed.columns)
        if column.usable
        and index != typed.key
        and sum(cells[row][index] is not None for row in scope.rows) >= least
    ]
    most = min(shape.max_columns, len(fit) + 1)
    if most < shape.min_columns or not {*typed.distinguishing} <= {*fit}:
        raise Rejected("too few filled columns in scope")
    width = max(rng.randint(shape.min_columns, most) for _ in range(2))
    wanted = {*typed.distinguishing, sort} - {typed.key}
    own = [bound.column for bound in scope.bounds if bound.column != typed.key]
    for column in own:
        if rng.random() < 0.7 and len(wanted) < width - 2:
            wanted.add(column)
    # A column with one value for all gold rows asks little; the scope's own may be one.
    others = [index for index in fit if index not in wanted and index not in own]
    missing = width - 1 - len(wanted)
    if missing < 0:
        raise Rejected("too many columns that tell rows apart")
    if missing > len(others):
        wanted.update(own)
        missing = max(0, min(width - 1 - len(wanted), len(others)))
    wanted.update(rng.sample(others, missing))
    if len(wanted) + 1 < shape.min_columns:
        raise Rejected("too few filled columns in scope")
    return (typed.key, *sorted(wanted))


def _draw_blanks(
    typed: TypedTable,
    scope: Scope,
    columns: Sequence[int],
    gold: Sequence[int],
    sort: int,
    rng: Random,
) -> frozenset[tuple[int, int]]:
    """Cells already empty, and up to an eighth of the others; never key, sort or scope."""
    rows: Sequence[Row] = typed.table.rows
    fixed = {typed.key, sort, *typed.distinguishing, *(bound.column for bound in scope.bounds)}
    cells = [(row, column) for row in scope.rows for column in columns]
    blanks = {(row, column) for row, column in cells if rows[row][column] is None}
    stated = {*fixed, *columns}
    linked = ({formula.total, *formula.parts} for formula in typed.formulas)
    derived = set[int]().union(*(some for some in linked if some <= stated))
    entities = Counter(rows[row][typed.key] for row in scope.rows)
    if any(column in fixed or entities[rows[row][typed.key]] > 1 for row, column in blanks):
        raise Rejected("blank cell that tells rows apart, or of an entity that is in scope twice")
    candidates = [
        (row, column)
        for row, column in cells
        if column not in fixed | derived
        and (row, column) not in blanks
        and not typed.columns[column].serial
        and entities[rows[row][typed.key]] == 1
    ]
    rng.shuffle(candidates)
    target = rng.randint(1, max(1, len(cells) // 8))
    chosen: set[int] = set()  # a second blank in a column may make the first one plain
    for row, column in candidates:
        if len(blanks) >= target:
            break
        follows = column in chosen or _stands_elsewhere(rows[row], column)
        if not follows and not _follows(typed, gold, gold.index(row), column, stated - {column}):
            blanks.add((row, column))
            chosen.add(column)
    if not blanks:
        raise Rejected("no cell to blank")
    return frozenset(blanks)


def _follows(
    typed: TypedTable, gold: Sequence[int], place: int, column: int, stated: Iterable[int]
) -> bool:
    """Whether other rows give a cell away: by one value for all of them, or for all that share
    another cell of its row, or by even steps from one to the next.
    """
    rows, own = typed.table.rows, typed.table.rows[gold[place]]
    if all(rows[other][column] in (own[column], None) for other in gold):
        return True
    for shared in stated:
        alike = [cells[column] for cells in rows if cells[shared] == own[shared]]
        if len(alike) > 2 and all(value == own[column] for value in alike):  # itself is one
            return True
    near = [
        float(match[0].replace(",", ""))
        for other in gold[max(0, place - 2) : place + 3]
        if (match := DIGITS.search(rows[other][column] or ""))
    ]
    return any(b - a == c - b != 0 for a, b, c in zip(near, near[1:], near[2:], strict=False))


def _stands_elsewhere(row: Row, column: int) -> bool:
    """Whether another cell of the row gives the value away."""
    value = words_of(row[column] or "")
    return len(value) > 2 and any(
        value in words_of(cell) for index, cell in enumerate(row) if index != column and cell
    )
