"""The bad cases of TableHallu, Appendix E, in shape: the same errors in tables of our own."""

from __future__ import annotations

from tablemend.detector.algorithm import DETECTOR_VERSION, detect_errors
from tablemend.detector.query import SortRule
from tablemend.detector.similarity import Pair
from tablemend.tables.table import Table
from tests.support.injected import found

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
