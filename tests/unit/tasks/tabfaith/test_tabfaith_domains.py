"""Synthetic enterprise tables: numbers that agree with each other, and nothing of anybody's."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from tablemend.tables.table import Table
from tablemend.tasks.tabfaith.domains import (
    PANELS,
    SYNTHETIC,
    Domain,
    clinical_table,
    financial_table,
)


@pytest.mark.parametrize("domain", SYNTHETIC)
def test_a_number_decides_a_table_and_no_two_are_alike(domain: Domain) -> None:
    make = SYNTHETIC[domain]
    made = [make(0, number) for number in range(30)]
    assert made == [make(0, number) for number in range(30)]
    assert len({table.content_hash() for table in made}) == 30
    assert make(1, 0) != made[0]
    assert all(len(table.rows) >= 4 and len(table.columns) >= 4 for table in made)


def test_earnings_tables_have_the_papers_columns_and_agree_with_themselves() -> None:
    checked = 0
    for number in range(40):
        table = financial_table(0, number)
        if table.columns[1] != "Metric":
            continue
        assert table.columns == (
            "Fiscal Quarter", "Metric", "Reported Value", "YoY Change", "Analyst Consensus"
        )  # fmt: skip
        reported = {(row[0], row[1]): row[2] or "" for row in table.rows}
        for quarter, metric, now, change, _ in table.rows:
            before = re.sub(r"\d{4}", lambda year: str(int(year[0]) - 1), quarter or "")
            old = reported.get((before, metric))
            if old is None or change is None:
                continue
            checked += 1
            one, other = (Decimal(re.sub(r"[^\d.-]", "", text or "")) for text in (old, now))
            if metric == "Operating margin":
                assert change == f"{other - one:+} pp"
            else:
                assert abs(float(change.strip("+%")) - 100 * float(other - one) / float(one)) < 0.06
    assert checked > 50


def test_flags_agree_with_ranges_and_values_are_possible() -> None:
    tests = {test.name: test for panel in PANELS.values() for test in panel}
    seen = set()
    for number in range(60):
        table = clinical_table(0, number)
        ranges = table.column("Reference Range")
        for row, between in zip(table.rows, ranges, strict=True):
            test = tests[row[0] or ""]
            assert between == test.range
        if "Flag" not in table.columns and "Flag Status" not in table.columns:
            continue
        flag = "Flag" if "Flag" in table.columns else "Flag Status"
        value = "Result" if "Result" in table.columns else "Measurement"
        shown = zip(
            table.column(table.columns[0]), _measured(table, value), table.column(flag), strict=True
        )
        for name, number_, flagged in shown:
            test = tests[name or ""]
            above = test.high is not None and number_ > test.high
            below = test.low is not None and number_ < test.low
            wanted = "h" if above else "l" if below else "n"
            assert (flagged or "normal").casefold()[0] == wanted, (name, number_, flagged)
            seen.add(wanted)
            assert 0 <= number_ <= 1000
    assert seen == {"h", "l", "n"}


def _measured(table: Table, column: str) -> list[float]:
    return [float((cell or "").split()[0].rstrip("%")) for cell in table.column(column)]
