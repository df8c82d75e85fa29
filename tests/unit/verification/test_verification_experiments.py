"""Claims about tables of experiments: which method is better, and what is left open."""

from __future__ import annotations

import pytest

from tablemend.claims.extract import extract_claims
from tablemend.evidence.source import Source
from tablemend.records import Verification
from tablemend.tables.table import Table
from tablemend.verification.program import verify_document

TABLE = Table.of(
    ["Model", "BLEU", "WER (%)"],
    [["Plain", "20.1", "30.5"], ["Deep", "22.4", "28.0"], ["Wide", "21.0", "31.2"]],
    "Results of our models",
)
SCORES = Table.of(["Player", "Points", "Games"], [["Ann", "20", "9"], ["Bo", "31", "8"]], "Cup")


def verdict(text: str, table: Table = TABLE) -> str:
    document = extract_claims(text)
    return Verification(verify_document(document, Source((table,))), "program").verdict


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Deep outperforms Plain.", "supported"),
        ("Deep does not outperform Plain.", "contradicted"),
        ("Plain outperforms Deep.", "contradicted"),
        ("Wide outperforms Plain in terms of BLEU.", "supported"),
        ("Wide outperforms Plain.", "unscored"),  # better in BLEU, worse in WER
        ("Deep shows a lower WER than Wide.", "supported"),
        ("Deep shows a higher WER than Wide.", "contradicted"),
        ("Early fusion (27.1%) shows a higher WER than late fusion (31.0%).", "contradicted"),
    ],
)
def test_methods_are_compared_in_the_measures_named(text: str, expected: str) -> None:
    assert verdict(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Pointer Networks lead to better BLEU.",  # the table may abbreviate the name
        "We see an improvement of 1.7 BLEU over the baseline.",
    ],
)
def test_what_papers_write_out_is_left_open(text: str) -> None:
    assert verdict(text) == "unscored"


def test_a_stranger_to_a_table_of_no_experiments_is_still_found() -> None:
    assert verdict("Zoe Smith scored 31 points.", SCORES) in ("not_in_source", "contradicted")


def test_money_is_no_measure_of_experiments() -> None:
    table = Table.of(
        ["Segment", "Net Revenue Retention", "MRR"],
        [["Media", "90.5%", "$1,732,907"], ["Startup", "106.1%", "$141,318"]],
    )
    text = "The net revenue retention of Startup was 15.6 percentage points higher than of Media."
    assert verdict(text, table) != "contradicted"


def test_a_comparison_in_another_column_is_not_one_in_the_measure() -> None:
    table = Table.of(
        ["Model", "Size", "BLEU"], [["Deep", "300", "20.5"], ["Wide", "200", "24.1"]], "Results"
    )
    assert verdict("The size of Deep is higher than that of Wide.", table) != "contradicted"
    assert verdict("The BLEU of Deep is higher than that of Wide.", table) == "contradicted"
