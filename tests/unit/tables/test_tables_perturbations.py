"""The perturbations of ToRR: unitxt's draws, and content that never changes."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablemend.tables.serialisations import PERTURBATIONS, Number, perturb, serialise, unitxt_form
from tablemend.tables.table import Table

PEOPLE = Table.of(
    ["name", "age"], [["Alex", Number(21)], ["Raj", Number(34)], ["Donald", Number(39)]], "People"
)
SHUFFLES = ["shuffle_rows", "shuffle_cols"]
HOSTILE = ["", " ", "a", "0", "1", "|", '"', "\n", "<td>", "\\", "'", "é", "\ud800", "None"]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    width = draw(st.integers(1, 4))
    cell = st.sampled_from(HOSTILE) | st.text(max_size=5)
    names = draw(st.lists(cell, min_size=width, max_size=width))
    row = st.lists(st.none() | cell | st.integers().map(Number), min_size=width, max_size=width)
    return Table.of(names, draw(st.lists(row, max_size=5)), draw(cell))


def seed(table: Table, number: int) -> str:
    """unitxt's seed for a table, by the facts."""
    content = str({"table": unitxt_form(table), "seed": number}).encode()
    return f"42/{int(hashlib.md5(content).hexdigest()[:8], 16)}"


def records(table: Table) -> Counter[tuple[tuple[str, str | None], ...]]:
    """Each row as its names and cells, in no order, and how often it is there."""
    rows = (zip(table.columns, row, strict=True) for row in table.rows)
    return Counter(tuple(sorted(row, key=repr)) for row in rows)


def test_unitxts_example_of_shuffled_rows_comes_out_in_its_order() -> None:
    assert perturb(PEOPLE, "shuffle_rows").column("name") == ("Raj", "Alex", "Donald")
    assert perturb(PEOPLE, "shuffle_rows").column("age") == ("34", "21", "39")


def test_unitxts_example_of_shuffled_columns_comes_out_in_its_order() -> None:
    ages = [["Alex", Number(26)], ["Raj", Number(34)], ["Donald", Number(39)]]
    for table in (PEOPLE, Table.of(["name", "age"], ages)):
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
        expected = PERTURBATIONS[name](PEOPLE, Random(seed(PEOPLE, 0)))
        assert perturb(PEOPLE, name) == expected


def test_the_order_depends_on_whether_a_cell_is_a_number_as_in_unitxt() -> None:
    numbers = Table.of(["a"], [[Number(n)] for n in range(9)])
    texts = Table.of(["a"], [[str(n)] for n in range(9)])
    assert numbers == texts
    assert perturb(numbers, "shuffle_rows") != perturb(texts, "shuffle_rows")


@given(table=tables())
@settings(max_examples=150, deadline=None)
def test_no_perturbation_draws_twice_differently_or_changes_the_title(table: Table) -> None:
    for name in PERTURBATIONS:
        state = random.getstate()
        assert perturb(table, name) == perturb(table, name)
        assert perturb(table, name).title == table.title
        assert random.getstate() == state
    assert perturb(table, "none") == table


@given(table=tables())
@settings(max_examples=150, deadline=None)
def test_shuffles_keep_every_record(table: Table) -> None:
    for name in SHUFFLES:
        assert records(perturb(table, name)) == records(table)
    assert perturb(table, "shuffle_rows").columns == table.columns
    by_cols = perturb(table, "shuffle_cols")
    assert Counter(zip(*[by_cols.columns, *by_cols.rows], strict=True)) == Counter(
        zip(*[table.columns, *table.rows], strict=True)
    )


@given(table=tables())
@settings(max_examples=150, deadline=None)
def test_a_transposed_table_keeps_every_cell_under_its_name_and_in_its_record(table: Table) -> None:
    changed = perturb(table, "transpose")
    assert changed.columns == (" ", *(str(number) for number in range(len(table.rows))))
    names, *rows = zip(*changed.rows, strict=True)
    assert names == tuple(name or None for name in table.columns)
    assert tuple(rows) == table.rows


@given(table=tables())
@settings(max_examples=150, deadline=None)
def test_empty_rows_are_two_more_and_the_others_keep_their_order(table: Table) -> None:
    changed = perturb(table, "insert_empty_rows")
    assert changed.columns == table.columns
    assert len(changed.rows) == len(table.rows) + 2
    filled = [row for row in changed.rows if any(row)]
    assert filled == [row for row in table.rows if any(row)]


def test_real_tables_are_perturbed_as_unitxt_perturbs_them(
    shared_data: Callable[[str], list[dict[str, Any]]],
) -> None:
    reason = "unitxt is not installed (pip install unitxt)"
    real = pytest.importorskip("unitxt.struct_data_operators", reason=reason)
    theirs = {
        "shuffle_rows": real.ShuffleTableRows(),
        "shuffle_cols": real.ShuffleTableColumns(),
        "transpose": real.TransposeTable(),
        "insert_empty_rows": real.InsertEmptyTableRows(times=2),
    }
    records = [*shared_data("tabfact")[:200], *shared_data("wikitablequestions")[:50]]
    for table in [PEOPLE, *(Table.of(record["header"], record["rows"]) for record in records)]:
        for name, augmentor in theirs.items():
            random.seed(seed(table, 0))  # what unitxt does not do for empty rows
            changed = augmentor.process_value(unitxt_form(table))
            assert unitxt_form(perturb(table, name)) == changed
