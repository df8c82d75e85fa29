"""Tables of others: ToTTo, SEC filings, folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tablemend.errors import TablemendError
from tablemend.tables.html import read_filing
from tablemend.tables.jsontable import is_totto, read_totto
from tablemend.tables.table import TableError
from tablemend.tasks.tabfaith.data import TabFaith, open_tables, take_table
from tests.support.files import SHARED_DATA


def cell(value: str, wide: int = 1, high: int = 1, header: bool = False) -> dict[str, Any]:
    return {"value": value, "is_header": header, "column_span": wide, "row_span": high}


TOTTO = {
    "example_id": 7,
    "table_page_title": "Alba FC",
    "table_section_title": "Seasons",
    "table": [
        [cell("Season", high=2, header=True), cell("League", wide=2, header=True)],
        [cell("Division", header=True), cell("Points", header=True)],
        [cell("2019"), cell("First", high=2), cell("41")],
        [cell("2020"), cell("38")],
    ],
}


def test_totto_spans_and_headers() -> None:
    table = read_totto(TOTTO)
    assert table.title == "Alba FC - Seasons"
    assert table.columns == ("Season", "League Division", "League Points")
    assert table.rows == (("2019", "First", "41"), ("2020", "First", "38"))


def test_the_official_sample_is_read() -> None:
    folder = SHARED_DATA / "totto_sample"
    if not folder.is_dir():
        pytest.skip("real data is not part of the repository")
    for name in ("dev_sample.jsonl", "train_sample.jsonl"):
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            assert is_totto(record)
            table = read_totto(record)
            marked = [record["table"][row][cell] for row, cell in record["highlighted_cells"]]
            texts = {" ".join(one["value"].split()) for one in marked}
            assert texts <= {*table.columns, *(text for row in table.rows for text in row)}


FILING = """<table><tr><td></td><td></td><td colspan="2">2020</td><td></td><td colspan="2">2019</td><td></td></tr>
<tr><td>Net&#160;sales</td><td></td><td>$</td><td>5,310</td><td></td><td>$</td><td>4,900</td><td></td></tr>
<tr><td>Net loss</td><td></td><td></td><td>(120</td><td>)</td><td></td><td>(80</td><td>)</td></tr>
<tr><td></td><td></td><td></td><td></td><td></td><td></td><td></td><td></td></tr></table>"""  # noqa: E501


def test_signs_brackets_and_spacers_of_filings_join_their_numbers() -> None:
    table = read_filing(FILING)
    assert table.columns == ("", "2020", "2019")
    assert table.rows == (("Net sales", "$5,310", "$4,900"), ("Net loss", "(120)", "(80)"))


ASCII = """<TABLE>
<CAPTION>
                              Three months ended
                               1999        1998
                              ------      ------
<S>                           <C>         <C>
Net sales ................    $ 5,310     $ 4,900
Cost of goods
  sold ...................      3,000       2,900
                              ------      ------
Gross profit .............    $ 2,310     $ 2,000
</TABLE>"""


def test_ascii_tables_of_older_filings_are_read() -> None:
    table = read_filing(ASCII)
    assert table.columns == ("", "1999", "1998")
    assert table.rows == (
        ("Net sales", "$5,310", "$4,900"),
        ("Cost of goods sold", "3,000", "2,900"),
        ("Gross profit", "$2,310", "$2,000"),
    )


@pytest.mark.parametrize("text", ["", "no table at all", "<table></table>", "<TABLE>\n<S> <C>\n"])
def test_fragments_without_a_table_are_refused(text: str) -> None:
    with pytest.raises(TableError):
        read_filing(text)


def test_real_filings_are_read(shared_data: Callable[[str], list[dict[str, Any]]]) -> None:
    records = shared_data("sec_8k_tables")
    read = lone = 0
    for record in records:
        try:
            table = read_filing(record["raw_table"])
        except TableError:
            continue
        read += 1
        lone += any(cell in ("$", ")", "%") for row in table.rows for cell in row)
    assert read >= 0.9 * len(records)
    assert lone <= 0.1 * read  # two rows of one table may be laid out in different columns


def test_folders_of_files_are_sources(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.csv").write_text("Club,Points\nAlba,41\nBorea,38\nCorvo,27\n")
    (folder / "same.csv").write_text("Club,Points\nAlba,41\nBorea,38\nCorvo,27\n")
    (folder / "empty.csv").write_text("")
    (folder / "deep" / "filing.htm").write_text(FILING)
    (folder / "totto.jsonl").write_text(json.dumps(TOTTO) + "\nnot json\n")
    settings = TabFaith.model_validate(
        {"sources": {"general": str(folder)}, "sizes": {"general": 9, "financial": 0}}
    )
    tables, skipped = open_tables(settings, "general")
    assert [table.where for table in tables] == ["deep/filing.htm", "one.csv", "totto.jsonl:1"]
    assert [one.where for one in skipped] == [
        f"general: {name}" for name in ("empty.csv", "same.csv", "totto.jsonl:2")
    ]
    assert take_table(settings, {"general": tables}, "general", 3) == tables[0]


def test_rows_that_repeat_the_header_are_no_rows(tmp_path: Path) -> None:
    lines = ["Club,Points  won", "Alba,41", "CLUB, Points won", "Borea,38", "Club,", "Corvo,27"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    settings = TabFaith.model_validate({"sources": {"general": str(tmp_path)}})
    tables, _ = open_tables(settings, "general")
    assert tables[0].table.columns == ("Club", "Points won")
    assert tables[0].table.rows == (("Alba", "41"), ("Borea", "38"), ("Corvo", "27"))


def test_a_source_without_a_usable_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Club\nAlba\n")
    settings = TabFaith.model_validate({"sources": {"general": str(tmp_path)}})
    with pytest.raises(TablemendError, match=r"no table that can be summarised \(1 x only one"):
        open_tables(settings, "general")
    settings = TabFaith.model_validate({"sources": {"operations": str(tmp_path / "nothing")}})
    with pytest.raises(TablemendError, match="no such file or folder; `synthetic` is built in"):
        open_tables(settings, "operations")
