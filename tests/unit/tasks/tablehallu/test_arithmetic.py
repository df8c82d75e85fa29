"""The arithmetic subset: five queries of one kernel, checked, scored, refused."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from tablemend.config import ConfigError, parse
from tablemend.detector.algorithm import detect_in_answer
from tablemend.detector.query import columns_from_query, decimals_from_query
from tablemend.errors import TablemendError
from tablemend.exact_match import compare_exactly
from tablemend.mitigations.repair_table import repair_table
from tablemend.records import Example
from tablemend.tables.read import write_table
from tablemend.tables.table import Cell, Table
from tablemend.tasks.all_tasks import TASKS
from tablemend.tasks.tablehallu.engine import examples, open_maker
from tablemend.tasks.tablehallu.injected_errors import INJECTED_ERRORS
from tablemend.tasks.tablehallu.settings import Synthesis
from tablemend.tasks.tablehallu.verification import verify


@pytest.fixture(scope="module")
def made() -> list[Example]:
    return list(examples(parse(Synthesis, ["arithmetic=true", "n=3", "seed=3", "queries=1"])))


def errors(example: Example, answer: Table, format: str = "markdown") -> tuple[int, int]:
    """How many the detector and the second scorer find in an answer."""
    gold, text = example.gold_table, write_table(answer, format)
    decimals = decimals_from_query(example.query, gold.columns)
    context = example.adversarial_context
    said = detect_in_answer(text, gold, context, None, format, decimals=decimals)
    second = compare_exactly(text, format, gold.columns, gold.rows, None, decimals)
    assert not said.unscored and not second.unscored
    return len(said.findings), len(second.differences)


def with_last(table: Table, cells: list[Cell]) -> Table:
    rows = [(*row[:-1], cell) for row, cell in zip(table.rows, cells, strict=True)]
    return Table.of(table.columns, rows, table.title)


def test_a_kernel_without_blanks_is_asked_for_in_five_ways(made: list[Example]) -> None:
    operations = [e.constraints.computed and e.constraints.computed.operation for e in made]
    assert operations == [None, "addition", "subtraction", "multiplication", "division"] * 3
    assert len({e.id for e in made}) == 15
    for number, example in enumerate(made):
        plain, gold = made[number - number % 5], example.gold_table
        assert verify(example) is None
        assert Example.from_json(example.to_json()) == example
        assert example.adversarial_context == plain.adversarial_context
        assert columns_from_query(example.query) == gold.columns
        shown = TASKS["table_generation"]().show(example, "clean")
        assert shown.calculation == (operations[number] or "none")
        assert decimals_from_query(example.query, gold.columns) == example.constraints.decimals
        width = len(plain.gold_table.columns)
        assert gold.columns[width:] == ("Composite Value",) * (example is not plain)
        assert tuple(row[:width] for row in gold.rows) == plain.gold_table.rows
        assert not any(cell is None for row in gold.rows for cell in row)
    assert repair_table(gold, example.adversarial_context, example.query)[0] == gold


@pytest.mark.parametrize("format", ["markdown", "json", "latex"])
def test_scorers_accept_what_is_as_near_as_the_rounding(made: list[Example], format: str) -> None:
    for example in made:
        gold, computed = example.gold_table, example.constraints.computed
        assert errors(example, gold, format) == (0, 0)
        if computed:
            step = Decimal(1).scaleb(-computed.decimals)
            values = [Decimal((row[-1] or "").replace(",", "")) for row in gold.rows]
            for away, wrong in ((step / 4, 0), (-step / 2, 0), (step * 3 / 4, len(values))):
                near = with_last(gold, [str(value + away) for value in values])
                assert errors(example, near, format) == (wrong, wrong)


@pytest.mark.parametrize("name", [name for name in INJECTED_ERRORS if name != "rows shuffled"])
def test_scorers_flag_injected_errors(made: list[Example], name: str) -> None:
    for example in made:
        answer = INJECTED_ERRORS[name].make(example, Random(0))
        assert answer is None or min(errors(example, answer)) > 0
    assert name != "wrong result" or answer is not None


def test_the_verification_names_what_is_wrong(made: list[Example]) -> None:
    example = made[4]
    gold, computed = example.gold_table, example.constraints.computed
    assert computed
    first, *others = (row[-1] for row in gold.rows)
    unnamed = "it".join(example.query.rsplit(f'"{computed.right}"', 1))
    for reason, changes in {
        "computed cell is another": {"gold_table": with_last(gold, ["0.07", *others])},
        "other decimals": {"gold_table": with_last(gold, [f"{first}0", *others])},
        "without a number": {"gold_table": with_last(gold, [None, *others])},
        "not named": {"query": unnamed},
        "columns not listed": {"query": example.query.replace("Composite ", "")},
    }.items():
        assert reason in str(verify(replace(example, **changes))), reason  # type: ignore[arg-type]


def test_bad_input_is_refused(tmp_path: Path) -> None:
    for token in ("source=small-world", "arithmetic=some"):
        with pytest.raises(ConfigError, match="arithmetic"):
            parse(Synthesis, ["arithmetic=true", token])
    rows = (f"Ship {c},{i * i},red{i % 3},tin{i % 2},Port {c}" for i, c in enumerate("abcdefghij"))
    (tmp_path / "ships.csv").write_text("\n".join(("Ship,Guns,Sails,Hull,Port", *rows)))
    with pytest.raises(TablemendError, match="1x fewer than two columns to calculate with"):
        open_maker(parse(Synthesis, [f"source={tmp_path}", "arithmetic=true"]))


@pytest.mark.parametrize(
    ("query", "decimals"),
    [
        ("Sort by Ratio. Round Ratio to 3 decimals.", {"Ratio": 3}),
        (
            '"Total p.a." is "A" plus "B", to the nearest whole number.',
            {"Total p.a.": 0},
        ),
        ("Give the Ratio of A to B with two decimal places, then the Total.", {"Ratio": 2}),
        ("List Total and Ratio with three rows.", {}),
        ("Round everything to one decimal place.", {}),
    ],
)
def test_the_precision_of_a_query_is_read(query: str, decimals: dict[str, int]) -> None:
    assert decimals_from_query(query, ("A", "B", "Total p.a.", "Total", "Ratio")) == decimals


def test_a_context_is_kept_only_if_each_of_its_groups_allows_a_calculation() -> None:
    """Else a group with a zero, by which nothing is divided, would never be gold."""

    def contexts(queries: int) -> list[str]:
        tokens = ["arithmetic=true", "n=8", "seed=5", f"queries={queries}"]
        return list(
            dict.fromkeys(e.adversarial_context for e in examples(parse(Synthesis, tokens)))
        )

    assert contexts(1) == contexts(9)
