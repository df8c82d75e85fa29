"""The task's rates during training: what is kept and when it stops, after an interruption too."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from transformers import TrainerCallback

from tablemend.recipe.experiment import (
    DistilCommand,
    DpoCommand,
    GrpoCommand,
    SftCommand,
    TrainingRecipe,
)
from tablemend.recipe.training import Evaluate
from tablemend.training import plan
from tablemend.training import trainer as training
from tablemend.training.architectures import Shape, config_of
from tests.support.empty_gold import NONE
from tests.support.gates import tiny, write_data
from tests.support.short_trainings import (
    ROOT,
    injected_pairs,
    logged,
    same_weights,
    short,
    small_data,
)
from tests.support.trainings_in_process import METHODS, begin, interrupt, pay_small_ids, train

DATA = small_data(16).replace("null", "{source: small-world, n: 4, seed: 2}")
STEPS = ("train.epochs=null", "train.max_steps=6", "train.save_every=1")
Make = Callable[..., TrainingRecipe]


def _log(*found: tuple[float, ...]) -> list[dict[str, float]]:
    """A log of evaluations: the value that is to be low, and the loss where there is one."""
    return [
        {training.CHOSEN_BY: value, "step": step, **({"eval_loss": loss[0]} if loss else {})}
        for step, (value, *loss) in enumerate(found, 1)
    ]


def test_the_best_has_the_lowest_rate_then_the_lowest_loss_then_is_the_last() -> None:
    assert training.best_of([{"loss": 1.0, "step": 1}])[0] == 0
    assert training.best_of(_log((0.5, 1), (0.2, 3), (0.3, 1))) == (2, 0.2, 1)
    assert training.best_of(_log((0.2, 3), (0.2, 2), (0.2, 4))) == (2, 0.2, 1)
    assert training.best_of(_log((0.2,), (0.2,), (0.2,))) == (3, 0.2, 2)  # equal, but not better
    start = [{training.CHOSEN_BY: 0.0, "step": 0}]  # no checkpoint is kept of it
    assert training.best_of(start)[0] == 0
    assert training.best_of(start + _log((0.5,))) == (1, 0.5, 0)


@pytest.fixture
def make(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.chdir(ROOT)

    def command(kind: type[TrainingRecipe], name: str, *overrides: str) -> TrainingRecipe:
        return short(kind, tiny_model, tmp_path / name, DATA, *STEPS, *overrides)

    return command


def _rates_by_step(monkeypatch: pytest.MonkeyPatch, *values: float) -> None:
    def measure(self: training.Rates, trainer: Any) -> dict[str, float]:
        value = values[trainer.state.global_step - 1]
        return {training.CHOSEN_BY: value, "eval_seconds": 1.0}

    monkeypatch.setattr(training.Rates, "measure", measure)


@pytest.mark.slow
@pytest.mark.parametrize("method", [(), ("train.method=lora", "train.lora={r: 4, alpha: 8}")])
def test_a_training_stops_and_ends_with_its_best_also_when_it_was_killed(
    method: tuple[str, ...], make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    _rates_by_step(monkeypatch, 0.5, 0.2, 0.3, 0.4, 0.1)
    # the third evaluation is the first of two without a better one
    options = ("train.evaluate={every: 1, patience: 2, max_new_tokens: 8}", *method)
    run, facts = train(make(SftCommand, "whole", *options))
    assert (facts["steps"], facts["best_step"], facts["evaluations"]) == (4, 2, 4)
    assert facts["evaluation_seconds"] == 4
    kept = sorted(path.name for path in (run.path / "sft").iterdir())
    assert kept == ["checkpoint-2", "checkpoint-3", "checkpoint-4"]
    if not method:  # adapters are merged
        assert same_weights(run.model, run.path / "sft" / "checkpoint-2")
        assert not same_weights(run.model, run.path / "sft" / "checkpoint-4")
    shutil.rmtree(run.model)
    _, again = train(make(SftCommand, "whole", *options))  # killed while it saved: no step more
    assert (again["steps"], again["best_step"]) == (4, 2)
    cut = interrupt(make(SftCommand, "cut", *options), step=4)
    cut, resumed = train(make(SftCommand, "cut", *options))
    assert resumed["resumed_from"].endswith("checkpoint-3")
    assert logged(resumed, training.CHOSEN_BY) == logged(facts, training.CHOSEN_BY)
    assert (resumed["steps"], resumed["best_step"]) == (4, 2)
    assert same_weights(cut.model, run.model)


class _Reported(TrainerCallback):  # type: ignore[misc]
    """What a tracker (trackio, W&B) is given."""

    def __init__(self) -> None:
        self.logs: list[dict[str, float]] = []

    def on_log(self, *_: Any, logs: dict[str, float], **__: Any) -> None:
        self.logs.append(dict(logs))


@pytest.mark.parametrize("kind", [SftCommand, DpoCommand, GrpoCommand, DistilCommand])
def test_every_training_logs_the_rates_of_its_own_answers(
    kind: type[TrainingRecipe], make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["train.max_steps=2", "train.evaluate={every: 1, n: 3, max_new_tokens: 8}"]
    if kind is DpoCommand:
        folder = injected_pairs(tmp_path / "pairs", small_data(16))
        options.append(f"dpo.pairs.path={folder}")
    if kind is DistilCommand:
        options.append("distil.max_new_tokens=8")
    if kind is GrpoCommand:
        pay_small_ids(monkeypatch)
        options += ["grpo.group=4", "grpo.max_new_tokens=8"]
    _, trainer, _, _ = begin(make(kind, "run", *options))
    reported = _Reported()
    trainer.add_callback(reported)
    trainer.train()
    evaluated = [entry for entry in trainer.state.log_history if training.CHOSEN_BY in entry]
    assert [entry["step"] for entry in evaluated] == [1, 2]
    assert all(training.CHOSEN_BY not in entry for entry in trainer.state.log_history[:1])
    for entry in evaluated:  # a random model never ends its answer
        names = ("eval_cut", "eval_total_hallu", "eval_format_error", training.CHOSEN_BY)
        assert [entry[name] for name in names] == [1, 1, 1, 1]
        assert entry["eval_row_recall"] == 0 and entry["eval_unscored"] == 0
        assert ("eval_loss" in entry) == (kind is SftCommand)  # DPO has no held-out pairs here
    assert sum(training.CHOSEN_BY in logs for logs in reported.logs) == 2
    if kind is GrpoCommand:  # what was counted in training is not lost to an evaluation
        assert len([entry for entry in trainer.state.log_history if "reward" in entry]) == 2


def test_right_and_silent_answers_are_told_apart(make: Make) -> None:
    """Gold, a table of its header alone, and one that was cut."""
    config = make(SftCommand, "run", "train.evaluate={every: 1, n: 3}")
    rated = training.read_rates(config, begin(config)[2])
    assert rated is not None and len(rated.asked) == 3
    task, (sample, view, _) = config.task_of(), rated.asked[0]
    gold = task.target(sample, view, config.thinking)
    lines = gold.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    head = "\n".join(lines[: first + 2])
    right, silent, cut = rated.values([rated.asked[0]] * 3, [gold, head, None])
    assert (right["total_hallu"], right["row_recall"], right["selection"]) == (0, 1, 0)
    assert (silent["total_hallu"], silent["abstention"], silent["selection"]) == (0, 1, 1)
    assert (cut["total_hallu"], cut["cut"], cut["selection"]) == (1, 1, 1)


@pytest.mark.parametrize("metric", ["attribute", "order_mismatch", "out_of_range", "row_recall"])
def test_no_answer_is_no_good_one_by_any_metric(metric: str, make: Make) -> None:
    """One that was cut, and one without a table, beside gold."""
    config = make(SftCommand, "run", f"train.evaluate={{every: 1, n: 1, metric: {metric}}}")
    rated = training.read_rates(config, begin(config)[2])
    assert rated is not None
    sample, view, _ = rated.asked[0]
    gold = config.task_of().target(sample, view, config.thinking)
    found = rated.values([rated.asked[0]] * 3, [None, "I cannot say.", gold])
    assert [each["selection"] for each in found] == [1, 1, 0]


def test_what_has_no_recall_is_not_chosen_by(make: Make) -> None:
    """A gold table without rows: right and wrong answers count for errors, not for recall."""
    config = make(SftCommand, "sft", "train.evaluate={every: 1, n: 1, metric: row_recall}")
    rated = training.read_rates(config, begin(config)[2])
    assert rated is not None
    asked = [(NONE, "adversarial", ())] * 3
    head = config.task_of().target(NONE, "adversarial", "off")
    right, wrong, cut = rated.values(asked, [head, f"{head}\n| Alder | Oslo | 5 |", None])
    assert "selection" not in right and "row_recall" not in right
    assert "selection" not in wrong
    assert (right["total_hallu"], wrong["total_hallu"], cut["selection"]) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("kind", [GrpoCommand, DistilCommand])
def test_what_was_counted_since_the_last_log_line_outlives_an_evaluation(
    kind: type[TrainingRecipe], make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training shorter than its first log line."""
    _rates_by_step(monkeypatch, 0.5, 0.2)
    options = ["train.max_steps=2", "train.log_every=9", "train.evaluate={every: 2}"]
    options += ["grpo.group=4"] if kind is GrpoCommand else []
    section = "grpo" if kind is GrpoCommand else "distil"
    config = make(kind, "run", *options, f"{section}.max_new_tokens=8")
    pay_small_ids(monkeypatch)
    _, facts = train(config)
    method = METHODS[config.stage]
    (said,) = method.report(facts | dict(method.summarise(facts)))
    assert "mean reward" in said or "answers with a finding" in said
    nothing: dict[str, Any] = {"log": []}  # continued after its last step
    assert list(method.report(nothing | dict(method.summarise(nothing)))) == []


