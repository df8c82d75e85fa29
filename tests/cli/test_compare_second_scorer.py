"""The second scorer of a comparison: beside the detector everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablemend.config import parse
from tablemend.errors import TablemendError
from tablemend.evaluation.command import CompareCommand
from tablemend.evaluation.compare import compare as compare_systems
from tablemend.reports.report import terminal_table, write_reports
from tablemend.runs import Run, read_jsonl
from tablemend.tasks.tablehallu import small_world
from tests.support.answering import AnsweringServer, evaluation, right_answer

N = 6
EXAMPLES = list(small_world.examples(3, N))


def reply(body: dict[str, Any]) -> str:
    """Answers: gold, but the first example's first key in capitals and with a word more, the
    second's with an invented row.
    """
    text = body["messages"][-1]["content"]
    gold = right_answer(body, EXAMPLES)
    if EXAMPLES[0].query in text:
        name = next(cell for cell in EXAMPLES[0].gold_table.rows[0] if cell and cell.istitle())
        return gold.replace(name, f"the {name.upper()}")
    if EXAMPLES[1].query in text:
        width = len(EXAMPLES[1].gold_table.columns)
        return f"{gold}\n|{' Zzz Zzz |' * width}"
    return gold


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    with AnsweringServer(reply) as started:
        yield started


@pytest.fixture
def recipe(tmp_path: Path, server: AnsweringServer) -> list[str]:
    systems: dict[str, dict[str, Any]] = {"base": {}, "other": {"prompt": "careful"}}
    test, options = {"n": N, "seed": 3}, {"concurrency": 1}
    return evaluation(tmp_path, server.model, systems, test, options=options)


def compare(tokens: list[str], *overrides: str) -> dict[str, Any]:
    """What eval/compare.py does, in this process."""
    config = parse(CompareCommand, [*tokens, *overrides])
    results, path = compare_systems(config), Run.of(config).path
    assert write_reports(path) == json.loads((path / "results.json").read_text())
    return results


def test_the_exact_scorer_is_reported_beside_the_detector(
    recipe: list[str], tmp_path: Path
) -> None:
    results = compare(recipe)
    detector = results["systems"]["base"]["adversarial"]["total_hallu"]["rate"]
    exact = results["second"]["systems"]["base"]["adversarial"]
    assert (detector, exact["total_hallu"]["rate"]) == (1 / N, 2 / N)
    agreement = exact["agreement"]
    assert agreement["examples"] == {"detector_only": [], "second_only": [EXAMPLES[0].id]}
    assert (agreement["both"], agreement["neither"], agreement["disagreement"]) == (1, N - 2, 1)
    (test,) = results["second"]["paired"]
    assert (test["system_a"], test["system_b"], test["n"], test["p"]) == ("base", "other", N, 1.0)
    assert any(
        line.startswith("| TotalHallu, exact") for line in terminal_table(results).splitlines()
    )
    for name in ("report.md", "report.html"):
        page = (tmp_path / "run" / name).read_text(encoding="utf-8")
        assert "TotalHallu, exact" in page and EXAMPLES[0].id in page
    lines = read_jsonl(tmp_path / "run" / "second_judgements.jsonl")
    types = [finding["type"] for line in lines for finding in line["findings"]]
    assert types == ["extra_row"] * 4


def test_an_old_run_is_scored_again_without_generating(
    recipe: list[str], tmp_path: Path, server: AnsweringServer
) -> None:
    compare(recipe, "evaluation.second_scorer=none")
    path = tmp_path / "run" / "results.json"
    results = json.loads(path.read_text())
    assert results["second"]["scorer"] is None
    assert "No second scorer" in terminal_and_page(tmp_path / "run")
    path.write_text(json.dumps(results | {"version": 1}))
    with pytest.raises(TablemendError, match=r"version 1, not 5.*run the comparison"):
        write_reports(tmp_path / "run")
    count = len(server.bodies)
    again = compare(recipe, "rescore=true")
    assert again["second"]["scorer"] == "exact 3"
    assert len(server.bodies) == count


def terminal_and_page(run: Path) -> str:
    return terminal_table(write_reports(run)) + (run / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["tiny-dpo", "tiny-grpo"])
def test_what_is_trained_on_the_detector_has_a_second_scorer(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert parse(CompareCommand, [f"recipe={name}"]).evaluation.second_scorer == "exact"
    with pytest.raises(TablemendError, match="shares nothing with it"):
        parse(CompareCommand, [f"recipe={name}", "evaluation.second_scorer=none"])
