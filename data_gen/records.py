"""Make a set of tables as texts and as nested JSON records (task: records).

python data_gen/records.py
python data_gen/records.py source=my-tables/ out=data/mine-records

The rows of a table come in groups by a category, where it has one; the numbers of a row are in an
object of their own; keys are in lower case. Each record comes with its JSON schema.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from tablemend.config import Section, load
from tablemend.datasets.build import build_splits
from tablemend.datasets.source_tables.columns import Column, TypedTable, type_table
from tablemend.datasets.source_tables.sources import open_source
from tablemend.datasets.splits import SPLITS, HubOptions, Shares, Split, split_of
from tablemend.errors import TablemendError
from tablemend.script import run_script
from tablemend.tables.read import write_table
from tablemend.tables.table import Table
from tablemend.tasks.structured_output import RecordSample

ENGINE = "records-1"
PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
"""Cells that are numbers in JSON."""


def main() -> None:
    """Read the settings, make the set, print what came of it."""
    settings = load(RecordSet)
    for name, count in make_records(settings).items():
        print(f"{name} {count}")
    print(f"written to {settings.out}")


class RecordSet(Section):
    """A set of tables as nested records."""

    source: str = "data_gen/tables"
    """Tables: a file or folder of CSV, TSV, HTML, workbooks or JSON lines."""
    most_rows: int = Field(default=12, ge=4)
    """Rows of a table that are used, from the front."""
    shares: Shares = Shares()
    """Split of the tables."""
    out: str = "data/records"
    """Folder to write into."""


def make_records(settings: RecordSet) -> dict[str, Any]:
    """Write the splits, or find them written; the counts, as in ``counts.json``.

    Raises:
        TablemendError: no such source, or a folder that holds something else.
    """
    tables = open_source(settings.source, HubOptions())

    def find(counts: Counter[str]) -> dict[Split, list[RecordSample]]:
        found: dict[Split, list[RecordSample]] = {split: [] for split in SPLITS}
        for place in tables.places():
            try:
                read = tables.read(place)
                typed = type_table(read.table)
                sample = record_of(typed, read.topic, read.domain, settings.most_rows)
            except TablemendError as error:
                counts[f"skipped: {error}"] += 1
            else:
                found[split_of(typed.source_hash, settings.shares)].append(sample)
        counts.update({split: len(own) for split, own in found.items()})
        return found

    noted = {"engine": ENGINE, **settings.model_dump(mode="json", exclude={"out"})}
    return build_splits(Path(settings.out), noted, find)


def record_of(typed: TypedTable, title: str, domain: str, most: int) -> RecordSample:
    """A table as a text, and as a record: rows in groups by a category, where there is one; the
    numbers of a row in an object of their own; keys in lower case.
    """
    table = Table(typed.table.columns, typed.table.rows[:most], title)
    names = [re.sub(r"\W+", "_", one.lower()).strip("_") or "value" for one in table.columns]
    columns = list(zip(*table.rows, strict=True))
    plain = [all(one is None or PLAIN.fullmatch(one) for one in column) for column in columns]
    if len({*names, "numbers"}) <= len(names):
        raise TablemendError("two columns of one key")
    by = next((n for n, one in enumerate(typed.columns) if _groups(one, columns[n])), -1)
    texts = [n for n, is_number in enumerate(plain) if not is_number and n != by]
    numbers = [n for n, is_number in enumerate(plain) if is_number and n != by]

    def entry(cells: Sequence[Any]) -> dict[str, Any]:
        counts = {names[n]: cells[n] and json.loads(cells[n]) for n in numbers}
        return {**{names[n]: cells[n] for n in texts}, "numbers": counts}

    count = _object({names[n]: {"type": ["number", "null"]} for n in numbers})
    text: dict[str, Any] = {"type": ["string", "null"]}
    items = _object({**{names[n]: text for n in texts}, "numbers": count})
    entries = {"type": "array", "items": items}
    record: dict[str, Any] = {"title": title, "entries": [*map(entry, table.rows)]}
    schema = _object({"title": text, "entries": entries})
    if by >= 0:
        groups = {
            cell: [entry(row) for row in table.rows if row[by] == cell] for cell in columns[by]
        }
        record = {
            "title": title,
            "groups": [{names[by]: c, "entries": e} for c, e in groups.items()],
        }
        group = _object({names[by]: text, "entries": entries})
        schema = _object({"title": text, "groups": {"type": "array", "items": group}})
    shown = f"{title}\n\n{write_table(table, 'markdown')}"
    fields = {"text": shown, "schema": schema, "record": record, "domain": domain}
    return RecordSample({**fields, "source_hash": typed.source_hash})


def _groups(column: Column, cells: Sequence[str | None]) -> bool:
    """Whether a column sorts the rows into groups."""
    return column.kind == "category" and None not in cells and len(set(cells)) < len(cells)


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    names = list(properties)
    return {"type": "object", "properties": properties, "required": names,
            "additionalProperties": False}  # fmt: skip


if __name__ == "__main__":
    run_script(main)
