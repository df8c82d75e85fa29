"""The table that an answer gives: thinking, marker, drafts, prose, and why there is none."""

from __future__ import annotations

import time
from typing import Literal

import pytest

from tablemend.tables.extract import extract_table
from tablemend.tables.read import Format, write_table
from tablemend.tables.table import Table

GOLD = Table.of(["Name", "Age"], [["Ann", "26"], ["Bo", None]])
DRAFT = Table.of(["Draft"], [["x"]])
SIZE = 20_000


def both(format: Format) -> tuple[str, str]:
    return write_table(GOLD, format), write_table(DRAFT, format)


@pytest.mark.parametrize("format", ["markdown", "json", "latex", "html"])
@pytest.mark.parametrize("asked", ["same", "auto"])
@pytest.mark.parametrize(
    "answer",
    [
        "{gold}",
        "Here is the table:\n\n{gold}\n\nAll values are from the text.",
        "```\n{gold}\n```",
        "#### \n{gold}",
        "####\n```markdown\n{gold}\n```\nDone.",
        "<think>Maybe {draft}? ####\n{draft}\n</think>\n\n{gold}",
        "thinking, {draft}\n</think>\n{gold}",
        "{draft}\n\n####\n{gold}\n\n{draft}",
        "####\n{draft}\n\nNo, better:\n\n####\n\n{gold}",
        "A draft:\n\n{draft}\n\nThe final one:\n\n{gold}\n",
        "#### Final table\n\n{gold}\n\n#### Notes\n\nNone.",
        "{gold}\n<think>Is that right?",
    ],
)
def test_finds_the_table(format: Format, asked: str, answer: str) -> None:
    gold, draft = both(format)
    text = answer.replace("{gold}", gold).replace("{draft}", draft)
    found = extract_table(text, format if asked == "same" else "auto")
    assert found.table == GOLD, found.reason
    assert found.reason == ""
    assert found.format == format
    assert text[found.start : found.end] == gold


@pytest.mark.parametrize(
    ("answer", "format", "reason"),
    [
        ("", "auto", "the answer is empty"),
        (" \n", "markdown", "the answer is empty"),
        ("I cannot tell.", "markdown", "no table found (markdown)"),
        ("I cannot tell.", "auto", "no table found (markdown or json or latex or html)"),
        ("<think>so | so\n|---|---|\n", "auto", "the thinking never ended (no </think>)"),
        ("Well. <think>so", "auto", "the thinking never ended (no </think>)"),
        ("<think>so</think>\n", "auto", "nothing follows the thinking"),
        ("####\n| a | b |\n| 1 | 2 |", "auto", "Markdown rows without a delimiter row"),
        ("| a | b |\n|---|---|\n| 1 | 2 | 3 |", "auto", "Markdown row 1 has 3 cells"),
        ('{"T": [{"a": "1"}, {"a"', "json", "the JSON is cut off"),
        ('{"T": [{"a": "1";}]}', "auto", "invalid JSON at line 1, column 1"),
        ("[]", "json", "the JSON list is empty"),
        ("\\begin{tabular}{l} a \\\\ 1", "latex", "the LaTeX table is cut off"),
        ("\\begin{tabular}{l} a \\\\ {1 \\end{tabular}", "auto", "malformed LaTeX table"),
        ("<table><tr><td>a", "html", "the HTML table is cut off"),
        ("a,b\n1,2,3", "csv", "CSV line 2 has 3 cells"),
        ("| a |\n|---|\n| 1 |", "json", "no table found (json)"),
    ],
)
def test_says_why_there_is_none(answer: str, format: Format | Literal["auto"], reason: str) -> None:
    found = extract_table(answer, format)
    assert found.table is None
    assert found.reason.startswith(reason)
    assert "\n" not in found.reason
    assert (found.start, found.end, found.format) == (0, 0, None)


def test_a_broken_final_table_is_not_replaced_by_the_draft() -> None:
    draft = write_table(DRAFT, "markdown")
    for broken in ("| a | b |\n|---|---|\n| 1 | 2 | 3 |", "| a | b |\n| 1 | 2 |"):
        found = extract_table(f"{draft}\n\n####\n{broken}\n")
        assert found.table is None
        assert "Markdown row" in found.reason


def test_csv_only_when_asked_for() -> None:
    text = "Sure, here:\n```csv\nName,Age\nAnn,26\nBo,\n```\nDone, really."
    assert extract_table(text).table is None
    assert extract_table(text, "csv").table == GOLD
    assert extract_table("####\nName,Age\nAnn,26\nBo,", "csv").table == GOLD


