"""load_table: by suffix, by content, and every way in which a file can be wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tablemend.foreign import MAX_BYTES
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
