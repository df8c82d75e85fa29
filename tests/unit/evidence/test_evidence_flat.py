"""Tables of several levels as plain ones: headers, spacers, sections, totals, equal names."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tablemend.evidence.grid import flatten
from tablemend.tables.read import read_table
from tablemend.tables.table import Table


def flat(rows: Sequence[Sequence[str]]) -> Table:
    return flatten(Table.of(rows[0], rows[1:]))


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        pytest.param(
            [
                ["club", "season", "league", "", "cup", ""],
                ["", "", "apps", "goals", "apps", "goals"],
                ["Stoke", "1980-81", "11", "0", "3", "1"],
                ["", "1981-82", "13", "4", "1", "0"],
            ],
            ("club", "season", "league apps", "league goals", "cup apps", "cup goals"),
            id="merged cells that came apart",
        ),
        pytest.param(
            [
                ["Club performance", "Club performance", "League", "League", "Cup", "Cup"],
                ["Season", "Club", "Apps", "Goals", "Apps", "Goals"],
                ["2000", "Osaka", "1", "0", "0", "0"],
                ["2001", "Kobe", "5", "2", "1", "0"],
            ],
            ("Season", "Club", "League Apps", "League Goals", "Cup Apps", "Cup Goals"),
            id="spans that were repeated, above words",
        ),
        pytest.param(
            [
                ["Event", "Gold", "Time", "Silver", "Time"],
                ["K-1", "Lisa", "39.9", "Marta", "40.4"],
                ["K-2", "Nicole", "47.0", "Danuta", "47.3"],
            ],
            ("Event", "Gold", "Gold Time", "Silver", "Silver Time"),
            id="one name twice",
        ),
        pytest.param(
            [
                ["Party", "Party", "Candidate", "Votes"],
                ["-", "Green", "Ann Lee", "120"],
                ["-", "Blue", "Bo Fox", "90"],
            ],
            ("Party", "Candidate", "Votes"),
            id="a column of colours, without text",
        ),
        pytest.param(
            [
                ["(in millions)", "2019", "", "2018"],
                ["Cars", "7", "", "8"],
                ["Vans", "1", "", "2"],
            ],
            ("Item", "2019", "2018"),
            id="a spacer, and a unit over the names",
        ),
        pytest.param(
            [["", "a", "", "b"], ["Cars", "7", "x", "8"], ["Vans", "1", "y", "2"]],
            ("Item", "a", "b"),
            id="columns without a name",
        ),
    ],
)
def test_each_column_gets_one_name_of_its_own(
    rows: list[list[str]], columns: tuple[str, ...]
) -> None:
    assert flat(rows).columns == columns


def test_totals_and_headings_are_no_rows_and_headings_of_all_rows_a_column() -> None:
    rows = [["", "2019", "2018"], ["Assets:", "", ""], ["Cash", "130", "91"]]
    rows += [["Receivables", "128", "126"], ["Total assets", "258", "217"]]
    rows += [["Liabilities:", "", ""], ["Debt", "5", "6"], ["Leases", "7", "8"]]
    rows += [["Total liabilities", "12", "14"]]
    assert flat(rows).columns == ("Item", "2019", "2018", "Section")
    assert [row[::3] for row in flat(rows).rows] == [
        ("Cash", "Assets"),
        ("Receivables", "Assets"),
        ("Debt", "Liabilities"),
        ("Leases", "Liabilities"),
    ]


def test_merged_headings_of_rows_are_filled() -> None:
    rows = [["club", "season", "apps"], ["Stoke", "1980", "1"], ["", "1981", "2"]]
    rows += [["Everton", "1982", "4"], ["", "1983", "3"]]
    assert [row[0] for row in flat(rows).rows] == ["Stoke", "Stoke", "Everton", "Everton"]


def test_signs_in_columns_of_their_own_join_their_numbers() -> None:
    page = (
        "<table><tr><td></td><td colspan=3>2019</td><td></td><td colspan=3>2018</td></tr>"
        "<tr><td>Sales</td><td>$</td><td>12</td><td></td><td></td><td>$</td><td>9</td><td></td></tr>"
        "<tr><td>Income</td><td>$</td><td>(3</td><td>)</td><td></td><td>$</td><td>(1</td><td>)</td></tr>"
        "</table>"
    )
    found = flatten(read_table(page))
    assert found.columns == ("Item", "2019", "2018")
    assert found.rows == (("Sales", "$12", "$9"), ("Income", "$(3)", "$(1)"))


def test_a_plain_table_stays_as_it_is() -> None:
    table = Table.of(["Ship", "Built", "Length (m)"], [["Ada", "1901", "80"], ["Bee", "", "91"]])
    assert flatten(table) == table
