"""ToRR through the scripts: a set is made, a server answers in every configuration, P and R."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tablemend.config import Source
from tablemend.recipe.experiment import Experiment
from tablemend.tables.serialisations import CONFIGURATIONS
from tablemend.tasks.torr.data import TorrSet, describe, make_dataset
from tablemend.tasks.torr.task import Torr, judge
from tests.support.answering import AnsweringServer, compare, evaluation

pytest.importorskip("rouge_score")
CONTEXTS = ["csv+none", "csv+transpose", "markdown+none", "markdown+transpose"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sets of made-up records."""
    data = tmp_path / "data"
    header, rows = ["team", "points"], [["Alba", "41"], ["Sella", "37"]]
    records: dict[str, list[dict[str, Any]]] = {
        "wikitablequestions": [
            {
                "table_id": f"t{n}",
                "header": header,
                "rows": [[*row[:1], str(int(row[1]) + n)] for row in rows],
                "questions": [{"question": f"who won match {n}?", "answer": ["Alba"]}],
            }
            for n in range(12)
        ],
        "tabfact": [
            {
                "table_id": f"f{n}",
                "header": header,
                "rows": [["Alba", str(n)], ["Vey", "3"]],
                "statements": [{"text": f"alba have {n} point", "label": 1}],
            }
            for n in range(12)
        ],
    }
    for name, lines in records.items():
        (data / name).mkdir(parents=True)
        text = "\n".join(map(json.dumps, lines))
        (data / name / "open.jsonl").write_text(text)
    return data


def test_every_configuration_is_asked_and_robustness_is_told(
    folder: Path, tmp_path: Path, script: Callable[..., Any]
) -> None:
    out = tmp_path / "torr"
    tokens = [f"data={folder}", f"out={out}", "n=3", "demonstrations=1"]
    said = script("data_gen/torr.py", *tokens).out
    assert "wikitq: 3 test" in said and "finqa: skipped" in said
    samples = Torr().samples(Source(source=str(out), split="test"))
    assert {one.set for one in samples} == {"wikitq", "tabfact"}
    assert all(len(one.demonstrations) == 1 for one in samples)

    def reply(body: dict[str, Any]) -> str:
        asked = body["messages"][-1]["content"].rpartition("Example 1")[2]
        if body["model"] == "brittle" and "|" in asked:
            return "none"
        return "entailed" if "Statement" in asked else "Alba"

    with AnsweringServer(reply) as server:
        address = server.model.partition("@")[2]
        brittle = {"model": f"openai:brittle@{address}", "thinking": "off"}
        systems = {"firm": {"thinking": "off"}, "brittle": brittle}
        test = {"source": str(out), "split": "test", "n": None}
        how = {"contexts": CONTEXTS, "second_scorer": "none", "max_new_tokens": 20}
        results = compare(evaluation(tmp_path, server.model, systems, test, "torr", **how))
    assert results["systems"]["firm"]["csv+transpose"]["score"]["rate"] == 1.0
    assert results["systems"]["brittle"]["markdown+none"]["score"]["rate"] == 0.0
    page = script("eval/robustness.py", f"run={tmp_path / 'run'}").out
    assert "Performance and robustness" in page and "Reliability of the ranking" in page
    drawn = tmp_path / "run" / "robustness.html"
    assert f"{drawn} (with pictures" in page
    assert 'title="markdown + none: 0.0 %, 3 of 3 examples"' in drawn.read_text()
    found = json.loads((tmp_path / "run" / "robustness.json").read_text())
    assert [one["rate"] for one in found["performance"]] == [1.0, 0.5]
    assert [one["rate"] for one in found["robustness"]] == [1.0, 0.0]
    assert found["serialisations"] == ["csv", "markdown"]
    assert (found["scores"]["wikitq"][1][0], found["scores"]["wikitq"][1][1]) == ([1, 1], [0, 0])


def test_larger_tables_are_left_out_and_counted(folder: Path, tmp_path: Path) -> None:
    for cells, kept in ((5, 0), (6, 12)):
        settings = TorrSet(data=str(folder), out=str(tmp_path / str(cells)), n=20, cells=cells)
        counts = make_dataset(settings)
        assert counts.get("larger wikitq", 0) == 12 - kept
        said = next(line for line in describe(counts, settings) if line.startswith("wikitq"))
        assert ("12 of larger tables left out" in said) == (not kept)


