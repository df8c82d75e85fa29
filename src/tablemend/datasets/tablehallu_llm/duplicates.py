"""Kernels that are nearly the same table.

Two tables are compared by the pairs of cells that stand in one row together, so that the order
of rows and columns, the names of columns and the spelling of values do not count. They are near
duplicates where at least :data:`THRESHOLD` of all pairs of both are common (Jaccard).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import blake2b
from itertools import combinations

from tablemend.tables.table import Cell, Table
from tablemend.values.cells import read_value
from tablemend.values.text import tokens_of

THRESHOLD = 0.6
"""One cell or one row changed in a table of 6 x 6 leaves 0.9 or 0.7; two rows 0.5."""


class Kernels:
    """The kernels so far, in memory: some 20 kB each."""

    def __init__(self) -> None:
        self._numbers: defaultdict[bytes, list[int]] = defaultdict(list)  # by the hash of a pair
        self._pairs: dict[int, int] = {}

    def add_or_find(self, number: int, table: Table) -> int | None:
        """Add a kernel, unless an earlier one is nearly the same.

        Returns:
            The number of the most similar earlier kernel, the first of equals; ``None`` where there
            is none and the kernel was added.
        """
        pairs = {blake2b(pair.encode(), digest_size=8).digest() for pair in _pairs(table)}
        common = Counter(other for pair in pairs for other in self._numbers.get(pair, ()))
        likeness = {
            other: shared / (len(pairs) + self._pairs[other] - shared)
            for other, shared in common.items()
        }
        nearest = max(likeness, key=lambda other: (likeness[other], -other), default=None)
        if nearest is not None and likeness[nearest] >= THRESHOLD:
            return nearest
        self._pairs[number] = len(pairs)
        for pair in pairs:
            self._numbers[pair].append(number)
        return None


def _pairs(table: Table) -> Iterator[str]:
    for row in table.rows:
        cells = sorted(form for cell in row if (form := _form(cell)))
        if len(cells) == 1:
            yield cells[0]
        for one, other in combinations(cells, 2):
            yield f"{one}\n{other}"


def _form(cell: Cell) -> str:
    """A cell without the differences that are only print."""
    value = read_value(cell)
    if value.number is not None or value.dates:
        return value.text
    return " ".join(tokens_of(value.text).words) or value.text
