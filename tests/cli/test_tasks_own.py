"""A task and a mitigation that are defined here alone go through training, comparison and report.

So a new benchmark, and a new mitigation, need no change in the library.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from tablemend.config import parse
from tablemend.evaluation.command import CompareCommand
from tablemend.mitigations.edits import Draft, Edit, Mended, Tools
from tablemend.mitigations.mitigation import MITIGATIONS, PostEdit
from tablemend.records import Finding, Judgement, Metric
from tablemend.runs import Run, Store, read_jsonl
from tablemend.tasks.all_tasks import TASKS
from tablemend.tasks.task import Task
from tests.support.scripts import run_script

THOUGHT = "<think>\nnine?\n</think>"


class Sums(Task[Any]):
    """A model adds two numbers, written two ways. Counted is what it gets wrong."""

    name = "sums"
    errors = (Metric("wrong_sum", "Wrong sum", "sum", "a number that is not the sum"),)
    views: ClassVar[Mapping[str, str]] = {"digits": "digits", "words": "sentences"}

    def messages(self, sample: Any, view: str, prompt: str) -> Sequence[Mapping[str, str]]:
        question = f"How much are {sample.one} and {sample.other} together?"
        if view == "digits":
            question = f"{sample.one} + {sample.other}"
        return [{"role": "user", "content": question}]

    def target(self, sample: Any, view: str, thinking: str) -> str:
        return str(sample.one + sample.other)

    def score(self, sample: Any, answer: str) -> Judgement:
        right = str(sample.one + sample.other)
        wrong = Finding("wrong_sum", None, None, right, answer, "not the sum")
        return Judgement(() if answer == right else (wrong,))


def calculate(drafts: Sequence[Draft], tools: Tools) -> list[Mended]:
    """Writes the sum over whatever was answered."""
    found = []
    for draft in drafts:
        assert draft.text == "7"  # without what was thought before
        words = draft.evidence.text.replace("+", " ").split()
        numbers = [int(word) for word in words if word.isdigit()]
        right = str(sum(numbers))
        span = (0, len(draft.text))
        edit = Edit(
            span=span, old=draft.text, new=right, reason="worked out", method="calculator/1"
        )
        found.append(Mended(right, (edit,), passes=1))
    return found


@pytest.fixture
def recipe(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setitem(TASKS, "sums", Sums)
    monkeypatch.setitem(MITIGATIONS, "calculator", PostEdit(calculate, "calculator/1", ""))
    for name, first in (("train", 10), ("test", 50)):
        lines = [json.dumps({"one": first + n, "other": n}) for n in range(8)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "seven.jsonl").write_text(json.dumps({"text": f"{THOUGHT}7"}) + "\n")
    seven = f"scripted:{tmp_path / 'seven.jsonl'}"  # a model that says so to everything
    content = {
        "kind": "experiment",
        "name": "sums",
        "task": "sums",
        "model": {"path": str(tiny_model), "context_length": 512},
        "data": {
            "train": {"source": str(tmp_path / "train.jsonl")},
            "test": {"source": str(tmp_path / "test.jsonl")},
        },
        "train": {
            "context": "both",
            "max_steps": 2,
            "learning_rate": 1e-3,
            "global_batch": 4,
            "micro_batch": 4,
        },
        "evaluation": {
            "max_new_tokens": 8,
            "cut": "unscored",
            "second_scorer": "none",
            "systems": {
                "base": {"model": seven},
                "calculator": {"after": "base", "mitigation": "calculator"},
                "sft": {"model": "sft"},
            },
        },
    }
    path = tmp_path / "sums.yaml"
    path.write_text(yaml.safe_dump(content))
    return [f"recipe={path}", f"run={tmp_path / 'run'}"]


def as_stage(recipe: list[str], stage: str, settings: dict[str, Any]) -> None:
    """Make the recipe one of another kind of training, on one view."""
    path = Path(recipe[0].partition("=")[2])
    content = yaml.safe_load(path.read_text())
    content |= {"kind": stage, stage: settings}
    content["train"]["context"] = "digits"
    content["evaluation"]["systems"] = {"base": {}, stage: {"model": stage}}
    content["evaluation"]["second_scorer"] = "exact"
    path.write_text(yaml.safe_dump(content))


def test_supervised_fine_tuning_comparison_and_report(
    recipe: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for script in ("train/sft.py", "eval/compare.py"):
        assert run_script(script, recipe, monkeypatch) == 0
    config = parse(CompareCommand, recipe)
    run = Run.of(config)
    assert run.recorded("sft")["rows"] == 16  # eight sums, each shown in two ways
    results = json.loads((run.path / "results.json").read_text())
    assert results["task"] == "sums" and list(results["contexts"]) == ["digits", "words"]
    for view in ("digits", "words"):
        own = {system: kinds[view] for system, kinds in results["systems"].items()}
        assert own["calculator"]["total_hallu"]["rate"] == 0.0
        assert own["base"]["total_hallu"]["rate"] == 1.0
        assert own["sft"]["unscored"]["n"] == 8
    path = run.path / "generations" / "calculator.digits.jsonl"
    stored = list(Store(path, "example_id").values())
    assert all(line["text"].startswith(THOUGHT) for line in stored)
    for report in ("report.md", "report.html"):
        text = (run.path / report).read_text(encoding="utf-8")
        assert "Wrong sum" in text and "Before and after editing" in text and "Format" not in text


def test_training_on_rewards(recipe: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    as_stage(recipe, "grpo", {"group": 4, "max_new_tokens": 8})
    assert run_script("train/grpo.py", recipe, monkeypatch) == 0
    recorded = Run(Path(recipe[1].partition("=")[2])).recorded("grpo")
    assert recorded["reward"] == "sums" and recorded["steps"] == 2


def test_training_on_preferences(
    recipe: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = f"scripted:{tmp_path / 'seven.jsonl'}"
    pairs = {"path": str(tmp_path / "pairs"), "model": model, "sampled": 1.0, "samples": 1}
    as_stage(recipe, "dpo", {"pairs": pairs})
    assert run_script("data_gen/preference.py", recipe[:1], monkeypatch) == 0
    found = list(read_jsonl(tmp_path / "pairs" / "pairs.jsonl"))
    assert found and {finding["type"] for one in found for finding in one["findings"]} == {
        "wrong_sum"
    }
    assert run_script("train/dpo.py", recipe, monkeypatch) == 0
    assert Run(Path(recipe[1].partition("=")[2])).recorded("dpo")["steps"] == 2


def test_a_task_says_what_a_model_card_needs() -> None:
    task = Sums()
    assert task.slots == ("one", "other")
    assert task.template("base")[0]["content"] == "How much are {one} and {other} together?"
    assert (
        task.description
        == "A model adds two numbers, written two ways. Counted is what it gets wrong."
    )
    assert [one.name for one in task.metrics] == [
        "wrong_sum",
        "total_hallu",
        "abstention",
        "unscored",
    ]
    before = task.versions()
    Sums.messages, asked = lambda *_: [{"role": "user", "content": "?"}], Sums.messages  # type: ignore[method-assign]
    try:
        assert task.versions() != before
    finally:
        Sums.messages = asked  # type: ignore[method-assign]


PLUGIN = """
from tablemend.mitigations.edits import Mended
from tablemend.mitigations.mitigation import PostEdit
from tablemend.records import Finding, Judgement, Metric
from tablemend.tasks.task import Task

