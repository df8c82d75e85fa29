"""The card of a data set: a README that ``datasets`` and a person can read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

import yaml

from tablemend.config import Section

Fields = Mapping[str, Any]
"""Types of fields by name: ``str``, ``int``, ``bool``, ``[type]`` for a list, else a mapping."""

_TYPES = {str: "string", int: "int64", bool: "bool"}


def write_card(
    parts: Iterable[str],
    *,
    categories: Sequence[str],
    tags: Sequence[str],
    files: Mapping[str, str],
    fields: Fields,
) -> str:
    """A card.

    Args:
        parts: its paragraphs and tables; empty ones are left out.
        categories: tasks as the Hub names them.
        tags: likewise.
        files: the file of each split.
        fields: of an example.
    """
    head = {
        "task_categories": list(categories),
        "tags": list(tags),
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": path} for split, path in files.items()],
            }
        ],
        "dataset_info": {"features": features(fields)},
    }
    body = "\n\n".join(part for part in parts if part)
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n{body}\n"


def features(fields: Fields) -> list[dict[str, Any]]:
    """The types of fields as the head of a card spells them."""
    return [{"name": name, **_feature(kind)} for name, kind in fields.items()]


def _feature(kind: Any) -> dict[str, Any]:
    if isinstance(kind, Mapping):
        return {"struct": features(kind)}
    if not isinstance(kind, list):
        return {"dtype": _TYPES[kind]}
    (inner,) = kind
    if isinstance(inner, Mapping):
        return {"list": features(inner)}
    return {"list": _feature(inner) if isinstance(inner, list) else _TYPES[inner]}


def table_of(header: str, rows: Mapping[str, Any]) -> str:
    """A Markdown table, figures to the right; an empty text where there is no row.

    Args:
        header: titles of the columns, with bars between them.
        rows: by the text of their first cell; a tuple for more than one more cell.
    """
    if not rows:
        return ""
    lines = [f"| {header} |", f"|---|{'---:|' * header.count('|')}"]
    for name, value in rows.items():
        cells = [name, *(value if isinstance(value, tuple) else (value,))]
        lines.append(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def command_of(
    script: str,
    settings: Section,
    first: Mapping[str, Any],
    left_out: Collection[str] = (),
) -> str:
    """The command that makes a data set again, as a block of code.

    Args:
        script: in ``data_gen/``.
        settings: of these, what differs from the defaults is named.
        first: what is named before them in any case.
        left_out: settings that change nothing in the data.
    """
    given = dict(first)
    for name, value in settings.model_dump(mode="json", exclude_defaults=True).items():
        if name not in left_out:
            given.update(_dotted(name, value))
    words = " ".join(quote(f"{name}={_typed(value)}") for name, value in given.items())
    return f"```\npython data_gen/{script} {words}\n```"


def _dotted(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _dotted(f"{name}.{key}", inner)
    else:
        yield name, value


def _typed(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool | list) or value is None else str(value)
