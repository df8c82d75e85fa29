"""Answers as models write them: thoughts, wrappings, drawings and JSON of every kind."""

from __future__ import annotations

import pytest

from tablemend.exact_match import Unreadable, read_answer
from tablemend.tables import read
from tablemend.tables.extract import extract_table
from tablemend.tables.read import Format, read_table
from tablemend.thinking import behind_thinking, end_of_thinking, with_open_thought

COLUMNS = ("Team", "Points")
ROWS = (("Alba", "41"), ("Sella", "37"))
TABLE = "| Team | Points |\n|---|---|\n| Alba | 41 |\n| Sella | 37 |"
DRAFT = "| Team | Points |\n|---|---|\n| Wrong | 1 |"
ONE, TWO = '{"Team": "Alba", "Points": 41}', '{"Team": "Sella", "Points": 37}'
TAGS = [
    *(("<think>", "</think>"), ("<THINKING>", "</THINKING>"), ("<thought>", "</thought>")),
    *(("<reasoning>", "</reasoning>"), ("<analysis>", "</analysis>"), ("[THINK]", "[/THINK]")),
    *(("<seed:think>", "</seed:think>"), ("◁think▷", "◁/think▷"), ("<think effort=1>", "</think>")),
    *(("< think >", "</ think>"), ("<thought_process>", "</thought_process>")),
    ("<scratchpad>", "</scratchpad>"),
    ("<inner_monologue>", "</inner_monologue>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<unused94>thought\n", "<unused95>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel|>commentary to=tool<|message|>", "<|channel|>final <|constrain|>md<|message|>"),
    ("analysisWe draft", "assistantfinal"),
]


def quoted(text: str, mark: str = "> ") -> str:
    return "\n".join(mark + line for line in text.split("\n"))


def assert_read(answer: str, exactly: Format | None = None) -> None:
    """The detector's reader finds the table, and the second scorer's where it reads the format."""
    found = extract_table(answer)
    assert found.table is not None, found.reason
    assert (found.table.columns, found.table.rows) == (COLUMNS, ROWS)
    if exactly:
        grid = read_answer(answer, exactly)
        assert (grid.columns, grid.rows) == (COLUMNS, ROWS)


def assert_refused(answer: str, exactly: Format | None = None) -> None:
    found = extract_table(answer)
    assert found.table is None, found.table
    assert found.reason and "\n" not in found.reason
    if exactly:
        with pytest.raises(Unreadable):
            read_answer(answer, exactly)


@pytest.mark.parametrize(("opened", "closed"), TAGS)
def test_a_draft_in_a_thought_is_never_the_answer(opened: str, closed: str) -> None:
    assert_read(f"{opened}\n{DRAFT}\n{closed}{TABLE}", "markdown")
    assert_read(f"{opened}\n{DRAFT}\n{closed}\n{TABLE}\n", "markdown")
    assert_refused(f"{opened}\n{DRAFT}\n", "markdown")
    assert_refused(f"{opened}\n{DRAFT}\n{closed}\nThat is it.", "markdown")
    if not opened.startswith("analysis"):  # a template may have opened it
        assert_read(f"{DRAFT}\n{closed}\n{TABLE}", "markdown")


@pytest.mark.parametrize("end", ["<|return|>", "<|end|>", "<|im_end|>"])
def test_an_end_of_turn_is_no_cell(end: str) -> None:
    assert_read(f"{TABLE}{end}", "markdown")
    assert_read(
        f"<|channel|>analysis<|message|>x<|channel|>final<|message|>{TABLE}{end}", "markdown"
    )


@pytest.mark.parametrize(
    ("prompt", "text", "expected"),
    [
        ("<|im_start|>assistant\n<think>\n", DRAFT, f"<think>\n{DRAFT}"),
        ("<|im_start|>assistant\n<think>", "So.", "<think>\nSo."),
        ("[THINK]", "So.", "[THINK]\nSo."),
        ("<think>\n", f"So.</think>{TABLE}", f"So.</think>{TABLE}"),
        ("<think>\n", "<think>\nSo.", "<think>\nSo."),
        ("<think>\n\n</think>\n\n", TABLE, TABLE),
        ("Explain <think> tags.<|im_start|>assistant\n", TABLE, TABLE),
    ],
)
def test_a_thought_that_the_prompt_opened_is_reopened(
    prompt: str, text: str, expected: str
) -> None:
    assert with_open_thought(text, prompt) == expected


def test_thinking_is_the_same_for_answers_that_are_no_tables() -> None:
    assert behind_thinking("<thinking>a</thinking>b") == "b" == behind_thinking("a[/THINK]b")
    assert behind_thinking("<thought>a") == "" and behind_thinking("no thought") == "no thought"
    assert end_of_thinking("I think (reasoning) so: <b>analysis</b> [analysis](x)") == 0


