"""Names for made-up rows: those of other tables about the same kind of thing."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from math import log
from random import Random
from typing import NamedTuple

from tablemend.datasets.source_tables.columns import TypedTable, words_of
from tablemend.datasets.source_tables.names import is_small
from tablemend.datasets.source_tables.renaming import names_in
from tablemend.datasets.source_tables.sources import Place, SourceTable, more_names
from tablemend.datasets.splits import POOL, split_of
from tablemend.tasks.tablehallu.labels import ONE_LEAGUE, WORDS, are_persons
from tablemend.tasks.tablehallu.settings import Synthesis

NAMES_A_TABLE = 30
"""Names that one table gives another at first: large tables are not to give most."""
NAMES_OF_POOL = 5
"""Names that the pool makes up in one go."""
TABLES = 200
"""Most tables that are looked at for one."""
OWN, RECOMBINED = 2, 50
"""Names made of the parts of others, for each of these: of the table's, and of all tables'."""
SAME_NAMES = 0.2
"""Share of the smaller table's entities (two at least) that show two to be of one kind."""
ALIKE = (0.5, 0.9)
"""Weight of the headers in common, of all, from which on tables of a key are of one kind; the
latter where names are those of one league."""
SPORTS = frozenset(WORDS["sports"].split())
_PLAIN = re.compile(r"[^\W\d_][^\W\d_'.-]*(?: [^\W\d_][^\W\d_'.-]*)+")
_ODD = re.compile(r"""[\d()"/,;:&]""")


class Usable(NamedTuple):
    """A table from which examples can be cut.

    Attributes:
        place: where it is.
        source_hash: its content hash.
        headers: of all columns in lower case, that of the key column first.
        domain: what it is about.
        names: of its entities.
        is_of_persons: whether they are persons.
        marks: figures, brackets and other signs that most of them have.
        is_small: it is written without capitals.
        sports: which its title names, and of men or women.
        unfit: why it gives no context of the length asked for; empty where it does.
    """

    place: Place
    source_hash: str
    headers: tuple[str, ...]
    domain: str
    names: tuple[str, ...]
    is_of_persons: bool
    marks: frozenset[str]
    is_small: bool
    sports: frozenset[str] = frozenset()
    unfit: str = ""

    @classmethod
    def of(cls, place: Place, read: SourceTable, typed: TypedTable) -> Usable:
        """What donors have to know of a table."""
        names = tuple(dict.fromkeys(row[typed.key] or "" for row in typed.table.rows))
        columns = [typed.table.columns[typed.key], *typed.table.columns]
        headers = tuple(dict.fromkeys(map(str.lower, columns)))
        signs = Counter(sign for name in names for sign in _signs(name))
        marks = frozenset(sign for sign, count in signs.items() if 2 * count > len(names))
        return cls(
            place,
            typed.source_hash,
            headers,
            read.domain,
            names,
            are_persons(headers, names),
            marks,
            is_small(read.table.rows),
            SPORTS.intersection(words_of(read.topic).split()),
        )