def test_one_run_is_named_that_has_results(tmp_path: Path, script: Callable[..., Any]) -> None:
    for tokens in ([], ["run=a", "recipe=b"]):
        assert "name one run" in script("eval/robustness.py", *tokens, status=2).err
    for token in ("recipe=nowhere", f"run={tmp_path}/none"):
        assert "run the comparison first" in script("eval/robustness.py", token, status=2).err


def test_all_35_configurations_say_the_same_and_gold_is_right(folder: Path, tmp_path: Path) -> None:
    settings = {"data": str(folder), "out": str(tmp_path / "set"), "n": 4, "train": 2}
    counts = make_dataset(TorrSet.model_validate(settings))
    assert any("tabfact" in line for line in describe(counts, TorrSet.model_validate(settings)))
    task = Torr()
    splits = {
        s: task.samples(Source(source=str(tmp_path / "set"), split=s)) for s in ("train", "test")
    }
    sources = [{one.source_hash for one in own} for own in splits.values()]
    assert not sources[0] & sources[1]
    assert len(CONFIGURATIONS) == 35
    for sample in splits["test"]:
        shown = {task.messages(sample, view, "base")[0]["content"] for view in CONFIGURATIONS}
        assert len(shown) > 20  # a shuffle of two rows or columns may change nothing
        for text in shown:
            assert all(cell in text for row in sample.table.rows for cell in row if cell)
        assert judge(sample, task.target(sample, "csv+none", "off")).share("score") == 1.0
        assert judge(sample, "I do not know").findings


def test_lookups_are_made_without_data_and_ask_for_the_cell_of_each_name(
    tmp_path: Path, script: Callable[..., Any]
) -> None:
    out = tmp_path / "lookups"
    tokens = ["sets=[lookup]", f"out={out}", "n=20", "train=20"]
    script("data_gen/torr.py", *tokens)
    found = {
        split: Torr().samples(Source(source=str(out), split=split)) for split in ("train", "test")
    }
    assert len(found["train"]) == len(found["test"]) == 20
    keys = [{one.source_hash for one in samples} for samples in found.values()]
    assert not set.intersection(*keys)
    for sample in found["test"]:
        column, _, names = sample.fields["question"].partition(": ")
        assert column.removeprefix("Look up ").strip('"') in sample.table.columns
        said = [one.rpartition(" ")[0] for one in sample.references[0].split(", ")]
        assert said == names.rstrip(".").split(", ")
        rows = {frozenset(row) for row in sample.table.rows}
        told = [one.rpartition(" ")[::2] for one in sample.references[0].split(", ")]
        assert {frozenset(one) for one in told} == rows
        assert judge(sample, sample.references[0]).share("score") == 1.0


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        (["data=nowhere"], "no folder nowhere"),
        ([], "neither a folder"),
        (["data=.", "sets=[wikiq]"], "no data set 'wikiq'"),
    ],
)
def test_bad_settings_are_refused(
    tokens: list[str], says: str, tmp_path: Path, script: Callable[..., Any]
) -> None:
    assert says in script("data_gen/torr.py", *tokens, f"out={tmp_path / 'o'}", status=2).err


def test_a_training_shows_each_sample_in_one_configuration_or_in_the_one_that_is_named() -> None:
    def recipe(**train: Any) -> Experiment:
        own = {"method": "full", "max_steps": 1, "global_batch": 1, "micro_batch": 1, **train}
        source = {"source": "data/torr", "split": "train", "n": None}
        return Experiment.model_validate(
            {
                "kind": "experiment",
                "name": "torr",
                "task": "torr",
                "model": {"path": "checkpoints/tiny-base", "context_length": 1024},
                "data": {"train": source, "test": source | {"split": "test"}},
                "train": own | {"learning_rate": 1e-3},
                "evaluation": {"max_new_tokens": 8, "systems": {"base": {}}},
            }
        )

    ids = [f"{n:016x}" for n in range(0, 1 << 62, 1 << 55)]
    mixed = [recipe(context="any").shown_to(one) for one in ids]
    assert all(len(views) == 1 for views in mixed) and len(set(mixed)) > 20
    assert mixed == [recipe(context="any").shown_to(one) for one in ids]
    assert recipe().shown_to(ids[0]) == ("csv+none",)
    assert recipe(context="both").shown_to(ids[0]) == CONFIGURATIONS
    with pytest.raises(ValidationError, match=r"no context .*csvv"):
        recipe(context="csvv+none")
