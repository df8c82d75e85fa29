"""eval/reproduce.py and eval/leaderboard.py as commands: run, resumed, joined, refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tablemend.detector.errors import METRICS
from tablemend.errors import TablemendError
from tablemend.reports.content import DASH, setting_table
from tablemend.reproduction import reproduce
from tablemend.runs import write_json
from tests.support.made_up_runs import made_up_run

Script = Callable[..., Any]

ROOT = Path(__file__).parents[2]
WRONG = ["out_of_range", "attribute", "", "order_mismatch", "attribute", ""]
RIGHT = ["", "", "", "", "attribute", ""]


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture
def tokens(tmp_path: Path, tiny_model: Path) -> list[str]:
    """Table 4 of a comparison that trains nothing, of a random model on four samples."""
    recipe = yaml.safe_load((ROOT / "recipes" / "tablehallu-eval.yaml").read_text("utf-8"))
    recipe["model"] = {"path": str(tiny_model), "context_length": 1024}
    recipe["data"]["test"] = {"source": "small-world", "n": 4, "seed": 3}
    recipe["evaluation"] |= {"max_new_tokens": 16, "similarity": "lexical", "backend": "hf"}
    recipe["evaluation"] |= {"temperature": 0, "options": {"batch_size": 4}}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    return [
        *("paper=tablehallu", f"recipe={tmp_path / 'recipe.yaml'}", f"run={tmp_path / 'run'}"),
        "thinking=off",
    ]


def test_a_table_is_made_and_the_same_command_asks_nothing_again(
    tokens: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script
) -> None:
    said = script("eval/reproduce.py", *tokens, "table=4", "--check").out
    assert "python eval/compare.py recipe=" in said and not (tmp_path / "run").exists()
    said = script("eval/reproduce.py", *tokens, "table=4").out
    assert "Total Hallu (published)" in said and "| SFT " in said
    (data,) = json.loads((tmp_path / "run/reproduction/tablehallu-table-4.json").read_text())
    assert data["ours"]["COT"]["Total Hallu"]["n"] == 4
    assert "no system sft" in data["missing"]["SFT"]
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert set(results["systems"]) == {"base", "careful", "follow", "cot"}
    assert list(results["contexts"]) == ["adversarial"]

    def never(*command: str) -> None:
        raise AssertionError("asked again")

    monkeypatch.setattr(reproduce, "run_command", never)
    script("eval/reproduce.py", *tokens, "table=4")
    script("eval/reproduce.py", *tokens, "table=1")  # of the same run


def test_an_interrupted_comparison_is_still_to_do(
    tokens: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script
) -> None:
    script("eval/reproduce.py", *tokens, "table=1")
    (tmp_path / "run" / "results.json").unlink()  # killed before it was written
    said = script("eval/reproduce.py", *tokens, "table=4", "--check").out
    assert "answers    to do   python eval/compare.py" in said


def test_a_run_that_cannot_be_had_leaves_the_other_tables(
    tokens: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script
) -> None:
    def refuse(script: str, *settings: str) -> None:
        if script.startswith("data_gen/"):
            raise TablemendError("no room for a data set")
        run(script, *settings)

    run = reproduce.run_command
    monkeypatch.setattr(reproduce, "run_command", refuse)
    exists = Path.exists
    monkeypatch.setattr(
        Path, "exists", lambda path: path.name != "tablehallu-arithmetic" and exists(path)
    )
    script("eval/reproduce.py", *tokens)
    made = tmp_path / "run-arithmetic" / "reproduction" / "tablehallu-figure-7.json"
    assert json.loads(made.read_text())[0]["missing"] == {"": "no room for a data set"}
    assert (tmp_path / "run" / "reproduction" / "tablehallu-figure-9.md").is_file()


def test_what_cannot_be_made_is_one_line(script: Script) -> None:
    given = ["paper=torr", "table=2", "data.test.source=nowhere"]
    assert "needs files of yours" in script("eval/reproduce.py", *given, status=2).err


def test_help_lists_papers_and_tables(script: Script) -> None:
    said = script("eval/reproduce.py", "--help").out
    assert "logic-annotation" in said and "figure 9" in said and "recipe=tiny-faith" in said


# ---- leaderboard ----


def runs(tmp_path: Path, **changes: Any) -> list[str]:
    contexts = {"clean": RIGHT, "adversarial": WRONG}
    made_up_run(tmp_path / "one", {"base": contexts}, METRICS)
    better = {"clean": RIGHT, "adversarial": RIGHT}
    settings = {"base": {"model": "org/better", "named": "hf:org/better"}}
    made_up_run(tmp_path / "two", {"base": better}, METRICS, settings=settings, **changes)
    return [f"runs=[{tmp_path / 'one'},{tmp_path / 'two'}]", f"out={tmp_path / 'out'}"]


def test_runs_are_joined(tmp_path: Path, script: Script) -> None:
    script("eval/leaderboard.py", *runs(tmp_path))
    data = json.loads((tmp_path / "out" / "leaderboard.json").read_text())
    assert data["context"] == "adversarial"
    first, second = data["rows"]
    assert first.endswith("tiny-base") and second.endswith("two: base of org/better")
    assert data["rows"][first]["total_hallu"]["rate"] == pytest.approx(4 / 6)
    (test,) = [one for one in data["differences"] if one["metric"] == "total_hallu"]
    assert test["difference"] == pytest.approx(-0.5) and test["p"] == test["p_holm"]
    text = (tmp_path / "out" / "leaderboard.md").read_text()
    assert "org/better" in text and "Entity fabrication" in text and "p, Holm" in text


def test_who_edits_answers_has_the_model_that_gave_them(tmp_path: Path, script: Script) -> None:
    contexts = {"clean": RIGHT, "adversarial": WRONG}
    model = str(tmp_path / "one" / "model")
    settings = {
        "sft": {"model": model, "named": "hf:sft"},
        "mended": {"named": "hf:sft", "after": "sft"},
        "base": {"model": "MODEL", "named": "openai:MODEL"},
        "cave": {"named": "openai:MODEL", "after": "base", "rewriter": "openai:OTHER"},
    }
    made_up_run(tmp_path / "one", dict.fromkeys(settings, contexts), METRICS, settings=settings)
    given = [f"runs=[{tmp_path / 'one'}]", f"out={tmp_path / 'out'}"]
    script("eval/leaderboard.py", *given)
    data = json.loads((tmp_path / "out" / "leaderboard.json").read_text())
    said = {label.partition(": ")[2] for label in data["rows"]}
    assert said == {f"sft of {model}", f"mended of {model}", "base of MODEL", "cave of MODEL"}
    rows = [[cell.text for cell in row] for row in setting_table({"settings": settings}).rows]
    assert rows == [
        ["model", model, model, "MODEL", "MODEL"],
        ["rewriter", DASH, DASH, DASH, "openai:OTHER"],
    ]


def test_more_rows_have_wider_intervals_and_larger_p(tmp_path: Path, script: Script) -> None:
    given = runs(tmp_path)
    script("eval/leaderboard.py", *given)
    path = tmp_path / "out" / "leaderboard.json"
    two = json.loads(path.read_text())["differences"]
    third = {"base": {"clean": RIGHT, "adversarial": WRONG}}
    settings = {"base": {"model": "org/third", "named": "hf:org/third"}}
    made_up_run(tmp_path / "three", third, METRICS, settings=settings)
    given[0] = f"{given[0][:-1]},{tmp_path / 'three'}]"
    script("eval/leaderboard.py", *given)
    three = json.loads(path.read_text())["differences"]

    def of(tests: list[dict[str, Any]]) -> dict[str, Any]:
        total = (one for one in tests if one["metric"] == "total_hallu")
        return next(one for one in total if "better" in one["system_b"])

    assert of(three)["difference"] == of(two)["difference"]
    assert of(three)["low"] < of(two)["low"] and of(three)["high"] > of(two)["high"]
    assert of(three)["p"] == of(two)["p"] and of(three)["p_holm"] > of(two)["p_holm"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"data": {"source": "other", "hash": "fedcba9876543210"}},
            "data fedcba9876543210, the first run 0123456789abcdef",
        ),
        ({"scorer": "made up 2"}, "scorer made up 2, the first run made up 1"),
    ],
)
def test_runs_that_do_not_go_together_are_refused(
    tmp_path: Path, change: dict[str, Any], said: str, script: Script
) -> None:
    given = runs(tmp_path, **change)
    assert said in script("eval/leaderboard.py", *given, status=2).err
    assert not (tmp_path / "out").exists()


def test_runs_of_another_task_context_or_system_are_refused(tmp_path: Path, script: Script) -> None:
    given = runs(tmp_path)
    for more, said in (
        ("context=dirty", "no context dirty"),
        ("systems=[sft]", "adversarial; base"),
    ):
        assert said in script("eval/leaderboard.py", *given, more, status=2).err
    data = json.loads((tmp_path / "two" / "results.json").read_text())
    write_json(tmp_path / "two" / "results.json", data | {"task": "faith"})
    assert "has task faith" in script("eval/leaderboard.py", *given, status=2).err
    said = script("eval/leaderboard.py", "runs=[nowhere/at-all]", status=2).err
    assert "run the comparison first" in said
