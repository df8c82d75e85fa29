"""The five formats: what is read, what a cell says, what is refused; and the way back."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.tables.csvtable import read_csv
from tablemend.tables.extract import extract_table
from tablemend.tables.html import locate_html, read_html
from tablemend.tables.jsontable import locate_json, read_json, write_json
from tablemend.tables.latex import locate_latex, read_latex
from tablemend.tables.markdown import locate_markdown, write_markdown
from tablemend.tables.read import FORMATS, Format, read_table, write_table
from tablemend.tables.table import Table, TableError

PEOPLE = Table.of(["Name", "Age"], [["Ann", "26"], ["Bo", None]])


def tabular(body: str) -> str:
    return f"\\begin{{tabular}}{{ll}}\n{body}\n\\end{{tabular}}"


READ = {
    "csv": (
        "Name,Age\nAnn,26\nBo,\n",
        "Name;Age\r\nAnn;26\r\nBo;\r\n",
        "Name\tAge\nAnn\t26\nBo\t",
        '\ufeff"Name","Age"\n"Ann","26"\n"Bo",""\n',
        "Name, Age\n\nAnn, 26\n\nBo,\n\n",
        "Name,Age\rAnn,26\rBo,\r",
    ),
    "html": (
        "<table><thead><tr><th>Name</th><th>Age</th></tr></thead><tbody>"
        "<tr><td>Ann</td><td>26</td></tr><tr><td>Bo</td><td></td></tr></tbody></table>",
        "<TABLE border=1><TR><TH>Name<TH>Age<TR><TD>Ann<TD>26<TR><TD>Bo<TD>&nbsp;</TABLE>",
        "Here:\n```html\n<table><tr><td><b>Name</b></td><td>Age</td></tr><tr></tr>"
        "<tr><th>Ann</th><td> <i>26</i>\n</td></tr><tr><th>Bo</th></tr></table>\n```",
        "<table><tr><td>&#160;</td><td></td></tr><tr><td>Name</td><td>Age</td></tr>"
        "<tr><td>Ann<!-- x --></td><td>26<script>x()</script></td></tr>"
        "<tr><td><p>Bo</p></td><td><?x y?></td></tr></table>",
    ),
    "latex": (
        tabular(r"\hline Name & Age \\ \hline Ann & 26 \\ \hline Bo & \\ \hline"),
        tabular("\\toprule\nName & Age \\\\\n\\midrule\nAnn & 26 \\\\\nBo & \\\\\n\\bottomrule"),
        tabular(r"\textbf{Name} & {\bf Age} \\[2pt] Ann & $26$ \\* Bo"),
        tabular("Name & Age \\\\ % the header\nAnn & 26 \\\\ % 27?\nBo & \\tabularnewline"),
        tabular(r"Name & Age \\ \cline{1-2} Ann & 26 \\ \addlinespace[3pt] \\ Bo & {} \\"),
        r"\begin{tabularx}{\textwidth}{l|X} Name & Age \\ Ann & 26 \\ Bo & \\ \end{tabularx}",
        r"\begin{tabular*}{5cm}[t]{ll} Name & Age \\ Ann & 26 \\ Bo & \\ \end{tabular*}",
        r"So: \begin{tabular}[t]{l r} Name & Age \\ Ann & 26 \\ Bo & ~ \\ \end{tabular} Done.",
        r"\begin{longtable}{ll} Name & Age \\ \endfirsthead Name & Age \\ \endhead "
        r"more & \\ \endfoot \hline \endlastfoot Ann & 26 \\ Bo & \\ \end{longtable}",
    ),
    "markdown": (
        "| Name | Age |\n|---|---|\n| Ann | 26 |\n| Bo |  |",
        "|Name|Age|\n|:--|--:|\n|Ann|26|\n|Bo||",
        "Name | Age\n--- | ---\nAnn | 26\nBo | ",
        "  | Name | Age |\n  | :---: | - |\n  | Ann | 26 |\n  | Bo |",
        "So:\n\n```markdown\n| Name | Age |\n|---|---|\n| Ann | 26 |\n| Bo | |\n```\nDone.",
        "| Name | Age |\r\n|---|---|\r\n| Ann | 26 |\r\n| Bo | |\r\n",
        "| **Name** | `Age` |\n|---|---|\n| [Ann](http://x.y) | <b>26</b> |\n| *Bo* | |",
        "| Name | Age |\n|---|---|\n| Ann | 26 |\n| Bo | |\nNote: no age is given for Bo.",
        "| Name | Age |\n|---|\n| Ann | 26 |\n| Bo | |",
        "#### | Name | Age |\n|---|---|\n| Ann | 26 |\n| Bo | |",
    ),
    "json": (
        '{"People": [{"Name": "Ann", "Age": "26"}, {"Name": "Bo", "Age": null}]}',
        '[{"Name": "Ann", "Age": 26}, {"Name": "Bo", "Age": ""}]',
        '[{"Name": "Ann", "Age": 26}, {"Name": "Bo"}]',
        '{"columns": ["Name", "Age"], "rows": [["Ann", "26"], ["Bo", null]]}',
        '{"columns": ["Name", "Age"], "data": [["Ann", 26], ["Bo", null]], "title": "P"}',
        '\ufeff[{"Name": "Ann", "Age": 26}, {"Name": "Bo"}]\n',
    ),
}


@pytest.mark.parametrize(
    ("format", "text"), [(form, text) for form, texts in READ.items() for text in texts]
)
def test_reads(format: Format, text: str) -> None:
    found = read_table(text, format)
    assert (found.columns, found.rows) == (PEOPLE.columns, PEOPLE.rows)


CELLS = {
    "html": (
        ("a  b\n c", "a b c"),
        ("a<br>b", "a\nb"),
        ("<div>Broker </div>\n<div>Non-Votes</div>", "Broker\nNon-Votes"),
        ("&lt;5 &amp; &eacute;", "<5 & é"),
        ("1990&#150;95", "1990\u201395"),
        ("<pre> a\n b</pre>", " a\n b"),
        ("x<sup>2</sup>", "x^2"),
        ("&nbsp;x&nbsp;y&nbsp;", "x\u00a0y"),
        ("x<br>", "x"),
    ),
    "latex": (
        (r"R\&D \$5 10\% a\_b \#1 \{x\}", "R&D $5 10% a_b #1 {x}"),
        (r"\textbf{\textit{x}} \emph{y} \texttt{z}", "x y z"),
        (r"caf\'e \"o \ss{} \~n", "café ö ß ñ"),
        (r"$1.5$", "1.5"),
        (r"$-3$ $\times$ $\geq 2$", "-3 \u00d7 ≥ 2"),
        (r"5\,000", "5 000"),
        (r"5~km", "5 km"),
        (r"\href{http://a.b}{site}", "site"),
        (r"\textcolor{red}{7}", "7"),
        (r"\makecell{a \\ b}", "a\nb"),
        (r"\unknown{kept}", "kept"),
        (r"x\footnote{note}", "x"),
        (r"\num{1.50}", "1.50"),
        ("1990--1995", "1990\u20131995"),
    ),
    "markdown": (
        (r"a \| b", "a | b"),
        (r"a\\", "a\\"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("&lt;5 &amp; &#36;", "<5 & $"),
        ("R&D", "R&D"),
        ("5 * 3 * 2", "5 * 3 * 2"),
        ("free_throw_rate", "free_throw_rate"),
        ("<unknown>", "<unknown>"),
        ("![logo](x.png)", "logo"),
        ("10<sup>2</sup>", "10^2"),
        ("`` theo ''", "`` theo ''"),
        ("\u00a0x", "\u00a0x"),
    ),
}


@pytest.mark.parametrize(
    ("format", "cell", "expected"),
    [(form, *case) for form, cases in CELLS.items() for case in cases],
)
def test_cells(format: Format, cell: str, expected: str) -> None:
    text = {
        "html": f"<table><tr><td>h</td></tr><tr><td>{cell}</td></tr></table>",
        "latex": tabular(f"a \\\\ {cell} \\\\"),
        "markdown": f"| x |\n|---|\n| {cell} |",
    }[format]
    assert read_table(text, format).rows == ((expected,),)


REFUSED = {
    "csv": (
        ("", "empty"),
        ("\n\n", "empty"),
        ("a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, the header has 2"),
        ('a,b\n"x\ny",2\n1\n', "line 4 has 1 cells"),
        ('a,b\n"x"y,2\n', "CSV line 2"),
        ('a,b\n"x,2\n', "unexpected end of data"),
        ("name\nSmith, Ann\n", "line 2 has 2 cells"),
    ),
    "html": (
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
    ),
    "json": (
        ('[{"a": 1', "cut off at line 1"),
        ('{"T": [{"a": "x', "cut off"),
        ('[{"a": 1,}]', "invalid JSON at line 1, column"),
        ("[{'a': 1}]", "invalid JSON"),
        ('[{"a": 1}] and more', "Extra data"),
        ('[{"a": 1, "a": 2}]', "key 'a' stands twice"),
        ('[{"a": [1]}]', "record 1 has a nested value under 'a'"),
        ('[{"a": {"b": 1}}]', "nested value"),
        ('["a"]', "record 1 is not an object"),
        ('{"A": [], "B": []}', "2 keys"),
        ('{"A": 1}', "not a list of records"),
        ('{"columns": ["a"], "rows": [["1", "2"]]}', "row 1 has 2 cells"),
        ('{"columns": ["a"], "rows": [["1"]], "index": [0]}', "unknown JSON key 'index'"),
        ("3", "single value"),
        (" ", "empty"),
        ("[" * 100_000, "nested too deeply"),
        ("[{}]", "records are empty"),
        ('{"columns": [], "data": [[]], "title": "T"}', "columns and data are empty"),
        (r'[{"a": "\ud83d"}]', r"U\+D83D"),
    ),
    "latex": (
        ("a & b", "no LaTeX table"),
        ("\\begin{tabular}{ll} a & b \\\\ 1 & 2", "cut off"),
        (tabular(r"a & b \\ {1 & 2 \\"), "malformed LaTeX table"),
        (tabular(r"a & b \\ $1 & 2 \\"), "malformed LaTeX table"),
        (tabular(r"a & b \\ 1 & 2 & 3 \\"), "row 1 has 3 cells, the header has 2"),
        (tabular(r"a & b \\ \multicolumn{x}{l}{1} \\"), "malformed LaTeX table"),
        (tabular(r"\hline"), "no row"),
        (tabular("a \\\\ " + "{" * 5000), "nested too deeply"),
        (tabular("a \\\\ \x01"), "control character"),
        (tabular("a") + tabular("b"), "2 LaTeX tables"),
        ("\\begin{table}\\caption{x}\\end{table}", "0 LaTeX tabulars"),
    ),
    "markdown": (
        ("| a | b |\n|---|---|\n| 1 | 2 | 3 |", "row 1 has 3 cells, the header has 2"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| x | y | z |", "row 2 has 3 cells"),
        ("| a | b |\n| 1 | 2 |", "without a delimiter row"),
        ("| a | b | c |\n|---|---|\n| 1 | 2 |", "delimiter row has 2 cells, the header has 3"),
        ("| a | b |\n|---|:|\n| 1 | 2 |", "malformed Markdown delimiter row"),
        ("no table at all", "no Markdown table"),
        ("use a | b\n---\nor so", "delimiter row has 1 cells"),
        ("| a |\n|---|\n| 1 |\n\n| b |\n|---|\n| 2 |", "2 Markdown tables where one is expected"),
    ),
}


@pytest.mark.parametrize(
    ("format", "text", "reason"),
    [(form, *case) for form, cases in REFUSED.items() for case in cases],
)
def test_refuses(format: Format, text: str, reason: str) -> None:
    with pytest.raises(TableError, match=reason):
        read_table(text, format)


def test_the_separator_is_the_one_that_fits() -> None:
    assert read_csv("Name;Price\nAnn;1,5\nBo;2,5").rows == (("Ann", "1,5"), ("Bo", "2,5"))
    assert read_csv("City, State;Pop;Area\nA, B;1;2").columns == ("City, State", "Pop", "Area")
    assert read_csv("Name\nAnn\nBo").columns == ("Name",)


def test_quoted_cells() -> None:
    text = 'a,b\n"x, ""y""","line 1\nline 2"\n" z ",\n'
    assert read_csv(text).rows == (('x, "y"', "line 1\nline 2"), (" z ", None))


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


