"""Programs run on a table: each operator, what is undefined, what a stated number may be."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tablemend.programs.edit import corrections, edits
from tablemend.programs.execute import check, execute
from tablemend.programs.program import (
    Aggregate,
    Amount,
    Between,
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
    Rows,
    Statement,
    Trend,
    Value,
)
from tablemend.programs.table import TypedTable
from tablemend.tables.table import Table
from tablemend.values.numbers import parse_number

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
        (Aggregate("max", Rows(), FOUNDED), "1920"),
        (Difference(ASH, ELM), 3.0),
        (Ratio(ASH, Aggregate("sum", Rows(), WINS), percent=True), 100 * 12 / 33),
        (Change(ELM, ASH, percent=True), 100 / 3),
        (GroupBy(CITY, "sum", WINS), "rome"),
        (GroupBy(CITY, "sum", WINS, "max", 2), "oslo"),
        (Compare(ASH, ">", ELM), True),
        (Compare(ASH, "<", 10.0), False),
        (Between(ASH, (None, 10.0)), "above"),
        (Quantifier("all", Rows(), Condition(WINS, ">=", 3.0)), True),
        (Quantifier("most", Rows(), Condition(WINS, ">", 9.0)), False),
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
        (Value(team("ash"), 99), "no such column"),
        (Value(team("fir"), BUDGET), "empty"),
        (Value(Rows(), WINS), "different values"),
        (Value(Rank(Rows(), WINS, "max", 2), TEAM), "tie"),
        (Value(Rank(Rows(), WINS, "max", 9), TEAM), "only 4 rows"),
        (Aggregate("sum", Rows(), CITY), "no numbers"),
        (Difference(ASH, Value(team("ash"), CITY)), "text"),
        (Difference(ASH, Value(team("ash"), BUDGET)), "several units"),
        (Ratio(ASH, 0.0), "zero"),
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
    statement = Statement(Value(team("ash"), BUDGET), Amount.of(number, hedge))
    assert check(statement, TEAMS).holds is holds


HOSTILE = (
    *(
        "",
        "-",
        "n/a",
        "1e400",
        "1" * 80,
        "(5)",
        "12%",
        "2020",
        "Q1 2020",
        "03/04/2021",
        "inf",
        "nan",
    ),
    *("Total", "x" * 5000, "3.5-5.1", "5 pp", "$3 million", "½", "-0.0", "Alba"),
)


def test_hostile_tables_and_programs_end_in_a_result() -> None:
    random = Random(0)
    for _ in range(300):
        width = random.randrange(1, 5)
        heads = [
            random.choice(("", "2019", "2020", "Unit", "Total", "Points")) for _ in range(width)
        ]
        rows = [[random.choice(HOSTILE) for _ in heads] for _ in range(random.randrange(7))]
        table = TypedTable.of(Table.of(heads, rows))
        for view in (table, table.turned):
            statement = Statement(
                _program(random), random.choice((True, "alba", Amount(5.0, step=1.0)))
            )
            assert check(statement, view).holds in (True, False, None)
            for edit in edits(statement, view, random):
                assert check(edit.statement, view).holds is False
            corrections(statement, view)


def _program(random: Random) -> Program:
    def column() -> int:
        return random.randrange(-1, 6)

    value = random.choice((5.0, "2020", "alba", float("nan"), float("inf")))
    condition = Condition(column(), random.choice(("=", "<", ">=", "in")), value)
    rows = Rows((condition,)) if random.random() < 0.5 else Rows()
    cell = Value(Rank(rows, column(), "max", random.randrange(-1, 4)), column())
    total = Aggregate(random.choice(("sum", "median", "max")), rows, column())
    made: tuple[Program, ...] = (
        *(cell, total, Count(rows), Ratio(cell, total), Change(total, cell, percent=True)),
        *(Compare(cell, random.choice(("<", "in")), 0.0), Between(total, cell)),
        *(Quantifier("most", rows, condition), Trend(rows, column(), column())),
        GroupBy(column(), "mean", column(), "min", random.randrange(3)),
    )
    return random.choice(made)
