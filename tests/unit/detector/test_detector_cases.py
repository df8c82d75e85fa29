"""Labelled pairs of cells, labelled answers, and the bad cases of TableHallu, Appendix E, in shape.

A record of ``tests/data/cell_pairs.jsonl``: the column's header, gold's cell, the answer's,
``same``, and ``why`` (the class of the pair). ``key``: the cells name their rows. ``known_miss``:
the label is true, and the detector does not get there.

A record of ``tests/data/table_answers.jsonl``: the gold table, the context, the sort that the query
asks for, the tables that the answer holds in their order, ``errors`` (a name for each finding),
``rows`` (how many gold rows it states) and ``why`` (the class of the answer).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tablemend.detector.algorithm import DETECTOR_VERSION, detect_errors, detect_in_answer
from tablemend.detector.matching import assign
from tablemend.detector.query import SortRule
from tablemend.detector.similarity import Pair
from tablemend.tables.read import FORMATS, Format, write_table
from tablemend.tables.table import Table
from tests.support.injected import found

DATA = Path(__file__).parents[2] / "data"
PAIRS, ANSWERS = (
    [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]
    for name in ("cell_pairs.jsonl", "table_answers.jsonl")
)
MISSED = pytest.mark.xfail(strict=True, reason="the detector errs")


def table(pair: dict[str, Any], cell: str | None) -> Table:
    """A row that the cell names, or a named row with the cell in it."""
    if "key" in pair:
        return Table.of([pair["header"], "Count"], [[cell, "7"]])
    return Table.of(["Entity", pair["header"]], [["Norvik", cell]])


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(
            pair,
            id=f"{pair['why']}: {pair['gold']} ~ {pair['answer']}",
            marks=[MISSED] if "known_miss" in pair else [],
        )
        for pair in PAIRS
    ],
)
def test_a_pair_is_as_labelled(pair: dict[str, Any]) -> None:
    judgement = detect_errors(table(pair, pair["answer"]), table(pair, pair["gold"]), "")
    assert judgement.hallucinated != pair["same"]


def read(table: dict[str, Any]) -> Table:
    return Table.of(table["columns"], table["rows"])


WRAPPINGS = (
    "{}",
    "####\n{}",
    "Here is the table:\n\n{}\n\nAll values are from the text.",
    "<think>One row for each? Yes.</think>\n\n#### \n\n{}\n",
)


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


def test_there_are_enough_pairs_of_both_labels_and_answers() -> None:
    assert len(PAIRS) >= 400
    assert 150 <= sum(pair["same"] for pair in PAIRS) <= len(PAIRS) - 150
    assert len(ANSWERS) * len(FORMATS) >= 400


FUNDS = Table.of(
    ["Fund", "Country", "Amount (USD Million)", "Deals", "Top Firm Backed", "Best Quarter"],
    [
        ["Alder Partners", "Norway", "310", "4", "Trellis", "Q2"],
        ["Birch Holdings", "Chile", "450", "6", None, "Q3"],
        ["Cedar Capital", "Japan", "900", "9", "Lumen", None],
    ],
)


def test_a_shortened_column_name_is_a_format_error_and_ends_the_checks() -> None:
    answer = Table.of(
        [name.replace("Top Firm Backed", "Top Firm") for name in FUNDS.columns],
        [[*row[:3], "999", *row[4:]] for row in FUNDS.rows],
    )
    judgement = detect_errors(answer, FUNDS, "", SortRule("Amount (USD Million)", "ascending"))
    assert found(judgement) == {"format_error": 1}
    assert "'Top Firm Backed'" in judgement.findings[0].evidence
    assert {finding.type for finding in judgement.findings} == {"format_error"}
    assert judgement.share("row_recall") == 1.0
    assert (
        judgement.shares["cell_recall"].part == 3 + 3 + 3 + 0 + 0 + 2
    )  # shared columns, deals wrong


def test_a_table_of_years_has_the_year_as_key_and_blanks_before_attributes() -> None:
    gold = Table.of(
        ["Year", "Print Revenue (USD Billion)", "Video Revenue (USD Billion)", "Growth (%)"],
        [
            ["2016", "11.5", "2.25", "-"],
            ["2017", "12.0", "3.5", "4.3"],
            ["2018", None, "4.75", "-"],
        ],
    )
    answer = Table.of(
        gold.columns,
        [
            ["2016", "$11.5 billion", "2.25", "0.0"],
            ["2017", "12", "3.4", "4.3%"],
            ["2018", "12.0", "4.75", "N/A"],
        ],
    )
    judgement = detect_errors(answer, gold, "")
    assert found(judgement) == {"attribute": 1, "blank_filling": 2}
    assert [(f.type, f.row, f.column) for f in judgement.findings] == [
        ("blank_filling", 0, "Growth (%)"),
        ("attribute", 1, "Video Revenue (USD Billion)"),
        ("blank_filling", 2, "Print Revenue (USD Billion)"),
    ]


TESTING = Table.of(
    ["Country", "Start Year", "Cities", "Company", "Approval", "Approval Year"],
    [
        ["Japan", "2011", "6", "Kestrel", "Conditional", "2020"],
        ["United States", "2013", "14", "Wayfar", "Permitted", "2017"],
        ["United States", "2014", "9", "Glide", "Permitted", "2021"],
        ["Japan", "2016", "2", "Nimbus", "Pilot Only", "-"],
        ["United States", "2018", "5", "Auriga", "Testing Only", "-"],
    ],
)
BY_START = SortRule("Start Year", "ascending")


def reword(rows: list[int]) -> Table:
    """The rows as a model writes them: longer approvals, other blanks."""
    return Table.of(
        TESTING.columns,
        [
            [
                *row[:4],
                f"{(row[4] or '').lower()} regulatory approval",
                (row[5] or "").replace("-", "N/A"),
            ]
            for row in (TESTING.rows[index] for index in rows)
        ],
    )


def test_repeated_countries_are_told_apart_by_their_rows() -> None:
    assert found(detect_errors(reword([0, 1, 2, 3, 4]), TESTING, "", BY_START)) == {}
    judgement = detect_errors(reword([0, 1, 3, 2, 4]), TESTING, "", BY_START)
    assert found(judgement) == {"order_mismatch": 1}
    finding = judgement.findings[0]
    assert (finding.row, finding.column, finding.expected, finding.got) == (
        3,
        "Start Year",
        "2016",
        "2014",
    )


def test_any_order_of_repeated_keys_is_matched_without_cell_errors() -> None:
    for rows in ([4, 3, 2, 1, 0], [2, 1, 4, 0, 3], [3, 0, 4, 2, 1]):
        assert found(detect_errors(reword(rows), TESTING, "", BY_START)) == {"order_mismatch": 1}
        assert found(detect_errors(reword(rows), TESTING, "")) == {}


def test_a_wrong_sort_cell_is_an_attribute_and_no_order_error() -> None:
    rows = [list(row) for row in TESTING.rows]
    rows[1][1] = "2019"
    assert found(detect_errors(Table.of(TESTING.columns, rows), TESTING, "", BY_START)) == {
        "attribute": 1
    }
    rows[3][1] = None
    judgement = detect_errors(Table.of(TESTING.columns, rows), TESTING, "", BY_START)
    assert found(judgement) == {"attribute": 2}


class Counting:
    """A similarity that matches one known pair and counts how it is asked."""

    name = "counting"

    def __init__(self, same: Pair) -> None:
        self.same = same
        self.calls: list[list[Pair]] = []

    def score(self, pairs: list[Pair]) -> list[float]:
        self.calls.append(list(pairs))
        return [1.0 if set(pair) == set(self.same) else 0.0 for pair in pairs]


def test_similarity_is_pluggable_and_named_in_the_judgement() -> None:
    answer = Table.of(FUNDS.columns, [["Erle-Gruppe", *FUNDS.rows[0][1:]], *FUNDS.rows[1:]])
    assert found(detect_errors(answer, FUNDS, "")) == {"entity_fabrication": 1}
    similarity = Counting(("erle-gruppe", "alder partners"))
    judgement = detect_errors(answer, FUNDS, "", similarity=similarity)
    assert found(judgement) == {}
    assert judgement.scorer == f"tablemend {DETECTOR_VERSION}, counting"
    assert similarity.calls == [[("alder partners", "erle-gruppe")]]


@pytest.mark.parametrize("values", [2, 4, 1000])
def test_pairs_are_those_of_scipy_whatever_is_tied(values: int) -> None:
    generator = np.random.default_rng(values)
    for _ in range(400):
        shape = generator.integers(1, 9, 2)
        gain = generator.integers(0, values, shape) / 4 + generator.choice([0.0, 5.0], shape)
        rows, columns = linear_sum_assignment(gain, maximize=True)
        assert assign(gain) == list(zip(rows.tolist(), columns.tolist(), strict=True))


def test_a_large_table_of_equal_rows_is_paired_in_time() -> None:
    place = np.arange(300.0)
    gain = 5 - (place[:, None] - place[None, :]) ** 2 / 1e6
    assert assign(gain) == [(row, row) for row in range(300)]
