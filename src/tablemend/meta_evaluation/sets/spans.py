"""Descriptions by language models in which people marked errors: Quintd, span annotation."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from tablemend.evidence.files import read_source
from tablemend.evidence.json_document import document_tables
from tablemend.evidence.source import Source
from tablemend.meta_evaluation.items import Item, Mark
from tablemend.tables.table import Table

FAITHFULNESS = {
    "quintd": {"Incorrect", "Not checkable", "Misleading"},
    "d2t_span_annotation": {"Contradictory", "Not checkable", "Misleading"},
}
"""Kinds of error that concern the source; what else is marked does not count for or against."""

TEXTS = ("owid", "wikidata")
"""Domains whose data are a text; of the others they are a Python literal."""


def quintd(record: dict[str, Any]) -> Iterator[Item]:
    """Descriptions of games, phones, weather, time series and films by four models."""
    source = Source(_read_data(record["domain"], record["data"]))
    for output in record["outputs"]:
        spans = [
            span
            for span in output["human_spans"]
            if span["offset_ok"] and span["start"] < span["end"]
        ]
        yield _item("quintd", record, output, source, [spans])


def d2t_span_annotation(record: dict[str, Any]) -> Iterator[Item]:
    """Descriptions of games, phones and weather by four newer models, by one or two annotators."""
    source = Source(document_tables(record["data"]))
    for output in record["outputs"]:
        spans = (annotation["spans"] for annotation in output["annotations"])
        yield _item("d2t_span_annotation", record, output, source, spans)


def _item(
    name: str,
    record: dict[str, Any],
    output: dict[str, Any],
    source: Source,
    annotations: Iterable[list[dict[str, Any]]],
) -> Item:
    return Item(
        id=f"{record['id']} {output['model']}",
        set=name,
        group=record["domain"],
        text=output["text"],
        source=source,
        split_key=record["split_key"],
        marks=tuple(_marks(name, spans) for spans in annotations),
    )


def _marks(name: str, spans: list[dict[str, Any]]) -> tuple[Mark, ...]:
    return tuple(
        Mark(span["start"], span["end"], span["type"], span["type"] in FAITHFULNESS[name])
        for span in spans
    )


def _read_data(domain: str, data: str) -> tuple[Table, ...]:
    """The data as the models saw them: CSV with remarks, a list of facts, or a nested object."""
    if domain in TEXTS:
        return read_source(data).tables
    return document_tables(ast.literal_eval(data))
