"""Programs as text: every class both ways, what is read leniently, what is refused and how."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import get_args

import pytest

from tablemend.datasets.source_tables.sources import make_table
from tablemend.programs.decide import decide
from tablemend.programs.execute import check
from tablemend.programs.program import (
    Aggregate,
    Condition,
    GroupBy,
    Program,
    Ratio,
    Rows,
    Trend,
    Value,
)
from tablemend.programs.sample import KINDS, Sampler
from tablemend.programs.speaker import speakers
from tablemend.programs.table import TypedTable
from tablemend.programs.written import FORMS, BadProgram, Call, parse, write
from tablemend.tables.table import Table
from tablemend.tasks.tabfaith.domains import SYNTHETIC

TABLES = [
    *(make(5, number) for make in SYNTHETIC.values() for number in range(12)),
    *(make_table(5, number).table for number in range(6)),
]
TEAMS = TypedTable.of(
    Table.of(
        ["Team", "City", "Founded", "Wins", "Budget ($ millions)", "Result"],
        [
            ["Ash", "Rome", "1901", "12", "45.3", "w 21-14"],
            ["Elm", "Oslo", "1920", "9", "30", "l 3-7"],
            ["Oak", "Rome", "1911", "9", "22.6", "w 10-9"],
            ["Fir", "Bern", "1899", "3", "", "l 0-1"],
        ],
    )
)
YEARS = TypedTable.of(
    Table.of(
        ["Metric", "2019", "2020", "2021"],
        [["Revenue", "$4 million", "$5 million", "$7 million"], ["Margin", "10%", "12%", "9%"]],
    )
)


def test_what_is_sampled_is_written_and_read_back() -> None:
    """Every class of programs; a statement that holds is so as it is written."""
    kinds: Counter[str] = Counter()
    for table in TABLES:
        plain = TypedTable.of(table)
        for speaker in speakers(plain):
            sampler, view = Sampler(speaker, Random(table.content_hash())), speaker.table
            drawn = [kind(sampler) for kind in KINDS for _ in range(3)]
            for statement in filter(None, drawn):
                text = write(statement.program, view)
                assert parse(text, plain) == Call(statement.program, view.is_turned), text
                if getattr(statement.stated, "hedge", "") != "about":
                    said = write(statement, view)
                    assert decide(parse(said, plain), plain).holds, said
                    assert check(statement, view).holds
                kinds[type(statement.program).__name__] += 1
                kinds["turned"] += view.is_turned
    names = {kind.__name__ for kind in get_args(Program)}
    assert {*names, "turned"} == {*kinds} and min(kinds.values()) >= 4


def test_what_is_never_sampled_is_written_and_read_back() -> None:
    rome, nine = Rows((Condition(1, "=", "rome"),)), Condition(3, ">=", 9.0)
    programs: list[Program] = [
        Aggregate("median", Rows((nine, Condition(1, "!=", "oslo"))), 3),
        Aggregate("product", rome, 3),
        Aggregate("max", Rows((Condition(5, "has", "w"),)), 4),
        GroupBy(1, "max", 3, "min", 2, Rows((nine,))),
        Ratio(Value(rome, 3), Aggregate("sum", Rows((Condition(4, "<", 45e6),)), 3)),
        Trend(Rows((Condition(2, "<=", "1911"),)), 3, 2, "<="),
    ]
    for program in programs:
        assert parse(write(program, TEAMS), TEAMS) == Call(program), program


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('value("Wins", "Ash") == 12', True),
        ('value("wins", Team="ash") == 12', True),
        ("`return value('Wins', df['Team'] == 'Ash') != 12`", False),
        ('count(row["Wins"] > 5 and row["City"] == "Rome") == 2', True),
        ('count((row["Wins"] > 5) & (row["City"] == "Rome")) == 2', True),
        ('count([5 < row["Wins"] < 10]) >= 2', True),
        ('count("w" in row["Result"]) == 2 and not count("l" in row["Result"]) == 3', True),
        ('any(row["Wins"] > 12) or only(row["City"] == "Oslo", "Elm")', True),
        ('abs(value("Wins", "Fir") - value("Wins", "Ash")) == 9', True),
        ('value("Wins", "Fir") - value("Wins", "Ash") == 9', False),
        ('100 * value("Wins", "Fir") / value("Wins", "Ash") == 25', True),
        ('value("Budget ($ millions)", "Ash") == 45.3', True),
        ('value("Budget ($ millions)", "Ash") > 45000000', True),
        ('count(row["Budget ($ millions)"] > mean("Budget ($ millions)")) == 1', True),
        ('count(row["Founded"] < 1905) == 2', True),
        ('value("Founded", "Oak") == 1911 and max("Founded") == "1920"', True),
        ('argmax("Team", by="Wins", n=1) == "Ash" == argmin("Team", "Founded")', False),
        ('group_argmax("City", sum("Wins")) == "rome"', True),
        ('count(row["City"] == "Rome") > count(row["City"] == "Oslo")', True),
        ('value("Budget ($ millions)", "Fir") == 3', None),
        ('value("Team", row["Wins"] == 9) == "Elm"', None),
        ('argmax("Metric", "Revenue") == "2021"', True),
        ('value("2021", "Margin") == "9%" and value("2020", "Revenue") == 5', True),
    ],
)
def test_a_text_is_read_as_models_write_it(text: str, holds: bool | None) -> None:
    table = YEARS if "Metric" in text or "Margin" in text else TEAMS
    assert decide(parse(text, table), table).holds is holds


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('value("Win", "Ash")', "no column 'Win'; did you mean 'Wins'?"),
        ('value("Wins", "Ahs")', "no row 'Ahs'; did you mean 'Ash'?"),
        ('count(row["City"] == "Rom")', "no cell of 'City' that is 'Rom'; did you mean 'Rome'?"),
        ('valeu("Wins", "Ash")', "no call 'valeu'; did you mean 'value'?"),
        ("value()", 'value(...) lacks an argument: value("Points", row["Team"] == "Alba")'),
        ("I like tables.", "no Python expression: invalid syntax"),
        ("", "no Python expression: invalid syntax"),
        ("__import__('os').system('true')", "is no call; there are value, "),
        ("open('x')", "no call 'open'; there are 'value'"),
        ("value.__class__", "is no call"),
        ('count(row["Wins"] > "many")', "'many' is no number to compare the cells of 'Wins' with"),
        ('count(row["Wins"] > 5 or row["Wins"] < 3)', 'no "or" in a condition'),
        ('all(row["Wins"] > 5 and row["Wins"] < 9)', "takes one condition"),
        ("count() - count()", "take value(...)"),
        ('group_argmax("City", value("Wins"))', "takes count(), sum(...), mean(...)"),
        ('count(row["Wins"] > argmax("Wins", "City"))', "what a cell is compared with is open"),
        ("(" * 300, "no Python expression"),
        ("-" * 1_490 + "1", "is no call"),
        ("9" * 400 + " == count()", "numbers too large"),
        ("count() == 1 and " * 200 + "count()", "characters; 1500 are read"),
    ],
)
def test_a_bad_text_has_one_clear_line(text: str, error: str) -> None:
    with pytest.raises(BadProgram) as raised:
        parse(text, TEAMS)
    assert error in str(raised.value) and "\n" not in str(raised.value)


def test_what_would_run_long_is_stopped_before_it_runs() -> None:
    rows = [[f"name {number}", str(number)] for number in range(2_500)]
    table = TypedTable.of(Table.of(["Name", "Size"], rows))
    assert decide(parse('sum("Size") == 3123750', table), table).holds
    with pytest.raises(BadProgram, match="looks at more than 5,000,000 cells"):
        parse('group_argmax("Name", sum("Size")) == "name 3"', table)
    assert "group_argmax" in FORMS
