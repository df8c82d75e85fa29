"""Excel workbooks: what a reader sees in a cell is what the table holds."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from zipfile import ZipFile

import pytest
from openpyxl import Workbook

from tablemend.evidence.files import load_source
from tablemend.tables.csvtable import read_xlsx
from tablemend.tables.read import load_table
from tablemend.tables.table import TableError


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
