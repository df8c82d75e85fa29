"""The comparison through its command: stored, resumed, scored again, never mixed up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
import yaml

from tablemend.detector.errors import METRICS
from tablemend.errors import TablemendError
from tablemend.reports.report import write_reports
from tablemend.runs import Store
from tablemend.tasks.tablehallu import prompts
from tests.support.answering import compare

ROOT = Path(__file__).parents[2]
N = 6


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Models this small gain nothing by a second thread, and wait for it on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def recipe(tmp_path, tiny_model) -> list[str]:
    """Command-line tokens of a small comparison in a folder of its own."""
    settings = yaml.safe_load((ROOT / "recipes" / "tiny.yaml").read_text(encoding="utf-8"))
    settings["model"] |= {"path": str(tiny_model), "context_length": 1024}
    settings["data"]["test"] = {"source": "small-world", "n": N, "seed": 3}
    settings["evaluation"] |= {"max_new_tokens": 24, "options": {"batch_size": 4}}
    settings["evaluation"]["systems"] = {
        "base": {"model": "base", "prompt": "base", "thinking": "off"},
        "cot": {"model": "base", "prompt": "cot", "thinking": "on"},
        "tuned": {"model": str(tiny_model), "thinking": "quote"},
    }
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return [f"recipe={tmp_path / 'recipe.yaml'}", f"run={tmp_path / 'run'}"]


def answers(run: Path) -> dict[tuple[str, str, str], tuple[str, int]]:
    """Each text, and the length of its prompt: the random model writes little else."""
    return {
        (line["system"], line["context"], line["example_id"]): (line["text"], line["prompt_tokens"])
        for path in sorted((run / "generations").glob("*.*.jsonl"))
        if path.name.count(".") == 2
        for line in Store(path, "example_id").values()
    }


def test_results_hold_every_system_context_and_metric(recipe, tmp_path):
    compare(recipe)
    write_reports(tmp_path / "run")
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert list(results["systems"]) == ["base", "cot", "tuned"]
    for kinds in results["systems"].values():
        assert set(kinds) == {"clean", "adversarial"}
        for rates in kinds.values():
            # of some of these queries one row of the context is right, or none
            own = {"distractor_temporal", "invents_rows", "omitted_cell"}
            assert set(rates) == {metric.name for metric in METRICS} | own
            assert all(set(rate) == {"rate", "low", "high", "n"} for rate in rates.values())
    keys = "context metric system_a system_b n a_only b_only difference low high p p_holm"
    assert set(results["paired"][0]) == set(keys.split())
    assert results["cost"]["base"]["clean"]["answers"] == N
    assert sum(results["cost"]["base"]["clean"]["finish_reasons"].values()) == N
    assert results["settings"]["tuned"]["prompts"] == prompts.prompt_hash()
    for name in ("report.md", "report.html", "examples.jsonl", "judgements.jsonl", "manifest.json"):
        assert (tmp_path / "run" / name).stat().st_size > 0


def test_a_second_run_generates_nothing(recipe, tmp_path, monkeypatch):
    first = compare(recipe)

    def refuse(*_, **__):
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("tablemend.backends.hf.load_model", refuse)
    assert compare(recipe) == first
    assert compare(recipe, "rescore=true") == first
    report = tmp_path / "run" / "report.html"
    write_reports(tmp_path / "run")
    page = report.read_bytes()
    report.unlink()
    write_reports(tmp_path / "run")
    assert report.read_bytes() == page


def test_changed_prompts_are_not_answered_by_old_generations(recipe, tmp_path, monkeypatch, capsys):
    compare(recipe)
    before = answers(tmp_path / "run")
    monkeypatch.setitem(prompts.EMPHASES, "base", " Mind the scope.")
    compare(recipe)
    said = capsys.readouterr().err
    assert "kept as base.clean." in said
    changed = answers(tmp_path / "run")
    assert set(changed) == set(before)
    assert changed != before
    monkeypatch.undo()
    compare(recipe)
    assert "taken back as base.clean.jsonl" in capsys.readouterr().err
    assert answers(tmp_path / "run") == before


def test_sampled_answers_are_the_same_again(recipe, tmp_path):
    sampled = ("evaluation.temperature=0.9", "evaluation.seed=7")
    compare(recipe, *sampled)
    compare(recipe, *sampled, f"run={tmp_path / 'again'}", "evaluation.options.batch_size=1")
    assert answers(tmp_path / "again") == answers(tmp_path / "run")


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (
            ["evaluation.systems.sft.model=sft", "evaluation.systems.sft.thinking=quote"],
            ["error: system sft: no checkpoint folder", "train/sft.py"],
        ),
        (
            ["evaluation.similarity=no/such/model"],
            ["no/such/model" if find_spec("sentence_transformers") else "'.[embed]'"],
        ),
    ],
)
def test_a_model_that_is_not_there_is_refused_before_any_generation(
    recipe, tmp_path, overrides, said
):
    command = [sys.executable, str(ROOT / "eval" / "compare.py"), *recipe, *overrides]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert all(words in done.stderr.splitlines()[-1] for words in said)
    assert not (tmp_path / "run" / "generations").exists()


def test_context_beyond_the_window_is_refused_before_any_generation(recipe, tmp_path):
    with pytest.raises(TablemendError, match=r"(base|cot|tuned)\.(clean|adversarial)\..* window"):
        compare(recipe, "model.context_length=200")
    assert not list((tmp_path / "run" / "generations").glob("*.*.jsonl"))


@pytest.mark.parametrize(
    "override", ["format=json", "evaluation.systems.base.prompt=cot", "evaluation.max_new_tokens=9"]
)
def test_rescoring_under_other_settings_is_refused(recipe, override):
    compare(recipe)
    key = override.partition("=")[0].rpartition(".")[2]
    with pytest.raises(TablemendError, match=f"generated with other settings .*{key} was"):
        compare(recipe, "rescore=true", override)
