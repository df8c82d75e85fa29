"""LaTeX tabulars: the usual dialects, and what is refused."""

from __future__ import annotations

import pytest

from tablemend.tables import latex
from tablemend.tables.latex import locate_latex, read_latex
from tablemend.tables.table import Table, TableError

PEOPLE = Table.of(["Name", "Age"], [["Ann", "26"], ["Bo", None]])


def tabular(body: str) -> str:
    return f"\\begin{{tabular}}{{ll}}\n{body}\n\\end{{tabular}}"


@pytest.mark.parametrize(
    "text",
    [
        tabular(r"\hline Name & Age \\ \hline Ann & 26 \\ \hline Bo & \\ \hline"),
        tabular("\\toprule\nName & Age \\\\\n\\midrule\nAnn & 26 \\\\\nBo & \\\\\n\\bottomrule"),
        tabular(r"\textbf{Name} & {\bf Age} \\[2pt] Ann & $26$ \\* Bo"),
        tabular("Name & Age \\\\ % the header\nAnn & 26 \\\\ % 27?\nBo & \\tabularnewline"),
        tabular(r"Name & Age \\ \cline{1-2} Ann & 26 \\ \addlinespace[3pt] \\ Bo & {} \\"),
        r"\begin{tabularx}{\textwidth}{l|X} Name & Age \\ Ann & 26 \\ Bo & \\ \end{tabularx}",
        r"\begin{tabular*}{5cm}[t]{ll} Name & Age \\ Ann & 26 \\ Bo & \\ \end{tabular*}",
        r"Here: \begin{tabular}[t]{l r} Name & Age \\ Ann & 26 \\ Bo & ~ \\ \end{tabular} Done.",
        r"\begin{longtable}{ll} Name & Age \\ \endfirsthead Name & Age \\ \endhead "
        r"more & \\ \endfoot \hline \endlastfoot Ann & 26 \\ Bo & \\ \end{longtable}",
    ],
)
def test_reads(text: str) -> None:
    assert read_latex(text) == PEOPLE


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
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
    ],
)
def test_cells(cell: str, expected: str) -> None:
    assert read_latex(tabular(f"a & b \\\\ {cell} & x \\\\")).rows[0] == (expected, "x")


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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
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
        (tabular(r"a & \multicolumn{1000}{l}{" * 9 + "x" + "}" * 9), "."),
    ],
)
def test_refuses(text: str, reason: str) -> None:
    if reason != ".":
        with pytest.raises(TableError, match=reason):
            read_latex(text)
    else:
        assert len(read_latex(text).columns) == 1001


def test_long_tables_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latex, "MAX_CHARACTERS", 100)
    with pytest.raises(TableError, match="the limit is 100"):
        read_latex(tabular(r"a & b \\" * 20))


def test_an_open_environment_does_not_swallow_the_next() -> None:
    text = "I begin with \\begin{tabular} so:\n" + tabular("a \\\\ 1 \\\\")
    start, end = locate_latex(text)[1]
    assert text[start:end] == tabular("a \\\\ 1 \\\\")
