"""Where source tables come from: CSV and JSONL files, a ``datasets`` name, the topic pool.

A source lists the places of its tables without reading them all into memory; a place is read
when it is needed. What holds no table raises, with the reason, and is the caller's to count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tablemend.config import HUB
from tablemend.datasets.tablehallu.domains import domain_of
from tablemend.datasets.tablehallu.settings import POOL, Synthesis
from tablemend.datasets.tablehallu.topics import make_table
from tablemend.errors import TablemendError, install
from tablemend.tables.csvtable import read_csv
from tablemend.tables.limits import SURROGATES, refuse_characters
from tablemend.tables.table import Cell, Table, TableError

HEADER_FIELDS = ("header", "headers", "columns", "column_names", "table_column_names")
BODY_FIELDS = ("rows", "data", "contents", "table_content_values", "cells")
TABLE_FIELDS = ("table", "table_array", "gt_table", "data", "gold_table")
TITLE_FIELDS = ("title", "table_page_title", "caption", "table_caption", "name")
_REFUSED = re.compile(f"[{SURROGATES}]")  # JSON may spell them, but UTF-8 has none
Finder = Callable[[Any], Table]
Reader = Callable[[str], Table]


class Place(NamedTuple):
    """Where a table is.

    Attributes:
        where: for a person: ``file.jsonl:12``, relative to the source.
        file: number of the file.
        offset: in bytes, where a line of it begins; row number of a data set.
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
    settings: Synthesis, find: Finder | None = None, texts: Mapping[str, Reader] | None = None
) -> Source:
    """The source that the settings name.

    Args:
        settings: where the tables are.
        find: what takes the table out of a JSON record; :func:`find_table` by default.
        texts: what reads files with other endings.

    Raises:
        TablemendError: no such file or folder, or nothing readable in it.
    """
    name, find, readers = settings.source, find or find_table, {".csv": read_csv, **(texts or {})}
    if name == POOL:
        return PoolSource(settings.seed)
    if name.startswith(HUB):
        return DatasetSource(settings, find)
    path = Path(name)
    endings = (*readers, ".jsonl")
    known = f"{', '.join(endings[:-1])} or {endings[-1]}"
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix.lower() in endings)
        if not files:
            raise TablemendError(f"source={name}: the folder holds no {known} file")
        return FileSource(path, files, path.resolve().name, find, readers)
    if not path.exists():
        raise TablemendError(
            f"source={name}: no such file or folder; `pool` and `small-world` are built in, "
            f"and a name on the Hub is written {HUB}NAME"
        )
    if path.suffix.lower() not in endings:
        raise TablemendError(f"source={name}: expected a {known} file, or a folder of them")
    return FileSource(path.parent, [path], path.stem, find, readers)


class FileSource:
    """Files with one table each, and JSONL files with one table a line.

    Args:
        root: what places are named from.
        files: in their order.
        name: of the source.
        find: takes the table out of a JSON record.
        readers: of the other files, by ending.
    """

    def __init__(
        self,
        root: Path,
        files: Sequence[Path],
        name: str,
        find: Finder,
        readers: Mapping[str, Reader],
    ) -> None:
        self._root, self._files, self._name = root, files, _readable(name)
        self._find, self._readers = find, readers

    def places(self) -> Iterator[Place]:
        """One place a file, one a line of JSON; blank lines are passed over.

        What cannot be read is one place too: reading it says why.
        """
        for number, path in enumerate(self._files):
            name = _readable(path.relative_to(self._root).as_posix())
            if path.suffix.lower() != ".jsonl" or not _is_file(path):
                yield Place(name, number, 0)
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
        try:
            with path.open("rb") as file:
                file.seek(place.offset)
                data = file.readline() if place.is_line else file.read()
        except OSError as error:
            raise TableError(f"not readable: {error.strerror or error}") from error
        if reader := self._readers.get(path.suffix.lower()):
            table = reader(_decode(data))
            title = table.title or _readable(path.stem.replace("_", " "))
        else:
            table = self._find(_parse(data))
            title = table.title
        return real_table(table, title, self._name, place.where)


