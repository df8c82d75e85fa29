"""HTML tables: header, spans, white space, and what is refused."""

from __future__ import annotations

import pytest

from tablemend.tables.html import locate_html, read_html, write_html
from tablemend.tables.table import Table, TableError

PEOPLE = Table.of(["Name", "Age"], [["Ann", "26"], ["Bo", None]])


@pytest.mark.parametrize(
    "text",
    [
        "<table><thead><tr><th>Name</th><th>Age</th></tr></thead><tbody>"
        "<tr><td>Ann</td><td>26</td></tr><tr><td>Bo</td><td></td></tr></tbody></table>",
        "<TABLE border=1><TR><TH>Name<TH>Age<TR><TD>Ann<TD>26<TR><TD>Bo<TD>&nbsp;</TABLE>",
        "Here:\n```html\n<table><tr><td><b>Name</b></td><td>Age</td></tr><tr></tr>"
        "<tr><th>Ann</th><td> <i>26</i>\n</td></tr><tr><th>Bo</th></tr></table>\n```",
        "<table><tr><td>&#160;</td><td></td></tr><tr><td>Name</td><td>Age</td></tr>"
        "<tr><td>Ann<!-- x --></td><td>26<script>x()</script></td></tr>"
        "<tr><td><p>Bo</p></td><td><?x y?></td></tr></table>",
    ],
)
def test_reads(text: str) -> None:
    assert read_html(text) == PEOPLE


def test_spans_are_repeated() -> None:
    text = """<table><caption>Sales</caption>
    <thead><tr><th rowspan=2>Name</th><th colspan="2">Sales</th></tr>
    <tr><th>2020</th><th>2021</th></tr></thead>
    <tr><td rowspan="2">Ann</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr>
    <tr><td>Bo</td><td colspan=2>none</td></tr>
    <tr><td>Cy</td><td rowspan=0>x</td><td>5</td></tr><tr><td>Di</td></tr></table>"""
    assert read_html(text) == Table.of(
        ["Name", "Sales 2020", "Sales 2021"],
        [
            ["Ann", "1", "2"],
            ["Ann", "3", "4"],
            ["Bo", "none", "none"],
            ["Cy", "x", "5"],
            ["Di", "x", None],
        ],
        "Sales",
    )


def test_a_rowspan_ends_with_its_section() -> None:
    text = (
        "<table><thead><tr><th>a</th><th rowspan=9>b</th></tr></thead>"
        "<tbody><tr><td>1</td><td>2</td></tr></tbody></table>"
    )
    assert read_html(text) == Table.of(["a", "b"], [["1", "2"]])


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("a  b\n c", "a b c"),
        ("a<br>b", "a\nb"),
        ("<div>Broker </div>\n<div>Non-Votes</div>", "Broker\nNon-Votes"),
        ("&lt;5 &amp; &eacute;", "<5 & é"),
        ("1990&#150;95", "1990\u201395"),
        ("<pre> a\n b</pre>", " a\n b"),
        ("x<sup>2</sup>", "x2"),
        ("&nbsp;x&nbsp;y&nbsp;", "x\u00a0y"),
        ("x<br>", "x"),
    ],
)
def test_cells(cell: str, expected: str) -> None:
    assert read_html(f"<table><tr><td>h</td></tr><tr><td>{cell}</td></tr></table>").rows == (
        (expected,),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<p>none</p>", "no HTML table"),
        ("<table><tr><td>a</td></tr>", "cut off"),
        ("<table></table>", "no row"),
        ("<TABLE>\n<S> <C>\nAnn  26\n</TABLE>", "no row"),
        ("<table><tr><td><table><tr><td>x</td></tr></table></td></tr></table>", "inside another"),
        ("<table><tr><td>x</table><table><tr><td>y</table>", "2 HTML tables"),
        ("<table><tr><td>" + "<b>" * 5000 + "x</td></tr></table>", "Excessive depth"),
        ("<table><tr><td>a\x00</td></tr></table>", "NUL"),
        ("<table><tr><td>a&#1;</td></tr></table>", "control character"),
        ("<table>" + "<tr>" + "<td colspan=1000>x" * 5000 + "</table>", "the limit is"),
        ("<table>" + "<tr><td rowspan=60000>x" * 5000 + "</table>", "the limit is"),
    ],
)
def test_refuses(text: str, reason: str) -> None:
    with pytest.raises(TableError, match=reason):
        read_html(text)


def test_writes() -> None:
    table = Table.of(["a"], [["<x> & y"], ["two\nlines"], [" edge"], [None]], "T")
    assert write_html(table) == (
        "<table>\n  <caption>T</caption>\n  <thead>\n    <tr><th>a</th></tr>\n  </thead>\n"
        "  <tbody>\n    <tr><td>&lt;x&gt; &amp; y</td></tr>\n    <tr><td>two<br>lines</td></tr>\n"
        "    <tr><td><pre> edge</pre></td></tr>\n    <tr><td></td></tr>\n  </tbody>\n</table>"
    )


def test_a_mention_in_prose_does_not_swallow_the_table() -> None:
    table = "<table><tr><td>a</td></tr></table>"
    text = f"I use the <table> element: {table}"
    assert [text[start:end] for start, end in locate_html(text)] == ["<table>", table]
