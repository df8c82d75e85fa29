"""The answers of each stage, read; what cannot be read says why, and is asked for again."""

from __future__ import annotations

import re
from typing import Any

from tablemend.datasets.tablehallu_llm.drafts import KernelDraft
from tablemend.prompting.replies import EMPTY, WRONG_FIELD, Unreadable, one_object, prose
from tablemend.records import Condition, Constraints, SortOrder
from tablemend.tables.table import Cell, Table

NESTED = "nested value in a cell"
UNEVEN = "row of another length than the header"

_TEXT = {"type": "string"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_TEXTS = {"type": "array", "items": _TEXT}
_ORDER = {"type": "string", "enum": ["ascending", "descending"]}


def _object(**fields: dict[str, Any]) -> dict[str, Any]:
    """An object with exactly these fields, in the form that strict servers demand."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


SCHEMAS: dict[str, dict[str, Any]] = {
    "kernel": _object(
        title=_TEXT,
        columns=_TEXTS,
        rows={"type": "array", "items": {"type": "array", "items": _TEXT_OR_NULL}},
        sort_column=_TEXT,
        sort_order=_ORDER,
        context=_TEXT,
    ),
    "constraints": _object(
        entity_scope=_TEXTS,
        numerical_range=_TEXT_OR_NULL,
        sort_column=_TEXT,
        sort_order=_ORDER,
        conditions={
            "type": "array",
            "items": _object(column=_TEXT, low=_TEXT_OR_NULL, high=_TEXT_OR_NULL, values=_TEXTS),
        },
    ),
}
"""JSON schema of the answer to a prompt, for engines with structured output."""

_SORT_ORDERS: dict[str, SortOrder] = {
    "ascending": "ascending",
    "asc": "ascending",
    "descending": "descending",
    "desc": "descending",
}
_NONE = frozenset({"", "none", "null", "n/a"})


def read_kernel(text: str) -> KernelDraft:
    """The table and its text; every cell is the text that the model wrote, ``1.50`` included.

    Raises:
        Unreadable: the answer is no such object.
    """
    data = one_object(text, ("columns", "rows", "sort_column", "sort_order", "context"))
    columns = [_cell(name, "a column name") for name in _list(data, "columns")]
    if not columns or None in columns:
        raise Unreadable(WRONG_FIELD, '"columns" must be a list of names, none of them empty.')
    header = [name for name in columns if name]
    rows = []
    for number, row in enumerate(_list(data, "rows"), 1):
        if not isinstance(row, list):
            raise Unreadable(WRONG_FIELD, f'Row {number} of "rows" must be a list of cells.')
        if len(row) != len(header):
            raise Unreadable(
                UNEVEN, f"Row {number} has {len(row)} cells, but there are {len(header)} columns."
            )
        rows.append([_cell(cell, f"row {number}") for cell in row])
    title = data.get("title")
    return KernelDraft(
        Table.of(header, rows, " ".join(title.split()) if isinstance(title, str) else ""),
        _words(data, "sort_column"),
        _sort_order(data),
        _paragraphs(_string(data, "context")),
    )


def read_query(text: str) -> str:
    """The request, as one line.

    Raises:
        Unreadable: nothing, a refusal, or more than the request.
    """
    query = " ".join(prose(text).split())
    for mark in ('"', "'", "`"):
        if query[:1] == query[-1:] == mark and query.count(mark) == 2 and len(query) > 2:
            query = query[1:-1].strip()
    if not query:
        raise Unreadable(EMPTY, "The answer was empty.")
    return query


def read_context(text: str) -> str:
    """A text in paragraphs.

    Raises:
        Unreadable: nothing, a refusal, or data instead of prose.
    """
    return _paragraphs(prose(text))


def read_constraints(text: str) -> Constraints:
    """The four fields of the paper and the conditions; a ``constraints`` wrapper is opened.

    Raises:
        Unreadable: the answer is no such object.
    """
    data = one_object(text, ("entity_scope", "sort_column", "sort_order", "conditions"))
    scope = data["entity_scope"]
    phrases = [scope] if isinstance(scope, str) else _list(data, "entity_scope")
    entity_scope = tuple(
        phrase for item in phrases if (phrase := _cell(item, '"entity_scope"')) is not None
    )
    span = _end(data.get("numerical_range"), '"numerical_range"')
    conditions = []
    for number, item in enumerate(_list(data, "conditions"), 1):
        if not isinstance(item, dict):
            raise Unreadable(WRONG_FIELD, f'Entry {number} of "conditions" must be an object.')
        conditions.append(_condition(item, f"condition {number}"))
    return Constraints(
        entity_scope, span, _words(data, "sort_column"), _sort_order(data), tuple(conditions)
    )


def _condition(item: dict[str, Any], where: str) -> Condition:
    values = item.get("values")
    if values is None:
        values = []
    if not isinstance(values, list):
        values = [values]
    return Condition(
        _words(item, "column"),
        _end(item.get("low"), where),
        _end(item.get("high"), where),
        tuple(value for one in values if (value := _cell(one, where)) is not None),
    )


def _end(value: Any, where: str) -> str | None:
    """A range or an end of one; "None" is how many models write null."""
    text = _cell(value, where)
    return None if text is None or text.casefold() in _NONE else text


def _list(data: dict[str, Any], name: str) -> list[Any]:
    value = data.get(name)
    if not isinstance(value, list):
        raise Unreadable(WRONG_FIELD, f'"{name}" must be a list.')
    return value


def _string(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Unreadable(WRONG_FIELD, f'"{name}" must be a text that is not empty.')
    return value


def _words(data: dict[str, Any], name: str) -> str:
    return " ".join(_string(data, name).split())


def _sort_order(data: dict[str, Any]) -> SortOrder:
    order = _SORT_ORDERS.get(_string(data, "sort_order").strip().casefold())
    if order is None:
        raise Unreadable(WRONG_FIELD, '"sort_order" must be "ascending" or "descending".')
    return order


def _cell(value: Any, where: str) -> Cell:
    """A single value as text with plain spaces; the decoder left numbers as they were written."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return " ".join(value.split()) or None
    raise Unreadable(NESTED, f"In {where} a value is a list or an object; it must be a single one.")


def _paragraphs(text: str) -> str:
    """Paragraphs between empty lines, each on one line."""
    return "\n\n".join(
        " ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()
    )