class DatasetSource:
    """A data set of the ``datasets`` library, one table a row.

    Args:
        settings: its name, split, configuration and revision.
        find: takes the table out of a row.
    """

    def __init__(self, settings: Synthesis, find: Finder) -> None:
        try:
            from datasets import load_dataset
            from datasets.exceptions import DatasetsError
        except ImportError as error:
            raise TablemendError(f"a `hub:` source needs the extra: {install('data')}") from error
        name, split = settings.source.removeprefix(HUB), settings.dataset_split
        try:
            self._rows = load_dataset(
                name, settings.dataset_config, split=split, revision=settings.dataset_revision
            )
        except (OSError, ValueError, DatasetsError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise TablemendError(f"source={HUB}{name}, split {split}: {reason}") from error
        self._name, self._find = name, find

    def places(self) -> Iterator[Place]:
        """One place a row, counted from 1."""
        return (Place(f"{self._name}:{row + 1}", 0, row) for row in range(len(self._rows)))

    def read(self, place: Place) -> SourceTable:
        """The table of a row."""
        table = self._find(self._rows[place.offset])
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
        table, topic, category, domain = make_table(self._seed, place.offset)
        return SourceTable(table, topic, category, domain, topic, place.where, key=0)


def pool_place(number: int) -> Place:
    """The place of a table of the pool."""
    return Place(f"{POOL}:{number}", 0, number)


def real_table(table: Table, title: str, name: str, where: str) -> SourceTable:
    """A real table with what its title and header say of it.

    Args:
        table: as read.
        title: of the table; may be empty.
        name: of the source, the topic of a table without a title.
        where: its place.

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
        return json.loads(_decode(line))
    except ValueError as error:
        raise TableError("not a line of JSON") from error
    except RecursionError as error:
        raise TableError("nested too deeply") from error


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError("not UTF-8 text") from error


def find_table(record: Any) -> Table:
    """The table in a JSON record, whatever its fields are called.

    Understood are a header beside a body, a list of rows whose first is the header, a list of
    objects, and any of these inside a field such as ``table``.

    Raises:
        TableError: no table, or one whose rows and header do not fit together.
    """
    table = _find(record, depth=0)
    if table is None:
        raise TableError("no table in the record")
    title = next((t for name in TITLE_FIELDS if (t := _text_field(record, name))), "")
    return Table(table.columns, table.rows, title)


def _text_field(record: Any, name: str) -> str:
    value = record.get(name) if isinstance(record, dict) else None
    return value if isinstance(value, str) else ""


def _find(value: Any, depth: int) -> Table | None:
    if depth > 3:
        return None
    if isinstance(value, list):
        return _from_list(value)
    if not isinstance(value, dict):
        return None
    header = next((value[name] for name in HEADER_FIELDS if _is_header(value.get(name))), None)
    body = next((value[name] for name in BODY_FIELDS if _is_body(value.get(name))), None)
    if header is not None and body is not None:
        return _build(header, body)
    for name in TABLE_FIELDS:
        if name in value and (found := _find(value[name], depth + 1)) is not None:
            return found
    return None


def _is_header(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)


def _is_body(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, list) for v in value)


def _from_list(value: list[Any]) -> Table | None:
    if _is_body(value):
        header, body = _promote_header([[_cell(cell) for cell in row] for row in value])
        return _build([cell or "" for cell in header], body)
    if value and all(isinstance(row, dict) for row in value):
        names = list(dict.fromkeys(str(name) for row in value for name in row))
        return _build(names, [[row.get(name) for name in names] for row in value])
    return None


def _promote_header(rows: list[list[Cell]]) -> tuple[list[Cell], list[list[Cell]]]:
    """Financial tables put a spanning line ("Years ended") above the real header: drop it.

    Only where that is beyond doubt: the line above has gaps beside the first cell, the line
    below has none there, and no first cell of its own.
    """
    while len(rows) > 2 and not all(rows[0][1:]):
        below = rows[1]
        if below[:1] not in ([None], [""]) or not all(below[1:]):
            break
        rows = rows[1:]
    return rows[0], rows[1:]


def _build(header: list[str], body: list[list[Any]]) -> Table:
    width = len(header)
    for number, row in enumerate(body, 1):
        if len(row) != width:
            raise TableError(f"ragged: row {number} has {len(row)} cells, the header has {width}")
    return Table.of(header, ([_cell(cell) for cell in row] for row in body))


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:.15g}" if isinstance(value, float) else str(value)
    raise TableError("a cell that is neither text nor number")
