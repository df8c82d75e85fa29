"""Where the tables of a TabFaith set come from: generators without end, and tables of users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tablemend.config import HUB
from tablemend.datasets.tabfaith.domains import SYNTHETIC as GENERATORS
from tablemend.datasets.tabfaith.domains import Domain
from tablemend.datasets.tabfaith.filings import read_filing
from tablemend.datasets.tabfaith.mimic import read_panels
from tablemend.datasets.tabfaith.settings import MIMIC, SYNTHETIC, TabFaith
from tablemend.datasets.tabfaith.totto import is_totto, read_totto
from tablemend.datasets.tablehallu.settings import POOL, Synthesis
from tablemend.datasets.tablehallu.sources import find_table, open_source
from tablemend.datasets.tablehallu.topics import make_table
from tablemend.errors import TablemendError
from tablemend.programs.speaker import speakers
from tablemend.programs.table import TypedTable
from tablemend.tables.read import load_text
from tablemend.tables.table import Table

FILINGS = (".html", ".htm", ".txt")


class Found(NamedTuple):
    """A table and where it stands."""

    table: Table
    where: str


class Tables:
    """The tables of one domain, by number.

    Args:
        found: those of a user; empty for a generator.
        domain: whose generator it is.
        name: of the source.
        seed: of the generator.
    """

    def __init__(self, found: list[Found], domain: Domain, name: str, seed: int) -> None:
        self._found, self.domain, self._name, self._seed = found, domain, name, seed

    @property
    def count(self) -> int | None:
        """How many there are; ``None`` for a generator."""
        return len(self._found) or None

    def __getitem__(self, number: int) -> Found:
        """A table; those of a user begin anew at the end."""
        if self._found:
            return self._found[number % len(self._found)]
        if self._name == POOL:
            return Found(make_table(self._seed, number).table, f"{POOL}:{number}")
        table = GENERATORS[self.domain](self._seed, number)
        return Found(table, f"{SYNTHETIC}-{self.domain}:{number}")


def open_tables(settings: TabFaith, domain: Domain) -> tuple[Tables, Counter[str]]:
    """The tables of a domain, and why others were left out.

    Of a user's tables the first that something can be said of are taken, as many as the domain
    has examples.

    Raises:
        TablemendError: nothing there can be read or summarised.
    """
    name, wanted = settings.sources.of(domain), settings.sizes.of(domain)
    skipped: Counter[str] = Counter()
    found: list[Found] = []
    if name not in (POOL, SYNTHETIC) and wanted:
        seen: set[str] = set()
        for one in _read(settings, domain, name, skipped):
            key = one.table.content_hash()
            if key in seen:
                skipped["the same table again"] += 1
                continue
            seen.add(key)
            try:
                speakers(TypedTable.of(one.table))
            except TablemendError as error:
                skipped[str(error)] += 1
                continue
            found.append(one)
            if len(found) == wanted:
                break
        if not found:
            reasons = "; ".join(f"{n} x {reason}" for reason, n in skipped.most_common(3))
            raise TablemendError(
                f"sources.{domain}={name}: no table that can be summarised ({reasons or 'empty'})"
            )
    return Tables(found, domain, name, settings.seed), skipped


def _read(settings: TabFaith, domain: Domain, name: str, skipped: Counter[str]) -> Iterator[Found]:
    """Every table of a source; what cannot be read is counted."""
    if name.startswith(MIMIC):
        folder = Path(name.removeprefix(MIMIC)).expanduser()
        for number, table in enumerate(read_panels(folder), 1):
            yield Found(table, f"mimic-iv:{number}")  # no identifier goes into the set
        return
    path = Path(name)
    if not name.startswith(HUB) and not path.exists():
        built_in = POOL if domain == "general" else SYNTHETIC
        raise TablemendError(
            f"sources.{domain}={name}: no such file or folder; `{built_in}` is built in, and a "
            f"name on the Hub is written {HUB}NAME"
        )
    files: list[Path] = []
    if not name.startswith(HUB):
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
    filings = [file for file in files if file.suffix.lower() in FILINGS and file.is_file()]
    for file in filings:
        where = file.name if path.is_file() else file.relative_to(path).as_posix()
        try:
            yield Found(read_filing(load_text(file)), where)
        except TablemendError as error:
            skipped[str(error).removeprefix(f"{file}: ")] += 1
    if filings and not any(file.suffix.lower() in (".csv", ".jsonl") for file in files):
        return
    sources = settings.sources
    try:
        source = open_source(
            Synthesis(
                source=name,
                dataset_split=sources.dataset_split,
                dataset_config=sources.dataset_config,
                dataset_revision=sources.dataset_revision,
            ),
            _find,
        )
    except TablemendError as error:
        raise TablemendError(f"sources.{domain}: {error}") from error
    for place in source.places():
        try:
            yield Found(source.read(place).table, source.where(place))
        except TablemendError as error:
            skipped[str(error)] += 1


def _find(record: Any) -> Table:
    """The table of a JSON record: ToTTo's, a filing's raw fragment, or any other."""
    if is_totto(record):
        return read_totto(record)
    raw = record.get("raw_table") if isinstance(record, dict) else None
    return read_filing(raw) if isinstance(raw, str) else find_table(record)
