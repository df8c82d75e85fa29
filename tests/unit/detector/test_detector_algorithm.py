"""The detector as a whole: verdicts, edges and streams."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tablemend.detector.algorithm import (
    DETECTOR_VERSION,
    Submission,
    detect_errors,
    detect_in_answer,
    detect_in_answers,
)
from tablemend.detector.keys import primary_key
from tablemend.detector.query import SortRule
from tablemend.detector.similarity import Context
from tablemend.tables.read import FORMATS, write_table
from tablemend.tables.table import Table
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
