"""The rows around the gold rows: near misses first, made-up rows after the last real one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from random import Random

from tablemend.datasets.tablehallu.columns import (
    DIGITS,
    Kind,
    TypedTable,
    read_date,
    read_number,
)
from tablemend.datasets.tablehallu.invented_names import NameGuard, forms_of, invent_name
from tablemend.datasets.tablehallu.kernel import Kernel
from tablemend.datasets.tablehallu.scope import Bound, Row
from tablemend.tables.table import Cell

BATCH = 64
MAX_INVENTED = 1024
Orders = tuple[float | None, ...]


class Rows:
    """The rows of a table, and after them made-up rows of the same kind, as many as asked for.

    A made-up row takes a real one as its pattern: a fresh name, numbers and years moved by a
    little, every other cell drawn from its column. They are drawn in a fixed sequence from the
    table's hash and the seed, so row number ``k`` is the same whoever asks, and when.
    """

    def __init__(self, typed: TypedTable, seed: int) -> None:
        self._typed = typed
        self._rng = Random(f"rows:{seed}:{typed.source_hash}")
        self.real = len(typed.table.rows)
        self.cells: list[Row] = list(typed.table.rows)
        self.orders: list[Orders] = list(zip(*typed.orders, strict=True))
        self.forms = [forms_of(row[typed.key] or "") for row in self.cells]
        self._names = {(row[typed.key] or "").casefold() for row in typed.table.rows}
        words = Counter(word for name in sorted(self._names) for word in set(name.split()))
        shared = {word for word, count in words.items() if count >= 3 and word.isalpha()}
        self._shared = shared | {word.capitalize() for word in shared}
        self._latest = [
            max((v for v in order if v is not None), default=0.0) for order in typed.orders
        ]
        self._columns = [
            [cell for cell in cells if cell is not None]
            for cells in zip(*typed.table.rows, strict=True)
        ]

    def reach(self, count: int) -> None:
        """Invent rows until there are ``count`` rows in all."""
        while len(self.cells) < count:
            self._invent()

    def _invent(self) -> None:
        typed, rng = self._typed, self._rng
        pattern = int(rng.random() * self.real)
        cells: list[Cell] = list(typed.table.rows[pattern])
        orders: list[float | None] = [row_order[pattern] for row_order in typed.orders]
        for index, column in enumerate(typed.columns):
            cell, order = cells[index], orders[index]
            if index == typed.key:
                cells[index] = self._fresh_name(cell or "")
            elif cell is None or not column.usable:
                continue
            elif order is None:
                filled = self._columns[index]
                cells[index] = filled[int(rng.random() * len(filled))]
                orders[index] = _order_of(cells[index], column.kind)
            elif column.kind == "year":
                # Not years beyond the table's last: those would give a made-up row away.
                year = min(order + rng.randint(-6, 6), self._latest[index])
                cells[index], orders[index] = f"{year:.0f}", year
            elif column.kind == "date":
                cells[index], orders[index] = move_date(cell, order, rng)
            else:
                cells[index], orders[index] = move_number(cell, order, rng)
        self.cells.append(tuple(cells))
        self.orders.append(tuple(orders))
        self.forms.append(forms_of(cells[typed.key] or ""))

    def _fresh_name(self, like: str) -> str:
        while (name := invent_name(like, self._shared, self._rng)).casefold() in self._names:
            pass
        self._names.add(name.casefold())
        return name


def _order_of(cell: Cell, kind: Kind) -> float | None:
    if cell is None or kind in ("category", "name", "text"):
        return None
    if kind == "date":
        return read_date(cell)
    number = read_number(cell)
    return number[0] if number else None


def move_number(cell: str, order: float, rng: Random) -> tuple[str, float]:
    """A neighbouring number, written in the same way."""
    match = DIGITS.search(cell)
    if match is None:
        return cell, order
    size, decimals = abs(order), len(match[0].partition(".")[2])
    moved = size * (0.6 + 0.9 * rng.random()) + (0.0 if decimals else rng.randint(0, 3))
    text = f"{moved:,.{decimals}f}" if "," in match[0] else f"{moved:.{decimals}f}"
    value = float(text.replace(",", ""))
    return f"{cell[: match.start()]}{text}{cell[match.end() :]}", -value if order < 0 else value


def move_date(cell: str, order: float, rng: Random) -> tuple[str, float]:
    """Another day of the same month: the only change that keeps any spelling of the month."""
    day = date.fromordinal(int(order))
    other = rng.randint(1, 28)
    pattern = rf"(?<!\d)0?{day.day}(?!\d)(?:st|nd|rd|th)?"
    places = [match.span() for match in re.finditer(pattern, cell)]
    if not places:
        return cell, order
    start, end = places[-1] if cell[:4].isdigit() else places[0]
    text = f"{other:02d}" if cell[start] == "0" or cell[:4].isdigit() else str(other)
    written = f"{cell[:start]}{text}{cell[end:]}"
    moved = read_date(written)
    return (written, moved) if moved is not None else (cell, order)


def choose_distractors(
    rows: Rows, kernel: Kernel, key: int, invent: bool, rng: Random
) -> Iterator[tuple[int, str]]:
    """Rows out of scope, each with the name of the condition it breaks, best first.

    Real rows first, then invented ones where ``invent`` is set; of each, those that break one
    condition alone before the others, among these the other rows of gold entities (the same
    entity in another year), and those close to the bound before those far from it (TableHallu,
    A.2.2). Rows with a name similar to a gold one, and rows whose scope cannot be read, are
    left out.
    """
    bounds = kernel.scope.bounds
    gold = set(kernel.rows)
    guard = NameGuard(rows.cells[row][key] or "" for row in kernel.rows)
    yield from _ranked(rows, range(rows.real), bounds, gold, guard, key, rng)
    if invent:
        # Batches of a fixed size: how many rows are already there must not matter.
        for start in range(rows.real, rows.real + MAX_INVENTED, BATCH):
            rows.reach(start + BATCH)
            yield from _ranked(rows, range(start, start + BATCH), bounds, gold, guard, key, rng)


def _ranked(
    rows: Rows,
    numbers: range,
    bounds: tuple[Bound, ...],
    gold: set[int],
    guard: NameGuard,
    key: int,
    rng: Random,
) -> list[tuple[int, str]]:
    found = []
    entities = {rows.cells[row][key] for row in gold}
    random = rng.random
    for number in numbers:
        cells, orders = rows.cells[number], rows.orders[number]
        broken, furthest, count = None, 0.0, 0
        for bound in bounds:
            miss = bound.miss(cells[bound.column], orders[bound.column])
            if miss is None:
                broken = None
                break
            if miss > 0.0:
                count += 1
                if miss > furthest:
                    furthest, broken = miss, bound
        if broken is None or number in gold:
            continue
        if guard.is_similar(cells[key] or "", rows.forms[number]):
            continue
        other = count > 1 or cells[key] not in entities
        found.append((count, other, furthest + 0.05 * random(), number, broken.condition.column))
    found.sort()
    return [(number, column) for _, _, _, number, column in found]
