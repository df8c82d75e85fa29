"""The answers of each stage, read; what cannot be read says why, and is asked for again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, ValidationError

from tablemend.prompting.replies import EMPTY, WRONG_FIELD, Unreadable, one_object, prose
from tablemend.records import Condition, Constraints, SortOrder
from tablemend.tables.table import Table

UNEVEN = "row of another length than the header"


@dataclass(frozen=True, slots=True)
class KernelDraft:
    """A titled table, its declared order and its text, as a model wrote them (TableHallu, A.1.2).

    Whether the table has the sort column is checked later.
    """

    table: Table
    sort_column: str
    sort_order: SortOrder
    context: str


def _single(value: Any) -> Any:
    """A single value as text with plain spaces; the decoder left numbers as they were written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(value.split()) or None if isinstance(value, str) else value


def _end(value: Any) -> Any:
    """An end of a range; many models write null as "None"."""
    text = _single(value)
    return None if str(text).casefold() in ("none", "null", "n/a") else text


def _listed(value: Any) -> Any:
    return [] if value is None else value if isinstance(value, list) else [value]


def _direction(value: Any) -> Any:
    text = value.strip().casefold() if isinstance(value, str) else value
    return {"asc": "ascending", "desc": "descending"}.get(str(text), text)


Name = Annotated[str, BeforeValidator(_single)]
CellText = Annotated[str | None, BeforeValidator(_single)]
End = Annotated[str | None, BeforeValidator(_end)]
Direction = Annotated[Literal["ascending", "descending"], BeforeValidator(_direction)]
Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Kernel(BaseModel):
    title: CellText = None
    columns: Annotated[list[Name], Field(min_length=1)]
    rows: list[list[CellText]]
    sort_column: Name
    sort_order: Direction
    context: Prose


class _Condition(BaseModel):
    column: Name
    low: End = None
    high: End = None
    values: Annotated[list[CellText], BeforeValidator(_listed)] = []


class _Constraints(BaseModel):
    entity_scope: Annotated[list[CellText], BeforeValidator(_listed)]
    numerical_range: End = None
    sort_column: Name
    sort_order: Direction
    conditions: list[_Condition]


class _Texts(BaseModel):
    texts: list[Prose]


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of an answer, in the form that strict servers demand."""
    schema = model.model_json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        part["additionalProperties"] = False
        part["required"] = list(part["properties"])
        for field in part["properties"].values():
            field.pop("default", None)
    return schema


# of the answer to a prompt, for engines with structured output
SCHEMAS = {
    "kernel": _schema(_Kernel),
    "constraints": _schema(_Constraints),
    "word": _schema(_Texts),
}
M = TypeVar("M", bound=BaseModel)


def _read(text: str, model: type[M]) -> M:
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    try:
        return model.model_validate(one_object(text, required))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Unreadable(WRONG_FIELD, f'"{place}" is wrong: {first["msg"].lower()}.') from error


def read_kernel(text: str) -> KernelDraft:
    """The table and its text; every cell is the text that the model wrote, ``1.50`` included.

    Raises:
        Unreadable: the answer is no such object.
    """
    found = _read(text, _Kernel)
    width = len(found.columns)
    for number, row in enumerate(found.rows, 1):
        if len(row) != width:
            reason = f"Row {number} has {len(row)} cells, but there are {width} columns."
            raise Unreadable(UNEVEN, reason)
    table = Table.of(found.columns, found.rows, found.title or "")
    return KernelDraft(table, found.sort_column, found.sort_order, _paragraphs(found.context))


def read_texts(text: str) -> list[str]:
    """The passages asked for, each on one line; ``Unreadable`` is no such object."""
    return [" ".join(one.split()) for one in _read(text, _Texts).texts]


def read_query(text: str) -> str:
    """The request, as one line; ``Unreadable`` is nothing, a refusal, or more than the request."""
    query = " ".join(prose(text).split())
    if len(query) > 2 and query[0] == query[-1] in "\"'`" and query.count(query[0]) == 2:
        query = query[1:-1].strip()
    if not query:
        raise Unreadable(EMPTY, "The answer was empty.")
    return query


def read_context(text: str) -> str:
    """A text in paragraphs; ``Unreadable`` is nothing, a refusal, or data instead of prose."""
    return _paragraphs(prose(text))


def read_constraints(text: str) -> Constraints:
    """The four fields of the paper and the conditions; a ``constraints`` wrapper is opened.

    Raises:
        Unreadable: the answer is no such object.
    """
    found = _read(text, _Constraints)
    conditions = [
        Condition(one.column, one.low, one.high, tuple(filter(None, one.values)))
        for one in found.conditions
    ]
    scope, rule = tuple(filter(None, found.entity_scope)), (found.sort_column, found.sort_order)
    return Constraints(scope, found.numerical_range, *rule, tuple(conditions))


def _paragraphs(text: str) -> str:
    """Paragraphs between empty lines, each on one line."""
    return "\n\n".join(
        " ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()
    )
