"""The card of a data set: a README that ``datasets`` and a person can read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Any, get_args, get_origin, get_type_hints

import yaml

from tablemend.config import Section
from tablemend.programs.program import Statement
from tablemend.runs import leaves

LICENCE = (
    "## Licence\n\nThe texts are synthetic; cells come from the source tables, so their licence "
    "applies. Whoever publishes this data set has to state it here."
)


def write_card(
    parts: Iterable[str],
    *,
    categories: Sequence[str],
    tags: Sequence[str],
    files: Mapping[str, str],
    record: type,
) -> str:
    """A card.

    Args:
        parts: its paragraphs and tables; empty ones are left out.
        categories: tasks as the Hub names them.
        tags: likewise.
        files: the file of each split.
        record: the dataclass of an example.
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
        "dataset_info": {"features": features(record)},
    }
    body = "\n\n".join(part for part in parts if part)
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n{body}\n"


def features(record: type) -> list[dict[str, Any]]:
    """The types of a record's fields as the head of a card spells them."""
    return [{"name": name, **_feature(kind)} for name, kind in get_type_hints(record).items()]


def _feature(kind: Any) -> dict[str, Any]:
    """The type of a field; spans are lists of numbers, statements are JSON in a text."""
    given = [part for part in get_args(kind) if part not in (type(None), ...)]
    if get_origin(kind) is tuple:
        inner = _feature(given[0])
        return {"list": inner.get("dtype") or inner.get("struct") or inner}
    if type(None) in get_args(kind):
        return _feature(given[0])
    hints = get_type_hints(kind) if isinstance(kind, type) and kind is not Statement else {}
    if set(hints.values()) == {int}:
        return {"list": "int64"}
    if hints:
        return {"struct": features(kind)}
    return {"dtype": {int: "int64", bool: "bool"}.get(kind, "string")}


def counted_parts(counts: Mapping[str, Any], means: Mapping[str, str]) -> Iterator[str]:
    """What every card of a program's data set says of its examples and of what was left out.

    Args:
        counts: as in ``counts.json``.
        means: what is averaged over the examples, by its name in ``counts``.
    """
    made, sums, tables = counts["examples"]["made"], counts["counts"], counts["tables"]
    yield table_of("split | examples", counts["splits"])
    yield table_of(
        "per example | mean",
        {name: f"{sums[key] / made:.1f}" for key, name in means.items() if key in sums},
    )
    yield "No table is in two splits: the content hash of the source table decides."
    said = f"{tables['usable']} usable, {tables['skipped']} skipped"
    if "unfit" in tables:
        said += f", {tables['unfit']} of them usable by other settings"
    yield f"## Source tables\n\n{said}."
    yield table_of("reason for skipping a table | tables", counts["skipped"])
    if counts["dropped"] or counts["notes"]:
        yield "## Dropped and drawn anew"
    yield table_of("reason for dropping an example | examples", counts["dropped"])
    yield table_of("drawn anew because | times", counts["notes"])
    yield LICENCE


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
    script: str, settings: Section, first: Mapping[str, Any], left_out: Collection[str] = ()
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
            given.update(leaves(value, name))
    words = " ".join(quote(f"{name}={_typed(value)}") for name, value in given.items())
    return f"```\npython data_gen/{script} {words}\n```"


def _typed(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool | list) or value is None else str(value)
