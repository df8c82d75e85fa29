"""Names and texts for made-up rows: those of other tables, of the same kind."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from tablemend.datasets.splits import split_of
from tablemend.datasets.tablehallu.columns import MAX_ROWS, clean_cell, is_name
from tablemend.datasets.tablehallu.invented_names import GIVEN
from tablemend.datasets.tablehallu.letter_case import with_capitals
from tablemend.datasets.tablehallu.settings import POOL, Synthesis
from tablemend.datasets.tablehallu.sources import Place, Source
from tablemend.datasets.tablehallu.topics import more_names
from tablemend.tables.table import Cell

NAMES_A_TABLE = 30
"""Names that one table gives another at first: large tables are not to give most."""
TEXT_TABLES = 3
"""Tables that give a column texts."""
TABLES_A_KIND = 200
"""Tables of each kind of likeness that are looked at."""
PERSONS = 0.12
"""Share of names with a known given name (of a few hundred) from which on they are persons."""
_GIVEN = frozenset(GIVEN)
_PERSON = re.compile(
    r"\b(?:player|athlete|rider|driver|cyclist|skater|swimmer|wrestler|boxer|golfer|coach|manager|"
    r"actor|actress|artist|singer|author|director|candidate|representative|senator|president|"
    r"minister|governor|mayor|member|person|contestant|officer|bishop|king|queen)\b",
    re.I,
)


class Usable(NamedTuple):
    """A table from which examples can be cut.

    Attributes:
        place: where it is.
        source_hash: its content hash.
        key: index of its key column.
        headers: of all columns in lower case, that of the key column first.
        shape: of the names in it.
        is_small: it is written without capitals.
    """

    place: Place
    source_hash: str
    key: int
    headers: tuple[str, ...]
    shape: Hashable
    is_small: bool


class Donors:
    """The other tables of a source, as givers of names and texts.

    Args:
        source: where they are.
        settings: of the data set.
        usable: those of a user; the pool has names without end.
    """

    def __init__(self, source: Source, settings: Synthesis, usable: Sequence[Usable]) -> None:
        self._source, self._settings = source, settings
        self._tables = {table.place: table for table in usable}
        self._alike: dict[Hashable, list[Usable]] = defaultdict(list)
        self._frequency = Counter(name for table in usable for name in table.headers)
        for table in usable:
            for kind in self._kinds(table):
                self._alike[kind].append(table)
            for name in table.headers:
                self._alike[self._side(table), "column", name].append(table)

    def _side(self, table: Usable) -> tuple[str, bool]:
        """What tables that give each other anything share: no text is to be seen in two splits,
        and no row is to mix letter cases.
        """
        return split_of(table.source_hash, self._settings.shares), table.is_small

    def _kinds(self, table: Usable) -> tuple[Hashable, ...]:
        """What tables that may give each other names share, from much to little.

        Persons are not mixed with others: their names can be made up when they run out.
        """
        side, is_of_persons = self._side(table), table.shape == "persons"
        same = (side, table.headers[0]), (side, table.shape)
        return same if is_of_persons else (*same, side)

    def _likeness(self, one: Usable, other: Usable) -> float:
        """How much speaks for entities of one kind: looks, then headers, rare ones most."""
        shared = {*one.headers} & {*other.headers}
        same_key = one.headers[0] == other.headers[0]
        same_looks = one.shape == other.shape
        return same_looks + 3 * same_key + sum(2 / self._frequency[name] for name in shared)

    def names_for(self, place: Place) -> Iterator[str]:
        """Names for the made-up rows of a table, best first; they may end."""
        rng = Random(f"names:{self._settings.seed}:{place.where}")
        if self._settings.source == POOL:
            while True:
                yield from more_names(place.offset, NAMES_A_TABLE, rng)
        own = self._tables[place]
        found: dict[Place, Usable] = {}
        for kind in self._kinds(own):
            tables = self._alike[kind]
            drawn = rng.sample(tables, min(len(tables), TABLES_A_KIND))
            found.update((table.place, table) for table in drawn if table is not own)
        rest: list[str] = []
        for table in sorted(found.values(), key=lambda table: -self._likeness(own, table)):
            names = self._names(table, rng)
            yield from names[:NAMES_A_TABLE]
            rest += names[NAMES_A_TABLE:]
        rng.shuffle(rest)
        yield from rest

    def related(self, place: Place) -> Place | None:
        """A table about another kind of subject with a column like one of this table."""
        own = self._tables[place]
        alike = {
            table.place: table
            for header in own.headers[1:]
            for table in self._alike[self._side(own), "column", header][:TABLES_A_KIND]
            if {*table.headers[0].split()}.isdisjoint(own.headers[0].split())
            and table.headers[0] not in own.headers
            and own.headers[0] not in table.headers
        }
        best = max(alike.values(), key=lambda table: self._likeness(own, table), default=None)
        return best and best.place

    def texts_for(self, place: Place) -> Callable[[str], Iterable[str]]:
        """What gives the texts of columns with a header, from tables most like this one."""

        def texts(header: str) -> Iterator[str]:
            own = self._tables.get(place)
            found = self._alike[self._side(own), "column", header] if own else []
            others = [table for table in found if table is not own]
            ranked = sorted(others, key=lambda table: -self._likeness(own or table, table))
            for table in ranked[:TEXT_TABLES]:
                cells = self._columns(table)[header]
                yield from (cell for cell in cells if cell and is_name(cell))

        return texts

    def _names(self, table: Usable, rng: Random) -> list[str]:
        cells = self._columns(table)[table.headers[0]]
        names = [name for name in dict.fromkeys(cells) if name is not None and is_name(name)]
        rng.shuffle(names)
        return names

    def _columns(self, table: Usable) -> dict[str, Sequence[Cell]]:
        """The clean cells of a table by its headers in lower case."""
        read = self._source.read(table.place).table
        headers = [(clean_cell(name) or "Item").lower() for name in read.columns]
        rows = [tuple(map(clean_cell, row)) for row in read.rows[:MAX_ROWS]]
        if table.is_small:
            rows = with_capitals(headers, rows, table.key)
        return dict(zip(headers, zip(*rows, strict=True), strict=True))


def shape_of(header: str, names: Sequence[str]) -> Hashable:
    """What most names look like: those of persons, or how many words, digits and brackets."""
    words = [name.split() for name in names]
    persons = sum(len(name) > 1 and name[0] in _GIVEN for name in words)
    if _PERSON.search(header) or persons >= PERSONS * len(names):
        return "persons"
    shapes = Counter(
        (min(len(name.split()), 3), any(map(str.isdigit, name)), "(" in name, name[:1].isupper())
        for name in names
    )
    return shapes.most_common(1)[0][0]
