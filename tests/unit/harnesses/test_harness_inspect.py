"""Our tasks in inspect_ai: prompts, rates of given answers, a stored log scored again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tablemend.harnesses.benchmark import Benchmark
from tablemend.reports.tabulation import summarise

inspect_ai = pytest.importorskip("inspect_ai", reason="needs the extra inspect")
lookup = pytest.importorskip("inspect_ai._util.registry").registry_lookup

from inspect_ai.log import EvalLog, read_eval_log  # noqa: E402
from inspect_ai.model import ModelOutput, get_model  # noqa: E402

from tablemend.harnesses import inspect_tasks  # noqa: E402
from tablemend.tasks.all_tasks import TASKS  # noqa: E402

GIVEN = {"source": "small-world", "n": 6, "view": "adversarial"}


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvalLog:
    """Gold answers, a wrong one, one that was cut, and one of a request that failed."""
    monkeypatch.chdir(tmp_path)
    own = Benchmark({"task": "table_generation", **GIVEN})
    gold = [own.target(sample) for sample in own.samples]
    outputs = [ModelOutput.from_content("given", text) for text in gold]
    outputs[1] = ModelOutput.from_content("given", gold[0])
    outputs[2] = ModelOutput.from_content("given", gold[2], stop_reason="max_tokens")
    outputs[3] = ModelOutput.from_content("given", "", error="gone")
    model = get_model("mockllm/given", custom_outputs=outputs)
    task = lookup("task", "tablemend/table_generation")
    (found,) = inspect_ai.eval(
        task(**GIVEN), model=model, max_samples=1, display="none", log_dir=str(tmp_path)
    )
    assert found.status == "success"
    return found


def _rates(log: EvalLog) -> dict[str, Any]:
    assert log.results is not None
    return {
        one.name: (one.metrics["tablemend/rate"].value, one.scored_samples)
        for one in log.results.scores
        if one.scored_samples
    }


def _expected(log: EvalLog) -> dict[str, Any]:
    own = Benchmark({"task": "table_generation", **GIVEN})
    assert log.samples is not None
    finish = {"max_tokens": "length"}
    judged = [
        own.judge(
            own.task.sample(one.metadata["record"]),
            one.output.completion,
            finish.get(one.output.stop_reason, "stop"),  # type: ignore[arg-type]
            one.output.error or "",
        )
        for one in log.samples
    ]
    rates = summarise(judged, own.task.metrics)
    return {name: (one["rate"], one["n"]) for name, one in rates.items() if one["n"]}


def test_every_task_is_found_with_the_same_settings() -> None:
    for name in TASKS:
        task = lookup("task", f"tablemend/{name}")
        assert task is not None, name
    assert lookup("scorer", "tablemend/detector") is not None


def test_rates_are_ours_and_what_is_unscored_counts_nowhere_else(log: EvalLog) -> None:
    assert log.samples is not None
    own = Benchmark({"task": "table_generation", **GIVEN})
    for sample, asked in zip(own.samples, log.samples, strict=True):
        shown = [{"role": turn.role, "content": turn.text} for turn in asked.messages[:-1]]
        assert shown == [dict(turn) for turn in own.messages(sample)]
    found = _rates(log)
    assert found == _expected(log)
    assert found["unscored"] == (1 / 6, 6) and found["format_error"] == (1 / 5, 5)
    assert found["total_hallu"] == (2 / 5, 5)
    (total,) = [one for one in log.results.scores if one.name == "total_hallu"]  # type: ignore[union-attr]
    assert total.metrics["stderr"].params["cluster"] == "source_table"


def test_a_stored_log_is_scored_again_without_its_data(
    log: EvalLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = read_eval_log(log.location)
    before = _rates(stored)
    inspect_tasks._opened.cache_clear()
    monkeypatch.setattr(Benchmark, "samples", property(lambda self: pytest.fail("data was read")))
    again = inspect_ai.score(stored, inspect_tasks.detector(), action="overwrite", display="none")
    assert _rates(again) == before
    assert again.samples is not None
    json.dumps(again.samples[1].scores["detector"].metadata["judgement"])  # type: ignore[index]
