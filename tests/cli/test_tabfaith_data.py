"""TabFaith sets: the command, several processes, summaries by a model behind a server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tablemend.datasets.tabfaith.dataset import make_dataset
from tablemend.datasets.tabfaith.examples import TabFaithExample
from tablemend.datasets.tabfaith.settings import TabFaith


def by_model(out: Path, model: str) -> TabFaith:
    sizes = {"general": 4, "financial": 3, "clinical": 0, "operations": 3}
    given = {"generator": model, "sizes": sizes, "generator_options": {"cache": None}}
    return TabFaith.model_validate({"out": str(out), "seed": 3, **given})


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_any_number_of_workers_writes_the_same_bytes(tmp_path: Path) -> None:
    for workers in (1, 2):
        sizes = {"general": 4, "financial": 2, "clinical": 2, "operations": 2}
        given = {"out": str(tmp_path / str(workers)), "sizes": sizes, "workers": workers}
        make_dataset(TabFaith.model_validate(given), lambda _: None)
    assert bytes_of(tmp_path / "1") == bytes_of(tmp_path / "2")


def test_help_and_check_print_and_make_nothing(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "data_gen" / "tabfaith.py"
    done = subprocess.run(
        [sys.executable, script, "recipe=tabfaith", f"out={tmp_path / 'x'}", "--check"],
        capture_output=True,
        text=True,
        cwd=script.parents[1],
    )
    assert done.returncode == 0 and "general: 1600" in done.stdout
    assert not (tmp_path / "x").exists()
    done = subprocess.run(
        [sys.executable, script, "sources.general=/no/such"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: sources.general=/no/such: no such file")


def test_a_models_summaries_are_labelled_by_the_verifier(
    tmp_path: Path, model_server: Callable[..., str]
) -> None:
    config = by_model(tmp_path / "set", model_server())
    counts = make_dataset(config, lambda _: None)
    lines = [line for path in (tmp_path / "set").glob("*.jsonl") for line in path.open()]
    made = [json.loads(line) for line in lines if "summary" in line]
    examples = [TabFaithExample.from_json(record) for record in made]
    assert len(examples) == counts["examples"]["made"] >= 8
    for one in examples:
        assert one.labelled_by.startswith("program") and one.facts == ()
        assert one.engine.startswith("openai:scripted") and "summarise" in one.engine
        assert (one.label == "unfaithful") == bool(one.errors)
        for error in one.errors:
            assert one.summary[error.start : error.end] == error.text and error.original == ""
    again = make_dataset(config, lambda _: None)
    assert again == counts


def test_answers_that_are_no_summaries_are_dropped_with_the_reason(
    tmp_path: Path, model_server: Callable[..., str]
) -> None:
    config = by_model(tmp_path / "set", model_server("one-sentence:0.3+refusal:0.6"))
    counts = make_dataset(config, lambda _: None)
    reasons = " ".join(counts["dropped"])
    assert "too few or too many sentences" in reasons and "refusal" in reasons
    assert counts["examples"]["made"] + sum(counts["dropped"].values()) == 10