def test_spans_captions_and_header_rows() -> None:
    text = r"""
    \begin{table}[ht] \centering \caption{Sales \& more} \label{tab:sales}
    \resizebox{\textwidth}{!}{\begin{tabular}{lrr} \toprule
    Name & \multicolumn{2}{c}{Sales} \\ \cmidrule(lr){2-3}
     & 2020 & 2021 \\ \midrule
    \multirow{2}{*}{Ann} & 1 & 2 \\
     & 3 & 4 \\
    Bo & \multicolumn{2}{c}{none} \\ \bottomrule
    \end{tabular}}
    \end{table}"""
    assert read_latex(text) == Table.of(
        ["Name", "Sales 2020", "Sales 2021"],
        [["Ann", "1", "2"], ["Ann", "3", "4"], ["Bo", "none", "none"]],
        "Sales & more",
    )


def test_numbers_keep_their_spelling() -> None:
    text = '[{"a": 1.50, "b": 1e3, "c": -0, "d": true, "e": false, "f": 12345678901234567890}]'
    assert read_json(text).rows == (("1.50", "1e3", "-0", "true", "false", "1234567890" * 2),)


def test_columns_are_the_union_in_order_of_appearance() -> None:
    table = read_json('[{"b": "1"}, {"a": "2", "b": "3"}, {"c": "4"}]')
    assert table.columns == ("b", "a", "c")
    assert table.rows == (("1", None, None), ("3", "2", None), (None, None, "4"))


