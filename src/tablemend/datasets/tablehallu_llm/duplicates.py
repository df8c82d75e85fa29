"""Kernels that are nearly the same table: found among any number of them in flat memory.

Two tables are compared by the pairs of cells that stand in one row together, so that the order
of rows and columns, the names of columns and the spelling of values do not count. They are near
duplicates where at least :data:`THRESHOLD` of all pairs of both are common (Jaccard). MinHash in
bands finds the candidates, the pairs themselves decide.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from tablemend.errors import TablemendError
from tablemend.runs import disk_errors
from tablemend.tables.table import Cell, Table
from tablemend.values.cells import read_value
from tablemend.values.text import tokens_of

THRESHOLD = 0.6
"""One cell or one row changed in a table of 6 x 6 leaves 0.9 or 0.7; two rows 0.5."""
BANDS, ROWS = 32, 4
"""A pair at the threshold shares a band with a probability of 0.99, one of 0.2 with 0.05."""
COMMIT_EVERY = 1000
CACHE_KIB = 16384

Hashes = npt.NDArray[np.uint64]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS kernels (number INTEGER PRIMARY KEY, id TEXT UNIQUE, pairs BLOB);
CREATE TABLE IF NOT EXISTS bands (hash INTEGER, number INTEGER, PRIMARY KEY (hash, number))
WITHOUT ROWID;
"""


def _coefficients() -> tuple[Hashes, Hashes]:
    """Fixed multipliers and offsets of the hash functions, the same on every machine."""
    count = BANDS * ROWS
    digest = hashlib.shake_256(b"tablemend kernels").digest(16 * count)
    numbers = np.frombuffer(digest, "<u8").astype(np.uint64)
    return numbers[:count] | np.uint64(1), numbers[count:]


_FACTORS, _OFFSETS = _coefficients()


class KernelIndex:
    """The kernels so far, on disk.

    What is found depends on the order of adding alone. The file can be deleted at any time: it
    only repeats what the kernels say.

    Args:
        path: the SQLite file; it is made where it is not there and goes on where it is.

    Raises:
        TablemendError: the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting = 0
        try:
            self._base = sqlite3.connect(path, isolation_level=None)
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = OFF")
            self._base.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            self._base.executescript(_SCHEMA)
            self._base.execute("BEGIN")
        except sqlite3.DatabaseError as error:
            raise self._refusal(error) from error

    def __enter__(self) -> KernelIndex:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def add_or_find(self, id: str, table: Table) -> str | None:
        """Add a kernel, unless an earlier one is nearly the same.

        Args:
            id: a name of the kernel; one that was added before is not added again.
            table: its gold table.

        Returns:
            The id of the most similar earlier kernel, the first of equals; ``None`` where there
            is none and the kernel was added.

        Raises:
            OSError: the disk is full; ``filename`` is the folder.
            TablemendError: the file cannot be used.
        """
        pairs = _hash_pairs(table)
        bands = _hash_bands(pairs)
        try:
            with disk_errors(self._path.parent):
                found = self._find(id, pairs, bands)
                if found is None:
                    self._add(id, pairs, bands)
        except sqlite3.DatabaseError as error:
            raise self._refusal(error) from error
        return found

    def close(self) -> None:
        """Write what was added, and let go of the file."""
        with disk_errors(self._path.parent):
            try:
                if self._base.in_transaction:
                    self._base.execute("COMMIT")
            finally:
                self._base.close()

    def _find(self, id: str, pairs: Hashes, bands: list[int]) -> str | None:
        marks = ",".join("?" * len(bands))
        rows = self._base.execute(
            f"SELECT id, pairs FROM kernels WHERE number IN "
            f"(SELECT number FROM bands WHERE hash IN ({marks})) ORDER BY number",
            bands,
        )
        best, nearest = THRESHOLD, None
        for other, stored in rows:
            if other == id:
                return None
            likeness = _jaccard(pairs, np.frombuffer(stored, "<u8"))
            if likeness > best or (nearest is None and likeness == best):
                best, nearest = likeness, str(other)
        return nearest

    def _add(self, id: str, pairs: Hashes, bands: list[int]) -> None:
        added = self._base.execute(
            "INSERT OR IGNORE INTO kernels (id, pairs) VALUES (?, ?)",
            (id, pairs.astype("<u8").tobytes()),
        )
        if not added.rowcount:
            return
        number = added.lastrowid
        self._base.executemany(
            "INSERT OR IGNORE INTO bands VALUES (?, ?)", ((band, number) for band in bands)
        )
        self._waiting += 1
        if self._waiting >= COMMIT_EVERY:
            self._base.execute("COMMIT")
            self._base.execute("BEGIN")
            self._waiting = 0

    def _refusal(self, error: sqlite3.Error) -> TablemendError:
        return TablemendError(
            f"{self._path} cannot be used as the index of kernels ({error}): delete it, it is "
            "made anew from the kernels"
        )


def likeness(one: Table, other: Table) -> float:
    """Share of all pairs of cells in a row, of both tables, that both have; 1.0 for equals."""
    return _jaccard(_hash_pairs(one), _hash_pairs(other))


def _jaccard(one: Hashes, other: Hashes) -> float:
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / max(1, len(one) + len(other) - common)


def _hash_pairs(table: Table) -> Hashes:
    """Hashes of the pairs of cells that share a row, sorted, each once."""
    texts = sorted(set(_pairs(table)))
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
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


def _hash_bands(pairs: Hashes) -> list[int]:
    """One number for each band of the MinHash signature, signed as SQLite wants it."""
    if not len(pairs):
        return []
    with np.errstate(over="ignore"):
        mixed = pairs[:, None] * _FACTORS + _OFFSETS
    signature = (mixed >> np.uint64(32)).min(axis=0).astype("<u8")
    return [
        int.from_bytes(
            hashlib.blake2b(
                signature[band * ROWS : (band + 1) * ROWS].tobytes(),
                digest_size=8,
                salt=band.to_bytes(2, "big"),
            ).digest(),
            "big",
            signed=True,
        )
        for band in range(BANDS)
    ]
