"""Where source tables come from: files, a ``datasets`` name, the topic pool.

A source lists the places of its tables without reading them all into memory; a place is read
when it is needed. What holds no table raises, with the reason, and is the caller's to count.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import count, pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Protocol

import yaml

from tablemend.config import HUB
from tablemend.datasets.source_tables.columns import words_of, write_day
from tablemend.datasets.source_tables.names import FAMILY, GIVEN, TOWNS, invent_person
from tablemend.datasets.splits import POOL, UNKNOWN, HubOptions
from tablemend.errors import TablemendError, install
from tablemend.evidence.files import load_source
from tablemend.tables.jsontable import find_table
from tablemend.tables.read import load_text
from tablemend.tables.table import SURROGATES, Cell, Table, TableError, refuse_characters

_REFUSED = re.compile(f"[{SURROGATES}]")  # JSON may spell them, but UTF-8 has none
Reader = Callable[[str], Table]
FILES = (".csv", ".tsv", ".html", ".htm", ".xlsx")
"""Endings of files whose tables are read as the verifier reads them."""
_SEVERAL = (".html", ".htm", ".xlsx")


class Place(NamedTuple):
    """Where a table is.

    Attributes:
        where: for a person: ``file.jsonl:12``, ``page.html#2``, relative to the source.
        file: number of the file.
        offset: in bytes, where a line of it begins; number of the table in another file; row
            number of a data set.
        is_line: it is one line of its file.
    """

    where: str
    file: int
    offset: int
    is_line: bool = False


class SourceTable(NamedTuple):
    """A table as it was read, and what it is about.

    Attributes:
        subject: what a query calls its rows; empty where its title and headers must say it.
        source: its place, for the record.
        key: index of the key column where the source knows it.
    """

    table: Table
    topic: str
    category: str
    domain: str
    subject: str
    source: str
    key: int | None = None


class Source(Protocol):
    """A sequence of places and how to read one."""

    def places(self) -> Iterator[Place]:
        """Every place, in a fixed order; may be endless."""

    def read(self, place: Place) -> SourceTable:
        """The table at a place.

        Raises:
            TablemendError: there is none, with the reason.
        """


def open_source(
    name: str, options: HubOptions, seed: int = 0, texts: Mapping[str, Reader] | None = None
) -> Source:
    """The source of a name.

    Args:
        name: where the tables are.
        options: what is read of a data set on the Hub.
        seed: of the pool.
        texts: what reads files with these endings, one table each.

    Raises:
        TablemendError: no such file or folder, or nothing readable in it.
    """
    readers = texts or {}
    if name == POOL:
        return PoolSource(seed)
    if name.startswith(HUB):
        return DatasetSource(name.removeprefix(HUB), options)
    path = Path(name)
    endings = (*dict.fromkeys((*FILES, *readers)), ".jsonl")
    known = f"{', '.join(endings[:-1])} or {endings[-1]}"
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix.lower() in endings)
        if not files:
            raise TablemendError(f"source={name}: the folder holds no {known} file")
        return FileSource(path, files, path.resolve().name, readers)
    if not path.exists():
        raise TablemendError(
            f"source={name}: no such file or folder; `pool` and `small-world` are built in, "
            f"and a name on the Hub is written {HUB}NAME"
        )
    if path.suffix.lower() not in endings:
        raise TablemendError(f"source={name}: expected a {known} file, or a folder of them")
    return FileSource(path.parent, [path], path.stem, readers)


class FileSource:
    """Files with tables, and JSONL files with one table a line.

    ``readers`` read files with one table each, by ending; others are read as a verifier's.
    """

    def __init__(
        self, root: Path, files: Sequence[Path], name: str, readers: Mapping[str, Reader]
    ) -> None:
        self._root, self._files, self._name = root, files, _readable(name)
        self._readers = readers

    def places(self) -> Iterator[Place]:
        """One place a table, one a line of JSON; blank lines are passed over.

        What cannot be read is one place too: reading it says why.
        """
        for number, path in enumerate(self._files):
            name = _readable(path.relative_to(self._root).as_posix())
            if path.suffix.lower() != ".jsonl" or not _is_file(path):
                tables = self._count(path)
                for table in range(tables):
                    yield Place(name if tables == 1 else f"{name}#{table + 1}", number, table)
                continue
            offset = 0
            try:
                with path.open("rb") as file:
                    for line_number, line in enumerate(file, 1):
                        if line.strip():
                            yield Place(f"{name}:{line_number}", number, offset, is_line=True)
                        offset += len(line)
            except OSError:
                yield Place(name, number, 0)

    def read(self, place: Place) -> SourceTable:
        """The table of a file, or of one line of it."""
        path = self._files[place.file]
        if not _is_file(path):  # a named pipe would be waited for without end
            raise TableError("a link to nothing" if path.is_symlink() else "not a regular file")
        if not place.is_line and path.suffix.lower() != ".jsonl":
            table = self._tables(path)[place.offset]
            title = table.title or _readable(path.stem.replace("_", " "))
            return real_table(table, title, self._name, place.where)
        try:
            with path.open("rb") as file:
                file.seek(place.offset)
                table = find_table(_parse(file.readline()))
        except OSError as error:
            raise TableError(f"not readable: {error.strerror or error}") from error
        return real_table(table, table.title, self._name, place.where)

    def _count(self, path: Path) -> int:
        """How many tables a file has; one where that is known without reading, or nothing is."""
        try:
            return len(self._tables(path)) if path.suffix.lower() in _SEVERAL else 1
        except TablemendError:
            return 1

    def _tables(self, path: Path) -> Sequence[Table]:
        """The tables of a file that is no JSONL; errors do not repeat its name."""
        try:
            if reader := self._readers.get(path.suffix.lower()):
                return [reader(load_text(path))]
            return load_source(path).tables
        except TableError as error:
            raise TableError(str(error).removeprefix(f"{path}: ")) from error


class DatasetSource:
    """A data set of the ``datasets`` library, one table a row."""

    def __init__(self, name: str, options: HubOptions) -> None:
        try:
            from datasets import load_dataset
            from datasets.exceptions import DatasetsError
        except ImportError as error:
            raise TablemendError(f"a `hub:` source needs the extra: {install('data')}") from error
        split = options.dataset_split
        try:
            self._rows = load_dataset(
                name, options.dataset_config, split=split, revision=options.dataset_revision
            )
        except (OSError, ValueError, DatasetsError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise TablemendError(f"source={HUB}{name}, split {split}: {reason}") from error
        self._name = name

    def places(self) -> Iterator[Place]:
        """One place a row, counted from 1."""
        return (Place(f"{self._name}:{row + 1}", 0, row) for row in range(len(self._rows)))

    def read(self, place: Place) -> SourceTable:
        """The table of a row."""
        table = find_table(self._rows[place.offset])
        return real_table(table, table.title, self._name.rpartition("/")[2], place.where)


class PoolSource:
    """Fictional tables without end, one for each number."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def places(self) -> Iterator[Place]:
        """Every number."""
        return map(pool_place, count())

    def read(self, place: Place) -> SourceTable:
        """The table of that number."""
        return make_table(self._seed, place.offset)


