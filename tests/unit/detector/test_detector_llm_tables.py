"""Tables that real models wrote for real texts, scored against human or automatic gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tablemend.detector.algorithm import detect_errors
from tablemend.tables.read import read_table
from tablemend.tables.table import Table, TableError
from tablemend.values import is_blank

Read = Callable[[str], list[dict[str, Any]]]


def found(table: Table, gold: Table, text: str) -> Counter[str]:
    return Counter({name: n for name, n in detect_errors(table, gold, text).counts.items() if n})


def shared_columns(gold: Table, answer: Table) -> tuple[Table, Table]:
    """Both tables cut to the columns that both have, in gold order."""
    places = {name.strip().lower(): index for index, name in reversed([*enumerate(answer.columns)])}
    shared = [
        (index, places[name.lower()])
        for index, name in enumerate(gold.columns)
        if name.lower() in places
    ]
    columns = [gold.columns[index] for index, _ in shared]
    return (
        Table.of(columns, [[row[index] for index, _ in shared] for row in gold.rows]),
        Table.of(columns, [[row[index] for _, index in shared] for row in answer.rows]),
    )


def box_scores(records: list[dict[str, Any]]) -> Iterator[tuple[str, Table, Table]]:
    """Text, gold and model's table over the columns both have, the first being the name."""
    for record in records:
        for kind, raw in record["gold"].items():
            gold = Table.of([kind, *raw["header"][1:]], raw["rows"])
            for tables in record["llm_tables"].values():
                try:
                    answer = read_table(tables.get(kind) or "", "markdown")
                except TableError:
                    continue
                one, other = shared_columns(gold, answer)
                if one.columns[0] == kind and not other.duplicate_columns():
                    yield record["text"], one, other


def count_plainly(gold: Table, answer: Table) -> Counter[str] | None:
    """What a reader counts cell by cell; ``None`` unless all names are unique and known."""
    names = [row[0] for row in answer.rows]
    rows = {row[0]: row for row in gold.rows}
    if len(rows) < len(gold.rows) or len(set(names)) < len(names) or not set(names) <= set(rows):
        return None
    counts: Counter[str] = Counter()
    for row in answer.rows:
        for expected, got in zip(rows[row[0]][1:], row[1:], strict=True):
            if is_blank(expected):
                counts["blank_filling"] += not is_blank(got)
            elif expected != got:
                counts["attribute"] += 1
    return +counts


def test_box_scores_are_counted_as_by_hand(shared_data: Read) -> None:
    compared = 0
    for text, gold, answer in box_scores(shared_data("text2table_rotowire")):
        expected = count_plainly(gold, answer)
        cells = {cell for table in (gold, answer) for row in table.rows for cell in row[1:]}
        if expected is None or not all(is_blank(cell) or (cell or "").isdigit() for cell in cells):
            continue
        compared += 1
        assert found(answer, gold, text) == expected, (gold, answer)
    assert compared > 700


@pytest.mark.parametrize("name", ["text2table_wikibio", "wikitabletext"])
def test_gold_fields_are_clean(name: str, shared_data: Read) -> None:
    for record in shared_data(name):
        if name == "wikitabletext":
            if not record["gold_text_supported"]:
                continue
            gold = Table.of(["Field", "Value"], record["gold_text_supported"])
        else:
            gold = read_table(record["gold_table"], "markdown")
        judgement = detect_errors(gold, gold, record["text"])
        assert judgement.unscored == ""
        assert judgement.findings == ()
        assert (judgement.share("row_recall"), judgement.share("cell_recall")) == (1.0, 1.0)
