"""Order: what counts as sorted, and how the rule is read from a query."""

from __future__ import annotations

import random

import pytest

from tablemend.detector.query import SortRule, find_disorder, ordered_pairs, sort_rule_from_query


def in_order(gold: list[str | None], answer: list[int], order: str = "ascending") -> bool:
    assert order in ("ascending", "descending")
    return find_disorder(gold, answer, order) is None


@pytest.mark.parametrize(
    "values",
    [
        ["5", "40", "300", "1,000"],
        ["$900", "$1 million", "$2 billion"],
        ["5%", "12.5%", "100%"],
        ["2 May 1999", "January 4, 2001", "2001-02-03"],
        ["2019", "March 2020", "May 4, 2021"],
        ["January", "February", "March", "September"],
        ["Monday", "Wednesday", "Saturday"],
        ["Q1 2020", "Q4 2020", "Q1 2021"],
        ["alpha", "Beta", "gamma"],
        ["Alpha", "Gamma", "alpha", "beta"],  # capitals first
        ["The Beatles", "Cream", "The Who"],  # articles apart
        ["Cream", "The Beatles", "Zappa"],
        ["Ålborg", "Berlin", "Zürich"],
        ["3-1", "12-4"],
        ["Group 2", "Group 10"],
    ],
)
def test_sorted_values_are_in_order_and_any_swap_is_not(values: list[str | None]) -> None:
    rows = list(range(len(values)))
    assert in_order(values, rows)
    assert in_order(values[::-1], rows, "descending")
    for first in rows[:-1]:
        swapped = rows.copy()
        swapped[first], swapped[first + 1] = swapped[first + 1], swapped[first]
        assert not in_order(values, swapped)
        assert not in_order(values[::-1], swapped, "descending")
    assert not in_order(values, rows[::-1])


def test_ties_and_blanks_are_free() -> None:
    values = ["1", None, "2", "2", "N/A", "3"]
    for answer in ([0, 1, 2, 3, 4, 5], [1, 0, 3, 2, 5, 4], [4, 0, 3, 1, 2, 5]):
        assert in_order(values, answer)
    assert not in_order(values, [2, 1, 0])


@pytest.mark.parametrize(
    ("rows", "kept"), [([0, 1, 2, 3], 5), ([1, 0, 2, 3], 5), ([0, 2], 1), ([3, 2, 1, 0], 0)]
)
def test_pairs_in_order_are_counted_without_ties(rows: list[int], kept: int) -> None:
    assert ordered_pairs(["1", "1", "2", "3"], rows, "ascending") == (kept, 5)


def test_missing_rows_leave_the_others_in_order() -> None:
    assert in_order(["1", "2", "3", "4"], [0, 3])
    assert not in_order(["1", "2", "3", "4"], [3, 0])
    assert in_order(["1", "2"], [1])
    assert in_order(["1", "2"], [])


def test_a_gold_table_that_breaks_the_rule_is_never_flagged_itself() -> None:
    source = random.Random(1)
    for _ in range(300):
        values: list[str | None] = [
            source.choice(["3", "x", "May 2020", None, "9"]) for _ in range(6)
        ]
        for order in ("ascending", "descending"):
            assert in_order(values, list(range(6)), order)


SORTED = {
    ("Start Year", "ascending"): [
        'Sort the table by "Start Year" in ascending order.',
        "Ensure that the table is sorted by “Start Year” in ascending order. Only output",
        "in ascending order of Start Year",
        "sorted chronologically according to Start Year",
        'in this order: "City", "Start Year". Sort the rows by "Start Year", ascending',
    ],
    ("Start Year", "descending"): [
        "Make sure to sort the table by 'Start Year' in descending order",
        "The rows should be ordered by start year, from highest to lowest.",
        "sorted in descending order by Start Year",
        "Sort by Start Year (latest first), then by City ascending",
        "Sort by Start Year in reverse chronological order",
        "sort by start_year, decreasing",
        "sorted by descending Start Year",
    ],
    ("City", "ascending"): [
        "arranged alphabetically by City",
        "sort by City asc",
        "sort by each town's City in the region's list, ascending",
    ],
    ("City", "descending"): [
        "arrange it by City (Z to A)",
        "ORDER BY City DESC",
        'sort by "City (descending)"',
    ],
    ("Amount (USD Million)", "descending"): [
        "rank the rows by Amount (USD Million) with the largest first",
    ],
    ("Amount (USD Million)", "ascending"): [
        'sorted by "amount (usd million)" in increasing order',
    ],
    ("Start", "ascending"): [
        "Sort by Start in ascending order",
    ],
}


@pytest.mark.parametrize(
    ("query", "rule"), [(query, rule) for rule, queries in SORTED.items() for query in queries]
)
def test_reads_the_sort_rule(query: str, rule: tuple[str, str]) -> None:
    columns = ["City", "Start", "Start Year", "Amount (USD Million)"]
    assert sort_rule_from_query(query, columns) == SortRule(*rule)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "Make a table of cities with the columns City and Start Year.",
        'with the following columns in this order: "City", "Start Year". Rows in scope only.',
        "Sort the table by Population in ascending order.",
        "Sort the table by City.",
        "Sort in ascending order by 'Population'. Include 'City' and 'Start Year'.",
        'Sort in ascending order by "Population", and write "City" and "Start Year" too.',
        'Make sure that it is sorted by "Capital City" in ascending order.',
        "Sort by population, ascending. Start Year comes second.",
        "What sort of city grew by a year? Ascending prices are common in City.",
    ],
)
def test_finds_no_rule_where_none_is_said(query: str) -> None:
    assert sort_rule_from_query(query, ["City", "Start Year"]) is None
