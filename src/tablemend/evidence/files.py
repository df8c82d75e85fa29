"""Sources from files and texts: tables of all formats, JSON documents, attribute lists, prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

from tablemend.errors import TablemendError
from tablemend.evidence.labels import caption_unit
from tablemend.evidence.source import Source
from tablemend.foreign import load_json
from tablemend.tables.csvtable import XLSX, read_xlsx
from tablemend.tables.jsontable import read_json
from tablemend.tables.read import (
    LOCATORS,
    READERS,
    SUFFIXES,
    Format,
    detect_format,
    load_text,
    read_table,
)
from tablemend.tables.table import Cell, EmptyTableError, Table, TableError, refuse_size
from tablemend.values.units import PLAIN

PROSE = (".txt", ".text", ".rst")
MAX_TABLES = 200
"""Tables of one file; a file with more is refused, not cut."""

_COMMENT = re.compile(r"#+\s*(?P<key>[\w ]{1,40}?)\s*[:=]\s*(?P<value>.*)")
_ATTRIBUTE = re.compile(r"\s*[-*\u2022]\s+(?P<name>[^:\n]{1,80}):\s+(?P<value>\S.*)")
_TAG = re.compile(r"<[^>]*>")
_LINES_ABOVE = 3
_STATED = re.compile(
    r"\([^()]{1,120}\)|^\W*(?:all |the )?(?:(?:dollar )?amounts|figures|values|numbers|dollars|in"
    r"|usd|us\$|eur|[$€£]).{1,100}",
    re.IGNORECASE,
)
_RULE = re.compile(r"\s*[-=*_]{3,}\s*")


def load_source(path: str | Path) -> Source:
    """What a file holds to verify against.

    CSV and TSV (comment lines ``# unit: people`` above the header are read), JSON tables and any
    other JSON document, JSON lines, all tables of a Markdown, LaTeX or HTML file with the prose
    around them, the sheets of a workbook, lists of ``- attribute: value``; ``.txt`` without a table
    is prose.

    Raises:
        TableError: starts with the path: no file, empty, binary, or no table where one should be.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == XLSX:
        return Source(tuple(read_xlsx(path)))
    text = load_text(path)
    try:
        if suffix in (".jsonl", ".ndjson"):
            records = [_parse(line) for line in text.splitlines() if line.strip()]
            return Source(document_tables(records))
        return read_source(text, SUFFIXES.get(suffix), prose=suffix in PROSE)
    except TableError as error:
        raise TableError(f"{path}: {error}") from error


def read_source(text: str, format: Format | None = None, *, prose: bool = False) -> Source:
    """What a text holds to verify against; :func:`load_source` of a file's content.

    Args:
        text: tables in any format, a JSON document, an attribute list, or prose.
        format: the tables' format; by the content where it is ``None``.
        prose: whether a text without any table is a context; else it is refused, as a table that
            cannot be read is.

    Raises:
        TableError: what hinders, in one line.
    """
    if not text.strip():
        raise TableError("the text is empty")
    if format is None and (listed := _read_attributes(text)) is not None:
        return Source((listed,))
    found = format or detect_format(text)
    if found == "json":
        return Source(_read_json(text))
    if found in LOCATORS:
        return _read_mixed(text, found, prose=prose or format == "markdown")
    return Source(text=text) if prose else Source((_read_csv(text),))


def given_source(value: object) -> Source:
    """The source that a record of a file has: a table as text, or as JSON; never a file's name.

    Raises:
        TablemendError: it is none that can be read.
    """
    try:
        if isinstance(value, list | dict):
            return read_source(json.dumps(value, ensure_ascii=False), "json")
        if not isinstance(value, str):
            raise TableError("wanted a table, as text or as JSON")
        found = read_source(value)
        if len(value.strip().splitlines()) == 1 and not any(t.rows for t in found.tables):
            raise TableError("one line is no table: text to go by is given as context")
    except TableError as error:
        raise TablemendError(f"the source cannot be read ({error})") from error
    return found


def given_gold(value: object) -> Table:
    """The gold table of such a record, as text or as JSON.

    Raises:
        TablemendError: it is none that can be read.
    """
    try:
        return read_table(value) if isinstance(value, str) else read_json(json.dumps(value))
    except TableError as error:
        raise TablemendError(f"the gold table cannot be read ({error})") from error


def _read_mixed(text: str, format: Format, *, prose: bool) -> Source:
    """All tables of one format, and the prose around them."""
    spans = LOCATORS[format](text)
    if len(spans) > MAX_TABLES:
        raise TableError(f"{len(spans)} tables; the limit is {MAX_TABLES}")
    if not spans:
        if prose:
            return Source(text=text)
        READERS[format](text)  # says why there is none
    tables, rest, position = [], [], 0
    for start, end in spans:
        tables.append(_with_scale(READERS[format](text[start:end]), text[position:start]))
        rest.append(text[position:start])
        position = end
    rest.append(text[position:])
    # Markup around HTML and LaTeX tables is no prose.
    around = "".join(rest).strip() if format == "markdown" else ""
    return Source(tuple(tables), around)


def _with_scale(table: Table, above: str) -> Table:
    """A table with what the lines above it state of its cells ("(In thousands)") in its title."""
    lines = [line for line in _TAG.sub("\n", above).splitlines() if line.strip()]
    for line in map(unescape, reversed(lines[-_LINES_ABOVE:])):
        stated = " ".join(match[0] for match in _STATED.finditer(" ".join(line.split())))
        if caption_unit(stated) != PLAIN:
            title = table.title if caption_unit(table.title) != PLAIN else f"{table.title} {stated}"
            return replace(table, title=title.strip())
    return table


def _read_json(text: str) -> tuple[Table, ...]:
    data = _parse(text)
    try:
        return (read_json(text, loose=isinstance(data, list)),)
    except EmptyTableError:
        raise
    except TableError:
        rows = data if isinstance(data, list) else []
        if rows and all(isinstance(row, list) for row in rows) and len({*map(len, rows)}) > 1:
            raise  # a row lacks cells, or has too many
        return document_tables(data)


def _parse(text: str) -> Any:
    """JSON with numbers as they are written."""
    try:
        return load_json(text.removeprefix("\ufeff"), parse_float=str, parse_int=str)
    except ValueError as error:
        raise TableError(f"the JSON cannot be read: {error}") from error


def _read_csv(text: str) -> Table:
    """A CSV table; ``# key: value`` lines above it give its title and the unit of its values."""
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    stated: dict[str, str] = {}
    first = 0
    while first < len(lines) and (not lines[first].strip() or lines[first].startswith("#")):
        if match := _COMMENT.match(lines[first]):
            stated[match["key"].lower()] = match["value"].strip()
        first += 1
    if not stated:
        return READERS["csv"](text)
    table = READERS["csv"]("".join(lines[first:]))
    unit = stated.pop("unit", "") or stated.pop("units", "")
    title = stated.pop("title", "")
    about = [f"{key}: {value}" for key, value in stated.items() if value]
    columns = list(table.columns)
    generic = [place for place, name in enumerate(columns) if name.strip().lower() == "value"]
    for place in generic:
        # "value" names nothing; the title does, and the unit says what it counts.
        columns[place] = f"{title or 'value'} ({unit})" if unit else title or "value"
    if unit and not generic:
        about.append(f"unit: {unit}")
    return Table.of(columns, table.rows, ". ".join(filter(None, (title, *about))))


def _read_attributes(text: str) -> Table | None:
    """A list of ``- attribute: value`` lines below a title (WikiData as Quintd prints it)."""
    rows: list[tuple[str, str]] = []
    title = ""
    for line in text.splitlines():
        if not line.strip() or _RULE.fullmatch(line):
            continue
        if match := _ATTRIBUTE.fullmatch(line):
            rows.append((match["name"].strip(), match["value"].strip()))
        elif not rows and not title:
            title = line.strip("# \t")
        else:
            return None
    return Table.of(("attribute", "value"), rows, title) if rows else None


MAX_DEPTH = 40
MAX_JOINED = 2_000
"""Characters of a list of values that stand in one cell; a longer list is a table of its own."""

Keys = tuple[str, ...]
Record = dict[Keys, Cell]

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_|(?<=[a-z]{3})(?=\d)")
_IDENTIFIER = re.compile(r"(?:.*[_\s]|)(?:u?u?id|timestamp)|[a-z]+(?:ID|Id|Timestamp)")
_LINK = re.compile(r"(?:https?:)?//\S+")
_DATE_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"
)
_EPOCH = re.compile(r"1\d{9}(?:\d{3})?")
# Two parties whose values stand apart in sports feeds: {"goals": {"home": 3, "away": 1}}.
_SIDES = (("home", "away"), ("home", "visitor"), ("host", "guest"), ("local", "visitor"))
_ANGLES = ("deg", "degree", "degrees", "direction")
_NAMES = ("name", "title", "label", "city", "country", "team", "player", "category", "date")


