"""The second scorer: it shares nothing with the detector and flags injected edits, not gold."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import pytest

from tablemend.exact_match import Opinion, Unreadable, compare_exactly, read_answer
from tablemend.tables.table import Table
from tablemend.tasks.tablehallu import small_world
from tablemend.tasks.tablehallu.prompts import answer
from tests.support.injected import EDITS
from tests.unit.detector.test_detector_edits import invented_tables

FORMATS = ("markdown", "json", "latex")
GOLD = Table.of(
    ["Club", "Wins", "Shirt"],
    [["Ama", "0", "red"], ["Bel", "1,200", None], ["Cor", "1200", "blue"]],
)


def score(text: str, gold: Table = GOLD, format: str = "markdown", sort: str | None = "Wins"):
    return compare_exactly(text, format, gold.columns, gold.rows, sort)


def kinds(opinion: Opinion) -> list[str]:
    return [difference.kind for difference in opinion.differences]


def is_whole(opinion: Opinion, gold: Table) -> bool:
    wrong = opinion.differences or opinion.unscored
    return not wrong and opinion.found == opinion.rows == len(gold.rows)


def markdown(*rows: str, head: str = "Club | Wins | Shirt") -> str:
    return "\n".join(f"| {row} |" for row in (head, "---|---|---", *rows))


def test_it_loads_nothing_of_tablemend_but_itself() -> None:
    code = (
        "import sys, tablemend.exact_match, tablemend.exact_match.exact\n"
        "names = {name for name in sys.modules if name.startswith('tablemend.')}\n"
        "others = {name for name in names if not name.startswith('tablemend.exact_match')}\n"
        "sys.exit(', '.join(sorted(others)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("format", FORMATS)
def test_it_accepts_every_target_of_the_small_world(format: Any) -> None:
    made = list(small_world.examples(5, 150))
    assert {len(example.gold_table.rows) for example in made} == {0, 1, 2, 3}
    for example in made:
        gold, rule = example.gold_table, example.constraints
        opinion = score(answer(gold, format), gold, format, rule.sort_column)
        assert is_whole(opinion, gold), (opinion, gold)


@pytest.mark.parametrize("format", FORMATS)
def test_it_accepts_the_gold_table_in_every_format(format: Any) -> None:
    for table in invented_tables():
        opinion = score(answer(table, format), table, format, None)
        assert is_whole(opinion, table), (opinion, table)


@pytest.mark.parametrize("name", list(EDITS))
def test_it_flags_what_the_detector_is_tested_with(name: str) -> None:
    _, edit = EDITS[name]
    tried = 0
    for number, table in enumerate(invented_tables()):
        edited = edit(table, random.Random(number))
        if edited is not None:
            tried += 1
            assert score(answer(edited), table, sort=None).differences, (table, edited)
    assert tried > 50


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["Ama | 0 | red", "Bel | 1200 | -", "Cor | 1,200.0 | BLUE"], []),
        (["Ama | 0 | red", "Cor | 1200 | blue", "Bel | 1200 | n/a"], []),  # a tie
        (["Cor | 1200 | blue", "Ama | 0 | red"], ["order"]),
        (["Ama | 0 | red"], []),  # rows are missing: nothing false is said
        (["Ama | - | red"], ["cell"]),  # zero is no blank
        (["Ama | 0 | red", "Bel | 1200 | green"], ["cell"]),
        (["Ama | 0 | reddish"], ["cell"]),
        (["Ama | 0 | red", "Ama | 0 | red"], ["extra_row"]),
        (["Ama | 0 | red", "Dor | 3 | red"], ["extra_row"]),
        (["Ama | 0 | red", " | | "], []),
        (["Ama | 0"], ["unreadable"]),
    ],
)
def test_rows(rows: list[str], expected: list[str]) -> None:
    assert kinds(score(markdown(*rows))) == expected


def test_missing_rows_are_counted_and_no_hallucination() -> None:
    assert score(markdown("Ama | 0 | red")) == Opinion((), 1, 3)
    assert score(markdown()) == score('{"t": []}', format="json") == Opinion((), 0, 3)
    assert kinds(score("I cannot tell.")) == ["unreadable"]


@pytest.mark.parametrize(
    "head", ["Club | Shirt | Wins", "Club | Wins | Colour", "Club | Wins | Wins"]
)
def test_other_columns_are_wrong(head: str) -> None:
    assert kinds(score(markdown("Ama | 0 | red", head=head))) == ["columns"]


def test_rows_without_a_name_of_their_own_are_told_apart_by_more_columns() -> None:
    gold = Table.of(["Year", "Club", "Wins"], [["1", "Ama", "5"], ["2", "Ama", "5"]])
    wrong = "| Year | Club | Wins |\n|---|---|---|\n| 1 | Ama | 5 |\n| 2 | Ama | 6 |"
    assert kinds(score(wrong, gold, sort="Year")) == ["cell"]
    twice = Table.of(["Club", "Wins"], [["Ama", "5"], ["Ama", "5"]])
    assert is_whole(score(answer(twice), twice), twice)


def test_what_cannot_be_compared_with_is_unscored() -> None:
    two = Table.of(["A", "a"], [["1", "2"]])
    blank = Table.of(["A", "B"], [[None, "-"]])
    for gold, sort in ((two, None), (blank, None), (GOLD, "Losses")):
        opinion = score(markdown("Ama | 0 | red"), gold, sort=sort)
        assert opinion == Opinion(unscored=opinion.unscored) and opinion.unscored


def test_the_table_behind_the_marker_counts_else_the_last() -> None:
    draft, final = markdown("Dor | 3 | red"), markdown("Ama | 0 | red")
    thought = f"<think>\n{draft}\n</think>\n"
    assert not score(f"{thought}{draft}\n\nChecked:\n\n{final}").differences
    assert not score(f"{draft}\n#### \n{final}\n\nThat is all.\n\n{draft}").differences
    assert score(f"{final}\n####\n{draft}").differences
    assert kinds(score(f"{final}\n<think>")) == ["unreadable"]


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("markdown", "Club, Wins\nAma, 0"),
        ("markdown", "| Club | Wins |\n| Ama | 0 |"),
        ("json", '[{"Club": "Ama", "Wins": 0}, {"Wins": 1, "Club": "Bel"}]'),
        ("json", '[{"Club": "Ama", "Wins": [1]}]'),
        ("json", '[{"Club": "Ama", '),
        ("json", '{"Club": "Ama", "Wins": 0}'),
        ("json", r'[{"Club": "Ama \ud800", "Wins": 0}]'),
        ("latex", r"\begin{tabular}{ll} Club & Wins \\ Ama & 0"),
        ("latex", r"\begin{tabular}{ll} Club & Wins \\ Ama & 0 & 1 \\ \end{tabular}"),
    ],
)
def test_what_is_no_whole_table_is_not_read(format: str, text: str) -> None:
    with pytest.raises(Unreadable):
        read_answer(text, format)


def test_the_reader_undoes_each_formats_escapes() -> None:
    grid = read_answer(r"| **A\|b** | C&amp;D |" + "\n|:---|---:|\n| x<br>y | 1\\*2 |", "markdown")
    assert (grid.columns, grid.rows) == (("A|b", "C&D"), (("x y", "1*2"),))
    grid = read_answer('Here: {"t": [{"a": 1.50, "b": null}]} done', "json")
    assert (grid.columns, grid.rows) == (("a", "b"), (("1.50", ""),))
    text = (
        r"\begin{tabular}{l|p{3cm}} \toprule \textbf{A} & 5\% \\[2pt] \midrule "
        r"$-3$ & R\&D\textbackslash{}x \\ \bottomrule \end{tabular}"
    )
    grid = read_answer(text, "latex")
    assert (grid.columns, grid.rows) == (("A", "5%"), (("-3", "R&D\\x"),))


def test_the_numbers_of_rows_are_no_part_of_their_names() -> None:
    numbered = markdown("1. Ama | 0 | red", "2. Bel | 1200 | -", "3. Cor | 1200 | blue")
    assert is_whole(score(numbered), GOLD)
    gold = Table.of(["Club", "Wins"], [["1. Ama", "3"], ["2. Bel", "4"]])
    assert is_whole(score(answer(gold), gold, sort=None), gold)
    assert kinds(score(markdown("2. Ama | 0 | red"))) == ["extra_row"]
