"""Programs: what comes out of each, how it is said, and edits of one slot."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from tablemend.programs.edit import edits, meanings
from tablemend.programs.execute import check, execute
from tablemend.programs.program import (
    Aggregate,
    Amount,
    Change,
    Compare,
    Condition,
    Count,
    Difference,
    GroupBy,
    Hedge,
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
from tablemend.programs.sample import KINDS, Sampler
from tablemend.programs.say import Realiser
from tablemend.programs.speaker import TableDescriber, Unsayable, speakers
from tablemend.programs.table import TypedTable
from tablemend.records import ClaimError
from tablemend.tables.table import Table
from tablemend.values.numbers import parse_number
from tablemend.values.units import Unit

TEAMS = TypedTable.of(
    Table.of(
        ["Team", "City", "Founded", "Wins", "Budget ($ millions)"],
        [
            ["Ash", "Rome", "1901", "12", "45.3"],
            ["Elm", "Oslo", "1920", "9", "30"],
            ["Oak", "Rome", "1911", "9", "22.6"],
            ["Fir", "Bern", "1899", "3", ""],
            ["Total", "", "", "33", "97.9"],
        ],
    )
)
YEARS = TypedTable.of(
    Table.of(
        ["Metric", "2019", "2020", "2021"],
        [["Revenue", "$4 million", "$5 million", "$7 million"], ["Margin", "10%", "12%", "9%"]],
    )
)
TEAM, CITY, FOUNDED, WINS, BUDGET = range(5)


def team(name: str) -> Rows:
    return Rows((Condition(TEAM, "=", name),))


ROME = Rows((Condition(CITY, "=", "rome"),))
ASH, ELM = Value(team("ash"), WINS), Value(team("elm"), WINS)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (ASH, 12.0),
        (Value(team("ash"), CITY), "rome"),
        (Value(team("total"), WINS), 33.0),
        (Value(team("ash"), BUDGET), 45.3e6),
        (Value(Rank(Rows(), WINS), TEAM), "ash"),
        (Value(Rank(Rows(), FOUNDED, "min"), TEAM), "fir"),
        (Value(Rank(ROME, WINS, "max", 2), TEAM), "oak"),
        (Count(Rows()), 4.0),
        (Count(Rows((Condition(WINS, ">", 8.0), Condition(CITY, "=", "rome")))), 2.0),
        (Count(Rows((Condition(FOUNDED, "<", "1911"),))), 2.0),
        (Aggregate("sum", Rows(), WINS), 33.0),
        (Aggregate("mean", ROME, WINS), 10.5),
        (Aggregate("median", Rows(), WINS), 9.0),
        (Aggregate("max", Rows(), FOUNDED), "1920"),
        (Difference(ASH, ELM), 3.0),
        (Ratio(ASH, Aggregate("sum", Rows(), WINS), percent=True), 100 * 12 / 33),
        (Change(ELM, ASH, percent=True), 100 / 3),
        (GroupBy(CITY, "sum", WINS), "rome"),
        (GroupBy(CITY, "sum", WINS, "max", 2), "oslo"),
        (Compare(ASH, ">", ELM), True),
        (Quantifier("all", Rows(), Condition(WINS, ">=", 3.0)), True),
        (Quantifier("most", Rows(), Condition(WINS, ">", 9.0)), False),
        (Quantifier("half", Rows(), Condition(CITY, "=", "rome")), True),
        (Quantifier("only", team("fir"), Condition(WINS, "<", 9.0)), True),
        (Quantifier("none", ROME, Condition(WINS, "<", 9.0)), True),
    ],
)
def test_results(program: Program, expected: Any) -> None:
    result = execute(program, TEAMS)
    assert (result.key or result.value) == pytest.approx(expected) and not result.undefined


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (Value(team("yew"), WINS), "no such row"),
        (Value(team("fir"), BUDGET), "empty"),
        (Value(Rows(), WINS), "different values"),
        (Value(Rank(Rows(), WINS, "max", 2), TEAM), "tie"),
        (Value(Rank(Rows(), WINS, "max", 9), TEAM), "only 4 rows"),
        (Aggregate("sum", Rows(), CITY), "no numbers"),
        (Difference(ASH, Value(team("ash"), CITY)), "text"),
        (Difference(ASH, Value(team("ash"), BUDGET)), "several units"),
        (GroupBy(TEAM, "sum", CITY), "no numbers"),
    ],
)
def test_undefined(program: Program, why: str) -> None:
    result = execute(program, TEAMS)
    assert result.value is None and why in result.undefined


def test_the_same_programs_run_over_columns() -> None:
    turned = YEARS.turned
    revenue, margin = 1, 2
    assert turned.columns[0].kind == "date" and list(YEARS.period_headers) == [1, 2, 3]
    best = execute(Value(Rank(Rows(), margin), 0), turned)
    assert (best.key, best.cells[:2]) == ("2020", ((-1, 2), (1, 2)))
    assert execute(Trend(Rows(), revenue, 0), turned).value is True
    assert execute(Trend(Rows(), margin, 0), turned).value is False
    assert execute(Aggregate("sum", Rows(), revenue), turned).value == 16e6


@pytest.mark.parametrize(
    ("stated", "hedge", "holds"),
    [
        ("$45.3 million", "", True),
        ("$45 million", "", True),
        ("45 million", "about", True),
        ("45.3", "", True),
        ("$46 million", "", False),
        ("€45.3 million", "", False),
        ("$45.30 million", "", True),
        ("$45.31 million", "", False),
        ("$45 million", "over", True),
        ("$46 million", "under", True),
        ("$45 million", "under", False),
        ("$30 million", "over", False),
    ],
)
def test_a_stated_number_is_as_exact_as_it_is_written(
    stated: str, hedge: Hedge, holds: bool
) -> None:
    number = parse_number(stated)
    assert number is not None
    amount = Amount(
        float(number.value), number.unit, float(number.unit.scale) * 10.0**-number.decimals, hedge
    )
    statement = Statement(Value(team("ash"), BUDGET), amount)
    assert check(statement, TEAMS).holds is holds


HOSTILE = (
    *("", "-", "n/a", "1e400", "1" * 80, "(5)", "12%", "2020", "Q1 2020", "03/04/2021", "inf"),
    *("nan", "Total", "x" * 5000, "3.5-5.1", "5 pp", "$3 million", "½", "-0.0", "Alba", "Borea"),
)


def test_of_hostile_tables_nothing_false_is_drawn() -> None:
    random, drawn = Random(0), 0
    for _ in range(300):
        width = random.randrange(1, 5)
        heads = [
            random.choice(("", "2019", "2020", "Unit", "Total", "Points")) for _ in range(width)
        ]
        cells = random.choice((HOSTILE, (*HOSTILE, *map(str, range(90)))))
        names = random.sample(("Alba", "Borea", "Corvo", "Dorna", "Elna", "Total", ""), 5)
        rows = [[name, *(random.choice(cells) for _ in heads)] for name in names]
        table = TypedTable.of(Table.of(["Team", *heads], rows))
        with suppress(Unsayable):
            for speaker in speakers(table):
                for kind in KINDS:
                    if (statement := kind(Sampler(speaker, random))) is not None:
                        drawn += 1
                        assert check(statement, speaker.table).holds is not False
                        for edit in edits(statement, speaker.table, random):
                            assert check(edit.statement, speaker.table).holds is False
    assert drawn > 50


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
OVER_TIME = TypedTable.of(
    Table.of(["Metric", "2019", "2020", "2021"], [["Sales", "90", "110", "121"]])
).turned
POINTS, REVENUE, SALES = 3, 4, 1
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
    (OVER_TIME, at("2019", SALES), Amount(90, step=1), "sales 90 2019"),
    (OVER_TIME, Compare(at("2019", SALES), "<", at("2021", SALES)), True, "sales 2019 2021"),
    (
        OVER_TIME,
        Change(at("2020", SALES), at("2021", SALES), True),
        Amount(10, PERCENT, 1),
        "sales 10 2020 2021",
    ),
    (OVER_TIME, Value(Rank(Rows(), SALES), 0), "2021", "sales 2021"),
    (
        OVER_TIME,
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
        said = Realiser(TableDescriber(table), Random(seed)).say(statement)
        text = said.text.casefold()
        for word in words.casefold().split():
            assert any(one in text for one in word.split("|")), (word, said.text)
        assert said.text.endswith(".") and "{" not in said.text and "<" not in said.text
        assert said.claims[0].statement == statement
        assert all(check(claim.statement, table).holds for claim in said.claims)
        places = sorted(said.slots.values())
        assert all(one.end <= other.start for one, other in pairwise(places))


@pytest.mark.parametrize(("table", "program", "stated", "words"), CASES)
def test_one_edit_falsifies(
    table: TypedTable, program: Program, stated: Amount | str | bool, words: str
) -> None:
    statement = Statement(program, stated)
    made = list(edits(statement, table, Random(1)))
    assert made
    for edit in made:
        assert check(edit.statement, table).holds is False
        assert meanings(statement, table)[edit.role] == edit.old != edit.new


@pytest.mark.parametrize(
    ("program", "stated", "role", "type"),
    [
        (at("alba", POINTS), Amount(41, step=1), "entity", "ATT"),
        (at("borea", CITY), "Graz", "value", "ATT"),
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
