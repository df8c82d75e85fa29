"""Reading what was written gives the same table, for every format and for hostile cells."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.tables.extract import extract_table
from tablemend.tables.read import FORMATS, Format, read_table, write_table
from tablemend.tables.table import Table, TableError

HOSTILE = [
    *"|\\\"'`*_<>&%$#{}[]()~^!?:;,.-=+@/ \n\r\t",
    *("<br>", "&amp;", "&#32;", "&nbsp;", "\\|", "\\\\", "\\&", "||", "--", "---", "''", "``"),
    *("**", "__", "####", "```", "<td>", "</table>", "<pre>", "<!--", "]]>", "\\begin{tabular}"),
    *("\\end{tabular}", "\\\\[2pt]", "</think>", "null", "1.50", "[a](b)", "![a](b)", "\r\n"),
    *("\u00a0", "\u200b", "\u202e", "\u0301", "\u2028", "\u3000", "\ufeff", "😀", "שלום", "\x7f"),
    *("a", "Z", "7", "é", "word", "  ", "$x$", "<http://a.b>", "<unknown>", "%20", "~~"),
]
TITLED = {"json", "latex", "html"}
REFUSED = {
    "markdown": r"[\x00\ud800-\udfff]",
    "csv": r"[\x00\ud800-\udfff]",
    "json": r"[\ud800-\udfff]",
    "latex": r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]",
    "html": r"[\x00-\x08\x0b\x0c\x0e-\x1f\x80-\x9f\ud800-\udfff]",
}


def cells() -> st.SearchStrategy[str]:
    hostile = st.lists(st.sampled_from(HOSTILE), max_size=8).map("".join)
    return st.one_of(hostile, st.text(max_size=20))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    width = draw(st.integers(1, 4))
    names = st.lists(cells(), min_size=width, max_size=width)
    row = st.lists(st.none() | cells(), min_size=width, max_size=width)
    return Table.of(draw(names), draw(st.lists(row, max_size=4)), draw(cells()))


def carried(table: Table, format: Format) -> bool:
    texts = [*table.columns, *(cell or "" for row in table.rows for cell in row)]
    if format in TITLED:
        texts.append(table.title)
    return not any(re.search(REFUSED[format], text) for text in texts)


@pytest.mark.parametrize("format", FORMATS)
@given(table=tables())
@settings(max_examples=80, deadline=None)
def test_round_trip(format: Format, table: Table) -> None:
    if not carried(table, format):
        with pytest.raises(TableError, match=r"holds the character U\+"):
            write_table(table, format)
        return
    written = write_table(table, format)
    expected = table if format in TITLED else Table(table.columns, table.rows)
    assert read_table(written, format) == expected


@pytest.mark.parametrize("format", FORMATS)
@given(table=tables())
@settings(max_examples=40, deadline=None)
def test_answers_are_extracted(format: Format, table: Table) -> None:
    if not carried(table, format):
        return
    written = write_table(table, format)
    if "</think>" in written or "<think>" in written:
        return  # no model can write these inside its answer
    if table.columns in table.rows:
        return  # a header that is repeated
    answer = f"<think>no | yes\n|---|---|\n| 1 | 2 |</think>Here:\n####\n{written}\n"
    if format == "csv":
        answer = written
        if "####" in written or "```" in written:
            return  # CSV has no start and end: a marker inside a cell is one outside
    found = extract_table(answer, format)
    assert found.reason == ""
    assert found.table is not None
    assert (found.table.columns, found.table.rows) == (table.columns, table.rows)
    assert read_table(answer[found.start : found.end], format) == found.table
