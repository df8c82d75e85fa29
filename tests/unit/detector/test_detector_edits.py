"""Injected edits on real tables: each is flagged as its own type and as nothing else."""

from __future__ import annotations

import random
import re

import pytest

from tablemend.datasets.source_tables.sources import make_table
from tablemend.detector.algorithm import detect_errors, detect_in_answer
from tablemend.detector.keys import Gold, prepare_gold, primary_key
from tablemend.detector.query import SortRule
from tablemend.tables.read import write_table
from tablemend.tables.table import Table
from tablemend.values.cells import is_blank
from tests.support.injected import EDITS, context_of, found, with_cell

FORMATS = ("markdown", "json", "latex", "csv", "html")


def invented_tables() -> list[Table]:
    """Half of them with one blank cell beside the key."""
    tables = []
    for number in range(200):
        table = make_table(0, number).table
        cut = Table.of(table.columns[:7], [row[:7] for row in table.rows[:8]])
        if number % 2:
            column = (primary_key(cut) + 1) % len(cut.columns)
            cut = with_cell(cut, number % len(cut.rows), column, None)
        tables.append(cut)
    return tables


@pytest.fixture(params=["invented", "real"])
def tables(request: pytest.FixtureRequest) -> list[Table]:
    """Usable gold tables of at most 8 rows and 7 columns."""
    if request.param == "invented":
        return invented_tables()
    read = request.getfixturevalue("shared_data")
    records = read("wikitablequestions") + read("tabfact")[:400]
    cut = [Table.of(r["header"][:7], [row[:7] for row in r["rows"][:8]]) for r in records]
    return [
        table
        for table in cut
        if isinstance(prepare_gold(table), Gold) and len(table.rows) > 1 and len(table.columns) > 2
    ]


@pytest.mark.parametrize("name", EDITS)
def test_each_edit_is_flagged_as_its_type_alone(name: str, tables: list[Table]) -> None:
    expected, edit = EDITS[name]
    tried = 0
    for number, table in enumerate(tables):
        edited = edit(table, random.Random(number))
        if edited is not None:
            tried += 1
            judgement = detect_errors(edited, table, context_of(table))
            assert found(judgement) == {expected: 1}, (table, edited, judgement.findings)
    assert tried > (60 if name == "blank filled" else 190)


def test_the_gold_table_is_clean_in_every_format(tables: list[Table]) -> None:
    for number, table in enumerate(tables[::8]):
        rule = SortRule(table.columns[number % len(table.columns)], "ascending")
        for turn, format in enumerate(FORMATS):
            text = write_table(table, format)
            asked = "auto" if (number + turn) % 5 == 0 and format != "csv" else format
            judgement = detect_in_answer(text, table, "", rule, asked)
            assert not judgement.unscored
            assert found(judgement) == {}, (asked, text, judgement.findings)
            assert (judgement.share("row_recall"), judgement.share("cell_recall")) == (1.0, 1.0)
            assert not judgement.abstained


def plain_numbers(table: Table, column: int) -> list[int] | None:
    """A column of different plain integers, read here without the detector's own parser."""
    cells = [row[column] or "" for row in table.rows]
    if not all(re.fullmatch(r"[0-9]{1,9}", cell) for cell in cells):
        return None
    numbers = [int(cell) for cell in cells]
    return numbers if len(set(numbers)) == len(numbers) else None


def sortable(table: Table) -> tuple[Table, int] | None:
    """The table sorted by its first column of different integers, and that column."""
    for column in range(len(table.columns)):
        numbers = plain_numbers(table, column)
        if numbers:
            rows = [row for _, row in sorted(zip(numbers, table.rows, strict=True))]
            return Table.of(table.columns, rows), column
    return None


def test_shuffled_rows_are_an_order_mismatch_alone(tables: list[Table]) -> None:
    tried = 0
    for number, table in enumerate(tables):
        ready = sortable(table)
        if ready is None:
            continue
        gold, column = ready
        rows = list(gold.rows)
        random.Random(number).shuffle(rows)
        rule = SortRule(gold.columns[column], "ascending")
        expected = {} if tuple(rows) == gold.rows else {"order_mismatch": 1}
        shuffled = Table.of(gold.columns, rows)
        assert found(detect_errors(shuffled, gold, "", rule)) == expected, (gold, shuffled)
        assert found(detect_errors(shuffled, gold, "")) == {}
        falling = Table.of(gold.columns, gold.rows[::-1])
        assert found(detect_errors(gold, gold, "", rule)) == {}
        assert found(detect_errors(falling, falling, "", rule._replace(order="descending"))) == {}
        tried += 1
    assert tried > 20


def respell(cell: str | None, column: str) -> str | None:
    """Another spelling of the same value."""
    if is_blank(cell) or cell is None:
        return "N/A" if cell is None else None
    if re.fullmatch(r"[0-9]{5,9}", cell):
        return f"{int(cell):,}"
    if re.fullmatch(r"[1-9][0-9]{0,2}(,[0-9]{3})+", cell):
        return cell.replace(",", " ")
    if re.fullmatch(r"[0-9]+\.[0-9]+", cell) and "version" not in column:
        return cell + "0"
    if match := re.fullmatch(r"([a-z]+) ([0-9]{1,2}) , ([0-9]{4})", cell):
        return f"{match[2]} {match[1].title()} {match[3]}"
    return f" {cell.upper()} " if cell.isascii() else cell.replace("-", "\u2013")


def test_other_spellings_are_no_findings(tables: list[Table]) -> None:
    for table in tables:
        answer = Table.of(
            table.columns, [list(map(respell, row, table.columns)) for row in table.rows]
        )
        judgement = detect_errors(answer, table, "")
        assert found(judgement) == {}, (table, answer, judgement.findings)
        assert judgement.share("cell_recall") == 1.0
