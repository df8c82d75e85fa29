"""Our tasks in inspect_ai: prompts, rates of given answers, a stored log scored again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tablemend.config import parse
from tablemend.harnesses.benchmark import Benchmark
from tablemend.reports.tabulation import summarise
from tablemend.tasks.tabfaith.data import TabFaith, make_dataset

inspect_ai = pytest.importorskip("inspect_ai", reason="needs the extra inspect")
lookup = pytest.importorskip("inspect_ai._util.registry").registry_lookup

from inspect_ai.log import EvalLog, read_eval_log  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402

from tablemend.harnesses import inspect_tasks  # noqa: E402
from tablemend.tasks.all_tasks import TASKS  # noqa: E402

GIVEN = {"source": "small-world", "n": 6, "view": "adversarial"}


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvalLog:
    """Gold answers, a wrong one, and one that was cut."""
    monkeypatch.chdir(tmp_path)
    own = Benchmark({"task": "table_generation", **GIVEN})
    gold = [own.target(sample) for sample in own.samples]
    outputs = [ModelOutput.from_content("given", text) for text in gold]
    outputs[1] = ModelOutput.from_content("given", gold[0])
    outputs[2] = ModelOutput.from_content("given", gold[2], stop_reason="max_tokens")
    return evaluate("table_generation", GIVEN, outputs, tmp_path)


def evaluate(name: str, given: Any, outputs: list[ModelOutput], folder: Path) -> EvalLog:
    """The log of a model that answers with what is given."""
    for output in outputs:
        output.usage = ModelUsage()  # else a tokenizer is fetched
    model = get_model("mockllm/given", custom_outputs=outputs)
    task = lookup("task", f"tablemend/{name}")(**given)
    (found,) = inspect_ai.eval(
        task, model=model, max_samples=1, display="none", log_dir=str(folder)
    )
    assert found.status == "success", found.error
    return found


def _rates(log: EvalLog) -> dict[str, Any]:
    assert log.results is not None
    return {
        one.name: (one.metrics["tablemend/rate"].value, one.scored_samples)
        for one in log.results.scores
        if one.scored_samples
    }


def _expected(log: EvalLog, own: Benchmark) -> dict[str, Any]:
    assert log.samples is not None
    finish = {"max_tokens": "length"}
    judged = [
        own.judge(
            own.task.sample(one.metadata["record"]),
            one.output.completion,
            finish.get(one.output.stop_reason, "stop"),  # type: ignore[arg-type]
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


def test_prompts_and_rates_are_ours_and_errors_are_clustered_by_table(log: EvalLog) -> None:
    assert log.samples is not None
    own = Benchmark({"task": "table_generation", **GIVEN})
    asked = {one.id: one.messages[:-1] for one in log.samples}
    assert len(asked) == len(own.samples)
    for sample in own.samples:
        shown = [{"role": turn.role, "content": turn.text} for turn in asked[sample.id]]
        assert shown == [dict(turn) for turn in own.messages(sample)]
    found = _rates(log)
    assert found == _expected(log, own)
    assert found["total_hallu"] == (2 / 6, 6) and found["unscored"] == (0.0, 6)
    (total,) = [one for one in log.results.scores if one.name == "total_hallu"]  # type: ignore[union-attr]
    assert total.metrics["stderr"].params["cluster"] == "source_table"


def test_what_is_unscored_counts_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sizes = ["sizes.general=24", "sizes.financial=0", "sizes.clinical=0", "sizes.operations=0"]
    shares = ["shares.train=0", "shares.validation=0", "shares.test=1", "faithful=1"]
    make_dataset(parse(TabFaith, ["out=data", "workers=1", *sizes, *shares]), lambda _: None)
    given = {"source": "data", "n": 4}
    own = Benchmark({"task": "table_summary", **given})
    outputs = [ModelOutput.from_content("given", own.target(one)) for one in own.samples]
    outputs[2].choices[0].stop_reason = "max_tokens"
    log = evaluate("table_summary", given, outputs, tmp_path)
    found = _rates(log)
    assert found == _expected(log, own)
    assert found["unscored"] == (1 / 4, 4) and found["total_hallu"] == (0.0, 3)
    (total,) = [one for one in log.results.scores if one.name == "total_hallu"]  # type: ignore[union-attr]
    assert total.unscored_samples == 1


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
