"""Descriptions by language models in which people marked errors: Quintd, span annotation."""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterator
from typing import Any

from tablemend.evidence.json_document import document_tables
from tablemend.evidence.source import Source
from tablemend.tables.table import Table
from tablemend.validation.items import Item, Mark
from tablemend.validation.sets.statements import attribute_table

FAITHFULNESS = {
    "quintd": {"Incorrect", "Not checkable", "Misleading"},
    "d2t_span_annotation": {"Contradictory", "Not checkable", "Misleading"},
}
"""Kinds of error that concern the source; what else is marked does not count for or against."""


def quintd(record: dict[str, Any]) -> Iterator[Item]:
    """Descriptions of games, phones, weather, time series and films by four models."""
    source = Source(_read_data(record["domain"], record["data"]))
    for output in record["outputs"]:
        spans = [span for span in output["human_spans"] if span["offset_ok"]]
        yield Item(
            id=f"{record['id']} {output['model']}",
            set="quintd",
            group=record["domain"],
            text=output["text"],
            source=source,
            split_key=record["split_key"],
            marks=(_marks("quintd", spans),),
        )


def d2t_span_annotation(record: dict[str, Any]) -> Iterator[Item]:
    """Descriptions of games, phones and weather by four newer models, by one or two annotators."""
    source = Source(document_tables(record["data"]))
    for output in record["outputs"]:
        yield Item(
            id=f"{record['id']} {output['model']}",
            set="d2t_span_annotation",
            group=record["domain"],
            text=output["text"],
            source=source,
            split_key=record["split_key"],
            marks=tuple(
                _marks("d2t_span_annotation", annotation["spans"])
                for annotation in output["annotations"]
            ),
        )


def _marks(name: str, spans: list[dict[str, Any]]) -> tuple[Mark, ...]:
    return tuple(
        Mark(span["start"], span["end"], span["type"], span["type"] in FAITHFULNESS[name])
        for span in spans
    )


def _read_data(domain: str, data: str) -> tuple[Table, ...]:
    """The data as the models saw them: CSV with remarks, a list of facts, or a nested object."""
    if domain == "owid":
        return (_read_series(data),)
    if domain == "wikidata":
        return (_read_facts(data),)
    return document_tables(ast.literal_eval(data))


def _read_series(data: str) -> Table:
    """``# country: X`` and further remarks, then lines of ``date,value``."""
    lines = data.strip().splitlines()
    remarks = dict(line.lstrip("# ").partition(": ")[::2] for line in lines if line.startswith("#"))
    rows = list(csv.reader(line for line in lines if line and not line.startswith("#")))
    unit = remarks.get("unit", "")
    title, country = remarks.get("title", ""), remarks.get("country", "")
    columns = [
        name if name != "value" else f"{title} ({unit})" if unit else title for name in rows[0]
    ]
    return Table.of(columns, rows[1:], ", ".join(filter(None, (country, title))))


def _read_facts(data: str) -> Table:
    """A name, a rule, and lines of ``- attribute: value``."""
    lines = [line for line in data.strip().splitlines() if line.strip() and line.strip() != "---"]
    values: dict[str, list[str]] = {"name": [lines[0].strip()]}
    for line in lines[1:]:
        name, _, value = line.lstrip("- ").partition(": ")
        values.setdefault(name, []).append(value)
    return attribute_table(values, lines[0].strip())
