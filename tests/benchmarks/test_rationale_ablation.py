"""benchmarks/thinking.py: its systems differ in thinking alone, and cost the same to train."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tablemend.config import parse
from tablemend.datasets.tablehallu.rationale import rationale
from tablemend.errors import TablemendError
from tablemend.evaluation.systems import read_test
from tablemend.generations import Generations, Stored, write_out
from tablemend.recipe.experiment import Experiment
from tablemend.records import Answer
from tablemend.runs import Run

ROOT = Path(__file__).parents[2]
ARMS = ("off", "empty", "quote", "rationale")


@pytest.fixture
def thinking(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.chdir(ROOT)
    spec = spec_from_file_location("benchmark_thinking", ROOT / "benchmarks" / "thinking.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_systems_differ_in_thinking_and_rows_alone(thinking: ModuleType) -> None:
    settings = thinking.Ablation(tokens=400_000)
    configs = {system: thinking.read_recipe(settings, system, 0) for system in ARMS}
    assert {c.thinking_of(c.evaluation.systems["sft"]) for c in configs.values()} == set(ARMS)
    same = [c.model_dump(exclude={"thinking", "run"}) for c in configs.values()]
    assert all(one == same[0] for one in same)
    assert len({c.run for c in configs.values()}) == len(ARMS)


def test_systems_are_named_on_the_command_line(thinking: ModuleType) -> None:
    assert parse(thinking.Ablation, ["systems=[off,empty]"]).systems == ("off", "empty")


def test_systems_train_on_as_many_tokens(thinking: ModuleType) -> None:
    from tablemend.tasks.sources import read_examples
    from tablemend.training.checkpoints import load_tokenizer
    from tablemend.training.data import build_rows

    settings = thinking.Ablation(tokens=150_000)
    rows, tokens = {}, {}
    for system in ARMS:
        rows[system] = thinking.rows_within(settings, system, 0)
        config = parse(Experiment, thinking.overrides_of(settings, system, 0, rows[system]))
        built = build_rows(load_tokenizer(config.model), read_examples(config.data.train), config)
        assert not built.dropped
        tokens[system] = sum(map(len, built.rows))
    assert all(0.93 * 150_000 < count < 1.02 * 150_000 for count in tokens.values()), tokens
    assert rows["off"] == rows["empty"] > rows["quote"] > rows["rationale"]


def test_too_few_tokens_are_refused(thinking: ModuleType) -> None:
    with pytest.raises(TablemendError, match="tokens=100 pay for no step of 8 rows"):
        thinking.rows_within(thinking.Ablation(tokens=100), "rationale", 0)


def test_a_row_of_the_table(thinking: ModuleType) -> None:
    rate = {"rate": 0.25, "low": 0.1, "high": 0.5}
    context = {"total_hallu": rate, "row_recall": rate}
    unscored = {"total_hallu": dict.fromkeys(rate), "row_recall": dict.fromkeys(rate)}
    results = {
        "systems": {"sft": {"adversarial": context, "clean": unscored}},
        "cost": {"sft": {"adversarial": {"completion_tokens": 100, "answers": 8}}},
    }
    assert thinking.row("quote", 1, {"rows": 160, "tokens": 4000}, results) == (
        "| quote | 1 | 160 | 4000 | 25.0% (10.0% to 50.0%) | - (- to -) | 25.0% | 12 | - |"
    )


def test_only_rationales_without_a_wrong_step_are_true(
    thinking: ModuleType, tmp_path: Path
) -> None:
    settings = thinking.Ablation(n=4)
    examples = read_test(thinking.read_recipe(settings, "rationale", 0))
    made = Generations(tmp_path / "generations")
    for number, example in enumerate(examples):
        thought = rationale(example)
        text = [
            f"<think>\n{thought}\n</think>\n\n####",
            f"<think>\n{thought.replace('fits', 'is not 1999')}\n</think>\n\n####",
            "####",
            f"<think>\n{thought}",
        ][number]
        answer = Answer(example.id, "sft", "adversarial", text, 1, 1, "stop")
        list(write_out(made, {"sft": {}}, [Stored(answer, 1)]))
    assert thinking.true_rationales(settings, Run(tmp_path), 0) == 0.25
