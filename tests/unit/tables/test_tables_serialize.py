"""The seven serialisations of ToRR, character for character."""

from __future__ import annotations

import pytest

from tablemend.tables.table import Table, TableError
from tablemend.tables.write import SERIALISATIONS, Serialisation, serialize

AGES = Table.of(["name", "age"], [["Alex", "26"], ["Raj", "34"], ["Donald", "39"]], "unused")
EXPECTED: dict[Serialisation, str] = {
    "html": "<table>\n  <thead>\n    <tr><th>name</th><th>age</th></tr>\n  </thead>\n  <tbody>\n"
    "    <tr><td>Alex</td><td>26</td></tr>\n    <tr><td>Raj</td><td>34</td></tr>\n"
    "    <tr><td>Donald</td><td>39</td></tr>\n  </tbody>\n</table>",
    "json": '{"0": {"name": "Alex", "age": 26}, "1": {"name": "Raj", "age": 34}, '
    '"2": {"name": "Donald", "age": 39}}',
    "markdown": "|name|age|\n|---|---|\n|Alex|26|\n|Raj|34|\n|Donald|39|",
    "indexed_row_major": "col : name | age row 1 : Alex | 26 row 2 : Raj | 34 row 3 : Donald | 39",
    "df": 'pd.DataFrame({\n"name": ["Alex", "Raj", "Donald"], "age": [26, 34, 39]},\n'
    "index=[0, 1, 2])",
    "concat": "name age Alex 26 Raj 34 Donald 39",
    "csv": "name,age\nAlex,26\nRaj,34\nDonald,39",
}


@pytest.mark.parametrize("name", SERIALISATIONS)
def test_exact_strings(name: Serialisation) -> None:
    assert serialize(AGES, name, bare_numbers=True) == EXPECTED[name]


def test_only_plain_numbers_are_bare() -> None:
    table = Table.of(["x"], [["-1.50"], ["007"], ["1,000"], ["1e3"], ["NaN"], [None], ["0"]])
    assert serialize(table, "df", bare_numbers=True) == (
        'pd.DataFrame({\n"x": [-1.50, "007", "1,000", "1e3", "NaN", "", 0]},\n'
        "index=[0, 1, 2, 3, 4, 5, 6])"
    )


def test_repeated_names() -> None:
    table = Table.of(["a", "b", "a", "a"], [["1", "2", "3", "4"]])
    assert serialize(table, "df").startswith('pd.DataFrame({\n"a": ["1"], "b": ["2"], "a_1": ["3"]')
    assert serialize(table, "json") == '{"0": {"a": "4", "b": "2"}}'


@pytest.mark.parametrize("name", SERIALISATIONS)
def test_no_rows(name: Serialisation) -> None:
    table = Table.of(["a", "b"], [])
    if name == "csv":
        assert serialize(table, name) == "a,b"
    else:
        with pytest.raises(TableError, match="at least one row"):
            serialize(table, name)
