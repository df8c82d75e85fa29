"""Each whole answer of ``tests/data/table_answers.jsonl`` has its errors, in every format.

A record: the gold table, the context, the sort that the query asks for, the tables that the answer
holds in their order, ``errors`` (a name for each finding), ``rows`` (how many gold rows it states)
and ``why`` (the class of the answer).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tablemend.detector.algorithm import detect_in_answer
from tablemend.detector.query import SortRule
from tablemend.tables.read import FORMATS, Format, write_table
from tablemend.tables.table import Table

FILE = Path(__file__).parents[2] / "data" / "table_answers.jsonl"
ANSWERS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
WRAPPINGS = (
    "{}",
    "####\n{}",
    "Here is the table:\n\n{}\n\nAll values are from the text.",
    "<think>One row for each? Yes.</think>\n\n#### \n\n{}\n",
)


def read(table: dict[str, Any]) -> Table:
    return Table.of(table["columns"], table["rows"])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("number", "answer"),
    [
        pytest.param(number, answer, id=f"{number} {answer['why']}")
        for number, answer in enumerate(ANSWERS)
    ],
)
def test_an_answer_has_its_errors(number: int, answer: dict[str, Any], format: Format) -> None:
    tables = [f"```\n{write_table(read(one), format)}\n```" for one in answer["tables"]]
    text = WRAPPINGS[number % len(WRAPPINGS)].format("\n\nAnd:\n\n".join(tables))
    order = SortRule(*answer["sort"]) if "sort" in answer else None
    judgement = detect_in_answer(text, read(answer["gold"]), answer["context"], order, format)
    assert sorted(finding.type for finding in judgement.findings) == answer["errors"]
    assert judgement.shares["row_recall"].part == answer["rows"]


def test_there_are_enough_answers() -> None:
    assert len(ANSWERS) * len(FORMATS) >= 400
