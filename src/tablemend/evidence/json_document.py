"""A nested JSON document as tables: lists of objects are tables, lone values a list of attributes.

What is left out: identifiers (``id``, ``team_id``), links, epoch time stamps and empty values. They
tell nothing that a text would say, and their digits would stand for other numbers. All other values
stand in a table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tablemend.tables.table import Cell, Table, TableError, refuse_size

MAX_DEPTH = 40
MAX_JOINED = 2_000
"""Characters of a list of values that stand in one cell; a longer list is a table of its own."""

Path = tuple[str, ...]
Record = dict[Path, Cell]

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
    units = _units(data)
    if units:
        data = {key: value for key, value in data.items() if key != "units"}
    reader = _Reader(units)
    if isinstance(data, list) and not any(isinstance(item, Mapping | list) for item in data):
        data = {"value": data}
    if isinstance(data, Mapping):
        title = title or _name_of(data)
        reader.read_object({"": data} if _same_shape(data) else data)
    elif isinstance(data, list):
        reader.read_list(data, (), {})
    else:
        raise TableError("the JSON document holds a single value")
    tables = reader.finish(title)
    if not tables:
        raise TableError("the JSON document holds no value")
    return tables


class _Reader:
    """Tables under construction."""

    def __init__(self, units: Mapping[str, str]) -> None:
        self.units = units
        self.lone: Record = {}
        self.lists: dict[Path, list[Record]] = {}

    def read_object(self, item: Mapping[str, Any]) -> None:
        """Put an object's values to the lone ones, and its lists to their tables."""
        inner: list[tuple[Path, list[Any]]] = []
        _flatten(item, (), self.lone, inner, None)
        for place, value in inner:
            self.read_list(value, place, {})

    def read_list(self, items: Sequence[Any], path: Path, parent: Record) -> None:
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
            inner: list[tuple[Path, list[Any]]] = []
            _flatten(item, (), record, inner, several)
            records.append(record)
            # Rows of a list inside begin with what names this row, else with its number.
            names = {(*path[-1:], *place): cell for place, cell in _naming(record).items()}
            for place, value in inner:
                self.read_list(
                    value, (*path, *place), names or {(*path[-1:], "number"): str(number)}
                )

    def finish(self, title: str) -> tuple[Table, ...]:
        tables = []
        lone, sides = _split_sides(self.lone)
        if lone:
            rows = [(self._header(path), cell) for path, cell in lone.items()]
            tables.append(Table.of(("attribute", "value"), rows, title))
        if sides:
            tables.append(self._table(sides, title))
        for path, records in self.lists.items():
            # Rows that only lead to the lists inside them say nothing more.
            leads = any(other[: len(path)] == path for other in self.lists if other != path)
            own = [record for record in records if len(record) > (1 if leads else 0)]
            if own:
                heading = _spell(path)
                tables.append(self._table(own, ": ".join(filter(None, (title, heading)))))
        return tuple(tables)

    def _table(self, records: Sequence[Record], title: str) -> Table:
        paths = list(dict.fromkeys(path for record in records for path in record))
        refuse_size(len(records), len(paths))
        columns = [self._header(path) for path in paths]
        return Table.of(
            columns, [[record.get(path) for path in paths] for record in records], title
        )

    def _header(self, path: Path) -> str:
        """A path in words, with the unit that the document states for one of its keys."""
        name = _spell(path)
        keys = [*reversed(path), *name.split()]
        unit = next((self.units[key] for key in keys if key in self.units), "")
        if path and path[-1].lower() in _ANGLES:
            unit = ""
        return f"{name} ({unit})" if unit and "(" not in name else name


def _several(items: Sequence[Any]) -> set[Path]:
    """Paths at which an item holds a list of more than one object: they stay lists in all items."""
    found: set[Path] = set()
    pending: list[tuple[Path, Any]] = [((), item) for item in items]
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
    item: Mapping[str, Any],
    path: Path,
    record: Record,
    inner: list[tuple[Path, list[Any]]],
    several: set[Path] | None,
) -> None:
    """Put the values of an object and of the objects in it into a record, by their paths.

    Lists of objects go to ``inner``. A list of one object is that object, but at the paths of
    ``several``; of a document (``None``) it stays a list, and objects of one shape become one.
    """
    _refuse_depth(path)
    for key, value in item.items():
        place = (*path, key)
        if several is None and isinstance(value, Mapping) and (rows := _same_shape(value)):
            value = [{"": _spell((name,)), **row} for name, row in rows.items()]
        elif several is not None and isinstance(value, list) and len(value) == 1:
            value = value if place in several else value[0]
        if isinstance(value, Mapping):
            _flatten(value, place, record, inner, several)
        elif isinstance(value, list) and not _is_plain(value):
            inner.append((place, value))
        else:
            record.update(_cells(key, place, value))


def _cells(key: str, path: Path, value: Any) -> Record:
    """The cells of one value: none for an empty one, two for a date with a time."""
    if isinstance(value, list):
        joined = "; ".join(cell for item in value if (cell := _spell_value(item)))
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
    return " ".join(str(value).split()) if isinstance(value, str) else str(value)


def _spell(path: Path) -> str:
    """A path in words: ``("homeScore", "period1")`` is "home score period 1"."""
    words = [word for key in path for word in _CAMEL.sub(" ", key).split()]
    kept = [
        word
        for place, word in enumerate(words)
        if word.lower() != words[place - 1].lower() or not place
    ]
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
    named = {p: c for p, c in record.items() if p[-1].lower() in _NAMES and len(p) <= 2}
    first = dict(list(named.items())[:2])
    if first:
        return first
    texts = {p: c for p, c in record.items() if c and re.search(r"[^\W\d_]{2}", c)}
    return dict(list(texts.items())[:1])


def _name_of(item: Mapping[str, Any]) -> str:
    """What a document calls itself: its own name, or that of its first object."""
    for key in ("name", "title"):
        if isinstance(item.get(key), str):
            return str(item[key]).strip()
    for value in item.values():
        if isinstance(value, Mapping) and isinstance(value.get("name"), str):
            return str(value["name"]).strip()
    return ""


def _units(data: Any) -> dict[str, str]:
    """What a document's own ``units`` state: ``{"temp": "°C", "wind": "m/s"}``."""
    units = data.get("units") if isinstance(data, Mapping) else None
    if not isinstance(units, Mapping):
        return {}
    stated = {key: unit for key, unit in units.items() if isinstance(unit, str)}
    return stated if len(stated) == len(units) else {}


def _refuse_depth(path: Path) -> None:
    if len(path) > MAX_DEPTH:
        raise TableError(f"the JSON document is nested deeper than {MAX_DEPTH} levels")
