"""Tables of papers: claims that people checked (SciTab), labelled descriptions (SciGen)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tablemend.evidence.source import Source
from tablemend.meta_evaluation.items import Item, Label, Mark
from tablemend.meta_evaluation.sets.alignment import find_quote
from tablemend.tables.table import Table

SCITAB_LABELS: dict[str, Label] = {
    "supports": "supported",
    "refutes": "contradicted",
    "not enough info": "not_in_source",
}
TRUE = {"Entailed", "Extra"}
"""SciGen's labels of what is so: in the reference too, or only in the table."""
FALSE = {"Incorrect", "Hallucinated"}
_MARKUP = re.compile(r"\[(?:BOLD|ITALIC|EMPTY|CONTINUE)\]\s*")


def scitab(record: dict[str, Any]) -> Iterator[Item]:
    """Claims of papers about their tables, altered ones, and ones that the table leaves open."""
    yield Item(
        id=record["id"],
        set="scitab",
        group="",
        text=_MARKUP.sub("", record["claim"]).strip(),
        source=Source((science_table(record),)),
        split_key=record["split_key"],
        label=SCITAB_LABELS[record["label"]],
    )


def science_table(record: dict[str, Any]) -> Table:
    """The table of a SciGen or SciTab record, without the marks of bold and italic type."""
    columns = [_MARKUP.sub("", name).strip() for name in record["table_column_names"]]
    rows = [
        [_MARKUP.sub("", cell).strip() for cell in row] for row in record["table_content_values"]
    ]
    return Table.of(columns, rows, record["table_caption"])


def scigen(record: dict[str, Any]) -> Iterator[Item]:
    """Descriptions of tables in papers by two models, labelled clause by clause."""
    marks, end = [], 0
    for unit in record["units"]:
        place = find_quote(unit["text"], record["output"], end)
        if place is None:
            continue
        end = place.end
        if unit["label"] not in TRUE:
            error = unit["label"] in FALSE
            marks.append(Mark(place.start, place.end, unit["label"], error))
    yield Item(
        id=record["id"],
        set="scigen",
        group="",
        text=record["output"],
        source=Source((science_table(record),)),
        split_key=record["split_key"],
        references=(record["gold_text"],),
        marks=(tuple(marks),),
    )