class Sums(Task):
    "A model adds two numbers."
    name = "sums"
    errors = (Metric("wrong_sum", "Wrong sum", "sum", "a number that is not the sum"),)
    def messages(self, sample, view, prompt):
        return [{"role": "user", "content": f"{sample.one} + {sample.other}"}]
    def target(self, sample, view, thinking):
        return str(sample.one + sample.other)
    def score(self, sample, answer):
        right = str(sample.one + sample.other)
        wrong = Finding("wrong_sum", None, None, right, answer, "not the sum")
        return Judgement(() if answer == right else (wrong,))

SHOUT = PostEdit(lambda drafts, tools: [Mended(one.text.upper()) for one in drafts], "s/1", "s/1")
"""
ENTRIES = """[tablemend.tasks]
sums = strangers_sums:Sums
{tasks}
[tablemend.mitigations]
shout = strangers_sums:SHOUT
{mitigations}
"""


@pytest.fixture
def compare_with_plugins(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A comparison of a task and a mitigation that another package has."""
    (tmp_path / "strangers_sums.py").write_text(PLUGIN)
    package = tmp_path / "strangers_sums-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers-sums\nVersion: 1.0\n")
    (tmp_path / "test.jsonl").write_text('{"one": 3, "other": 4}\n{"one": 1, "other": 1}\n')
    (tmp_path / "seven.jsonl").write_text('{"text": "7"}\n')

    def compare(
        *settings: str, tasks: str = "", mitigations: str = ""
    ) -> subprocess.CompletedProcess[str]:
        entries = ENTRIES.format(tasks=tasks, mitigations=mitigations)
        (package / "entry_points.txt").write_text(entries)
        content = {
            "kind": "evaluation",
            "name": "sums",
            "task": "sums",
            "model": {"path": f"scripted:{tmp_path / 'seven.jsonl'}"},
            "data": {"test": {"source": str(tmp_path / "test.jsonl")}},
            "evaluation": {
                "max_new_tokens": 8,
                "systems": {"base": {}, "loud": {"after": "base", "mitigation": "shout"}},
            },
        }
        (tmp_path / "sums.yaml").write_text(yaml.safe_dump(content))
        command = [sys.executable, "-m", "tablemend", "compare", f"recipe={tmp_path / 'sums.yaml'}"]
        paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": paths}
        return subprocess.run(
            [*command, f"run={tmp_path / 'run'}", *settings],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )

    return compare


def test_another_package_adds_a_task_and_a_mitigation(
    compare_with_plugins: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = compare_with_plugins()
    assert done.returncode == 0, done.stderr
    systems = json.loads((tmp_path / "run" / "results.json").read_text())["systems"]
    assert systems["base"]["prompt"]["wrong_sum"]["rate"] == 0.5
    assert systems["loud"]["prompt"]["wrong_sum"]["rate"] == 0.5


@pytest.mark.parametrize(
    ("broken", "status"),
    [
        ({"tasks": "worse = no_such_module:Task"}, 0),
        ({"mitigations": "worse = no_such_module:EDIT"}, 0),
        ({"tasks": "sums = strangers_sums:NoSuch"}, 2),
    ],
)
def test_a_plugin_that_does_not_load_is_named_and_the_rest_works(
    broken: dict[str, str],
    status: int,
    compare_with_plugins: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = compare_with_plugins("--check", **broken)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    if status or "mitigations" in broken:
        assert "of the package strangers-sums" in done.stderr and "does not load" in done.stderr
