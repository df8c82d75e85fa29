"""Single statements about a table that people labelled: TabFact, LogicNLG, InfoTabS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tablemend.evidence.source import Source
from tablemend.meta_evaluation.items import Item, Label
from tablemend.tables.table import Table

LABELS: dict[str, dict[str | int, Label]] = {
    "tabfact": {1: "supported", 0: "contradicted"},
    "infotabs": {"E": "supported", "C": "contradicted", "N": "not_in_source"},
}
LIST = "; "
"""Between the values of an attribute that has several."""


def tabfact(record: dict[str, Any]) -> Iterator[Item]:
    """Entailed (1) and refuted (0) statements about Wikipedia tables, two difficulties."""
    source = Source((Table.of(record["header"], record["rows"], record["caption"]),))
    return _items("tabfact", record, record["statements"], source, record["difficulty"])


def logicnlg(record: dict[str, Any]) -> Iterator[Item]:
    """True statements and their minimally edited, false counterparts.

    Pairs whose two sides are equal say nothing and are left out, repeated statements too. The
    references are those of the table's other pairs.
    """
    source = Source((Table.of(record["header"], record["rows"], record["title"]),))
    pairs = [pair for pair in record["pos_neg"] if pair["pos"] != pair["neg"]]
    true = {pair["pos"] for pair in pairs}
    seen: set[str] = set()
    for number, pair in enumerate(pairs):
        references = tuple(
            one["text"]
            for one in record["references"]
            if one["text"] not in (pair["pos"], pair["neg"])
        )
        for side in ("pos", "neg"):
            text = pair[side]
            if text in seen or (side == "neg" and text in true):
                continue
            seen.add(text)
            yield Item(
                id=f"{record['table_id']} {number} {side}",
                set="logicnlg",
                group="",
                text=text,
                source=source,
                split_key=record["split_key"],
                references=references,
                label="supported" if side == "pos" else "contradicted",
            )


def infotabs(record: dict[str, Any]) -> Iterator[Item]:
    """Entailed, contradicted and neutral statements about the info box of one thing."""
    source = Source((attribute_table(record["table"], record["category"]),))
    return _items("infotabs", record, record["hypotheses"], source, record["part"])


def _items(
    name: str,
    record: dict[str, Any],
    statements: Sequence[dict[str, Any]],
    source: Source,
    group: str,
) -> Iterator[Item]:
    for number, statement in enumerate(statements):
        yield Item(
            id=f"{record['table_id']} {number}",
            set=name,
            group=group,
            text=statement["text"],
            source=source,
            split_key=record["split_key"],
            label=LABELS[name][statement["label"]],
        )


def attribute_table(values: dict[str, list[str]], title: str) -> Table:
    """The attributes of one thing as a table of one row; several values stand in one cell."""
    columns = list(values)
    row = [LIST.join(value.strip() for value in values[name]) for name in columns]
    return Table.of(columns, [row], title)
