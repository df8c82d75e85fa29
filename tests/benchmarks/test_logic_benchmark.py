"""The benchmark of the solver: what it counts, and the figures of its page on real formulas."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tablemend.tasks.logic.solver import Theory

Read = Callable[[str], list[dict[str, Any]]]
logic = import_module("logic_solver")


def test_pairs_are_counted_and_disagreements_shown() -> None:
    *_, agreement, _, _ = logic.measure_pairs(7, 0, Theory(seconds=5))
    assert agreement.startswith("agreement 7 of 7, 100.0%")
    first, *_, agreement, _, _ = logic.measure_pairs(7, 0, Theory(seconds=0))
    assert "undecided within 0 s" in first and agreement.startswith("agreement 0 of 7")


def test_a_formaliser_is_counted_by_what_it_puts_into_formulas(tmp_path: Path) -> None:
    script = [
        {"contains": "Second statement", "text": "VERDICT: same"},
        {"contains": " is ", "text": '{"formula": "Cube(a)"}'},
        {"contains": "", "text": "I cannot tell."},
    ]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("\n".join(map(json.dumps, script)), encoding="utf-8")
    lines = list(logic.measure_formaliser(14, 0, Theory(), f"scripted:{answers}"))
    counts = [int(line.partition(" of ")[0].split()[-1]) for line in lines[:2]]
    assert 0 < counts[0] <= 14 and counts[1] < counts[0]
    assert sum(int(line.split()[0]) for line in lines[2:]) == 14 - counts[0]


def test_labels_of_folio_are_decided_and_what_is_refused_is_counted() -> None:
    premises = ["∀x (Bird(x) → Sings(x))", "Bird(a)"]
    cases = [("Sings(a)", "True"), ("¬Sings(a)", "False"), ("Red(a)", "Unknown"), ("Red(", "True")]
    records = [
        {"id": n, "premises-FOL": premises, "conclusion-FOL": said, "label": label}
        for n, (said, label) in enumerate([*cases, ("Red(a)", "True")])
    ]
    lines = list(logic.measure_folio(records, Theory(blocks=False)))
    assert lines[0] == "  4: found Uncertain, recorded True"
    assert lines[1].startswith("formulas parsed 14 of 15")
    assert lines[-3].startswith("records parsed whole 4 of 5")
    assert lines[-2] == "decided 4 of 5 with a formal conclusion"
    assert lines[-1].startswith("as recorded 3 of 4, 75.0%")


def test_the_figures_on_folio_and_malls(shared_data: Read) -> None:
    lines = list(logic.measure_folio(shared_data("folio"), Theory(blocks=False, seconds=5)))
    assert lines[3].startswith("formulas parsed 3344 of 3377")
    assert lines[4].startswith("different formulas parsed 1123 of 1134")
    assert lines[-1].startswith("as recorded 82 of 85")
    parsed, *read_back = logic.measure_malls(shared_data("malls_test"))
    assert parsed.startswith("parsed 485 of 486") and len(read_back) == 3
    assert all("485 of 485" in line for line in read_back)


@pytest.mark.parametrize("symmetric", [False, True])
def test_labels_hold_whether_or_not_adjoining_is_symmetric(symmetric: bool) -> None:
    *_, agreement, _, _ = logic.measure_pairs(21, 5, Theory(symmetric=symmetric, seconds=5))
    assert agreement.startswith("agreement 21 of 21")
