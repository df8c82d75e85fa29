"""A table as a reader takes it: headers, sections, units, totals, names; and as a plain one."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest

from tablemend.evidence.grid import Grid, flatten
from tablemend.evidence.labels import caption_unit, label_unit, names_total, plain_cell, read_cell
from tablemend.tables.html import join_signs
from tablemend.tables.read import read_table
from tablemend.tables.table import Table
from tablemend.values.units import Unit

MILLION, THOUSAND = Decimal(10**6), Decimal(1000)


def grid_of(rows: Sequence[Sequence[str | None]], title: str = "") -> Grid:
    return Grid(Table.of([cell or "" for cell in rows[0]], rows[1:], title))


HIERARCHY = [
    ["industry", "women", "", "men", ""],
    ["", "college", "degree", "college", "degree"],
    ["", "percent", "", "", ""],
    ["region", "", "", "", ""],
    ["north", "78.1", "34.8", "59.5", "18.4"],
    ["south", "79.6", "50.8", "63.6", "35.3"],
    ["town", "", "", "", ""],
    ["east", "75.5", "31.3", "54.6", "15.8"],
]


def test_flattened_header_rows_become_paths_and_a_unit() -> None:
    grid = grid_of(HIERARCHY)
    assert [column.path for column in grid.columns] == [
        ("industry",),
        ("women", "college"),
        ("women", "degree"),
        ("men", "college"),
        ("men", "degree"),
    ]
    assert grid.columns[2].header == "women, degree"
    assert grid.columns[2].name == "degree"
    assert [column.unit.symbol for column in grid.columns] == ["", "%", "%", "%", "%"]


def test_section_rows_head_the_lines_below_and_are_no_lines() -> None:
    grid = grid_of(HIERARCHY)
    assert [(line.index, line.path) for line in grid.lines] == [
        (3, ("region", "north")),
        (4, ("region", "south")),
        (6, ("town", "east")),
    ]
    assert grid.evidence(6, 2).text == 'Row "town, east", Column "women, degree": 31.3'


def test_two_headings_together_open_two_levels_and_one_changes_the_inner() -> None:
    rows = [["", "a", "b"], ["Europe", "", ""], ["North", "", ""], ["Oslo", "1", "2"]]
    rows += [["South", "", ""], ["Rome", "3", "4"], ["Asia", "", ""], ["East", "", ""]]
    rows += [["Seoul", "5", "6"]]
    paths = [line.path for line in grid_of(rows).lines]
    assert paths == [
        ("Europe", "North", "Oslo"),
        ("Europe", "South", "Rome"),
        ("Asia", "East", "Seoul"),
    ]


def test_the_total_of_a_section_ends_it() -> None:
    rows = [["", "2019", "2018"], ["Sales:", "", ""], ["Cars", "5", "6"], ["Parts", "7", "8"]]
    rows += [["Total sales", "12", "14"], ["Employees", "40", "41"]]
    lines = grid_of(rows).lines
    assert [line.path for line in lines][-2:] == [("Sales:", "Total sales"), ("Employees",)]
    assert [line.total for line in lines] == [False, False, True, False]


def test_a_heading_repeated_over_the_row_as_html_spans_are() -> None:
    rows = [["name", "p", "w"], ["All time", "All time", "All time"], ["Ann", "3", "1"]]
    assert [line.path for line in grid_of(rows).lines] == [("All time", "Ann")]


def test_rows_that_are_set_in_belong_to_the_row_above() -> None:
    rows = [["", "2019"], ["Sales", "12"], ["  Cars", "7"], ["\xa0\xa0\xa0- Vans", "5"]]
    rows += [["Costs", "9"], ["- 5 years", "1"]]
    assert [line.path for line in grid_of(rows).lines] == [
        ("Sales",),
        ("Sales", "Cars"),
        ("Sales", "Cars", "- Vans"),
        ("Costs",),
        ("Costs", "- 5 years"),
    ]


def test_merged_row_headings_are_filled_and_seasons_tell_rows_apart() -> None:
    rows = [
        ["club", "season", "division", "league", "", "cup", ""],
        ["", "", "", "apps", "goals", "apps", "goals"],
        ["everton", "1980-81", "first", "11", "0", "0", "0"],
        ["", "1981-82", "first", "13", "0", "1", "0"],
        ["", "total", "", "24", "0", "1", "0"],
        ["stoke", "1982-83", "second", "19", "2", "0", "0"],
        ["career total", "", "", "43", "2", "1", "0"],
    ]
    grid = grid_of(rows)
    assert grid.columns[4].path == ("league", "goals")
    assert [line.path for line in grid.lines] == [
        ("everton", "1980-81"),
        ("everton", "1981-82"),
        ("everton", "total"),
        ("stoke", "1982-83"),
        ("career total",),
    ]
    assert [line.total for line in grid.lines] == [False, False, True, False, True]
    assert grid.lines[1].name == "everton"
    assert grid.cell(2, 0) == ""  # as written: filled for names only


def test_the_left_of_two_columns_of_names_groups_the_rows() -> None:
    rows = [["Setting", "Metrics", "cs-en"], ["Base", "METEOR", "0.55"], ["Base", "RUSE", "0.62"]]
    rows += [["Mover", "SMD", "0.43"], ["Mover", "WMD", "0.39"]]
    grid = grid_of(rows)
    assert grid.key == 1
    assert grid.lines[0].path == ("Base", "METEOR")
    assert [column.kind for column in grid.columns] == ["name", "name", "number"]


def test_ranks_such_as_t2_are_no_names() -> None:
    rows = [["place", "player", "score"], ["1", "Ann Lee", "70"], ["t2", "Bo Fox", "71"]]
    rows += [["t2", "Cy Day", "71"], ["t4", "Di Ash", "72"]]
    grid = grid_of(rows)
    assert grid.lines[1].path == ("Bo Fox",)


def test_a_row_that_repeats_the_header_and_blank_rows_are_no_lines() -> None:
    rows = [["week", "team"], ["1", "Lions"], [None, None], ["week", "team"], ["2", "Bears"]]
    assert [line.index for line in grid_of(rows).lines] == [0, 3]


def test_a_first_row_of_years_is_a_body_row_in_a_column_of_years() -> None:
    rows = [["Name", "Born", ""], ["", "1990", "x"], ["Ann", "1991", "y"]]
    assert [line.index for line in grid_of(rows).lines] == [0, 1]


def test_notes_below_the_body_belong_to_the_caption() -> None:
    rows = [["name", "x", "y"], ["Ann", "1", "2"], ["Source: the league", "", ""]]
    grid = grid_of(rows, "Scores")
    assert [line.index for line in grid.lines] == [0]
    assert grid.caption == "Scores\nSource: the league"


def test_scales_of_a_caption_leave_out_what_counts_by_itself() -> None:
    rows = [["", "2019", "2018"], ["Revenue", "1,452", "1,146"], ["EPS ($)", "2.10", "1.98"]]
    rows += [["Gross margin %", "41.2", "40.8"]]
    grid = grid_of(rows, "Results (in thousands, except per share data)")
    assert grid.unit(0, 1).scale == THOUSAND
    assert grid.unit(1, 1) == Unit(currency="$")
    assert grid.unit(2, 1) == Unit(symbol="%")
    assert grid.columns[1].unit.scale == THOUSAND
    assert grid.transposed


def test_a_unit_row_within_the_body_holds_below_it() -> None:
    rows = [["", "1998", "2000"], ["", "percent", ""], ["mothers", "33.3", "34.4"]]
    rows += [["", "number", ""], ["mothers", "1,200", "1,300"], ["fathers", "40", "50"]]
    grid = grid_of(rows)
    assert [line.index for line in grid.lines] == [1, 3, 4]
    assert grid.unit(1, 2).symbol == "%"
    assert grid.unit(4, 2).symbol == ""


def test_the_unit_of_a_section_heading_is_its_lines() -> None:
    rows = [["year", "total", "software"], ["2016", "", ""], ["all", "374685", "120824"]]
    rows += [["annual growth rate (%)", "", ""], ["all", "4.2", "9.6"]]
    units = [line.unit.symbol for line in grid_of(rows).lines]
    assert units == ["", "%"]


@pytest.mark.parametrize(
    ("read", "label", "unit"),
    [
        (label_unit, "Revenue ($ millions)", Unit(MILLION, "", "$")),
        (label_unit, "2019 €m", Unit(MILLION, "", "eur")),
        (label_unit, "percent", Unit(symbol="%")),
        (label_unit, "US$'000", Unit(THOUSAND, "", "usd")),
        (label_unit, "uniform no (s)", Unit()),
        (label_unit, "w", Unit()),
        (label_unit, "hr", Unit()),
        (label_unit, "year", Unit()),
        (label_unit, "hectares", Unit(symbol="ha")),
        (caption_unit, "(in thousands, except per share data)", Unit(THOUSAND)),
        (caption_unit, "Dollars in millions", Unit(MILLION, "", "$")),
        (caption_unit, "(U.S. $ in thousands)", Unit(THOUSAND, "", "$")),
        (caption_unit, "millions of euros", Unit(MILLION, "", "eur")),
        (caption_unit, "note 1 by class, in percent", Unit(symbol="%")),
        (caption_unit, "WERs (%) and DCE of methods", Unit()),
        (caption_unit, "men by year (selected)", Unit()),
        (caption_unit, "", Unit()),
    ],
)
def test_units_of_labels_and_captions(read: Callable[[str], Unit], label: str, unit: Unit) -> None:
    assert read(label) == unit


TOTALS = "Total|totals|Career totals|career statistics|Average|All industries|all - time".split("|")
NO_TOTALS = ["Average White Band", "Allen", "Totally", "Sumner", "Meanwood"]


@pytest.mark.parametrize("name", [*TOTALS, *NO_TOTALS])
def test_names_of_totals_and_names_that_only_look_like_them(name: str) -> None:
    assert names_total(name) == (name in TOTALS)


def test_a_film_called_total_recall_is_smaller_than_its_neighbour_and_no_total() -> None:
    rows = [["film", "gross"], ["Alien", "300"], ["Total Recall", "261"], ["Heat", "187"]]
    assert not any(line.total for line in grid_of(rows).lines)


def test_total_cholesterol_is_a_thing_of_its_own_and_total_sales_a_sum() -> None:
    rows = [["Test", "Result", "Flag"], ["Total Cholesterol", "143 mg/dL", ""]]
    rows += [["Triglycerides", "111 mg/dL", "high"], ["HDL Cholesterol", "91 mg/dL", ""]]
    grid = grid_of(rows)
    assert not any(line.total for line in grid.lines)
    assert grid.columns[1].kind == "number"
    rows = [["", "2019"], ["Cars", "1,000"], ["Parts", "200"], ["Total Sales", "1,200"]]
    rows += [["Rent", "50"], ["Wages", "70"], ["Total Costs", "120"], ["Total Both", "1,320"]]
    totals = [line.header for line in grid_of(rows).lines if line.total]
    assert totals == ["Total Sales", "Total Costs", "Total Both"]
    rows = [["", "2019"], ["Total Fleet", "12"], ["Cars", "7"], ["Vans", "5"], ["Sheds", "40"]]
    assert [line.total for line in grid_of(rows).lines] == [True, False, False, False]


def test_a_total_in_the_second_column_is_one() -> None:
    rows = [["player", "season", "goals"], ["Ann", "1986", "3"], ["", "1987", "4"]]
    rows += [["", "total", "7"], ["Bo", "1986", "2"]]
    lines = grid_of(rows).lines
    assert [line.total for line in lines] == [False, False, True, False]
    assert lines[1].path == ("Ann", "1987")


def test_a_first_row_that_adds_up_all_others_is_a_total_without_the_name() -> None:
    rows = [["place", "number", "share"], ["Canada", "1600", "88"], ["North", "900", "90"]]
    rows += [["East", "400", "85"], ["West", "300", "80"]]
    assert not any(line.total for line in grid_of(rows).lines)  # share does not add up: digits few
    rows = [["place", "men", "women"], ["Canada", "1600", "2100"], ["North", "900", "1200"]]
    rows += [["East", "400", "500"], ["West", "300", "400"]]
    assert [line.total for line in grid_of(rows).lines] == [True, False, False, False]


def test_total_columns() -> None:
    rows = [["nation", "gold", "silver", "total"], ["A", "3", "1", "4"], ["B", "2", "2", "4"]]
    assert [column.total for column in grid_of(rows).columns] == [False, False, False, True]
    rows = [["model", "x", "y", "Avg"], ["A", "3", "1", "2"], ["B", "2", "4", "3"]]
    assert grid_of(rows).columns[3].total
    rows = [["year", "att", "yards", "avg"], ["2008", "146", "707", "4.8"]]
    assert not grid_of(rows).columns[3].total  # yards a carry, no average of columns
    rows = [["name", "total"], ["A", "3"], ["B", "2"]]
    assert not grid_of(rows).columns[1].total


def test_marks_of_print_are_no_content() -> None:
    rows = [["[EMPTY]", "[BOLD] BLEU"], ["[BOLD] Ours", "[BOLD] 29.3±0.5"], ["<b>Base</b>", "28.1"]]
    grid = grid_of(rows)
    assert grid.columns[1].header == "BLEU"
    assert [line.header for line in grid.lines] == ["Ours", "Base"]
    number = grid.value(0, 1).number
    assert number is not None and number.value == Decimal("29.3")


@pytest.mark.parametrize(
    ("cell", "plain"),
    [
        ("China[3]", "China"),
        ("[12]", "[12]"),
        ("a &lt; b &amp; c", "a < b & c"),
        ("AT&T", "AT&T"),
        ("<i class='x'>Ann</i><br>Lee", "Ann\nLee"),
        ("x < 5", "x < 5"),
        ("[Yang et al. 2016]", "[Yang et al. 2016]"),
        (None, ""),
    ],
)
def test_plain_cells(cell: str | None, plain: str) -> None:
    assert plain_cell(cell) == plain


PRINTED: dict[str, str | None] = {
    "- 2": "-2",
    "+ 3": "3",
    "12.3 (0.4)": "12.3",
    "71 + 64 = 135": "135",
}
PRINTED |= {"5 %": "5", "5.1 x10^9/L": "5.1"}
PRINTED |= dict.fromkeys(["4 - 1", "7 (3)", "12/5", "5 goals", "12 (lost)", "- -", "x ± y"])


@pytest.mark.parametrize(("cell", "value"), PRINTED.items())
def test_numbers_as_statistics_print_them_and_what_is_none(cell: str, value: str | None) -> None:
    number = read_cell(cell).number
    assert (number and number.value) == (value and Decimal(value))


def test_a_column_that_counts_in_a_word_of_its_own() -> None:
    rows = [["Test", "Result", "Song"], ["MCV", "94 fL", "50 Ways"], ["MCH", "29 pg", "Help"]]
    grid = grid_of([*rows, ["RDW", "13.1 %", "99 Problems"], ["PLT", "210 K/uL", "Yesterday"]])
    assert [column.kind for column in grid.columns] == ["name", "number", "text"]
    number = grid.value(0, 1).number
    assert number is not None and number.value == 94
    assert grid.value(2, 2).number is None


def test_signs_in_columns_of_their_own_go_to_their_number() -> None:
    rows = [["Net loss", "$", "(1,452", ")"], ["Sales", "", "44", ""], ["Costs", "$", "50", ""]]
    grid = Grid(join_signs(Table.of(["", "", "2019", ""], rows)))
    number = grid.value(0, 1).number
    assert number is not None and number.value == -1452
    assert [column.header for column in grid.columns] == ["", "2019"]


def test_key_value_lists() -> None:
    rows = [["attribute", "value"], ["Type", "Opaque beer"], ["Introduced", "1962"]]
    rows += [["Colour", None], ["Height (m)", "3"]]
    grid = grid_of(rows)
    assert grid.key_value and grid.transposed
    assert [line.header for line in grid.lines] == ["Type", "Introduced", "Colour", "Height (m)"]
    rows = [["attribute", "value"], ["cast member", "Ann Lee"], ["cast member", "Bo Fox"]]
    grid = grid_of([*rows, ["director", "Cy Day"]])
    assert grid.key_value and grid.key == 0
    assert not grid_of([["name", "goals"], ["Ann", "3"], ["Bo", "4"]]).key_value


@pytest.mark.parametrize("periods", [("2020 Q3", "2020 Q4"), ("2021-06-07", "May 4, 2021")])
def test_metrics_over_periods_are_transposed(periods: tuple[str, str]) -> None:
    assert grid_of([["Metric", *periods], ["Revenue", "5", "6"], ["Staff", "7", "8"]]).transposed


def test_cross_tables_of_entities_by_attribute_are_not_transposed() -> None:
    rows = [["Team", "Points", "Goals"], ["Lions", "41", "60"], ["Bears", "38", "55"]]
    assert not grid_of(rows).transposed


@pytest.mark.parametrize(
    "table",
    [
        Table.of(["a"], []),
        Table.of([""], [[None], [None]]),
        Table.of(["a"], [["x"]]),
        Table.of(["", ""], [["", ""], ["percent", "percent"]]),
        Table.of(["a", "a", "a"], [["x", "x", "x"]]),
        Table.of(["表", "数"], [["東京", "1"], ["大阪", "2"]]),
    ],
)
def test_degenerate_tables(table: Table) -> None:
    grid = Grid(table)
    assert len(grid.columns) == len(table.columns)
    assert not (grid.transposed and grid.key_value and not grid.lines) or not table.rows
    for line in grid.lines:
        assert grid.evidence(line.index, 0).row == line.index
        assert grid.names(line.index) is not None


def test_random_tables_keep_their_places() -> None:
    pieces = ["", "", "percent", "(in millions)", "2019", "Total", "total sales", "Ann Lee", "5"]
    pieces += ["(4)", "$", "%", ")", "12.3 (0.4)", "Q1 2020", "n/a", "<b>x</b>", "Sales:", "東京"]
    pieces += ["  Cars", "value", "attribute", "May 4, 2021", "143 mg/dL", "note: x", "- 2"]
    draw = random.Random(0)
    for _ in range(400):
        width = draw.randint(1, 6)
        rows = [draw.choices(pieces, k=width) for _ in range(draw.randint(0, 8))]
        grid = Grid(Table.of(draw.choices(pieces, k=width), rows, draw.choice(pieces)))
        indices = [line.index for line in grid.lines]
        assert indices == sorted(set(indices))
        assert not (grid.key_value and grid.key == width - 1)
        for line in grid.lines:
            assert any(rows[line.index])
            for column in grid.columns:
                assert grid.evidence(line.index, column.index).column == column.index
                assert grid.unit(line.index, column.index).scale >= 1


def test_real_hierarchical_tables_keep_every_filled_cell_and_name_every_linked_one(
    shared_data: Callable[[str], list[dict[str, Any]]],
) -> None:
    import ast

    linked = named = 0
    for record in shared_data("hitab")[:80]:
        texts = record["table"]["texts"]
        grid = grid_of(texts, record["table"]["title"])
        body = {line.index for line in grid.lines}
        for item in record["items"]:
            for cells in item["linked_cells"]["quantity_link"].values():
                for row, column in map(ast.literal_eval, cells):
                    linked += 1
                    # People linked these as values: none of them may be taken for a header.
                    named += row - 1 in body and bool(grid.columns[column].header)
    assert linked > 100
    assert named >= 0.98 * linked


@pytest.mark.parametrize(
    ("label", "scale"),
    [("(in millions)", 1e6), ("(in thousands, except per share data)", 1e3), ("($ in 000s)", 1e3)],
)
def test_a_unit_beside_the_years_of_a_second_header_row_is_no_name(
    label: str, scale: float
) -> None:
    years = "Year Ended December 31,"
    table = Table.of(["", years, years], [[label, "2023", "2022"], ["Net sales", "$940", "$880"]])
    grid = Grid(table)
    assert [line.header for line in grid.lines] == ["Net sales"]
    assert [column.name for column in grid.columns[1:]] == ["2023", "2022"]
    assert float(grid.unit(grid.lines[0].index, 1).scale) == scale


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
