"""Tables from Python: records, nested or not, rows, lists by column, pandas DataFrames."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime, time
from typing import Any

from tablemend.tables.filings import join_signs
from tablemend.tables.jsontable import read_json
from tablemend.tables.limits import refuse_size
from tablemend.tables.table import EmptyTableError, Table, TableError


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
    flat = []
    for record in records:
        pairs = list(_flatten(record, ""))
        flat.append(dict(pairs))
        if len(flat[-1]) < len(pairs):
            raise TableError("two values of a record have one name")
    columns = list(dict.fromkeys(name for record in flat for name in record))
    refuse_size(len(flat), len(columns))
    return read_json(json.dumps([dict.fromkeys(columns) | record for record in flat]))


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
