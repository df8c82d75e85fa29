"""Table summaries through the scripts: compared, edited and trained like tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tablemend.config import Source, parse
from tablemend.evaluation.command import CompareCommand
from tablemend.reports.report import write_reports
from tablemend.runs import Run, read_jsonl
from tablemend.tasks.tabfaith.data import TabFaith, make_dataset
from tablemend.tasks.tabfaith.task import TableSummary
from tests.support.answering import compare
from tests.support.scripts import ROOT, run_script

TASK = TableSummary()
N = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tabfaith")
    sizes = {"general": 12, "financial": 8, "clinical": 12, "operations": 8}
    shares = {"train": 0.6, "validation": 0.0, "test": 0.4}
    settings = {"sizes": sizes, "shares": shares, "out": str(out), "seed": 3}
    make_dataset(TabFaith.model_validate(settings), lambda n: None)
    return out


@pytest.fixture(scope="module")
def model(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The random model with a window that tables fit into."""
    copy = tmp_path_factory.mktemp("model") / "long"
    shutil.copytree(tiny_model, copy)
    for name, key in (
        ("config.json", "max_position_embeddings"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        path = copy / name
        path.write_text(json.dumps(json.loads(path.read_text()) | {key: 4096}))
    return copy


@pytest.fixture
def recipe(tmp_path: Path, folder: Path, model: Path) -> Callable[..., list[str]]:
    """The published recipe on this set, with a small model and these systems."""

    def write(systems: dict[str, Any], **more: Any) -> list[str]:
        content = yaml.safe_load((ROOT / "recipes" / "tabfaith-eval.yaml").read_text())
        content["model"] = {"path": str(model), "context_length": 4096}
        for part in ("train", "test"):
            content["data"][part] = {"source": str(folder), "split": part}
        content["data"]["validation"] = None
        content["train"] = {
            "max_steps": 2,
            "learning_rate": 1e-3,
            "global_batch": 4,
            "micro_batch": 2,
        }
        content["evaluation"] |= {
            "systems": systems,
            "n": N,
            "max_new_tokens": 256,
            "backend": "hf",
        }
        content |= more
        path = tmp_path / "summaries.yaml"
        path.write_text(yaml.safe_dump(content))
        return [f"recipe={path}", f"run={tmp_path / 'run'}"]

    return write


def test_the_comparison_before_and_after_editing(
    recipe: Callable[..., list[str]], tmp_path: Path, model_server: Callable[..., str]
) -> None:
    """TabFaith, Table 3 and Figure 2, by a server that makes errors in half of its summaries."""
    model = model_server("injected-error:0.5", seed=1)
    systems = {
        "base": {"model": model},
        "careful": {"model": model, "prompt": "careful"},
        "repair": {"after": "base", "mitigation": "repair"},
        "cave": {"after": "base", "mitigation": "cave", "model": model_server()},
    }
    results = compare(recipe(systems))
    assert results["task"] == "table_summary" and results["format"] is None
    own = {system: kinds["table"] for system, kinds in results["systems"].items()}
    assert own["base"]["total_hallu"]["n"] == N
    assert 0 < own["base"]["total_hallu"]["rate"] < 1
    for system in ("repair", "cave"):
        assert own[system]["total_hallu"]["rate"] < own["base"]["total_hallu"]["rate"]
        assert own[system]["staf"]["rate"] > own["base"]["staf"]["rate"]
        cost = results["cost"][system]["table"]
        assert 0 < cost["edited"] <= N and sum(cost["passes"].values()) == N
    assert results["cost"]["cave"]["table"]["calls"] > N
    write_reports(tmp_path / "run")
    for name in ("report.md", "report.html"):
        text = (tmp_path / "run" / name).read_text(encoding="utf-8")
        for words in ("STAF", "Numerical error", "Before and after editing", "base to cave"):
            assert words in text, (name, words)
        assert "Row recall" not in text
    lines = list(read_jsonl(tmp_path / "run" / "judgements.jsonl"))
    assert len(lines) == 4 * N
    assert all(bool(line["shares"]) != bool(line["unscored"]) for line in lines)


def test_another_verifier_scores_the_stored_summaries(
    recipe: Callable[..., list[str]], model_server: Callable[..., str]
) -> None:
    tokens = recipe({"base": {"model": model_server("injected-error:0.5", seed=1)}})
    first = compare(tokens)
    verifier = f"evaluation.verifier=llm:{model_server()}"
    again = compare([*tokens, verifier, "rescore=true"])
    assert first["scorer"].startswith("program/") and again["scorer"].startswith("llm:")
    rates = [one["systems"]["base"]["table"] for one in (first, again)]
    assert [one["staf"]["n"] + round(one["unscored"]["rate"] * N) for one in rates] == [N, N]
    assert rates[0]["staf"]["rate"] != rates[1]["staf"]["rate"]  # three cells show it less


def test_fine_tuning_teaches_faithful_summaries_alone(
    recipe: Callable[..., list[str]],
    tmp_path: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tokens = recipe({"base": {}, "sft": {"model": "sft"}})
    assert run_script("train/sft.py", tokens, monkeypatch) == 0
    facts = Run(tmp_path / "run").recorded("sft")
    train = TASK.samples(Source(source=str(folder), split="train"))
    unfaithful = sum(one.label != "faithful" for one in train)
    assert facts["dropped"]["no target: its summary is unfaithful"] == unfaithful
    assert facts["rows"] + sum(facts["dropped"].values()) == len(train)
    results = compare([*tokens, "evaluation.n=2"])
    assert set(results["systems"]) == {"base", "sft"}


def test_a_system_reads_its_tables_in_its_own_serialisation(
    recipe: Callable[..., list[str]],
) -> None:
    config = parse(CompareCommand, recipe({"base": {}, "csv": {"serialisation": "csv"}}))
    sample = TASK.samples(Source(source=config.data.test.source, split="test"))[0]
    shown = {
        name: config.task_of(system).messages(sample, "table", "base")[-1]["content"]
        for name, system in config.evaluation.systems.items()
    }
    header = ",".join(sample.table.columns)
    assert "| --- |" in shown["base"] or "|---|" in shown["base"]
    assert header.split(",")[0] in shown["csv"] and "|---" not in shown["csv"]
