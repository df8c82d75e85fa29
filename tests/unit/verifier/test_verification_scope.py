"""What a program reads from a query: conditions, columns, computed columns."""

from __future__ import annotations

import pytest

from tablemend.datasets.tablehallu.engine import examples as make_examples
from tablemend.datasets.tablehallu.settings import Synthesis
from tablemend.tables.table import Table
from tablemend.values.cells import read_value
from tablemend.values.units import header_unit
from tablemend.verifier.scope import read_scope
from tablemend.verifier.scope_conditions import ScopeCondition
from tests.support import llm_kernels

FILMS = Table.of(
    ["Film", "Released", "Revenue (USD million)", "Studio", "Awards"],
    [["Alba", "2012", "40", "Norvik", "3"], ["Sella", "2014", "5.5", "Lund", "1"]],
)


def conditions(query: str, table: Table = FILMS) -> list[ScopeCondition]:
    return list(read_scope(query, table).conditions)


def ends(condition: ScopeCondition) -> tuple[str | None, str | None, bool]:
    low, high = condition.low, condition.high
    return (
        low and low.text,
        high and high.text,
        condition.included,
    )


@pytest.mark.parametrize(
    ("words", "label", "expected"),
    [
        ("films released between 2010 and 2015", "Released", ("2010", "2015", True)),
        ("films released after 2010", "Released", ("2010", None, False)),
        ("films released in 2012", "Released", ("2012", "2012", True)),
        ("films with revenue above 5 million", "Revenue (USD million)", ("5000000", None, False)),
        ("films with at least 2 awards", "Awards", ("2", None, True)),
        ('films whose "Awards" is 2 or less', "Awards", (None, "2", True)),
        ('films with "Awards" from 1 to 3', "Awards", ("1", "3", True)),
        ('films where "Awards" is 3', "Awards", ("3", "3", True)),
    ],
)
def test_conditions_in_words(
    words: str, label: str, expected: tuple[str | None, str | None, bool]
) -> None:
    (found,) = conditions(f"Make a table of the {words}.")
    assert (found.label, ends(found)) == (label, expected)


@pytest.mark.parametrize(
    "words",
    [
        "the 2014 Polar Games",
        "the five best films",
        "films of the studio",
        "films longer than 5",
        "entries for 2008 cup",
    ],
)
def test_what_is_not_plain_is_no_condition(words: str) -> None:
    assert conditions(f"Make a table of {words}.") == []


def test_categories_and_names() -> None:
    (found,) = conditions('Make a table of films whose "Studio" is Norvik or Lund.')
    assert found.values == ("Norvik", "Lund")
    assert found.meets(read_value("Lund")) is True
    assert found.meets(read_value("Orvo")) is False
    assert found.meets(read_value("Lund Brothers")) is None
    assert read_scope("Compare Alba and Sella in a table.", FILMS).entities == ("Alba", "Sella")


@pytest.mark.parametrize(
    ("words", "cell", "header", "expected"),
    [
        ("released between 2010 and 2015", "4 March 2015", "", True),
        ("released between 2010 and 2015", "2016", "", False),
        ("released after 2010", "2010", "", False),
        ("released before March 2010", "2010", "", None),
        ("with revenue above $5 million", "5.5", "Revenue (USD million)", True),
        ("with revenue above $5 million", "5", "Revenue (USD million)", False),
        ("with revenue above $5 million", "much", "Revenue (USD million)", None),
    ],
)
def test_what_meets_a_condition(words: str, cell: str, header: str, expected: bool | None) -> None:
    (found,) = conditions(f"Make a table of the films {words}.")
    assert found.meets(read_value(cell), header_unit(header)) is expected


def test_the_queries_of_the_program_are_read() -> None:
    wrong = total = 0
    for example in make_examples(Synthesis.model_validate({"n": 60, "seed": 1})):
        scope = read_scope(example.query, example.gold_table)
        assert scope.columns == example.gold_table.columns and not scope.computed
        found = {(one.label, bool(one.low), bool(one.high)) for one in scope.conditions}
        wanted = {
            (one.column, bool(one.low), bool(one.high)) for one in example.constraints.conditions
        }
        total += 1
        wrong += found != wanted
    assert total == 60 and wrong <= 2


def test_the_queries_of_people_hold_for_their_tables() -> None:
    read = 0
    for case in llm_kernels.CASES:
        table = case.draft.table
        for condition in conditions(case.query, table):
            if condition.label not in table.columns:
                continue
            read += 1
            unit = header_unit(condition.label)
            met = [
                condition.meets(read_value(cell), unit) for cell in table.column(condition.label)
            ]
            assert False not in met, case.query
    assert read >= 15
