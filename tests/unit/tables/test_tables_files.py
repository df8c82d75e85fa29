"""Tables of files: by suffix and content, as Excel and filings export them, and every refusal."""

from __future__ import annotations

import os
from datetime import date, datetime
from pathlib import Path
from zipfile import ZipFile

import pytest
from openpyxl import Workbook

import tablemend
from tablemend.evidence.files import load_source, read_source
from tablemend.foreign import MAX_BYTES
from tablemend.tables.csvtable import read_xlsx
from tablemend.tables.html import read_html
from tablemend.tables.read import FORMATS, Format, load_table, read_table, write_table
from tablemend.tables.table import Table, TableError

GOLD = Table.of(["Name", "Age"], [["Ann", "26"], ["Bé\r\nx", None]])
SUFFIX = {"markdown": ".md", "json": ".json", "latex": ".tex", "csv": ".csv", "html": ".htm"}


@pytest.mark.parametrize("format", FORMATS)
def test_loads_by_suffix_and_by_content(tmp_path: Path, format: Format) -> None:
    for name in (f"table{SUFFIX[format]}", f"table{SUFFIX[format].upper()}", "table.txt", "table"):
        path = tmp_path / name
        path.write_bytes(write_table(GOLD, format).encode())
        assert load_table(path) == GOLD
        assert load_table(path, format) == GOLD


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b" \n\t\n", "the file is empty"),
        (b"PK\x03\x04\x00\x00", "a binary file"),
        ("Name,Age\nAnn,26".encode("utf-16-le"), "a binary file"),
        ("Name,Ort\nAnn,Köln".encode("latin-1"), r"not UTF-8 text \(byte 14\)"),
        (b"Name,Age\nAnn\n", "CSV line 2 has 1 cells, the header has 2"),
    ],
)
def test_refuses_with_the_path(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(data)
    with pytest.raises(TableError, match=f"bad.csv: {reason}") as error:
        load_table(path)
    assert "\n" not in str(error.value)


def test_missing_folder_and_huge(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"none\.csv: no such file"):
        load_table(tmp_path / "none.csv")
    with pytest.raises(TableError, match="is a folder"):
        load_table(tmp_path)
    with pytest.raises(TableError, match="cannot be read"):
        load_table(tmp_path / ("x" * 5000))
    path = tmp_path / "huge.csv"
    path.touch()
    os.truncate(path, MAX_BYTES + 1)
    with pytest.raises(TableError, match=r"huge\.csv: cannot be read \(more than 64 MiB"):
        load_table(path)


@pytest.mark.parametrize(
    "text", ["", "Just a line, with a comma.", "One\nTwo, three\nFour", "plain"]
)
def test_prose_is_no_table(text: str) -> None:
    with pytest.raises(TableError, match=r"empty|no table found in any format"):
        read_table(text)


TEAMS = Table.of(["Team", "Points"], [["Alba", "41"], ["Sella", "37"]])


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("sep=;\nTeam;Points\nAlba;41\nSella;37\n", ""),
        ("\ufeffsep=;\r\nTeam;Points\r\nAlba;41\r\nSella;37\r\n", ""),
        ("SEP=|\nTeam|Points\nAlba|41\nSella|37\n", ""),
        ("sep=,\nTeam,Points\nAlba,41\nSella,37\n", ""),
        ("Team|Points\nAlba|41\nSella|37\n", ""),
        ("Team | Points\nAlba | 41\nSella | 37\n".replace(" |", "|"), ""),
        ("League 2023;\nTeam;Points\nAlba;41\nSella;37\n", "League 2023"),
        ("League 2023,\n,\nTeam,Points\nAlba,41\nSella,37\n", "League 2023"),
        (
            '"League, 2023",\nAll rounds,\nTeam,Points\nAlba,41\nSella,37\n',
            "League, 2023 All rounds",
        ),
        ("Team,Points\nAlba,41,\nSella,37,,\n", ""),
        ("Team;Points\nAlba;41;;;\nSella;37\n", ""),
    ],
)
def test_what_surrounds_the_records_of_a_csv_file(text: str, title: str) -> None:
    expected = Table(TEAMS.columns, TEAMS.rows, title)
    assert read_table(text) == read_table(text, "csv") == expected


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("Team,,\nAlba,41,12\n", ("Team", "", "")),  # columns without a name
        ("sep=x\nAlba\n", ("sep=x",)),
        ("Name\nAlba\nSella\n", ("Name",)),
        ("League,\nTeam,2023\nAlba,41\n", ("Team", "2023")),
        ('"League",""\nTeam,Points\n', ("League", "")),  # as write_csv has it
    ],
)
def test_what_only_looks_like_a_title(text: str, columns: tuple[str, ...]) -> None:
    assert read_table(text, "csv").columns == columns


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-8"])
def test_encodings_with_a_mark(tmp_path: Path, encoding: str) -> None:
    text = "Team,Ort\nAlba,Köln\n"
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding))
    assert load_table(path) == read_table(text)
    path.write_bytes(b"\xfe\xff" + text.encode("utf-16-be"))
    assert load_table(path) == read_table(text)


