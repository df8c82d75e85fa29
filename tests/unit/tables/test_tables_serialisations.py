"""The serialisations and perturbations of ToRR: unitxt's to the letter, ours by reading back."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import pickle
import random
import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.tables.csvtable import read_csv
from tablemend.tables.html import read_html
from tablemend.tables.markdown import read_markdown
from tablemend.tables.serialisations import (
    PERTURBATIONS,
    SERIALISATIONS,
    Number,
    perturb,
    serialise,
    unitxt_form,
)
from tablemend.tables.table import Table, TableError

PEOPLE = Table.of(
    ["name", "age"],
    [["Alex", Number(26)], ["Raj", Number(34)], ["Donald", Number(39)]],
    title="People",
)
FACTS = {
    "csv": "name,age\nAlex,26\nRaj,34\nDonald,39",
    "markdown": "|name|age|\n|---|---|\n|Alex|26|\n|Raj|34|\n|Donald|39|",
    "indexed_row_major": "col : name | age row 1 : Alex | 26 row 2 : Raj | 34 row 3 : Donald | 39",
    "df": 'pd.DataFrame({\n"name": ["Alex", "Raj", "Donald"], "age": [26, 34, 39]},\n'
    "index=[0, 1, 2])",
    "json": '{"0": {"name": "Alex", "age": 26}, "1": {"name": "Raj", "age": 34}, '
    '"2": {"name": "Donald", "age": 39}}',
    "html": "<table>\n  <thead>\n    <tr><th>name</th><th>age</th></tr>\n  </thead>\n  <tbody>\n"
    "    <tr><td>Alex</td><td>26</td></tr>\n    <tr><td>Raj</td><td>34</td></tr>\n"
    "    <tr><td>Donald</td><td>39</td></tr>\n  </tbody>\n</table>",
    "concat": "name age Alex 26 Raj 34 Donald 39",
}
"""What shared/data/unitxt_facts says of the table PEOPLE, whose ages are numbers."""
LOSSLESS = {
    "csv": (Table.of(["a;b"], [["x;y"], ['"'], [None]]), '"a;b"\n"x;y"\n""""\n""'),
    "markdown": (
        Table.of(["a|b", "*c*"], [["x\ny", None], ["<b>z</b>", "\\"]]),
        "| a\\|b | \\*c\\* |\n|---|---|\n| x<br>y |  |\n| \\<b\\>z\\</b\\> | \\\\ |",
    ),
    "indexed_row_major": (
        Table.of(["a|b", "c:d"], [["see row 2 : x", "\\|"], ["row 2", "at 9:15"], ["\\", None]]),
        "col : a\\|b | c:d row 1 : see \\row 2 : x | \\\\\\| row 2 : row 2 | at 9:15 row 3 : \\ |",
    ),
    "df": (
        Table.of(["a", "a", "a_1"], [["1", None, 'é"']]),
        'pd.DataFrame({\n"a": ["1"], "a": [""], "a_1": ["\\u00e9\\""]},\nindex=[0])',
    ),
    "json": (
        Table.of(["a", "", "a", ""], [["1", None, "2", "3"]]),
        '{"0": {"a": "1", "": "", "a": "2", "": "3"}}',
    ),
    "html": (
        Table.of(["a  b", "c"], [["x\ny", "</td><td>"], ["&lt;", None]]),
        "<table>\n  <thead>\n    <tr><th><pre>a  b</pre></th><th>c</th></tr>\n  </thead>\n"
        "  <tbody>\n    <tr><td>x<br>y</td><td>&lt;/td&gt;&lt;td&gt;</td></tr>\n"
        "    <tr><td>&amp;lt;</td><td></td></tr>\n  </tbody>\n</table>",
    ),
    "concat": (
        Table.of(["name", "born in"], [['"Al" X.', None], ["O'Neil", "7"]]),
        'name "born in"\n"""Al"" X." ""\nO\'Neil 7',
    ),
}
CONFUSED = {
    "markdown": (
        Table.of(["a", "b"], [["x", "y"], ["1", "2"]]),
        Table.of(["a", "b"], [["x", "y|\n|1|2"]]),
    ),
    "indexed_row_major": (Table.of(["a", "b"], [["x", "y"]]), Table.of(["a | b"], [["x | y"]])),
    "df": (Table.of(["a", "a"], [["x", "y"]]), Table.of(["a", "a_1"], [["x", "y"]])),
    "json": (Table.of(["a", "a"], [["x", "y"]]), Table.of(["a"], [["y"]])),
    "html": (Table.of(["a", "b"], [["x", "y"]]), Table.of(["a</th><th>b"], [["x</td><td>y"]])),
    "concat": (Table.of(["a", "b"], [["x", "y"]]), Table.of(["a"], [["b"], ["x"], ["y"]])),
}
"""Two tables that unitxt writes alike."""
HOSTILE = [
    *"|\\\"'`*_<>&%{}[]()~:,;-=+/#. \n\r\t",
    *("<br>", "&amp;", "\\|", "\\\\", " | ", "||", "---", "row 1 :", " row 2 : ", "\\row 1 :"),
    *("<td>", "</table>", "<!--", "####", "null", "1.50", "_1", "a", "é", "word", "row ", "col : "),
    *("\u00a0", "\u202e", "\u0301", "\u2028", "\ufeff", "😀", "שלום", "  ", '""', "},\nindex=["),
]


