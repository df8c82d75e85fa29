"""Gold tables without rows: the header alone is right, and every row is an error."""

from __future__ import annotations

import pytest

from tablemend import detect
from tablemend.detector.algorithm import detect_in_answer
from tablemend.detector.errors import relation_to_gold
from tablemend.detector.query import SortRule
from tablemend.exact_match import compare_exactly
from tablemend.tables.read import FORMATS, write_table
from tablemend.tables.table import Table
from tests.support.empty_gold import COLUMNS, CONTEXT
from tests.support.injected import found

GOLD = Table.of(COLUMNS, [])
RULE = SortRule("Wheels", "ascending")
EMPTY = [
    *((form, write_table(GOLD, form)) for form in FORMATS),
    ("json", "[]"),
    ("json", '#### {"Mills": []}'),
    ("markdown", "| Mill | Place | Wheels |\n|-|-|-|\n| | - | |"),
]


@pytest.mark.parametrize(("form", "text"), EMPTY)
def test_the_header_alone_is_right_and_no_abstention(form: str, text: str) -> None:
    judgement = detect_in_answer(text, GOLD, CONTEXT, RULE, form)
    assert (judgement.unscored, judgement.findings, judgement.abstained) == ("", (), False)
    assert relation_to_gold(judgement) == "well_matched"
    # nothing to recall: neither 0 nor 1
    assert (judgement.share("row_recall"), judgement.share("cell_recall")) == (None, None)


@pytest.mark.parametrize("form", FORMATS)
def test_each_row_is_out_of_range_or_made_up(form: str) -> None:
    rows = [["Alder", "Oslo", "5"], ["Froxwick", "Ghent", "9"], ["Cedar", "Kyoto", "12"]]
    judgement = detect_in_answer(
        write_table(Table.of(COLUMNS, rows), form), GOLD, CONTEXT, RULE, form
    )
    assert [(one.type, one.row) for one in judgement.findings] == [
        ("out_of_range", 0),
        ("entity_fabrication", 1),
        ("out_of_range", 2),
    ]
    assert relation_to_gold(judgement) == "too_strong"


def test_rows_are_named_by_the_column_of_names() -> None:
    """No gold row says which column that is: the years are in the context, the mills are not."""
    columns = ["Year", "Mill"]
    answer = write_table(Table.of(columns, [["1990", "Froxwick"], ["2001", "Umber"]]), "markdown")
    judgement = detect_in_answer(answer, Table.of(columns, []), CONTEXT)
    assert found(judgement) == {"entity_fabrication": 2}


@pytest.mark.parametrize(
    "text",
    ["There are no such rows.", "", "| Mill | Wheels |\n|---|---|", "| Mill |\n|---|\n| Alder |"],
)
def test_no_table_and_other_columns_are_format_errors(text: str) -> None:
    judgement = detect_in_answer(text, GOLD, CONTEXT, RULE, "markdown")
    assert found(judgement) == {"format_error": 1}
    assert [one.kind for one in opinion(text, "markdown").differences] in (
        ["unreadable"],
        ["columns"],
    )


def opinion(text: str, form: str):
    return compare_exactly(text, form, GOLD.columns, GOLD.rows, "Wheels")


@pytest.mark.parametrize(
    ("form", "text"), [one for one in EMPTY if one[0] in ("markdown", "json", "latex")]
)
def test_the_second_scorer_agrees(form: str, text: str) -> None:
    said = opinion(text, form)
    assert (said.differences, said.unscored, said.rows) == ((), "", 0)
    rows = Table.of(COLUMNS, [["Alder", "Oslo", "5"], ["Froxwick", "Ghent", None]])
    said = opinion(write_table(rows, form), form)
    assert [one.kind for one in said.differences] == ["extra_row", "extra_row"]


def test_the_second_scorer_reads_columns_and_rows_strictly() -> None:
    gold = Table.of(["A", "B"], [["x", "1"]])
    for text, kinds in {
        '{"columns": ["A", "B"], "rows": [["x", 1]]}': [],
        '{"columns": ["A", "B"], "rows": [["x", 2]]}': ["cell"],
        '{"columns": ["A", "B"], "rows": [["x"]]}': ["unreadable"],
        '{"columns": ["A", "B"], "rows": 5}': ["unreadable"],
        '{"columns": ["A", ["B"]], "rows": []}': ["unreadable"],
        '{"columns": ["A", "B"], "rows": [{"A": "x"}]}': ["unreadable"],
    }.items():
        said = compare_exactly(text, "json", gold.columns, gold.rows, None)
        assert [one.kind for one in said.differences] == kinds, text


def test_in_one_call_there_is_no_score_and_no_error() -> None:
    right = detect(write_table(GOLD, "markdown"), GOLD, CONTEXT)
    assert (right.score, right.row_recall, right.errors, right.abstained) == (None, None, (), False)
    wrong = detect("| Mill | Place | Wheels |\n|---|---|---|\n| Alder | Oslo | 5 |", GOLD, CONTEXT)
    assert [(one.type, one.row, one.word) for one in wrong.errors] == [("out_of_range", 0, "Alder")]