FILING = """<table>
<tr><td>{corner}</td><td>&nbsp;</td><td colspan="7">Year ended December 31,</td></tr>
<tr><td></td><td></td><td colspan="3">2023</td><td></td><td colspan="3">2022</td></tr>
<tr><td>Net sales</td><td></td><td>$</td><td>1,234</td><td></td><td></td><td>$</td><td>1,100</td>
<td></td></tr>
<tr><td>Net loss</td><td></td><td></td><td>(12</td><td>)</td><td></td><td></td><td>(9</td><td>)</td>
</tr><tr><td></td></tr>
<tr><td>Margin</td><td></td><td></td><td>12</td><td>%</td><td></td><td></td><td>9</td><td>%</td></tr>
</table>"""
ROWS = (("Net sales", "$1,234", "$1,100"), ("Net loss", "(12)", "(9)"), ("Margin", "12%", "9%"))


def test_the_html_of_filings() -> None:
    table = read_table(FILING.format(corner=""))
    years = tuple(f"Year ended December 31, {year}" for year in (2023, 2022))
    assert (table.columns, table.rows) == (("", *years), ROWS)
    table = read_table(FILING.format(corner="(In millions)"))
    assert (table.columns, table.rows) == (("(In millions)", *years), ROWS)
    titled = FILING.format(corner="").replace(
        "<table>", "<table><tr><td colspan=9>Income</td></tr>"
    )
    assert read_table(titled).title == "Income"


@pytest.mark.parametrize(
    ("text", "columns", "row"),
    [
        (
            "<table><tr><td>a</td><td>b</td></tr><tr><td></td><td>x</td></tr></table>",
            ("a", "b"),
            (None, "x"),
        ),
        (
            "<table><tr><td></td><td colspan=2>Goals</td></tr><tr><td>Alba</td><td>4</td><td>5</td>"
            "</tr></table>",
            ("", "Goals", "Goals"),
            ("Alba", "4", "5"),
        ),
        (
            "<table><tr><td>a</td><td></td><td>b</td></tr><tr><td>1</td><td></td><td>2</td></tr></table>",
            ("a", "b"),
            ("1", "2"),
        ),
    ],
)
def test_other_tables_without_marked_headers(
    text: str, columns: tuple[str, ...], row: tuple[str | None, ...]
) -> None:
    table = read_table(text)
    assert (table.columns, table.rows[0]) == (columns, row)


@pytest.mark.parametrize("format", ["markdown", "csv", "json", "latex"])
def test_signs_in_columns_of_their_own_in_every_format(format: Format) -> None:
    rows = [["Sales", "$", "1,234", None], ["Loss", "$", "(12", ")"], ["Tax", "$", "(3", ")"]]
    columns = ["Item", "$ ", "2023", ") "] if format == "json" else ["Item", "", "2023", ""]
    table = Table.of(columns, rows)
    text = write_table(table, format)
    if format == "json":  # whose names differ
        assert read_table(text) == table
        return
    assert read_table(text).rows == (("Sales", "$1,234"), ("Loss", "$(12)"), ("Tax", "$(3)"))


def test_html_is_read_as_it_is_where_nothing_is_asked_of_it() -> None:
    assert read_html(FILING.format(corner="")).rows[0][3] == "2023"


PAGE = """<table><tr><th>Item</th><th>2023</th></tr><tr><td>Net sales</td><td>$1,234,567</td></tr>
<tr><td>Units</td><td>1,000</td></tr></table>"""
MARKDOWN = "| Item | 2023 |\n|---|---|\n| Net sales | $1,234,567 |\n| Units | 1,000 |"


