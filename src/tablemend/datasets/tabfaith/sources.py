"""Where the tables of a TabFaith set come from: generators without end, and tables of users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from tablemend.config import HUB
from tablemend.datasets.build import SkippedTable, ranked
from tablemend.datasets.source_tables.sources import Place, Source, make_table, open_source
from tablemend.datasets.splits import POOL
from tablemend.datasets.tabfaith.domains import SYNTHETIC as GENERATORS
from tablemend.datasets.tabfaith.domains import Domain
from tablemend.datasets.tabfaith.settings import SYNTHETIC, TabFaith
from tablemend.errors import TablemendError
from tablemend.programs.speaker import speakers
from tablemend.programs.table import TypedTable
from tablemend.tables.filings import read_filing
from tablemend.tables.table import Table, TableError

POOL_ROWS = (6, 30)
"""Rows of a table of the pool."""
FILINGS = (".html", ".htm", ".txt")


class Found(NamedTuple):
    """A table and where it stands."""

    table: Table
    where: str


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one domain, by number.

    Attributes:
        found: those of a user; empty for a generator.
        domain: whose generator it is.
        name: of the source.
        seed: of the generator.
    """

    found: tuple[Found, ...]
    domain: Domain
    name: str
    seed: int

    @property
    def count(self) -> int | None:
        """How many there are; ``None`` for a generator."""
        return len(self.found) or None

    def __getitem__(self, number: int) -> Found:
        """A table; those of a user begin anew at the end."""
        if self.found:
            return self.found[number % len(self.found)]
        if self.name == POOL:
            table = make_table(self.seed, number).table
            rows = Random(f"{POOL}:{self.seed}:{number}").randint(*POOL_ROWS)
            return Found(replace(table, rows=table.rows[:rows]), f"{POOL}:{number}")
        table = GENERATORS[self.domain](self.seed, number)
        return Found(table, f"{SYNTHETIC}-{self.domain}:{number}")


def open_tables(settings: TabFaith, domain: Domain) -> tuple[Tables, list[SkippedTable]]:
    """The tables of a domain, and why others were left out.

    Of a user's tables the first that something can be said of are taken, as many as the domain
    has examples.

    Raises:
        TablemendError: nothing there can be read or summarised.
    """
    name, wanted = settings.sources.of(domain), settings.sizes.of(domain)
    skipped: list[SkippedTable] = []
    found: dict[str, Found] = {}
    if name in (POOL, SYNTHETIC) or not wanted:
        return Tables((), domain, name, settings.seed), skipped
    for where, read in _places(settings, domain, name):
        try:
            table = read()
            speakers(TypedTable.of(table))
            if (content := table.content_hash()) in found:
                raise TableError("the same table again")
            found[content] = Found(table, where)
        except TablemendError as error:
            skipped.append(SkippedTable(f"{domain}: {where}", str(error)))
        if len(found) == wanted:
            break
    if not found:
        reasons = ranked(Counter(one.reason for one in skipped), 3)
        said = "; ".join(f"{n} x {reason}" for reason, n in reasons.items()) or "empty"
        raise TablemendError(f"sources.{domain}={name}: no table that can be summarised ({said})")
    return Tables((*found.values(),), domain, name, settings.seed), skipped


def _places(
    settings: TabFaith, domain: Domain, name: str
) -> Iterator[tuple[str, Callable[[], Table]]]:
    """Every place of a source, and what reads its table."""
    if not name.startswith(HUB) and not Path(name).exists():
        built_in = POOL if domain == "general" else SYNTHETIC
        raise TablemendError(
            f"sources.{domain}={name}: no such file or folder; `{built_in}` is built in, and a "
            f"name on the Hub is written {HUB}NAME"
        )
    readers = dict.fromkeys(FILINGS, read_filing)
    try:
        source = open_source(name, settings.sources, texts=readers)
    except TablemendError as error:
        raise TablemendError(f"sources.{domain}: {error}") from error
    for place in source.places():
        yield place.where, partial(_read, source, place)


def _read(source: Source, place: Place) -> Table:
    """A table without the rows that repeat the header, and with single spaces."""
    table = source.read(place).table
    header, *body = (
        [" ".join((cell or "").split()) for cell in row] for row in (table.columns, *table.rows)
    )
    heads = [cell.casefold() for cell in header]
    rows = [
        row
        for row in body
        if not any(row)
        or any(cell and cell.casefold() != head for cell, head in zip(row, heads, strict=True))
    ]
    return Table.of(header, rows, " ".join(table.title.split()))
