"""Answer tables beside prose that says things of groups, in other forms and by reference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tablemend
from tablemend.tables.read import write_table
from tablemend.tables.table import Table

TEXTS = Path(__file__).parents[2] / "data" / "llm_texts.jsonl"
GOOD = [
    one for line in TEXTS.read_text("utf-8").splitlines() if not (one := json.loads(line))["defect"]
]


@pytest.mark.parametrize("text", GOOD, ids=[one["id"] for one in GOOD])
def test_the_gold_table_of_a_good_text_stays(text: dict[str, object]) -> None:
    gold = write_table(Table.of(text["columns"], text["rows"]), "markdown")  # type: ignore[arg-type]
    context, query = str(text["context"]), str(text["query"])
    assert not tablemend.verify(gold, context=context, query=query).errors
    assert not tablemend.mend(gold, context, query).edits


def answer(columns: str, *rows: str) -> str:
    lines = [columns, "|".join("-" * (columns.count("|") + 1)), *rows]
    return "\n".join(f"|{line}|" for line in lines)


@pytest.mark.parametrize(
    ("table", "context", "query"),
    [
        (
            answer("Bridge|Country|Length (m)", "Arda|Norway|310", "Brill|Norway|455"),
            "Two Norwegian bridges are known. Arda is 310 m long. Brill spans 455 m.",
            "List the bridges with Country and Length (m).",
        ),
        (
            answer("Chair|Material|Price", "Onda|Solid oak|210", "Piva|Solid oak|340"),
            "Both chairs are made of solid-oak boards. Onda costs 210. Piva costs 340.",
            "List the chairs.",
        ),
        (
            answer("Fund|Closed|Size", "Alder|Q3|120", "Birch|Q4|80"),
            "Alder closed in the third quarter at 120. Birch came to 80 in the final quarter.",
            "List the funds.",
        ),
        (
            answer("Song|Label|Length", "Reed|Tonic|3:10", "Sedge|Tonic|4:05"),
            "Reed came out on Tonic and lasts 3:10. Sedge, on the same label, lasts 4:05.",
            "List the songs.",
        ),
        (
            answer("Drug|Approved|Dose (mg)", "Amox|4 May 2019|20", "Belo|9 June 2019|35"),
            "In 2019 two drugs came. Amox was approved on May 4 at 20 mg. Belo, at 35 mg, was "
            "cleared on June 9.",
            "List the drugs.",
        ),
        (
            answer("Firm|Budget (USD Million)|Deals", "Cato|1900|4", "Dorn|2050|7"),
            "In 2021 Cato spent $1.9 billion on four deals and Dorn $2.05 billion on seven.",
            'Make a table of the budgets of firms in 2021 with "Firm", "Budget (USD Million)" and '
            '"Deals".',
        ),
    ],
    ids=["adjective", "hyphen", "quarter", "same label", "day and year", "year in the query"],
)
def test_what_is_said_in_another_form_stays(table: str, context: str, query: str) -> None:
    assert not tablemend.verify(table, context=context, query=query).errors
    assert not tablemend.mend(table, context, query).edits


def test_what_the_context_contradicts_is_still_wrong() -> None:
    table = answer("Bridge|Country|Length (m)", "Arda|Norway|313", "Brill|Norway|455")
    context = "Arda has a length of 310 m. Brill has a length of 455 m. Both are Norwegian bridges."
    (error,) = tablemend.verify(table, context=context, query="List the bridges.").errors
    assert (error.row, error.column, error.expected) == (0, "Length (m)", ("310 m",))