@pytest.mark.parametrize(
    "above",
    [
        "<p>(In thousands, except per share data)</p>\n{html}",
        "<p>Income</p><div><b>(Amounts in thousands)</b></div>{html}",
        "<p>Dollars in thousands</p><p>&nbsp;</p>{html}",
        "<h2>Statements (in thousands of US dollars)</h2>{html}",
        "(in thousands)\n\n{markdown}",
        "All figures in thousands of dollars.\n\n{markdown}",
    ],
)
def test_the_scale_above_a_table_is_in_its_title(above: str) -> None:
    page = above.format(html=PAGE, markdown=MARKDOWN)
    assert "thousands" in read_source(page).tables[0].title
    right = tablemend.verify("Net sales were $1.235 billion in 2023.", page)
    assert not right.errors
    wrong = tablemend.verify("Net sales were $1.325 billion in 2023.", page)
    assert wrong.errors


@pytest.mark.parametrize(
    "above",
    [
        "<p>We sold to customers in millions of homes.</p>",
        "<p>Sales grew by $3 million (see note 4).</p>",
        "<p>(In thousands)</p>" + "<p>Some text.</p>" * 4,
    ],
)
def test_prose_above_a_table_is_no_scale(above: str) -> None:
    assert read_source(above + PAGE).tables[0].title == ""


def test_a_scale_belongs_to_the_table_below_it() -> None:
    first, second = read_source(f"<p>(In millions)</p>{PAGE}<p>Second</p>{PAGE}").tables
    assert (first.title, second.title) == ("(In millions)", "")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    book = Workbook()
    sheet = book.active
    rows = [
        [None, None],
        ["Team", None, "Share", "Played", "Won"],
        ["Alba", 41, 0.455, date(2024, 5, 31), True],
        ["Sella", 37.5, 0.5, datetime(2024, 6, 1, 18, 30), " "],
    ]
    for row in rows:
        sheet.append(row)
    sheet["C3"].number_format = sheet["C4"].number_format = "0.0%"
    book.create_sheet("Empty")
    book.save(tmp_path / "one.xlsx")
    book.create_sheet("More").append(["Year", "Goals"])
    book.save(tmp_path / "two.xlsx")
    return tmp_path


def test_cells_are_read_as_they_are_shown(book: Path) -> None:
    table = load_table(book / "one.xlsx")
    assert table.columns == ("Team", "", "Share", "Played", "Won")
    assert table.rows == (
        ("Alba", "41", "45.5%", "2024-05-31", "TRUE"),
        ("Sella", "37.5", "50%", "2024-06-01 18:30:00", None),
    )


def test_every_sheet_with_rows_is_a_table_and_gold_is_one(book: Path) -> None:
    assert [table.title for table in load_source(book / "two.xlsx").tables] == ["Sheet", "More"]
    with pytest.raises(TableError, match=r"two\.xlsx: 2 sheets with rows where one is expected"):
        load_table(book / "two.xlsx")


def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    Workbook().save(tmp_path / "empty.xlsx")
    (tmp_path / "text.xlsx").write_text("Team,Points\n", encoding="utf-8")
    for name, message in {
        "empty.xlsx": "no sheet has a row",
        "text.xlsx": "not a workbook that can be read",
        "absent.xlsx": "No such file",
    }.items():
        with pytest.raises(TableError, match=f"{name}: {message}"):
            read_xlsx(tmp_path / name)


@pytest.mark.parametrize(
    "part", ["[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"]
)
@pytest.mark.parametrize("content", [b"", b"<a><b></a>", b"\xff\x00", b"<a/>"])
def test_a_workbook_with_a_broken_part_is_refused(
    tmp_path: Path, part: str, content: bytes
) -> None:
    whole, broken = tmp_path / "whole.xlsx", tmp_path / "broken.xlsx"
    book = Workbook()
    book.active.append(["Team", "Points"])
    book.save(whole)
    with ZipFile(whole) as old, ZipFile(broken, "w") as new:
        for name in old.namelist():
            new.writestr(name, content if name == part else old.read(name))
    with pytest.raises(TableError, match=r"broken\.xlsx: ") as error:
        load_table(broken)
    assert "\n" not in str(error.value)
