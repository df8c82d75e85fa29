"""JSON: the shapes that are read, and what is refused."""

from __future__ import annotations

import pytest

from tablemend.tables.jsontable import MAX_STARTS, locate_json, read_json, write_json
from tablemend.tables.table import EmptyTableError, Table, TableError

PEOPLE = Table.of(["Name", "Age"], [["Ann", "26"], ["Bo", None]])


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('{"People": [{"Name": "Ann", "Age": "26"}, {"Name": "Bo", "Age": null}]}', "People"),
        ('[{"Name": "Ann", "Age": 26}, {"Name": "Bo", "Age": ""}]', ""),
        ('[{"Name": "Ann", "Age": 26}, {"Name": "Bo"}]', ""),
        ('{"columns": ["Name", "Age"], "rows": [["Ann", "26"], ["Bo", null]]}', ""),
        ('{"columns": ["Name", "Age"], "data": [["Ann", 26], ["Bo", null]], "title": "P"}', "P"),
        ('\ufeff[{"Name": "Ann", "Age": 26}, {"Name": "Bo"}]\n', ""),
    ],
)
def test_reads(text: str, title: str) -> None:
    assert read_json(text) == Table(PEOPLE.columns, PEOPLE.rows, title)


def test_numbers_keep_their_spelling() -> None:
    text = '[{"a": 1.50, "b": 1e3, "c": -0, "d": true, "e": false, "f": 12345678901234567890}]'
    assert read_json(text).rows == (("1.50", "1e3", "-0", "true", "false", "1234567890" * 2),)


def test_columns_are_the_union_in_order_of_appearance() -> None:
    table = read_json('[{"b": "1"}, {"a": "2", "b": "3"}, {"c": "4"}]')
    assert table.columns == ("b", "a", "c")
    assert table.rows == (("1", None, None), ("3", "2", None), (None, None, "4"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
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
        (r'[{"a": "\ud83d"}]', r"U\+D83D"),
    ],
)
def test_refuses(text: str, reason: str) -> None:
    with pytest.raises(TableError, match=reason):
        read_json(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "list is empty"),
        ('{"T": []}', "list is empty"),
        ("[{}]", "records are empty"),
        ('{"columns": [], "rows": []}', "columns and rows are empty"),
        ('{"columns": [], "data": [[]], "title": "T"}', "columns and data are empty"),
    ],
)
def test_an_empty_table_without_columns_is_an_error_of_its_own(text: str, reason: str) -> None:
    with pytest.raises(EmptyTableError, match=reason):
        read_json(text)


def test_writes_one_record_a_line() -> None:
    table = Table(PEOPLE.columns, PEOPLE.rows, "People é")
    assert write_json(table) == (
        '{"People é": [\n  {"Name": "Ann", "Age": "26"},\n  {"Name": "Bo", "Age": null}\n]}'
    )
    assert write_json(PEOPLE).startswith('[\n  {"Name"')


def test_no_column_is_lost_that_records_cannot_carry() -> None:
    for table in (Table.of(["a", "a"], [["1", "2"]], "T"), Table.of(["a", "b"], [], "columns")):
        assert read_json(write_json(table)) == table


def test_locates_documents_in_prose() -> None:
    text = 'As [1] says {see below}: {"T": [{"a": "}]"}]} or ["x"] but not {"T": [{"a" 1}]}.'
    found = [text[start:end] for start, end in locate_json(text)]
    assert found[:2] == ['{"T": [{"a": "}]"}]}', '["x"]']
    assert len(found) == 3  # the broken one, up to its error


def test_gives_up_after_many_false_starts() -> None:
    text = '{"x" ' * (2 * MAX_STARTS) + '[{"a": "1"}]'
    assert len(locate_json(text)) == MAX_STARTS