def document_tables(data: Any, title: str = "") -> tuple[Table, ...]:
    """Take a JSON document apart into tables.

    Identifiers (``id``, ``team_id``), links, epoch time stamps and empty values are left out: they
    tell nothing that a text would say, and their digits would stand for other numbers.

    - A list of objects is a table; values of nested objects are columns named by their path
      (``main temp``). A list of objects within them is a table of its own, whose rows begin with
      the names of the object that they belong to; a list with at most one object a row stays in
      its row.
    - Objects of one shape under one object, and the values of two sides ("home", "away"), are
      the rows of a table.
    - What is left is a table of attributes and values.

    Args:
        data: what ``json.loads`` gives; numbers may be texts.
        title: what the document is about; its own name otherwise.

    Raises:
        TableError: nested deeper than :data:`MAX_DEPTH`, or nothing in it.
    """
    # what the document's own units state: {"temp": "°C", "wind": "m/s"}
    units = data.get("units") if isinstance(data, Mapping) else None
    if isinstance(units, Mapping) and units and all(isinstance(u, str) for u in units.values()):
        data = {key: value for key, value in data.items() if key != "units"}
    else:
        units = {}
    reader = _Reader(units)
    if isinstance(data, list) and not any(isinstance(item, Mapping | list) for item in data):
        data = {"value": data}
    if isinstance(data, Mapping):
        inner = [one.get("name") for one in data.values() if isinstance(one, Mapping)]
        names = [data.get("name"), data.get("title"), *inner]  # its own, or its first object's
        title = title or next((one.strip() for one in names if isinstance(one, str)), "")
        reader.read_object({"": data} if _same_shape(data) else data)
    elif isinstance(data, list):
        reader.read_list(data, (), {})
    else:
        raise TableError("the JSON document holds a single value")
    tables = tuple(reader.finish(title))
    if not tables:
        raise TableError("the JSON document holds no value")
    return tables