@pytest.mark.parametrize(
    "answer",
    [
        f"<answer>{TABLE}</answer>",
        f"<answer>\n{TABLE}\n</answer>\nDone.",
        f"{DRAFT}\n<answer>\n{TABLE}\n</answer>\n{DRAFT}",
        f"<think>{DRAFT}</think><answer>{TABLE}",
        f"**Answer:** {TABLE}",
        f"Answer: {TABLE}\n\nDone.",
        f"### **Final answer**: {TABLE}",
        f"<answer>**Answer:** {TABLE}</answer>",
        quoted(TABLE),
        quoted(TABLE, ">"),
        quoted(TABLE, "> > "),
        f"> [!NOTE]\n{quoted(TABLE)}\n\nDone.",
        quoted(f"Here:\n\n```\n{TABLE}\n```"),
        TABLE.replace("| Sella", "|:---|---:|\n| Sella"),
        TABLE.replace("| Sella", "|===|===|\n| Sella"),
        TABLE.replace("| Sella", "|---|---|---|\n| Sella"),
        TABLE.replace("| Sella", "| Team | Points |\n|---|---|\n| Sella"),
        TABLE.replace("| Sella", "| **Team** | **Points** |\n| Sella"),
        f"{TABLE}\n|---|---|",
        "- " + TABLE.replace("\n", "\n  "),
        "1. " + TABLE.replace("\n", "\n   "),
        f"<|begin_of_box|>{TABLE}<|end_of_box|>",
    ],
)
def test_what_surrounds_or_divides_a_markdown_table_is_no_row(answer: str) -> None:
    assert_read(answer, "markdown" if answer.startswith(("|", "*", ">", "A", "#")) else None)


DRAWN = """
+------+--------+
| Team | Points |
+======+========+
| Alba | 41     |
+------+--------+
| Sella| 37     |
+------+--------+

Rows:
+-------+--------+
| Team  | Points |
+-------+--------+
| Alba  |     41 |
| Sella |     37 |
+-------+--------+
2 rows in set

+-------+--------+
| Team  | Points |
|-------+--------|
| Alba  | 41     |
| Sella | 37     |
+-------+--------+

+-------+--------+
| Team  | Points |
|       |        |
+=======+========+
| Alba  | 41     |
+-------+--------+
| Sella | 37     |
|       |        |
+-------+--------+

 Team  | Points
-------+--------
 Alba  |     41
 Sella |     37
(2 rows)

| Team  | Points |
|-------+--------|
| Alba  | 41     |
| Sella | 37     |

┌───────┬────────┐
│ Team  │ Points │
├───────┼────────┤
│ Alba  │ 41     │
│ Sella │ 37     │
└───────┴────────┘

╒═══════╤════════╕
│ Team  │ Points │
╞═══════╪════════╡
│ Alba  │ 41     │
├───────┼────────┤
│ Sella │ 37     │
╘═══════╧════════╛

┏━━━━━━━┳━━━━━━━━┓
┃ Team  ┃ Points ┃
┡━━━━━━━╇━━━━━━━━┩
│ Alba  │ 41     │
│ Sella │ 37     │
└───────┴────────┘
"""


@pytest.mark.parametrize("answer", DRAWN.split("\n\n"))
def test_drawn_tables(answer: str) -> None:
    assert_read(answer)
    assert_read(f"```\n{answer}\n```\nDone.")


def test_cells_of_a_grid_go_on_below() -> None:
    body = "| x  | 1 |\n| y  |   |\n+----+---+\n|    | 2 |\n+----+---+"
    text = f"+----+---+\n| a  | b |\n+====+===+\n{body}"
    assert read_table(text).rows == (("x y", "1"), (None, "2"))


@pytest.mark.parametrize("text", ["> 5 | high\n", "a | b\n> 5 | high\n> 9 | low\n"])
def test_a_bound_at_the_start_of_a_row_is_no_quote(text: str) -> None:
    found = extract_table(text.replace("a | b\n", "a | b\n---|---\n"))
    assert found.table is None or found.table.rows == (("> 5", "high"), ("> 9", "low"))


