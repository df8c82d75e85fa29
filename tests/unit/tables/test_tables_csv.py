"""CSV: dialects, quoting, ragged rows."""

from __future__ import annotations

import pytest

from tablemend.tables.csvtable import read_csv, write_csv
from tablemend.tables.table import Table, TableError

PEOPLE = Table.of(["Name", "Age"], [["Ann", "26"], ["Bo", None]])


@pytest.mark.parametrize(
    "text",
    [
        "Name,Age\nAnn,26\nBo,\n",
        "Name;Age\r\nAnn;26\r\nBo;\r\n",
        "Name\tAge\nAnn\t26\nBo\t",
        '\ufeff"Name","Age"\n"Ann","26"\n"Bo",""\n',
        "Name, Age\n\nAnn, 26\n\nBo,\n\n",
        "Name,Age\rAnn,26\rBo,\r",
    ],
)
def test_reads(text: str) -> None:
    assert read_csv(text) == PEOPLE


def test_the_separator_is_the_one_that_fits() -> None:
    assert read_csv("Name;Price\nAnn;1,5\nBo;2,5").rows == (("Ann", "1,5"), ("Bo", "2,5"))
    assert read_csv("City, State;Pop;Area\nA, B;1;2").columns == ("City, State", "Pop", "Area")
    assert read_csv("Name\nAnn\nBo").columns == ("Name",)


def test_quoted_cells() -> None:
    text = 'a,b\n"x, ""y""","line 1\nline 2"\n" z ",\n'
    assert read_csv(text).rows == (('x, "y"', "line 1\nline 2"), (" z ", None))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, the header has 2"),
        ('a,b\n"x\ny",2\n1\n', "line 4 has 1 cells"),
        ('a,b\n"x"y,2\n', "CSV line 2"),
        ('a,b\n"x,2\n', "unexpected end of data"),
        ("name\nSmith, Ann\n", "line 2 has 2 cells"),
    ],
)
def test_refuses(text: str, reason: str) -> None:
    with pytest.raises(TableError, match=reason):
        read_csv(text)


def test_writes_quotes_only_where_needed() -> None:
    table = Table.of(["a", "b"], [["x y", "1.5"], ["x,y", 'say "no"'], [None, " edge"]])
    assert write_csv(table) == 'a,b\nx y,1.5\n"x,y","say ""no"""\n," edge"\n'
    assert write_csv(Table.of(["a"], [[None]])) == 'a\n""\n'