class _Reader:
    """Tables under construction: the lone values of a document, and its lists by their paths."""

    def __init__(self, units: Mapping[str, str]) -> None:
        self.units = units
        self.lone: Record = {}
        self.lists: dict[Keys, list[Record]] = {}

    def read_object(self, item: Mapping[str, Any]) -> None:
        """Put an object's values to the lone ones, and its lists to their tables."""
        for place, value in _flatten(item, (), self.lone, None):
            self.read_list(value, place, {})

    def read_list(self, items: Sequence[Any], path: Keys, parent: Record) -> None:
        """Add one record an item to the table of this path."""
        _refuse_depth(path)
        records = self.lists.setdefault(path, [])
        several = _several(items)
        for number, item in enumerate(items, 1):
            if isinstance(item, list):
                item = {str(place): value for place, value in enumerate(item, 1)}
            elif not isinstance(item, Mapping):
                item = {"value": item}
            record: Record = dict(parent)
            inner = list(_flatten(item, (), record, several))
            records.append(record)
            # Rows of a list inside begin with what names this row, else with its number.
            names = {(*path[-1:], *place): cell for place, cell in _naming(record).items()}
            names = names or {(*path[-1:], "number"): str(number)}
            for place, value in inner:
                self.read_list(value, (*path, *place), names)

    def finish(self, title: str) -> Iterator[Table]:
        lone, sides = _split_sides(self.lone)
        if lone:
            rows = [(self._header(path), cell) for path, cell in lone.items()]
            yield Table.of(("attribute", "value"), rows, title)
        if sides:
            yield self._table(sides, title)
        for path, records in self.lists.items():
            # Rows that only lead to the lists inside them say nothing more.
            leads = any(other[: len(path)] == path for other in self.lists if other != path)
            own = [record for record in records if len(record) > (1 if leads else 0)]
            if own:
                yield self._table(own, ": ".join(filter(None, (title, _spell(path)))))

    def _table(self, records: Sequence[Record], title: str) -> Table:
        paths = list(dict.fromkeys(path for record in records for path in record))
        refuse_size(len(records), len(paths))
        rows = [[record.get(path) for path in paths] for record in records]
        return Table.of(list(map(self._header, paths)), rows, title)

    def _header(self, path: Keys) -> str:
        """A path in words, with the unit that the document states for one of its keys."""
        name = _spell(path)
        if path and path[-1].lower() in _ANGLES:
            return name
        keys = [*reversed(path), *name.split()]
        unit = next((self.units[key] for key in keys if key in self.units), "")
        return f"{name} ({unit})" if unit and "(" not in name else name


def _several(items: Sequence[Any]) -> set[Keys]:
    """Paths at which an item holds a list of more than one object: they stay lists in all items."""
    found: set[Keys] = set()
    pending: list[tuple[Keys, Any]] = [((), item) for item in items]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Mapping) and len(path) <= MAX_DEPTH:
            pending += [((*path, key), inner) for key, inner in value.items()]
        elif isinstance(value, list) and path and not _is_plain(value):
            if len(value) == 1:
                pending.append((path, value[0]))
            else:
                found.add(path)
    return found


