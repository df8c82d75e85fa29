"""What makes a table usable: which column names its rows, what of its cells can be said."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tablemend.datasets.source_tables.columns import Column, TypedTable, Unusable, type_table
from tablemend.datasets.source_tables.names import without_flags
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu.labels import labels_of

NAMES = ("Avon", "Bryn", "Cole", "Dorn", "Eden", "Fell")
"""Names of places, of one word."""


def with_column(name: str, cells: Sequence[str]) -> TypedTable:
    """A typed table with one more column."""
    pairs = enumerate(zip(NAMES, cells, strict=True))
    rows = [[n, str(1900 + i), str(7 * i * i + 3), c] for i, (n, c) in pairs]
    return type_table(Table.of(["Village", "Founded", "People", name], rows), 3)


@pytest.mark.parametrize(
    ("headers", "names"),
    [
        (["area (km square)", "area (sq mi)"], ["area in square km", "area in square miles"]),
        (["Height (m)", "Height (ft)"], ["height in m", "height in ft"]),
        (["Weight (kg)", "Weight (lb)", "Weight"], ["weight in kg", "weight in lb", "weight"]),
        (["Revenue (USD)", "Revenue (EUR)"], ["revenue in USD", "revenue in EUR"]),
        (["GDP (2010)", "GDP (2011)"], ["GDP in 2010", "GDP in 2011"]),
        (["Area (km2)", "Area (dunam)"], ["area in km²", "Area (dunam)"]),
        (["Votes", "Votes (%)"], ["votes", "votes in %"]),
        (["2019 ($)", "2019 (%)"], ["2019 ($)", "2019 (%)"]),
        (["Pts", "Pts."], ["Pts", "Pts."]),
        (["Pop. 2010", "Pop 2010"], ["Pop. 2010", "Pop 2010"]),
    ],
)
@pytest.mark.parametrize("unit", [("", ""), ("", "m")], ids=["bare numbers", "own unit"])
def test_labels_of_one_table_are_distinct_by_their_units(
    headers: list[str], names: list[str], unit: tuple[str, str]
) -> None:
    labels = labels_of([Column(header, "number", unit) for header in headers])
    assert [label.name for label in labels] == names


def test_a_unit_that_tells_nothing_apart_stays_with_the_values() -> None:
    (label, _) = labels_of([Column("Height (m)", "number"), Column("Width (m)", "number")])
    assert (label.name, label.after) == ("height", " m")


@pytest.mark.parametrize(
    ("cells", "clean"),
    [
        (
            ["Ukraine Natalia Esina", "Russia Anna Bulgakova", "Ukraine Oksana Shkurat"],
            ["Natalia Esina", "Anna Bulgakova", "Oksana Shkurat"],
        ),
        (["NED Bauke Mollema", "ESP Luis Leon", "NED Laurens ten Dam"],
         ["Bauke Mollema", "Luis Leon", "Laurens ten Dam"]),
        (["Italy Rome, Italy", "Russia Moscow, Russia", "Russia Kazan, Russia"],
         ["Rome, Italy", "Moscow, Russia", "Kazan, Russia"]),
        (["South Korea Lee Hyun-il", None, "South Korea Park Sung-hwan", "China Lin Dan"],
         ["Lee Hyun-il", None, "Park Sung-hwan", "Lin Dan"]),
    ],
)  # fmt: skip
def test_countries_that_flags_left_are_taken_away(cells: list[str], clean: list[str]) -> None:
    assert without_flags(cells) == clean


@pytest.mark.parametrize(
    "cells",
    [
        ["Kenya Airways", "Japan Airlines", "Kenya Airlines", "Japan Airways"],
        ["Ecuador Open", "Chile Open", "Chile Open", "Peru Open", "Spain Open"],
        ["China (CHN)", "Japan (JPN)", "China (CHN)"],
        ["Pakistan won", "India won", "Pakistan lost", "India lost"],
        ["Chile", "Peru", "Chile", "Peru Lima"],
        ["USA Lady Jaguars", "USA Lady Jaguars", "USA Tigers"],
    ],
)
def test_names_that_have_a_country_in_them_stay(cells: list[str]) -> None:
    assert without_flags(cells) == cells


@pytest.mark.parametrize(
    ("name", "cells", "usable"),
    [
        ("Notes", ["5.81 m", "5649 pts", "24:33.63", "3:51.91 CR", "11.7", "12"], False),
        ("Remarks", ["NR", "Q", "PB", "NR", "SB", "Q"], False),
        ("Notes", ["rebuilt", "2 mills", "3 churches", "by the sea", "rebuilt", "old"], True),
        ("Day", ["St", "T", "Tu", "St", "T", "M"], False),
        ("Market day", ["Monday", "Friday", "Monday", "Sunday", "Friday", "Monday"], True),
        ("Class", ["aa", "b", "aa", "b", "c", "aa"], False),
        ("Mill", ["yes", "no", "no", "yes", "no", "yes"], True),
    ],
)
def test_marks_and_codes_are_not_said(name: str, cells: list[str], usable: bool) -> None:
    assert with_column(name, cells).columns[3].usable == usable


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        ("h a n h a h", "home"),
        ("W L D W W L", "win"),
        ("gk df mf fw df mf", "goalkeeper"),
        ("yes no yes no yes no", "yes"),
    ],
)
def test_clear_codes_are_written_out(cells: str, first: str) -> None:
    assert with_column("Kind", cells.split()).table.rows[0][3] == first


@pytest.mark.parametrize("code", ["dsq", "f", "a", "DNF"])
def test_a_code_among_numbers_is_no_value(code: str) -> None:
    cells = ["12", "15", "9", "31", "22", "18"]
    pairs = enumerate(zip(NAMES, cells, strict=True))
    rows = [[f"{n} Hill", str(1900 + i), c] for i, (n, c) in pairs]
    rows += [["Gale Hill", "1910", "44"], ["Holm Hill", "1911", code]]
    typed = type_table(Table.of(["Mine", "Opened", "Output (kg)"], rows), 3)
    assert typed.columns[2].kind == "number"
    assert typed.table.rows[-1] == ("Holm Hill", "1911", None)


def test_most_may_be_codes_but_for_numbers() -> None:
    cells = ["16.2", "x", "15.9", "x", "16.4", "dns"]
    assert with_column("Attempt", cells).columns[3].kind == "number"
    assert with_column("Attempt", ["16.2", "x", "x", "x", "x", "dns"]).columns[3].kind != "number"


def test_abbreviations_in_small_letters_are_capitals() -> None:
    rows = [[n[:3].lower(), str(1990 + i), str(3 * i), str(8 - i)] for i, n in enumerate(NAMES)]
    typed = type_table(Table.of(["team", "year", "won", "lost"], rows))
    assert typed.table.rows[0][0] == "AVO"


def test_names_come_again_where_a_time_tells_their_rows_apart() -> None:
    rows = [
        ["Stoke City" if year < 1988 else "Everton", str(year), str(year % 7), str(year % 5)]
        for year in range(1980, 1992)
    ]
    names = ["Club", "Season", "Games", "Goals"]
    typed = type_table(Table.of(names, rows))
    assert (typed.key, typed.distinguishing, len(typed.table.rows)) == (0, (1,), 12)
    with pytest.raises(Unusable, match="names entities"):
        type_table(
            Table.of(["Club", "Shirt", "Games", "Goals"], [[r[0], "9", *r[2:]] for r in rows])
        )


def test_a_place_names_the_rows_only_where_nothing_else_does() -> None:
    rows = [[f"{n} Town", str(1990 + i), f"{n} Cup", str(5 * i)] for i, n in enumerate(NAMES)]
    assert type_table(Table.of(["Venue", "Year", "Competition", "Points"], rows)).key == 2
    assert type_table(Table.of(["Venue", "Year", "Notes", "Points"], rows)).key == 0


def test_a_finish_names_no_row() -> None:
    finishes = ["1st, Heartland", "3rd, Heartland", "2nd (East)", "T-4th", "5th", "6th, West"]
    rows = [[f, str(1990 + i), str(3 * i), str(8 - i)] for i, f in enumerate(finishes)]
    with pytest.raises(Unusable, match="names entities"):
        type_table(Table.of(["Standing", "Year", "Won", "Lost"], rows))


@pytest.mark.parametrize("line", ["Majority", "Turnout", "Labour hold", "Registered electors"])
def test_lines_that_span_a_table_are_no_rows(line: str) -> None:
    rows = [[f"Party {n}", f"Ann {n}", str(900 - 7 * i), str(40 - i)] for i, n in enumerate(NAMES)]
    names = ["Party", "Candidate", "Votes", "Share"]
    typed = type_table(Table.of(names, [*rows, [line, line, "77", "3"], ["-", line, "78", "2"]]))
    assert len(typed.table.rows) == len(rows)


def test_numbers_given_twice_are_read_once() -> None:
    typed = with_column("Change", ["-84 ( 84 )", "12", "-3.5 ( 3.5 )", "7", "-1 ( 1 )", "2"])
    assert typed.orders[3][:3] == (-84.0, 12.0, -3.5)


def test_the_hash_is_of_the_table_as_read() -> None:
    rows = [["Club", "Games", ""], ["", "won", "lost"]]
    rows += [[f"{n} United", str(i), str(9 - i)] for i, n in enumerate(NAMES)]
    table = Table.of(rows[0], rows[1:])
    typed = type_table(table, 3)
    assert typed.table.columns == ("Club", "Games won", "Games lost")
    assert typed.source_hash == table.content_hash()