def texts() -> st.SearchStrategy[str]:
    hostile = st.lists(st.sampled_from(HOSTILE), max_size=6).map("".join)
    letters = st.characters(exclude_categories=["Cc", "Cs"])
    return st.one_of(st.sampled_from(["", "a", "a_1"]), hostile, st.text(letters, max_size=12))


@st.composite
def tables(draw: st.DrawFn, cells: st.SearchStrategy[str] | None = None, rows: int = 1) -> Table:
    cells, width = texts() if cells is None else cells, draw(st.integers(1, 4))
    names = draw(st.lists(texts(), min_size=width, max_size=width))
    row = st.lists(st.none() | cells, min_size=width, max_size=width)
    return Table.of(names, draw(st.lists(row, min_size=rows, max_size=4)), draw(texts()))


def trimmed(table: Table) -> Table:
    rows = [[(cell or "").strip() for cell in row] for row in table.rows]
    return Table.of([name.strip() for name in table.columns], rows)


def read_pairs(text: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = json.loads(text, object_pairs_hook=list)
    return found


def read_json_records(text: str) -> Table:
    records = [record for _, record in read_pairs(text)]
    names = [name for name, _ in records[0]]
    return Table.of(names, [[cell for _, cell in record] for record in records])


def read_df(text: str) -> Table:
    body = text.removeprefix("pd.DataFrame({\n")
    pairs = read_pairs("{" + body[: body.rindex("},\nindex=")] + "}")
    return Table.of([name for name, _ in pairs], zip(*(column for _, column in pairs), strict=True))


def read_indexed(text: str) -> Table:
    parts = re.split(r" row \d+ : ", text.removeprefix("col : ") + " ")
    header, *rows = ([unescape(cell) for cell in part.split(" | ")] for part in parts)
    return Table.of(header, rows)


def unescape(cell: str) -> str:
    return re.sub(r"(\\*)\\(\||row \d+ :)", lambda m: m[1][: len(m[1]) // 2] + m[2], cell)


def read_concat(text: str) -> Table:
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=" ", strict=True)
    return Table.of(header, rows)


READ: dict[str, Callable[[str], Table]] = {
    "html": read_html,
    "json": read_json_records,
    "markdown": read_markdown,
    "indexed_row_major": read_indexed,
    "df": read_df,
    "concat": read_concat,
    "csv": read_csv,
}


def test_the_seven_serialisations_of_the_paper_have_unitxts_names() -> None:
    assert list(SERIALISATIONS) == list(READ)


@pytest.mark.parametrize("name", SERIALISATIONS)
def test_unitxts_form_of_its_own_example_is_written_to_the_letter(name: str) -> None:
    assert serialise(PEOPLE, name, "unitxt") == FACTS[name]


def test_unitxts_form_of_its_csv_example_is_written_to_the_letter() -> None:
    table = Table.of(["col1", "col2"], [["1", "2"], ["3", "4"]])
    assert serialise(table, "csv", "unitxt") == "col1,col2\n1,2\n3,4"


@pytest.mark.parametrize("name", [name for name in SERIALISATIONS if name != "concat"])
def test_an_ordinary_table_is_written_alike_in_both_modes(name: str) -> None:
    ordinary = Table.of(
        ["Date", "top - 5", "Fate: km²"],
        [["14 June 1941", "$ 1,496.5", None], ["9:15", "“x” (y) -3.5 %", "O'Neil's"]],
    )
    for table in (PEOPLE, ordinary, Table.of([" ", "0"], [["name", "Alex"]])):
        assert serialise(table, name) == serialise(table, name, "unitxt")


@pytest.mark.parametrize("name", LOSSLESS)
def test_a_hostile_table_is_written_with_the_smallest_change(name: str) -> None:
    table, written = LOSSLESS[name]
    assert serialise(table, name) == written != serialise(table, name, "unitxt")


@pytest.mark.parametrize("name", SERIALISATIONS)
@given(table=tables())
@settings(max_examples=150, deadline=None)
def test_the_lossless_form_reads_back_as_the_table(name: str, table: Table) -> None:
    read = READ[name](serialise(table, name))
    assert trimmed(read) == trimmed(table)
    if name in ("json", "df", "concat"):
        assert (read.columns, read.rows) == (table.columns, table.rows)


@pytest.mark.parametrize("name", CONFUSED)
def test_tables_that_unitxt_writes_alike_differ_in_the_lossless_form(name: str) -> None:
    one, other = CONFUSED[name]
    assert serialise(one, name, "unitxt") == serialise(other, name, "unitxt")
    assert serialise(one, name) != serialise(other, name)


@given(table=tables())
@settings(max_examples=100, deadline=None)
def test_the_title_is_in_no_form(table: Table) -> None:
    untitled = Table(table.columns, table.rows)
    for name in SERIALISATIONS:
        assert serialise(table, name) == serialise(untitled, name)
        assert serialise(table, name, "unitxt") == serialise(untitled, name, "unitxt")


def test_unitxt_keeps_the_last_of_two_columns_of_one_name_in_json() -> None:
    table = Table.of(["a", "b", "a"], [["1", "2", "3"]])
    assert serialise(table, "json", "unitxt") == '{"0": {"a": "3", "b": "2"}}'


def test_unitxt_numbers_repeated_names_in_df() -> None:
    table = Table.of(["a", "a", "b", "a"], [["1", "2", "3", "4"]])
    written = 'pd.DataFrame({\n"a": ["1"], "a_1": ["2"], "b": ["3"], "a_2": ["4"]},\nindex=[0])'
    assert serialise(table, "df", "unitxt") == written


def test_unitxt_loses_a_column_in_df_where_the_suffix_makes_a_name_that_is_there() -> None:
    table = Table.of(["a", "a", "a_1"], [["1", "2", "3"]])
    written = 'pd.DataFrame({\n"a": ["1"], "a_1": ["3"]},\nindex=[0])'
    assert serialise(table, "df", "unitxt") == written


def test_a_cell_that_is_text_is_quoted_and_one_that_is_a_number_is_not() -> None:
    table = Table.of(["a", "b"], [["26", Number(26)], ["x", Number(-1.5)]])
    assert serialise(table, "json") == '{"0": {"a": "26", "b": 26}, "1": {"a": "x", "b": -1.5}}'
    assert serialise(table, "csv") == "a,b\n26,26\nx,-1.5"


def test_integers_in_a_column_with_fractions_are_fractions_in_unitxts_df_alone() -> None:
    table = Table.of(["a", "b"], [[Number(1), Number(1)], [Number(2.5), None]])
    unitxt = 'pd.DataFrame({\n"a": [1.0, 2.5], "b": [1, ""]},\nindex=[0, 1])'
    assert serialise(table, "df", "unitxt") == unitxt
    assert serialise(table, "df") == unitxt.replace("1.0", "1")


@pytest.mark.parametrize("value", [0, 26, -7, 1.5, -0.25, 1e-07, 1e22, 10**30])
def test_a_number_is_its_text_and_keeps_its_value(value: float) -> None:
    cell = pickle.loads(pickle.dumps(Number(value)))
    assert cell == str(value)
    assert (cell.value, type(cell.value)) == (value, type(value))


@pytest.mark.parametrize("mode", ["lossless", "unitxt"])
@pytest.mark.parametrize("name", SERIALISATIONS)
def test_a_table_without_a_row_is_refused_but_in_csv(name: str, mode: Any) -> None:
    table = Table.of(["a", "b"], [])
    if name == "csv":  # as in unitxt
        assert serialise(table, name, mode) == "a,b"
        return
    with pytest.raises(
        TableError, match=f"the table has no row: it has no serialisation as {name}"
    ):
        serialise(table, name, mode)


@pytest.mark.parametrize("name", ["html", "markdown"])
def test_a_character_that_the_lossless_form_cannot_carry_is_refused(name: str) -> None:
    table = Table.of(["a"], [["x\x00<y"]])
    with pytest.raises(TableError, match=r"holds the character U\+0000"):
        serialise(table, name)


YOUNGER = Table.of(
    ["name", "age"], [["Alex", Number(21)], ["Raj", Number(34)], ["Donald", Number(39)]], "People"
)
SHUFFLES = ["shuffle_rows", "shuffle_cols"]
ANY = tables(texts() | st.just("\ud800") | st.integers().map(Number), rows=0)
"""No row is required, and a cell may be a number or half a character."""


def seed(table: Table, number: int) -> str:
    """unitxt's seed for a table, by the facts."""
    content = str({"table": unitxt_form(table), "seed": number}).encode()
    return f"42/{int(hashlib.md5(content).hexdigest()[:8], 16)}"


def records(table: Table) -> Counter[tuple[tuple[str, str | None], ...]]:
    """Each row as its names and cells, in no order, and how often it is there."""
    rows = (zip(table.columns, row, strict=True) for row in table.rows)
    return Counter(tuple(sorted(row, key=repr)) for row in rows)


def test_unitxts_example_of_shuffled_rows_comes_out_in_its_order() -> None:
    assert perturb(YOUNGER, "shuffle_rows").column("name") == ("Raj", "Alex", "Donald")
    assert perturb(YOUNGER, "shuffle_rows").column("age") == ("34", "21", "39")


def test_unitxts_example_of_shuffled_columns_comes_out_in_its_order() -> None:
    ages = [["Alex", Number(26)], ["Raj", Number(34)], ["Donald", Number(39)]]
    for table in (YOUNGER, Table.of(["name", "age"], ages)):
        changed = perturb(table, "shuffle_cols")
        assert changed.columns == ("age", "name")
        assert changed.rows == tuple((age, name) for name, age in table.rows)


def test_unitxts_example_of_columns_and_then_rows_with_seed_1_comes_out_as_its_markdown() -> None:
    table = Table.of(["name", "age"], [["Alex", "26"], ["Raj", "34"], ["Donald", "39"]])
    for name in ("shuffle_cols", "shuffle_rows"):
        table = PERTURBATIONS[name](table, Random(seed(table, 1)))
    written = "|age|name|\n|---|---|\n|39|Donald|\n|34|Raj|\n|26|Alex|"
    assert serialise(table, "markdown", "unitxt") == written


def test_unitxts_example_of_a_transposed_table_comes_out_to_the_letter() -> None:
    rows = [["Alice", Number(26), "F"], ["Raj", Number(34), "M"], ["Donald", Number(39), "M"]]
    assert unitxt_form(perturb(Table.of(["name", "age", "sex"], rows), "transpose")) == {
        "header": [" ", "0", "1", "2"],
        "rows": [["name", "Alice", "Raj", "Donald"], ["age", 26, 34, 39], ["sex", "F", "M", "M"]],
    }


def test_unitxts_example_of_empty_rows_comes_out_with_its_global_seed() -> None:
    table = Table.of(["name", "age"], [["Alice", "26"], ["Raj", "34"], ["Donald", "39"]])
    changed = PERTURBATIONS["insert_empty_rows"](table, Random(123))
    assert changed.column("name") == (None, "Alice", None, "Raj", "Donald")
    assert changed.column("age") == (None, "26", None, "34", "39")


def test_the_draw_is_seeded_by_the_table_for_empty_rows_too() -> None:
    for name in [*SHUFFLES, "insert_empty_rows"]:
        expected = PERTURBATIONS[name](YOUNGER, Random(seed(YOUNGER, 0)))
        assert perturb(YOUNGER, name) == expected


def test_the_order_depends_on_whether_a_cell_is_a_number_as_in_unitxt() -> None:
    numbers = Table.of(["a"], [[Number(n)] for n in range(9)])
    texts = Table.of(["a"], [[str(n)] for n in range(9)])
    assert numbers == texts
    assert perturb(numbers, "shuffle_rows") != perturb(texts, "shuffle_rows")


@given(table=ANY)
@settings(max_examples=200, deadline=None)
def test_a_perturbation_is_one_draw_and_changes_no_record(table: Table) -> None:
    state = random.getstate()
    changed = {name: perturb(table, name) for name in PERTURBATIONS}
    assert changed == {name: perturb(table, name) for name in PERTURBATIONS}
    assert {one.title for one in changed.values()} == {table.title}
    assert random.getstate() == state
    assert changed["none"] == table
    for name in SHUFFLES:
        assert records(changed[name]) == records(table)
    rows, columns = (changed[name] for name in SHUFFLES)
    assert rows.columns == table.columns
    assert Counter(zip(columns.columns, *columns.rows, strict=True)) == Counter(
        zip(table.columns, *table.rows, strict=True)
    )
    turned = changed["transpose"]
    assert turned.columns == (" ", *(str(number) for number in range(len(table.rows))))
    names, *others = zip(*turned.rows, strict=True)
    assert names == tuple(name or None for name in table.columns)
    assert tuple(others) == table.rows
    longer = changed["insert_empty_rows"]
    assert longer.columns == table.columns
    assert len(longer.rows) == len(table.rows) + 2
    assert list(filter(any, longer.rows)) == list(filter(any, table.rows))


def test_real_tables_are_written_and_perturbed_as_unitxt_does_it(
    shared_data: Callable[[str], list[dict[str, Any]]],
) -> None:
    reason = "unitxt is not installed (pip install unitxt)"
    real = pytest.importorskip("unitxt.struct_data_operators", reason=reason)
    writers = {
        "html": real.SerializeTableAsHTML(),
        "json": real.SerializeTableAsJson(),
        "markdown": real.SerializeTableAsMarkdown(),
        "indexed_row_major": real.SerializeTableAsIndexedRowMajor(),
        "df": real.SerializeTableAsDFLoader(),
        "concat": real.SerializeTableAsConcatenation(),
        "csv": real.TableSerializer(),
    }
    changes = {
        "shuffle_rows": real.ShuffleTableRows(),
        "shuffle_cols": real.ShuffleTableColumns(),
        "transpose": real.TransposeTable(),
        "insert_empty_rows": real.InsertEmptyTableRows(times=2),
    }
    records = [*shared_data("tabfact")[:200], *shared_data("wikitablequestions")[:50]]
    made = [Table.of(record["header"], record["rows"]) for record in records]
    for table in [*made, PEOPLE, *(table for table, _ in LOSSLESS.values())]:
        for name, serializer in writers.items():
            written = serializer.serialize(unitxt_form(table), {})
            assert serialise(table, name, "unitxt") == written
    for table in [YOUNGER, *made]:
        for name, augmentor in changes.items():
            random.seed(seed(table, 0))  # what unitxt does not do for empty rows
            changed = augmentor.process_value(unitxt_form(table))
            assert unitxt_form(perturb(table, name)) == changed
