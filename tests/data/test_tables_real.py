"""The readers on real tables: written by people, by companies and by language models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tablemend.tables.extract import extract_table
from tablemend.tables.read import FORMATS, read_table, write_table
from tablemend.tables.table import Table, TableError

Read = Callable[[str], list[dict[str, Any]]]


def llm_tables(shared_data: Read, name: str) -> Iterator[str]:
    for record in shared_data(name):
        if name == "text2table_wikibio":
            yield from (record["gold_table"], record["gemini_table"])
        for tables in record.get("llm_tables", {}).values():
            yield from tables.values() if isinstance(tables, dict) else [tables]


@pytest.mark.parametrize(
    ("name", "unreadable"),
    [("text2table_rotowire", 0.005), ("text2table_wikibio", 0.0), ("wikitabletext", 0.004)],
)
def test_tables_by_language_models(shared_data: Read, name: str, unreadable: float) -> None:
    reasons: Counter[str] = Counter()
    total = 0
    for text in llm_tables(shared_data, name):
        total += 1
        found = extract_table(f"Sure:\n\n{text}\n", "auto")
        if found.table is None:
            reasons[found.reason] += 1
    # What remains are rows with a cell too many, mostly pipes inside a cell: read otherwise,
    # a value would be lost or stand in the wrong column.
    assert all("cells, the header has" in reason for reason in reasons), reasons
    assert sum(reasons.values()) <= unreadable * total


def test_disturbed_tables(shared_data: Read) -> None:
    records = shared_data("tabxbench")
    for record in records:
        for text in record["perturbations"]:
            assert extract_table(text).table is not None
    reasons = Counter(extract_table(record["original"]).reason for record in records)
    del reasons[""]
    assert sum(reasons.values()) <= 0.25 * len(records)
    assert all("delimiter row" in reason for reason in reasons), reasons


def test_filings(shared_data: Read) -> None:
    for record in shared_data("sec_8k_tables"):
        if record["kind"] == "html":
            table = read_table(record["raw_table"], "html")
            assert any(table.columns)
            assert any(any(row) for row in table.rows)
        else:
            with pytest.raises(TableError, match="no row"):
                read_table(record["raw_table"], "html")


def test_wikipedia_tables_survive_every_format(shared_data: Read) -> None:
    for record in shared_data("wikitablequestions")[::8]:
        table = Table.of(record["header"], record["rows"])
        for format in FORMATS:
            text = write_table(table, format)
            assert read_table(text) == table, (format, record["table_id"])
            if format != "csv":
                assert extract_table(f"So:\n####\n{text}\nDone.").table == table