@pytest.mark.parametrize(
    ("answer", "exactly"),
    [
        (f"[{ONE}, {TWO},]", True),
        (f"[\n{ONE[:-1]},}},\n{TWO[:-1]},\n}},\n]", True),
        (f'{{"T": [{ONE}, {TWO},],}}', True),
        (f"{ONE}\n{TWO}", True),
        (f"Here:\n\n```jsonl\n{ONE},\n{TWO},\n```\nDone.", True),
        (quoted(f"```json\n[\n  {ONE},\n  {TWO}\n]\n```"), True),
        (f'{{"explanation": "by points", "rows": [{ONE}, {TWO}]}}', True),
        (f'{{"result": {{"table": [{ONE}, {TWO}]}}}}', True),
        (f'{{"data": [{ONE}, {TWO}], "count": 2, "notes": null}}', True),
        ('{"table": {"columns": ["Team", "Points"], "rows": [["Alba", 41], ["Sella", 37]]}}', True),
        ('{"headers": ["Team", "Points"], "rows": [["Alba", 41], ["Sella", 37]]}', False),
        (
            '{"title": "x", "header": ["Team", "Points"], "data": [["Alba", 41], ["Sella", 37]]}',
            False,
        ),
        ('[["Team", "Points"], ["Alba", 41], ["Sella", 37]]', False),
        ('{"Team": ["Alba", "Sella"], "Points": [41, 37]}', False),
        (f'{{"columns": ["Team", "Points"], "rows": [{ONE}, {TWO}]}}', False),
        (f'{{"steps": ["first", "then"], "answer": [{ONE}, {TWO}]}}', False),
        (f'{ONE}\n{{"Points": 37, "Team": "Sella"}}', False),
        (f"[[{ONE}, {TWO}]]", False),
        (f'[{{"rows": [{ONE}, {TWO}]}}]', False),
    ],
)
def test_json_of_other_shapes(answer: str, exactly: bool) -> None:
    assert_read(answer, "json" if exactly else None)
    assert_read(f"**Answer:** {answer}" if "\n>" not in answer else answer)


@pytest.mark.parametrize(
    "answer",
    [
        f"[{ONE}, {TWO},",
        f"```json\n[{ONE},\n{TWO},\n```",
        f'{ONE}\n{TWO}\n{{"Team": "X"',
        f'{ONE}\n{{"Te',
        f'{{"explanation": "x", "rows": [{ONE}, {TWO}',
        '[["Team", "Points"], ["Alba", 41], ["Sel',
        f"[{ONE}, {TWO} {ONE}, {TWO}]",
        "[[19, 16, 15], [0, 2, 2], [3, 4, 5]]",
        f'{{"a": [{ONE}], "b": [{{"x": 1}}], "c": 1}}',
        ONE,
        f'{ONE[:-1]}, "Team": "Bo"}}\n{TWO}',
    ],
)
def test_what_is_cut_or_ambiguous_stays_refused(answer: str) -> None:
    assert_refused(answer, "json")


def test_an_empty_table_that_is_wrapped_is_empty() -> None:
    assert extract_table('{"explanation": "none meets it", "rows": []}').empty
    assert extract_table('{"result": {"table": []}}').empty


@pytest.mark.parametrize("mark", ["{}. ", "{}) ", "({}) "])
def test_the_numbers_of_rows_are_no_part_of_their_names(mark: str) -> None:
    first, second = mark.format(1), mark.format(2)
    answer = TABLE.replace("Alba", f"{first}Alba").replace("Sella", f"{second}Sella")
    assert_read(answer)
    written = ((f"{first}Alba", "41"), (f"{second}Sella", "37"))
    for known in (f"{first}Alba won", {f"{second}Sella"}):
        kept = extract_table(answer, known=known).table
        assert kept is not None and kept.rows == written
    others = answer.replace(first, mark.format(3))  # no numbers of these rows
    kept = extract_table(others).table
    assert kept is not None and kept.rows[1] == written[1]


def test_league_names_keep_their_numbers() -> None:
    table = "| League | Clubs |\n|---|---|\n| 1. Bundesliga | 18 |\n| 2. Bundesliga | 18 |"
    found = extract_table(table).table
    assert found is not None and found.column("League") == ("1. Bundesliga", "2. Bundesliga")


def test_a_span_is_the_tables_own_text() -> None:
    for answer in (f"<answer>{TABLE}</answer>", f"**Answer:** {TABLE}", f"{TABLE}<|return|>"):
        found = extract_table(answer)
        assert answer[found.start : found.end] == TABLE


@pytest.mark.parametrize(
    "answer",
    [
        "\\begin{tabular}{}\\multirow\\multirow\\\\\n\\end{tabular}\\",
        "\\begin{tabular}{}\\multirow\\multirow\\\\\n\\",
        "\\begin{tabular}{l}\\multicolumn\\multicolumn & a \\\\ \\multirow \\end{tabular}",
        "<table><tr><td rowspan=9999999999 colspan=-1>a</table></table>",
    ],
)
def test_a_parser_that_fails_finds_no_table(answer: str) -> None:
    found = extract_table(answer)
    assert found.table is not None or found.reason


@pytest.mark.parametrize("format", read.FORMATS)
@pytest.mark.parametrize("error", [KeyError("x"), ValueError("two\nlines"), RecursionError()])
def test_any_fault_of_a_reader_is_no_readable_table(format: Format, error: Exception) -> None:
    def fails(text: str) -> None:
        raise error

    with pytest.raises(read.TableError, match=f"no readable {format} table") as caught:
        read.guarded(format, fails, "text")  # type: ignore[arg-type]
    assert type(error).__name__ in str(caught.value) and "\n" not in str(caught.value)
