"""The relation of an answer to what it should say: tables to their gold, summaries to tables."""

from __future__ import annotations

import pytest

from tablemend.records import RELATIONS, Finding, Judgement, Share
from tablemend.tables.table import Table
from tablemend.tasks.tabfaith.task import TableSummary
from tablemend.tasks.tablehallu import prompts, small_world
from tablemend.tasks.tablehallu.injected_errors import INJECTED_ERRORS
from tablemend.tasks.tablehallu.task import TableGeneration
from tablemend.tasks.task import Submission

TASK = TableGeneration()
SAMPLE = next(one for n in range(50) if len((one := small_world.example(3, n)).gold_table.rows) > 2)
GOLD = SAMPLE.gold_table


def _relation(table: Table | str) -> str | None:
    text = table if isinstance(table, str) else prompts.answer(table)
    with TASK.scorer() as scorer:
        (said,) = scorer.score([Submission(SAMPLE, "adversarial", text)])
    return TASK.relation(said)


def test_a_table_is_a_conjunction_of_its_cells() -> None:
    key = next(one.column for one in SAMPLE.facts if one.entity == one.value)
    place = GOLD.columns.index(key)
    made_up = ["Zzyx Qqat" if n == place else "9" for n in range(len(GOLD.columns))]
    listed = {row[place] for row in GOLD.rows}
    distractor = next(one.entity for one in SAMPLE.facts if one.entity not in listed)
    beside = [distractor if n == place else None for n in range(len(GOLD.columns))]
    filled = next(n for n, cell in enumerate(GOLD.rows[0]) if cell and n != place)
    other = list(GOLD.rows[0])
    other[filled] = "77"
    emptied = list(GOLD.rows[0])
    emptied[filled] = None
    rest = GOLD.rows[1:]
    assert _relation(GOLD) == "well_matched"
    assert _relation(Table.of(GOLD.columns, rest)) == "too_weak"
    assert _relation(Table.of(GOLD.columns, [emptied, *rest])) == "too_weak"
    assert _relation(Table.of(GOLD.columns, [*GOLD.rows, made_up])) == "too_strong"
    assert _relation(Table.of(GOLD.columns, [*rest, beside])) == "independent"
    assert _relation(Table.of(GOLD.columns, [*rest, made_up])) == "independent"
    assert _relation(Table.of(GOLD.columns, [other, *rest])) == "contradictory"
    assert _relation("I cannot say.") == "not_well_formed"
    assert _relation(Table.of(GOLD.columns, ())) == "tautologous"


def test_every_injected_error_has_a_relation_that_fits_it() -> None:
    wanted = {
        "format_error": {"not_well_formed"},
        "out_of_range": {"too_strong"},
        "order_mismatch": {"well_matched"},
        "attribute": {"contradictory", "too_weak"},
        "blank_filling": {"too_strong"},
        "entity_fabrication": {"too_strong"},
    }
    from random import Random

    seen = set()
    for number in range(30):
        sample = small_world.example(5, number)
        for injection in INJECTED_ERRORS.values():
            edited = injection.make(sample, Random(number))
            if edited is None:
                continue
            text = prompts.answer(edited)
            with TASK.scorer() as scorer:
                (said,) = scorer.score([Submission(sample, "adversarial", text)])
            found = TASK.relation(said)
            assert found in RELATIONS and found in wanted[injection.type], (injection.type, text)
            seen.add(injection.type)
    assert seen == set(wanted)


@pytest.mark.parametrize(
    ("types", "coverage", "wanted"),
    [
        ((), (3, 3), "too_weak"),
        ((), (2, 3), None),
        (("NUM",), (2, 3), "contradictory"),
        (("ATT",), (3, 3), "independent"),
        (("ATT",), (2, 3), None),
        (("ATT", "CMP"), (3, 3), "contradictory"),
    ],
)
def test_a_summary_says_a_part_of_its_table(
    types: tuple[str, ...], coverage: tuple[int, int], wanted: str | None
) -> None:
    findings = tuple(Finding(type, None, None, None, "x", "") for type in types)
    judgement = Judgement(findings, {"coverage": Share(*coverage)})
    assert TableSummary().relation(judgement) == wanted
    assert TableSummary().relation(Judgement(unscored="no answer")) is None
    assert TableSummary().relation(Judgement(abstained=True)) == "tautologous"
