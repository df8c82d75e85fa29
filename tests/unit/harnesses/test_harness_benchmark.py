"""What both harnesses share: settings that are refused, and values that are those of a report."""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

import tablemend.harnesses
from tablemend.errors import TablemendError
from tablemend.harnesses.benchmark import Benchmark, rate
from tablemend.records import Judgement
from tablemend.reports.tabulation import summarise
from tablemend.tasks.all_tasks import TASKS

ROOT = Path(__file__).parents[3]
FOLDER = Path(tablemend.harnesses.__file__).parent / "lm_eval_tasks"


def benchmark(**given: Any) -> Benchmark:
    return Benchmark({"task": "table_generation", "source": "small-world", "n": 6, **given})


def test_every_task_has_its_file_for_lm_eval_and_inspect_finds_ours() -> None:
    files = {path.stem: path.read_text("utf-8") for path in FOLDER.iterdir() if path.is_file()}
    assert {name.removeprefix("tablemend_") for name in files} == set(TASKS)
    for name, text in files.items():
        found = yaml.safe_load(text.replace("!function ", ""))
        place = "tablemend.harnesses.lm_eval_task.LmEvalTask"
        assert found == {"task": name, "class": place}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["inspect_ai"] == {
        "tablemend": "tablemend.harnesses.inspect_tasks"
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"view": "adversary"}, "has no view 'adversary'; it has clean, adversarial"),
        ({"prompt": "assisted"}, "has no prompt"),
        ({"task": "table_generatoin"}, "did you mean table_generation"),
        ({"sourc": "x"}, "sourc"),
        ({"n": None}, "a generated source needs the number of examples"),
    ],
)
def test_settings_that_do_not_fit_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(TablemendError, match=said) as refused:
        benchmark(**given)
    assert "\n" not in str(refused.value)


def test_values_and_rates_are_those_of_a_report() -> None:
    own = benchmark()
    rng, types = Random(0), ["attribute", "out_of_range", "order_mismatch"]
    judged: list[Judgement] = []
    for number, sample in enumerate(own.samples):
        gold = own.target(sample)
        (wrong, *_) = own.task.corruptions(sample, own.view, gold, types, rng)
        answers: list[tuple[Any, ...]] = [(gold,), (wrong.text,), (gold[:-9], "length")]
        judged.append(own.judge(sample, *answers[number % 3]))
    judged.append(own.judge(own.samples[0], "", "error", "no answer"))
    assert [bool(one.findings) for one in judged] == [False, True, True] * 2 + [False]
    assert [one.type for one in judged[2].findings] == ["format_error"]
    values = [own.values(one) for one in judged]
    assert {name for name, value in values[-1].items() if value is not None} == {"unscored"}
    for name, expected in summarise(judged, own.task.metrics).items():
        found = [value for one in values if (value := one[name]) is not None]
        assert len(found) == expected["n"]
        assert (rate(found) if found else None) == expected["rate"]
