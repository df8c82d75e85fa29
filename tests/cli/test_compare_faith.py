"""FAITH through the scripts: a set is made, a server's model answers, is asked again and mended."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tablemend.config import Source
from tablemend.reports.report import write_reports
from tablemend.runs import Store
from tablemend.tasks.faith.sample import MaskedSpan
from tablemend.tasks.faith.task import Faith
from tests.support.answering import AnsweringServer, compare, evaluation

N = 6


@pytest.fixture
def folder(tmp_path: Path, script: Callable[..., Any]) -> Path:
    out = tmp_path / "set"
    shares = ["shares.train=0", "shares.validation=0", "shares.test=1"]
    tokens = ["n=8", f"out={out}", "workers=1", *shares]
    said = script("data_gen/faith.py", *tokens).out
    assert "masked numbers" in said and "A direct look-up" in said
    return out


def asked(body: dict[str, Any], samples: list[MaskedSpan]) -> MaskedSpan:
    """The sample of a request."""
    question = body["messages"][1]["content"]
    return next(one for one in samples if one.sentence in question)


def test_a_model_is_asked_again_scored_and_mended(folder: Path, tmp_path: Path) -> None:
    samples = Faith().samples(Source(source=str(folder), split="test", n=N))
    stubborn, late = samples[0].id, samples[1].id

    def reply(body: dict[str, Any]) -> Any:
        sample, tries = asked(body, samples), len(body["messages"]) // 2
        if sample.id == stubborn or (sample.id == late and tries < 2):
            return "It is a fine number."
        words = sample.answer.partition(" million")[0]
        return json.dumps({"results": {"answer": words, "scenario": sample.scenario}})

    with AnsweringServer(reply) as server:
        systems: dict[str, dict[str, Any]] = {
            name: {"prompt": name, "thinking": "off"} for name in ("base", "cot", "assisted")
        }
        test = {"source": str(folder), "split": "test", "n": N}
        how = {"contexts": ["report"], "second_scorer": "none", "max_new_tokens": 80}
        results = compare(evaluation(tmp_path, server.model, systems, test, "faith", **how))
    rates = {name: own["report"] for name, own in results["systems"].items()}
    assert rates["base"]["unscored"]["rate"] == pytest.approx(1 / N)
    assert rates["base"]["without_scale_errors"]["rate"] == 1.0
    assert set(results["by_domain"]["base"]["report"]) == {one.domain for one in samples}
    stored = Store(tmp_path / "run" / "generations" / "base.report.jsonl", "example_id")
    assert {name: one["calls"] for name, one in stored.items()} == {
        one.id: {stubborn: 3, late: 2}.get(one.id, 1) for one in samples
    }
    write_reports(tmp_path / "run")
    page = (tmp_path / "run" / "report.md").read_text()
    assert "Value accuracy without scale errors" in page and "A direct look-up" in page


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["reports=[nowhere]"], "no folder or file nowhere"),
        (["annotators=[gpt]"], "annotators"),
        (["sentenses=3"], "sentences"),
    ],
)
def test_bad_settings_are_one_line_and_an_exit_code(
    arguments: list[str], says: str, tmp_path: Path, script: Callable[..., Any]
) -> None:
    assert says in script("data_gen/faith.py", f"out={tmp_path / 'out'}", *arguments, status=2).err
    assert not (tmp_path / "out").exists()