class NamePool:
    """The other tables of a source, as givers of names; the topics have names without end."""

    def __init__(self, settings: Synthesis, usable: Sequence[Usable]) -> None:
        self._settings = settings
        self._tables = {table.place: table for table in usable}
        self._words: dict[tuple[str, bool], Sequence[str]] = {}
        self._with: dict[Hashable, list[Usable]] = defaultdict(list)
        headers = Counter(header for table in usable for header in table.headers)
        self._weights = {h: 1 + log(len(usable) / times) for h, times in headers.items()}
        # In one order for all kinds: the first tables with one name are the first with another.
        for table in Random(f"donors:{settings.seed}").sample(usable, len(usable)):
            side = self._side(table)
            kinds: list[Hashable] = [("column", name) for name in table.headers]
            kinds += (("name", name.casefold()) for name in table.names)
            kinds.append(
                "persons" if table.is_of_persons else ("key", table.headers[0], table.domain)
            )
            for kind in kinds:
                self._with[side, kind].append(table)

    def _side(self, table: Usable) -> tuple[str, bool]:
        """What tables that give each other anything share: no text is to be seen in two splits,
        and no row is to mix letter cases.
        """
        return split_of(table.source_hash, self._settings.shares), table.is_small

    def _sharing(self, own: Usable, *kinds: Hashable) -> Counter[Place]:
        """Other tables of its side that have something in common with one, and how much."""
        side = self._side(own)
        found = Counter(
            table.place for kind in kinds for table in self._with.get((side, kind), ())[:TABLES]
        )
        del found[own.place]
        return found

    def _likeness(self, one: Usable, other: Usable) -> float:
        """Weight of the headers in common, of all of both; rare ones have most."""
        weights = {name: self._weights[name] for name in (*one.headers, *other.headers)}
        both = sorted({*one.headers}.intersection(other.headers))
        return sum(weights[name] for name in both) / sum(weights.values())

    def _alike(self, own: Usable) -> list[Usable]:
        """Tables about entities of the same kind, likeliest first.

        Beside the domain and the key (or persons as entities) they have entities in common or most
        headers; the teams of one league are known by names in common, or by all headers.
        """
        same = self._sharing(own, *(("name", name.casefold()) for name in own.names))
        is_league = not own.is_of_persons and not ONE_LEAGUE.isdisjoint(own.headers[0].split())
        kind = "persons" if own.is_of_persons else ("key", own.headers[0], own.domain)
        tables = [
            table
            for table in map(self._tables.__getitem__, self._sharing(own, kind))
            if table.domain == own.domain
            and (
                same[table.place] >= max(2, SAME_NAMES * min(len(own.names), len(table.names)))
                or self._likeness(own, table) >= ALIKE[is_league and same[table.place] < 2]
            )
            and (own.sports == table.sports or not own.sports or not table.sports)
        ]
        alike = [t for t in tables if (t.is_of_persons, t.marks) == (own.is_of_persons, own.marks)]
        return sorted(alike, key=lambda table: -self._likeness(own, table))

    def names_for(self, place: Place) -> Iterator[str]:
        """Names for the made-up rows of a table, best first, until there are no more.

        Those of tables of the same kind; of persons first and last the given name of one with the
        family name of another, first within the table: its drivers are of its time and countries.
        """
        rng = Random(f"names:{self._settings.seed}:{place.where}")
        if self._settings.source == POOL:
            while True:
                yield from more_names(place.offset, NAMES_OF_POOL, rng)
        own = self._tables[place]
        rest: list[str] = []
        alike = self._alike(own)
        if own.is_of_persons:
            yield from recombined(own.names, OWN, rng)
        for table in alike:
            names = [n for n in table.names if own.marks >= _signs(n)]
            rng.shuffle(names)
            yield from names[:NAMES_A_TABLE]
            rest += names[NAMES_A_TABLE:]
        rng.shuffle(rest)
        yield from rest
        if own.is_of_persons:
            every = [name for table in (own, *alike) for name in table.names]
            yield from recombined(every, RECOMBINED, rng)

    def words_for(self, place: Place) -> Sequence[str]:
        """The words with a capital in the names of all tables of its side."""
        side = self._side(self._tables[place])
        if side not in self._words:
            tables = (table for table in self._tables.values() if self._side(table) == side)
            self._words[side] = names_in(name for table in tables for name in table.names)
        return self._words[side]

    def related(self, place: Place) -> Place | None:
        """A table of the same domain about another kind of subject, with like columns."""
        own = self._tables[place]
        shared = self._sharing(own, *(("column", name) for name in own.headers[1:]))
        tables = (self._tables[place] for place, count in shared.items() if count >= 2)
        alike = [
            table
            for table in tables
            if table.domain == own.domain
            and {*table.headers[0].split()}.isdisjoint(own.headers[0].split())
            and table.headers[0] not in own.headers
            and own.headers[0] not in table.headers
        ]
        best = max(alike, key=lambda table: self._likeness(own, table), default=None)
        return best and best.place


def _signs(name: str) -> set[str]:
    return {*_ODD.findall(re.sub(r"\d", "0", name))}


def recombined(names: Sequence[str], times: int, rng: Random) -> Iterator[str]:
    """The given name of one person with the others of another, some times for each."""
    words = [name.split() for name in names if _PLAIN.fullmatch(name)]
    for _ in range(times * len(words)):
        first, other = rng.choice(words), rng.choice(words)
        yield " ".join((first[0], *(other[1:] or first[1:])))
