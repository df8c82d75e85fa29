"""The weights of readings: how they are fitted, and that the shipped ones hold on real tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from logic_weights import Example, fit, held_out, module_of

from tablemend.meta_evaluation.items import split_of
from tablemend.tables.table import Table
from tablemend.verifier.logic.readings import belief
from tests.support.logic_claims import verdict


def _examples(count: int) -> list[Example]:
    """Readings that cover everything are right, the others say the contrary."""
    full, part = {"bias": 1.0, "covered": 1.0}, {"bias": 1.0, "covered": 0.2}
    return [
        Example("made up", f"table {number}", label, ((full, label), (part, not label)))
        for number in range(count)
        for label in (True, False)
    ]


def test_the_reading_that_predicts_the_labels_wins() -> None:
    weights = fit(_examples(40))
    assert weights["covered"] > 1
    full, part = {"bias": 1.0, "covered": 1.0}, {"bias": 1.0, "covered": 0.2}
    assert belief([(full, True), (part, False)], weights) > 0.8
    assert belief([(full, False), (part, True)], weights) < 0.2


def test_no_reading_is_even() -> None:
    assert belief([], {"bias": 3.0}) == 0.5


def test_tables_are_held_out() -> None:
    coverage, accuracy = held_out(_examples(40))["made up"]
    assert coverage == 1 and accuracy == 1


def test_the_module_can_be_read_back() -> None:
    written: dict[str, Any] = {}
    exec(module_of({"covered": 2.5, "fit": 0.0, "bias": -1.0}), written)
    assert written["WEIGHTS"] == {"covered": 2.5, "bias": -1.0}


@pytest.mark.slow
def test_statements_of_people_on_real_tables(
    shared_data: Callable[[str], list[dict[str, Any]]],
) -> None:
    scored = right = total = 0
    for record in shared_data("tabfact"):
        if split_of(record["split_key"]) != "dev":
            continue
        table = Table.of(record["header"], record["rows"], record["caption"])
        for statement in record["statements"]:
            found = verdict(table, statement["text"])
            total += 1
            if found in ("supported", "contradicted"):
                scored += 1
                right += (found == "supported") == bool(statement["label"])
    assert scored / total > 0.45
    assert right / scored > 0.8
