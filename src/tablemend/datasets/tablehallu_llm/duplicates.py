"""Kernels that are nearly the same table.

Two tables are compared by the pairs of cells that stand in one row together, so that the order
of rows and columns, the names of columns and the spelling of values do not count. They are near
duplicates where at least :data:`THRESHOLD` of all pairs of both are common (Jaccard). MinHash in
bands finds the candidates, the pairs themselves decide.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt
from datasketch import MinHash, MinHashLSH

from tablemend.tables.table import Cell, Table
from tablemend.values.cells import read_value
from tablemend.values.text import tokens_of

THRESHOLD = 0.6
"""One cell or one row changed in a table of 6 x 6 leaves 0.9 or 0.7; two rows 0.5."""
BANDS, ROWS = 20, 3
"""A pair at the threshold shares a band with a probability of 0.99."""

Hashes = npt.NDArray[np.uint64]


class Kernels:
    """The kernels so far, in memory: 11 kB each, 1.1 GB for 100,000 (measured).

    What is found depends on the order of adding alone.
    """

    def __init__(self) -> None:
        self._bands = MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
        self._pairs: dict[int, Hashes] = {}

    def add_or_find(self, number: int, table: Table) -> int | None:
        """Add a kernel, unless an earlier one is nearly the same.

        Args:
            number: of the kernel.
            table: its gold table.

        Returns:
            The number of the most similar earlier kernel, the first of equals; ``None`` where there
            is none and the kernel was added.
        """
        pairs = _hash_pairs(table)
        sketch = MinHash(num_perm=BANDS * ROWS, hashfunc=_low_half)
        sketch.update_batch(pairs)
        found: list[int] = sorted(self._bands.query(sketch))
        likenesses = {other: _jaccard(pairs, self._pairs[other]) for other in found}
        nearest = max(likenesses, key=likenesses.__getitem__, default=None)
        if nearest is not None and likenesses[nearest] >= THRESHOLD:
            return nearest
        self._bands.insert(number, sketch)
        self._pairs[number] = pairs
        return None


def likeness(one: Table, other: Table) -> float:
    """Share of all pairs of cells in a row, of both tables, that both have; 1.0 for equals."""
    return _jaccard(_hash_pairs(one), _hash_pairs(other))


def _jaccard(one: Hashes, other: Hashes) -> float:
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / max(1, len(one) + len(other) - common)


def _low_half(pair: np.uint64) -> int:
    return int(pair) & 0xFFFFFFFF


def _hash_pairs(table: Table) -> Hashes:
    """Hashes of the pairs of cells that share a row, each once; the same on every machine."""
    digests = b"".join(
        hashlib.blake2b(text.encode(), digest_size=8).digest() for text in set(_pairs(table))
    )
    return np.unique(np.frombuffer(digests, "<u8").astype(np.uint64))


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