def _flatten(
    item: Mapping[str, Any], path: Keys, record: Record, several: set[Keys] | None
) -> Iterator[tuple[Keys, list[Any]]]:
    """Put the values of an object and of the objects in it into a record, by their paths.

    Yields lists of objects. A list of one object is that object, but at the paths of ``several``;
    of a document (``None``) it stays a list, and objects of one shape become one.
    """
    _refuse_depth(path)
    for key, value in item.items():
        place = (*path, key)
        if several is None and isinstance(value, Mapping) and (rows := _same_shape(value)):
            value = [{"": _spell((name,)), **row} for name, row in rows.items()]
        elif several is not None and isinstance(value, list) and len(value) == 1:
            value = value if place in several else value[0]
        if isinstance(value, Mapping):
            yield from _flatten(value, place, record, several)
        elif isinstance(value, list) and not _is_plain(value):
            yield place, value
        else:
            record.update(_cells(key, place, value))


def _cells(key: str, path: Keys, value: Any) -> Record:
    """The cells of one value: none for an empty one, two for a date with a time."""
    if isinstance(value, list):
        joined = "; ".join(filter(None, map(_spell_value, value)))
        return {path: joined} if joined else {}
    cell = _spell_value(value)
    if not cell or _IDENTIFIER.fullmatch(key) or _LINK.fullmatch(cell) or _EPOCH.fullmatch(cell):
        return {}
    if moment := _DATE_TIME.fullmatch(cell):
        return {path: moment[1], (*path[:-1], f"{path[-1]} time"): moment[2]}
    return {path: cell}


def _spell_value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(value.split()) if isinstance(value, str) else str(value)


def _spell(path: Keys) -> str:
    """A path in words: ``("homeScore", "period1")`` is "home score period 1"."""
    words = [word for key in path for word in _CAMEL.sub(" ", key).split()]
    kept = [word for before, word in pairwise(["", *words]) if word.lower() != before.lower()]
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in kept)


def _is_plain(values: Sequence[Any]) -> bool:
    """Whether a list holds short lone values only, which one cell can hold."""
    plain = not any(isinstance(value, Mapping | list) for value in values)
    return plain and sum(len(str(value)) for value in values) <= MAX_JOINED


def _same_shape(item: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The objects of an object whose values are all objects with the same keys."""
    rows = {key: value for key, value in item.items() if isinstance(value, Mapping) and value}
    if len(rows) < 2 or len(rows) < len(item) or any(set(pair) == set(rows) for pair in _SIDES):
        return {}
    if any(set(pair) == set(row) for pair in _SIDES for row in rows.values()):
        return {}
    shared = set.intersection(*(set(row) for row in rows.values()))
    largest = max(len(row) for row in rows.values())
    return rows if shared and 2 * len(shared) >= largest else {}


def _split_sides(lone: Record) -> tuple[Record, list[Record]]:
    """Lone values without those of two sides, and the sides as rows: home and away."""
    for pair in _SIDES:
        found: dict[str, Record] = {side: {} for side in pair}
        taken = set()
        for path, cell in lone.items():
            for place, key in enumerate(path):
                side = next((s for s in pair if re.match(rf"{s}(?![a-z])", key)), None)
                if side is not None:
                    rest = key[len(side) :].lstrip("_- ")
                    column = (*path[:place], *([rest] if rest else []), *path[place + 1 :])
                    found[side][column or ("value",)] = cell
                    taken.add(path)
                    break
        one, other = found.values()
        if one and other and set(one) & set(other):
            rows = []
            for side, record in found.items():
                names = [path for path in record if path[-1].lower() == "name"]
                ordered = {path: record[path] for path in names}
                rows.append({**ordered, ("side",): side, **record})
            return {path: cell for path, cell in lone.items() if path not in taken}, rows
    return lone, []


def _naming(record: Record) -> Record:
    """The cells of a record that name it: a name, a title; else its first text."""
    named = [(p, c) for p, c in record.items() if p[-1].lower() in _NAMES and len(p) <= 2]
    texts = [(p, c) for p, c in record.items() if c and re.search(r"[^\W\d_]{2}", c)]
    return dict(named[:2] or texts[:1])


def _refuse_depth(path: Keys) -> None:
    if len(path) > MAX_DEPTH:
        raise TableError(f"the JSON document is nested deeper than {MAX_DEPTH} levels")
