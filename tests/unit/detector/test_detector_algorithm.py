"""The detector as a whole: verdicts, edges, streams; and gold tables without a row."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tablemend import detect
from tablemend.detector.algorithm import (
    DETECTOR_VERSION,
    Submission,
    detect_errors,
    detect_in_answer,
    detect_in_answers,
)
from tablemend.detector.errors import relation_to_gold
from tablemend.detector.keys import primary_key
from tablemend.detector.query import SortRule
from tablemend.detector.similarity import Context
from tablemend.exact_match import compare_exactly
from tablemend.tables.read import FORMATS, write_table
from tablemend.tables.table import Table
from tests.support.empty_gold import COLUMNS
from tests.support.empty_gold import CONTEXT as MILLS
from tests.support.injected import EDITS, context_of, found

GOLD = Table.of(
    ["Name", "Year", "City", "Budget (USD million)"],
    [
        ["Alder", "1990", "Oslo", "5"],
        ["Birch", "1995", None, "7.5"],
        ["Cedar", "2001", "Lima", "12"],
        ["Dogwood", "2010", "Kyoto", None],
    ],
)
RULE = SortRule("Year", "ascending")


def change(row: int, column: int, cell: str | None) -> Table:
    rows = [list(cells) for cells in GOLD.rows]
    rows[row][column] = cell
    return Table.of(GOLD.columns, rows)


def test_an_empty_table_abstains_in_every_format() -> None:
    answers = {format: write_table(Table.of(GOLD.columns, []), format) for format in FORMATS}
    for format, text in [*answers.items(), ("json", "[]"), ("json", '{"Trees": []}')]:
        judgement = detect_in_answer(text, GOLD, "", RULE, format)
        assert (found(judgement), judgement.abstained) == ({}, True)
        assert (judgement.share("row_recall"), judgement.share("cell_recall")) == (0.0, 0.0)
        assert (judgement.shares["row_recall"].total, judgement.shares["cell_recall"].total) == (
            4,
            14,
        )


def test_missing_rows_cost_recall_and_are_no_finding() -> None:
    judgement = detect_errors(Table.of(GOLD.columns, GOLD.rows[1:3]), GOLD, "", RULE)
    assert found(judgement) == {}
    assert (judgement.shares["row_recall"].part, judgement.shares["row_recall"].total) == (2, 4)
    assert (judgement.shares["cell_recall"].part, judgement.shares["cell_recall"].total) == (7, 14)


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (change(0, 2, "Bergen"), ("attribute", 0, "City", "Oslo", "Bergen")),
        (change(0, 2, "N/A"), ("attribute", 0, "City", "Oslo", "N/A")),
        (change(1, 2, "Rome"), ("blank_filling", 1, "City", None, "Rome")),
        (change(1, 3, "75"), ("attribute", 1, "Budget (USD million)", "7.5", "75")),
        (change(2, 0, None), ("attribute", 2, "Name", "Cedar", None)),
        (change(2, 0, "Elm"), ("out_of_range", 2, None, None, "Elm")),
        (change(2, 0, "Fir"), ("entity_fabrication", 2, None, None, "Fir")),
    ],
)
def test_a_finding_says_what_where_and_why(
    answer: Table, finding: tuple[str, int, str | None, str | None, str | None]
) -> None:
    judgement = detect_errors(answer, GOLD, "The elm stands apart; firs do not matter.", RULE)
    (only,) = judgement.findings
    assert (only.type, only.row, only.column, only.expected, only.got) == finding
    assert only.evidence
    assert judgement.scorer == f"tablemend {DETECTOR_VERSION}, lexical-6"


def test_what_cannot_be_scored_is_neither_right_nor_wrong() -> None:
    twice = Table.of(["A", " a "], [["1", "2"]])
    empty = Table.of(["A", "B"], [[None, "-"]])
    cases = [
        (Submission("x", twice, ""), "more than once"),
        (Submission("x", empty, ""), "all of them are blank"),
        (Submission("x", GOLD, "", SortRule("Colour", "ascending")), "'Colour' is not in the gold"),
        (Submission("", GOLD, "", failed="timed out"), "no answer: timed out"),
    ]
    for submission, reason in cases:
        (judgement,) = detect_in_answers([submission])
        assert reason in judgement.unscored
        assert not judgement.hallucinated and not judgement.abstained


def test_the_key_of_a_date_table_is_its_text_column() -> None:
    assert primary_key(Table.of(["Day", "Name"], [["4 May 2020", "x"]])) == 1
    assert primary_key(Table.of(["No", "Day"], [["1", "4 May 2020"]])) == 1
    assert primary_key(Table.of(["Year", "Score", "Total"], [["2020", "3-1", "5"]])) == 0
    assert primary_key(Table.of(["Rank", "Film"], [["1", "300"], ["2", "Up"], ["3", "Ran"]])) == 1
    assert primary_key(Table.of(["Void", "Name"], [[None, "x"], ["-", "y"]])) == 1


CONTEXT = Context(
    "On March 4, 2021 the São Paulo team (J. K. Smith, U.S.) sold 1,234 units for $5 million. "
    "South Korea's Disney+ launch followed. Angela Merkel spoke. A+ grades went to 17 of 20. "
    "Alpha One beat Ford Motor Company, the New Democratic Party and the BBC after World War II."
)


@pytest.mark.parametrize(
    "key",
    "Sao Paulo|são paulo|South Korea|South Korea (ROK)|Disney+|Merkel, Angela|4 March 2021|"
    "2021-03-04|March 2021|1234|1,234|5,000,000|$5 million|US|17|A+|the South Korea|"
    "Alpha 1|Ford Motor Co.|NDP|British Broadcasting Corporation|World War 2|WWII|WW2|Dr. Angela "
    "Merkel".split("|"),
)
def test_the_context_names_a_key_in_any_spelling(key: str) -> None:
    assert CONTEXT.mentions(key)


@pytest.mark.parametrize(
    "key",
    "Korea Republic|Disneyland|North Korea|7|123|5 March 2021|2020|$6 million|Merkel Smith|A|-|N/A|"
    "Paulo Merkel|Launch of Brazil|Alpha 2|NDA|World War 3|WWI|AM|Motor Broadcasting".split("|"),
)
def test_the_context_does_not_name_what_is_not_there(key: str) -> None:
    assert not CONTEXT.mentions(key)


def submissions(count: int) -> Iterator[Submission]:
    for number in range(count):
        source = random.Random(number)
        _, edit = EDITS[source.choice(list(EDITS))]
        edited = edit(GOLD, source)
        assert edited is not None
        yield Submission(write_table(edited, "markdown"), GOLD, context_of(GOLD), RULE)


def test_a_stream_is_scored_as_its_answers_one_by_one() -> None:
    alone = [
        detect_in_answer(one.text, one.gold, one.context, one.order) for one in submissions(60)
    ]
    assert list(detect_in_answers(submissions(60))) == alone


def test_an_endless_answer_is_scored_in_time() -> None:
    header = write_table(Table.of(GOLD.columns, []), "markdown")
    endless = header + "\n" + "| Alder | 1990 | Oslo | 5 |\n" * 9_000
    judgement = detect_in_answer(endless, GOLD, "Alder", RULE)
    assert (judgement.shares["row_recall"].part, found(judgement)) == (1, {"out_of_range": 8_999})
    for text in (endless * 12, "word " * 600_000):  # three megabytes
        assert detect_in_answer(text, GOLD, "").counts["format_error"] == 1


NO_ROWS = Table.of(COLUMNS, [])
BY_WHEELS = SortRule("Wheels", "ascending")
EMPTY = [
    *((form, write_table(NO_ROWS, form)) for form in FORMATS),
    ("json", "[]"),
    ("json", '#### {"Mills": []}'),
    ("markdown", "| Mill | Place | Wheels |\n|-|-|-|\n| | - | |"),
]


@pytest.mark.parametrize(("form", "text"), EMPTY)
def test_the_header_alone_is_right_and_no_abstention(form: str, text: str) -> None:
    judgement = detect_in_answer(text, NO_ROWS, MILLS, BY_WHEELS, form)
    assert (judgement.unscored, judgement.findings, judgement.abstained) == ("", (), False)
    assert relation_to_gold(judgement) == "well_matched"
    # nothing to recall: neither 0 nor 1
    assert (judgement.share("row_recall"), judgement.share("cell_recall")) == (None, None)


@pytest.mark.parametrize("form", FORMATS)
def test_each_row_is_out_of_range_or_made_up(form: str) -> None:
    rows = [["Alder", "Oslo", "5"], ["Froxwick", "Ghent", "9"], ["Cedar", "Kyoto", "12"]]
    judgement = detect_in_answer(
        write_table(Table.of(COLUMNS, rows), form), NO_ROWS, MILLS, BY_WHEELS, form
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
    judgement = detect_in_answer(answer, Table.of(columns, []), MILLS)
    assert found(judgement) == {"entity_fabrication": 2}


@pytest.mark.parametrize(
    "text",
    ["There are no such rows.", "", "| Mill | Wheels |\n|---|---|", "| Mill |\n|---|\n| Alder |"],
)
def test_no_table_and_other_columns_are_format_errors(text: str) -> None:
    judgement = detect_in_answer(text, NO_ROWS, MILLS, BY_WHEELS, "markdown")
    assert found(judgement) == {"format_error": 1}
    assert [one.kind for one in opinion(text, "markdown").differences] in (
        ["unreadable"],
        ["columns"],
    )


def opinion(text: str, form: str):
    return compare_exactly(text, form, NO_ROWS.columns, NO_ROWS.rows, "Wheels")


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
    right = detect(write_table(NO_ROWS, "markdown"), NO_ROWS, MILLS)
    assert (right.score, right.row_recall, right.errors, right.abstained) == (None, None, (), False)
    wrong = detect("| Mill | Place | Wheels |\n|---|---|---|\n| Alder | Oslo | 5 |", NO_ROWS, MILLS)
    assert [(one.type, one.row, one.word) for one in wrong.errors] == [("out_of_range", 0, "Alder")]