def test_a_table_inside_a_table_is_a_cell() -> None:
    cell = '[{"x": "1"}]'
    assert extract_table(f"| a |\n|---|\n| {cell} |").table == Table.of(["a"], [[cell]])


HEAD = "| a | b |\n|---|---|\n"
BIG = [
    *("|", "\\", "<think>", "####", "</think>", "-", "\n", "[", "{", '{"', '[{"a":', "[]", "[\n"),
    *("<table><tr><td>", "<table></table>", "| a | b |\n", "|-\n", "a|b\n-\n"),
    *("\\begin{tabular}", "\\begin{tabular}\\end{tabular}", "<answer>", "</answer>x", "> |\n"),
    *("+--+\n|a|\n", "│\n", '{"a":1}\n', '{"a":1,},', "[1,],", "<a_a_", "a: | b | c\n|---|---|\n"),
]


@pytest.mark.parametrize(
    ("head", "text"), [*(("", text) for text in BIG), *((HEAD + "| ", text) for text in "|\\*[<&")]
)
def test_long_answers_take_linear_time(head: str, text: str) -> None:
    answer = head + text * (SIZE // len(text))
    start = time.process_time()
    found = extract_table(answer)
    assert time.process_time() - start < 5  # a step for each pair would be hours
    assert found.table is not None or 0 < len(found.reason) < 200


@pytest.mark.parametrize("asked", ["json", "auto"])
@pytest.mark.parametrize(
    "answer",
    [
        "[]",
        '{"People": []}',
        "<think>[]? </think>\nNobody is named:\n\n```json\n[\n]\n```\n",
        'So:\n#### {"People": []}',
        "#### []",
        'A draft: {"People": [{"Name": "Ann"}]}\n####\n```json\n{"People": []}\n```',
        '{"columns": [], "rows": []}',
        '{"t": []}\n\n- [ ] done?',
        "- [ ] look\n\n[]\n\n- [x] The list is [], - [] as asked.",
    ],
)
def test_an_empty_json_table_is_an_answer(answer: str, asked: Literal["json", "auto"]) -> None:
    found = extract_table(answer, asked)
    assert (found.table, found.empty) == (None, True)
    assert "empty" in found.reason


@pytest.mark.parametrize(
    "answer",
    ["- [ ] look it up", "The list was [] in the end.", "{}", "[[]]", "[] and [", '{"a": {}}'],
)
def test_brackets_in_a_sentence_are_no_empty_table(answer: str) -> None:
    found = extract_table(answer)
    assert (found.table, found.empty) == (None, False) and found.reason


OTHER = Table.of(["Measure", "Mean"], [["Age", "26"]])


@pytest.mark.parametrize("format", ["markdown", "json", "latex", "html", "csv"])
def test_two_tables_of_one_header_are_one(format: Format) -> None:
    first, second = (write_table(Table.of(GOLD.columns, [row]), format) for row in GOLD.rows)
    answer = f"The first:\n\n```\n{first}\n```\n\nAnd the rest:\n\n```\n{second}\n```\n"
    for text in (answer, f"####\n{answer}"):
        found = extract_table(text, format)
        assert found.table == GOLD
        assert text[found.start : found.end].startswith(first[:5])
        assert text[found.start : found.end].rstrip().endswith(second.strip()[-5:])


@pytest.mark.parametrize("format", ["markdown", "json", "latex", "html", "csv"])
def test_the_table_of_the_header_asked_for_wins(format: Format) -> None:
    asked, other = write_table(GOLD, format), write_table(OTHER, format)
    for first, second in ((asked, other), (other, asked)):
        text = f"```\n{first}\n```\n\nA summary:\n\n```\n{second}\n```\n"
        assert extract_table(text, format, ["name", "age"]).table == GOLD
        assert extract_table(f"####\n{text}", format, ["name", "age"]).table == GOLD


def test_a_draft_of_the_same_rows_is_no_first_half() -> None:
    draft = write_table(Table.of(GOLD.columns, [["Ann", "62"]]), "markdown")
    text = f"{draft}\n\nNo:\n\n{write_table(GOLD, 'markdown')}\n"
    assert extract_table(text).table == GOLD
    assert extract_table(text, columns=GOLD.columns).table == GOLD


def test_json_lists_of_the_same_columns_in_one_object_are_one_table() -> None:
    text = '{"East": [{"Name": "Ann", "Age": 26}], "West": [{"Name": "Bo", "Age": null}]}'
    assert extract_table(text).table == GOLD
    assert extract_table('{"East": [{"Name": "Ann"}], "West": [{"Age": 3}]}').table is None
