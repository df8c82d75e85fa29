"""JSON tables: find, read, write; records of data sets (ToTTo's too) and Python's objects."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, time
from html import escape
from itertools import chain
from typing import Any

from tablemend.tables.html import join_signs, read_filing, read_html
from tablemend.tables.table import (
    SURROGATES,
    Cell,
    EmptyTableError,
    Table,
    TableError,
    refuse_characters,
    refuse_size,
)

MAX_STARTS = 1000
"""How many brackets that do not open valid JSON are tried in one text."""
MAX_WRAPPING = 2
"""Objects around a table in an answer, each with no other table in it."""

_START = re.compile(r"[{\[](?=\s*+[\"{\[\]}])")
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*+[}\]])', re.DOTALL)
_END_OF_LIST = re.compile(r",?\s*+[}\]]")
_BETWEEN = re.compile(r"[\s,]*+")
_LETTER = re.compile(r"[^\W\d_]")
_HEADERS = ("columns", "headers", "header", "column_names")
_BODIES = ("rows", "data", "records", "values")
_decoder = json.JSONDecoder(parse_float=str, parse_int=str)
_REFUSED = re.compile(f"[{SURROGATES}]")


def locate_json(text: str) -> list[tuple[int, int]]:
    """Spans of the JSON objects and arrays in ``text``, and of broken ones up to the error.

    Records one behind another (JSON lines) have one span, the broken one among them too.
    """
    spans: list[tuple[int, int]] = []
    position = failures = 0
    keys: set[str] = set()  # of the last span's records
    tidied = broken = False
    while failures < MAX_STARTS and (match := _START.search(text, position)):
        start = match.start()
        value: Any = None
        try:
            value, end = _decoder.raw_decode(text, start)
            position = end
        except json.JSONDecodeError as error:
            if not tidied and _END_OF_LIST.match(text, error.pos):
                tidied = True
                text = text[:start] + _drop_trailing_commas(text[start:])
                continue
            failures += 1
            # With the character at fault, so that the reader meets the same error.
            end = min(error.pos + 1, len(text))
            position = max(error.pos, start + 1)
        except RecursionError:
            # Where the nesting ends is not known, and no table is nested so deeply.
            return [*spans, (start, start + 1)]
        is_flat = isinstance(value, dict) and not any(
            isinstance(one, dict | list) for one in value.values()
        )
        own = set(value) if is_flat else set()
        follows = spans and _BETWEEN.fullmatch(text, min(spans[-1][1], start), start)
        if follows and (own & keys or (own if broken else keys and value is None)):
            spans[-1] = (spans[-1][0], end)
            broken = broken or value is None
        else:
            spans.append((start, end))
            broken = value is None
        keys = own
    return spans


def read_json(text: str, *, loose: bool = False) -> Table:
    """Read a table from a JSON document.

    Shapes: ``{name: [record, ...]}`` (the name is the title; several lists of the same columns
    are one table, without a title), a bare list of records,
    ``{"columns": [...], "rows": [[...], ...]}`` (or ``"data"``) with an optional ``"title"``,
    which is also the shape of :meth:`Table.to_json`. Records may differ in their keys: the
    columns are the union in order of first appearance, what is missing is empty. Numbers keep
    their spelling (1.50 stays 1.50), booleans become ``true`` and ``false``.

    ``loose`` reads what models answer with besides: commas before a closing bracket, JSON lines,
    a list of rows whose first is the header, lists by column, ``headers`` for ``columns``, and any
    of these within an object or two that hold no other table.

    Raises:
        EmptyTableError: the right shape with nothing in it (``[]``, ``{"t": []}``): no record, so
            no column is known.
        TableError: no valid JSON, another shape, a nested value, or a key twice in a record.
    """
    if not text.strip():
        raise TableError("the JSON text is empty")
    value = _parse(text, loose)
    try:
        table = _read_shape(value)
    except EmptyTableError:
        raise
    except TableError:
        if not loose or (inner := _unwrap(value, MAX_WRAPPING)) is value:
            raise
        table = _read_shape(inner)
    refuse_characters(table, _REFUSED, "a text file", title=True)
    return table


def write_json(table: Table) -> str:
    """Write one record a line: ``{title: [...]}``, or a bare list where there is no title.

    A table that records cannot carry (no row, or a column name twice) is written as
    ``{"title": ..., "columns": [...], "rows": [[...], ...]}``. :func:`read_json` reads all three.

    Raises:
        TableError: a cell holds a lone surrogate.
    """
    refuse_characters(table, _REFUSED, "JSON", title=True)
    if not table.rows or table.duplicate_columns():
        return json.dumps(table.to_json(), ensure_ascii=False)
    records = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    lines = ",\n".join("  " + json.dumps(record, ensure_ascii=False) for record in records)
    if not table.title:
        return f"[\n{lines}\n]"
    return f"{{{json.dumps(table.title, ensure_ascii=False)}: [\n{lines}\n]}}"


def _drop_trailing_commas(text: str) -> str:
    return _TRAILING_COMMA.sub(lambda match: match[1] or " ", text)


def _parse(text: str, loose: bool) -> Any:
    text = text.removeprefix("\ufeff")
    decoder = json.JSONDecoder(
        parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_read_object
    )
    values: list[Any] = []
    position = 0
    try:
        if not loose:
            return decoder.decode(text)
        text = _drop_trailing_commas(text.strip())
        while position < len(text):
            value, position = decoder.raw_decode(text, position)
            values.append(value)
            position = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]
        return values if len(values) > 1 else values[0]
    except json.JSONDecodeError as error:
        if not text[error.pos :].strip() or error.msg.startswith("Unterminated"):
            raise TableError(f"the JSON is cut off at line {error.lineno}") from error
        raise TableError(
            f"invalid JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from error
    except RecursionError as error:
        raise TableError("the JSON is nested too deeply for a table") from error


def _read_shape(value: Any) -> Table:
    if isinstance(value, list):
        return _read_records(value, "")
    if not isinstance(value, dict):
        raise TableError("the JSON holds a single value, not a table")
    for body in ("rows", "data"):
        if "columns" in value and body in value:
            return _read_split(value, body)
    if len(value) > 1 and all(isinstance(one, list) and one for one in value.values()):
        tables = [_read_records(one, "") for one in value.values()]
        if len({table.columns for table in tables}) == 1:
            return Table(tables[0].columns, tuple(row for table in tables for row in table.rows))
    if len(value) != 1:
        raise TableError(
            f"the JSON object has {len(value)} keys; expected one, the table's name, "
            "with a list of records"
        )
    ((title, records),) = value.items()
    if not isinstance(records, list):
        raise TableError(f"the JSON value of {title!r} is not a list of records")
    return _read_records(records, title)


def _unwrap(value: Any, levels: int) -> Any:
    """A shape of answers as one that :func:`_read_shape` knows; else the value itself."""
    if isinstance(value, list):
        rows = len(value) > 1 and all(isinstance(row, list) for row in value)
        named = rows and any(isinstance(name, str) and _LETTER.search(name) for name in value[0])
        if len(value) == 1 and levels and value[0] and isinstance(value[0], dict | list):
            return _unwrap(value[0], levels - 1)
        return {"columns": value[0], "rows": value[1:]} if named else value
    if not isinstance(value, dict):
        return value
    header = next((value[name] for name in _HEADERS if name in value), None)
    body = next((value[name] for name in _BODIES if name in value), None)
    if isinstance(header, list) and isinstance(body, list):
        records = bool(body) and all(isinstance(row, dict) for row in body)
        return body if records else {"columns": header, "rows": body}
    lists = [one for one in value.values() if isinstance(one, list) and one]
    plain = not any(isinstance(cell, dict | list) for one in lists for cell in one)
    if plain and len(lists) == len(value) > 1 and len(set(map(len, lists))) == 1:
        return {"columns": list(value), "rows": [list(row) for row in zip(*lists, strict=True)]}
    inner: list[Any] = [one for one in value.values() if isinstance(one, dict)]
    inner += [one for one in lists if all(isinstance(row, dict | list) for row in one)]
    inner = inner or [one for one in value.values() if one == []]
    if len(inner) != 1 or not levels:
        return value
    found = _unwrap(inner[0], levels - 1)
    return value if found is inner[0] and isinstance(found, dict) else found


def _read_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice = next(name for name, n in Counter(name for name, _ in pairs).items() if n > 1)
        raise TableError(f"the JSON key {twice!r} stands twice in one object")
    return value


def _read_records(records: Sequence[Any], title: str) -> Table:
    if not records:
        raise EmptyTableError("the JSON list is empty: no record, so no column is known")
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise TableError(f"JSON record {number} is not an object of column and value")
    columns = list(dict.fromkeys(name for record in records for name in record))
    if not columns:
        raise EmptyTableError("the JSON records are empty: no column is known")
    refuse_size(len(records), len(columns))
    rows = [
        [_read_cell(record.get(name), number, name) for name in columns]
        for number, record in enumerate(records, 1)
    ]
    return Table.of(columns, rows, title)


def _read_split(value: Mapping[str, Any], body: str) -> Table:
    columns, rows, title = value["columns"], value[body], value.get("title")
    unknown = sorted(set(value) - {"title", "columns", body})
    if unknown:
        raise TableError(f"unknown JSON key {unknown[0]!r} beside columns and {body}")
    if not isinstance(columns, list) or not isinstance(rows, list):
        raise TableError(f"JSON columns and {body} must be lists")
    if not all(isinstance(row, list) for row in rows):
        raise TableError(f"JSON {body} must be lists of cells, in the order of the columns")
    if not columns and not any(rows):
        raise EmptyTableError(f"the JSON columns and {body} are empty")
    names = [_read_cell(name, 0, f"column {i}") or "" for i, name in enumerate(columns, 1)]
    cells = [
        [_read_cell(cell, number, f"column {i}") for i, cell in enumerate(row, 1)]
        for number, row in enumerate(rows, 1)
    ]
    return Table.of(names, cells, _read_cell(title, 0, "title") or "")


def _read_cell(value: object, number: int, name: str) -> Cell:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    place = f"JSON record {number}" if number else "the JSON header"
    raise TableError(f"{place} has a nested value under {name!r}")


HEADER_FIELDS = ("header", "headers", "columns", "column_names", "table_column_names")
BODY_FIELDS = ("rows", "data", "contents", "table_content_values", "cells")
TABLE_FIELDS = ("table", "table_array", "gt_table", "data", "gold_table", "texts")
TITLE_FIELDS = ("title", "table_page_title", "caption", "table_caption", "name")
MARKUP_FIELDS = ("raw_table", "table_html", "html")


def find_table(record: Any) -> Table:
    """The table in a JSON record, whatever its fields are called.

    Understood are a header beside a body, a list of rows whose first is the header, a list of
    objects, any of these inside a field such as ``table``, ToTTo's cells with spans, and HTML or
    the ASCII of a filing as text.

    Raises:
        TableError: no table, or one whose rows and header do not fit together.
    """
    if is_totto(record):
        return read_totto(record)
    table = _find(record, depth=0)
    if table is None:
        markup = next(_texts(record, MARKUP_FIELDS), "")
        if not markup:
            raise TableError("no table in the record")
        table = read_filing(markup)
    inside = record.get("table") if isinstance(record, dict) else None
    titles = chain(_texts(record, TITLE_FIELDS), _texts(inside, TITLE_FIELDS))
    return Table(table.columns, table.rows, next(titles, ""))


def _texts(record: Any, fields: Sequence[str]) -> Iterator[str]:
    """What fields of a record say, where it is a record and they are filled texts."""
    found = (record.get(name) for name in fields) if isinstance(record, dict) else ()
    return (text for text in found if text and isinstance(text, str))


def _find(value: Any, depth: int) -> Table | None:
    if depth > 3:
        return None
    if _is_list_of(list, value):
        return _build([_text_of(cell) or "" for cell in value[0]], value[1:])
    if _is_list_of(dict, value):
        names = list(dict.fromkeys(str(name) for row in value for name in row))
        return _build(names, [[row.get(name) for name in names] for row in value])
    if not isinstance(value, dict):
        return None
    headers = (value[name] for name in HEADER_FIELDS if _is_list_of(str, value.get(name)))
    bodies = (value[name] for name in BODY_FIELDS if _is_list_of(list, value.get(name)))
    header, body = next(headers, None), next(bodies, None)
    if header is not None and body is not None:
        return _build(header, body)
    inner = (_find(value[name], depth + 1) for name in TABLE_FIELDS if name in value)
    return next((found for found in inner if found is not None), None)


def _is_list_of(kind: type, value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, kind) for v in value)


def _build(header: list[str], body: list[list[Any]]) -> Table:
    width = len(header)
    for number, row in enumerate(body, 1):
        if len(row) != width:
            raise TableError(f"ragged: row {number} has {len(row)} cells, the header has {width}")
    return Table.of(header, ([_text_of(cell) for cell in row] for row in body))


def _text_of(value: Any) -> Cell:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:.15g}" if isinstance(value, float) else str(value)
    raise TableError("a cell that is neither text nor number")


def is_totto(record: Any) -> bool:
    """Whether a record has a table of cells with spans, as ToTTo has."""
    table = record.get("table") if isinstance(record, dict) else None
    return (
        isinstance(table, list)
        and bool(table)
        and all(isinstance(row, list) for row in table)
        and any(isinstance(cell, dict) and "value" in cell for row in table for cell in row)
    )


def read_totto(record: Any) -> Table:
    """The whole table of a record (:func:`is_totto`) of the official JSONL or of the Hub's.

    Read as the HTML that it once was: a merged cell stands in every place that it spans. The
    title is page and section.

    Raises:
        TableError: its table cannot be laid out.
    """
    rows = ("".join(map(_written, row)) for row in record["table"])
    table = read_html(f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>")
    titles = (record.get("table_page_title"), record.get("table_section_title"))
    title = " - ".join(text for text in titles if isinstance(text, str) and text)
    return Table(table.columns, table.rows, title)


def _written(cell: Any) -> str:
    value = cell.get("value") if isinstance(cell, dict) else None
    if not isinstance(value, str):
        raise TableError("a cell without a text as its value")
    tag = "th" if cell.get("is_header") else "td"
    wide, high = (escape(str(cell.get(f"{way}_span", 1))) for way in ("column", "row"))
    return f'<{tag} colspan="{wide}" rowspan="{high}">{escape(value)}</{tag}>'


def is_table(given: object) -> bool:
    """Whether an object is of a kind that :func:`table_of` reads."""
    pandas = sys.modules.get("pandas")  # whoever has a DataFrame has loaded it
    if isinstance(given, list | tuple):
        return bool(given)
    return isinstance(given, Table | Mapping) or bool(
        pandas and isinstance(given, pandas.DataFrame)
    )


def table_of(given: Any) -> Table:
    """The table that an object is; what is nested in a record becomes columns (``hours.Monday``).

    Args:
        given: a list of dicts, one dict, rows below a header, lists by column, any shape of
            :func:`read_json`, or a DataFrame; its index is a column unless it counts the rows.

    Raises:
        TableError: no table, or two columns of a record with one name.
    """
    if isinstance(given, Table):
        cells = [[_cell(cell) for cell in row] for row in given.rows]
        return join_signs(Table.of(list(map(_name, given.columns)), cells, given.title))
    if hasattr(given, "iloc"):
        return join_signs(_of_frame(given))
    value = _plain(given)
    loose = not isinstance(value, dict) or all(isinstance(one, list) for one in value.values())
    try:
        return read_json(json.dumps(value), loose=loose)
    except EmptyTableError:
        raise
    except TableError:
        records = [value] if isinstance(value, dict) else value
        if not all(isinstance(record, dict) for record in records):
            raise
    pairs = [list(_flatten(record, "")) for record in records]
    flat = list(map(dict, pairs))
    if list(map(len, flat)) != list(map(len, pairs)):
        raise TableError("two values of a record have one name")
    columns = dict.fromkeys(name for record in flat for name in record)
    refuse_size(len(flat), len(columns))
    return read_json(json.dumps([columns | record for record in flat]))


def _plain(value: Any) -> Any:
    """A value as JSON has it: dicts with texts as keys, lists, and cells."""
    if isinstance(value, Mapping):
        named = {_name(key): _plain(one) for key, one in value.items()}
        if len(named) < len(value):
            raise TableError("two keys of a record have one name")
        return named
    if getattr(value, "ndim", 0) and hasattr(value, "tolist"):  # an array of numpy
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    return _cell(value)


def _flatten(record: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, list):
            if not any(isinstance(one, dict | list) for one in value):
                yield f"{prefix}{key}", "; ".join(str(one) for one in value if one is not None)
                continue
            value = {str(number): one for number, one in enumerate(value, 1)}
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _of_frame(frame: Any) -> Table:
    columns = [_name(name) for name in frame.columns]
    series = [frame.iloc[:, place] for place in range(len(columns))]
    cells = [list(one.to_numpy() if one.dtype.kind == "f" else one) for one in series]
    index = frame.index
    if index.nlevels > 1 or index.names[0] is not None or index.dtype.kind not in "iu":
        for level in reversed(range(index.nlevels)):
            unnamed = "index" if index.nlevels == 1 else f"level_{level}"
            name = unnamed if index.names[level] is None else _name(index.names[level])
            own = list(index.get_level_values(level))
            if name not in columns or cells[columns.index(name)] != own:  # set_index(drop=False)
                columns.insert(0, name)
                cells.insert(0, own)
    body = [[_cell(cell) for cell in column] for column in cells]
    return read_json(json.dumps({"columns": columns, "rows": list(zip(*body, strict=True))}))


def _name(key: Any) -> str:
    """A key or a column's name, of several levels too."""
    if isinstance(key, tuple):
        return ", ".join(filter(None, map(_name, key)))
    cell = _cell(key)
    return cell if isinstance(cell, str) else str(key)


def _cell(value: Any) -> Any:
    """A text; ``None`` for what says that there is no value; true and false as they are."""
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:  # a number of numpy
        item = value.item()
        value = item if not isinstance(item, float) or item != item else str(value)
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, bytes):
        return value.decode()
    if type(value).__name__ in ("NAType", "NaTType") or value != value:
        return None
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    return str(value)