def test_no_column_is_lost_that_records_cannot_carry() -> None:
    for table in (Table.of(["a", "a"], [["1", "2"]], "T"), Table.of(["a", "b"], [], "columns")):
        assert read_json(write_json(table)) == table


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


@pytest.mark.parametrize(
    ("locate", "text", "found"),
    [
        (
            locate_html,
            "I use the <table> element: <table><tr><td>a</td></tr></table>",
            ["<table>", "<table><tr><td>a</td></tr></table>"],
        ),
        (
            locate_latex,
            "I begin with \\begin{tabular} so: " + tabular("a"),
            ["\\begin{tabular}", tabular("a")],
        ),
        (
            locate_markdown,
            "One:\n\n| a |\n|---|\n| 1 |\n\nTwo:\n| b |\n|---|\n| 1 |\n#### | no row |\n",
            ["| a |\n|---|\n| 1 |", "| b |\n|---|\n| 1 |"],
        ),
        (
            locate_json,
            'As [1] says {see below}: {"T": [{"a": "}]"}]} or ["x"].',
            ['{"T": [{"a": "}]"}]}', '["x"]'],
        ),
    ],
)
def test_tables_are_found_in_prose(
    locate: Callable[[str], list[tuple[int, int]]], text: str, found: list[str]
) -> None:
    assert [text[start:end] for start, end in locate(text)] == found


HOSTILE = [
    *"|\\\"'`*_<>&%$#{}[]()~^!?:;,.-=+@/ \n\r\t",
    *("<br>", "&amp;", "&#32;", "&nbsp;", "\\|", "\\\\", "\\&", "||", "--", "---", "''", "``"),
    *("**", "__", "####", "```", "<td>", "</table>", "<pre>", "<!--", "]]>", "\\begin{tabular}"),
    *("\\end{tabular}", "\\\\[2pt]", "</think>", "null", "1.50", "[a](b)", "![a](b)", "\r\n"),
    *("\u00a0", "\u200b", "\u202e", "\u0301", "\u2028", "\u3000", "\ufeff", "😀", "שלום", "\x7f"),
    *("a", "Z", "7", "é", "word", "  ", "$x$", "<http://a.b>", "<unknown>", "%20", "~~"),
]
TITLED = {"json", "latex", "html"}
UNCARRIED = {
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
    return not any(re.search(UNCARRIED[format], text) for text in texts)


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
