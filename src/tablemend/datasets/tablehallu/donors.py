"""Names for made-up rows: those of the entities of other tables, of the same kind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from tablemend.datasets.splits import split_of
from tablemend.datasets.tablehallu.columns import MAX_ROWS, clean_cell, is_name
from tablemend.datasets.tablehallu.settings import POOL, Synthesis
from tablemend.datasets.tablehallu.sources import Place, Source
from tablemend.datasets.tablehallu.topics import more_names

NAMES_A_TABLE = 12
"""Names that one table gives another at first: large tables are not to give most."""


class Usable(NamedTuple):
    """A table from which examples can be cut.

    Attributes:
        place: where it is.
        source_hash: its content hash.
        key: index of its key column.
        header: of the key column, in lower case.
        shape: of the names in it.
    """

    place: Place
    source_hash: str
    key: int
    header: str
    shape: Hashable


class Donors:
    """The other tables of a source, as givers of names.

    Args:
        source: where they are.
        settings: of the data set.
        usable: those of a user; the pool has names without end.
    """

    def __init__(self, source: Source, settings: Synthesis, usable: Sequence[Usable]) -> None:
        self._source, self._settings = source, settings
        self._tables = {table.place: table for table in usable}
        self._alike: dict[Hashable, list[Usable]] = defaultdict(list)
        for table in usable:
            for kind in self._kinds(table):
                self._alike[kind].append(table)

    def _kinds(self, table: Usable) -> tuple[Hashable, ...]:
        """What tables that give each other names share, best first.

        The split always: no name of a table is to be seen in another split.
        """
        split = split_of(table.source_hash, self._settings.shares)
        return (split, "header", table.header), (split, "shape", table.shape), (split, "all")

    def names_for(self, place: Place) -> Iterator[str]:
        """Names for the made-up rows of a table, best first; they may end."""
        rng = Random(f"names:{self._settings.seed}:{place.where}")
        if self._settings.source == POOL:
            while True:
                yield from more_names(place.offset, NAMES_A_TABLE, rng)
        given, rest = {place}, list[str]()
        for kind in self._kinds(self._tables[place]):
            tables = self._alike[kind][:]
            rng.shuffle(tables)
            for table in tables:
                if table.place not in given:
                    given.add(table.place)
                    names = self._names(table.place, table.key, rng)
                    yield from names[:NAMES_A_TABLE]
                    rest += names[NAMES_A_TABLE:]
        rng.shuffle(rest)
        yield from rest

    def _names(self, place: Place, key: int, rng: Random) -> list[str]:
        table = self._source.read(place).table
        cells = dict.fromkeys(clean_cell(row[key]) for row in table.rows[:MAX_ROWS])
        names = [name for name in cells if name is not None and is_name(name)]
        rng.shuffle(names)
        return names


def shape_of(names: Sequence[str]) -> Hashable:
    """What most names look like: words, digits, brackets, capitals."""
    shapes = Counter(
        (
            min(len(name.split()), 3),
            any(map(str.isdigit, name)),
            "(" in name,
            name[:1].isupper(),
        )
        for name in names
    )
    return shapes.most_common(1)[0][0]
