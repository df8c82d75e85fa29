"""The JSON schemas of answers that are data."""

from __future__ import annotations

from typing import Any

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
    "paraphrase": _object(sentences=_TEXTS),
}
"""JSON schema of the answer to a prompt, for engines with structured output."""
