"""Statements in English with the places of their words; edits that falsify, edits that mend."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from tablemend.programs.edit import corrections, edits, meanings
from tablemend.programs.execute import check
from tablemend.programs.program import (
    Aggregate,
    Amount,
    Change,
    Compare,
    Condition,
    Count,
    Difference,
    GroupBy,
    Program,
    Quantifier,
    Rank,
    Ratio,
    Role,
    Rows,
    Statement,
    Trend,
    Value,
    from_json,
    to_json,
)
from tablemend.programs.say import say
from tablemend.programs.speaker import Unsayable
from tablemend.programs.table import TypedTable
from tablemend.records import ClaimError
from tablemend.tables.table import Table
from tablemend.values.units import Unit

CLUBS = TypedTable.of(
    Table.of(
        ["Club", "City", "Founded", "Points", "Revenue (USD million)"],
        [
            ["Alba", "Lyon", "1901", "41", "5.2"],
            ["Borea", "Graz", "1955", "38", "12.4"],
            ["Corvo", "Porto", "1923", "27", "3.1"],
            ["Dorna", "Lyon", "1987", "30", "7.7"],
        ],
    )
)
YEARS = TypedTable.of(
    Table.of(["Metric", "2019", "2020", "2021"], [["Sales", "90", "110", "121"]])
).turned
CITY, FOUNDED, POINTS, REVENUE, SALES = 1, 2, 3, 4, 1
PERCENT = Unit(symbol="%")


def at(name: str, column: int) -> Value:
    return Value(Rows((Condition(0, "=", name),)), column)


CASES: list[tuple[TypedTable, Program, Amount | str | bool, str]] = [
    (CLUBS, at("alba", POINTS), Amount(41, step=1), "Alba 41 points"),
    (CLUBS, at("alba", REVENUE), Amount(5.2e6, Unit(symbol="", currency="usd"), 1e5), "Alba reven"),
    (CLUBS, at("alba", CITY), "Lyon", "Alba city Lyon"),
    (CLUBS, at("alba", FOUNDED), "1901", "Alba founded 1901"),
    (CLUBS, Value(Rank(Rows(), POINTS), 0), "Alba", "Alba most|highest|more points"),
    (CLUBS, Value(Rank(Rows(), REVENUE, "max", 2), 0), "Dorna", "Dorna second revenue"),
    (CLUBS, Compare(at("alba", POINTS), ">", at("corvo", POINTS)), True, "Alba more Corvo"),
    (CLUBS, Compare(at("alba", FOUNDED), "<", at("borea", FOUNDED)), True, "Alba earlier Borea"),
    (CLUBS, Difference(at("alba", POINTS), at("corvo", POINTS)), Amount(14, step=1), "14 more"),
    (CLUBS, Ratio(at("borea", REVENUE), at("corvo", REVENUE)), Amount(4, step=1), "4 times"),
    (
        CLUBS,
        Ratio(at("alba", POINTS), Aggregate("sum", Rows(), POINTS), True),
        Amount(30.1, PERCENT, 0.1),
        "Alba 30.1 points four clubs",
    ),
    (CLUBS, Count(Rows((Condition(POINTS, ">", 29.0),))), Amount(3, step=1), "Three|3 clubs 29"),
    (CLUBS, Count(Rows((Condition(CITY, "=", "lyon"),))), Amount(2, step=1), "Two|2 clubs Lyon"),
    (CLUBS, Quantifier("all", Rows(), Condition(POINTS, ">", 20.0)), True, "clubs 20 points"),
    (
        CLUBS,
        Quantifier("only", Rows((Condition(0, "=", "alba"),)), Condition(POINTS, ">", 40.0)),
        True,
        "Alba only 40 points",
    ),
    (CLUBS, Aggregate("sum", Rows(), POINTS), Amount(136, step=1), "136 points"),
    (CLUBS, Aggregate("mean", Rows(), POINTS), Amount(34, step=1), "34 points"),
    (CLUBS, Aggregate("max", Rows(), REVENUE), Amount(12.4e6, step=1e5), "highest revenue 12"),
    (CLUBS, GroupBy(CITY, "sum", POINTS), "Lyon", "city Lyon highest total points"),
    (YEARS, at("2019", SALES), Amount(90, step=1), "sales 90 2019"),
    (YEARS, Compare(at("2019", SALES), "<", at("2021", SALES)), True, "sales 2019 2021"),
    (
        YEARS,
        Change(at("2020", SALES), at("2021", SALES), True),
        Amount(10, PERCENT, 1),
        "sales 10 2020 2021",
    ),
    (YEARS, Value(Rank(Rows(), SALES), 0), "2021", "sales 2021"),
    (
        YEARS,
        Trend(Rows((Condition(0, ">=", "2019"), Condition(0, "<=", "2021"))), SALES, 0),
        True,
        "sales year 2019 2021",
    ),
]


@pytest.mark.parametrize(("table", "program", "stated", "words"), CASES)
def test_a_statement_is_said_with_the_place_of_each_word(
    table: TypedTable, program: Program, stated: Amount | str | bool, words: str
) -> None:
    statement = Statement(program, stated)
    assert check(statement, table).holds
    assert from_json(to_json(statement)) == statement
    for seed in range(6):
        said = say(statement, table, Random(seed))
        text = said.text.casefold()
        for word in words.casefold().split():
            assert any(one in text for one in word.split("|")), (word, said.text)
        assert said.text.endswith(".") and "{" not in said.text and "<" not in said.text
        assert said.claims[0].statement == statement
        assert all(check(claim.statement, table).holds for claim in said.claims)
        places = sorted(said.slots.values())
        assert all(one.end <= other.start for one, other in pairwise(places))


@pytest.mark.parametrize(("table", "program", "stated", "words"), CASES)
def test_one_edit_falsifies_and_one_edit_mends(
    table: TypedTable, program: Program, stated: Amount | str | bool, words: str
) -> None:
    statement = Statement(program, stated)
    made = list(edits(statement, table, Random(1)))
    assert made
    for edit in made:
        assert check(edit.statement, table).holds is False
        assert meanings(statement, table)[edit.role] == edit.old != edit.new
        mended = [back.statement for back in corrections(edit.statement, table)]
        if edit.role in ("value", "cue", "quantifier", "column", "entity"):
            assert any(check(one, table).holds for one in mended), edit


@pytest.mark.parametrize(
    ("program", "stated", "role", "type"),
    [
        (at("alba", POINTS), Amount(41, step=1), "entity", "ATT"),
        (at("alba", CITY), "Lyon", "value", "ATT"),
        (at("alba", FOUNDED), "1901", "value", "TMP"),
        (Value(Rank(Rows(), POINTS), 0), "Alba", "entity", "CMP"),
        (Compare(at("alba", POINTS), ">", at("corvo", POINTS)), True, "cue", "CMP"),
        (Compare(at("alba", FOUNDED), "<", at("borea", FOUNDED)), True, "cue", "TMP"),
        (Quantifier("all", Rows(), Condition(POINTS, ">", 20.0)), True, "quantifier", "CMP"),
    ],
)
def test_the_slot_is_the_type_of_the_error(
    program: Program, stated: Amount | str | bool, role: Role, type: ClaimError
) -> None:
    made = edits(Statement(program, stated), CLUBS, Random(2))
    assert {edit.type for edit in made if edit.role == role} == {type}


@pytest.mark.parametrize(
    ("program", "stated"),
    [
        (Value(Rank(Rows(), POINTS), CITY), "Lyon"),
        (at("nobody", POINTS), Amount(3)),
        (Compare(at("alba", POINTS), ">", 3.0), True),
        (Count(Rows()), Amount(4)),
    ],
)
def test_what_has_no_words_is_unsayable(program: Program, stated: Amount | str | bool) -> None:
    with pytest.raises(Unsayable):
        say(Statement(program, stated), CLUBS, Random(0))