def pool_place(number: int) -> Place:
    """The place of a table of the pool."""
    return Place(f"{POOL}:{number}", 0, number)


def real_table(table: Table, title: str, name: str, where: str) -> SourceTable:
    """A real table with what its title and header say of it; its topic is its title or the source.


    Raises:
        TableError: text that no file can hold.
    """
    titled = Table(table.columns, table.rows, " ".join(title.replace('"', "").split()))
    refuse_characters(Table(table.columns, table.rows, title), _REFUSED, "UTF-8", title=True)
    title = titled.title
    category, domain = domain_of(title, table.columns)
    return SourceTable(titled, title or name, category, domain, "", where)


def _readable(name: str) -> str:
    """A file's name with ``?`` for the bytes that are not UTF-8."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # in a folder that may not be entered
        return False


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise TableError("not UTF-8 text") from error
    except ValueError as error:
        raise TableError("not a line of JSON") from error
    except RecursionError as error:
        raise TableError("nested too deeply") from error


# ---- topics ----

ROWS = 40
ENTITIES_OF_PANEL = 11
APART = 10**9
"""Rounds between the numbers of tables and of those beside them."""
FIRMS = ("{} Brothers", "{} Partners", "{} & Sons", "{} Limited", "{} Union")
_SLOTS = {"{town}": TOWNS, "{family}": FAMILY, "{given}": GIVEN}


@dataclass(frozen=True, slots=True)
class Field:
    """How the cells of one column are made.

    Attributes:
        name: the header.
        kind: what is drawn: ``year``, ``day`` or ``number`` from ``low`` to ``high``; one of
            ``options`` for a ``choice``; a made-up one for ``person``, ``place`` and ``firm``.
        low, high, decimals, unit: of a number; the unit is written behind it.
    """

    name: str
    kind: str
    low: float = 0
    high: float = 0
    decimals: int = 0
    unit: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubCategory:
    """One kind of table.

    Attributes:
        templates: what the query calls the entities; ``{place}`` and ``{entity}`` are filled.
        key: header of the column that names the entities.
        names: pattern of an entity's name; ``{town}``, ``{family}``, ``{given}`` and ``{person}``
            are filled.
        fields: the other columns.
        panel: the same entities return in several years.
    """

    category: str
    domain: str
    name: str
    templates: tuple[str, ...]
    key: str
    names: tuple[str, ...]
    fields: tuple[Field, ...]
    panel: bool


def _read_field(name: str, text: str) -> Field:
    if "|" in text:
        return Field(name, "choice", options=tuple(text.split("|")))
    kind, *rest = text.split()
    low, high, decimals, unit = (*rest, *("0", "0", "0", "")[len(rest) :])
    return Field(name, kind, float(low), float(high), int(decimals), unit)


def _read_topics() -> tuple[SubCategory, ...]:
    text = Path(__file__).with_name("topics.yaml").read_text(encoding="utf-8")
    categories: dict[str, dict[str, dict[str, dict[str, Any]]]] = yaml.safe_load(text)
    return tuple(
        SubCategory(
            category,
            domain,
            name,
            tuple(given["queries"]),
            given["key"],
            tuple(given["names"]),
            tuple(_read_field(*field) for field in given["fields"].items()),
            given.get("panel", False),
        )
        for category, domains in categories.items()
        for domain, names in domains.items()
        for name, given in names.items()
    )


SUB_CATEGORIES = _read_topics()


def make_table(seed: int, number: int) -> SourceTable:
    """Table ``number`` of the pool; sub-categories take turns.

    Its topic, a filled template, is also what a query calls the rows.
    """
    rng = Random(f"pool:{seed}:{number}")
    sub = SUB_CATEGORIES[number % len(SUB_CATEGORIES)]
    topic = rng.choice(sub.templates).format(place=rng.choice(TOWNS), entity=rng.choice(FAMILY))
    places = rng.sample(TOWNS, 12)
    rows: list[list[Cell]] = []
    for name in _entities(sub, ENTITIES_OF_PANEL if sub.panel else ROWS, rng):
        if not sub.panel:
            rows.append([name, *(_cell(field, places, rng) for field in sub.fields)])
            continue
        first, *others = sub.fields  # the first is the year
        years = range(int(first.low), int(first.high) + 1)
        for year in sorted(rng.sample(years, rng.randint(2, 5))):
            rows.append([name, str(year), *(_cell(field, places, rng) for field in others)])
    columns = [sub.key, *(field.name for field in sub.fields)]
    table = Table.of(columns, rows, topic)
    where = pool_place(number).where
    return SourceTable(table, topic, sub.category, sub.domain, topic, where, key=0)


def related_number(number: int) -> int:
    """Number of a table beside table ``number``: of its category, with another kind of entity."""
    own = SUB_CATEGORIES[number % len(SUB_CATEGORIES)]
    others = [
        place
        for place, sub in enumerate(SUB_CATEGORIES)
        if sub.category == own.category and sub.key != own.key
    ]
    count = len(SUB_CATEGORIES)
    return (number // count + APART) * count + others[number // count % len(others)]


def more_names(number: int, count: int, rng: Random) -> list[str]:
    """Names of other entities like those of table ``number``."""
    return _entities(SUB_CATEGORIES[number % len(SUB_CATEGORIES)], count, rng)


def _entities(sub: SubCategory, count: int, rng: Random) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        pattern = rng.choice(sub.names)
        for slot, words in _SLOTS.items():
            while slot in pattern:
                pattern = pattern.replace(slot, rng.choice(words), 1)
        names[pattern.replace("{person}", invent_person(rng))] = None
    return list(names)


def _cell(field: Field, places: list[str], rng: Random) -> str:
    match field.kind:
        case "year":
            return str(rng.randint(int(field.low), int(field.high)))
        case "day":
            first = date(int(field.low), 1, 1).toordinal()
            last = date(int(field.high), 12, 31).toordinal()
            return write_day(date.fromordinal(rng.randint(first, last)))
        case "number":
            low, high, share = field.low, field.high, rng.random()
            is_wide = low > 0 and high / low > 50  # small values are then more frequent
            value = low * (high / low) ** share if is_wide else low + (high - low) * share
            return f"{value:,.{field.decimals}f}{field.unit}"
        case "choice":
            return rng.choice(field.options)
        case "person":
            return invent_person(rng)
        case "place":
            return rng.choice(places)
        case _:
            return rng.choice(FIRMS).format(rng.choice(FAMILY))


# ---- domains ----


@cache
def _domains() -> dict[str, tuple[str, str]]:
    """Category and domain by word."""
    text = Path(__file__).with_name("domains.yaml").read_text(encoding="utf-8")
    return {
        words_of(word).strip(): (category, domain)
        for category, domains in yaml.safe_load(text).items()
        for domain, words in domains.items()
        for word in words
    }


def domain_of(title: str, columns: Sequence[str]) -> tuple[str, str]:
    """Category and domain; :data:`UNKNOWN` where no domain's words are the most frequent."""
    counts = Counter[tuple[str, str]]()
    for text, weight in ((title, 2), *((name, 1) for name in columns)):
        words = words_of(text).split()
        terms = {*words, *map(" ".join, pairwise(words))}
        found = {known for term in terms for known in (term, term.removesuffix("s"))}
        for place in {word: _domains()[word] for word in found & _domains().keys()}.values():
            counts[place] += weight
    best = counts.most_common(2)
    is_clear = best and best[0][1] > best[-1][1] * (len(best) - 1)
    return best[0][0] if is_clear else (UNKNOWN, UNKNOWN)
