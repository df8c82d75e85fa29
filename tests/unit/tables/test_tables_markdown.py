"""Markdown: what GFM reads, what models write, what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.rules_block.table import escapedSplit

from tablemend.tables import markdown
from tablemend.tables.markdown import locate_markdown, read_markdown, write_markdown
from tablemend.tables.table import Table, TableError

PEOPLE = Table.of(["Name", "Age"], [["Ann", "26"], ["Bo", None]])


@pytest.mark.parametrize(
    "text",
    [
        "| Name | Age |\n|---|---|\n| Ann | 26 |\n| Bo |  |",
        "|Name|Age|\n|:--|--:|\n|Ann|26|\n|Bo||",
        "Name | Age\n--- | ---\nAnn | 26\nBo | ",
        "  | Name | Age |\n  | :---: | - |\n  | Ann | 26 |\n  | Bo |",
        "Here it is:\n\n```markdown\n| Name | Age |\n|---|---|\n| Ann | 26 |\n| Bo | |\n```\nDone.",
        "| Name | Age |\r\n|---|---|\r\n| Ann | 26 |\r\n| Bo | |\r\n",
        "| **Name** | `Age` |\n|---|---|\n| [Ann](http://x.y) | <b>26</b> |\n| *Bo* | |",
        "| Name | Age |\n|---|---|\n| Ann | 26 |\n| Bo | |\nNote: no age is given for Bo.",
        "| Name | Age |\n|---|\n| Ann | 26 |\n| Bo | |",  # nothing is lost: every row fits
        "#### | Name | Age |\n|---|---|\n| Ann | 26 |\n| Bo | |",
    ],
)
def test_reads(text: str) -> None:
    assert read_markdown(text) == PEOPLE


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (r"a \| b", "a | b"),
        (r"a\\", "a\\"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("&lt;5 &amp; &#36;", "<5 & $"),
        ("R&D", "R&D"),
        ("5 * 3 * 2", "5 * 3 * 2"),
        ("free_throw_rate", "free_throw_rate"),
        ("<unknown>", "<unknown>"),
        ("![logo](x.png)", "logo"),
        ("10<sup>2</sup>", "102"),
        ("`` theo ''", "`` theo ''"),
        ("\u00a0x", "\u00a0x"),
    ],
)
def test_inline_markup(cell: str, expected: str) -> None:
    assert read_markdown(f"| x |\n|---|\n| {cell} |").rows == ((expected,),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("| a | b |\n|---|---|\n| 1 | 2 | 3 |", "row 1 has 3 cells, the header has 2"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| x | y | z |", "row 2 has 3 cells"),
        ("| a | b |\n| 1 | 2 |", "without a delimiter row"),
        ("| a | b | c |\n|---|---|\n| 1 | 2 |", "delimiter row has 2 cells, the header has 3"),
        ("| a | b |\n|---|:|\n| 1 | 2 |", "malformed Markdown delimiter row"),
        ("no table at all", "no Markdown table"),
        ("use a | b\n---\nor so", "delimiter row has 1 cells"),
        ("| a |\n|---|\n| 1 |\n\n| b |\n|---|\n| 2 |", "2 Markdown tables where one is expected"),
    ],
)
def test_refuses(text: str, reason: str) -> None:
    with pytest.raises(TableError, match=reason):
        read_markdown(text)


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("a|b", r"a\|b"),
        ("*x*", r"\*x\*"),
        ("a\nb", "a<br>b"),
        (" x", "&#32;x"),
        ("&amp;", r"\&amp;"),
        ("12*", "12*"),
        ("<5", "<5"),
        ("\\", r"\\"),
    ],
)
def test_escapes_only_where_needed(cell: str, written: str) -> None:
    assert write_markdown(Table.of(["x"], [[cell]])) == f"| x |\n|---|\n| {written} |"


def test_spans_cover_the_table_alone() -> None:
    table = "| a |\n|---|\n| 1 |"
    text = f"One:\n\n{table}\n\nTwo:\n{table}\n#### | not a row |\n"
    assert [text[start:end] for start, end in locate_markdown(text)] == [
        table,
        f"{table}",
    ]


@given(st.lists(st.sampled_from(["|", "\\", "a", " ", "\\|", "*"]), max_size=20).map("".join))
def test_rows_split_like_markdown_it(row: str) -> None:
    row = row.strip()
    cells = escapedSplit(row)
    if cells and cells[0] == "":
        cells = cells[1:]
    if cells and cells[-1] == "":
        cells = cells[:-1]
    assert markdown._split(row) == [cell.strip() for cell in cells]