def test_what_is_asked_is_known_again_by_its_length_too(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four held-out samples two are asked, and no more are tokenised."""
    calls = []

    def prompt_ids(*given: Any) -> list[int]:
        calls.append(given)
        return [1, 2, 3]

    monkeypatch.setattr(training, "prompt_ids", prompt_ids)
    hashes = []
    for longest in (8, 8, 9):
        options = ("train.evaluate={every: 1, n: 2}", f"evaluation.max_new_tokens={longest}")
        rated = training.read_rates(make(SftCommand, "run", *options), SimpleNamespace())  # type: ignore[arg-type]
        assert rated is not None and len(rated.asked) == 2
        trainer = SimpleNamespace(args=SimpleNamespace(save_total_limit=2))
        hashes.append(rated.attach(trainer)["evaluated_hash"])
    assert len(calls) == 6
    assert hashes[0] == hashes[1] != hashes[2]


def test_a_plan_says_what_is_evaluated_and_the_time_of_gpus_alone(make: Make) -> None:
    config = make(SftCommand, "run", "train.evaluate={every: 2, n: 3}")
    said = {line.partition(":")[0]: line for line in plan.lines(config)}
    assert "3 prompts of data.validation every 2 steps" in said["evaluation"]
    assert "at most 512 tokens; best by total_hallu" in said["evaluation"]
    assert "about 0.0 GPU hours of H200s" in said["time"]
    assert "of a CPU nothing is known" in said["time"]
    hours = plan.gpu_hours(config, Shape(config_of(config.model.path)), plan.amount_of(config))
    time, *_ = (line for line in plan.lines(config, price=1e6) if line.startswith("time"))
    assert f"H200s (about {1e6 * hours:.2f} at 1e+06 an hour), by the speed" in time


def test_a_text_that_is_cut_has_no_verdict_and_is_no_good_one(tmp_path: Path) -> None:
    write_data(tmp_path)
    config = tiny("tabfaith-eval", tmp_path, 1, {})
    samples = config.task_of().samples(config.data.train)
    rated = training.Rates(config, Evaluate(every=1), 8, [])
    found = rated.values([(one, "table", ()) for one in samples], [one.summary for one in samples])
    whole = next(one for one in found if "staf" in one)  # the program reads some of it
    (cut,) = rated.values([(samples[0], "table", ())], [None])
    assert (whole["total_hallu"], whole["staf"], whole["selection"]) == (0, 1, 0)
    assert (cut["cut"], cut["unscored"], cut["selection"]) == (1, 1, 1) and "staf" not in cut
